"""`inspector report FOLDER`: many sessions, each replayed in a process of a pool."""

from __future__ import annotations

import os
from concurrent.futures import as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from inspector.cli.exit_codes import CommandError, ExitCode
from inspector.cli.output import ProgressLine
from inspector.cli.plans import plan_of
from inspector.cli.process_pool import SessionTask, process_pool
from inspector.cli.reading import priced_inputs, read_session
from inspector.replay.engine.replay import replay
from inspector.report.folder import SessionRow, UnreadSession, folder_report, session_row
from inspector.report.options import ReportOptions
from inspector.report.path_redaction import shown_name, shown_path
from inspector.report.session_report import report_of
from inspector.session.discovery import describe_folder, found_in
from inspector.session.duplicate_calls import call_keys, counted_elsewhere, counted_here, without_calls
from inspector.strategies.plan import Plan

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Sequence
    from concurrent.futures import ProcessPoolExecutor
    from pathlib import Path

    from inspector.report.folder import FolderReport

OF_ONE_SESSION = ("ledger", "compare", "explain", "include_text", "next_calls", "runs_per_day")
"""Options that ask for something only the report on one session has."""


@dataclass(frozen=True, slots=True)
class Done:
    """What became of it.

    Attributes:
        row: Its line in the report, as JSON; empty where it could not be read.
        problem: Why it could not.
        ended: When its last call was made, seconds since the epoch.
        keys: What tells its calls from others.
    """

    row: bytes = b""
    problem: str = ""
    ended: float = 0.0
    keys: Sequence[bytes] = ()


def report_on_folder(options: Namespace) -> FolderReport:
    """Replay every session of a folder under every plan that was asked for.

    Raises:
        CommandError: The folder holds no session, or an option makes no sense for many.
    """
    for name in OF_ONE_SESSION:
        if getattr(options, name):
            option = f"--{name.replace('_', '-')}"
            message = f"{option} is for one session; {options.path} is a folder of them"
            raise CommandError(message, ExitCode.WRONG_USAGE)
    found = list(found_in(options.path))
    paths = [header.path for header in found]
    if all(header.problem for header in found):
        raise CommandError(describe_folder(options.path))
    names = [_name(options, index) for index in range(len(options.plans))]
    rows, unread = _reported(paths, options)
    return folder_report(shown_path(options.path), names, rows, unread, model_uncertainty=options.model_uncertainty)


def _name(options: Namespace, index: int) -> str:
    request = options.plans[index]
    plan = plan_of(request)
    return request.spec or plan.name or " + ".join(plan.to_specs())


def _reported(paths: Sequence[Path], options: Namespace) -> tuple[list[SessionRow], list[UnreadSession]]:
    pool = process_pool(min(len(paths), os.cpu_count() or 1))
    with ProgressLine("replaying sessions") as progress, pool:
        try:
            done = _run(pool, [SessionTask(path, options) for path in paths], progress)
            read = [path for path in paths if done[path].row]
            elsewhere = counted_elsewhere([(done[path].ended, done[path].keys) for path in read])
            again = [SessionTask(path, options, keys) for path, keys in zip(read, elsewhere, strict=True) if keys]
            done |= _run(pool, again, progress)
        except BrokenProcessPool:
            raise CommandError("a process ended in the middle of its session; is there too little memory?") from None
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
    rows = [msgspec.json.decode(one.row, type=SessionRow) for one in done.values() if one.row]
    unread = [UnreadSession(path=shown_path(path), problem=one.problem) for path, one in done.items() if not one.row]
    return rows, unread


def _run(pool: ProcessPoolExecutor, tasks: Sequence[SessionTask], progress: ProgressLine) -> dict[Path, Done]:
    running = {pool.submit(_done, task): task.path for task in tasks}
    found = {}
    for count, future in enumerate(as_completed(running), 1):
        found[running[future]] = future.result()
        progress(count, len(tasks))
    return found


def _done(task: SessionTask) -> Done:
    """A session replayed, or why it could not be."""
    try:
        whole = read_session(task.path)
        session = without_calls(counted_here(whole), task.elsewhere)
        plans = [plan_of(request, session) for request in task.options.plans]
        inputs = priced_inputs(session, task.options)
        report = report_of(inputs, plans, ReportOptions(details=False))
        # Why a call missed the cache may stand in what counts with another session.
        baseline = replay(inputs if session is whole else priced_inputs(whole, task.options), Plan())
        row = session_row(report, baseline, {call.response for call in session.calls})
    except CommandError as error:
        return Done(problem=shown_name(error.message))
    ended = max((call.time for call in session.calls if call.time is not None), default=0.0)
    return Done(msgspec.json.encode(row), "", ended, call_keys(session))
