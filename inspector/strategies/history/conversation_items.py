"""Conversations as strategies that remember see them: items in order, per thread, as they arrive.

Inline subagents have conversations of their own, with their own usage and their own old results, so whatever is
remembered is remembered per thread.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from inspector.session.model import BlockKind
from inspector.strategies.history.arrival_order import arrivals
from inspector.strategies.history.freshness import result_runs
from inspector.strategies.history.memo import once_a_history

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from inspector.session.model import Origin
    from inspector.strategies.history.history import History


@dataclass(frozen=True, slots=True)
class Item:
    """One item of a conversation: a single tool result, or everything else of one message.

    Attributes:
        message: The message's index.
        blocks: Block indices, in order.
        is_result: Whether it is a tool result.
    """

    message: int
    blocks: tuple[int, ...]
    is_result: bool


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


class Unit(Enum):
    """What one item of a conversation is."""

    RESULTS_APART = "results apart"
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


def counted_items(history: History, unit: Unit) -> Iterator[CountedItems]:
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
        if unit is Unit.BATCHES:
            of_run = np.where(history.kind[blocks] == BlockKind.TOOL_RESULT, runs[messages], -1)
            begins[1:] &= (of_run[1:] != of_run[:-1]) | (of_run[1:] < 0)
        item = (np.cumsum(begins) - 1).astype(np.int32)
        first = np.flatnonzero(begins)
        carried = int(item[context.carried - 1]) + 1 if context.carried else 0
        yield CountedItems(context.context, blocks, item, first, context.calls[first], carried)


def _starts(history: History, unit: Unit) -> NDArray[np.bool_]:
    """Per block, whether it begins an item although the block before it is of the same message."""
    kind = history.kind
    result = kind == BlockKind.TOOL_RESULT
    starts = np.zeros(len(kind), dtype=np.bool_)
    if not len(kind):
        return starts
    starts[1:] = result[1:] != result[:-1]
    if unit is not Unit.BATCHES:
        starts[1:] |= result[1:]
    if unit is Unit.EVENTS:
        call = kind == BlockKind.TOOL_CALL
        starts[1:] |= call[1:] & call[:-1]
    # Some files keep what the user side added at different times between two responses as records of one message; the
    # agents that wrote them sent messages of their own.
    user, record = kind == BlockKind.USER_TEXT, record_groups(history)
    starts[1:] |= user[1:] & user[:-1] & (record[1:] != record[:-1])
    return starts
