"""Sessions kept ready in processes: each is read and prepared once, by the process that then tries every plan on it."""

from __future__ import annotations

import math
import os
import time
from collections import OrderedDict
from concurrent.futures import CancelledError, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Self, TypeVar

from inspector.cli.exit_codes import CommandError
from inspector.cli.output import ProgressLine
from inspector.cli.process_pool import SessionTask, process_pool
from inspector.cli.reading import priced_inputs, read_session
from inspector.replay.tuning.compaction_costs import compacted_session, threshold_costs
from inspector.replay.tuning.fleet import FleetSession
from inspector.replay.tuning.trial import PreparedSession
from inspector.report.numbers import IN_TEXT
from inspector.session.duplicate_calls import call_keys, counted_elsewhere, counted_here, without_calls

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable, Iterator, Sequence
    from concurrent.futures import Future
    from pathlib import Path
    from types import TracebackType

    from inspector.replay.tuning.compaction_costs import CompactedSession, CompactionTerms, ThresholdCosts
    from inspector.replay.tuning.trial import Trial, TrialTerms
    from inspector.strategies.plan import Plan

Worked = TypeVar("Worked")

AT_ONCE: Final = 16
"""Plans that a process tries on a session before it is asked for others."""

MOST_KEPT_BLOCKS: Final = 1_000_000
"""Blocks of the sessions a process keeps ready; those it used longest ago are prepared again when they are wanted."""


@dataclass(frozen=True, slots=True)
class ReadSession:
    """What reading a session told.

    Attributes:
        session: What it is among others; None where it cannot be read.
        problem: Why it cannot.
        ended: When its last call was made, seconds since the epoch.
        keys: What tells its calls from others.
    """

    session: FleetSession | None
    problem: str = ""
    ended: float = 0.0
    keys: tuple[bytes, ...] = ()


_ready: OrderedDict[tuple[Path, frozenset[bytes]], PreparedSession] = OrderedDict()
"""Of a process, the sessions it keeps."""


def _prepared(task: SessionTask) -> PreparedSession:
    key = (task.path, task.elsewhere)
    if key not in _ready:
        session = without_calls(counted_here(read_session(task.path)), task.elsewhere)
        _ready[key] = PreparedSession.of(priced_inputs(session, task.options))
    _ready.move_to_end(key)
    while len(_ready) > 1 and sum(len(each.inputs.history.kind) for each in _ready.values()) > MOST_KEPT_BLOCKS:
        _ready.popitem(last=False)
    return _ready[key]


def _read(task: SessionTask) -> ReadSession:
    try:
        prepared = _prepared(task)
    except CommandError as error:
        return ReadSession(None, problem=error.message)
    session = prepared.inputs.history.session
    ended = max((call.time for call in session.calls if call.time is not None), default=0.0)
    return ReadSession(FleetSession.of(task.path, prepared), "", ended, tuple(call_keys(session)))


def _bases(task: SessionTask) -> tuple[Plan, ...]:
    return _prepared(task).bases()


def _tried(task: SessionTask, plans: tuple[Plan, ...], terms: TrialTerms) -> list[Trial | None]:
    return list(_prepared(task).trials(plans, terms))


def _compacted(task: SessionTask) -> CompactedSession:
    return compacted_session(_prepared(task).baseline)


def _costs(task: SessionTask, thresholds: tuple[float, ...], terms: CompactionTerms) -> ThresholdCosts:
    return threshold_costs(_prepared(task).baseline, thresholds, terms)


