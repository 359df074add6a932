"""Making a schedule: decisions about blocks collected as columns, whatever order they are made in."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from inspector.strategies.core.strategy import Decision, Schedule
from inspector.strategies.history.history import NEVER

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from inspector.strategies.history.history import History
from inspector.strategies.history.arrival_order import Arrivals, arrivals


class ScheduleBuilder:
    """Collects decisions as columns, table entries by value."""

    def __init__(self) -> None:
        self._table: dict[Decision, int] = {}
        self._columns: list[tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]] = []

    def add(self, blocks: NDArray[np.int32], calls: NDArray[np.int32], decision: Decision) -> None:
        """Make one decision about all of `blocks`, each from its call on; calls that never come are left out."""
        index = self._table.setdefault(decision, len(self._table))
        self.add_each(blocks, calls, np.full(len(blocks), index, dtype=np.int32))

    def add_each(self, blocks: NDArray[np.int32], calls: NDArray[np.int32], decisions: NDArray[np.int32]) -> None:
        """Make `decisions[i]`, an index `index_of` gave, about `blocks[i]` from `calls[i]` on."""
        comes = calls != NEVER
        self._columns.append((blocks[comes], calls[comes], decisions[comes]))

    def index_of(self, decision: Decision) -> int:
        """The decision's place in the table."""
        return self._table.setdefault(decision, len(self._table))

    def schedule(self) -> Schedule:
        """The columns, sorted by block, then call; of several decisions about a block at one call the last counts."""
        joined = [_joined([column[at] for column in self._columns]) for at in range(3)]
        order = np.lexsort((joined[1], joined[0]))
        blocks, calls, decisions = (column[order] for column in joined)
        if len(blocks):
            last = np.append((blocks[1:] != blocks[:-1]) | (calls[1:] != calls[:-1]), True)
            blocks, calls, decisions = blocks[last], calls[last], decisions[last]
        return Schedule(blocks, calls, decisions, tuple(self._table))


def drop_all_but_newest(
    history: History, builder: ScheduleBuilder, chosen: NDArray[np.bool_], keep: int, decision: Decision
) -> None:
    """Keep the newest `keep` of the chosen results of every prompt; older ones, and their calls, get `decision`."""
    for context in arrivals(history, chosen):
        restore_carried(history, builder, context, decision.group)
        dropped = context.blocks[: max(len(context.blocks) - keep, 0)]
        add_with_tool_calls(history, builder, dropped, context.calls[keep:], decision)


def restore_carried(history: History, builder: ScheduleBuilder, context: Arrivals, group: str) -> None:
    """Take back what was decided about results (and their calls) that were carried into a new context."""
    if context.carried:
        carried, calls = context.blocks[: context.carried], context.calls[: context.carried]
        add_with_tool_calls(history, builder, carried, calls, Decision(None, "counted anew", group))


def add_with_tool_calls(
    history: History,
    builder: ScheduleBuilder,
    results: NDArray[np.int32],
    calls: NDArray[np.int32],
    decision: Decision,
) -> None:
    """Decide the same about tool results and about the tool calls that asked for them, where those are known."""
    builder.add(results, calls, decision)
    asked = history.call_block[results]
    builder.add(asked[asked >= 0], calls[asked >= 0], decision)


def _joined(columns: Sequence[NDArray[np.int32]]) -> NDArray[np.int32]:
    return np.concatenate([np.zeros(0, dtype=np.int32), *columns])
