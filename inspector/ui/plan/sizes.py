"""How large the results are that each limit of a plan is about, for the small histogram under its slider."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from inspector.replay.analysis.tunable_limits import LimitSizes, counts_along, sizes_for, tunable_limits
from inspector.strategies.core.strategy import ScheduledStrategy
from inspector.strategies.registry import with_values

if TYPE_CHECKING:
    from collections.abc import Mapping

    from inspector.replay.engine.replay import Replay
    from inspector.strategies.core.scale import ValueScale
    from inspector.strategies.history.history import History
    from inspector.strategies.plan import Plan

LEVELS = " ▁▂▃▄▅▆▇█"

LimitName = tuple[int, str]
"""A limit by its strategy's place in the plan and its own name."""


@dataclass(frozen=True, eq=False)
class PlanSizes:
    """The sizes every limit of a plan is about; equal only to itself.

    Attributes:
        history: The state of the session they were taken from.
        shape: The plan with every limit at its default: what the sizes depend on.
        of: Per limit, its sizes; limits that are no sizes are left out.
    """

    history: History
    shape: Plan
    of: Mapping[LimitName, LimitSizes]

    def serves(self, history: History, plan: Plan) -> bool:
        """Whether these are the sizes of another plan or state too."""
        return self.history is history and self.shape == shape_of(plan)


def shape_of(plan: Plan) -> Plan:
    """The plan with its numbers at their defaults and everything in use: which results a tier holds is in the rest."""
    for index, entry in enumerate(plan.entries):
        limits = {axis.parameter.name: axis.parameter.default for axis in tunable_limits(plan) if axis.entry == index}
        plan = plan.with_strategy(index, with_values(entry.strategy, limits))
        if not entry.enabled:
            plan = plan.toggled(index)
    return plan


def sizes_of(baseline: Replay, plan: Plan) -> PlanSizes:
    """The sizes of a plan's limits.

    Args:
        baseline: The session with nothing cut.
        plan: The plan; strategies that are not in use count too.
    """
    found = {}
    for axis in tunable_limits(plan):
        strategy = plan.entries[axis.entry].strategy
        sizes = sizes_for(baseline, strategy, axis.parameter)
        if sizes is None or not len(sizes.values):
            continue
        is_of_tier = sizes.group == axis.parameter.group or not isinstance(strategy, ScheduledStrategy)
        if is_of_tier or sizes.noun == "prompt":
            found[axis.entry, axis.parameter.name] = sizes
    return PlanSizes(baseline.history, shape_of(plan), found)


def histogram(sizes: LimitSizes, scale: ValueScale, columns: int) -> str:
    """One glyph a column of a limit's line, as high as there are sizes on it; any size at all shows.

    Args:
        sizes: What is counted.
        scale: The limit's line.
        columns: Cells.
    """
    counts = counts_along(sizes.values, scale, columns)
    most = int(counts.max(initial=0))
    steps = len(LEVELS) - 1
    return "".join(LEVELS[0 if not count else max(1, count * steps // most)] for count in counts.tolist())
