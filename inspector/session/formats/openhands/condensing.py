"""Condensations: events that say which earlier ones are no longer sent, and what stands in their place.

The rules are those of `openhands/sdk/context/view.py`: only the newest summary is sent, behind so many of the events
that are left; an answer of which any action is forgotten is forgotten whole; and a call without its result, or a result
without its call, is not sent. Version 0 pairs them likewise (`openhands/memory/conversation_memory.py`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from inspector.session.model import BlockKind, Compaction

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from inspector.session.formats.chat import ChatThread
    from inspector.session.model import Block, Message


class Events:
    """Which event each message came from."""

    def __init__(self) -> None:
        self._of_message: dict[int, list[str]] = {}
        self._summaries: set[int] = set()
        self._called: dict[int, set[str]] = {}
        self._answered: dict[int, str] = {}

    def note(self, message: int, event: str, blocks: Iterable[Block]) -> None:
        """A message, or these blocks of it, came from an event."""
        self._of_message.setdefault(message, []).append(event)
        for block in blocks:
            if block.kind is BlockKind.TOOL_CALL and block.tool_call_id:
                self._called.setdefault(message, set()).add(block.tool_call_id)
            elif block.kind is BlockKind.TOOL_RESULT and block.tool_call_id:
                self._answered[message] = block.tool_call_id

    def condense(
        self, chat: ChatThread, summary: Message | None, forgotten: Collection[str], offset: int, time: float | None
    ) -> None:
        """Begin the context that a condensation leaves.

        Args:
            chat: The conversation.
            summary: The message with its summary, if it has one.
            forgotten: The ids of events that are no longer sent.
            offset: How many of the events that are left are sent before the summary.
            time: When that was.
        """
        gone = set(forgotten)
        left = [
            index
            for index in chat.thread.members
            if index not in self._summaries and not self._is_gone(self._of_message.get(index, []), gone)
        ]
        before: list[int] = []
        counted = 0
        for index in left:
            if counted >= offset:
                break
            before.append(index)
            counted += len(self._of_message.get(index, [""]))
        unpaired = self._unpaired(left)
        kept = [index for index in left[len(before) :] if index not in unpaired]
        before = [index for index in before if index not in unpaired]
        first = chat.thread.compact(Compaction(0, "auto", time=time), summary, kept, before)
        if summary is not None:
            self._summaries.add(first)

    def _is_gone(self, events: list[str], gone: set[str]) -> bool:
        return any(event in gone for event in events)

    def _unpaired(self, left: Collection[int]) -> set[int]:
        """Answers of which a result was forgotten, and results of calls that are not sent."""
        once, still = set(self._answered.values()), {self._answered.get(index, "") for index in left}
        cut = {index for index in left if (self._called.get(index, set()) & once) - still}
        called = {call for index in left if index not in cut for call in self._called.get(index, ())}
        return cut | {index for index in left if index in self._answered and self._answered[index] not in called}
