"""Where the recorded session used again what an earlier tool result said.

The evidence is in the words. A word of some length that occurs in exactly one tool result, and nowhere else before, and
that the model later writes, was taken from there: an identifier, a path, a number. A second kind of evidence is a tool
call made again with the same arguments. Neither proves that the model could not have done without; both are proxies,
and are called so wherever they are shown. No plan changes the evidence, so it is gathered once for a session.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from inspector.session.model import BlockKind, TextUnavailableError
from inspector.strategies.rendition import Action, Slice

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from inspector.replay.replay import Replay
    from inspector.strategies.history import History

_WORD = re.compile(r"[A-Za-z0-9_$@./:\-]{8,80}")
_TELLING = re.compile(r"[A-Z0-9_./:\-]")
"""What tells an identifier, a path or a number from an ordinary word."""

_WORDS_PER_RESULT = 4_000


@dataclass(frozen=True, eq=False)
class Uses:
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


class Use(NamedTuple):
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
    first: Mapping[int, Use] = field(default_factory=dict)


def find_uses(history: History, cancelled: Callable[[], bool] | None = None) -> Uses:
    """Gather the evidence; reads every text of the session once.

    Args:
        history: The session's columns.
        cancelled: Asked now and then; True ends the search with what was found so far.
    """
    session = history.session
    sources: dict[str, tuple[int, int]] = {}
    by_arguments: dict[tuple[str, bytes], int] = {}
    result_of_call = {int(history.call_block[block]): block for block in history.results.tolist()}
    call_of_response = {call.response: index for index, call in enumerate(session.calls)}
    rows: list[tuple[int, int, int, int]] = []
    for index, block in enumerate(session.blocks):
        if cancelled is not None and index % 64 == 0 and cancelled():
            break
        call = call_of_response.get(int(history.message[index]), -1)
        text = _text(history, index) if block.kind in _READ else ""
        if call >= 0:
            rows.extend((block_of, start, start + len(word), call) for word, block_of, start in _used(text, sources))
        if block.kind is BlockKind.TOOL_CALL:
            key = (block.tool_name, block.digest)
            earlier = by_arguments.get(key)
            if earlier is not None and call >= 0:
                rows.append((earlier, 0, int(history.characters[earlier]), call))
            if index in result_of_call:
                by_arguments[key] = result_of_call[index]
        _note(text, index if block.kind is BlockKind.TOOL_RESULT else -1, sources)
    columns = np.array(rows, dtype=np.int64).reshape(-1, 4)
    order = np.argsort(columns[:, 3], kind="stable")
    block_column, start, stop, call_column = columns[order].T
    return Uses(block_column.astype(np.int32), start, stop, call_column.astype(np.int32))


def needed_later(replay: Replay, uses: Uses) -> NeededLater:
    """Which uses found their source cut away by a replay's plan.

    What the recorded session itself no longer had in its prompt does not count against the plan.
    """
    history, changes = replay.history, replay.changes
    touched = np.zeros(len(history.kind), dtype=bool)
    touched[changes.block[changes.action != Action.WHOLE]] = True
    suspects = np.flatnonzero(
        touched[uses.block] & (uses.call >= history.enters[uses.block]) & (uses.call < history.leaves[uses.block])
    )
    missing = [
        row
        for row in suspects.tolist()
        if not _holds(replay, int(uses.block[row]), int(uses.call[row]), int(uses.start[row]), int(uses.stop[row]))
    ]
    first: dict[int, Use] = {}
    for row in missing:
        use = Use(int(uses.call[row]), int(uses.block[row]), int(uses.start[row]), int(uses.stop[row]))
        first.setdefault(use.block, use)
    return NeededLater(
        calls=tuple(sorted({int(uses.call[row]) for row in missing})),
        blocks=tuple(sorted({int(uses.block[row]) for row in missing})),
        words=len(missing),
        first=first,
    )


_READ = frozenset(
    {BlockKind.TOOL_RESULT, BlockKind.TOOL_CALL, BlockKind.ASSISTANT_TEXT, BlockKind.USER_TEXT, BlockKind.SYSTEM_TEXT}
)


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


_ANYWHERE = (-1, -1)
"""Stands for a word that is no evidence: it occurs in several places, or was used already."""


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


def _holds(replay: Replay, block: int, call: int, start: int, stop: int) -> bool:
    """Whether the rendition of a block at a call still holds these characters of its recorded text."""
    pieces = replay.rendition(block, call).pieces
    return any(isinstance(piece, Slice) and piece.start <= start and stop <= piece.stop for piece in pieces)
