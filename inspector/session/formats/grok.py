"""Read Grok Build: a folder per session, with the messages as sent and separate event files.

Checked against xai-org/grok-build: `xai-grok-sampling-types/src/conversation.rs` (rows of `chat_history.jsonl`),
`xai-grok-shell/src/extensions/notification.rs` (updates and their usage), `session/storage/mod.rs` (their envelope),
`xai-chat-state/src/compaction_utils.rs` (the context after a compaction).

Usage and calls per request are in the log of all sessions. Checked against `xai-grok-telemetry/src/unified_log.rs` (the
lines, and truncation of the oldest in place), `xai-grok-shell/src/session/acp_session_impl/turn.rs`
(`shell.turn.inference_done`, once per response), `tool_calls.rs` (`shell.tool.exec_done`, once per executed call) and
`xai-grok-sampling-types/src/conversation.rs` (contents of the counts); and against the reader of junhoyeo/tokscale
(`sessions/grok.rs`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import Struct, structs

from inspector.errors import SessionError
from inspector.session.builder import CallMatcher, SessionBuilder
from inspector.session.files import FileState, is_file, is_folder, open_for_reading
from inspector.session.format import Format, can_name_file, home_of
from inspector.session.formats.chat import ChatMessage, ChatThread, blocks_of_chat, chat_blocks, notice
from inspector.session.json import (
    clean_string,
    clean_text,
    compact_json,
    count,
    count_or_none,
    mapping,
    object_of,
    objects,
    seconds_of_any,
    string,
)
from inspector.session.json_reader import SidecarFile
from inspector.session.jsonl_reader import JsonlReader
from inspector.session.model import Compaction, Diagnostic, LinkKind, Message, Role, SessionLink, SideCall, Usage
from inspector.session.reader import FileChange, Reader, ReadingProgress, Record, RecordInterpreter
from inspector.session.sniff import Sample
from inspector.session.usage_fields import GROK, GROK_LOG

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from inspector.session.blocks import TextBlock
    from inspector.session.model import Block, Origin, Session


HISTORY, UPDATES, SUMMARY = "chat_history.jsonl", "updates.jsonl", "summary.json"

ROLES = frozenset({"assistant", "system", "tool", "user"})
"""Roles of rows in the older form, which only the file name distinguishes from other programs' rows."""

TYPES = frozenset({"assistant", "backend_tool_call", "reasoning", "system", "tool_result", "user"})

METHODS = frozenset({"session/update", "_x.ai/session/update"})


def _is_row(record: dict[str, Any]) -> bool:
    kind = string(record.get("type"))
    if kind not in TYPES:
        return False
    if kind == "reasoning":
        return "summary" in record
    if kind == "backend_tool_call":
        return isinstance(record.get("kind"), dict)
    return "content" in record and "message" not in record and "uuid" not in record


def _is_old_row(record: dict[str, Any]) -> bool:
    return string(record.get("role")) in ROLES and "content" in record and "type" not in record


def _is_grok_row(record: dict[str, Any]) -> bool:
    return any(name in record for name in ("model_id", "synthetic_reason", "prompt_index")) or "kind" in record


def _is_update(record: dict[str, Any]) -> bool:
    update = mapping(mapping(record.get("params")).get("update"))
    return string(record.get("method")) in METHODS and isinstance(update.get("sessionUpdate"), str)


