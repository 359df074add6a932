"""Read claude-tap's database: one row per session, per record, and per deduplicated part.

Rows are only appended, except that claude-tap completes some later. A growing session is therefore read incrementally,
and from the start if a known row changed.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING, NamedTuple

from inspector.session.builder import SessionBuilder
from inspector.session.files import Locator
from inspector.session.format import ContainedSession
from inspector.session.formats.claude_tap.records import LinkedNode, exchanges_in, is_record
from inspector.session.formats.claude_trace.exchanges import ExchangeLog, blocks_of_record
from inspector.session.json.codec import clean_text, json_in
from inspector.session.json.nodes import FileNode
from inspector.session.json.values import clean_string, mapping, seconds, string
from inspector.session.sqlite import Selector
from inspector.session.sqlite_reader import RowInterpreter, RowsGoneError

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable
    from pathlib import Path

    from inspector.session.blocks import TextBlock
    from inspector.session.model import Origin
    from inspector.session.sqlite import Columns, Row

RECORD, PART = "record", "part"
"""Prefixes of row names."""

TITLE_CHARACTERS = 120


class RowStart(NamedTuple):
    """Position of a row's text in the concatenation of all texts.

    Attributes:
        start: Offset of its first byte.
        row: The row's name.
    """

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
        """Read the current rows, parsing only the new ones.

        Raises:
            RowsGoneError: The session does not exist.
        """
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

    @staticmethod
    def blocks_of_record(record: bytes, origin: Origin, /) -> list[TextBlock]:
        return blocks_of_record(record, origin)

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
    """List the sessions with records in a database, newest first."""
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
