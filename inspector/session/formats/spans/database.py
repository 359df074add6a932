"""Read Copilot's span database in VS Code: one row per span and one per attribute.

Written by microsoft/vscode-copilot-chat (`src/platform/otel/node/sqlite/otelSqliteStore.ts`), which keeps spans of one
week and of a hundred sessions and deletes older ones.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from inspector.session.builder import SessionBuilder
from inspector.session.files import Locator
from inspector.session.format import ContainedSession
from inspector.session.formats.spans.reader import SpanInterpreter
from inspector.session.formats.spans.records import LABEL, PARENT_SESSION, SIDE_LABELS
from inspector.session.json.codec import clean_text, compact_json
from inspector.session.json.values import seconds_of_any, string
from inspector.session.model import LinkKind, Origin, SessionLink
from inspector.session.sqlite import Selector
from inspector.session.sqlite_reader import RowInterpreter, RowsGoneError

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from inspector.session.blocks import TextBlock

SPAN = "span:"
"""Prefix of a span's row name."""

COLUMNS = ("span_id", "trace_id", "parent_span_id", "name", "start_time_ms")

PLACES = """
SELECT s.span_id, s.trace_id, s.operation_name, s.start_time_ms,
    COALESCE(s.chat_session_id, (SELECT value FROM span_attributes a WHERE a.span_id = s.span_id
        AND a.key = 'copilot_chat.session_id'), s.conversation_id),
    (SELECT value FROM span_attributes a WHERE a.span_id = s.span_id AND a.key = ?),
    (SELECT value FROM span_attributes a WHERE a.span_id = s.span_id AND a.key = ?)
FROM spans s ORDER BY s.start_time_ms, s.rowid
"""


class SpanPlace(NamedTuple):
    """Conversation and position of a span.

    Attributes:
        span: Its id.
        trace: Its trace id.
        operation: Its operation: `chat`, `execute_tool`, ...
        time: Start in seconds since the epoch.
        session: Its conversation; empty if not recorded.
        parent: The conversation that started this one; empty for none.
    """

    span: str
    trace: str
    operation: str
    time: float
    session: str
    parent: str


class TraceRows(RowInterpreter):
    """Interpreter for the spans of one conversation."""

    known_tables = frozenset(("span_attributes", "spans"))

    def __init__(self, session: str) -> None:
        """Initialize for a conversation's id, empty for the one with the newest spans."""
        super().__init__()
        self._session = session
        self._spans = SpanInterpreter()
        self._taken: list[str] = []
        self._broken: list[int] = []
        self._children: list[str] = []

    def read(self, connection: sqlite3.Connection) -> None:
        """Read the new spans. Existing spans never change; if some were deleted, all are read again.

        Raises:
            RowsGoneError: The conversation has no spans.
        """
        places = places_in(connection)
        self._session = self._session or next(iter(_newest(places)), "")
        traces = {place.trace for place in places if place.session == self._session}
        wanted = [place.span for place in places if _is_of(place, self._session, traces)]
        children = [place.session for place in places if place.session and place.parent == self._session]
        self._children = list(dict.fromkeys(children))
        if not traces:
            raise RowsGoneError(f"no session {self._session}".strip())
        if wanted[: len(self._taken)] != self._taken:
            self._spans, self._taken, self._broken = SpanInterpreter(), [], []
        for name in wanted[len(self._taken) :]:
            value = _span(connection, name)
            origin = Origin(0, len(_record(value)), locator=f"{SPAN}{name}")
            try:
                self._spans.take_span(value, origin)
            except RecursionError:
                self._broken.append(wanted.index(name))
        self._taken = wanted

    def settle(self) -> None:
        spans, before = self._spans, self._spans.builder
        spans.builder = SessionBuilder()
        spans.builder.record_counts.update(before.record_counts)
        spans.builder.links.update(before.links)
        for line in self._broken:
            spans.builder.diagnose("JSON nested too deeply", 0, line, skipped=True)
        for child in self._children:
            spans.builder.link(SessionLink(LinkKind.SUBAGENT, clean_text(child)))
        spans.builder.agent = before.agent or "VS Code Copilot Chat"
        spans.builder.identifier = clean_text(self._session)
        spans.settle(has_new_builder=True)
        self.builder = spans.builder

    @staticmethod
    def blocks_of_record(record: bytes, origin: Origin, /) -> Sequence[TextBlock]:
        return SpanInterpreter.blocks_of_record(record, Origin(0, origin.length, locator=origin.locator))

    def fetch(self, connection: sqlite3.Connection, name: str) -> bytes | None:
        value = _span(connection, name.removeprefix(SPAN))
        return _record(value) if value else None


def sessions_inside(path: Path, connection: sqlite3.Connection) -> list[ContainedSession]:
    """List the conversations in a database, newest first."""
    places = places_in(connection)
    parents = {place.session: place.parent for place in places if place.parent}
    return [
        ContainedSession(
            Locator(path, name).path, clean_text(name), parent=clean_text(parents.get(name, "")), modified=at
        )
        for name, at in _newest(places).items()
    ]


def places_in(connection: sqlite3.Connection) -> list[SpanPlace]:
    """Return all spans' conversations in order of start. Title requests belong to the conversation they describe."""
    found = []
    for span, trace, operation, time, session, parent, label in connection.execute(PLACES, (PARENT_SESSION, LABEL)):
        names = [string(one) for one in (span, trace, operation, session, parent)]
        if label in SIDE_LABELS and names[4]:
            names[3:] = [names[4], ""]
        found.append(SpanPlace(names[0], names[1], names[2], seconds_of_any(time) or 0.0, names[3], names[4]))
    return found


def _record(value: Mapping[str, Any]) -> bytes:
    return compact_json(value).encode(errors="replace")


def _is_of(place: SpanPlace, session: str, traces: set[str]) -> bool:
    if place.operation == "execute_tool":
        return place.trace in traces and place.session in ("", session)
    return place.session == session


def _newest(places: Sequence[SpanPlace]) -> Mapping[str, float]:
    """Return the start of the last request per conversation, newest first."""
    times = {place.session: place.time for place in places if place.session and place.operation == "chat"}
    return dict(sorted(times.items(), key=lambda item: item[1], reverse=True))


def _span(connection: sqlite3.Connection, name: str) -> dict[str, Any]:
    selector = Selector(connection)
    rows = selector.rows("spans", COLUMNS, "WHERE span_id = ?", name)
    if not rows:
        return {}
    attributes = selector.rows("span_attributes", ("key", "value"), "WHERE span_id = ? ORDER BY key", name)
    row = rows[0]
    return {
        "type": "span",
        "name": row.get("name"),
        "traceId": row.get("trace_id"),
        "spanId": name,
        "parentSpanId": row.get("parent_span_id"),
        "startTime": row.get("start_time_ms"),
        "attributes": {string(one.get("key")): one.get("value") for one in attributes},
    }
