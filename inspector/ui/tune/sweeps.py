"""Background work of the tune screen: replay limits over their ranges, a few values first."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Final, NamedTuple

from inspector.replay.analysis.sweep import (
    COARSE,
    Grid,
    LimitSizes,
    Point,
    Sweep,
    grid,
    limit_spreads,
    point_at,
    sizes_for,
    sweep,
    tunable_limits,
)
from inspector.replay.engine.renderer import ReplayCancelledError
from inspector.report.numbers import ON_SCREEN
from inspector.strategies.core.batching import GROUP
from inspector.strategies.core.parameters import ParameterError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from inspector.replay.analysis.sweep import LimitSpread, TunableLimit
    from inspector.replay.engine.inputs import ReplayInputs
    from inspector.strategies.plan import Plan
    from inspector.ui.controller.host import IsCancelled, Jobs, Post
    from inspector.ui.outcome import Outcome


LimitKey = tuple[int, str, str]
"""Index of the strategy in the plan, its name, and the name of the limit."""


@dataclass(frozen=True, eq=False)
class Limits:
    """A plan's limits; compared by identity.

    Attributes:
        plan: The plan.
        axes: Its limits.
        first: Index of the selected limit.
        second: Index of the second limit, for the map.
        looked: Selected values that differ from the plan.
    """

    plan: Plan
    axes: tuple[TunableLimit, ...]
    first: int = 0
    second: int = 0
    looked: Mapping[LimitKey, float] = field(default_factory=dict)

    @classmethod
    def of(cls, plan: Plan, before: Limits | None = None) -> Limits:
        """Build the limits of a plan. The selection survives if the plan still has its limits."""
        axes = tunable_limits(plan)
        keys = [key_of(axis) for axis in axes]
        if before is None or not before.axes:
            made = cls(plan, axes)
        else:
            first, second = (
                keys.index(key) if (key := key_of(before.axes[place])) in keys else 0
                for place in (before.first, before.second)
            )
            made = cls(plan, axes, first, second, before.looked)
        return made.with_selection(made.first)

    @property
    def axis(self) -> TunableLimit:
        return self.axes[self.first]

    @property
    def down(self) -> TunableLimit:
        """The second limit, for the map."""
        return self.axes[self.second]

    def with_selection(self, first: int, second: int | None = None) -> Limits:
        """Select other limits. They always differ if there are at least two."""
        count = len(self.axes)
        if not count:
            return self
        first %= count
        wanted = self.second if second is None else second % count
        return replace(self, first=first, second=wanted if wanted != first else (first + 1) % count)

    def preferring(self, entry: int, name: str) -> Limits:
        """Select a limit by its strategy's index and its name, if it exists; an empty name selects the first."""
        for place, axis in enumerate(self.axes):
            if axis.entry == entry and name in ("", axis.parameter.name):
                return self.with_selection(place)
        return self

    def in_plan(self, axis: TunableLimit) -> float:
        """Return the plan's value of a limit."""
        return axis.value_in(self.plan)

    def here(self, axis: TunableLimit) -> float:
        """Return the selected value of a limit."""
        return self.looked.get(key_of(axis), self.in_plan(axis))

    def looking(self, axis: TunableLimit, value: float) -> Limits:
        """Select another value."""
        return replace(self, looked={**self.looked, key_of(axis): value})

    def applied(self, *axes: TunableLimit) -> Plan:
        """Return the plan with the selected values.

        Raises:
            ParameterError: A strategy rejects the value in combination with its others.
        """
        plan = self.plan
        for axis in axes:
            plan = axis.moved(plan, self.here(axis))
        return plan

    def subject(self, inputs: ReplayInputs, *axes: TunableLimit) -> SweptPlan:
        """Build the input of a sweep over some limits."""
        others = self.plan
        for axis in axes:
            try:
                others = axis.moved(others, axis.scale.minimum)
            except ParameterError:
                continue
        return SweptPlan(inputs, self.plan, others, axes)


@dataclass(frozen=True, eq=False)
class SweptPlan:
    """Input of a sweep; compared by identity.

    Attributes:
        inputs: The session.
        plan: The plan.
        others: The plan without the swept values.
        axes: The limit, or two for a map.
    """

    inputs: ReplayInputs
    plan: Plan
    others: Plan
    axes: tuple[TunableLimit, ...]

    def is_valid_for(self, other: SweptPlan) -> bool:
        """Return True if results for this input are also valid for another."""
        return self.inputs is other.inputs and self.others == other.others and self.axes == other.axes


def key_of(axis: TunableLimit) -> LimitKey:
    """Return a key that identifies a limit while others are added or removed."""
    return axis.entry, axis.strategy, axis.parameter.name


@dataclass(frozen=True, eq=False)
class KnownSweep:
    """Curve of a limit so far.

    Attributes:
        subject: Input of the sweep.
        found: The curve so far.
        sizes: Sizes the limit is compared with.
    """

    subject: SweptPlan
    found: Sweep
    sizes: LimitSizes | None

    only_newest_counts: ClassVar[bool] = True


