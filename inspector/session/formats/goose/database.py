"""Read Goose's database (`crates/goose/src/session/session_manager.rs` in aaif-goose/goose, up to schema 17)."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from inspector.session.builder import SessionBuilder
from inspector.session.files import Locator
from inspector.session.format import ContainedSession
from inspector.session.formats.goose.reader import GooseMessage, blocks_of_record, describe, fill, goose_message
from inspector.session.formats.goose.records import FORWARDED_RECORDS, INTERNAL_TYPES
from inspector.session.formats.goose.usage import LEDGER, LEDGER_COLUMNS, ledger_row, match_ledger
from inspector.session.json.codec import clean_text, compact_json, json_in
from inspector.session.json.values import clean_string, mapping, seconds_of_any, string
from inspector.session.model import LinkKind, Origin, SessionLink
from inspector.session.sqlite import RowCache, Selector
from inspector.session.sqlite_reader import RowInterpreter, RowsGoneError

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Container
    from pathlib import Path

    from inspector.session.blocks import TextBlock
    from inspector.session.formats.goose.usage import LedgerRow
    from inspector.session.sqlite import Columns, Row

SESSION_COLUMNS = (
    *("id", "name", "description", "working_dir", "session_type", "updated_at", "model_config_json"),
    "parent_session_id",
)

MESSAGE_COLUMNS = ("id", "message_id", "role", "content_json", "created_timestamp", "metadata_json")

MESSAGE = "message "
"""Prefix of row names."""


class GooseRows(RowInterpreter):
    """Interpreter for the rows of one session."""

    known_tables = frozenset(("messages", "sessions", LEDGER))

    def __init__(self, session: str) -> None:
        """Initialize for a session id, empty for the newest session started by the user."""
        super().__init__()
        self._session = session
        self._about: Row = {}
        self._parent = ""
        self._children: list[str] = []
        self._ledger: list[LedgerRow | None] = []
        self._entries: list[GooseMessage] = []
        self._known = RowCache(_entry)
        self._columns: Columns = {}

    def read(self, connection: sqlite3.Connection) -> None:
        """Read the current rows, parsing only the changed ones.

        Raises:
            RowsGoneError: The session does not exist.
        """
        self._columns.clear()  # a new version adds columns
        selector = Selector(connection, self._columns)
        sessions = _sessions(selector)
        if not self._session and sessions:
            self._session = string((user_sessions(sessions) or sessions)[0]["id"])
        self._about = next((row for row in sessions if row["id"] == self._session), {})
        if not self._about:
            raise RowsGoneError(f"no session {self._session}".strip())
        self._parent = parent_of(self._about, {string(row["id"]) for row in sessions})
        self._children = [string(row["id"]) for row in sessions if row.get("parent_session_id") == self._session]
        condition = "WHERE session_id = ? ORDER BY id"
        self._known.begin()
        self._entries = self._known.made_of(*selector.select("messages", MESSAGE_COLUMNS, condition, self._session))
        self._ledger = [ledger_row(row) for row in selector.rows(LEDGER, LEDGER_COLUMNS, condition, self._session)]

    def settle(self) -> None:
        builder = self.builder = SessionBuilder()
        describe(self._about, builder)
        builder.record_counts["session"] += 1
        for role, count in Counter(entry.role for entry in self._entries).items():
            builder.record_counts[f"message:{role.value}"] += count
        requests = [row for row in self._ledger if row is not None]
        for name, count in (("usage", len(requests)), (FORWARDED_RECORDS, len(self._ledger) - len(requests))):
            if count:
                builder.record_counts[name] = count
        fill(builder, self._entries)
        model = mapping(json_in(string(self._about.get("model_config_json"))))
        match_ledger(builder, requests, string(model.get("model_name")))
        if self._parent:
            builder.link(SessionLink(LinkKind.PARENT, self._parent))
        known = {link.identifier for link in builder.links.values()}
        for child in self._children:
            if child not in known:
                builder.link(SessionLink(LinkKind.SUBAGENT, child))

    @staticmethod
    def blocks_of_record(record: bytes, origin: Origin, /) -> list[TextBlock]:
        return blocks_of_record(record, origin)

    def fetch(self, connection: sqlite3.Connection, name: str) -> bytes | None:
        selector = Selector(connection, self._columns)
        rows = selector.rows("messages", MESSAGE_COLUMNS, "WHERE id = ?", name.removeprefix(MESSAGE))
        return compact_json(rows[0]).encode(errors="replace") if rows else None


def parent_of(row: Row, sessions: Container[str]) -> str:
    """Return the parent of a subagent session; empty if it is not recorded or no longer exists."""
    parent = string(row.get("parent_session_id"))
    return parent if parent in sessions and parent != row["id"] else ""


def sessions_inside(path: Path, connection: sqlite3.Connection) -> list[ContainedSession]:
    """List the sessions in a database, newest first."""
    rows = _sessions(Selector(connection))
    identifiers = {string(row["id"]) for row in rows}
    return [
        ContainedSession(
            path=Locator(path, string(row["id"])).path,
            identifier=string(row["id"]),
            title=clean_text(string(row.get("name")) or string(row.get("description"))),
            # Older versions do not record a subagent's parent, only that it is a subagent.
            parent=parent_of(row, identifiers) or ("" if _is_of_person(row) else string(row.get("session_type"))),
            working_directory=clean_string(row.get("working_dir")),
            modified=seconds_of_any(row.get("updated_at")) or 0.0,
        )
        for row in rows
    ]


def user_sessions(sessions: list[Row]) -> list[Row]:
    identifiers = {string(row["id"]) for row in sessions}
    return [row for row in sessions if _is_of_person(row) and not parent_of(row, identifiers)]


def _is_of_person(row: Row) -> bool:
    return string(row.get("session_type")) not in INTERNAL_TYPES


def _sessions(selector: Selector) -> list[Row]:
    """Return the rows of all sessions, newest first."""
    rows = [row for row in selector.rows("sessions", SESSION_COLUMNS, "ORDER BY rowid DESC") if string(row.get("id"))]
    return sorted(rows, key=lambda row: -(seconds_of_any(row.get("updated_at")) or 0.0))


def _entry(row: Row) -> GooseMessage:
    return goose_message(row, Origin(0, 0, 0, 0, f"{MESSAGE}{row['id']}"))
