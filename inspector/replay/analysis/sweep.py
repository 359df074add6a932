"""Sweep limits of a plan over their whole range: prompt size and cost at each value, or pair of values.

For one limit, a few values spread over the range are replayed first, then one value at a time in the middle of the
widest gap, weighted by the difference of the figures across it. The curve is available at once and is refined where it
bends. For two limits, the plan is replayed at every pair of some values of each, a coarse grid first.

Tunable limits of a plan: every numeric parameter of its strategies, with the scale of its range.

Also returns the sizes that a limit applies to: the number and sizes of results or prompts.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from time import thread_time
from typing import TYPE_CHECKING, Final

import numpy as np

from inspector.replay.analysis.hazards import drops_text
from inspector.replay.analysis.recoveries import (
    NO_REFETCHES,
    TRIED,
    Envelope,
    PlanCuts,
    Refetches,
    envelope,
    expected_refetches,
)
from inspector.replay.engine.replay import Replay, replay
from inspector.replay.figure import Figure, HowKnown, lowest_confidence
from inspector.session.model import BlockKind
from inspector.strategies.core.batching import GROUP as BATCHING
from inspector.strategies.core.parameters import Parameter, ParameterError, ParameterKind, ParameterValue, ValueScale
from inspector.strategies.core.strategy import ScheduledStrategy, Strategy
from inspector.strategies.registry import unit_of, value_of, with_value

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from inspector.replay.engine.inputs import ReplayInputs
    from inspector.replay.engine.ledger import Figures
    from inspector.strategies.history.history import History
    from inspector.strategies.plan import Plan


COARSE = 9
"""Number of values replayed first."""

POINTS = 41
"""Number of values replayed in all."""

_FLATNESS = 0.1
"""Weight of a gap's width where nothing differs across it, relative to differences."""

_STRIDES = (8, 4, 2, 1)

NOTICEABLE = 0.05
"""Smallest depth of a knee below the straight line, as a share of the curve's height."""


@dataclass(frozen=True, slots=True)
class Point:
    """A plan at one value, or at a pair of values.

    Attributes:
        value: The value, the horizontal one of a pair.
        envelope: Distance from settings that have been tried in public.
        cuts_any: True if the plan cuts anything at this value.
        drops_text: True if it drops user or assistant text.
    """

    value: float
    figures: Figures
    expected: Refetches = NO_REFETCHES
    envelope: Envelope = TRIED
    cuts_any: bool = True
    drops_text: bool = False

    @property
    def is_tried(self) -> bool:
        """True if the plan has been tried in public at this value, with few expected re-fetches."""
        return self.envelope.is_tried and self.expected.is_few


@dataclass(frozen=True, eq=False)
class Sweep:
    """A limit's curve so far, by ascending value; complete if no more values will be replayed."""

    axis: TunableLimit
    points: tuple[Point, ...]
    is_complete: bool = False

    def column(self, name: str) -> NDArray[np.float64]:
        """Return one figure of every point, by its name in `Figures`; NaN if unknown."""
        values = [getattr(point.figures, name).value for point in self.points]
        return np.array([np.nan if value is None else value for value in values], dtype=np.float64)

    def known(self, name: str) -> HowKnown:
        """Return the lowest confidence of these figures."""
        return lowest_confidence(HowKnown.EXACT, *(getattr(point.figures, name).known for point in self.points))

    @property
    def values(self) -> NDArray[np.float64]:
        return np.array([point.value for point in self.points], dtype=np.float64)

    @property
    def fractions(self) -> NDArray[np.float64]:
        """Positions of the points on the limit's scale, 0 to 1."""
        return np.array([self.axis.scale.fraction(point.value) for point in self.points], dtype=np.float64)

    @property
    def amounts(self) -> NDArray[np.float64]:
        """Dollars of every point, or prompt tokens if there is no price."""
        cost = self.column("cost_usd")
        return self.column("prompt_tokens") if np.isnan(cost).any() else cost

    @property
    def knee(self) -> Point | None:
        place = knee_of(self.fractions, self.amounts)
        return None if place is None else self.points[place]

    @property
    def refetch_cost(self) -> NDArray[np.float64]:
        """Dollars of the expected re-fetches of every point; NaN without a price."""
        costs = (point.expected.cost for point in self.points)
        return np.array([np.nan if cost is None else cost.rate for cost in costs], dtype=np.float64)

    @property
    def refetch_counts(self) -> NDArray[np.float64]:
        return np.array([point.expected.count.rate for point in self.points], dtype=np.float64)

    def net_savings(self, baseline: Figures) -> NDArray[np.float64]:
        """Return the dollars that every point saves after expected re-fetches; NaN without a price."""
        whole = baseline.cost_usd.value
        return (np.nan if whole is None else float(whole)) - self.column("cost_usd") - self.refetch_cost

    @property
    def least(self) -> Point | None:
        """The best point within what has been tried: the lowest amount, including the cost of expected re-fetches.

        Ties go to the largest value, which changes least. None if no value that cuts anything has been tried.
        """
        place = _best_tried(self.points, self.amounts)
        return None if place is None else self.points[place]

    def with_points(self, *points: Point) -> Sweep:
        known = {point.value: point for point in (*self.points, *points)}
        return replace(self, points=tuple(known[value] for value in sorted(known)))

    def at(self, value: float) -> Point | None:
        return next((point for point in self.points if point.value == value), None)