@dataclass(frozen=True, eq=False)
class KnownGrid:
    """Map of two limits so far.

    Attributes:
        subject: Input of the sweep.
        found: The map so far.
    """

    subject: SweptPlan
    found: Grid

    only_newest_counts: ClassVar[bool] = True


class Sweeps:
    """Results of the sweeps.

    Attributes:
        curves: The curve so far, per limit.
        grid: The map so far; None before the first one.
    """

    def __init__(self, jobs: Jobs, found: Callable[[], None], show_notice: Callable[[str], None]) -> None:
        """Create the sweeps without results.

        Args:
            jobs: Runs replays.
            found: Called when a curve or the map has new results.
            show_notice: Shows a notice.
        """
        self._jobs = jobs
        self._found = found
        self._show_notice = show_notice
        self.curves: dict[LimitKey, KnownSweep] = {}
        self.grid: KnownGrid | None = None
        self._sweeping: SweptPlan | None = None
        self._mapping: SweptPlan | None = None
        self._probing: SweptPlan | None = None

    def sweep(self, limits: Limits, outcome: Outcome) -> None:
        """Replay the range of the selected limit, unless that is done or running."""
        axis, baseline = limits.axis, outcome.baseline
        subject = limits.subject(outcome.inputs, axis)
        known = self.curves.get(key_of(axis))
        if known is not None and known.found.is_complete and known.subject.is_valid_for(subject):
            return
        if self._sweeping is not None and self._sweeping.axes == subject.axes:
            return  # a session that grew meanwhile is replayed when this sweep ends
        self._sweeping = subject

        def work(post: Post[KnownSweep], is_cancelled: IsCancelled) -> None:
            sizes = sizes_for(baseline, subject.plan.entries[axis.entry].strategy, axis.parameter)
            inputs = subject.inputs.isolated(is_cancelled)
            with suppress(ReplayCancelledError):
                for found in sweep(inputs, subject.plan, axis):
                    post(KnownSweep(subject, found, sizes))

        self._jobs.run(
            work,
            self._take_sweep,
            group="sweep",
            description=f"replay {axis.strategy} over its {axis.parameter.name}",
            failed=self._stop_sweeping,
        )

    def _stop_sweeping(self) -> None:
        self._sweeping = None

    def _take_sweep(self, newer: KnownSweep) -> None:
        (axis,) = newer.subject.axes
        before = self.curves.get(key_of(axis))
        is_same = before is not None and before.subject.is_valid_for(newer.subject)
        if before is not None and is_same:
            newer = replace(newer, found=newer.found.with_points(*before.found.points))
        # The previous curve is more useful than the first few points of a new one.
        if before is None or is_same or len(newer.found.points) >= COARSE:
            self.curves[key_of(axis)] = newer
        if newer.found.is_complete:
            self._sweeping = None
        self._found()

    def probe(self, limits: Limits, outcome: Outcome) -> None:
        """Replay the selected value if it has no result yet, one at a time."""
        axis = limits.axis
        known, value = self.curves.get(key_of(axis)), limits.here(axis)
        if self._probing is not None or known is None or known.found.at(value) is not None:
            return
        subject = self._probing = limits.subject(outcome.inputs, axis)

        def work(post: Post[Point | None], is_cancelled: IsCancelled) -> None:
            with suppress(ReplayCancelledError):
                post(point_at(subject.inputs.isolated(is_cancelled), subject.plan, axis, value))

        self._jobs.run(
            work,
            partial(self._take_point, subject),
            group="probe",
            description=f"replay {axis.strategy} at {value:g}",
            failed=self._stop_probing,
        )

    def _stop_probing(self) -> None:
        self._probing = None

    def _take_point(self, subject: SweptPlan, point: Point | None) -> None:
        """Store the result of a value; None if the strategy rejects it."""
        self._probing = None
        (axis,) = subject.axes
        known = self.curves.get(key_of(axis))
        if point is None:
            self._show_notice(f"{axis.strategy} rejects this value in combination with its others")
        elif known is not None and known.subject.is_valid_for(subject):
            self.curves[key_of(axis)] = replace(known, found=known.found.with_points(point))
            self._found()

    def map(self, limits: Limits, outcome: Outcome, columns: int, rows: int) -> None:
        """Replay pairs of values, unless that is done or running.

        Args:
            limits: The limits, with the two selected.
            outcome: Outcome of the plan.
            columns: Number of horizontal values.
            rows: Number of vertical values.
        """
        if limits.first == limits.second:
            self._show_notice("a map needs two limits")
            return
        across, down = limits.axis, limits.down
        subject = limits.subject(outcome.inputs, across, down)
        if self.grid is not None and self.grid.found.is_complete and self.grid.subject.is_valid_for(subject):
            return
        if self._mapping is not None and self._mapping.axes == subject.axes:
            return
        self._mapping = subject

        def work(post: Post[KnownGrid], is_cancelled: IsCancelled) -> None:
            inputs = subject.inputs.isolated(is_cancelled)
            with suppress(ReplayCancelledError):
                for found in grid(inputs, subject.plan, across, down, columns, rows):
                    post(KnownGrid(subject, found))

        self._jobs.run(
            work, self._take_grid, group="map", description="replay pairs of values", failed=self._stop_mapping
        )

    def _stop_mapping(self) -> None:
        self._mapping = None

    def _take_grid(self, newer: KnownGrid) -> None:
        self.grid = newer
        if newer.found.is_complete:
            self._mapping = None
        self._found()


