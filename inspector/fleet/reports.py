"""Reports on many sessions: a folder, and sessions before and after a change."""

from __future__ import annotations

import math
import time
from dataclasses import replace
from typing import TYPE_CHECKING

import msgspec

from inspector.errors import SessionError
from inspector.fleet.executors import EndedEarlyError, Execution, FleetError, missing, no_progress
from inspector.fleet.result_cache import ResultCache, source_of
from inspector.fleet.session_tasks import PlanRequest, SessionResult, SessionTask, SessionTerms, SessionWork
from inspector.replay.engine.recorded_calls import has_all_prompts, is_reported_in_full
from inspector.replay.engine.replay import replay
from inspector.replay.quantity import utc_time
from inspector.replay.sessions import SubagentReader
from inspector.report.before_after import SetSession, before_after_report, began, set_session
from inspector.report.folder import FolderReport, SessionRow, UnreadSession, folder_report, session_row
from inspector.report.numbers import IN_TEXT
from inspector.report.secret_redaction import shown_name, shown_path
from inspector.session.discovery import describe_folder, found_in, is_session_list
from inspector.session.files import Locator
from inspector.session.related import billed_keys, without_calls, without_copied_calls
from inspector.strategies.plan import THEN, Plan, PlanError
from inspector.tokens.counter import shared_counter

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from inspector.fleet.executors import Progress
    from inspector.report.before_after import BeforeAfterReport, SetName


def report_on_folder(
    folder: Path,
    terms: SessionTerms,
    execution: Execution | None = None,
    results: ResultCache | None = None,
    progress: Progress = no_progress,
    *,
    model_uncertainty: bool = False,
) -> tuple[FolderReport, str]:
    """Replay every session of a folder under every requested plan.

    Args:
        model_uncertainty: Widen the range of savings by the turns measured in public experiments.

    Returns:
        The report, and a sentence on missing sessions if the work ended before all were replayed, otherwise empty.

    Raises:
        FleetError: The folder holds no session, or the executor is not available.
    """
    execution, results = execution or Execution(), results or ResultCache(is_on=False)
    terms = replace(terms, is_kept=results.is_on)
    known = results.sniffed_files(folder)
    before = len(known)
    found = list(found_in(folder, known, with_subagents=True))
    results.store_sniffed_files(folder, known, before)
    if all(header.problem for header in found):
        raise FleetError(describe_folder(folder))
    names = [_plan_name(request) for request in terms.plans]
    # Largest first, so that none of them delays the end.
    found.sort(key=lambda header: -header.size)
    tasks = {header.path: SessionTask(header.path, terms, format=header.format) for header in found}
    sizes = {header.path: header.size for header in found}
    size = sum(header.size for header in found)
    if terms.is_as_recorded and not terms.exact:
        size //= AS_RECORDED_SPEED
    with execution.executor(len(found), size) as executor:
        work = SessionWork(executor, replayed, results, "report", sizes)
        with progress("replaying sessions") as advance:
            done = {path: result for path, (_, result) in work.run([*tasks.values()], advance).items()}
    results.close()
    ended = executor.ended if len(done) < len(found) else ""
    rows = [msgspec.json.decode(one.value, type=SessionRow) for one in done.values() if one.value]
    unread = _unread(done)
    notes = [missing(len(found) - len(done), len(found), ended)] if ended else []
    report = folder_report(shown_path(folder), names, rows, unread, notes, model_uncertainty=model_uncertainty)
    return report, "".join(notes)


AS_RECORDED_SPEED = 20
"""Multiple of bytes for which this process is faster than several if nothing is cut and, mostly, nothing is counted."""


def _plan_name(request: PlanRequest) -> str:
    plan = request.for_session(None)
    return request.spec or plan.name or THEN.join(plan.to_specs())


def _unread(done: dict[Path, SessionResult]) -> list[UnreadSession]:
    return [UnreadSession(path=shown_path(path), problem=one.problem) for path, one in done.items() if not one.value]


def replayed(task: SessionTask) -> SessionResult:
    """Replay a session, or return the reason why not. Tokens are only counted if a figure needs them.

    Without plans, placeholders of responses are estimated from characters unless `SessionTerms.exact` is set.
    """
    began = time.time_ns()
    try:
        whole = task.read(keeps_texts=not task.terms.is_as_recorded)
        session = without_calls(without_copied_calls(whole), task.elsewhere)
        plans = [request.for_session(session) for request in task.terms.plans]
    except (SessionError, PlanError) as error:
        return SessionResult(problem=shown_name(error.message))
    terms = task.terms
    is_known = has_all_prompts(whole) and (not terms.exact or is_reported_in_full(whole))
    of_whole = task.inputs(whole, is_counted=not (terms.is_as_recorded and is_known))
    baseline = replay(task.inputs_without_copies(of_whole, session), Plan())
    # The cause of a cache miss may be in calls counted for another session.
    row = session_row(baseline, plans, baseline if session is whole else replay(of_whole, Plan()))
    ended = math.inf if row.parent is not None else _last(call.time for call in session.calls)
    source = source_of(whole, began, terms.pricing.today) if terms.is_kept else None
    return SessionResult(msgspec.json.encode(row), "", ended, billed_keys(session), source)


def _last(times: Iterable[float | None]) -> float:
    return max((time for time in times if time is not None), default=0.0)


EFFECT = 0.1
"""Default size of difference to detect, as a share of before."""

