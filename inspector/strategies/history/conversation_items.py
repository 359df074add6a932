"""What systems count as one when they keep "the newest forty": messages, batches of results, events, records.

Agents and providers cut one conversation into different items. A chat API with a tool role takes every tool result for
a message of its own (`ConversationItem`); one with two speakers takes all results of a batch for one message of the
user (`ConversationMessage`); an event log takes every tool call for an event too, the first one together with the words
before it (`Event`). Files of agents have records, of which several can make up a message. System texts are none of
these: they stand before the conversation, and no system here counts or drops them.

`ConversationItem`, `ConversationMessage` and `Event` are made as a conversation arrives, call by call; `counted_items`
gives a whole context.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from inspector.session.model import BlockKind
from inspector.strategies.history.arrival_order import arrivals
from inspector.strategies.history.freshness import result_runs
from inspector.strategies.history.history import ASSISTANT, THINKING, TOOL_CALL, TOOL_RESULT, USER_TEXT
from inspector.strategies.history.memo import kept_with, once_a_history

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from inspector.session.model import Origin
    from inspector.strategies.history.history import History


@dataclass(frozen=True, slots=True)
class ConversationItem:
    """One item of a conversation: a single tool result, or everything else of one message.

    Attributes:
        message: The message's index.
        blocks: Block indices, in order.
        is_result: Whether it is a tool result.
    """

    message: int
    blocks: tuple[int, ...]
    is_result: bool


@dataclass
class ConversationMessage:
    """One message.

    Attributes:
        is_answer: Whether the model said it.
        blocks: Its block indices, in order.
        message: Index of the last recorded message it is made of.
        ends_with_result: Whether the last thing in it so far is a tool result.
    """

    is_answer: bool
    blocks: list[int]
    message: int
    ends_with_result: bool


@dataclass
class Alternation:
    """The messages of one conversation, as they arrive.

    Attributes:
        history: What was recorded.
        turns: The messages that are still sent, oldest first.
    """

    history: History
    turns: list[ConversationMessage] = field(default_factory=list)

    def add(self, items: Iterable[ConversationItem]) -> None:
        """Take in items in the order they are sent."""
        for item in items:
            last = self.turns[-1] if self.turns else None
            goes_on = last is not None and (item.message == last.message or (item.is_result and last.ends_with_result))
            if last is not None and goes_on:
                last.blocks.extend(item.blocks)
                last.message, last.ends_with_result = item.message, item.is_result
            else:
                is_answer = self.history.kind_bytes[item.blocks[0]] in ASSISTANT
                self.turns.append(ConversationMessage(is_answer, list(item.blocks), item.message, item.is_result))


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


def messages_in(history: History, item: ConversationItem) -> tuple[Event, ...]:
    """One item as the messages the agent sent: every record of the user is one of its own."""
    return _known(history, item, calls_apart=False)


def events_in(history: History, item: ConversationItem) -> tuple[Event, ...]:
    """The events of one item: every tool call after the first is one of its own, and so is every user record."""
    return _known(history, item, calls_apart=True)


def _known(history: History, item: ConversationItem, *, calls_apart: bool) -> tuple[Event, ...]:
    # What an item comes to is the same under every plan.
    known: dict[int, tuple[Event, ...]] = kept_with(history, (Event, calls_apart))
    events = known.get(item.blocks[0])
    if events is None:
        events = known[item.blocks[0]] = tuple(_found(history, item, calls_apart=calls_apart))
    return events


def _found(history: History, item: ConversationItem, *, calls_apart: bool) -> Iterator[Event]:
    blocks, records = history.session.blocks, record_groups(history)
    gathered: list[int] = []
    call = ""
    for index in item.blocks:
        kind = history.kind_bytes[index]
        begins = (calls_apart and kind == TOOL_CALL and call) or (
            kind == USER_TEXT and gathered and records[index] != records[index - 1]
        )
        if begins:
            yield _event(history, item, gathered, call)
            gathered, call = [], ""
        gathered.append(index)
        if kind in (TOOL_CALL, TOOL_RESULT):
            call = blocks[index].tool_call_id or f"#{index}"
    yield _event(history, item, gathered, call)


def _event(history: History, item: ConversationItem, blocks: list[int], call: str) -> Event:
    thinks = any(history.kind_bytes[index] == THINKING for index in blocks)
    return Event(item.message, tuple(blocks), call, item.is_result, thinks and bool(call) and not item.is_result)


_PARTS = ("reasoning", "tool_calls", "function_call", "refusal")
"""Locators that name a part of a record, not a record."""


@once_a_history
def record_groups(history: History) -> NDArray[np.int32]:
    """Per block, the number of the record it stands in, int32, in the order of blocks."""
    if not len(history.kind):
        return np.zeros(0, dtype=np.int32)
    begins = np.ones(len(history.kind), dtype=np.bool_)
    begins[1:] = history.message[1:] != history.message[:-1]
    blocks = history.session.blocks
    # Only where a message has several blocks can they stand in several records.
    for index in np.flatnonzero(~begins).tolist():
        begins[index] = _record(blocks[index - 1].origin) != _record(blocks[index].origin)
    return (np.cumsum(begins) - 1).astype(np.int32)


def _record(origin: Origin) -> tuple[int, int, str]:
    return origin.file, origin.offset, "" if origin.locator in _PARTS else origin.locator


class ItemKind(Enum):
    """What one item of a whole context is: all results of a batch together, or events."""

    BATCHES = "batches"
    EVENTS = "events"


class CountedItems(NamedTuple):
    """One context's conversation as items, in the order they are sent.

    Attributes:
        context: Index of the context.
        blocks: Block indices, int32.
        item: Per block, the number of its item, counted from 0, int32.
        first: Per item, the position in `blocks` of its first block, int64.
        calls: Per item, the first call of this context whose prompt holds it, int32, never decreasing.
        carried: How many items came from an earlier context.
    """

    context: int
    blocks: NDArray[np.int32]
    item: NDArray[np.int32]
    first: NDArray[np.int64]
    calls: NDArray[np.int32]
    carried: int

    def kinds(self, history: History) -> NDArray[np.uint8]:
        """Per item, the kind of its first block."""
        kinds: NDArray[np.uint8] = history.kind[self.blocks[self.first]]
        return kinds


def counted_items(history: History, unit: ItemKind) -> Iterator[CountedItems]:
    """The items of every context."""
    starts = _starts(history, unit)
    runs = result_runs(history)
    counted = (history.kind != BlockKind.SYSTEM_TEXT) & (history.kind != BlockKind.OTHER)
    for context in arrivals(history, counted):
        blocks = context.blocks
        begins = starts[blocks]
        begins[:1] = True
        messages = history.message[blocks]
        begins[1:] |= messages[1:] != messages[:-1]
        if unit is ItemKind.BATCHES:
            of_run = np.where(history.kind[blocks] == BlockKind.TOOL_RESULT, runs[messages], -1)
            begins[1:] &= (of_run[1:] != of_run[:-1]) | (of_run[1:] < 0)
        item = (np.cumsum(begins) - 1).astype(np.int32)
        first = np.flatnonzero(begins)
        carried = int(item[context.carried - 1]) + 1 if context.carried else 0
        yield CountedItems(context.context, blocks, item, first, context.calls[first], carried)


def _starts(history: History, unit: ItemKind) -> NDArray[np.bool_]:
    """Per block, whether it begins an item although the block before it is of the same message."""
    kind = history.kind
    result = kind == BlockKind.TOOL_RESULT
    starts = np.zeros(len(kind), dtype=np.bool_)
    if not len(kind):
        return starts
    starts[1:] = result[1:] != result[:-1]
    if unit is ItemKind.EVENTS:
        call = kind == BlockKind.TOOL_CALL
        starts[1:] |= result[1:] | (call[1:] & call[:-1])
    # Some files keep what the user side added at different times between two responses as records of one message; the
    # agents that wrote them sent messages of their own.
    user, record = kind == BlockKind.USER_TEXT, record_groups(history)
    starts[1:] |= user[1:] & user[:-1] & (record[1:] != record[:-1])
    return starts
