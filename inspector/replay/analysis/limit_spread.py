"""Which limit of a plan matters most for a session: the one whose range changes the cost most, by a few values each."""

from __future__ import annotations

from dataclasses import dataclass
from time import thread_time
from typing import TYPE_CHECKING, Final

from inspector.replay.analysis.sweep import point_at

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from inspector.replay.analysis.sweep import Point
    from inspector.replay.analysis.tunable_limits import TunableLimit
    from inspector.replay.engine.inputs import ReplayInputs
    from inspector.strategies.plan import Plan

ROUNDS: Final = ((0.0, 1.0), (0.5,), (0.25, 0.75))
"""Where on a limit's line it is tried, round after round over all limits: its ends first."""

MOST_SECONDS: Final = 3.0
"""Of the processor's time, for all limits together."""


@dataclass(frozen=True, slots=True)
class LimitSpread:
    """How far a limit's range takes a session apart.

    Attributes:
        axis: The limit.
        least: The smallest amount at any value tried: dollars, or prompt tokens where there is no price.
        most: The largest.
        is_cost: The amounts are dollars.
    """

    axis: TunableLimit
    least: float
    most: float
    is_cost: bool

    @property
    def width(self) -> float:
        """How much the range changes."""
        return self.most - self.least


def limit_spreads(
    inputs: ReplayInputs, plan: Plan, axes: Sequence[TunableLimit], seconds: float = MOST_SECONDS
) -> Iterator[tuple[LimitSpread, ...]]:
    """Replay a plan at a few values of each of its limits.

    Args:
        inputs: The session, best `isolated` from other replays.
        plan: The plan.
        axes: Limits of it.
        seconds: Of the processor's time; what takes longer is left off.

    Yields:
        The limits, the one that changes most first, after every round over all of them; nothing where not even the
        first round came to its end. Of equal ones, that which stands first in the plan.
    """
    began = thread_time()
    points: dict[int, list[Point]] = {place: [] for place in range(len(axes))}
    for places in ROUNDS:
        for index, axis in enumerate(axes):
            for value in (axis.scale.value(place) for place in places):
                if thread_time() - began > seconds:
                    return
                point = point_at(inputs, plan, axis, value)
                if point is not None:
                    points[index].append(point)
        yield _ranked(axes, points)


def _ranked(axes: Sequence[TunableLimit], points: dict[int, list[Point]]) -> tuple[LimitSpread, ...]:
    spreads = [_spread(axis, points[index]) for index, axis in enumerate(axes) if points[index]]
    return tuple(sorted(spreads, key=lambda spread: -spread.width))


def _spread(axis: TunableLimit, points: Sequence[Point]) -> LimitSpread:
    costs = [point.figures.cost_usd.value for point in points]
    dollars = [cost for cost in costs if cost is not None]
    is_cost = len(dollars) == len(costs)
    tokens = [float(point.figures.prompt_tokens.value or 0) for point in points]
    amounts = dollars if is_cost else tokens
    return LimitSpread(axis, min(amounts), max(amounts), is_cost)
