"""Search for the best plan, or the best compaction threshold, of every group of sessions."""

from __future__ import annotations

import math
import time
from collections import OrderedDict
from dataclasses import dataclass, replace
from functools import partial
from hashlib import blake2b
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

import msgspec

from inspector.cli.exit_codes import CommandError, ExitCode
from inspector.cli.fleet import executor_of, missing
from inspector.cli.output import ProgressLine, narrate
from inspector.cli.reading import read_session
from inspector.errors import InspectorError
from inspector.fleet.executors import ENDED, Job, JobLost
from inspector.fleet.result_cache import is_unchanged, number, source_of
from inspector.fleet.session_tasks import SessionTask, SessionTerms
from inspector.replay.figure import HowKnown
from inspector.replay.tuning.choice import has_enough
from inspector.replay.tuning.compaction_choice import (
    choose_threshold,
    compaction_terms,
    has_enough_data,
    thresholds_to_try,
)
from inspector.replay.tuning.compaction_costs import AS_RECORDED, compacted_session, threshold_costs
from inspector.replay.tuning.fleet import FleetSession, TunedGroup, grouped
from inspector.replay.tuning.search import CHOICE, COARSE, FIRST, SEARCH, GroupSearch, Stage
from inspector.replay.tuning.trial import PreparedSession, Trial
from inspector.report.compaction_tuning import CompactionGroup, compaction_group
from inspector.report.folder import UnreadSession
from inspector.report.numbers import IN_TEXT
from inspector.report.path_redaction import shown_name, shown_path
from inspector.report.tuning import TuneReport, TuningTerms, agent_name, group_name, tune_report
from inspector.session.duplicate_calls import billed_keys, calls_counted_elsewhere, without_calls, without_copied_calls
from inspector.strategies.plan import Plan, PlanError

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from inspector.fleet.executors import SessionExecutor
    from inspector.fleet.result_cache import ResultCache, ResultInputs
    from inspector.replay.tuning.compaction_costs import CompactedSession, CompactionTerms, ThresholdCosts
    from inspector.replay.tuning.fleet import FleetGroup
    from inspector.replay.tuning.trial import TrialTerms
    from inspector.replay.tuning.trial_table import Constraints


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


PART: Final = 0.7
"""Share of a group's time for the search on a sample of its sessions; the rest is for trying the results on all."""


class SharedSearch:
    """Search for the plans of many groups."""

    def __init__(self, pool: TuningPool, constraints: Constraints, terms: TrialTerms, plans: Sequence[Plan]) -> None:
        """Prepare the search.

        Args:
            pool: Tries plans on sessions.
            constraints: Limits on plans.
            terms: Permitted effects of plans.
            plans: The plans with limits to tune; empty for every strategy and built-in plan.
        """
        self._pool = pool
        self._constraints = constraints
        self._terms = terms
        self._plans = tuple(plans)
        self._bases: dict[Path, tuple[Plan, ...]] = {}

    def tuned(self, groups: Sequence[FleetGroup], until: float, problems: dict[Path, str]) -> list[TunedGroup]:
        """Search for every group's plan.

        Args:
            groups: The groups.
            until: Time limit on the monotonic clock.
            problems: Problems by session; sessions that can no longer be processed are added.

        Returns:
            The result of each in order, without groups that have no sessions left.
        """
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
            with ProgressLine(doing, estimates=True) as progress:
                for plan, trials in self._pool.tried(plans, paths, self._terms, until, progress):
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


def compaction_report(sizes: dict[Path, int], options: Namespace, results: ResultCache) -> tuple[TuneReport, bool]:
    """Try thresholds on sessions.

    Args:
        sizes: The sessions with their file sizes in bytes.
        options: Parsed options.
        results: Cache of results.

    Returns:
        The report, and True if the work ended before thresholds were tried on all sessions.

    Raises:
        CommandError: No session can be read, or the work ended without a result.
    """
    asked = TuningTerms(
        max_needed=None,
        max_risk=None,
        budget_calls=None,
        keep=[],
        may_forget=False,
        model_uncertainty=options.model_uncertainty,
    )
    found: list[CompactionGroup] = []
    unseen = len(sizes)
    with executor_of(options, len(sizes)) as executor:
        pool = TuningPool(sizes, SessionTerms.of(options), executor, results)
        sessions, problems = pool.read()
        if not sessions and problems:
            raise CommandError(next(iter(problems.values())))
        useful = [session for session in sessions if session.calls and not math.isnan(session.cost)]
        unseen -= len(sessions) + len(problems)
        for group in grouped(useful):
            reported = retry_without_lost(group, problems, partial(_group, pool, options))
            if reported is not None:
                found.append(reported)
            elif executor.ended:
                unseen += sum(session.path not in problems for session in group.sessions)
        ended = executor.ended if unseen else ""
    warnings = left_out_warnings(sessions)
    if ended:
        warnings.insert(0, missing(unseen, len(sizes), ended))
        if not found:
            raise CommandError(warnings[0], ExitCode.INTERRUPTED)
        narrate(warnings[0])
    unread = [UnreadSession(path=shown_path(path), problem=shown_name(why)) for path, why in problems.items()]
    paths = [shown_path(path) for path in options.paths]
    return tune_report(paths, asked, [], unread, warnings, compaction=found), bool(ended)


def _group(pool: TuningPool, options: Namespace, group: FleetGroup) -> CompactionGroup | None:
    """Report on one group; None if the work ended before that."""
    paths, calls = [session.path for session in group.sessions], [session.calls for session in group.sessions]
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
        configured=options.configured,
        target=options.export or "",
        model_uncertainty=options.model_uncertainty,
    )
