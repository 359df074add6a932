"""How large the results are that each limit of a plan is about: where its slider ends, and the histogram below it."""

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
"""A limit by its strategy's place in the plan and its own name."""

ROOM_ABOVE = 1.05
"""A slider ends so far above the largest thing its limit is held against, and at the next round number."""


@dataclass(frozen=True, eq=False)
class PlanSizes:
    """The sizes every limit of a plan is about; equal only to itself.

    Attributes:
        history: The state of the session they were taken from.
        shape: The plan with every limit at its default: what the sizes depend on.
        of: Per limit, its sizes; limits that are no sizes are left out.
        largest: Per limit, the largest size, or how many there are of what it counts: what is above it changes nothing.
            Limits of which that is not known are left out.
    """

    history: History
    shape: Plan
    of: Mapping[LimitName, LimitSizes]
    largest: Mapping[LimitName, int]

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
    """How many there are of what a limit counts; 0 where it counts something else, or nothing."""
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
    """Whether a limit may be held against sizes, whatever session it is: its slider keeps a line for them."""
    reach = parameter.maximum or 0
    if parameter.group == BATCHING:
        return False
    return (parameter.unit == CHARACTERS and reach <= LARGEST_LIMIT_OF_ONE) or (
        parameter.unit == TOKENS and reach > LARGEST_LIMIT_OF_ONE
    )


def range_of(parameter: Parameter, value: float, largest: int | None) -> ValueScale:
    """What a slider covers: from the lowest value to a little above the largest that changes anything.

    Args:
        parameter: The limit.
        value: Its value, which may lie beyond.
        largest: The largest thing the limit is held against, as in `PlanSizes`; None for all the values it can take.
    """
    whole = ValueScale.of(parameter, value)
    if largest is None or largest <= whole.minimum:
        return whole
    end = rounded_up(max(largest * ROOM_ABOVE, largest + 1))
    return replace(whole, maximum=end) if end < whole.maximum else whole


def rounded_up(value: float) -> float:
    """The next number of at most two digits that count, or a whole one below 100."""
    unit = 10 ** max(math.floor(math.log10(max(value, 1))) - 1, 0)
    return float(math.ceil(value / unit) * unit)


def histogram(sizes: LimitSizes, track: LimitTrack) -> str:
    """One glyph a cell of a limit's line, as high as there are sizes on it; any size at all shows.

    Args:
        sizes: What is counted: each where the limit would stand if it were as large, at the end what is beyond it.
        track: The limit's line.
    """
    values, times = np.unique(sizes.values, return_counts=True)
    counts = np.zeros(track.cells, dtype=np.int64)
    np.add.at(counts, np.array([track.cell(value) for value in values.tolist()], dtype=np.int64), times)
    most = int(counts.max(initial=0))
    steps = len(LEVELS) - 1
    return "".join(LEVELS[0 if not count else max(1, count * steps // most)] for count in counts.tolist())
