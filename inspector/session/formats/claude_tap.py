"""Read claude-tap: API requests recorded by its proxy, in a database, a compact bundle or JSON lines.

Checked against liaohch3/claude-tap: `claude_tap/trace_store.py` (tables, schema 4), `compact_trace.py` (deduplicated
parts), `proxy.py`, `sse.py` and `ws_proxy.py` (records and assembly of streamed responses), `cursor_transcript.py`
(conversion of Cursor's transcripts).

The database has one row per session, per record, and per deduplicated part. Rows are only appended, except that
claude-tap completes some later. A growing session is therefore read incrementally, and from the start if a known row
changed.
"""

from __future__ import annotations

import os
from bisect import bisect_right
from functools import partial
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from inspector.session.builder import SessionBuilder
from inspector.session.files import Locator
from inspector.session.format import ContainedSession, Format, home_of
from inspector.session.formats.claude_trace import ExchangeLog, HttpExchange, blocks_of_record
from inspector.session.formats.responses import ENDED
from inspector.session.json import (
    Fields,
    FileNode,
    clean_string,
    clean_text,
    json_in,
    mapping,
    object_nodes,
    seconds,
    string,
)
from inspector.session.json_reader import JsonReader
from inspector.session.jsonl_reader import JsonlReader
from inspector.session.reader import DocumentInterpreter, Reader, Record, RecordInterpreter
from inspector.session.sniff import Sample
from inspector.session.sqlite import Columns, Row, RowInterpreter, RowsGoneError, Selector, SqliteReader, read_database

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from inspector.session.json import Node
    from inspector.session.model import Origin


BUNDLE = "__claude_tap_compact_trace__"

COMPACT = "__claude_tap_compact_record__"

REFERENCE = "__claude_tap_blob_ref__"

LONGEST_REFERENCE = 2_000
"""Limit in bytes; longer values are not parsed as references."""

REQUEST_EVENT = "response.create"

ERROR, FAILED = "error", "response.failed"


def is_bundle(value: object) -> bool:
    found = mapping(value)
    return BUNDLE in found and isinstance(found.get("records"), list)


def is_record(value: object) -> bool:
    found = mapping(value)
    if COMPACT in found:
        return isinstance(found.get("record"), dict)
    request, response = mapping(found.get("request")), found.get("response")
    reported = any(name in found for name in ("request_id", "turn", "duration_ms"))
    return reported and isinstance(request.get("path"), str) and "method" in request and isinstance(response, dict)


def reference_in(node: Node) -> str:
    """Return the hash of a referenced part; empty if the value is not a reference."""
    if node.length > LONGEST_REFERENCE or REFERENCE.encode() not in (raw := node.raw()) or not raw.startswith(b"{"):
        return ""
    return string(mapping(mapping(node.value()).get(REFERENCE)).get("hash"))


class LinkedNode:
    """A value with parts that may be references."""

    def __init__(self, inner: Node, linked: Callable[[str], Node | None]) -> None:
        """Initialize, resolving the value if it is a reference; `linked` returns a part by hash, None if missing."""
        found = reference_in(inner)
        self._inner = (linked(found) or inner) if found else inner
        self._linked = linked
        self.offset, self.length = self._inner.offset, self._inner.length

    def value(self) -> Any:
        """Return the value, with nested references unresolved."""
        return self._inner.value()

    def raw(self) -> bytes:
        """Return the value as JSON, with nested references unresolved."""
        return self._inner.raw()

    def fields(self) -> Fields:
        return Fields({name: LinkedNode(node, self._linked) for name, node in self._inner.fields().items()})

    def items(self) -> list[Node]:
        return [LinkedNode(node, self._linked) for node in self._inner.items()]


