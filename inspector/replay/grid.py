"""Two limits of a plan at once: the plan replayed at every pair of some values of each, a coarse grid first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from inspector.replay.replay import replay
from inspector.strategies.core.parameters import ParameterError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from inspector.replay.axes import Axis
    from inspector.replay.figure import Figure
    from inspector.replay.inputs import ReplayInputs
    from inspector.replay.ledger import Figures
    from inspector.strategies.core.scale import Scale
    from inspector.strategies.plan import Plan

_STRIDES = (8, 4, 2, 1)


@dataclass(frozen=True, eq=False)
class Grid:
    """What pairs of values come to, as far as it is known.

    Attributes:
        across: The limit that rises to the right.
        down: The limit that rises downwards.
        columns: Its values, float64.
        rows: Its values, float64.
        cost: Dollars by row and column, NaN where not known, float64.
        tokens: Prompt tokens by row and column, NaN where not replayed yet, float64.
        figures: By row and column, the figures of what was replayed.
        done: Pairs looked at.
    """

    across: Axis
    down: Axis
    columns: NDArray[np.float64]
    rows: NDArray[np.float64]
    cost: NDArray[np.float64]
    tokens: NDArray[np.float64]
    figures: Mapping[tuple[int, int], Figures]
    done: int

    @property
    def is_complete(self) -> bool:
        """Every pair was looked at."""
        return self.done == self.cost.size

    @property
    def has_cost(self) -> bool:
        """Whether dollars are known; where they are not, tokens stand for them."""
        return bool(np.isfinite(self.cost).any())

    @property
    def amounts(self) -> NDArray[np.float64]:
        """Dollars, or tokens where there is no price."""
        return self.cost if self.has_cost else self.tokens

    @property
    def shown(self) -> NDArray[np.float64]:
        """The amounts, those not known yet as at the nearest pair above and to the left that is."""
        amounts = self.amounts.copy()
        for stride in _STRIDES[::-1]:
            row, column = (np.arange(count) // stride * stride for count in amounts.shape)
            nearest = self.amounts[np.ix_(row, column)]
            amounts = np.where(np.isnan(amounts), nearest, amounts)
        return amounts

    def place(self, across: float, down: float) -> tuple[int, int]:
        """Row and column of the pair nearest to two values, along the limits' lines."""
        return _nearest(self.down.scale, self.rows, down), _nearest(self.across.scale, self.columns, across)

    @property
    def least(self) -> tuple[int, int] | None:
        """Row and column of the smallest amount; None where none is known."""
        if np.isnan(self.amounts).all():
            return None
        row, column = np.unravel_index(int(np.nanargmin(self.amounts)), self.amounts.shape)
        return int(row), int(column)


def values_along(axis: Axis, value: float, count: int) -> NDArray[np.float64]:
    """At most so many values over a limit's range, its present one among them, rising. float64."""
    count = max(count, 2)
    values = {axis.scale.value(place / (count - 1)) for place in range(count)}
    if value not in values:
        inner = sorted(values)[1:-1]
        if len(values) >= count and inner:
            values.discard(min(inner, key=lambda each: abs(axis.scale.fraction(each) - axis.scale.fraction(value))))
        values.add(value)
    return np.array(sorted(values), dtype=np.float64)


def grid(
    inputs: ReplayInputs, plan: Plan, across: Axis, down: Axis, columns: int = 16, rows: int = 10
) -> Iterator[Grid]:
    """Replay a plan at pairs of values over the whole range of two limits.

    Args:
        inputs: The session.
        plan: The plan.
        across: A limit.
        down: Another one.
        columns: Values of the first.
        rows: Values of the second.

    Yields:
        The grid after every replay.
    """
    column_values = values_along(across, across.value_in(plan), columns)
    row_values = values_along(down, down.value_in(plan), rows)
    cost = np.full((len(row_values), len(column_values)), np.nan)
    tokens = cost.copy()
    found: dict[tuple[int, int], Figures] = {}
    for done, place in enumerate(coarse_first(*cost.shape), start=1):
        row, column = place
        figures = _figures(inputs, plan, across, down, float(column_values[column]), float(row_values[row]))
        if figures is not None:
            found = {**found, place: figures}
            cost, tokens = _with(cost, place, figures.cost_usd), _with(tokens, place, figures.prompt_tokens)
        yield Grid(across, down, column_values, row_values, cost, tokens, found, done)


def _with(amounts: NDArray[np.float64], place: tuple[int, int], figure: Figure) -> NDArray[np.float64]:
    amounts = amounts.copy()
    amounts[place] = np.nan if figure.value is None else figure.value
    return amounts


def coarse_first(rows: int, columns: int) -> list[tuple[int, int]]:
    """Every place of a grid once: those of a wide grid first, then those in between."""
    order: dict[tuple[int, int], None] = {}
    for stride in _STRIDES:
        order.update(
            dict.fromkeys((row, column) for row in range(0, rows, stride) for column in range(0, columns, stride))
        )
    return list(order)


def _figures(
    inputs: ReplayInputs, plan: Plan, across: Axis, down: Axis, column_value: float, row_value: float
) -> Figures | None:
    try:
        return replay(inputs, down.moved(across.moved(plan, column_value), row_value)).figures
    except ParameterError:
        return None


def _nearest(scale: Scale, values: NDArray[np.float64], value: float) -> int:
    fractions = np.array([scale.fraction(each) for each in values.tolist()])
    return int(np.argmin(np.abs(fractions - scale.fraction(value))))
