"""`inspector report FOLDER`: a replay of many sessions in parallel."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import msgspec

from inspector.cli.executors import Job, JobLost
from inspector.cli.exit_codes import CommandError, ExitCode
from inspector.cli.fleet import executor_of, kept_results, missing
from inspector.cli.output import ProgressLine
from inspector.cli.plans import plan_of
from inspector.cli.reading import read_session
from inspector.cli.result_cache import source_of
from inspector.cli.session_tasks import SessionTask, SessionTerms
from inspector.replay.engine.recorded_calls import is_reported_in_full
from inspector.replay.engine.replay import replay
from inspector.report.folder import SessionRow, UnreadSession, folder_report, session_row
from inspector.report.options import ReportOptions
from inspector.report.path_redaction import shown_name, shown_path
from inspector.report.session_report import report_of
from inspector.session.discovery import describe_folder, found_in
from inspector.session.duplicate_calls import billed_keys, calls_counted_elsewhere, without_calls, without_copied_calls
from inspector.strategies.plan import Plan

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Sequence
    from pathlib import Path

    from inspector.cli.executors import SessionExecutor
    from inspector.cli.result_cache import ResultCache, ResultInputs
    from inspector.report.folder import FolderReport
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
