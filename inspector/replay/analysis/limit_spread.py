"""Rank a plan's limits for a session by their effect on the cost, sampled at a few values each."""

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
"""Fractions of each limit's range to sample, in rounds over all limits: ends first."""

MOST_SECONDS: Final = 3.0
"""Budget of CPU seconds for all limits together."""


@dataclass(frozen=True, slots=True)
class LimitSpread:
    """Range of results over a limit's range.

    Attributes:
        axis: The limit.
        least: Smallest amount at a sampled value: dollars, or prompt tokens if there is no price.
        most: Largest amount.
        is_cost: True if the amounts are dollars.
    """

    axis: TunableLimit
    least: float
    most: float
    is_cost: bool

    @property
    def width(self) -> float:
        """Largest minus smallest amount."""
        return self.most - self.least


def limit_spreads(
    inputs: ReplayInputs, plan: Plan, axes: Sequence[TunableLimit], seconds: float = MOST_SECONDS
) -> Iterator[tuple[LimitSpread, ...]]:
    """Replay a plan at a few values of each of its limits.

    Args:
        inputs: The session, preferably `isolated` from other replays.
        plan: The plan.
        axes: Its limits.
        seconds: Budget of CPU seconds; the rest is skipped.

    Yields:
        The limits by effect, largest first, after every complete round; nothing if the first round is incomplete. Ties
        are in the plan's order.
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
