"""Conversations as strategies that remember see them: entries in order, per thread, as they arrive.

Inline subagents have conversations of their own, with their own usage and their own old results, so whatever is
remembered is remembered per thread.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from inspector.session.model import BlockKind, Role

if TYPE_CHECKING:
    from inspector.strategies.base import Moment
    from inspector.strategies.history import History

_RESULT = int(BlockKind.TOOL_RESULT)
_NEVER_SENT = (int(BlockKind.SYSTEM_TEXT), int(BlockKind.OTHER))


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of a conversation: a single tool result, or everything else of one message.

    Attributes:
        message: The message's index.
        blocks: Block indices, in order.
        is_result: Whether it is a tool result.
    """

    message: int
    blocks: tuple[int, ...]
    is_result: bool


class Reader:
    """Reads what arrives, call by call. Calls bring a few blocks each, and for those plain lists are quicker."""

    def __init__(self, history: History) -> None:
        self._history = history
        self._kinds = history.kind_bytes
        self._messages: list[int] = history.message.tolist()
        self._threads = [context.thread for context in history.session.contexts]
        self._contexts: list[int] = history.call_context.tolist()

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