def sweep(
    inputs: ReplayInputs, plan: Plan, axis: TunableLimit, *, coarse: int = COARSE, points: int = POINTS
) -> Iterator[Sweep]:
    """Replay a plan at values over the whole range of a limit.

    Args:
        inputs: The session, preferably `isolated` from other replays.
        plan: The plan with the limit's current value.
        coarse: Number of values replayed first, including the ends of the range.
        points: Maximum number of values.

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


def _best_tried(points: Sequence[Point], amounts: NDArray[np.float64]) -> int | None:
    """Return the index of the best tried point (last of equals), by amount plus re-fetch cost, or None."""
    is_tried = np.array([point.is_tried and point.cuts_any for point in points], dtype=bool)
    if not is_tried.any():
        return None
    costs = (point.expected.cost for point in points)
    refetches = np.array([0.0 if cost is None else cost.rate for cost in costs], dtype=np.float64)
    total = np.where(is_tried, amounts + refetches, np.inf)
    return len(total) - 1 - int(np.argmin(total[::-1]))


def point_at(inputs: ReplayInputs, plan: Plan, axis: TunableLimit, value: float) -> Point | None:
    """Replay a plan at one value of a limit; None if the strategy rejects it in combination with its other values."""
    try:
        moved = axis.moved(plan, value)
    except ParameterError:
        return None
    return _replayed(inputs, moved, value)


def _replayed(inputs: ReplayInputs, moved: Plan, value: float) -> Point:
    planned = replay(inputs, moved)
    cuts = PlanCuts.of(planned)
    return Point(
        value,
        planned.figures,
        expected_refetches(planned, cuts),
        envelope(planned, cuts),
        cuts_any=bool(len(cuts.block)),
        drops_text=drops_text(planned),
    )


def next_value(found: Sweep, refused: set[float] | None = None) -> float | None:
    """Return the middle of the widest gap, weighted by the difference across it; None if no value lies between."""
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
    """Return the differences of neighbors as a share of the whole curve's height."""
    height = np.nanmax(column) - np.nanmin(column) if not np.isnan(column).all() else 0.0
    return np.nan_to_num(np.abs(np.diff(column)) / height) if height > 0 else np.zeros(len(column) - 1)


def knee_of(fractions: NDArray[np.float64], amounts: NDArray[np.float64]) -> int | None:
    """Find the knee: the point of a curve furthest below the straight line between its ends.

    Both axes are normalized to the curve's width and height, so units do not matter. This is the method of Satopää,
    Albrecht, Irwin and Raghavan ("Finding a Kneedle in a Haystack", 2011), without their smoothing.

    Args:
        fractions: Positions of the points, ascending.

    Returns:
        Index of the point, None if the curve is nowhere below that line by a twentieth of its height.
    """
    if len(amounts) < 3 or np.isnan(amounts).any():
        return None
    x, y = fractions, amounts
    width, height = float(x[-1] - x[0]), float(y.max() - y.min())
    if width <= 0 or height <= 0:
        return None
    line = y[0] + (y[-1] - y[0]) * (x - x[0]) / width
    below = (line - y) / height
    knee = int(np.argmax(below))
    return knee if below[knee] >= NOTICEABLE else None


