"""Items that systems count in rules such as "the newest forty": messages, batches of results, events, records.

Agents and providers split one conversation into different items. A chat API with a tool role treats every tool result
as a separate message (`ConversationItem`). An API with two speakers merges all results of a batch into one user message
(`ConversationMessage`). An event log treats every tool call as an event too, the first one together with the text
before it (`Event`). Agents' files have records, several of which can form one message. System texts are not items: they
precede the conversation, and no system here counts or drops them.

`ConversationItem`, `ConversationMessage` and `Event` are built call by call as a conversation arrives; `counted_items`
covers a whole context.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from inspector.session.model import BlockKind, Origin
from inspector.strategies.history.arrival_order import arrivals, result_runs
from inspector.strategies.history.history import ASSISTANT, THINKING, TOOL_CALL, TOOL_RESULT, USER_TEXT, History
from inspector.strategies.history.memo import cache_for, cached_per_history

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class ConversationItem:
    """One item of a conversation: a single tool result, or everything else of one message."""

    message: int
    blocks: tuple[int, ...]
    is_result: bool


@dataclass
class ConversationMessage:
    """One message. `is_answer`: true if the model wrote it; `message`: index of its last recorded message."""

    is_answer: bool
    blocks: list[int]
    message: int
    ends_with_result: bool


@dataclass
class MessageList:
    """The messages of one conversation, as they arrive. `turns`: the messages that are still sent, oldest first."""

    history: History
    turns: list[ConversationMessage] = field(default_factory=list)

    def add(self, items: Iterable[ConversationItem]) -> None:
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
    """A text, a tool call with the text before it, or a result. `thinks`: the call follows thinking."""

    message: int
    blocks: tuple[int, ...]
    call: str = ""
    is_result: bool = False
    thinks: bool = False

    @property
    def is_action(self) -> bool:
        return bool(self.call) and not self.is_result


def split_messages(history: History, item: ConversationItem) -> tuple[Event, ...]:
    """Split an item into messages as the agent sent them: every user record is a separate one."""
    return _known(history, item, split_calls=False)


def split_events(history: History, item: ConversationItem) -> tuple[Event, ...]:
    """Split an item into events: every tool call after the first is a separate one, and so is every user record."""
    return _known(history, item, split_calls=True)


def _known(history: History, item: ConversationItem, *, split_calls: bool) -> tuple[Event, ...]:
    # The events of an item are the same under every plan.
    known: dict[int, tuple[Event, ...]] = cache_for(history, (Event, split_calls))
    events = known.get(item.blocks[0])
    if events is None:
        events = known[item.blocks[0]] = tuple(_found(history, item, split_calls=split_calls))
    return events


def _found(history: History, item: ConversationItem, *, split_calls: bool) -> Iterator[Event]:
    blocks, records = history.session.blocks, record_groups(history)
    gathered: list[int] = []
    call = ""
    for index in item.blocks:
        kind = history.kind_bytes[index]
        begins = (split_calls and kind == TOOL_CALL and call) or (
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


@cached_per_history
def record_groups(history: History) -> NDArray[np.int32]:
    """Return, per block, the number of its record, int32, in block order."""
    if not len(history.kind):
        return np.zeros(0, dtype=np.int32)
    begins = np.ones(len(history.kind), dtype=np.bool_)
    begins[1:] = history.message[1:] != history.message[:-1]
    blocks = history.session.blocks
    # Only a message with several blocks can come from several records.
    for index in np.flatnonzero(~begins).tolist():
        begins[index] = _record(blocks[index - 1].origin) != _record(blocks[index].origin)
    return (np.cumsum(begins) - 1).astype(np.int32)


def _record(origin: Origin) -> tuple[int, int, str]:
    return origin.file, origin.offset, "" if origin.locator in _PARTS else origin.locator


class ItemKind(Enum):
    """Item of a whole context: all results of a batch together, or an event."""

    BATCHES = "batches"
    EVENTS = "events"


class CountedItems(NamedTuple):
    """One context's conversation as items, in the order they are sent.

    Attributes:
        blocks: Block indices, int32.
        item: Per block, the number of its item, from 0, int32.
        first: Per item, the position in `blocks` of its first block, int64.
        calls: Per item, the first call of this context that sends it, int32, non-decreasing.
        retained: Number of items that came from an earlier context.
    """

    context: int
    blocks: NDArray[np.int32]
    item: NDArray[np.int32]
    first: NDArray[np.int64]
    calls: NDArray[np.int32]
    retained: int

    def kinds(self, history: History) -> NDArray[np.uint8]:
        kinds: NDArray[np.uint8] = history.kind[self.blocks[self.first]]
        return kinds


def counted_items(history: History, unit: ItemKind) -> Iterator[CountedItems]:
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
        retained = int(item[context.retained - 1]) + 1 if context.retained else 0
        yield CountedItems(context.context, blocks, item, first, context.calls[first], retained)


def _starts(history: History, unit: ItemKind) -> NDArray[np.bool_]:
    """Return, per block, True if it begins an item although the block before it is in the same message."""
    kind = history.kind
    result = kind == BlockKind.TOOL_RESULT
    starts = np.zeros(len(kind), dtype=np.bool_)
    if not len(kind):
        return starts
    starts[1:] = result[1:] != result[:-1]
    if unit is ItemKind.EVENTS:
        call = kind == BlockKind.TOOL_CALL
        starts[1:] |= result[1:] | (call[1:] & call[:-1])
    # Some files merge user-side additions made at different times between two responses into one message; the agents
    # that wrote them sent separate messages.
    user, record = kind == BlockKind.USER_TEXT, record_groups(history)
    starts[1:] |= user[1:] & user[:-1] & (record[1:] != record[:-1])
    return starts
