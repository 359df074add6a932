"""Reports on many sessions: a folder, and sessions before and after a change."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import msgspec

from inspector.cli.exit_codes import CommandError, ExitCode
from inspector.cli.fleet import executor_of, kept_results, missing
from inspector.cli.output import ProgressLine, narrate
from inspector.cli.plans import plan_of
from inspector.cli.reading import parse_billing_terms, pricing_of, read_session
from inspector.cli.resolve_paths import is_list
from inspector.fleet.executors import Job, JobLost
from inspector.fleet.result_cache import source_of
from inspector.fleet.session_tasks import SessionTask, SessionTerms
from inspector.replay.engine.recorded_calls import is_reported_in_full
from inspector.replay.engine.replay import replay
from inspector.report.before_after import before_after_report
from inspector.report.folder import SessionRow, UnreadSession, folder_report, session_row
from inspector.report.ledger_facts import utc_time
from inspector.report.numbers import IN_TEXT
from inspector.report.options import ReportOptions
from inspector.report.path_redaction import shown_name, shown_path
from inspector.report.session_report import report_of
from inspector.report.set_session import SetSession, began, set_session
from inspector.session.discovery import describe_folder, found_in
from inspector.session.duplicate_calls import billed_keys, calls_counted_elsewhere, without_calls, without_copied_calls
from inspector.session.files import Locator
from inspector.strategies.plan import Plan

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from inspector.fleet.executors import SessionExecutor
    from inspector.fleet.result_cache import ResultCache, ResultInputs
    from inspector.report.before_after import BeforeAfterReport
    from inspector.report.folder import FolderReport
    from inspector.report.set_session import SetName
    from inspector.session.discovery import Header


SINGLE_SESSION_OPTIONS = ("ledger", "compare", "explain", "include_text", "next_calls", "runs_per_day")
"""Options that only the report on one session supports."""


@dataclass(frozen=True, slots=True)
class ReplayedSession:
    """Result of one session.

    Attributes:
        row: Its row in the report, as JSON; empty if it could not be read.
        problem: The reason if it could not be read.
        ended: Time of its last call, seconds since the epoch; infinity for a subagent, so that its parent counts calls
            that are in both.
        keys: Identifiers of its calls.
        source: The inputs of the result; None if it must not be cached.
    """

    row: bytes = b""
    problem: str = ""
    ended: float = 0.0
    keys: Sequence[bytes] = ()
    source: ResultInputs | None = None

    def written(self) -> bytes:
        """Serialize the result of a readable session."""
        return msgspec.msgpack.encode((self.row, self.ended, self.keys))

    @classmethod
    def read(cls, written: bytes) -> ReplayedSession | None:
        """Deserialize a result; None for invalid data."""
        try:
            row, ended, keys = msgspec.msgpack.decode(written, type=tuple[bytes, float, list[bytes]])
        except msgspec.MsgspecError:
            return None
        return cls(row, "", ended, keys)


def report_on_folder(options: Namespace) -> tuple[FolderReport, bool]:
    """Replay every session of a folder under every requested plan.

    Returns:
        The report, and True if the work ended before all sessions were replayed.

    Raises:
        CommandError: The folder holds no session, or an option does not apply to many sessions.
    """
    for name in SINGLE_SESSION_OPTIONS:
        if getattr(options, name):
            option = f"--{name.replace('_', '-')}"
            message = f"{option} is for a single session; {options.path} is a folder of sessions"
            raise CommandError(message, ExitCode.WRONG_USAGE)
    results = kept_results(options)
    terms = replace(SessionTerms.of(options), is_kept=results.is_on)
    known = results.sniffed_files(options.path)
    before = len(known)
    found = list(found_in(options.path, known, with_subagents=True))
    results.store_sniffed_files(options.path, known, before)
    if all(header.problem for header in found):
        raise CommandError(describe_folder(options.path))
    names = [_name(options, index) for index in range(len(options.plans))]
    with executor_of(options, len(found), sum(header.size for header in found)) as executor:
        replays = _Replays(found, terms, executor, results)
        replays.run()
    results.close()
    done = replays.done
    ended = executor.ended if len(done) < len(found) else ""
    rows = [msgspec.json.decode(one.row, type=SessionRow) for one in done.values() if one.row]
    unread = [UnreadSession(path=shown_path(path), problem=one.problem) for path, one in done.items() if not one.row]
    notes = [missing(len(found) - len(done), len(found), ended)] if ended else []
    report = folder_report(
        shown_path(options.path), names, rows, unread, notes, model_uncertainty=options.model_uncertainty
    )
    return report, bool(ended)


def _name(options: Namespace, index: int) -> str:
    request = options.plans[index]
    plan = plan_of(request)
    return request.spec or plan.name or " + ".join(plan.to_specs())


class _Replays:
    """Replay of a folder's sessions."""

    def __init__(
        self, found: Sequence[Header], terms: SessionTerms, executor: SessionExecutor, results: ResultCache
    ) -> None:
        self._sizes = {header.path: header.size for header in found}
        self._formats = {header.path: header.format for header in found}
        self._terms, self._executor, self._results = terms, executor, results
        self.done: dict[Path, ReplayedSession] = {}

    def run(self) -> None:
        """Replay all sessions. A call in several sessions is counted for the session that ended first."""
        with ProgressLine("replaying sessions", estimates=True) as progress:
            # Largest first, so that none of them delays the end.
            order = sorted(self._sizes, key=lambda path: -self._sizes[path])
            tasks = {path: SessionTask(path, self._terms, format=self._formats[path]) for path in order}
            self._replay([*tasks.values()], progress)
            read = [path for path in order if path in self.done and self.done[path].row]
            elsewhere = calls_counted_elsewhere([(self.done[path].ended, self.done[path].keys) for path in read])
            again = [replace(tasks[path], elsewhere=keys) for path, keys in zip(read, elsewhere, strict=True) if keys]
            for task in again:
                del self.done[task.path]
            self._replay(again, progress)

    def _replay(self, tasks: Sequence[SessionTask], progress: ProgressLine) -> None:
        total = sum(self._sizes[task.path] + 1 for task in tasks)
        behind = 0
        jobs, keys = [], []
        for task in tasks:
            key = task.key("report")
            kept = self._results.kept(task.path, key)
            done = None if kept is None else ReplayedSession.read(kept)
            if done is None:
                jobs.append(Job(task.path, replayed, (task,)))
                keys.append(key)
                continue
            self.done[task.path] = done
            behind += self._sizes[task.path] + 1
            progress(behind, total)
        for index, outcome in self._executor.finished(jobs):
            path = jobs[index].path
            if isinstance(outcome, JobLost):
                outcome = ReplayedSession(problem=f"{shown_path(path)}: {outcome.problem}")
            self._results.keep(path, keys[index], outcome.written(), outcome.source)
            self.done[path] = outcome
            behind += self._sizes[path] + 1
            progress(behind, total)