class GrokFormat(Format):
    """Grok Build session folders."""

    name = "grok-build"
    title = "Grok Build"
    where = "~/.grok/sessions, or sessions in $GROK_HOME"
    exact = "tokens of every call reported in updates.jsonl or logs/unified.jsonl"
    session_folders = (frozenset({HISTORY, SUMMARY}), frozenset({HISTORY, UPDATES}))

    def knows_record(self, count_name: str) -> bool:
        return count_name in TYPES

    def recognize(self, sample: Sample) -> str:
        if sample.is_directory:
            return self._recognize_folder(sample.path)
        is_named = sample.path.name == HISTORY
        found = [record for record in sample.records if _is_row(record) or (is_named and _is_old_row(record))]
        if any(map(_is_grok_row, found)) and len(found) * 2 > len(sample.records):
            return f"{len(found)} of the first {len(sample.records)} lines are Grok Build messages"
        updates = sum(map(_is_update, sample.records))
        if updates * 2 > len(sample.records) and is_file(sample.path.with_name(HISTORY)):
            return f"{updates} of the first {len(sample.records)} lines are updates of the session in {HISTORY}"
        return ""

    def _recognize_folder(self, folder: Path) -> str:
        try:
            reason = self.recognize(Sample(folder / HISTORY)) if is_file(folder / HISTORY) else ""
        except (SessionError, OSError):
            return ""
        return f"in its {HISTORY}, {reason}" if reason else ""

    def homes(self) -> tuple[Path, ...]:
        return (home_of("GROK_HOME", ".grok") / "sessions",)

    def reader(self, path: Path) -> Reader:
        if is_folder(path):
            return GrokReader(path / HISTORY, path, self.name)
        has_history = path.name == UPDATES and is_file(path.with_name(HISTORY))
        return GrokReader(path.with_name(HISTORY) if has_history else path, path, self.name)

    def is_sidecar(self, path: Path) -> bool:
        return path.suffix in (".json", ".jsonl") and path.name != HISTORY and is_file(path.with_name(HISTORY))

    def locate(self, path: Path, identifier: str) -> Path | None:
        """Find the session that this one was forked from, in a sibling folder of the same workspace."""
        folder = path if is_folder(path) else path.parent
        sibling = folder.with_name(identifier) if can_name_file(identifier) else None
        return sibling if sibling is not None and is_file(sibling / HISTORY) else None


FARTHEST = 200
"""Limit of reports searched for a response's text; the ones skipped belong to responses taken back."""


class ResponseReport(Struct, frozen=True):
    """The report of one response. `text`: the response's text, used to match it."""

    text: str
    usage: Usage | None
    time: float | None
    identifier: str
    compactions: int


class ForwardingBuilder(SessionBuilder):
    """Forwards diagnostics of one file to the session read from another."""

    def __init__(self, to: SessionBuilder, name: str) -> None:
        super().__init__()
        self._to = to
        self._name = name

    def diagnose(self, reason: str, line: int, offset: int, *, skipped: bool, loses_usage: bool = False) -> None:
        """Forward a diagnostic, prefixed with the file's name."""
        self._to.diagnose(f"{self._name}: {reason}", line, offset, skipped=skipped, loses_usage=loses_usage)


class UpdatesInterpreter(RecordInterpreter):
    """Collects reports and compactions from updates."""

    record_name = "an update"

    def __init__(self, builder: SessionBuilder) -> None:
        super().__init__(builder)
        self.reports: list[ResponseReport] = []
        self.compactions: list[Compaction] = []
        self._places: dict[str, int] = {}
        self._text: list[str] = []

    def add(self, record: Record) -> None:
        params = mapping(record.value.get("params"))
        update = mapping(params.get("update"))
        kind = string(update.get("sessionUpdate"))
        time = seconds_of_any(record.value.get("timestamp"))
        if kind == "agent_message_chunk":
            self._text.append(string(mapping(update.get("content")).get("text")))
        elif kind == "response_completed":
            self._report(update, time)
        elif kind in ("user_message_chunk", "turn_completed"):
            self._text.clear()
        elif kind == "auto_compact_completed":
            before, after = (count_or_none(update.get(name)) for name in ("tokens_before", "tokens_after"))
            self.compactions.append(Compaction(0, "auto", before, after, time=time))

    def blocks_of_record(self, record: bytes, origin: Origin, /) -> Iterable[TextBlock]:  # noqa: ARG002  # not needed
        """Return no blocks: updates are not messages."""
        return ()

    def _report(self, update: Mapping[str, Any], time: float | None) -> None:
        identifier = clean_string(update.get("message_id"))
        made = ResponseReport(
            "".join(self._text).strip(), usage_of(update.get("usage")), time, identifier, len(self.compactions)
        )
        self._text.clear()
        place = self._places.get(identifier) if identifier else None
        if place is not None and _prompt(made) == _prompt(self.reports[place]):  # reported again; gateways repeat ids
            self.reports[place] = structs.replace(made, text=made.text or self.reports[place].text)
            return
        if identifier:
            self._places[identifier] = len(self.reports)
        self.reports.append(made)


def _prompt(report: ResponseReport) -> tuple[int, int, int] | None:
    usage = report.usage
    return None if usage is None else (usage.uncached, usage.cache_read, usage.cache_write_5m)


