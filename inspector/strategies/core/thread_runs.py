"""Runs that remember something per thread: what arrives is read once, as items of the thread's conversation.

Inline subagents have conversations of their own, with their own usage and their own old results, so whatever is
remembered is remembered per thread.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from inspector.session.model import BlockKind, Role
from inspector.strategies.core.strategy import Choice, Decision

if TYPE_CHECKING:
    from collections.abc import Iterable

    from inspector.strategies.core.strategy import Moment
    from inspector.strategies.history.history import History
from inspector.strategies.history.conversation_items import Entry

_RESULT = int(BlockKind.TOOL_RESULT)
_NEVER_SENT = (int(BlockKind.SYSTEM_TEXT), int(BlockKind.OTHER))


class _Columns:
    """What every reader of a history looks things up in. A few at a time, plain lists are quicker than columns."""

    def __init__(self, history: History) -> None:
        self.messages: list[int] = history.message.tolist()
        self.first_blocks: list[int] = history.message_first_block.tolist()
        self.contexts: list[int] = history.call_context.tolist()
        self.entries: list[tuple[Entry, ...] | None] = [None] * len(history.session.messages)


_COLUMNS: WeakKeyDictionary[History, _Columns] = WeakKeyDictionary()


class Reader:
    """Reads what arrives, call by call."""

    def __init__(self, history: History) -> None:
        self._history = history
        self._kinds = history.kind_bytes
        columns = _COLUMNS.get(history)
        if columns is None:
            columns = _COLUMNS[history] = _Columns(history)
        self._messages, self._first_blocks, self._known = columns.messages, columns.first_blocks, columns.entries
        self._contexts = columns.contexts
        self._threads = [context.thread for context in history.session.contexts]

    def thread(self, moment: Moment) -> int:
        """The thread of the call about to be made."""
        return self._threads[self._contexts[moment.call]]

    def arrived(self, moment: Moment) -> list[int]:
        """What this call's prompt holds that the thread's last one did not; all of it at the start of a context."""
        blocks = self._history.prompt(moment.call) if moment.starts_context else moment.arrived
        arrived: list[int] = blocks.tolist()
        return arrived

    def results(self, blocks: list[int]) -> list[int]:
        """The tool results among some blocks."""
        kinds = self._kinds
        return [block for block in blocks if kinds[block] == _RESULT]

    def entries(self, blocks: list[int]) -> list[Entry]:
        """Blocks in the order they are sent, as entries; system texts are none."""
        messages, first_blocks, known = self._messages, self._first_blocks, self._known
        found: list[Entry] = []
        at, before, count = 0, -1, len(blocks)
        while at < count:
            message = messages[blocks[at]]
            last = first_blocks[message + 1] - 1
            end = at + last - first_blocks[message]
            # A message arrives whole, and what its entries are is the same under every plan.
            if message == before or end >= count or blocks[end] != last:
                return self._gathered(blocks)
            entries = known[message]
            if entries is None:
                entries = known[message] = tuple(self._gathered(blocks[at : end + 1]))
            found += entries
            at, before = end + 1, message
        return found

    def _gathered(self, blocks: list[int]) -> list[Entry]:
        found: list[Entry] = []
        gathered: list[int] = []
        for block in blocks:
            kind, message = self._kinds[block], self._messages[block]
            if kind in _NEVER_SENT:
                continue
            if gathered and (kind == _RESULT or message != self._messages[gathered[0]]):
                found.append(Entry(self._messages[gathered[0]], tuple(gathered), is_result=False))
                gathered = []
            if kind == _RESULT:
                found.append(Entry(message, (block,), is_result=True))
            else:
                gathered.append(block)
        if gathered:
            found.append(Entry(self._messages[gathered[0]], tuple(gathered), is_result=False))
        return found

    def asks(self, entry: Entry) -> bool:
        """Whether the entry begins a new run of the agent: what a user said, in a message without results."""
        if entry.is_result:
            return False
        message = self._history.session.messages[entry.message]
        return message.role is Role.USER and not self._history.message_has_results[entry.message]


def sent_again(changed: set[int], arrived: Iterable[int]) -> list[Choice]:
    """What another conversation begins with is sent as recorded again, and is no longer among what was changed.

    Args:
        changed: The blocks that are not sent as recorded.
        arrived: The blocks that the conversation begins with.
    """
    back = Decision(None, "another conversation began")
    choices = [Choice(block, back) for block in arrived if block in changed]
    changed.difference_update(arrived)
    return choices
