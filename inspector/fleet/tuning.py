"""Search for the best plan, or the best compaction threshold, of every group of sessions."""

from __future__ import annotations

import math
import time
from collections import OrderedDict
from dataclasses import replace
from functools import partial
from hashlib import blake2b
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

import msgspec

from inspector.errors import SessionError
from inspector.fleet.executors import (
    ENDED,
    EndedEarlyError,
    Execution,
    FleetError,
    Job,
    JobLost,
    missing,
    no_progress,
)
from inspector.fleet.result_cache import ResultCache, ResultInputs, is_unchanged, number, source_of
from inspector.fleet.session_tasks import SessionResult, SessionTask, SessionTerms, SessionWork
from inspector.replay.figure import HowKnown
from inspector.replay.sessions import StartedTotals, SubagentReader
from inspector.replay.tuning.compaction_costs import (
    AS_RECORDED,
    choose_threshold,
    compacted_session,
    compaction_terms,
    has_enough_data,
    threshold_costs,
    thresholds_to_try,
)
from inspector.replay.tuning.search import (
    CHOICE,
    COARSE,
    FIRST,
    SEARCH,
    FleetSession,
    GroupSearch,
    Stage,
    TunedGroup,
    grouped,
    has_enough,
)
from inspector.replay.tuning.trials import Constraints, PreparedSession, Trial, TrialTerms
from inspector.report.compaction_tuning import CompactionGroup, compaction_group
from inspector.report.folder import UnreadSession
from inspector.report.numbers import IN_TEXT
from inspector.report.secret_redaction import shown_name, shown_path
from inspector.report.sentences import started_words
from inspector.report.tuning import TuneReport, TuningTerms, agent_name, constraints_of, group_name, tune_report
from inspector.session.related import billed_keys, without_calls, without_copied_calls
from inspector.strategies.plan import Plan, PlanError
from inspector.tokens.counter import shared_counter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from inspector.fleet.executors import Advance, Progress, SessionExecutor
    from inspector.replay.tuning.compaction_costs import CompactedSession, CompactionTerms, ThresholdCosts
    from inspector.replay.tuning.search import FleetGroup


Worked = TypeVar("Worked")

AT_ONCE: Final = 16
"""Plans tried on a session before the next session's turn; a small batch limits the loss at the time limit."""

MOST_KEPT_TRIALS: Final = 100_000
"""Maximum cached trials of one session in the cache folder."""

MOST_KEPT_BLOCKS: Final = 1_000_000
"""Maximum blocks of the sessions a process caches; the least recently used are prepared again on demand."""


_SessionFacts = tuple[str, str, int, float, HowKnown, int, StartedTotals]

_Trials = dict[bytes, Trial | None]


class LostSessionError(FleetError):
    """A session that can no longer be processed."""

    advice = "its process dies every time; possibly out of memory"

    def __init__(self, path: Path) -> None:
        super().__init__(f"{path} can no longer be processed")
        self.path = path


class _Ready(NamedTuple):
    """A prepared session in a process, with its parameters and inputs."""

    task: SessionTask
    prepared: PreparedSession
    started: StartedTotals
    source: ResultInputs | None


_ready: OrderedDict[tuple[Path, frozenset[bytes]], _Ready] = OrderedDict()


def _kept_ready(task: SessionTask) -> _Ready:
    key = (task.path, task.elsewhere)
    if key not in _ready or _ready[key].task != task:
        began = time.time_ns()
        whole = task.read()
        own = without_calls(without_copied_calls(whole), task.elsewhere)
        prepared = PreparedSession.of(task.inputs_without_copies(task.inputs(whole), own))
        terms, reader = task.terms, SubagentReader()
        started = StartedTotals.of(reader.read(whole, terms.pricing, cache=terms.cache, counter=shared_counter()))
        source = source_of(whole, began, terms.pricing.today, reader.files()) if terms.is_kept else None
        _ready[key] = _Ready(task, prepared, started, source)
    _ready.move_to_end(key)
    while (
        len(_ready) > 1 and sum(len(each.prepared.inputs.history.kind) for each in _ready.values()) > MOST_KEPT_BLOCKS
    ):
        _ready.popitem(last=False)
    return _ready[key]


