"""Sessions cached in worker processes: each is read and prepared once, then tried with every plan."""

from __future__ import annotations

import math
import time
from collections import OrderedDict
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

import msgspec

from inspector.cli.executors import ENDED, Job, JobLost
from inspector.cli.exit_codes import CommandError
from inspector.cli.output import ProgressLine
from inspector.cli.reading import read_session
from inspector.cli.result_cache import is_unchanged, number, source_of
from inspector.cli.session_tasks import SessionTask
from inspector.errors import InspectorError
from inspector.replay.figure import HowKnown
from inspector.replay.tuning.compaction_costs import compacted_session, threshold_costs
from inspector.replay.tuning.fleet import FleetSession
from inspector.replay.tuning.trial import PreparedSession, Trial
from inspector.report.numbers import IN_TEXT
from inspector.session.duplicate_calls import billed_keys, calls_counted_elsewhere, without_calls, without_copied_calls
from inspector.strategies.plan import Plan, PlanError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from inspector.cli.executors import SessionExecutor
    from inspector.cli.result_cache import ResultCache, ResultInputs
    from inspector.cli.session_tasks import SessionTerms
    from inspector.replay.tuning.compaction_costs import CompactedSession, CompactionTerms, ThresholdCosts
    from inspector.replay.tuning.fleet import FleetGroup
    from inspector.replay.tuning.trial import TrialTerms

Worked = TypeVar("Worked")

AT_ONCE: Final = 16
"""Plans tried on a session before the next session's turn; a small batch limits the loss at the time limit."""

MOST_KEPT_TRIALS: Final = 100_000
"""Maximum cached trials of one session in the cache folder."""

MOST_KEPT_BLOCKS: Final = 1_000_000
"""Maximum blocks of the sessions a process caches; the least recently used are prepared again on demand."""


@dataclass(frozen=True, slots=True)
class ReadSession:
    """Result of reading a session.

    Attributes:
        session: Its summary for grouping; None if it cannot be read.
        problem: The reason if it cannot be read.
        ended: Time of its last call, seconds since the epoch.
        keys: Identifiers of its calls.
        source: Its inputs; None if it must not be cached.
    """

    session: FleetSession | None
    problem: str = ""
    ended: float = 0.0
    keys: tuple[bytes, ...] = ()
    source: ResultInputs | None = None

    def written(self) -> bytes:
        """Serialize the result; empty if it could not be read."""
        of = self.session
        if of is None:
            return b""
        facts = (of.agent, of.model, of.calls, of.cost, of.known.value, of.tools, self.ended, self.keys)
        return msgspec.msgpack.encode(facts, enc_hook=number)

    @classmethod
    def read(cls, path: Path, written: bytes) -> ReadSession | None:
        """Deserialize a result; None for invalid data."""
        try:
            *facts, known, tools, ended, keys = msgspec.msgpack.decode(written, type=_Facts)
            agent, model, calls, cost = facts
            session = FleetSession(path, agent, model, calls, cost, HowKnown(known), tools)
        except (msgspec.MsgspecError, ValueError):
            return None
        return cls(session, "", ended, keys)


_Facts = tuple[str, str, int, float, str, int, float, tuple[bytes, ...]]

_Trials = dict[bytes, Trial | None]


class LostSessionError(InspectorError):
    """A session that can no longer be processed.

    Attributes:
        path: The session.
    """

    advice = "its process dies every time; possibly out of memory"

    def __init__(self, path: Path) -> None:
        super().__init__(f"{path} can no longer be processed")
        self.path = path


class _Ready(NamedTuple):
    """A prepared session in a process, with its parameters and inputs."""

    task: SessionTask
    prepared: PreparedSession
    source: ResultInputs | None


_ready: OrderedDict[tuple[Path, frozenset[bytes]], _Ready] = OrderedDict()
"""Prepared sessions of this process."""