@dataclass(frozen=True, eq=False)
class Grid:
    """Results for pairs of values so far.

    Attributes:
        across: The limit on the horizontal axis, ascending to the right.
        down: The limit on the vertical axis, ascending downward.
        columns: Values of `across`, float64.
        rows: Values of `down`, float64.
        cost: Dollars by row and column, NaN if unknown, float64.
        tokens: Prompt tokens by row and column, NaN if not replayed yet, float64.
        points: The replayed pairs by row and column.
        done: Number of pairs processed.
    """

    across: TunableLimit
    down: TunableLimit
    columns: NDArray[np.float64]
    rows: NDArray[np.float64]
    cost: NDArray[np.float64]
    tokens: NDArray[np.float64]
    points: Mapping[tuple[int, int], Point]
    done: int

    @property
    def is_complete(self) -> bool:
        return self.done == self.cost.size

    @property
    def has_cost(self) -> bool:
        """True if dollars are known; otherwise tokens are used."""
        return bool(np.isfinite(self.cost).any())

    @property
    def amounts(self) -> NDArray[np.float64]:
        """Dollars, or tokens if there is no price."""
        return self.cost if self.has_cost else self.tokens

    @property
    def shown(self) -> NDArray[np.float64]:
        """The amounts, with missing ones filled from the nearest pair above and to the left."""
        amounts = self.amounts.copy()
        for stride in _STRIDES[::-1]:
            row, column = (np.arange(count) // stride * stride for count in amounts.shape)
            nearest = self.amounts[np.ix_(row, column)]
            amounts = np.where(np.isnan(amounts), nearest, amounts)
        return amounts

    def place(self, across: float, down: float) -> tuple[int, int]:
        """Return row and column of the pair closest to two values, on the limits' scales."""
        return _nearest(self.down.scale, self.rows, down), _nearest(self.across.scale, self.columns, across)

    @property
    def least(self) -> tuple[int, int] | None:
        """Place of the best pair within what has been tried, as `Sweep.least`; None for an assumption too."""
        if self.across.parameter.is_assumed or self.down.parameter.is_assumed:
            return None
        places, known = sorted(self.points), self.amounts
        amounts = np.array([known[place] for place in places], dtype=np.float64)
        best = _best_tried([self.points[place] for place in places], amounts)
        return None if best is None else places[best]


def grid(
    inputs: ReplayInputs, plan: Plan, across: TunableLimit, down: TunableLimit, columns: int = 16, rows: int = 10
) -> Iterator[Grid]:
    """Replay a plan at pairs of values over the whole range of two limits, yielding the grid after each replay."""
    column_values = values_along(across, across.value_in(plan), columns)
    row_values = values_along(down, down.value_in(plan), rows)
    cost = np.full((len(row_values), len(column_values)), np.nan)
    tokens = cost.copy()
    found: dict[tuple[int, int], Point] = {}
    for done, place in enumerate(coarse_first(*cost.shape), start=1):
        row, column = place
        point = _pair_at(inputs, plan, across, down, float(column_values[column]), float(row_values[row]))
        if point is not None:
            found, figures = {**found, place: point}, point.figures
            cost, tokens = _with(cost, place, figures.cost_usd), _with(tokens, place, figures.prompt_tokens)
        yield Grid(across, down, column_values, row_values, cost, tokens, found, done)


def values_along(axis: TunableLimit, value: float, count: int) -> NDArray[np.float64]:
    """Return at most `count` values over a limit's range, including its current one, ascending. float64."""
    count = max(count, 2)
    values = {axis.scale.value(place / (count - 1)) for place in range(count)}
    if value not in values:
        inner = sorted(values)[1:-1]
        if len(values) >= count and inner:
            values.discard(min(inner, key=lambda each: abs(axis.scale.fraction(each) - axis.scale.fraction(value))))
        values.add(value)
    return np.array(sorted(values), dtype=np.float64)


def coarse_first(rows: int, columns: int) -> list[tuple[int, int]]:
    """Return every place of a grid once: a coarse grid first, then the places in between."""
    order: dict[tuple[int, int], None] = {}
    for stride in _STRIDES:
        order.update(
            dict.fromkeys((row, column) for row in range(0, rows, stride) for column in range(0, columns, stride))
        )
    return list(order)


def _with(amounts: NDArray[np.float64], place: tuple[int, int], figure: Figure) -> NDArray[np.float64]:
    amounts = amounts.copy()
    amounts[place] = np.nan if figure.value is None else figure.value
    return amounts


def _pair_at(
    inputs: ReplayInputs, plan: Plan, across: TunableLimit, down: TunableLimit, column_value: float, row_value: float
) -> Point | None:
    try:
        moved = down.moved(across.moved(plan, column_value), row_value)
    except ParameterError:
        return None
    return _replayed(inputs, moved, column_value)


def _nearest(scale: ValueScale, values: NDArray[np.float64], value: float) -> int:
    fractions = np.array([scale.fraction(each) for each in values.tolist()])
    return int(np.argmin(np.abs(fractions - scale.fraction(value))))


@dataclass(frozen=True, slots=True)
class TunableLimit:
    """One numeric parameter of one of a plan's strategies; `entry` is the strategy's index in the plan."""

    entry: int
    strategy: str
    parameter: Parameter
    scale: ValueScale

    def value_in(self, plan: Plan) -> float:
        value = value_of(plan.entries[self.entry].strategy, self.parameter)
        return float(value) if isinstance(value, int | float) else 0.0

    def unit_in(self, plan: Plan) -> str:
        return unit_of(plan.entries[self.entry].strategy, self.parameter)

    def moved(self, plan: Plan, value: float) -> Plan:
        """Return the plan with another value and its strategy enabled, or raise `ParameterError`."""
        strategy = with_value(plan.entries[self.entry].strategy, self.parameter.name, self.proper(value))
        moved = plan.with_strategy(self.entry, strategy)
        return moved if moved.entries[self.entry].enabled else moved.toggled(self.entry)

    def proper(self, value: float) -> ParameterValue:
        """Convert a number to the parameter's type and clamp it to its range."""
        parameter = self.parameter
        if parameter.minimum is not None:
            value = max(value, parameter.minimum)
        if parameter.maximum is not None:
            value = min(value, parameter.maximum)
        return round(value) if parameter.kind is ParameterKind.WHOLE_NUMBER else float(value)


def tunable_limits(plan: Plan) -> tuple[TunableLimit, ...]:
    """Return every tunable limit of a plan, including disabled strategies, in the plan's order."""
    found = []
    for index, entry in enumerate(plan.entries):
        for parameter in entry.strategy.parameters:
            if parameter.kind in (ParameterKind.WHOLE_NUMBER, ParameterKind.NUMBER):
                value = value_of(entry.strategy, parameter)
                scale = ValueScale.of(parameter, float(value) if isinstance(value, int | float) else 0.0)
                found.append(TunableLimit(index, entry.strategy.name, parameter, scale))
    return tuple(found)


LARGEST_LIMIT_OF_ONE = 1_000_000
"""Maximum characters of a limit on a single result; a longer range applies to the sum of many."""


@dataclass(frozen=True, eq=False)
class LimitSizes:
    """Sizes that a limit applies to, in its unit (int64), an item's noun, and their tier; empty for all."""

    values: NDArray[np.int64]
    noun: str
    group: str = ""


def sizes_for(baseline: Replay, strategy: Strategy, parameter: Parameter) -> LimitSizes | None:
    """Return the sizes a limit applies to.

    A limit in characters applies to the tool results of its tier, a limit in tokens to the prompts of all calls.

    Returns:
        None if the limit is not a size, or applies to the sum of many results.
    """
    if parameter.group == BATCHING:
        return None
    unit = unit_of(strategy, parameter)
    if parameter.unit == "tokens" and (parameter.maximum or 0) > LARGEST_LIMIT_OF_ONE:
        return LimitSizes(baseline.ledger.prompt_tokens, "prompt")
    if parameter.unit != "characters" or (parameter.maximum or 0) > LARGEST_LIMIT_OF_ONE:
        return None
    history = baseline.history
    blocks = _results_of(history, strategy, parameter.group)
    group = parameter.group if len(blocks) else ""
    blocks = blocks if len(blocks) else history.results
    sizes = history.characters[blocks] if unit == parameter.unit else baseline.table.tokens[blocks]
    return LimitSizes(sizes.astype(np.int64), "result", group)


def _results_of(history: History, strategy: Strategy, group: str) -> NDArray[np.int32]:
    """Return the tool results in one of a strategy's tiers; empty if these are not known in advance."""
    none = np.zeros(0, dtype=np.int32)
    if not group or not isinstance(strategy, ScheduledStrategy):
        return none
    schedule = strategy.schedule(history)
    of_group = np.array([decision.group == group for decision in schedule.table], dtype=bool)
    if not of_group.any():
        return none
    blocks = np.unique(schedule.blocks[of_group[schedule.decisions]])
    results: NDArray[np.int32] = blocks[history.kind[blocks] == BlockKind.TOOL_RESULT]
    return results


def counts_along(sizes: NDArray[np.int64], scale: ValueScale, columns: int) -> NDArray[np.int64]:
    """Count the sizes in each of `columns` equal intervals of a limit's scale, larger ones in the last. int64."""
    counts = np.zeros(max(columns, 0), dtype=np.int64)
    if columns <= 0 or not len(sizes):
        return counts
    values, times = np.unique(sizes, return_counts=True)
    fractions = np.array([scale.fraction(value) for value in values.tolist()])
    np.add.at(counts, np.minimum((fractions * columns).astype(np.int64), columns - 1), times)
    return counts


ROUNDS: Final = ((0.0, 1.0), (0.5,), (0.25, 0.75))
"""Fractions of each limit's range to sample, in rounds over all limits: ends first."""

MOST_SECONDS: Final = 3.0
"""Budget of CPU seconds for all limits together."""


@dataclass(frozen=True, slots=True)
class LimitSpread:
    """Range of results over a limit's range, in dollars if `is_cost`, otherwise in prompt tokens."""

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