NO_TIME = "has no times: unknown whether it is before or after the date"
NO_CALL = "no call to a model"
COPIED = "copied from another session: every call is counted for that one"

_InSet = tuple[SetSession, int, int, float | None]
"""A session's figures, the number of its calls, the number of calls counted for the session that it continues, and its
start in seconds since the epoch, None if unknown."""


def compare_sets(
    before: Sequence[Path],
    after: Sequence[Path],
    at: float | None,
    terms: SessionTerms,
    execution: Execution | None = None,
    progress: Progress = no_progress,
    *,
    effect: float = EFFECT,
) -> tuple[BeforeAfterReport, str]:
    """Read two sets of sessions and compare them.

    Args:
        before: Sessions, and folders of sessions, from before a change.
        after: The same, from after it.
        at: If given, `before` is divided by the start of its sessions, seconds since the epoch; `after` is empty.
        effect: Size of difference to detect, as a share of before.

    Returns:
        The report, and a sentence on missing sessions if the work ended before all were read, otherwise empty.

    Raises:
        EndedEarlyError: The work ended before any session was read.
        FleetError: The paths contain no session, or no readable one, or the executor is not available.
    """
    named, doubly = _named(before, after)
    found, ended = _read_all(list(named), terms, execution or Execution(), progress)
    if not found:
        raise EndedEarlyError(missing(len(named), len(named), ended))
    unread = _unread(found)
    if len(unread) == len(found):
        raise FleetError(unread[0].problem)
    sessions, left_out, copied_calls = [], [], 0
    for path, one in found.items():
        if not one.value:
            continue
        row, calls, copied, start = msgspec.json.decode(one.value, type=_InSet)
        name = named[path] if at is None else _side(start, at)
        copied_calls += copied
        if not calls or name is None:
            why = (COPIED if copied else NO_CALL) if not calls else NO_TIME
            left_out.append(UnreadSession(path=shown_path(path), problem=why))
        else:
            sessions.append(msgspec.structs.replace(row, set=name))
    parts = (
        (doubly, "in both sets: each is counted once, in the set with the more specific path"),
        (len(left_out), "left out; see the list for reasons"),
    )
    warnings = [f"{IN_TEXT.plural(count, 'session')} {what}" for count, what in parts if count]
    note = missing(len(named) - len(found), len(named), ended) if ended else ""
    if note:
        warnings.append(note)
    if copied_calls:
        warnings.append(
            f"{IN_TEXT.plural(copied_calls, 'call')} copied from another session, only counted for that one"
        )
    paths = (before, after if at is None else before)
    report = before_after_report(
        sessions,
        paths=([shown_path(path) for path in paths[0]], [shown_path(path) for path in paths[1]]),
        at="" if at is None else utc_time(at),
        effect=effect,
        left_out=left_out,
        unread=unread,
        warnings=warnings,
    )
    return report, note


def _side(start: float | None, at: float) -> SetName | None:
    """Return the set a session belongs to by its start; None if unknown."""
    if start is None:
        return None
    return "before" if start < at else "after"


def _named(before: Sequence[Path], after: Sequence[Path]) -> tuple[dict[Path, SetName], int]:
    """Return the sessions in an order independent of the sets, and the number of sessions named by both sets.

    A session named by both belongs to the more specific path: its own, or the deeper folder. With a dividing date the
    set returned here has no meaning.
    """
    asked: list[tuple[SetName, Path]] = [("before", path) for path in before]
    asked += [("after", path) for path in after]
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
    if not is_session_list(place):
        return [place]
    headers = list(found_in(place))
    if all(header.problem for header in headers):
        raise FleetError(describe_folder(place))
    return [header.path for header in headers]


def _read_all(
    paths: Sequence[Path], terms: SessionTerms, execution: Execution, progress: Progress
) -> tuple[dict[Path, SessionResult], str]:
    """Read every session with the calls that no other session counts; return the reason if the work ended early."""
    executor = execution.executor(len(paths), sum(map(_size, paths)))
    with progress("reading sessions") as advance, executor:
        work = SessionWork(executor, read_for_set, ResultCache(is_on=False), "set", dict.fromkeys(paths, 0))
        done = work.run([SessionTask(path, terms) for path in paths], advance)
    found = {path: done[path][1] for path in paths if path in done}
    return found, executor.ended if len(found) < len(paths) else ""


def _size(path: Path) -> float:
    """Return the bytes of a session's file; infinity for a folder, or if unknown."""
    file = Locator.of(path).file
    try:
        return file.stat().st_size if file.is_file() else math.inf
    except OSError:
        return math.inf


def read_for_set(task: SessionTask) -> SessionResult:
    """Return a session's figures, or the reason why there are none."""
    try:
        every = task.read()
    except SessionError as error:
        return SessionResult(problem=shown_name(error.message))
    session = without_calls(without_copied_calls(every), task.elsewhere)
    of_whole = task.inputs(every)
    baseline = replay(task.inputs_without_copies(of_whole, session), Plan())
    # The cause of a cache miss may be in calls counted for another session.
    whole = baseline if session is every else replay(of_whole, Plan())
    calls = len(session.calls)
    started = SubagentReader().read(every, task.terms.pricing, cache=task.terms.cache, counter=shared_counter())
    mine = set_session(task.path, baseline, whole, started)
    row: _InSet = (mine, calls, len(every.calls) - calls, began(baseline, whole))
    return SessionResult(msgspec.json.encode(row), "", _last(call.time for call in session.calls), billed_keys(session))
