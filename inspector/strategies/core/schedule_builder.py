"""Build a schedule by collecting decisions about blocks as columns, in any order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from inspector.strategies.core.strategy import Decision, Schedule
from inspector.strategies.history.arrival_order import arrivals
from inspector.strategies.history.history import NEVER

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from inspector.strategies.history.arrival_order import Arrivals
    from inspector.strategies.history.history import History

CONTEXT_RESET: Final = Decision(None, "counted again in a new context")
"""Reset of a decision about a block that another context begins with."""


class ScheduleBuilder:
    """Collects decisions about the blocks of a history as columns; equal decisions share a table entry."""

    def __init__(self, history: History) -> None:
        self._history = history
        self._table: dict[Decision, int] = {}
        self._columns: list[tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]] = []

    def add(self, blocks: NDArray[np.int32], calls: NDArray[np.int32], decision: Decision) -> None:
        """Add one decision about all of `blocks`, each from its own call on; calls equal to `NEVER` are dropped."""
        self.add_each(blocks, calls, np.full(len(blocks), self.index_of(decision), dtype=np.int32))

    def add_each(self, blocks: NDArray[np.int32], calls: NDArray[np.int32], decisions: NDArray[np.int32]) -> None:
        """Add `decisions[i]`, an index from `index_of`, about `blocks[i]` from `calls[i]` on."""
        comes = calls != NEVER
        self._columns.append((blocks[comes], calls[comes], decisions[comes]))

    def add_at_insertion(self, blocks: NDArray[np.int32], decision: Decision) -> None:
        """Add one decision about all of `blocks`, each from the first call with the block in its prompt."""
        self.add(blocks, self._history.enters[blocks], decision)

    def add_pairs(self, pairs: Iterable[tuple[int, int]], decision: Decision) -> None:
        blocks, calls = np.array(list(pairs), dtype=np.int32).reshape(-1, 2).T
        self.add(blocks, calls, decision)

    def add_with_tool_calls(self, results: NDArray[np.int32], calls: NDArray[np.int32], decision: Decision) -> None:
        """Add one decision about tool results and about their tool calls, if recorded."""
        self.add(results, calls, decision)
        asked = self._history.call_block[results]
        self.add(asked[asked >= 0], calls[asked >= 0], decision)

    def restore(self, context: Arrivals) -> None:
        """Reset decisions about blocks that were carried into a new context."""
        self.add(context.blocks[: context.retained], context.calls[: context.retained], CONTEXT_RESET)

    def restore_with_tool_calls(self, context: Arrivals, group: str = "") -> None:
        """Reset decisions about results that were carried into a new context, and about their tool calls."""
        if context.retained:
            retained, calls = context.blocks[: context.retained], context.calls[: context.retained]
            self.add_with_tool_calls(retained, calls, Decision(None, CONTEXT_RESET.reason, group))

    def keep_newest(self, chosen: NDArray[np.bool_], keep: int, decision: Decision) -> None:
        """Keep the newest `keep` of the chosen results of every prompt; older ones, and their calls, get `decision`."""
        for context in arrivals(self._history, chosen):
            self.restore_with_tool_calls(context, decision.group)
            dropped = context.blocks[: max(len(context.blocks) - keep, 0)]
            self.add_with_tool_calls(dropped, context.calls[keep:], decision)

    def index_of(self, decision: Decision) -> int:
        """Return the decision's index in the table, added if new."""
        return self._table.setdefault(decision, len(self._table))

    def schedule(self) -> Schedule:
        """Return the columns, sorted by block, then call; the last decision about a block at one call wins."""
        nothing = np.zeros(0, dtype=np.int32)
        blocks, calls, decisions = (
            np.concatenate([nothing, *(columns[at] for columns in self._columns)]) for at in range(3)
        )
        order = np.lexsort((calls, blocks))
        blocks, calls, decisions = blocks[order], calls[order], decisions[order]
        if len(blocks):
            last = np.append((blocks[1:] != blocks[:-1]) | (calls[1:] != calls[:-1]), True)
            blocks, calls, decisions = blocks[last], calls[last], decisions[last]
        return Schedule(blocks, calls, decisions, tuple(self._table))