def _read(task: SessionTask) -> SessionResult:
    try:
        _, prepared, started, source = _kept_ready(task)
    except SessionError as error:
        return SessionResult(problem=error.message)
    session = prepared.inputs.history.session
    ended = max((call.time for call in session.calls if call.time is not None), default=0.0)
    of = FleetSession.of(task.path, prepared, started)
    facts: _SessionFacts = (of.agent, of.model, of.calls, of.cost, of.known, of.tools, of.started)
    value = msgspec.msgpack.encode(facts, enc_hook=number)
    return SessionResult(value, "", ended, tuple(billed_keys(session)), source)


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
        self,
        sizes: Mapping[Path, int],
        terms: SessionTerms,
        executor: SessionExecutor,
        results: ResultCache,
        progress: Progress = no_progress,
    ) -> None:
        """Prepare the pool; `sizes` are in bytes."""
        self._executor = executor
        self._results = results
        self._sizes = sizes
        self.progress = progress
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
        work = SessionWork(self._executor, _read, self._results, "session", self._sizes, stays=True)
        with self.progress("reading sessions") as advance:
            done = work.run(list(self._tasks.values()), advance)
        self._tasks |= {path: task for path, (task, _) in done.items()}
        results = {path: done[path][1] for path in self._sizes if path in done}
        problems = {path: one.problem for path, one in results.items() if not one.value}
        return [_fleet_session(path, one.value) for path, one in results.items() if one.value], problems

    def bases(self, path: Path) -> tuple[Plan, ...]:
        """Return all strategies and plans for a session, none at an early end; raise `LostSessionError`."""
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
        self, plans: Sequence[Plan], paths: Sequence[Path], terms: TrialTerms, until: float, advance: Advance
    ) -> Iterator[tuple[Plan, list[Trial | None]]]:
        """Try plans on sessions.

        Args:
            until: Time limit on the monotonic clock.

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
                advance(count, len(jobs))
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
        """Return the compactions of sessions in order, none at an early end; raise `LostSessionError`."""
        with self.progress("reading compactions") as advance:
            return self._each([Job(path, _compacted, (self._tasks[path],)) for path in paths], advance)

    def threshold_costs(
        self, paths: Sequence[Path], thresholds: tuple[float, ...], terms: CompactionTerms
    ) -> list[ThresholdCosts]:
        """Return sessions' costs at thresholds in order, none at an early end; raise `LostSessionError`."""
        doing = f"trying {len(thresholds):,} thresholds on {len(paths):,} sessions"
        with self.progress(doing) as advance:
            return self._each([Job(path, _costs, (self._tasks[path], thresholds, terms)) for path in paths], advance)

    def _each(self, jobs: Sequence[Job[Worked]], advance: Advance) -> list[Worked]:
        """Return the result of every job, in order; empty if the work ended before all were done."""
        found: dict[int, Worked] = {}
        for index, outcome in self._executor.finished(jobs, stays=True):
            if isinstance(outcome, JobLost):
                raise LostSessionError(jobs[index].path)
            found[index] = outcome
            advance(len(found), len(jobs))
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


def _fleet_session(path: Path, value: bytes) -> FleetSession:
    return FleetSession(path, *msgspec.msgpack.decode(value, type=_SessionFacts))


def _left_out_warnings(sessions: Sequence[FleetSession]) -> list[str]:
    """List sessions that are not part of any figure, a sentence each."""
    empty = sum(not session.calls for session in sessions)
    unpriced = sum(session.calls > 0 and math.isnan(session.cost) for session in sessions)
    parts = (
        (empty, f"{IN_TEXT.plural(empty, 'session')} without a call to a model left out"),
        (unpriced, f"{IN_TEXT.plural(unpriced, 'session')} without a price left out; add one with --model or --rates"),
    )
    started = StartedTotals.summed(session.started for session in sessions)
    left_out = [started_words(started, IN_TEXT)] if started else []
    return [*(sentence for count, sentence in parts if count), *left_out]