def exchanges_in(record: Node) -> Iterator[HttpExchange]:
    """Yield the exchanges of a record; a WebSocket may have carried several."""
    fields = record.fields()
    if COMPACT in fields:
        fields = fields.fields_of("record")
    request, response = fields.fields_of("request"), fields.fields_of("response")
    address, headers = string(request.value_of("path")), mapping(request.value_of("headers"))
    time = fields.value_of("timestamp")
    asked = [one for one in request.items_of("ws_events") if one.fields().value_of("type") == REQUEST_EVENT]
    answers = list(_answers(response.items_of("ws_events")))
    if len(asked) > 1 and answers:
        # The last request may have no response, and the first response may belong to a request in the record before.
        spare = max(len(answers) - len(asked), 0)
        for request_node, events in zip_longest([*[None] * spare, *asked], answers):
            yield HttpExchange(address, request_node, None, headers, time, events or ())
        return
    body = response.get("body")
    has_body = body is not None and body.value() is not None
    events = [] if has_body else [event for answer in answers for event in answer]
    yield HttpExchange(address, request.get("body"), body if has_body else None, headers, time, events)


def _answers(events: Sequence[Node]) -> Iterator[list[Node]]:
    """Group events by response. Events after a response's end stay with it unless they begin another one.

    A failed response ends twice: with an error event and with a failed response event.
    """
    answer: list[Node] = []
    ended = ""
    for event in events:
        kind = string(event.fields().value_of("type"))
        if ended and kind.startswith("response.") and (ended, kind) != (ERROR, FAILED):
            yield answer
            answer, ended = [], ""
        answer.append(event)
        if kind in ENDED or kind == ERROR:
            ended = kind
    if answer:
        yield answer


TABLES: Mapping[str, frozenset[str]] = {
    "sessions": frozenset({"id", "started_at", "updated_at"}),
    "records": frozenset({"session_id", "record_index", "payload_json"}),
}
"""Tables and columns common to all versions of the database."""


class ClaudeTapFormat(Format):
    """claude-tap recordings."""

    name = "claude-tap"
    title = "claude-tap"
    where = (
        "claude-tap/traces.sqlite3 in ~/.local/share or $XDG_DATA_HOME, or $CLOUDTAP_DB; in older versions .traces in "
        "the folder where it was started; exports anywhere"
    )
    exact = "tokens of every answered call, except Cursor's, which are not reported"

    def recognize(self, sample: Sample) -> str:
        if sample.is_directory:
            return ""
        if sample.is_database:
            return "a database with claude-tap's session and record tables" if sample.has_tables(TABLES) else ""
        if is_bundle(sample.only_value):
            return "a JSON document in claude-tap's compact bundle format"
        found = sum(is_record(record) for record in sample.records)
        if not found or found * 2 <= len(sample.records):
            return ""
        return f"{found} of the first {len(sample.records)} lines are requests recorded by claude-tap"

    def homes(self) -> tuple[Path, ...]:
        named = os.environ.get("CLOUDTAP_DB", "").strip()
        data = home_of("XDG_DATA_HOME", ".local", "share")
        database = Path(named).expanduser() if named else data / "claude-tap" / "traces.sqlite3"
        return (database, Path.cwd() / ".traces")

    def reader(self, path: Path) -> Reader:
        return tap_reader(path, self.name)

    def contained_sessions(self, path: Path) -> Sequence[ContainedSession]:
        file = Locator.of(path).file
        return read_database(file, partial(sessions_inside, file)) if Sample(file).is_database else ()

    def is_bookkeeping(self, count_name: str) -> bool:
        return count_name.startswith("other")


RECORD, PART = "record", "part"

TITLE_CHARACTERS = 120


class RowStart(NamedTuple):
    """Position of a row's text in the concatenation of all texts. `start`: offset of its first byte."""

    start: int
    row: str


