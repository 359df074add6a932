"""What Grok Build's log of all sessions tells of the requests of one: what each was billed for, and what it called.

Checked against xai-org/grok-build: `xai-grok-telemetry/src/unified_log.rs` (the lines, and how the oldest are cut off
in place), `xai-grok-shell/src/session/acp_session_impl/turn.rs` (`shell.turn.inference_done`, once a response),
`tool_calls.rs` (`shell.tool.exec_done`, once a call that ran) and `xai-grok-sampling-types/src/conversation.rs` (what
its counts include); and against the reader of junhoyeo/tokscale (`sessions/grok.rs`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from inspector.session.errors import SessionError
from inspector.session.files import FileState, open_for_reading
from inspector.session.formats.grok.updates import ResponseReport
from inspector.session.json.lines import object_of
from inspector.session.json.values import count, mapping, seconds_of_any, string
from inspector.session.model import Diagnostic, Usage

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from inspector.session.model import Compaction

LOG = ("logs", "unified.jsonl")

LOG_NAME = "/".join(LOG)

SESSIONS = "sessions"
"""The folder of all workspaces' folders, beside which the log's stands."""

DONE, RAN = "shell.turn.inference_done", "shell.tool.exec_done"

MARKS = (b"inference_done", b"exec_done")
"""What stands in every line that is of interest; no other is decoded."""

MOST_BYTES = 1 << 28
"""Grok Build cuts its log at 5 MiB; what is so much larger is none of its."""

TOO_LARGE = Diagnostic(f"{LOG_NAME}: larger than {MOST_BYTES >> 20} MiB, not read", skipped=False)

UNTOLD = f"{LOG_NAME}: which of several responses it counts cannot be told"


@dataclass(frozen=True)
class LoggedResponse:
    """What the log tells of one response.

    Attributes:
        usage: What it was billed for; None where the provider reported nothing, or the version does not log it.
        time: Seconds since the epoch, or None.
        calls: Ids of the calls of it that ran.
        line: 1-based number of its line.
        offset: Of its line's first byte.
    """

    usage: Usage | None
    time: float | None
    calls: frozenset[str]
    line: int
    offset: int

    def report(self, compactions: Sequence[Compaction]) -> ResponseReport:
        """The same as a report, which says how many of the session's compactions came before it."""
        time = self.time
        before = 0 if time is None else sum(one.time is not None and one.time < time for one in compactions)
        return ResponseReport("", self.usage, time, "", before)


class SessionLog:
    """The lines of one session in the log of all. It is written in place, and read anew whenever it changed.

    Attributes:
        path: The log; None where the session is not kept as Grok Build keeps it.
        responses: What they tell, in their order.
        problems: Lines of the session that cannot be read, or that the log is too large to be read.
    """

    def __init__(self, folder: Path) -> None:
        """Begin; nothing is read yet.

        Args:
            folder: The session's, whose name is its id.
        """
        self._session = folder.name
        places = folder.absolute().parents
        is_kept = len(places) > 2 and places[1].name == SESSIONS  # workspace, sessions, home
        self.path = places[2].joinpath(*LOG) if is_kept else None
        self._state: FileState | None = None
        self.responses: tuple[LoggedResponse, ...] = ()
        self.problems: tuple[Diagnostic, ...] = ()

    def refresh(self) -> bool:
        """Look at the log; whether it tells something else of the session than before."""
        if self.path is None:
            return False
        before = (self.responses, self.problems)
        try:
            state = FileState.of(self.path.stat())
            if state == self._state:
                return False
            self._state = state
            is_too_large, data = state.size > MOST_BYTES, b""
            if not is_too_large:
                with open_for_reading(self.path) as file:
                    data = file.read()
        except (OSError, SessionError):
            is_too_large, data, self._state = False, b"", None
        self._read(data)
        if is_too_large:
            self.problems = (TOO_LARGE,)
        return before != (self.responses, self.problems)

    def _read(self, data: bytes) -> None:
        made: list[tuple[Mapping[str, Any], set[str], _Line]] = []
        problems: list[Diagnostic] = []
        seen: set[bytes] = set()
        for line in _lines_with(data, self._session.encode(errors="replace")):
            if line.data in seen:
                continue  # written twice where the log was cut while it was written to
            value, problem = object_of(line.data)
            if value is None or problem:
                problems.append(_problem(problem, line))
            if value is None or value.get("sid") != self._session:
                continue
            seen.add(line.data)
            about = mapping(value.get("ctx"))
            if value.get("msg") == DONE:
                made.append((value, set(), line))
                if not _is_counted_well(about):
                    problems.append(_problem("unexpected type of a count", line))
            elif value.get("msg") == RAN and made and string(about.get("tool_call_id")):
                made[-1][1].add(string(about["tool_call_id"]))
        self.responses = tuple(
            LoggedResponse(
                _usage_of(mapping(value.get("ctx"))),
                seconds_of_any(value.get("ts")),
                frozenset(calls),
                line.number,
                line.offset,
            )
            for value, calls, line in made
        )
        self.problems = tuple(problems)


class _Line(NamedTuple):
    data: bytes
    number: int
    offset: int


def _lines_with(data: bytes, session: bytes) -> Iterator[_Line]:
    """The lines, whole ones alone, that name a session and are of interest."""
    at, number, counted = data.find(session), 1, 0
    while at >= 0:
        start, end = data.rfind(b"\n", 0, at) + 1, data.find(b"\n", at)
        if end < 0:
            return
        number += data.count(b"\n", counted, start)
        counted = start
        line = data[start:end]
        if any(mark in line for mark in MARKS):
            yield _Line(line, number, start)
        at = data.find(session, end)