def replayed(task: SessionTask) -> ReplayedSession:
    """Replay a session, or return the reason why not. Tokens are only counted if a figure needs them."""
    began = time.time_ns()
    try:
        whole = read_session(task.path, known=task.format, keeps_texts=True)
        session = without_calls(without_copied_calls(whole), task.elsewhere)
        plans = [plan_of(request, session) for request in task.terms.plans]
        terms = task.terms
        is_counted = bool(terms.plans) or terms.cache is not None or not is_reported_in_full(whole)
        of_whole = task.inputs(whole, is_counted=is_counted)
        inputs = task.inputs_without_copies(of_whole, session)
        report = report_of(inputs, plans, ReportOptions(details=False))
        # The cause of a cache miss may be in calls counted for another session.
        baseline = replay(of_whole, Plan())
        row = session_row(report, baseline, {call.response for call in session.calls})
    except CommandError as error:
        return ReplayedSession(problem=shown_name(error.message))
    times = (call.time for call in session.calls if call.time is not None)
    ended = math.inf if row.parent is not None else max(times, default=0.0)
    source = source_of(whole, began, task.terms.pricing.today) if task.terms.is_kept else None
    return ReplayedSession(msgspec.json.encode(row), "", ended, billed_keys(session), source)


EFFECT = 0.1
"""Default size of difference to detect, as a share of before."""

NO_TIME = "has no times: unknown whether it is before or after the date"
NO_CALL = "no call to a model"
COPIED = "copied from another session: every call is counted for that one"


@dataclass(frozen=True, slots=True)
class _Read:
    """Result of reading a session.

    Attributes:
        row: Its figures, as JSON; empty if it could not be read.
        problem: The reason if it could not be read.
        calls: Number of calls counted for it.
        copied: Number of calls counted for the session that it continues.
        began: Start, seconds since the epoch; None if unknown.
        ended: Time of its last call, seconds since the epoch.
        keys: Identifiers of its calls.
    """

    row: bytes = b""
    problem: str = ""
    calls: int = 0
    copied: int = 0
    began: float | None = None
    ended: float = 0.0
    keys: Sequence[bytes] = ()


def compare_sets(options: Namespace) -> tuple[BeforeAfterReport, bool]:
    """Read both sets and compare them.

    Returns:
        The report, and True if the work ended before all sessions were read.

    Raises:
        CommandError: The paths contain no session, or no readable one.
    """
    named, doubly = _named(options)
    found, ended = _read_all(list(named), options)
    if not found:
        raise CommandError(missing(len(named), len(named), ended), ExitCode.INTERRUPTED)
    unread = [UnreadSession(path=shown_path(path), problem=one.problem) for path, one in found.items() if not one.row]
    if len(unread) == len(found):
        raise CommandError(unread[0].problem)
    sessions, left_out, copied = [], [], 0
    for path, one in found.items():
        if not one.row:
            continue
        name = named[path] if options.at is None else _side(one, options.at)
        copied += one.copied
        if not one.calls or name is None:
            why = (COPIED if one.copied else NO_CALL) if not one.calls else NO_TIME
            left_out.append(UnreadSession(path=shown_path(path), problem=why))
        else:
            row = msgspec.json.decode(one.row, type=SetSession)
            sessions.append(msgspec.structs.replace(row, set=name))
    parts = (
        (doubly, "in both sets: each is counted once, in the set with the more specific path"),
        (len(left_out), "left out; see the list for reasons"),
    )
    warnings = [f"{IN_TEXT.plural(count, 'session')} {what}" for count, what in parts if count]
    if ended:
        warnings.append(missing(len(named) - len(found), len(named), ended))
        narrate(warnings[-1])
    if copied:
        warnings.append(f"{IN_TEXT.plural(copied, 'call')} copied from another session, only counted for that one")
    paths = (options.before, options.after) if options.at is None else ([options.path], [options.path])
    report = before_after_report(
        sessions,
        paths=([shown_path(path) for path in paths[0]], [shown_path(path) for path in paths[1]]),
        at="" if options.at is None else utc_time(options.at),
        effect=EFFECT if options.effect is None else options.effect,
        left_out=left_out,
        unread=unread,
        warnings=warnings,
    )
    return report, bool(ended)


