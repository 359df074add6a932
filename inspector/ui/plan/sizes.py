"""Sizes of the results that each limit of a plan applies to, for the slider's range and its histogram."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from inspector.replay.analysis.tunable_limits import (
    LARGEST_LIMIT_OF_ONE,
    LimitSizes,
    sizes_for,
    tunable_limits,
)
from inspector.strategies.core.batching import GROUP as BATCHING
from inspector.strategies.core.parameters import CHARACTERS, TOKENS
from inspector.strategies.core.scale import ValueScale
from inspector.strategies.core.strategy import ScheduledStrategy
from inspector.strategies.registry import with_values

if TYPE_CHECKING:
    from collections.abc import Mapping

    from inspector.replay.engine.replay import Replay
    from inspector.strategies.core.parameters import Parameter
    from inspector.strategies.history.history import History
    from inspector.strategies.plan import Plan
    from inspector.ui.plan.track import LimitTrack

LEVELS = " ▁▂▃▄▅▆▇█"

LimitName = tuple[int, str]
"""Index of the strategy in the plan, and name of the limit."""

ROOM_ABOVE = 1.05
"""A slider ends at this factor times the largest size, rounded up."""


@dataclass(frozen=True, eq=False)
class PlanSizes:
    """Sizes for every limit of a plan; compared by identity.

    Attributes:
        history: State of the session they were taken from.
        shape: The plan with every limit at its default, on which the sizes depend.
        of: Sizes per limit; limits not compared with sizes are left out.
        largest: Per limit, the largest size or the count of its unit: larger values have no effect. Limits without a
            known maximum are left out.
    """

    history: History
    shape: Plan
    of: Mapping[LimitName, LimitSizes]
    largest: Mapping[LimitName, int]

    def serves(self, history: History, plan: Plan) -> bool:
        """Return True if the sizes also apply to another plan or state."""
        return self.history is history and self.shape == shape_of(plan)


def shape_of(plan: Plan) -> Plan:
    """Enable all strategies and reset the limits. The other parameters decide which results belong to a tier."""
    for index, entry in enumerate(plan.entries):
        limits = {axis.parameter.name: axis.parameter.default for axis in tunable_limits(plan) if axis.entry == index}
        plan = plan.with_strategy(index, with_values(entry.strategy, limits))
        if not entry.enabled:
            plan = plan.toggled(index)
    return plan


def sizes_of(baseline: Replay, plan: Plan) -> PlanSizes:
    """Collect the sizes for a plan's limits.

    Args:
        baseline: The session with nothing cut.
        plan: The plan; strategies that are off are included.
    """
    found, largest = {}, {}
    for axis in tunable_limits(plan):
        name, strategy = (axis.entry, axis.parameter.name), plan.entries[axis.entry].strategy
        count = _count_of(baseline.history, axis.parameter)
        if count:
            largest[name] = count
        sizes = sizes_for(baseline, strategy, axis.parameter)
        if sizes is None:
            continue
        is_of_tier = sizes.group == axis.parameter.group or not isinstance(strategy, ScheduledStrategy)
        if is_of_tier or sizes.noun == "prompt":
            found[name] = sizes
            if len(sizes.values):
                largest[name] = int(sizes.values.max())
    return PlanSizes(baseline.history, shape_of(plan), found, largest)


def _count_of(history: History, parameter: Parameter) -> int:
    """Return the number of items that a limit counts; 0 if it does not count results, messages or calls."""
    if parameter.group == BATCHING:
        return 0
    match parameter.unit:
        case "results" | "tool uses" | "observations":
            return len(history.results)
        case "messages":
            return len(history.session.messages)
        case "calls":
            return history.call_count
    return 0


def counts_sizes(parameter: Parameter) -> bool:
    """Return True if a limit can be compared with sizes in any session, so its slider reserves a line for them."""
    reach = parameter.maximum or 0
    if parameter.group == BATCHING:
        return False
    return (parameter.unit == CHARACTERS and reach <= LARGEST_LIMIT_OF_ONE) or (
        parameter.unit == TOKENS and reach > LARGEST_LIMIT_OF_ONE
    )


def range_of(parameter: Parameter, value: float, largest: int | None) -> ValueScale:
    """Return the range of a slider, from the minimum to a little above the largest value with an effect.

    Args:
        parameter: The limit.
        value: Its value, which may exceed the range.
        largest: The largest size, as in `PlanSizes`; None for the full range.
    """
    whole = ValueScale.of(parameter, value)
    if largest is None or largest <= whole.minimum:
        return whole
    end = rounded_up(max(largest * ROOM_ABOVE, largest + 1))
    return replace(whole, maximum=end) if end < whole.maximum else whole


def rounded_up(value: float) -> float:
    """Round up to two significant digits, or to a whole number below 100."""
    unit = 10 ** max(math.floor(math.log10(max(value, 1))) - 1, 0)
    return float(math.ceil(value / unit) * unit)


def histogram(sizes: LimitSizes, track: LimitTrack) -> str:
    """Draw one glyph per cell of a limit's track, scaled to the number of sizes in it. A nonzero count always shows.

    Args:
        sizes: Sizes to count; a size beyond the range counts in the last cell.
        track: The limit's track.
    """
    values, times = np.unique(sizes.values, return_counts=True)
    counts = np.zeros(track.cells, dtype=np.int64)
    np.add.at(counts, np.array([track.cell(value) for value in values.tolist()], dtype=np.int64), times)
    most = int(counts.max(initial=0))
    steps = len(LEVELS) - 1
    return "".join(LEVELS[0 if not count else max(1, count * steps // most)] for count in counts.tolist())
