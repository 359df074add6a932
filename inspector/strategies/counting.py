"""What systems count when they keep "the newest forty": messages, results, events.

One conversation is cut into entries in three ways. `RESULTS_APART` is how chat APIs with a tool role see it: every tool
result is a message of its own. `BATCHES` is how APIs see it that answer all tool calls of a response in one message.
`EVENTS` is how event logs see it: every tool call is an event too, the first one together with the words before it.
System texts are no entries: they stand before the conversation, and no system here counts or drops them.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from inspector.session.model import BlockKind
from inspector.strategies.arrivals import arrivals
from inspector.strategies.prompt_ends import result_runs
from inspector.strategies.records import records_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from inspector.strategies.history import History


class Unit(Enum):
    """What one entry of a conversation is."""

    RESULTS_APART = "results apart"
    BATCHES = "batches"
    EVENTS = "events"


class Entries(NamedTuple):
    """One context's conversation as entries, in the order they are sent.

    Attributes:
        context: Index of the context.
        blocks: Block indices, int32.
        entry: Per block, the number of its entry, counted from 0, int32.
        first: Per entry, the position in `blocks` of its first block, int64.
        calls: Per entry, the first call of this context whose prompt holds it, int32, never decreasing.
        carried: How many entries came from an earlier context.
    """

    context: int
    blocks: NDArray[np.int32]
    entry: NDArray[np.int32]
    first: NDArray[np.int64]
    calls: NDArray[np.int32]
    carried: int

    def kinds(self, history: History) -> NDArray[np.uint8]:
        """Per entry, the kind of its first block."""
        kinds: NDArray[np.uint8] = history.kind[self.blocks[self.first]]
        return kinds


def entries_of(history: History, unit: Unit) -> Iterator[Entries]:
    """The entries of every context."""
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
        entry = (np.cumsum(begins) - 1).astype(np.int32)
        first = np.flatnonzero(begins)
        carried = int(entry[context.carried - 1]) + 1 if context.carried else 0
        yield Entries(context.context, blocks, entry, first, context.calls[first], carried)


def _starts(history: History, unit: Unit) -> NDArray[np.bool_]:
    """Per block, whether it begins an entry although the block before it is of the same message."""
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
    user, record = kind == BlockKind.USER_TEXT, records_of(history)
    starts[1:] |= user[1:] & user[:-1] & (record[1:] != record[:-1])
    return starts