class TuningPool:
    """Processes that each keep some sessions ready. Leaving the context ends them."""

    def __init__(self, paths: Sequence[Path], options: Namespace, sizes: Sequence[int]) -> None:
        """Start as many processes as there are processors, and share the sessions out.

        Args:
            paths: The sessions.
            options: At which prices.
            sizes: How large each is, in bytes.
        """
        self.is_interrupted = False
        self._tasks = {path: SessionTask(path, options) for path in paths}
        self._pools = [process_pool(1) for _ in range(max(min(len(paths), os.cpu_count() or 1), 1))]
        loads = [0] * len(self._pools)
        self._home: dict[Path, int] = {}
        for path, size in sorted(zip(paths, sizes, strict=True), key=lambda each: -each[1]):
            self._home[path] = loads.index(min(loads))
            loads[self._home[path]] += size + 1

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for pool in self._pools:
            pool.shutdown(wait=False, cancel_futures=True)

    def read(self) -> tuple[list[FleetSession], dict[Path, str]]:
        """Read and prepare every session; calls that several hold count with the one that ended first.

        Returns:
            The sessions that could be read, and why the others could not.
        """
        with ProgressLine("reading sessions", estimates=True) as progress:
            done = self._read_all(list(self._tasks), progress)
            found = [path for path, each in done.items() if each.session is not None]
            elsewhere = counted_elsewhere([(done[path].ended, done[path].keys) for path in found])
            again = [path for path, keys in zip(found, elsewhere, strict=True) if keys]
            for path, keys in zip(found, elsewhere, strict=True):
                self._tasks[path] = SessionTask(path, self._tasks[path].options, keys)
            done |= self._read_all(again, progress)
        sessions = [each.session for each in done.values() if each.session is not None]
        return sessions, {path: each.problem for path, each in done.items() if each.session is None}

    def bases(self, path: Path) -> tuple[Plan, ...]:
        """Every strategy and ready plan, as it fits a session."""
        return _result(self._pools[self._home[path]].submit(_bases, self._tasks[path]))

    def tried(
        self, plans: Sequence[Plan], paths: Sequence[Path], terms: TrialTerms, until: float, progress: ProgressLine
    ) -> Iterator[tuple[Plan, list[Trial | None]]]:
        """Try plans on sessions.

        Args:
            plans: The plans.
            paths: The sessions.
            terms: What plans may do.
            until: When to stop, on the monotonic clock.
            progress: Told how far it is.

        Yields:
            A plan and what came of it on every session, as soon as it is known for all. Fewer than all plans where time
            is up, or somebody pressed ctrl-c.
        """
        if self.is_interrupted:
            return
        parts = [tuple(plans[at : at + AT_ONCE]) for at in range(0, len(plans), AT_ONCE)]
        running = [
            [self._pools[self._home[path]].submit(_tried, self._tasks[path], part, terms) for path in paths]
            for part in parts
        ]
        everything = [future for futures in running for future in futures]
        count = 0
        try:
            for part, futures in zip(parts, running, strict=True):
                for future in futures:
                    if not self._done_in_time(future, until):
                        return
                    count += 1
                    progress(count, len(everything))
                columns = [_result(future) for future in futures]
                yield from ((plan, [column[at] for column in columns]) for at, plan in enumerate(part))
        finally:
            for future in everything:
                future.cancel()

    def compacted(self, paths: Sequence[Path]) -> list[CompactedSession]:
        """What each of some sessions tells of compactions."""
        with ProgressLine("reading compactions", estimates=True) as progress:
            return self._each([self._submit(path, _compacted) for path in paths], progress)

    def threshold_costs(
        self, paths: Sequence[Path], thresholds: tuple[float, ...], terms: CompactionTerms
    ) -> list[ThresholdCosts]:
        """What each of some sessions would have cost, had it compacted at thresholds."""
        doing = f"trying {len(thresholds):,} thresholds on {len(paths):,} sessions"
        with ProgressLine(doing, estimates=True) as progress:
            return self._each([self._submit(path, _costs, thresholds, terms) for path in paths], progress)

    def _submit(self, path: Path, work: Callable[..., Worked], *rest: object) -> Future[Worked]:
        return self._pools[self._home[path]].submit(work, self._tasks[path], *rest)

    def _each(self, futures: Sequence[Future[Worked]], progress: ProgressLine) -> list[Worked]:
        found = []
        for future in futures:
            found.append(_result(future))
            progress(len(found), len(futures))
        return found

    def _done_in_time(self, future: Future[list[Trial | None]], until: float) -> bool:
        try:
            wait([future], timeout=max(until - time.monotonic(), 0))
        except KeyboardInterrupt:
            self.is_interrupted = True
        return future.done() and not self.is_interrupted

    def _read_all(self, paths: Sequence[Path], progress: ProgressLine) -> dict[Path, ReadSession]:
        futures = {path: self._pools[self._home[path]].submit(_read, self._tasks[path]) for path in paths}
        found = {}
        for count, (path, future) in enumerate(futures.items(), start=1):
            found[path] = _result(future)
            progress(count, len(futures))
        return found


def left_out_warnings(sessions: Sequence[FleetSession]) -> list[str]:
    """Which sessions are part of no figure, a sentence each."""
    empty = sum(not session.calls for session in sessions)
    unpriced = sum(session.calls > 0 and math.isnan(session.cost) for session in sessions)
    said = (
        (empty, f"{IN_TEXT.plural(empty, 'session')} without a call to a model left out"),
        (unpriced, f"{IN_TEXT.plural(unpriced, 'session')} without a price left out; --model or --rates names one"),
    )
    return [sentence for count, sentence in said if count]


def _result(future: Future[Worked]) -> Worked:
    try:
        return future.result()
    except (BrokenProcessPool, CancelledError):
        raise CommandError("a process ended in the middle of its session; is there too little memory?") from None