def usage_of(reported: Any) -> Usage | None:
    """Convert reported usage; None if there is none. `input_tokens` excludes cache reads."""
    fields = mapping(reported)
    names = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "output_tokens")
    uncached, read, written, output = (count(fields.get(name)) for name in names)
    reasoning = min(count(fields.get("reasoning_tokens")), output)
    return GROK.check(Usage(uncached, read, written, output=output, reasoning=reasoning).unless_zero(), reported)


def reports_of(texts: Sequence[str], reports: Sequence[ResponseReport]) -> list[ResponseReport | None]:
    """Match reports to the responses of a history by text, from the last one back; None without a report."""
    found: list[ResponseReport | None] = [None] * len(texts)
    last = len(reports) - 1
    for place in range(len(texts) - 1, -1, -1):
        text = texts[place].strip()
        for at in range(last, max(last - FARTHEST, -1), -1):
            if reports[at].text == text:
                found[place] = reports[at]
                last = at - 1
                break
    return found


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


class LoggedResponse(Struct, frozen=True):
    """A response in the log with the ids of its executed calls. `usage`: None if none is logged."""

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
    """One session's lines in the log of all (None outside Grok Build's folders), which changes in place."""

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
    """Reports of responses, None if unknown; logged ones gone from the history; ones without a match."""

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


TYPED = frozenset({"agent_message", "interjection"})
"""Reasons of synthetic user rows written by the user or another agent."""

REASONING, BACKEND, RESULT, ASSISTANT = "reasoning", "backend_tool_call", "tool_result", "assistant"

KINDS = {"tool": RESULT}
"""Row kinds by role in the older form."""


def kind_of(row: Mapping[str, Any]) -> str:
    role = string(row.get("role"))
    return string(row.get("type")) or KINDS.get(role, role)


def to_chat_message(row: Mapping[str, Any]) -> ChatMessage:
    kind = kind_of(row)
    if kind == "system":
        return ChatMessage({"role": "system", "content": _content(row.get("content"))})
    if kind == "user":
        reason = string(row.get("synthetic_reason"))
        return ChatMessage(
            {"role": "user", "content": _content(row.get("content"))}, is_meta=bool(reason) and reason not in TYPED
        )
    if kind == REASONING:
        parts = [*objects(row.get("summary")), *objects(row.get("content"))]
        texts = [part["text"] for part in parts if isinstance(part.get("text"), str)]
        thinking = {"type": "thinking", "thinking": "\n\n".join(texts), "signature": row.get("encrypted_content")}
        return ChatMessage({"role": "assistant", "content": [thinking]})
    if kind == BACKEND:
        return ChatMessage(
            {"role": "assistant", "content": "", "tool_calls": [_backend_call(mapping(row.get("kind")))]}
        )
    if kind == RESULT:
        images = [_part(part) for part in objects(row.get("images"))]
        content = row.get("content")
        text = content if isinstance(content, str) else compact_json(content)
        full = [{"type": "text", "text": text}, *images] if images else text
        return ChatMessage({"role": "tool", "tool_call_id": string(row.get("tool_call_id")), "content": full})
    if kind == ASSISTANT:
        return ChatMessage(_answer(row), is_call=True, model=clean_string(row.get("model_id")))
    return ChatMessage(notice(compact_json(dict(row))))


def _answer(row: Mapping[str, Any]) -> dict[str, Any]:
    calls = [
        {"id": string(call.get("id")), "function": mapping(call.get("function")) or call}
        for call in objects(row.get("tool_calls"))
    ]
    content = row.get("content")
    made: dict[str, Any] = {"role": "assistant", "content": content if isinstance(content, str) else ""}
    if string(row.get("reasoning_content")):
        made["reasoning_content"] = row["reasoning_content"]
    return {**made, "tool_calls": calls} if calls else made


def _backend_call(kind: Mapping[str, Any]) -> dict[str, Any]:
    """Convert a server-side call, which has no recorded result."""
    asked: Any = next((kind[name] for name in ("action", "input", "code") if name in kind), {})
    function = {"name": string(kind.get("tool_type")), "arguments": asked}
    return {"id": string(kind.get("id")), "function": function}


def _content(content: Any) -> Any:
    return content if isinstance(content, str) else [_part(part) for part in objects(content)]


def _part(part: Mapping[str, Any]) -> dict[str, Any]:
    if part.get("type") == "image":
        return {"type": "image_url", "image_url": {"url": string(part.get("url"))}}
    return dict(part)


SIGNALS = "signals.json"

