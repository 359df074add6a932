"""Read the usage and tool calls of a session's requests from Grok Build's log of all sessions.

Checked against xai-org/grok-build: `xai-grok-telemetry/src/unified_log.rs` (the lines, and truncation of the oldest in
place), `xai-grok-shell/src/session/acp_session_impl/turn.rs` (`shell.turn.inference_done`, once per response),
`tool_calls.rs` (`shell.tool.exec_done`, once per executed call) and `xai-grok-sampling-types/src/conversation.rs`
(contents of the counts); and against the reader of junhoyeo/tokscale (`sessions/grok.rs`).
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
from inspector.session.usage_fields import GROK_LOG

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from inspector.session.model import Compaction

LOG = ("logs", "unified.jsonl")

LOG_NAME = "/".join(LOG)

SESSIONS = "sessions"
"""Folder of all workspace folders, next to the log's folder."""

DONE, RAN = "shell.turn.inference_done", "shell.tool.exec_done"

MARKS = (b"inference_done", b"exec_done")
"""Substrings of the relevant lines; others are not decoded."""

MOST_BYTES = 1 << 28
"""Size limit in bytes. Grok Build cuts its log at 5 MiB, so a far larger file is not one."""

TOO_LARGE = Diagnostic(f"{LOG_NAME}: larger than {MOST_BYTES >> 20} MiB, not read", skipped=False)

UNMATCHED = f"{LOG_NAME}: a logged response that matches no single message"


@dataclass(frozen=True)
class LoggedResponse:
    """A response in the log.

    Attributes:
        usage: Reported usage; None if the provider reported none or the version does not log it.
        time: Seconds since the epoch, or None.
        calls: Ids of its executed calls.
        line: 1-based line number.
        offset: Offset of the line's first byte.
    """

    usage: Usage | None
    time: float | None
    calls: frozenset[str]
    line: int
    offset: int

    def report(self, compactions: Sequence[Compaction]) -> ResponseReport:
        """Convert to a report, with the number of earlier compactions of the session."""
        time = self.time
        before = 0 if time is None else sum(one.time is not None and one.time < time for one in compactions)
        return ResponseReport("", self.usage, time, "", before)


class SessionLog:
    """One session's lines in the log of all sessions. The log changes in place and is read again on every change.

    Attributes:
        path: The log; None if the session is not in Grok Build's folder structure.
        responses: The logged responses, in order.
        problems: Unreadable lines of the session, or an oversized log.
    """

    def __init__(self, folder: Path) -> None:
        """Initialize without reading; the folder is named after the session's id."""
        self._session = folder.name
        places = folder.absolute().parents
        is_kept = len(places) > 2 and places[1].name == SESSIONS  # workspace, sessions, home
        self.path = places[2].joinpath(*LOG) if is_kept else None
        self._state: FileState | None = None
        self.responses: tuple[LoggedResponse, ...] = ()
        self.problems: tuple[Diagnostic, ...] = ()

    def refresh(self) -> bool:
        """Read the log again. Return True if the session's responses or problems changed."""
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
                continue  # duplicate from a truncation during a write
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
                    problems.append(_problem("an invalid token count", line))
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
    """Yield the complete, relevant lines that contain the session id."""
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
    """Return True if the counts are valid or absent (early versions, and providers that report none)."""
    found = [about.get(name) for name in COUNTS]
    return all(one is None or (type(one) is int and one >= 0) for one in found)


def _usage_of(about: Mapping[str, Any]) -> Usage | None:
    """Convert the counts: prompt tokens include cache reads, completion tokens include reasoning."""
    if not _is_counted_well(about):
        return None
    prompt, read, output, reasoning = (count(about.get(name)) for name in COUNTS)
    read = min(read, prompt)
    usage = Usage(prompt - read, read, output=output, reasoning=min(reasoning, output))
    return GROK_LOG.check(usage.unless_zero(), about)


class MatchedResponses(NamedTuple):
    """Usage of a history's responses, from reports and log.

    Attributes:
        reports: Report per response; None if unknown.
        gone: Logged responses that are no longer in the history and have no report.
        unmatched: Logged responses that cannot be matched.
    """

    reports: list[ResponseReport | None]
    gone: list[LoggedResponse]
    unmatched: list[LoggedResponse]


def match_logged_responses(
    calls: Sequence[frozenset[str]],
    found: Sequence[ResponseReport | None],
    reports: Sequence[ResponseReport],
    logged: Sequence[LoggedResponse],
    compactions: Sequence[Compaction],
) -> MatchedResponses:
    """Match logged responses to the responses without a report.

    A logged response does not name its message. It is identified by its executed calls, or by a report with the same
    counts. Unidentified responses between two identified ones are matched in order if their number is equal, otherwise
    not at all.

    Args:
        calls: Call ids of each response in the history.
        found: Report of each response, None without one.
        reports: All reports.
        logged: The logged responses, in order.
        compactions: The session's compactions.
    """
    reported = _reported(reports, logged)
    rows = _known_rows(calls, found, logged, reported)
    result = MatchedResponses(list(found), [], [])
    result.gone.extend(one for at, one in enumerate(logged) if rows[at] == GONE and at not in reported)
    first_row, waiting = 0, list[LoggedResponse]()
    for at in range(len(logged) + 1):
        row = rows[at] if at < len(logged) else len(calls)
        if row == GONE:
            continue
        if row is None:
            waiting.append(logged[at])
            continue
        _settle(result, range(first_row, row), waiting, compactions)
        if at < len(logged) and result.reports[row] is None:
            result.reports[row] = logged[at].report(compactions)
        first_row, waiting = row + 1, []
    return result


GONE = -1
"""Row index of a response that is not in the history."""


def _reported(reports: Sequence[ResponseReport], logged: Sequence[LoggedResponse]) -> dict[int, ResponseReport]:
    """Match reports to logged responses by counts, in order, from the end. Keys are indices of logged responses."""
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
    """Return the history row of each logged response: `GONE` if not in the history, None if unknown."""
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
        if row >= end:  # out of order: repeated call ids
            rows[at] = None
        else:
            end = row
    return rows


def _settle(
    matched: MatchedResponses, rows: range, waiting: Sequence[LoggedResponse], compactions: Sequence[Compaction]
) -> None:
    """Assign unidentified responses to the rows between two identified ones."""
    free = [row for row in rows if matched.reports[row] is None]
    if len(free) == len(waiting):
        for row, one in zip(free, waiting, strict=True):
            matched.reports[row] = one.report(compactions)
    elif free:
        matched.unmatched.extend(waiting)
    else:
        matched.gone.extend(waiting)