class RowTexts:
    """Concatenated row texts, which give every value an offset."""

    def __init__(self) -> None:
        self._places: list[RowStart] = []
        self._start_of: dict[str, int] = {}
        self._end = 0

    def put(self, row: str, text: bytes) -> FileNode:
        """Return the value in a row's text, appending the text on first use."""
        start = self._start_of.get(row)
        if start is None:
            start = self._start_of[row] = self._end
            self._places.append(RowStart(start, row))
            self._end += len(text) + 1
        return FileNode(text, start)

    def name_of(self, origin: Origin) -> str:
        """Return the row name and the place inside the row for an origin."""
        place = self._places[bisect_right(self._places, origin.offset, key=lambda one: one.start) - 1]
        return f"{place.row} {origin.offset - place.start} {origin.length}"


class TapRows(RowInterpreter):
    """Interpreter for the rows of one session."""

    known_tables = frozenset(("record_blobs", "records", "sessions"))

    def __init__(self, session: str) -> None:
        """Initialize for a session id, empty for the session last written."""
        super().__init__()
        self._session = session
        self._columns: Columns = {}
        self._begin()

    def _begin(self) -> None:
        self.builder = SessionBuilder()
        self._log = ExchangeLog(self.builder)
        self._shelf = RowTexts()
        self._known: list[int] = []

    def read(self, connection: sqlite3.Connection) -> None:
        self._columns.clear()
        selector = Selector(connection, self._columns)
        rows = _sessions(selector)
        row = next((one for one in rows if one.get("id") == self._session or not self._session), None)
        if row is None:
            raise RowsGoneError(f"no session {self._session}".strip())
        self._session = string(row.get("id"))
        columns = ("record_index", "payload_json")
        names, records = selector.select(
            "records", columns, "WHERE session_id = ? ORDER BY record_index", self._session
        )
        marks = [hash(values) for values in records]
        if marks[: len(self._known)] != self._known:
            self._begin()
        self.builder.identifier = clean_text(self._session)
        self.builder.agent = clean_string(row.get("client")) or "claude-tap"
        parts: dict[str, FileNode | None] = {}
        for values in records[len(self._known) :]:
            record = dict(zip(names, values, strict=True))
            self._take(record, lambda name: self._part(selector, name, parts))
        self._known = marks

    def settle(self) -> None:
        """Do nothing: `read` already adds everything."""

    def name_of(self, origin: Origin) -> str:
        return self._shelf.name_of(origin)

    blocks_of_record = staticmethod(blocks_of_record)

    def fetch(self, connection: sqlite3.Connection, name: str) -> bytes | None:
        kind, row, start, length = name.split(" ")
        selector = Selector(connection, self._columns)
        if kind == RECORD:
            rows = selector.rows(
                "records", ("payload_json",), "WHERE session_id = ? AND record_index = ?", self._session, int(row)
            )
        else:
            rows = _part_rows(selector, self._session, row)
        text = string(rows[0].get("payload_json")).encode(errors="replace") if rows else None
        return None if text is None else text[int(start) : int(start) + int(length)]

    def _take(self, record: Row, part: Callable[[str], FileNode | None]) -> None:
        index, text = record.get("record_index"), string(record.get("payload_json")).encode(errors="replace")
        if not isinstance(index, int):
            self.builder.diagnose("not a record", 0, 0, skipped=True)
            return
        node = self._shelf.put(f"{RECORD} {index}", text)
        place = max(index, 0)
        if not text.lstrip().startswith(b"{") or not isinstance(value := node.value(), dict):
            self.builder.diagnose("not a record", place, 0, skipped=True)
            return
        if not is_record(value):
            self.builder.record_counts["other"] += 1
            return

        def linked(name: str) -> FileNode | None:
            found = part(name)
            if found is None:
                self.builder.diagnose("part of the record is missing", place, 0, skipped=False)
            return found

        try:
            for exchange in exchanges_in(LinkedNode(node, linked)):
                self._log.add(exchange)
        except RecursionError:
            self.builder.diagnose("JSON nested too deeply", place, 0, skipped=True)

    def _part(self, selector: Selector, name: str, known: dict[str, FileNode | None]) -> FileNode | None:
        """Return a deduplicated part; None if it is missing."""
        if name not in known:
            rows = _part_rows(selector, self._session, name) if " " not in name else []
            text = string(rows[0].get("payload_json")).encode(errors="replace") if rows else b""
            known[name] = self._shelf.put(f"{PART} {name}", text) if text else None
        return known[name]


