"""One limit of a plan over its whole range: what prompts, cost and breaks come to at every value that tells something.

A few values spread over the range are replayed first; then, one by one, values in the middle of the gap that is widest
for how much the figures differ across it. So the curve is there at once and gets its detail where it bends.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from inspector.replay.figure import HowKnown, weakest
from inspector.replay.knee import knee_of
from inspector.replay.replay import replay
from inspector.strategies.core.parameters import ParameterError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from inspector.replay.axes import Axis
    from inspector.replay.inputs import ReplayInputs
    from inspector.replay.ledger import Figures
    from inspector.strategies.plan import Plan

COARSE = 9
"""Values replayed first."""

POINTS = 41
"""Values replayed in all."""

_FLATNESS = 0.1
"""How much a gap's width counts where nothing differs across it, beside what does."""


@dataclass(frozen=True, slots=True)
class Point:
    """A plan at one value.

    Attributes:
        value: The value.
        figures: Totals of the replay.
    """

    value: float
    figures: Figures


@dataclass(frozen=True, eq=False)
class Sweep:
    """A limit's curve, as far as it is known.

    Attributes:
        axis: The limit.
        points: By rising value.
        is_complete: No more values are replayed.
    """

    axis: Axis
    points: tuple[Point, ...]
    is_complete: bool = False

    def column(self, name: str) -> NDArray[np.float64]:
        """One figure of every point, by its name in `Figures`; NaN where it is unknown."""
        values = [getattr(point.figures, name).value for point in self.points]
        return np.array([np.nan if value is None else value for value in values], dtype=np.float64)

    def known(self, name: str) -> HowKnown:
        """How the least known of these figures is known."""
        return weakest(HowKnown.EXACT, *(getattr(point.figures, name).known for point in self.points))

    @property
    def values(self) -> NDArray[np.float64]:
        """The points' values."""
        return np.array([point.value for point in self.points], dtype=np.float64)

    @property
    def fractions(self) -> NDArray[np.float64]:
        """Where the points stand on the limit's line, 0 to 1."""
        return np.array([self.axis.scale.fraction(point.value) for point in self.points], dtype=np.float64)

    @property
    def amounts(self) -> NDArray[np.float64]:
        """Dollars of every point, or prompt tokens where there is no price."""
        cost = self.column("cost_usd")
        return self.column("prompt_tokens") if np.isnan(cost).any() else cost

    @property
    def knee(self) -> Point | None:
        """The knee of the amounts, see `knee_of`."""
        place = knee_of(self.fractions, self.amounts)
        return None if place is None else self.points[place]

    @property
    def least(self) -> Point | None:
        """Where the amounts are smallest; of equal ones, that with the largest value, which changes least."""
        if not self.points:
            return None
        amounts = self.amounts
        return self.points[len(amounts) - 1 - int(np.argmin(amounts[::-1]))]

    def with_points(self, *points: Point) -> Sweep:
        """The curve with further points."""
        known = {point.value: point for point in (*self.points, *points)}
        return replace(self, points=tuple(known[value] for value in sorted(known)))

    def at(self, value: float) -> Point | None:
        """The point at a value, if it was replayed."""
        return next((point for point in self.points if point.value == value), None)


def point_at(inputs: ReplayInputs, plan: Plan, axis: Axis, value: float) -> Point | None:
    """A plan at one value of a limit; None where the strategy takes no such value beside its others."""
    try:
        moved = axis.moved(plan, value)
    except ParameterError:
        return None
    return Point(value, replay(inputs, moved).figures)


def sweep(
    inputs: ReplayInputs, plan: Plan, axis: Axis, *, coarse: int = COARSE, points: int = POINTS
) -> Iterator[Sweep]:
    """Replay a plan at values over the whole range of a limit.

    Args:
        inputs: The session, best `apart` from other replays.
        plan: The plan, the limit's present value in it.
        axis: The limit.
        coarse: Values replayed first, the ends of the range among them.
        points: Values replayed in all, if there are so many.

    Yields:
        The curve after every replay, the last one complete.
    """
    scale = axis.scale
    first = [axis.value_in(plan), *(scale.value(place / (coarse - 1)) for place in range(coarse))]
    known: dict[float, Point] = {}
    refused: set[float] = set()
    waiting = list(dict.fromkeys(first))
    while waiting:
        value = waiting.pop(0)
        point = point_at(inputs, plan, axis, value)
        if point is None:
            refused.add(value)
        else:
            known[value] = point
        found = Sweep(axis, tuple(known[each] for each in sorted(known)))
        if not waiting and len(known) + len(refused) < points:
            following = next_value(found, refused)
            waiting = [] if following is None else [following]
        yield found if waiting else replace(found, is_complete=True)


def next_value(found: Sweep, refused: set[float] | None = None) -> float | None:
    """The value that tells most of a curve: in the middle of the gap that is widest for how much differs across it.

    Args:
        found: The curve so far.
        refused: Values that are not allowed.

    Returns:
        None where there is no value between any two that are known.
    """
    fractions = found.fractions
    if len(fractions) < 2:
        return None
    widths = np.diff(fractions)
    steps = np.max([_steps(found.column(name)) for name in ("prompt_tokens", "cost_usd", "cache_breaks")], axis=0)
    for gap in np.argsort(-widths * (steps + _FLATNESS), kind="stable").tolist():
        low, high = found.points[gap].value, found.points[gap + 1].value
        value = found.axis.scale.value((fractions[gap] + fractions[gap + 1]) / 2)
        if low < value < high and value not in (refused or ()):
            return value
    return None


def _steps(column: NDArray[np.float64]) -> NDArray[np.float64]:
    """How far neighbours are apart, as a share of the whole curve's height."""
    height = np.nanmax(column) - np.nanmin(column) if not np.isnan(column).all() else 0.0
    return np.nan_to_num(np.abs(np.diff(column)) / height) if height > 0 else np.zeros(len(column) - 1)