def _kept_ready(task: SessionTask) -> _Ready:
    key = (task.path, task.elsewhere)
    if key not in _ready or _ready[key].task != task:
        began = time.time_ns()
        whole = read_session(task.path)
        own = without_calls(without_copied_calls(whole), task.elsewhere)
        prepared = PreparedSession.of(task.inputs_without_copies(task.inputs(whole), own))
        _ready[key] = _Ready(task, prepared, source_of(whole, began, task.terms.pricing.today))
    _ready.move_to_end(key)
    while (
        len(_ready) > 1 and sum(len(each.prepared.inputs.history.kind) for each in _ready.values()) > MOST_KEPT_BLOCKS
    ):
        _ready.popitem(last=False)
    return _ready[key]


def _read(task: SessionTask) -> ReadSession:
    try:
        _, prepared, source = _kept_ready(task)
    except CommandError as error:
        return ReadSession(None, problem=error.message)
    session = prepared.inputs.history.session
    ended = max((call.time for call in session.calls if call.time is not None), default=0.0)
    return ReadSession(FleetSession.of(task.path, prepared), "", ended, tuple(billed_keys(session)), source)


def _bases(task: SessionTask) -> tuple[tuple[Plan, ...], ResultInputs | None]:
    ready = _kept_ready(task)
    return ready.prepared.bases(), ready.source


def _tried(
    task: SessionTask, plans: tuple[Plan, ...], terms: TrialTerms
) -> tuple[list[Trial | None], ResultInputs | None]:
    ready = _kept_ready(task)
    trials = list(ready.prepared.trials(plans, terms))
    # Texts are read again when a plan cuts them.
    return trials, ready.source if ready.source is not None and is_unchanged(ready.source) else None


def _compacted(task: SessionTask) -> CompactedSession:
    return compacted_session(_kept_ready(task).prepared.baseline)


def _costs(task: SessionTask, thresholds: tuple[float, ...], terms: CompactionTerms) -> ThresholdCosts:
    return threshold_costs(_kept_ready(task).prepared.baseline, thresholds, terms)