def _part_rows(selector: Selector, session: str, name: str) -> list[Row]:
    return selector.rows("record_blobs", ("payload_json",), "WHERE session_id = ? AND hash = ?", session, name)


def sessions_inside(path: Path, connection: sqlite3.Connection) -> list[ContainedSession]:
    selector = Selector(connection)
    counted = connection.execute("SELECT session_id, COUNT(*) FROM records GROUP BY session_id")
    filled = {name for name, _ in counted.fetchall()}
    return [
        ContainedSession(
            Locator(path, name).path,
            clean_text(name),
            title=_title(row),
            modified=seconds(string(row.get("updated_at"))) or 0.0,
        )
        for row in _sessions(selector)
        if (name := string(row.get("id"))) in filled
    ]


def _title(row: Row) -> str:
    """Return the beginning of the first prompt, as stored by claude-tap."""
    text = string(row.get("summary_json"))
    summary = mapping(json_in(text)) if text.startswith("{") else {}
    return clean_string(summary.get("first_user"))[:TITLE_CHARACTERS]


def _sessions(selector: Selector) -> list[Row]:
    """Return the rows of all sessions, last written first."""
    columns = ("id", "client", "started_at", "updated_at", "summary_json", "record_count")
    rows = [row for row in selector.rows("sessions", columns, "") if isinstance(row.get("id"), str) and row["id"]]
    written = [row for row in rows if row.get("record_count") != 0]
    rows = written or rows
    rows.sort(key=lambda row: (seconds(string(row.get("updated_at"))) or 0.0, string(row.get("id"))), reverse=True)
    return rows


class TapInterpreter(RecordInterpreter):
    """Builds a session from records on lines."""

    def __init__(self) -> None:
        super().__init__()
        self.builder.agent = "claude-tap"
        self._log = ExchangeLog(self.builder)

    def add(self, record: Record) -> None:
        if not is_record(record.value):
            self.builder.record_counts["other"] += 1
            return
        for exchange in exchanges_in(FileNode(record.data, record.offset)):
            self._log.add(exchange)

    blocks_of_record = staticmethod(blocks_of_record)


class BundleInterpreter(DocumentInterpreter):
    """Builds a session from a bundle."""

    def __init__(self) -> None:
        super().__init__()
        self.builder.agent = "claude-tap"

    def take_document(self, document: Node) -> None:
        fields = document.fields()
        blobs = fields.fields_of("blobs")
        log = ExchangeLog(self.builder)
        for item, value in object_nodes(fields.items_of("records"), "a record", self.builder):
            try:
                self._take(log, item, value, blobs)
            except RecursionError:
                self.builder.diagnose("JSON nested too deeply", 0, item.offset, skipped=True)

    def _take(self, log: ExchangeLog, item: Node, value: object, blobs: Fields) -> None:
        if not is_record(value):
            self.builder.record_counts["other"] += 1
            return

        def linked(name: str) -> Node | None:
            found = blobs.fields_of(name).get("payload")
            if found is None:
                self.builder.diagnose("part of the record is missing", 0, item.offset, skipped=False)
            return found

        for exchange in exchanges_in(LinkedNode(item, linked)):
            log.add(exchange)

    blocks_of_record = staticmethod(blocks_of_record)


def tap_reader(path: Path, name: str) -> Reader:
    sample = Sample(Locator.of(path).file)
    if sample.is_database:
        return SqliteReader(path, name, TapRows(Locator.of(path).session))
    if is_bundle(sample.only_value):
        return JsonReader(path, name, BundleInterpreter)
    return JsonlReader(path, name, TapInterpreter())


FORMATS = (ClaudeTapFormat(),)