KEY_OF_MOST: Final = "*"

NOTICEABLE: Final = 0.001
"""Minimum width of a range relative to its amount; a smaller one counts as no effect."""

SEARCHING: Final = "finding the limit with the largest effect …"


class Ranked(NamedTuple):
    """Ranking of a plan's limits.

    Attributes:
        plan: The plan.
        spreads: Its limits, the largest effect first.
    """

    plan: Plan
    spreads: tuple[LimitSpread, ...]


class LimitRanking:
    """Finds the limit with the largest effect.

    Attributes:
        spreads: Limits of the plan, the largest effect first; empty until computed.
        is_searching: True while the search runs.
    """

    def __init__(self, jobs: Jobs, found: Callable[[], None]) -> None:
        """Create the ranking without starting a search.

        Args:
            jobs: Runs replays.
            found: Called when the search ends.
        """
        self._jobs = jobs
        self._found = found
        self._plan: Plan | None = None
        self.spreads: tuple[LimitSpread, ...] = ()
        self.is_searching = False

    def search(self, limits: Limits, outcome: Outcome) -> None:
        """Try a few values of every limit of the plan, unless that is done or running."""
        plan = limits.plan
        if self._plan == plan or not limits.axes:
            return
        self._plan, self.is_searching = plan, True
        axes = limits_to_rank(limits)
        inputs = outcome.inputs

        def work(post: Post[Ranked], is_cancelled: IsCancelled) -> None:
            post(Ranked(plan, _spreads(inputs.isolated(is_cancelled), plan, axes)))

        self._jobs.run(work, self._take, group="ranking", description="rank the limits", failed=self._stop)

    def _stop(self) -> None:
        self.is_searching = False
        self._found()

    def _take(self, ranked: Ranked) -> None:
        if ranked.plan == self._plan:
            self.spreads = ranked.spreads
            self._stop()

    @property
    def most(self) -> LimitSpread | None:
        """The limit with the largest effect; None if unknown, or if no limit has an effect."""
        first = self.spreads[0] if self.spreads else None
        return first if first is not None and first.width > NOTICEABLE * first.most else None

    def words(self, limits: Limits) -> str:
        """Describe the limit with the largest effect; empty if unknown."""
        if self.is_searching and not self.spreads:
            return SEARCHING
        most = self.most
        if most is None:
            return "no limit of the plan has an effect on this session" if self.spreads else ""
        range_of = f"{_amount(most, most.least)} to {_amount(most, most.most)}"
        what = "cost" if most.is_cost else "tokens"
        there = "" if key_of(most.axis) == key_of(limits.axis) else f" · {KEY_OF_MOST} goes there"
        if limits.axis.parameter.is_assumed:
            there = f"{there} · {_name(limits.axis, limits)} is an assumption, not a limit"
        return f"{_name(most.axis, limits)} has the largest effect: {what} {range_of} over its range{there}"


def _spreads(inputs: ReplayInputs, plan: Plan, axes: tuple[TunableLimit, ...]) -> tuple[LimitSpread, ...]:
    spreads: tuple[LimitSpread, ...] = ()
    with suppress(ReplayCancelledError):
        for spreads in limit_spreads(inputs, plan, axes):  # noqa: B007  keeps the last result before a cancellation
            pass
    return spreads


def limits_to_rank(limits: Limits) -> tuple[TunableLimit, ...]:
    """Return the limits to rank: of enabled strategies, or of all if none is enabled, without assumptions and batching.

    An assumption, such as the size of the model's window, is not a limit to choose. Parameters that delay edits
    range from the full saving to none in any plan, so their effect means nothing.
    """
    on = tuple(axis for axis in limits.axes if limits.plan.entries[axis.entry].enabled) or limits.axes
    chosen = tuple(axis for axis in on if not axis.parameter.is_assumed) or on
    return tuple(axis for axis in chosen if axis.parameter.group != GROUP) or chosen


def _amount(spread: LimitSpread, amount: float) -> str:
    return ON_SCREEN.dollars(amount) if spread.is_cost else ON_SCREEN.short(amount)


def _name(axis: TunableLimit, limits: Limits) -> str:
    """Name a limit, with its strategy if the plan has several."""
    name = axis.parameter.name.replace("-", " ")
    return name if len({each.entry for each in limits.axes}) == 1 else f"{axis.strategy} {name}"