class TuningPool:
    """Many sessions, and the results of plans tried on them."""

    def __init__(
        self, sizes: Mapping[Path, int], terms: SessionTerms, executor: SessionExecutor, results: ResultCache
    ) -> None:
        """Prepare the pool.

        Args:
            sizes: The sessions with their sizes in bytes.
            terms: Prices.
            executor: Executor of the jobs.
            results: Cache of results.
        """
        self._executor = executor
        self._results = results
        self._sizes = sizes
        # Largest first: this balances the load, and none of them delays the end.
        order = sorted(sizes, key=lambda path: -sizes[path])
        self._tasks = {path: SessionTask(path, terms) for path in order}
        self._trials: dict[Path, _Trials] = {}
        self._sources: dict[Path, ResultInputs | None] = {}
        """Inputs of sessions with new trials."""

    @property
    def ended(self) -> str:
        """Reason for an early end; empty while the work continues."""
        return self._executor.ended

    def read(self) -> tuple[list[FleetSession], dict[Path, str]]:
        """Read and prepare every session; a call in several sessions is counted for the one that ended first.

        Returns:
            The readable sessions, and the problems of the others. Fewer than all if the work ended early.
        """
        with ProgressLine("reading sessions", estimates=True) as progress:
            done = self._read_all(list(self._tasks), progress)
            found = [path for path in self._tasks if path in done and done[path].session is not None]
            elsewhere = calls_counted_elsewhere([(done[path].ended, done[path].keys) for path in found])
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
        """Return every strategy and built-in plan, fitted to a session; empty if the work ended early.

        Raises:
            LostSessionError: The session can no longer be processed.
        """
        task = self._tasks[path]
        key = task.key("plans")
        kept = _plans_of(self._results.kept(path, key))
        if kept:
            return kept
        for _, outcome in self._executor.finished([Job(path, _bases, (task,))], stays=True):
            if isinstance(outcome, JobLost):
                raise LostSessionError(path)
            plans, source = outcome
            written = msgspec.msgpack.encode([plan.to_toml() for plan in plans])
            if _plans_of(written) == plans:
                self._results.keep(path, key, written, source)
            return plans
        return ()

    def tried(
        self, plans: Sequence[Plan], paths: Sequence[Path], terms: TrialTerms, until: float, progress: ProgressLine
    ) -> Iterator[tuple[Plan, list[Trial | None]]]:
        """Try plans on sessions.

        Args:
            plans: The plans.
            paths: The sessions.
            terms: Permitted effects of plans.
            until: Time limit on the monotonic clock.
            progress: Progress line to update.

        Yields:
            A plan and its result on every session, in the order of the plans, once complete. Fewer than all plans at
            the time limit, or if the work ended early.

        Raises:
            LostSessionError: A session can no longer be processed.
        """
        keys = [_key(plan, terms) for plan in plans]
        known = [self._trials_of(path) for path in paths]
        jobs, asked = self._jobs(plans, keys, paths, terms)
        left = {key: sum(key not in trials for trials in known) for key in keys}
        at = 0
        finished = self._executor.finished(jobs, until, stays=True)
        try:
            for count, (index, outcome) in enumerate(finished, start=1):
                path = jobs[index].path
                if isinstance(outcome, JobLost):
                    raise LostSessionError(path)
                self._take(path, asked[index], *outcome)
                progress(count, len(jobs))
                for key in asked[index]:
                    left[key] -= 1
                while at < len(plans) and not left[keys[at]]:
                    yield plans[at], [trials[keys[at]] for trials in known]
                    at += 1
        finally:
            self._keep()
        while at < len(plans) and not left[keys[at]]:
            yield plans[at], [trials[keys[at]] for trials in known]
            at += 1

    def compacted(self, paths: Sequence[Path]) -> list[CompactedSession]:
        """Return the compactions of some sessions, in order; empty if the work ended early.

        Raises:
            LostSessionError: A session can no longer be processed.
        """
        with ProgressLine("reading compactions", estimates=True) as progress:
            return self._each([Job(path, _compacted, (self._tasks[path],)) for path in paths], progress)

    def threshold_costs(
        self, paths: Sequence[Path], thresholds: tuple[float, ...], terms: CompactionTerms
    ) -> list[ThresholdCosts]:
        """Return the costs of some sessions at compaction thresholds, in order; empty if the work ended early.

        Raises:
            LostSessionError: A session can no longer be processed.
        """
        doing = f"trying {len(thresholds):,} thresholds on {len(paths):,} sessions"
        with ProgressLine(doing, estimates=True) as progress:
            return self._each([Job(path, _costs, (self._tasks[path], thresholds, terms)) for path in paths], progress)

    def _each(self, jobs: Sequence[Job[Worked]], progress: ProgressLine) -> list[Worked]:
        """Return the result of every job, in order; empty if the work ended before all were done."""
        found: dict[int, Worked] = {}
        for index, outcome in self._executor.finished(jobs, stays=True):
            if isinstance(outcome, JobLost):
                raise LostSessionError(jobs[index].path)
            found[index] = outcome
            progress(len(found), len(jobs))
        return [found[index] for index in range(len(jobs))] if len(found) == len(jobs) else []

    def _trials_of(self, path: Path) -> _Trials:
        if path not in self._trials:
            kept = self._results.kept(path, self._tasks[path].key("trials"))
            self._trials[path] = {} if kept is None else _trials_in(kept)
        return self._trials[path]

    def _take(
        self, path: Path, keys: Sequence[bytes], trials: Sequence[Trial | None], source: ResultInputs | None
    ) -> None:
        self._trials[path].update(zip(keys, trials, strict=True))
        before = self._sources.get(path, source)
        is_same = before is not None and source is not None and before.content == source.content
        self._sources[path] = source if is_same else None

    def _keep(self) -> None:
        """Cache new results."""
        for path, source in self._sources.items():
            newest = dict(list(self._trials[path].items())[-MOST_KEPT_TRIALS:])
            written = msgspec.msgpack.encode(newest, enc_hook=number)
            self._results.keep(path, self._tasks[path].key("trials"), written, source)
        self._sources = {path: None for path, source in self._sources.items() if source is None}

    def _jobs(
        self, plans: Sequence[Plan], keys: Sequence[bytes], paths: Sequence[Path], terms: TrialTerms
    ) -> tuple[list[Job[tuple[list[Trial | None], ResultInputs | None]]], list[list[bytes]]]:
        """Return the missing trials as jobs, and the keys of each job's plans."""
        jobs: list[Job[tuple[list[Trial | None], ResultInputs | None]]] = []
        asked: list[list[bytes]] = []
        for first in range(0, len(plans), AT_ONCE):
            part = range(first, min(first + AT_ONCE, len(plans)))
            for path in paths:
                new = [at for at in part if keys[at] not in self._trials[path]]
                if new:
                    work = (self._tasks[path], tuple(plans[at] for at in new), terms)
                    jobs.append(Job(path, _tried, work))
                    asked.append([keys[at] for at in new])
        return jobs, asked

    def _read_all(self, paths: Sequence[Path], progress: ProgressLine) -> dict[Path, ReadSession]:
        total = sum(self._sizes[path] + 1 for path in paths)
        found: dict[Path, ReadSession] = {}
        behind = 0
        new = []
        for path in paths:
            kept = self._results.kept(path, self._tasks[path].key("session"))
            read = None if kept is None else ReadSession.read(path, kept)
            if read is None:
                new.append(path)
                continue
            found[path] = read
            behind += self._sizes[path] + 1
            progress(behind, total)
        jobs = [Job(path, _read, (self._tasks[path],)) for path in new]
        for index, outcome in self._executor.finished(jobs, stays=True):
            path = new[index]
            if isinstance(outcome, JobLost):
                outcome = ReadSession(None, problem=f"{path}: {outcome.problem}")
            self._results.keep(path, self._tasks[path].key("session"), outcome.written(), outcome.source)
            found[path] = outcome
            behind += self._sizes[path] + 1
            progress(behind, total)
        return found


