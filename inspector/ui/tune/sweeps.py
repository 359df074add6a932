"""The work of the tune screen: limits replayed over their ranges in threads, a few values first."""

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
    """The curve of a limit as far as it is known.

    Attributes:
        subject: What is replayed.
        found: The curve so far.
        sizes: What the limit is about.
    """

    subject: SweptPlan
    found: Sweep
    sizes: LimitSizes | None

    only_newest_counts: ClassVar[bool] = True


@dataclass(frozen=True, eq=False)
class KnownGrid:
    """The map of two limits as far as it is known.

    Attributes:
        subject: What is replayed.
        found: The map so far.
    """

    subject: SweptPlan
    found: Grid

    only_newest_counts: ClassVar[bool] = True


class Sweeps:
    """Knows what limits come to.

    Attributes:
        curves: Per limit, its curve as far as it is known.
        grid: The map as far as it is known; None before there is one.
    """

    def __init__(self, jobs: Jobs, found: Callable[[], None], tell: Callable[[str], None]) -> None:
        """Know nothing yet.

        Args:
            jobs: Runs replays.
            found: Called when more is known of a curve or of the map.
            tell: Tells the user something.
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
        """Replay the range of the limit that is moved, unless that has been done or is being done."""
        axis, baseline = limits.axis, outcome.baseline
        subject = limits.subject(outcome.inputs, axis)
        known = self.curves.get(key_of(axis))
        if known is not None and known.found.is_complete and known.subject.holds_for(subject):
            return
        if self._sweeping is not None and self._sweeping.axes == subject.axes:
            return  # what has become of the session meanwhile is replayed once this is done
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
        is_same = before is not None and before.subject.holds_for(newer.subject)
        if before is not None and is_same:
            newer = replace(newer, found=newer.found.with_points(*before.found.points))
        # A curve of a moment ago says more than the first few points of a newer one.
        if before is None or is_same or len(newer.found.points) >= COARSE:
            self.curves[key_of(axis)] = newer
        if newer.found.is_complete:
            self._sweeping = None
        self._found()

    def probe(self, limits: Limits, outcome: Outcome) -> None:
        """Replay the value looked at, if it was not; one at a time."""
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
        """Take what a value came to; None where the strategy does not take the value."""
        self._probing = None
        (axis,) = subject.axes
        known = self.curves.get(key_of(axis))
        if point is None:
            self._tell(f"{axis.strategy} does not take that value beside its others")
        elif known is not None and known.subject.holds_for(subject):
            self.curves[key_of(axis)] = replace(known, found=known.found.with_points(point))
            self._found()

    def map(self, limits: Limits, outcome: Outcome, columns: int, rows: int) -> None:
        """Replay pairs of values, unless that has been done or is being done.

        Args:
            limits: The limit that is moved, and the one moved beside it.
            outcome: Of what plan.
            columns: Values of the limit across.
            rows: Values of the limit down.
        """
        if limits.first == limits.second:
            self._tell("a map needs two limits")
            return
        across, down = limits.axis, limits.down
        subject = limits.subject(outcome.inputs, across, down)
        if self.grid is not None and self.grid.found.is_complete and self.grid.subject.holds_for(subject):
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