def retry_without_lost(
    group: FleetGroup, problems: dict[Path, str], work: Callable[[FleetGroup], Worked]
) -> Worked | None:
    """Work on the sessions of a group that can be processed to the end.

    Args:
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


PART: Final = 0.7
"""Share of a group's time for the search on a sample of its sessions; the rest is for trying the results on all."""


class SharedSearch:
    """Search for the best plan of every group within one time limit, with fair shares of time.

    Every group first gets a coarse search on a few of its sessions, and its best results are tried on all of them, so
    that every group has an early answer. Groups with few calls come first. Each has an equal share of the remaining
    time, and unused time is shared among later groups: a large group does not delay a small one, and many small ones
    take no more than their shares from a large one.
    """

    def __init__(self, pool: TuningPool, constraints: Constraints, terms: TrialTerms, plans: Sequence[Plan]) -> None:
        """Prepare the search; without plans, tune every strategy and built-in plan."""
        self._pool = pool
        self._constraints = constraints
        self._terms = terms
        self._plans = tuple(plans)
        self._bases: dict[Path, tuple[Plan, ...]] = {}

    def tuned(self, groups: Sequence[FleetGroup], until: float, problems: dict[Path, str]) -> list[TunedGroup]:
        """Search for every group's plan until a monotonic time; lost sessions go to `problems`."""
        left = dict(enumerate(groups))
        found: dict[int, TunedGroup] = {}
        order = sorted(left, key=lambda at: sum(_calls(groups[at])))
        searched = [at for at in order if has_enough(_calls(groups[at]))]
        for search in (self._search_coarsely, self._search_fully):
            for position, at in enumerate(searched):
                now = time.monotonic()
                share = now + max(until - now, 0) / (len(searched) - position)
                text = f", group {position + 1} of {len(searched)}" if len(searched) > 1 else ""
                reported = retry_without_lost(left[at], problems, partial(search, share, text)) if at in left else None
                if reported is None:
                    left.pop(at, None)
                else:
                    found[at], left[at] = reported, reported.group
        for at in set(left) - set(searched):
            nothing = self._prepared(groups[at], ())
            found[at] = self._tuned(groups[at], nothing, nothing, nothing)
        return [found[at] for at in sorted(left)]

    def _search_coarsely(self, until: float, text: str, group: FleetGroup) -> TunedGroup:
        """Run the coarse search, and try its best results on all sessions."""
        now = time.monotonic()
        coarse = self._coarse(group, now + PART * (until - now), text)
        return self._tuned(group, self._first(group, coarse, until, text), coarse, self._prepared(group, SEARCH))

    def _search_fully(self, until: float, text: str, group: FleetGroup) -> TunedGroup:
        """Run the full search, which reuses the trials of the coarse one."""
        now = time.monotonic()
        coarse = self._coarse(group, now, text)
        first = self._first(group, coarse, now, text)
        sample = group.part()
        sampled = self._prepared(sample, SEARCH, bases=self._bases_of(group))
        self._run(sampled, sample, until if sample is group else now + PART * (until - now), text)
        if sample is group:
            sampled.take(first)
            return self._tuned(group, sampled, coarse, sampled)
        # Results on more sessions are more reliable, so they win unless they are worse.
        best = (sampled, coarse) if len(sampled.left) > len(SEARCH) - len(COARSE) else (sampled,)
        shortlist = [plan for each in reversed(best) for plan in each.shortlist()]
        chosen = self._prepared(group, CHOICE, shortlist=(*shortlist, *first.table().plans))
        self._run(chosen, group, until, text)
        return self._tuned(group, chosen, coarse, sampled)

    def _coarse(self, group: FleetGroup, until: float, text: str) -> GroupSearch:
        few = group.few()
        coarse = self._prepared(few, COARSE, bases=self._bases_of(group))
        self._run(coarse, few, until, text)
        return coarse

    def _first(self, group: FleetGroup, coarse: GroupSearch, until: float, text: str) -> GroupSearch:
        """Try the best results of the coarse search on all sessions."""
        first = self._prepared(group, (Stage.SHORTLIST,), shortlist=coarse.shortlist()[:FIRST])
        self._run(first, group, until, text)
        return first

    def _prepared(
        self, group: FleetGroup, stages: Sequence[Stage], *, bases: Sequence[Plan] = (), shortlist: Sequence[Plan] = ()
    ) -> GroupSearch:
        costs = [session.cost for session in group.sessions]
        terms, calls = self._terms, _calls(group)
        return GroupSearch(bases, self._constraints, costs, calls, terms.keep, shortlist, stages, beyond=terms.beyond)

    def _tuned(self, group: FleetGroup, search: GroupSearch, coarse: GroupSearch, sampled: GroupSearch) -> TunedGroup:
        return TunedGroup.of(group, search, coarse, sampled, beyond=self._terms.beyond)

    def _run(self, search: GroupSearch, group: FleetGroup, until: float, text: str) -> None:
        """Continue a search to its end or the time limit."""
        if self._pool.ended and not self._bases_of(group):
            return
        paths = [session.path for session in group.sessions]
        for plans in search.rounds():
            found = 0
            doing = f"trying {IN_TEXT.plural(len(plans), 'plan')} on {IN_TEXT.plural(len(paths), 'session')}{text}"
            with self._pool.progress(doing) as advance:
                for plan, trials in self._pool.tried(plans, paths, self._terms, until, advance):
                    search.add(plan, trials)
                    found += 1
            if found < len(plans):
                return

    def _bases_of(self, group: FleetGroup) -> tuple[Plan, ...]:
        """Return the plans with limits to tune, fitted to the sessions; empty if the work ended early."""
        if self._plans:
            return self._plans
        path = group.typical.path
        if not self._bases.get(path):
            self._bases[path] = self._pool.bases(path)
        return self._bases[path]