def _side(one: _Read, at: float) -> SetName | None:
    """Return the set a session belongs to by its start; None if unknown."""
    if one.began is None:
        return None
    return "before" if one.began < at else "after"


def _named(options: Namespace) -> tuple[dict[Path, SetName], int]:
    """Return the sessions in an order independent of the sets, and the number of sessions named by both sets.

    A session named by both belongs to the more specific path: its own, or the deeper folder. With a dividing date the
    set returned here has no meaning.
    """
    asked: list[tuple[SetName, Path]] = [("before", path) for path in options.before]
    asked += [("after", path) for path in options.after]
    if options.at is not None:
        asked = [("before", options.path)]
    found: dict[Path, tuple[int, SetName, Path]] = {}
    doubly = set()
    for name, place in asked:
        for path in _sessions_at(place):
            locator = Locator.of(path)
            key = Locator(locator.file.resolve(), locator.session).path
            depth = len(place.resolve().parts)
            if key in found and found[key][1] != name:
                doubly.add(key)
            if key not in found or depth > found[key][0]:
                found[key] = (depth, name, path)
    return {path: name for _, (_, name, path) in sorted(found.items())}, len(doubly)


def _sessions_at(place: Path) -> list[Path]:
    if not is_list(place):
        return [place]
    headers = list(found_in(place))
    if all(header.problem for header in headers):
        raise CommandError(describe_folder(place))
    return [header.path for header in headers]


def _read_all(paths: Sequence[Path], options: Namespace) -> tuple[dict[Path, _Read], str]:
    """Read every session with the calls that no other session counts; return the reason if the work ended early."""
    asked = parse_billing_terms(options)
    terms = SessionTerms(pricing_of(asked, options.price_file), asked.cache, asked.window)
    executor = executor_of(options, len(paths), sum(map(_size, paths)))
    with ProgressLine("reading sessions", estimates=True) as progress, executor:
        done = _run(executor, [SessionTask(path, terms) for path in paths], progress)
        read = [path for path in paths if path in done and done[path].row]
        elsewhere = calls_counted_elsewhere([(done[path].ended, done[path].keys) for path in read])
        again = [SessionTask(path, terms, keys) for path, keys in zip(read, elsewhere, strict=True) if keys]
        for task in again:
            del done[task.path]
        done |= _run(executor, again, progress)
    return {path: done[path] for path in paths if path in done}, executor.ended if len(done) < len(paths) else ""


def _size(path: Path) -> float:
    """Return the bytes of a session's file; infinity for a folder, or if unknown."""
    file = Locator.of(path).file
    try:
        return file.stat().st_size if file.is_file() else math.inf
    except OSError:
        return math.inf


def _run(executor: SessionExecutor, tasks: Sequence[SessionTask], progress: ProgressLine) -> dict[Path, _Read]:
    found = {}
    for count, (index, outcome) in enumerate(executor.finished([Job(each.path, _read, (each,)) for each in tasks]), 1):
        path = tasks[index].path
        if isinstance(outcome, JobLost):
            outcome = _Read(problem=f"{shown_path(path)}: {outcome.problem}")
        found[path] = outcome
        progress(count, len(tasks))
    return found


def _read(task: SessionTask) -> _Read:
    """Return a session's figures, or the reason why there are none."""
    try:
        every = read_session(task.path)
        session = without_calls(without_copied_calls(every), task.elsewhere)
        of_whole = task.inputs(every)
        inputs = task.inputs_without_copies(of_whole, session)
        baseline = replay(inputs, Plan())
        # The cause of a cache miss may be in calls counted for another session.
        whole = baseline if session is every else replay(of_whole, Plan())
    except CommandError as error:
        return _Read(problem=shown_name(error.message))
    return _Read(
        msgspec.json.encode(set_session(task.path, baseline, whole)),
        calls=len(session.calls),
        copied=len(every.calls) - len(session.calls),
        began=began(baseline, whole),
        ended=max(_times(call.time for call in session.calls), default=0.0),
        keys=billed_keys(session),
    )


def _times(times: Iterable[float | None]) -> list[float]:
    return [time for time in times if time is not None]