CONTINUED = "This session is being continued from a previous conversation"
"""First words of a compaction's summary message."""

LEFT = "no longer in the history"
"""Purpose of requests with a response removed from the history by a compaction or rewind."""


class HistoryRow(Struct, frozen=True):
    """A row of the history. `text`: the whole text of a response, or the beginning of another row's first text."""

    kind: str
    chat: ChatMessage
    blocks: tuple[Block, ...]
    text: str
    calls: frozenset[str]


class GrokInterpreter(RecordInterpreter):
    """Builds a session from the rows of a history. `log`: the log of all sessions, read only if reports are missing."""

    def __init__(self, log: SessionLog) -> None:
        super().__init__()
        self.log = log
        self.updates = UpdatesInterpreter(ForwardingBuilder(self.builder, UPDATES))
        self._rows: list[HistoryRow] = []
        self._is_settled = False
        self._needs_log = False

    def add(self, record: Record) -> None:
        kind, chat = kind_of(record.value), to_chat_message(record.value)
        (made,) = chat_blocks([chat.value], record.origin)
        content = chat.value.get("content")
        text = content if isinstance(content, str) else next((one.text for one in made), "")
        self.builder.record_counts[clean_text(kind) or "(no type)"] += 1
        kept = text if kind == ASSISTANT else text[: len(CONTINUED)]
        calls = frozenset(string(call.get("id")) for call in objects(chat.value.get("tool_calls")))
        self._rows.append(HistoryRow(kind, chat, tuple(one.block for one in made), kept, calls))
        self._is_settled = False

    @staticmethod
    def blocks_of_record(record: bytes, origin: Origin, /) -> list[TextBlock]:
        value, _ = object_of(record)
        return blocks_of_chat([to_chat_message(value)], origin) if value is not None else []

    def unsettle(self) -> None:
        self._is_settled = False

    def look_at_log(self) -> bool:
        """Read the log if reports are missing. Return True if it changed."""
        if not self._needs_log or not self.log.refresh():
            return False
        self._is_settled = False
        return True

    def settle(self) -> None:
        if self._is_settled:
            return
        self._is_settled = True
        made = SessionBuilder()
        reported, compactions = self._usage_of_responses(), self.updates.compactions
        _assemble(made, self._rows, reported.reports, compactions)
        self.builder.replace_all(made.complete_messages(), made.calls, made.contexts, made.compactions)
        calls = {id(one) for one in reported.reports if one is not None and not _is_copied(one, compactions)}
        copied = [one for one in reported.reports if one is not None and id(one) not in calls]
        others = {id(one): one for one in (*self.updates.reports, *copied) if id(one) not in calls}
        left = [*others.values(), *(one.report(compactions) for one in reported.gone)]
        self.builder.side_calls = {
            f"report {number}": SideCall(LEFT, _model(self._rows), report.time, report.usage, report.identifier)
            for number, report in enumerate(left)
            if report.usage is not None
        }

    def _usage_of_responses(self) -> MatchedResponses:
        """Return the usage of each response from its report, or from the log without one."""
        answers = [row for row in self._rows if row.kind == ASSISTANT]
        reports = reports_of([row.text for row in answers], self.updates.reports)
        self.builder.current_diagnostics = ()
        self._needs_log = not self.updates.reports or None in reports
        if self.log.path is not None:
            self.builder.side_files.pop(self.log.path, None)
        if not self._needs_log:
            return MatchedResponses(reports, [], [])
        self.log.refresh()
        if self.log.path is not None:
            self.builder.side_files[self.log.path] = None
        reported = match_logged_responses(
            [row.calls for row in answers], reports, self.updates.reports, self.log.responses, self.updates.compactions
        )
        unmatched = (Diagnostic(UNMATCHED, one.line, one.offset) for one in reported.unmatched)
        self.builder.current_diagnostics = (*self.log.problems, *unmatched)
        return reported


def _is_copied(report: ResponseReport, compactions: Sequence[Compaction]) -> bool:
    """Return True if a response precedes the last compaction, which kept it unchanged."""
    return report.compactions < len(compactions)


def _model(rows: Sequence[HistoryRow]) -> str:
    return next((row.chat.model for row in rows if row.chat.model), "")


