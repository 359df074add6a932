"""Sessions kept ready by whatever works on them: each is read and prepared once, and then tried with every plan."""

from __future__ import annotations

import math
from collections import OrderedDict
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Final

from inspector.cli.executors import Job, Lost
from inspector.cli.exit_codes import CommandError
from inspector.cli.output import ProgressLine
from inspector.cli.reading import read_session
from inspector.cli.session_tasks import SessionTask
from inspector.replay.tuning.fleet import FleetSession
from inspector.replay.tuning.search import SAMPLED
from inspector.replay.tuning.trial import PreparedSession
from inspector.session.duplicate_calls import call_keys, counted_elsewhere, counted_here, without_calls

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from inspector.cli.executors import SessionExecutor
    from inspector.cli.session_tasks import SessionTerms
    from inspector.replay.tuning.trial import Trial, TrialTerms
    from inspector.strategies.plan import Plan

AT_ONCE: Final = 16
"""Plans that are tried on a session before it is another one's turn; of very many sessions, each has its turn once."""

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


class LostSessionError(Exception):
    """A session cannot be worked on any more.

    Attributes:
        path: Which.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.path = path


_ready: OrderedDict[tuple[Path, frozenset[bytes]], tuple[SessionTask, PreparedSession]] = OrderedDict()
"""Of a process, the sessions it keeps, each with what it was prepared for."""


def _prepared(task: SessionTask) -> PreparedSession:
    key = (task.path, task.elsewhere)
    if key not in _ready or _ready[key][0] != task:
        session = without_calls(counted_here(read_session(task.path)), task.elsewhere)
        _ready[key] = (task, PreparedSession.of(task.inputs(session)))
    _ready.move_to_end(key)
    while len(_ready) > 1 and sum(len(each.inputs.history.kind) for _, each in _ready.values()) > MOST_KEPT_BLOCKS:
        _ready.popitem(last=False)
    return _ready[key][1]


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


class TuningPool:
    """Many sessions, and what came of the plans that were tried on them."""

    def __init__(self, sizes: Mapping[Path, int], terms: SessionTerms, executor: SessionExecutor) -> None:
        """Prepare.

        Args:
            sizes: The sessions, and how large each is, in bytes.
            terms: At which prices.
            executor: What works on them.
        """
        self._executor = executor
        self._sizes = sizes
        # The largest first: sessions are shared out evenly like that, and none keeps everybody waiting at the end.
        order = sorted(sizes, key=lambda path: -sizes[path])
        self._tasks = {path: SessionTask(path, terms) for path in order}
        self._trials: dict[Path, dict[bytes, Trial | None]] = {}

    @property
    def ended(self) -> str:
        """Why the work ended before everything was done; empty while it goes on."""
        return self._executor.ended

    def read(self) -> tuple[list[FleetSession], dict[Path, str]]:
        """Read and prepare every session; calls that several hold count with the one that ended first.

        Returns:
            The sessions that could be read, and why the others could not. Fewer than all where the work ended.
        """
        with ProgressLine("reading sessions", estimates=True) as progress:
            done = self._read_all(list(self._tasks), progress)
            found = [path for path in self._tasks if path in done and done[path].session is not None]
            elsewhere = counted_elsewhere([(done[path].ended, done[path].keys) for path in found])
            again = [path for path, keys in zip(found, elsewhere, strict=True) if keys]
            for path, keys in zip(found, elsewhere, strict=True):
                self._tasks[path] = SessionTask(path, self._tasks[path].terms, keys)
            for path in again:
                del done[path]
            done |= self._read_all(again, progress)
        sessions = [done[path].session for path in self._sizes if path in done]
        problems = {path: done[path].problem for path in self._sizes if path in done and done[path].session is None}
        return [session for session in sessions if session is not None], problems

    def bases(self, path: Path) -> tuple[Plan, ...]:
        """Every strategy and ready plan, as it fits a session; none where the work ended.

        Raises:
            LostSessionError: The session cannot be worked on any more.
        """
        for _, outcome in self._executor.finished([Job(path, _bases, (self._tasks[path],))], stays=True):
            if isinstance(outcome, Lost):
                raise LostSessionError(path)
            return outcome
        return ()

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
            A plan and what came of it on every session, in the order of the plans, as soon as it is known for all.
            Fewer than all plans where time is up, or the work ended.

        Raises:
            LostSessionError: A session cannot be worked on any more.
        """
        keys = [_key(plan, terms) for plan in plans]
        known = [self._trials.setdefault(path, {}) for path in paths]
        jobs, asked = self._jobs(plans, keys, paths, terms)
        left = {key: sum(key not in trials for trials in known) for key in keys}
        at = 0
        finished = self._executor.finished(jobs, until, stays=True)
        for count, (index, outcome) in enumerate(finished, start=1):
            path = jobs[index].path
            if isinstance(outcome, Lost):
                raise LostSessionError(path)
            self._trials[path].update(zip(asked[index], outcome, strict=True))
            progress(count, len(jobs))
            for key in asked[index]:
                left[key] -= 1
            while at < len(plans) and not left[keys[at]]:
                yield plans[at], [trials[keys[at]] for trials in known]
                at += 1
        if not self.ended:
            for plan, key in zip(plans[at:], keys[at:], strict=True):
                if left[key]:
                    return
                yield plan, [trials[key] for trials in known]

    def _jobs(
        self, plans: Sequence[Plan], keys: Sequence[bytes], paths: Sequence[Path], terms: TrialTerms
    ) -> tuple[list[Job[list[Trial | None]]], list[list[bytes]]]:
        """What is still to be tried, and the keys of each job's plans."""
        at_once = AT_ONCE if len(paths) <= SAMPLED else len(plans)
        jobs: list[Job[list[Trial | None]]] = []
        asked: list[list[bytes]] = []
        for first in range(0, len(plans), max(at_once, 1)):
            part = range(first, min(first + at_once, len(plans)))
            for path in paths:
                new = [at for at in part if keys[at] not in self._trials[path]]
                if new:
                    work = (self._tasks[path], tuple(plans[at] for at in new), terms)
                    jobs.append(Job(path, _tried, work))
                    asked.append([keys[at] for at in new])
        return jobs, asked

    def _read_all(self, paths: Sequence[Path], progress: ProgressLine) -> dict[Path, ReadSession]:
        jobs = [Job(path, _read, (self._tasks[path],)) for path in paths]
        total = sum(self._sizes[path] + 1 for path in paths)
        found: dict[Path, ReadSession] = {}
        behind = 0
        for index, outcome in self._executor.finished(jobs, math.inf, stays=True):
            path = paths[index]
            if isinstance(outcome, Lost):
                outcome = ReadSession(None, problem=f"{path}: {outcome.problem}")
            found[path] = outcome
            behind += self._sizes[path] + 1
            progress(behind, total)
        return found


def _key(plan: Plan, terms: TrialTerms) -> bytes:
    """What tells a plan under terms from others."""
    asked = repr((plan, sorted(terms.keep), terms.may_forget))
    return blake2b(asked.encode(errors="backslashreplace"), digest_size=16).digest()
