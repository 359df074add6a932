"""A conversation as an event log that grows and is condensed: which of its events may be parted from one another."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from inspector.session.model import BlockKind
from inspector.strategies.history.conversation_items import record_groups
from inspector.strategies.history.memo import kept_with

if TYPE_CHECKING:
    from collections.abc import Iterator

    from inspector.strategies.history.conversation_items import Item
    from inspector.strategies.history.history import History

_CALL, _RESULT = int(BlockKind.TOOL_CALL), int(BlockKind.TOOL_RESULT)
_THINKING, _USER = int(BlockKind.THINKING), int(BlockKind.USER_TEXT)


@dataclass(frozen=True, slots=True)
class Event:
    """One event: what somebody said, a tool call with the words before it, or a result.

    Attributes:
        message: The message's index.
        blocks: Block indices, in order.
        call: Id of the tool call it makes or answers; empty for neither.
        is_result: Whether it answers one.
        thinks: Whether it is a call with thinking before it.
    """

    message: int
    blocks: tuple[int, ...]
    call: str = ""
    is_result: bool = False
    thinks: bool = False

    @property
    def is_action(self) -> bool:
        """Whether it makes a tool call."""
        return bool(self.call) and not self.is_result


def messages_in(history: History, item: Item) -> tuple[Event, ...]:
    """One item as the messages the agent sent: every record of the user is one of its own."""
    return _known(history, item, calls_apart=False)


def events_in(history: History, item: Item) -> tuple[Event, ...]:
    """The events of one item: every tool call after the first is one of its own, and so is every user record."""
    return _known(history, item, calls_apart=True)


def _known(history: History, item: Item, *, calls_apart: bool) -> tuple[Event, ...]:
    # What an item comes to is the same under every plan.
    known: dict[int, tuple[Event, ...]] = kept_with(history, (Event, calls_apart))
    events = known.get(item.blocks[0])
    if events is None:
        events = known[item.blocks[0]] = tuple(_found(history, item, calls_apart=calls_apart))
    return events


def _found(history: History, item: Item, *, calls_apart: bool) -> Iterator[Event]:
    blocks, records = history.session.blocks, record_groups(history)
    gathered: list[int] = []
    call = ""
    for index in item.blocks:
        kind = history.kind_bytes[index]
        begins = (calls_apart and kind == _CALL and call) or (
            kind == _USER and gathered and records[index] != records[index - 1]
        )
        if begins:
            yield _event(history, item, gathered, call)
            gathered, call = [], ""
        gathered.append(index)
        if kind in (_CALL, _RESULT):
            call = blocks[index].tool_call_id or f"#{index}"
    yield _event(history, item, gathered, call)


def _event(history: History, item: Item, blocks: list[int], call: str) -> Event:
    thinks = any(history.kind_bytes[index] == _THINKING for index in blocks)
    return Event(item.message, tuple(blocks), call, item.is_result, thinks and bool(call) and not item.is_result)


@dataclass
class EventLog:
    """Events as they are sent, and the places between them where some may be taken out.

    A cut may fall before an event unless that parts two calls of one response, a call from its result, or a call or
    result from the thinking that began its run of calls.

    Attributes:
        events: The events, in order.
    """

    events: list[Event] = field(default_factory=list)
    _cuts: list[int] = field(default_factory=list)
    _pending: set[str] = field(default_factory=set)
    _in_run: bool = False

    def add(self, event: Event) -> None:
        """Append an event."""
        is_tool = bool(event.call)
        # A call with thinking begins a run, and nothing within a run is parted from it.
        follows_thinking = self._in_run and is_tool and not event.thinks
        if not self._pending and not self._same_response(event) and not follows_thinking:
            self._cuts.append(len(self.events))
        self._in_run = is_tool and (self._in_run or event.thinks)
        if event.is_action:
            self._pending.add(event.call)
        elif event.is_result:
            self._pending.discard(event.call)
        self.events.append(event)

    def _same_response(self, event: Event) -> bool:
        before = self.events[-1] if self.events else None
        return before is not None and event.is_action and before.is_action and before.message == event.message

    def next_cut(self, place: int) -> int | None:
        """The first place at or after `place` where a cut may fall; None where there is none."""
        at = bisect_left(self._cuts, place)
        if at < len(self._cuts):
            return self._cuts[at]
        return len(self.events) if not self._pending and place <= len(self.events) else None

    def replace(self, start: int, stop: int, event: Event) -> None:
        """Put one event in the place of those from `start` to `stop`, which are places where cuts may fall."""
        kept = [*self.events[:start], event, *self.events[stop:]]
        self.events, self._cuts, self._pending, self._in_run = [], [], set(), False
        for each in kept:
            self.add(each)
