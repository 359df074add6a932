"""Condensations: events that say which earlier ones are no longer sent, and what stands in their place.

The rules are those of `openhands/sdk/context/view.py`: only the newest summary is sent, behind so many of the events
that are left.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from inspector.session.model import Compaction

if TYPE_CHECKING:
    from collections.abc import Collection

    from inspector.session.formats.chat import ChatThread
    from inspector.session.model import Message


class Events:
    """Which event each message came from."""

    def __init__(self) -> None:
        self._of_message: dict[int, list[str]] = {}
        self._summaries: set[int] = set()

    def note(self, message: int, event: str) -> None:
        """A message came from an event."""
        self._of_message.setdefault(message, []).append(event)

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
        first = chat.thread.compact(Compaction(0, "auto", time=time), summary, left[len(before) :], before)
        if summary is not None:
            self._summaries.add(first)

    def _is_gone(self, events: list[str], gone: set[str]) -> bool:
        return bool(events) and all(event in gone for event in events)