def _problem(reason: str, line: _Line) -> Diagnostic:
    return Diagnostic(f"{LOG_NAME}: {reason}", line.number, line.offset)


COUNTS = ("prompt_tokens", "cached_prompt_tokens", "completion_tokens", "reasoning_tokens")


def _is_counted_well(about: Mapping[str, Any]) -> bool:
    """Whether its counts are numbers, or not told, as in early versions and where the provider reported none."""
    found = [about.get(name) for name in COUNTS]
    return all(one is None or (type(one) is int and one >= 0) for one in found)


def _usage_of(about: Mapping[str, Any]) -> Usage | None:
    """The counts as ours: the prompt's include what a cache held, the answer's what was thought."""
    if not _is_counted_well(about):
        return None
    prompt, read, output, reasoning = (count(about.get(name)) for name in COUNTS)
    read = min(read, prompt)
    return Usage(prompt - read, read, output=output, reasoning=min(reasoning, output)).unless_zero()


class ToldResponses(NamedTuple):
    """What reports and log together tell of a history.

    Attributes:
        reports: Of each response of the history; None where nothing is known of it.
        gone: What is logged of responses that are no longer in the history, and that no report tells of.
        untold: What is logged of responses that cannot be told apart.
    """

    reports: list[ResponseReport | None]
    gone: list[LoggedResponse]
    untold: list[LoggedResponse]


def told_by_log(
    calls: Sequence[frozenset[str]],
    found: Sequence[ResponseReport | None],
    reports: Sequence[ResponseReport],
    logged: Sequence[LoggedResponse],
    compactions: Sequence[Compaction],
) -> ToldResponses:
    """Find out what the log tells of responses of which no report does.

    A logged response names no message. It is known by its calls that ran, or by a report of the same counts. What lies
    between two that are known belongs together in order where it is of the same number, and cannot be told otherwise.

    Args:
        calls: Ids of the calls of each response of the history.
        found: The report of each, None for one without.
        reports: All reports there are.
        logged: What is logged, in order.
        compactions: Of the session.
    """
    reported = _reported(reports, logged)
    rows = _known_rows(calls, found, logged, reported)
    told = ToldResponses(list(found), [], [])
    told.gone.extend(one for at, one in enumerate(logged) if rows[at] == GONE and at not in reported)
    first_row, waiting = 0, list[LoggedResponse]()
    for at in range(len(logged) + 1):
        row = rows[at] if at < len(logged) else len(calls)
        if row == GONE:
            continue
        if row is None:
            waiting.append(logged[at])
            continue
        _settle(told, range(first_row, row), waiting, compactions)
        if at < len(logged) and told.reports[row] is None:
            told.reports[row] = logged[at].report(compactions)
        first_row, waiting = row + 1, []
    return told


GONE = -1
"""In the place of the row of a response that the history does not have."""


def _reported(reports: Sequence[ResponseReport], logged: Sequence[LoggedResponse]) -> dict[int, ResponseReport]:
    """The reports of logged responses, by their number: of the same counts and in the same order, the last first."""
    places: dict[tuple[int, int, int], list[int]] = {}
    for at, one in enumerate(logged):
        if one.usage is not None:
            places.setdefault(_counts(one.usage), []).append(at)
    found: dict[int, ResponseReport] = {}
    end = len(logged)
    for report in reversed(reports):
        free = places.get(_counts(report.usage), []) if report.usage is not None else []
        while free and free[-1] >= end:
            free.pop()
        if free:
            end = free.pop()
            found[end] = report
    return found


def _counts(usage: Usage) -> tuple[int, int, int]:
    return usage.prompt, usage.cache_read, usage.output


def _known_rows(
    calls: Sequence[frozenset[str]],
    found: Sequence[ResponseReport | None],
    logged: Sequence[LoggedResponse],
    reported: Mapping[int, ResponseReport],
) -> list[int | None]:
    """The row of each logged response: `GONE` where the history has none, None where that is not known."""
    row_of_report = {id(report): row for row, report in enumerate(found) if report is not None}
    row_of_call = {call: row for row, ids in enumerate(calls) for call in ids}
    rows: list[int | None] = []
    for at, one in enumerate(logged):
        if at in reported:
            rows.append(row_of_report.get(id(reported[at]), GONE))
        elif one.calls:
            rows.append(max(row_of_call.get(call, GONE) for call in one.calls))
        else:
            rows.append(None)
    end = len(calls)
    for at in range(len(rows) - 1, -1, -1):
        row = rows[at]
        if row is None or row == GONE:
            continue
        if row >= end:  # out of order: ids of calls that come again
            rows[at] = None
        else:
            end = row
    return rows


def _settle(
    told: ToldResponses, rows: range, waiting: Sequence[LoggedResponse], compactions: Sequence[Compaction]
) -> None:
    """Give what lies between two responses that are known to the rows that lie there."""
    free = [row for row in rows if told.reports[row] is None]
    if len(free) == len(waiting):
        for row, one in zip(free, waiting, strict=True):
            told.reports[row] = one.report(compactions)
    elif free:
        told.untold.extend(waiting)
    else:
        told.gone.extend(waiting)