def left_out_warnings(sessions: Sequence[FleetSession]) -> list[str]:
    """List sessions that are not part of any figure, a sentence each."""
    empty = sum(not session.calls for session in sessions)
    unpriced = sum(session.calls > 0 and math.isnan(session.cost) for session in sessions)
    parts = (
        (empty, f"{IN_TEXT.plural(empty, 'session')} without a call to a model left out"),
        (unpriced, f"{IN_TEXT.plural(unpriced, 'session')} without a price left out; add one with --model or --rates"),
    )
    return [sentence for count, sentence in parts if count]


def retry_without_lost(
    group: FleetGroup, problems: dict[Path, str], work: Callable[[FleetGroup], Worked]
) -> Worked | None:
    """Work on the sessions of a group that can be processed to the end.

    Args:
        group: The sessions.
        problems: Problems by session; lost sessions are added.
        work: May raise `LostSessionError`; it is called again without that session.

    Returns:
        The result; None if no session is left.
    """
    while group.sessions:
        try:
            return work(group)
        except LostSessionError as lost:
            problems[lost.path] = f"{lost.path}: {ENDED.problem}"
            group = replace(group, sessions=tuple(each for each in group.sessions if each.path != lost.path))
    return None


def _plans_of(kept: bytes | None) -> tuple[Plan, ...]:
    """Deserialize cached plans; empty if they are unavailable."""
    if kept is None:
        return ()
    try:
        return tuple(Plan.from_toml(text) for text in msgspec.msgpack.decode(kept, type=list[str]))
    except (msgspec.MsgspecError, PlanError):
        return ()


def _trials_in(kept: bytes) -> _Trials:
    try:
        return msgspec.msgpack.decode(kept, type=_Trials)
    except msgspec.MsgspecError:
        return {}


def _key(plan: Plan, terms: TrialTerms) -> bytes:
    asked = repr((plan, sorted(terms.keep), terms.may_forget, terms.beyond))
    return blake2b(asked.encode(errors="backslashreplace"), digest_size=16).digest()