def _calls(group: FleetGroup) -> list[int]:
    return [session.calls for session in group.sessions]


class Tuned(NamedTuple):
    """Result of tuning.

    Attributes:
        groups: The result of each group; empty for compaction thresholds.
        ended: Reason for an early end; empty if all work was done.
        missing: A sentence on sessions that were not read; empty if there are none.
    """

    report: TuneReport
    groups: Sequence[TunedGroup] = ()
    ended: str = ""
    missing: str = ""


def tune(
    paths: Sequence[Path],
    sizes: Mapping[Path, int],
    terms: SessionTerms,
    asked: TuningTerms,
    seconds: float,
    execution: Execution | None = None,
    results: ResultCache | None = None,
    progress: Progress = no_progress,
    *,
    target: str = "",
) -> Tuned:
    """Find the best plan of every group of sessions.

    Args:
        sizes: The sessions with their file sizes in bytes.
        terms: Prices, cache, and the plans with limits to tune; none for every strategy and built-in plan.
        seconds: Time limit of the search, which begins after all sessions are read.
        target: System whose configuration is part of the report; empty for none.

    Raises:
        FleetError: No session can be read, or the executor is not available.
    """
    permitted = TrialTerms(frozenset(asked.keep), asked.may_forget, asked.beyond)
    with (execution or Execution()).executor(len(sizes)) as executor:
        pool = _pool(sizes, terms, executor, results, progress)
        sessions, problems = _read_sessions(pool)
        unseen = len(sizes) - len(sessions) - len(problems)
        plans = [request.for_session(None) for request in terms.plans]
        # The time limit is for the search; sessions without trials would be useless.
        ends = time.monotonic() + seconds
        search = SharedSearch(pool, constraints_of(asked), permitted, plans)
        tuned = search.tuned(grouped(_useful(sessions)), ends, problems)
        ended = executor.ended
    why = ended or "the time limit of --minutes"
    cut_short = f"the search ended early ({why}): there may be a better plan"
    note = missing(unseen, len(sizes), ended) if unseen else ""
    warnings = [
        *([note] if note else []),
        *_left_out_warnings(sessions),
        *([] if all(each.is_complete for each in tuned) else [cut_short]),
    ]
    report = tune_report([shown_path(path) for path in paths], asked, tuned, _unread(problems), warnings, target)
    return Tuned(report, tuned, ended, note)


