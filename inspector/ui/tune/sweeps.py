"""Background work of the tune screen: replay limits over their ranges, a few values first."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from inspector.replay.analysis.sweep import COARSE, Grid, Point, Sweep, grid, point_at, sweep
from inspector.replay.analysis.tunable_limits import LimitSizes, sizes_for
from inspector.replay.engine.renderer import ReplayCancelledError
from inspector.ui.tune.limits import LimitKey, Limits, SweptPlan, key_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from inspector.ui.controller.host_protocols import IsCancelled, Jobs, Post
    from inspector.ui.outcome import Outcome


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

    def __init__(self, jobs: Jobs, found: Callable[[], None], tell: Callable[[str], None]) -> None:
        """Create the sweeps without results.

        Args:
            jobs: Runs replays.
            found: Called when a curve or the map has new results.
            tell: Shows a notice.
        """
        self._jobs = jobs
        self._found = found
        self._tell = tell
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
            self._tell(f"{axis.strategy} rejects this value in combination with its others")
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
            self._tell("a map needs two limits")
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
