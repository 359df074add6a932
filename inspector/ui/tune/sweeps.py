"""The work of the tune screen: limits replayed over their ranges in threads, a few values first."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from textual import on
from textual.message import Message
from textual.worker import get_current_worker

from inspector.replay.analysis.sweep import COARSE, Grid, Point, Sweep, grid, point_at, sweep
from inspector.replay.analysis.tunable_limits import LimitSizes, sizes_for
from inspector.replay.engine.isolated import ReplayCancelledError, isolated
from inspector.ui.study import StudyScreen
from inspector.ui.tune.limits import LimitKey, Limits, Subject, key_of

if TYPE_CHECKING:
    from inspector.ui.main.screen import InspectScreen


@dataclass
class SweepGrew(Message):
    """One more value of a limit was replayed.

    Attributes:
        subject: What is replayed.
        found: The curve so far.
        sizes: What the limit is about.
    """

    subject: Subject
    found: Sweep
    sizes: LimitSizes | None

    def can_replace(self, message: Message) -> bool:
        """Only the newest curve counts."""
        return isinstance(message, SweepGrew) and message.subject is self.subject


@dataclass
class PointFound(Message):
    """The value looked at was replayed.

    Attributes:
        subject: What is replayed.
        point: What it came to; None where the strategy does not take the value.
    """

    subject: Subject
    point: Point | None


@dataclass
class GridGrew(Message):
    """One more pair of values was replayed.

    Attributes:
        subject: What is replayed.
        found: The map so far.
    """

    subject: Subject
    found: Grid

    def can_replace(self, message: Message) -> bool:
        """Only the newest map counts."""
        return isinstance(message, GridGrew) and message.subject is self.subject


class TuneReplays(StudyScreen):
    """A study that knows what limits come to. What is shown, and how, is the subclass's.

    Attributes:
        limits: The plan's limits, and what is looked at of them.
        sweeps: Per limit, its curve as far as it is known.
        grid: The map as far as it is known; None before there is one.
    """

    def __init__(self, source: InspectScreen) -> None:
        super().__init__(source)
        self.limits = Limits.of(self.outcome.plan)
        self.sweeps: dict[LimitKey, SweepGrew] = {}
        self.grid: GridGrew | None = None
        self._sweeping: Subject | None = None
        self._mapping: Subject | None = None
        self._probing: Subject | None = None

    def show_found(self) -> None:
        """More is known of a curve or of the map."""
        raise NotImplementedError

    def work_failed(self, group: str) -> None:
        """A worker came to grief: what it was at can be asked for again."""
        match group:
            case "sweep":
                self._sweeping = None
            case "probe":
                self._probing = None
            case "map":
                self._mapping = None

    def start_sweep(self) -> None:
        """Replay the limit's range, unless that has been done or is being done."""
        axis, baseline = self.limits.axis, self.outcome.baseline
        subject = self.limits.subject(self.outcome.inputs, axis)
        known = self.sweeps.get(key_of(axis))
        if known is not None and known.found.is_complete and known.subject.holds_for(subject):
            return
        if self._sweeping is not None and self._sweeping.axes == subject.axes:
            return  # what has become of the session meanwhile is replayed once this is done
        self._sweeping = subject

        def work() -> None:
            worker = get_current_worker()
            sizes = sizes_for(baseline, subject.plan.entries[axis.entry].strategy, axis.parameter)
            inputs = isolated(subject.inputs, lambda: worker.is_cancelled)
            with suppress(ReplayCancelledError):
                for found in sweep(inputs, subject.plan, axis):
                    self.post_message(SweepGrew(subject, found, sizes))

        self.work(work, "sweep", f"replay {axis.strategy} over its {axis.parameter.name}")

    @on(SweepGrew)
    def _sweep_grew(self, message: SweepGrew) -> None:
        (axis,) = message.subject.axes
        before = self.sweeps.get(key_of(axis))
        is_same = before is not None and before.subject.holds_for(message.subject)
        if before is not None and is_same:
            message.found = message.found.with_points(*before.found.points)
        # A curve of a moment ago says more than the first few points of a newer one.
        if before is None or is_same or len(message.found.points) >= COARSE:
            self.sweeps[key_of(axis)] = message
        if message.found.is_complete and message.subject is self._sweeping:
            self._sweeping = None
        self.show_found()

    def start_probe(self) -> None:
        """Replay the value looked at, if it was not; one at a time."""
        axis, inputs = self.limits.axis, self.outcome.inputs
        known, value = self.sweeps.get(key_of(axis)), self.limits.here(axis)
        if self._probing is not None or known is None or known.found.at(value) is not None:
            return
        subject = self._probing = self.limits.subject(inputs, axis)
        work = partial(self._probe, subject, value)
        self.work(work, "probe", f"replay {axis.strategy} at {value:g}")

    def _probe(self, subject: Subject, value: float) -> None:
        worker = get_current_worker()
        inputs = isolated(subject.inputs, lambda: worker.is_cancelled)
        with suppress(ReplayCancelledError):
            self.post_message(PointFound(subject, point_at(inputs, subject.plan, subject.axes[0], value)))

    @on(PointFound)
    def _point_found(self, message: PointFound) -> None:
        self._probing = None
        (axis,) = message.subject.axes
        known = self.sweeps.get(key_of(axis))
        if message.point is None:
            self.say(f"{axis.strategy} does not take that value beside its others")
        elif known is not None and known.subject.holds_for(message.subject):
            self.sweeps[key_of(axis)] = SweepGrew(known.subject, known.found.with_points(message.point), known.sizes)
            self.show_found()

    def start_map(self, columns: int, rows: int) -> None:
        """Replay pairs of values, unless that has been done or is being done.

        Args:
            columns: Values of the limit across.
            rows: Values of the limit down.
        """
        limits = self.limits
        if limits.first == limits.second:
            self.say("a map needs two limits")
            return
        across, down = limits.axis, limits.down
        subject = limits.subject(self.outcome.inputs, across, down)
        if self.grid is not None and self.grid.found.is_complete and self.grid.subject.holds_for(subject):
            return
        if self._mapping is not None and self._mapping.axes == subject.axes:
            return
        self._mapping = subject

        def work() -> None:
            worker = get_current_worker()
            inputs = isolated(subject.inputs, lambda: worker.is_cancelled)
            with suppress(ReplayCancelledError):
                for found in grid(inputs, subject.plan, across, down, columns, rows):
                    self.post_message(GridGrew(subject, found))

        self.work(work, "map", "replay pairs of values")

    @on(GridGrew)
    def _grid_grew(self, message: GridGrew) -> None:
        if message.subject is not self._mapping:
            return
        self.grid = message
        if message.found.is_complete:
            self._mapping = None
        self.show_found()
