"""`inspector compare --before A --after B` or `--at DATE FOLDER`: two sets of sessions, read in parallel."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from inspector.cli.executors import Job, JobLost
from inspector.cli.exit_codes import CommandError, ExitCode
from inspector.cli.fleet import executor_of, missing
from inspector.cli.output import ProgressLine, narrate
from inspector.cli.reading import parse_billing_terms, pricing_of, read_session
from inspector.cli.resolve_paths import is_list
from inspector.cli.session_tasks import SessionTask, SessionTerms
from inspector.replay.engine.replay import replay
from inspector.report.before_after import before_after_report
from inspector.report.folder import UnreadSession
from inspector.report.ledger_facts import utc_time
from inspector.report.numbers import IN_TEXT
from inspector.report.path_redaction import shown_name, shown_path
from inspector.report.set_session import SetSession, began, set_session
from inspector.session.discovery import describe_folder, found_in
from inspector.session.duplicate_calls import billed_keys, calls_counted_elsewhere, without_calls, without_copied_calls
from inspector.session.files import Locator
from inspector.strategies.plan import Plan

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from inspector.cli.executors import SessionExecutor
    from inspector.report.before_after import BeforeAfterReport
    from inspector.report.set_session import SetName

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