def _assemble(
    builder: SessionBuilder,
    rows: Sequence[HistoryRow],
    reports: Sequence[ResponseReport | None],
    compactions: Sequence[Compaction],
) -> None:
    """Add the rows to a builder; reasoning and server-side calls belong to the response after them."""
    thread, calls = ChatThread(builder), CallMatcher()
    pending: list[Block] = []
    answers = iter(reports)
    for row in rows:
        if row.kind in (REASONING, BACKEND):
            pending += row.blocks
            continue
        own = row.blocks
        if row.kind == ASSISTANT:
            own, pending = (*pending, *own), []
        elif pending:
            thread.add(Message(Role.ASSISTANT, tuple(calls.paired(Role.ASSISTANT, pending))))
            pending = []
        role = row.chat.role
        is_summary = role is Role.USER and row.text.startswith(CONTINUED)
        message = Message(
            role, tuple(calls.paired(role, own)), is_meta=row.chat.is_meta, is_summary=is_summary, thread=0
        )
        if row.kind != ASSISTANT:
            index = thread.add(message, is_sent=role is not Role.OTHER)
            if is_summary:
                known = compactions[-1] if compactions else Compaction(0, "auto")
                builder.compactions.append(structs.replace(known, message=index))
            continue
        report = next(answers)
        time, identifier = (report.time, report.identifier) if report is not None else (None, "")
        message = structs.replace(message, time=time, identifier=identifier)
        if report is not None and _is_copied(report, compactions):
            thread.add(structs.replace(message, is_inherited=True))
            continue
        thread.respond(message, model=row.chat.model, usage=report.usage if report is not None else None)
    if pending:
        thread.add(Message(Role.ASSISTANT, tuple(calls.paired(Role.ASSISTANT, pending))))


class GrokReader:
    """Reads all files of a session and follows their changes."""

    def __init__(self, history: Path, opened: Path, format_name: str) -> None:
        """Open a session by the path that the user chose. Raises `SessionError` if that fails."""
        self._interpreter = GrokInterpreter(SessionLog(history.parent))
        self._history = JsonlReader(history, format_name, self._interpreter, opened)
        self._updates_path = history.with_name(UPDATES)
        self._interpreter.builder.side_files[self._updates_path] = None
        self._updates: JsonlReader | None = None
        self._summary = SidecarFile(history.with_name(SUMMARY))
        self._signals = SidecarFile(history.with_name(SIGNALS))
        self._format = format_name

    def load(self) -> Iterator[ReadingProgress]:
        self._open_updates()
        yield from self._history.load()

    def snapshot(self) -> Session:
        builder, summary = self._interpreter.builder, mapping(self._summary.value())
        info = mapping(summary.get("info"))
        builder.identifier = clean_string(info.get("id"))
        builder.working_directory = clean_string(info.get("cwd"))
        titles = (clean_string(summary.get(name)) for name in ("generated_title", "session_summary"))
        builder.title = next(filter(None, titles), "")
        builder.agent = "Grok Build"
        builder.window = count(mapping(self._signals.value()).get("contextWindowTokens")) or None
        if parent := clean_string(summary.get("parent_session_id")):
            builder.link(SessionLink(LinkKind.CONTINUED, parent))
        return self._history.snapshot()

    def refresh(self) -> FileChange:
        before = self.snapshot()
        # Check all files, so that no change is reported twice.
        changed = [one for one in (self._summary, self._signals) if one.changed()]
        reported = self._refresh_updates()
        change = self._history.refresh()
        if change not in (FileChange.NONE, FileChange.APPENDED):
            return change
        if reported is FileChange.REPLACED:
            return reported
        if reported is FileChange.APPENDED:
            self._interpreter.unsettle()
        changes = (changed, reported is FileChange.APPENDED, self._interpreter.look_at_log())
        if change is FileChange.NONE and any(changes) and self.snapshot() != before:
            return FileChange.APPENDED
        return change

    def watched(self) -> Path:
        return self._history.watched()

    def _refresh_updates(self) -> FileChange:
        if self._updates is None:
            return FileChange.APPENDED if self._open_updates() else FileChange.NONE
        change = self._updates.refresh()
        return change if change in (FileChange.APPENDED, FileChange.REPLACED) else FileChange.NONE

    def _open_updates(self) -> bool:
        if not is_file(self._updates_path):
            return False
        try:
            self._updates = JsonlReader(self._updates_path, self._format, self._interpreter.updates)
            for _ in self._updates.load():
                pass
        except (SessionError, OSError):
            return False
        return True


FORMATS = (GrokFormat(),)