def tune_compaction(
    paths: Sequence[Path],
    sizes: Mapping[Path, int],
    terms: SessionTerms,
    execution: Execution | None = None,
    results: ResultCache | None = None,
    progress: Progress = no_progress,
    *,
    configured: int | None = None,
    target: str = "",
    model_uncertainty: bool = False,
) -> Tuned:
    """Find the best compaction threshold of every group of sessions.

    Args:
        paths: The requested folders and sessions, for the report.
        sizes: The sessions with their file sizes in bytes.
        configured: The configured threshold in tokens, compared with the observed one.
        target: System whose configuration is part of the report; empty for none.
        model_uncertainty: Widen the range of savings by the turns measured in public experiments.

    Raises:
        EndedEarlyError: The work ended without a result.
        FleetError: No session can be read, or the executor is not available.
    """
    asked = TuningTerms(
        max_needed=None,
        max_risk=None,
        budget_calls=None,
        keep=[],
        may_forget=False,
        model_uncertainty=model_uncertainty,
    )
    found: list[CompactionGroup] = []
    unseen = len(sizes)
    with (execution or Execution()).executor(len(sizes)) as executor:
        pool = _pool(sizes, terms, executor, results, progress)
        sessions, problems = _read_sessions(pool)
        unseen -= len(sessions) + len(problems)
        work = partial(_compaction_group, pool, configured, target, model_uncertainty=model_uncertainty)
        for group in grouped(_useful(sessions)):
            reported = retry_without_lost(group, problems, work)
            if reported is not None:
                found.append(reported)
            elif executor.ended:
                unseen += sum(session.path not in problems for session in group.sessions)
        ended = executor.ended if unseen else ""
    note = missing(unseen, len(sizes), ended) if ended else ""
    if note and not found:
        raise EndedEarlyError(note)
    warnings = [*([note] if note else []), *_left_out_warnings(sessions)]
    shown = [shown_path(path) for path in paths]
    report = tune_report(shown, asked, [], _unread(problems), warnings, compaction=found)
    return Tuned(report, (), ended, note)


def _pool(
    sizes: Mapping[Path, int],
    terms: SessionTerms,
    executor: SessionExecutor,
    results: ResultCache | None,
    progress: Progress,
) -> TuningPool:
    results = results or ResultCache(is_on=False)
    return TuningPool(sizes, replace(terms, is_kept=results.is_on), executor, results, progress)


def _read_sessions(pool: TuningPool) -> tuple[list[FleetSession], dict[Path, str]]:
    """Return the readable sessions, and the problems of the others; raise `FleetError` if none is readable."""
    sessions, problems = pool.read()
    if not sessions and problems:
        raise FleetError(next(iter(problems.values())))
    return sessions, problems


def _useful(sessions: Sequence[FleetSession]) -> list[FleetSession]:
    return [session for session in sessions if session.calls and not math.isnan(session.cost)]


def _unread(problems: Mapping[Path, str]) -> list[UnreadSession]:
    return [UnreadSession(path=shown_path(path), problem=shown_name(why)) for path, why in problems.items()]


def _compaction_group(
    pool: TuningPool, configured: int | None, target: str, group: FleetGroup, *, model_uncertainty: bool
) -> CompactionGroup | None:
    """Report on one group; None if the work ended before that."""
    paths, calls = [session.path for session in group.sessions], _calls(group)
    sessions = pool.compacted(paths)
    if not sessions:
        return None
    terms = compaction_terms(sessions)
    thresholds = thresholds_to_try(sessions, terms) if terms is not None and has_enough_data(sessions, calls) else ()
    costs = pool.threshold_costs(paths, (AS_RECORDED, *thresholds), terms) if terms is not None and thresholds else ()
    if thresholds and not costs:
        return None
    return compaction_group(
        group,
        group_name(group.agent, group.models, len(group.sessions)),
        agent_name(group.agent),
        sessions,
        choose_threshold(sessions, calls, thresholds, costs),
        configured=configured,
        target=target,
        model_uncertainty=model_uncertainty,
    )
