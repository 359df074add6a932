"""Read a Grok Build session: the history as sent, and usage of its responses from separate files."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from msgspec import structs

from inspector.session.builder import SessionBuilder
from inspector.session.call_matching import CallMatcher
from inspector.session.errors import SessionError
from inspector.session.files import is_file
from inspector.session.formats.chat import ChatThread, blocks_of_chat, chat_blocks
from inspector.session.formats.grok import SUMMARY, UPDATES
from inspector.session.formats.grok.log import UNMATCHED, MatchedResponses, SessionLog, match_logged_responses
from inspector.session.formats.grok.messages import ASSISTANT, BACKEND, REASONING, kind_of, to_chat_message
from inspector.session.formats.grok.updates import ForwardingBuilder, UpdatesInterpreter, reports_of
from inspector.session.json.codec import clean_text
from inspector.session.json.lines import object_of
from inspector.session.json.values import clean_string, count, mapping, objects, string
from inspector.session.jsonl_reader import JsonlReader
from inspector.session.linked_documents import SidecarFile
from inspector.session.model import Compaction, Diagnostic, LinkKind, Message, Role, SessionLink, SideCall
from inspector.session.reader import FileChange, ReadingProgress, Record, RecordInterpreter

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from inspector.session.blocks import TextBlock
    from inspector.session.formats.chat import ChatMessage
    from inspector.session.formats.grok.updates import ResponseReport
    from inspector.session.model import Block, Origin, Session

SIGNALS = "signals.json"

CONTINUED = "This session is being continued from a previous conversation"
"""First words of a compaction's summary message."""

LEFT = "no longer in the history"
"""Purpose of requests with a response removed from the history by a compaction or rewind."""


@dataclass(frozen=True)
class HistoryRow:
    """A row of the history.

    Attributes:
        kind: Its kind.
        chat: Its chat message.
        blocks: Its blocks.
        text: The whole text of a response, or the beginning of another row's first text.
        calls: Ids of its calls.
    """

    kind: str
    chat: ChatMessage
    blocks: tuple[Block, ...]
    text: str
    calls: frozenset[str]


class GrokInterpreter(RecordInterpreter):
    """Builds a session from the rows of a history.

    Attributes:
        updates: Reports about its responses.
        log: The log of all sessions, read only if reports are missing.
    """

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
        """Mark the session for rebuilding after new reports."""
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
        """Open a session; `opened` is the path chosen by the user.

        Raises:
            SessionError: The session cannot be opened.
        """
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
        """Read new data from any of the files."""
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
