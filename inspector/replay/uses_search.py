"""Gathering where a session used again what its tool results said: every text is read once.

That takes seconds in a long session, so it can be called off and gone on with.
"""

from __future__ import annotations

import re
from threading import Lock
from typing import TYPE_CHECKING

import numpy as np

from inspector.replay.uses import Uses
from inspector.session.model import BlockKind, TextUnavailableError

if TYPE_CHECKING:
    from collections.abc import Callable

    from inspector.strategies.history.history import History

_WORD = re.compile(r"[A-Za-z0-9_$@./:\-]{8,80}")
_TELLING = re.compile(r"[A-Z0-9_./:\-]")
"""What tells an identifier, a path or a number from an ordinary word."""

_WORDS_PER_RESULT = 4_000

_GROWTH = 0.1
"""By how much of its calls a session may have grown before its uses are gathered again."""

_BLOCKS_AT_ONCE = 64


def find_uses(history: History) -> Uses:
    """Gather the evidence; reads every text of the session once."""
    return UsesSearch(history).run_to_the_end()


class UsesSearch:
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
        self._found: Uses | None = None

    def serves(self, history: History) -> bool:
        """Whether it will do for a later state of the session: what is known of the earlier calls still holds."""
        return history.call_count <= self.history.call_count * (1 + _GROWTH)

    def run(self, is_cancelled: Callable[[], bool]) -> Uses | None:
        """All evidence, or None where it was called off; the next run goes on from there.

        Args:
            is_cancelled: Asked now and then.
        """
        with self._turn:
            return self._gathered() if self._look_at_all(is_cancelled) else None

    def run_to_the_end(self) -> Uses:
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

    def _gathered(self) -> Uses:
        if self._found is not None:
            return self._found
        columns = np.array(self._rows, dtype=np.int64).reshape(-1, 4)
        order = np.argsort(columns[:, 3], kind="stable")
        block, start, stop, call = columns[order].T
        # All that was noted on the way is far more than what came of it.
        for noted in (self._sources, self._by_arguments, self._result_of_call, self._call_of_response, self._rows):
            noted.clear()
        self._found = Uses(block.astype(np.int32), start, stop, call.astype(np.int32))
        return self._found


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
