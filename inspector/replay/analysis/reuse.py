"""Where the recorded session used again what an earlier tool result said.

The evidence is in the words. A word of some length that occurs in exactly one tool result, and nowhere else before, and
that the model later writes, was taken from there: an identifier, a path, a number. A second kind of evidence is a tool
call made again with the same arguments. Neither proves that the model could not have done without; both are proxies,
and are called so wherever they are shown. No plan changes the evidence, so it is gathered once for a session: every
text is read, which takes seconds in a long one, so it can be called off and gone on with.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from inspector.session.model import BlockKind, TextUnavailableError
from inspector.session.snapshot_list import unchanged
from inspector.strategies.core.rendition import Action, Slice

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from inspector.replay.engine.replay import Replay
    from inspector.strategies.history.history import History


@dataclass(frozen=True, eq=False)
class ReuseEvidence:
    """Evidence of use, one row a word or repeated call, in call order.

    Attributes:
        block: The tool result that was used, block index, int32.
        start: Where the word begins in its text, characters; 0 for a repeated call, int64.
        stop: Where the word ends; the text's length for a repeated call, int64.
        call: The call whose response used it, int32.
    """

    block: NDArray[np.int32]
    start: NDArray[np.int64]
    stop: NDArray[np.int64]
    call: NDArray[np.int32]


class ReuseScan:
    """Gathers the evidence of one state of a session. Threads may share it: they take turns.

    Attributes:
        history: The session's columns.
    """

    def __init__(self, history: History) -> None:
        self.history = history
        self._turn = Lock()
        self._next = 0
        self._sources: dict[str, tuple[int, int]] = {}
        self._by_arguments: dict[tuple[str, bytes], int] = {}
        self._result_of_call: dict[int, int] = {}
        self._call_of_response: dict[int, int] = {}
        self._rows: list[tuple[int, int, int, int]] = []
        self._found: ReuseEvidence | None = None

    def serves(self, history: History) -> bool:
        """Whether it will do for another state of the session: what it says of each block still holds.

        A file that was written anew, or lost what it held, is another session with other blocks in their places.
        """
        known, now = self.history.session.messages, history.session.messages
        # The message at the end may have grown by a block since.
        still_holds = unchanged(now, known) >= len(known) - 1 and len(history.kind) >= len(self.history.kind)
        return still_holds and history.call_count <= self.history.call_count * (1 + _GROWTH)

    def run(self, is_cancelled: Callable[[], bool]) -> ReuseEvidence | None:
        """All evidence, or None where it was called off; the next run goes on from there.

        Args:
            is_cancelled: Asked now and then.
        """
        with self._turn:
            return self._gathered() if self._look_at_all(is_cancelled) else None

    def run_to_the_end(self) -> ReuseEvidence:
        """All evidence, however long it takes."""
        with self._turn:
            self._look_at_all(lambda: False)
            return self._gathered()

    def _look_at_all(self, is_cancelled: Callable[[], bool]) -> bool:
        history, count = self.history, len(self.history.session.blocks)
        if not self._next:
            self._result_of_call = {int(history.call_block[block]): block for block in history.results.tolist()}
            self._call_of_response = {call.response: index for index, call in enumerate(history.session.calls)}
        while self._next < count:
            if is_cancelled():
                return False
            end = min(self._next + _BLOCKS_AT_ONCE, count)
            for index in range(self._next, end):
                self._look_at(index)
            self._next = end
        return True

    def _look_at(self, index: int) -> None:
        history, block = self.history, self.history.session.blocks[index]
        call = self._call_of_response.get(int(history.message[index]), -1)
        text = _text(history, index) if block.kind in _READ else ""
        if call >= 0:
            used = _used(text, self._sources)
            self._rows.extend((block_of, start, start + len(word), call) for word, block_of, start in used)
        if block.kind is BlockKind.TOOL_CALL:
            key = (block.tool_name, block.digest)
            earlier = self._by_arguments.get(key)
            if earlier is not None and call >= 0:
                self._rows.append((earlier, 0, int(history.characters[earlier]), call))
            if index in self._result_of_call:
                self._by_arguments[key] = self._result_of_call[index]
        _note(text, index if block.kind is BlockKind.TOOL_RESULT else -1, self._sources)

    def _gathered(self) -> ReuseEvidence:
        if self._found is not None:
            return self._found
        columns = np.array(self._rows, dtype=np.int64).reshape(-1, 4)
        order = np.argsort(columns[:, 3], kind="stable")
        block, start, stop, call = columns[order].T
        # All that was noted on the way is far more than what came of it.
        for noted in (self._sources, self._by_arguments, self._result_of_call, self._call_of_response, self._rows):
            noted.clear()
        self._found = ReuseEvidence(block.astype(np.int32), start, stop, call.astype(np.int32))
        return self._found


def find_reuse(history: History) -> ReuseEvidence:
    """Gather the evidence; reads every text of the session once."""
    return ReuseScan(history).run_to_the_end()


_WORD = re.compile(r"[A-Za-z0-9_$@./:\-]{8,80}")

_TELLING = re.compile(r"[A-Z0-9_./:\-]")
"""What tells an identifier, a path or a number from an ordinary word."""

_WORDS_PER_RESULT = 4_000

_GROWTH = 0.1
"""By how much of its calls a session may have grown before its uses are gathered again."""

_BLOCKS_AT_ONCE = 64

_READ = frozenset(
    {BlockKind.TOOL_RESULT, BlockKind.TOOL_CALL, BlockKind.ASSISTANT_TEXT, BlockKind.USER_TEXT, BlockKind.SYSTEM_TEXT}
)

_ANYWHERE = (-1, -1)
"""Stands for a word that is no evidence: it occurs in several places, or was used already."""


def _text(history: History, block: int) -> str:
    try:
        return history.session.text(history.session.blocks[block])
    except TextUnavailableError:
        return ""


def _used(text: str, sources: dict[str, tuple[int, int]]) -> list[tuple[str, int, int]]:
    """The words of a response that stand in one tool result and nowhere else before, each once."""
    found = []
    for match in _WORD.finditer(text):
        word = match[0].strip(".:-/")
        source = sources.get(word)
        if source is not None and source[0] >= 0:
            found.append((word, *source))
            sources[word] = _ANYWHERE
    return found


def _note(text: str, result: int, sources: dict[str, tuple[int, int]]) -> None:
    noted = 0
    for match in _WORD.finditer(text):
        word = match[0].strip(".:-/")
        if len(word) < 8 or not _TELLING.search(word):
            continue
        known = sources.get(word)
        if known is None:
            if result >= 0 and noted >= _WORDS_PER_RESULT:
                continue
            noted += 1
            offset = match.start() + match[0].index(word)
            sources[word] = (result, offset) if result >= 0 else _ANYWHERE
        elif known[0] != result:
            sources[word] = _ANYWHERE


class Reuse(NamedTuple):
    """Something of a tool result that a later response used again.

    Attributes:
        call: The call whose response used it.
        block: The tool result, block index.
        start: Where it begins in the result's text, characters.
        stop: Where it ends.
    """

    call: int
    block: int
    start: int
    stop: int


@dataclass(frozen=True, slots=True)
class NeededLater:
    """What a plan had taken out of the prompt when the session used it again.

    Attributes:
        calls: Calls whose response used something the plan no longer sent, in order.
        blocks: The tool results it was in, in order.
        words: How many words were used so.
        first: Per block, the first such use of it.
    """

    calls: tuple[int, ...]
    blocks: tuple[int, ...]
    words: int
    first: Mapping[int, Reuse] = field(default_factory=dict)


def needed_later(replay: Replay, uses: ReuseEvidence) -> NeededLater:
    """Which uses found their source cut away by a replay's plan.

    What the recorded session itself no longer had in its prompt does not count against the plan.
    """
    history, edits = replay.history, replay.edits
    touched = np.zeros(len(history.kind), dtype=bool)
    touched[edits.block[edits.action != Action.WHOLE]] = True
    suspects = np.flatnonzero(
        touched[uses.block] & (uses.call >= history.enters[uses.block]) & (uses.call < history.leaves[uses.block])
    )
    in_force = edits.rows(uses.block[suspects], uses.call[suspects])
    missing = [
        row
        for row, change in zip(suspects.tolist(), in_force.tolist(), strict=True)
        if change >= 0 and not _holds(replay, change, int(uses.start[row]), int(uses.stop[row]))
    ]
    first: dict[int, Reuse] = {}
    for row in missing:
        use = Reuse(int(uses.call[row]), int(uses.block[row]), int(uses.start[row]), int(uses.stop[row]))
        first.setdefault(use.block, use)
    return NeededLater(
        calls=tuple(sorted({int(uses.call[row]) for row in missing})),
        blocks=tuple(sorted({int(uses.block[row]) for row in missing})),
        words=len(missing),
        first=first,
    )


def _holds(replay: Replay, change: int, start: int, stop: int) -> bool:
    """Whether what a change makes of its block still holds these characters of the recorded text."""
    edits = replay.edits
    stack = edits.stacks[int(edits.stack[change])]
    pieces = replay.inputs.renderer.rendition(int(edits.block[change]), stack).pieces
    return any(isinstance(piece, Slice) and piece.start <= start and stop <= piece.stop for piece in pieces)
