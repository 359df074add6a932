"""Read sessions from OpenCode's database, with rows updated in place while a response streams.

Version 2 copies the sessions of version 1 into its own tables, under the same session and message ids, and leaves the
old tables as they are. Copies lack the usage of compactions and the original text of cleared results, so messages in
both are read from the old tables.
"""

from __future__ import annotations

import json
from dataclasses import replace
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from inspector.session.builder import SessionBuilder
from inspector.session.files import Locator
from inspector.session.format import ContainedSession
from inspector.session.formats.opencode import version_2
from inspector.session.formats.opencode.blocks import (
    OpenCodeInfo,
    OpenCodeMessage,
    OpenCodePart,
    RecordedUsage,
    blocks_of_record,
    message_of,
    part_of,
)
from inspector.session.formats.opencode.reader import MessageWithParts, fill, with_parts
from inspector.session.json.codec import json_in, lenient_json
from inspector.session.json.values import mapping, seconds_of_any, string
from inspector.session.model import Origin, Role
from inspector.session.sqlite import Selector, columns_of_tables
from inspector.session.sqlite_reader import RowInterpreter, RowsGoneError

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from inspector.session.blocks import TextBlock

    Columns = Mapping[str, frozenset[str]]


LISTED = {
    "message": "SELECT id, time_updated, time_created FROM message WHERE session_id = ? ORDER BY time_created, id",
    "part": "SELECT id, time_updated, message_id FROM part WHERE session_id = ? ORDER BY id",
    version_2.TABLE: (
        "SELECT id, time_updated, seq, type, time_created FROM session_message WHERE session_id = ? ORDER BY seq"
    ),
}
"""Queries that list rows without the data column, which holds most of the bytes."""

DATA = {
    table: f"SELECT id, CAST(data AS BLOB) FROM {table} WHERE id IN (SELECT value FROM json_each(?))"  # noqa: S608
    for table in LISTED
}

SESSION_TABLES = ("session_v2", "session")
"""Tables of sessions, the newer first."""

LISTED_COLUMNS = ("id", "title", "directory", "parent_id", "time_updated")

SESSION_COLUMNS = (
    *LISTED_COLUMNS,
    *("version", "revert", "time_created", "fork_session_id", "fork_boundary", "fork_message_id", "cost"),
    *("tokens_input", "tokens_output", "tokens_reasoning", "tokens_cache_read", "tokens_cache_write"),
)
"""Columns of a session that are read; others hold whole patches."""

COPIED = """SELECT MAX(own.seq) FROM session_message own JOIN session_message other
ON other.seq = own.seq AND other.type = own.type AND other.time_created = own.time_created
WHERE own.session_id = ? AND other.session_id = ?"""
"""Query for the last message that a fork copied: copies keep their place, type and time."""

WITHIN = " AND own.seq <= (SELECT seq FROM session_message WHERE id = ?)"

View = TypeVar("View")

RECENT_MILLISECONDS = 2000
"""Rows updated within this time of the newest are read again: two updates may have the same timestamp."""


class ReadRow(NamedTuple, Generic[View]):
    """A row as last read.

    Attributes:
        updated: Time of the update as stored.
        kind: Role of a part's message, or type of a row of version 2: the same data is read differently.
        digest: Digest of its data.
        view: The parsed row; None if it cannot be read.
    """

    updated: Any
    kind: str
    digest: bytes
    view: View | None


class OpenCodeRows(RowInterpreter):
    """Interpreter for the rows of one session."""

    known_tables = frozenset(
        {
            *LISTED,
            *SESSION_TABLES,
            *("event", "instruction_checkpoint", "instruction_entry", "permission", "session_context_epoch"),
            *("session_entry", "session_inbox", "session_input", "session_pending", "session_share", "todo"),
        }
    )

    def __init__(self, session: str, agent: str) -> None:
        """Initialize for a session id, empty for the newest session that is not a subagent's."""
        super().__init__()
        self._session = session
        self._agent = agent
        self._view = OpenCodeInfo()
        self._messages: dict[str, ReadRow[OpenCodeMessage]] = {}
        self._parts: dict[str, ReadRow[OpenCodePart]] = {}
        self._parts_of: dict[str, list[str]] = {}
        self._stored: dict[str, MessageWithParts] = {}
        self._later = LaterRows()

    def read(self, connection: sqlite3.Connection) -> None:
        """Read the current rows; data is loaded only for changed ones."""
        columns = columns_of_tables(connection)
        view = _session(connection, columns, self._session)
        if view is None:
            what = f"no session {self._session}" if self._session else "no sessions"
            raise RowsGoneError(f"{what} in this database")
        self._view, self._session = view, view.identifier
        messages = _listed(connection, "message", self._session) if "message" in columns else []
        parts = _listed(connection, "part", self._session) if "part" in columns else []
        created = {identifier: seconds_of_any(time) for identifier, _, time in messages}
        for identifier, updated, data in _changed(connection, "message", messages, self._messages):
            self._messages[identifier] = self._message(identifier, updated, created[identifier], data)
        self._messages = {name: self._messages[name] for name in created if name in self._messages}
        message_of = {identifier: message for identifier, _, message in parts}
        roles = {name: row.view.role if row.view is not None else Role.OTHER for name, row in self._messages.items()}
        for identifier, updated, data in _changed(connection, "part", parts, self._parts):
            role = roles.get(message_of[identifier], Role.OTHER)
            self._parts[identifier] = self._part(identifier, updated, role, data)
        self._parts = {name: self._parts[name] for name in message_of if name in self._parts}
        self._parts_of = {}
        for identifier in self._parts:
            self._parts_of.setdefault(message_of[identifier], []).append(identifier)
        # Before version 2, this table holds other records, or copies of the old messages under other ids.
        if "seq" in columns.get(version_2.TABLE, ()) and (view.is_second or not messages):
            self._later.read(connection, view, {identifier: time for identifier, _, time in messages})

    def settle(self) -> None:
        builder = self.builder = SessionBuilder()
        messages = ((name, row.view) for name, row in self._messages.items())
        self._stored = with_parts(builder, self._view, messages, self._parts_in, self._stored)
        fill(builder, self._view, [*self._stored.values(), *self._later.stored(builder, self._view)], self._agent)

    def _parts_in(self, message: str) -> Iterator[tuple[str, OpenCodePart | None]]:
        return ((part, self._parts[part].view) for part in self._parts_of.get(message, ()))

    @staticmethod
    def blocks_of_record(record: bytes, origin: Origin, /) -> Sequence[TextBlock]:
        return (version_2.blocks_of_record if version_2.is_row(origin) else blocks_of_record)(record, origin)

    def fetch(self, connection: sqlite3.Connection, name: str) -> bytes | None:
        table, _, identifier = name.partition("/")
        if table == version_2.TABLE:
            identifier = identifier.partition("/")[2]
        rows = connection.execute(DATA[table], (json.dumps([identifier]),)).fetchall() if table in DATA else []
        return next((data for _, data in rows if isinstance(data, bytes)), None)

    def _message(self, identifier: str, updated: Any, created: float | None, data: bytes) -> ReadRow[OpenCodeMessage]:
        return _read_row(
            self._messages.get(identifier),
            ReadRow(updated, "", blake2b(data, digest_size=16).digest(), None),
            data,
            lambda value: message_of(value, identifier, created, Origin(0, len(data), 0, 0, f"message/{identifier}")),
        )

    def _part(self, identifier: str, updated: Any, role: Role, data: bytes) -> ReadRow[OpenCodePart]:
        return _read_row(
            self._parts.get(identifier),
            ReadRow(updated, role, blake2b(data, digest_size=16).digest(), None),
            data,
            lambda value: part_of(value, identifier, role, Origin(0, len(data), 0, 0, f"part/{identifier}")),
        )


class LaterRows:
    """The messages of one session in the table of version 2."""

    def __init__(self) -> None:
        self._rows: dict[str, ReadRow[tuple[OpenCodeMessage, tuple[OpenCodePart, ...]]]] = {}
        self._copied: dict[str, bool | None] = {}
        self._stored: dict[str, MessageWithParts] = {}

    def read(self, connection: sqlite3.Connection, session: OpenCodeInfo, older: Mapping[str, Any]) -> None:
        """Read the rows that are not in the old tables.

        Args:
            connection: The database.
            session: The session.
            older: Times of the messages in the old tables, by id.
        """
        listed = _listed(connection, version_2.TABLE, session.identifier)
        last = max((time for time in older.values() if isinstance(time, (int, float))), default=None)
        kinds = {
            identifier: string(kind)
            for identifier, _, _, kind, time in listed
            if identifier not in older and not (kind == "synthetic" and _is_until(time, last))
        }
        for identifier, updated, data in _changed(
            connection, version_2.TABLE, [row for row in listed if row[0] in kinds], self._rows
        ):
            self._rows[identifier] = self._row(identifier, updated, kinds[identifier], data)
        self._rows = {name: self._rows[name] for name in kinds if name in self._rows}
        until = _copied_until(connection, session) if session.origin else -1
        self._copied = {name: None if until is None else seq <= until for name, _, seq, *_ in listed}

    def stored(self, builder: SessionBuilder, session: OpenCodeInfo) -> list[MessageWithParts]:
        """Return the messages with their parts; unreadable ones become diagnostics."""
        before, self._stored = self._stored, {}
        for identifier, row in self._rows.items():
            if row.view is None:
                builder.diagnose(f"message {identifier} cannot be read", 0, 0, skipped=True)
                continue
            message, parts = row.view
            made = MessageWithParts.of(message, parts, session, self._copied.get(identifier))
            known = before.get(identifier)
            is_same = known is not None and known.parts is parts and known.is_inherited == made.is_inherited
            self._stored[identifier] = known if known is not None and is_same else made
        return list(self._stored.values())

    def _row(
        self, identifier: str, updated: Any, kind: str, data: bytes
    ) -> ReadRow[tuple[OpenCodeMessage, tuple[OpenCodePart, ...]]]:
        origin = Origin(0, len(data), 0, 0, version_2.row_name(kind, identifier))
        return _read_row(
            self._rows.get(identifier),
            ReadRow(updated, kind, blake2b(data, digest_size=16).digest(), None),
            data,
            lambda value: version_2.message_and_parts(kind, value, identifier, origin),
        )


def _is_until(time: object, last: float | None) -> bool:
    """Return True if a row belongs to a copied message: version 2 splits off the text that the agent added."""
    return last is not None and isinstance(time, (int, float)) and time <= last


def _copied_until(connection: sqlite3.Connection, session: OpenCodeInfo) -> int | None:
    """Return the sequence number of the last message that a fork copied; None if its origin does not show it."""
    values = (session.identifier, session.origin)
    for query, bound in ((COPIED + WITHIN, (*values, session.boundary)), (COPIED, values)):
        found = connection.execute(query, bound).fetchone()[0]
        if isinstance(found, int):
            return found
    return None


def _read_row(
    before: ReadRow[View] | None, now: ReadRow[View], data: bytes, make: Callable[[dict[str, Any]], View]
) -> ReadRow[View]:
    """Parse a row, or reuse the earlier result if its data is the same."""
    if before is not None and (now.digest, now.kind) == (before.digest, before.kind):
        return before._replace(updated=now.updated)
    value = lenient_json(data)[0]
    return now._replace(view=make(value)) if isinstance(value, dict) else now


def sessions_of_database(path: Path, connection: sqlite3.Connection) -> list[ContainedSession]:
    """List the sessions of a database, newest first."""
    found = _views(connection)
    return [
        ContainedSession(
            path=Locator(path, view.identifier).path,
            identifier=view.identifier,
            title=view.title,
            parent=view.parent,
            working_directory=view.directory,
            modified=view.modified,
        )
        for view in sorted(found, key=lambda view: (-view.modified, view.identifier))
    ]


def _session(connection: sqlite3.Connection, columns: Columns, identifier: str) -> OpenCodeInfo | None:
    """Return the named session, otherwise the newest top-level one, otherwise the newest."""
    selector = Selector(connection, dict(columns))
    tables = [table for table in SESSION_TABLES if table in columns]
    if not identifier:
        listed = [row for table in tables for row in selector.rows(table, ("id", "parent_id", "time_updated"), "")]
        found = [_view_of(row) for row in {string(row.get("id")): row for row in reversed(listed)}.values()]
        own = [view for view in found if not view.parent] or found
        newest = min(own, key=lambda view: (-view.modified, view.identifier), default=OpenCodeInfo())
        identifier = newest.identifier
    for table in tables:
        if rows := selector.rows(table, SESSION_COLUMNS, "WHERE id = ?", identifier):
            children: dict[str, None] = {}
            for other in tables:
                if "parent_id" in columns[other]:
                    started = selector.rows(other, ("id",), "WHERE parent_id = ?", identifier)
                    children |= dict.fromkeys(string(row["id"]) for row in started)
            view = _view_of(rows[0], is_second=table == SESSION_TABLES[0])
            return replace(view, children=tuple(child for child in children if child != identifier))
    return None


def _views(connection: sqlite3.Connection) -> list[OpenCodeInfo]:
    """Return all sessions without duplicates."""
    columns = columns_of_tables(connection)
    selector = Selector(connection, columns)
    found: dict[str, OpenCodeInfo] = {}
    for table in SESSION_TABLES:
        for row in selector.rows(table, LISTED_COLUMNS, "") if table in columns else ():
            found.setdefault(string(row.get("id")), _view_of(row))
    return list(found.values())


def _view_of(row: Mapping[str, Any], *, is_second: bool = False) -> OpenCodeInfo:
    revert = mapping(json_in(string(row.get("revert"))))
    boundary = string(row.get("fork_boundary")) or string(row.get("fork_message_id"))
    cache = {"read": row.get("tokens_cache_read"), "write": row.get("tokens_cache_write")}
    tokens = {name: row.get(f"tokens_{name}") for name in ("input", "output", "reasoning")}
    return OpenCodeInfo(
        identifier=string(row.get("id")),
        title=string(row.get("title")),
        directory=string(row.get("directory")),
        version=string(row.get("version")),
        parent=string(row.get("parent_id")),
        reverted_message=string(revert.get("messageID")),
        reverted_part=string(revert.get("partID")),
        created=seconds_of_any(row.get("time_created")),
        modified=seconds_of_any(row.get("time_updated")) or 0.0,
        origin=string(row.get("fork_session_id")),
        boundary=string(mapping(json_in(boundary)).get("messageID")) or boundary,
        recorded=RecordedUsage.of(tokens | {"cache": cache}, row.get("cost")) if is_second else None,
        is_second=is_second,
    )


def _listed(connection: sqlite3.Connection, table: str, session: str) -> list[tuple[Any, ...]]:
    """List a session's rows without their data, skipping non-text ids."""
    rows = connection.execute(LISTED[table], (session,)).fetchall()
    return [row for row in rows if isinstance(row[0], str)]


def _changed(
    connection: sqlite3.Connection,
    table: str,
    listed: Sequence[tuple[Any, ...]],
    known: Mapping[str, ReadRow[Any]],
) -> Iterator[tuple[str, Any, bytes]]:
    """Yield the listed rows that may have changed, with their data; empty if it cannot be read."""
    times = [updated for _, updated, *_ in listed if isinstance(updated, (int, float))]
    recent = max(times, default=0) - RECENT_MILLISECONDS
    wanted = {
        identifier: updated
        for identifier, updated, *_ in listed
        if (before := known.get(identifier)) is None
        or before.updated != updated
        or not isinstance(updated, (int, float))
        or updated >= recent
    }
    if not wanted:
        return
    found = {}
    for identifier, content in connection.execute(DATA[table], (json.dumps(list(wanted)),)):
        found[identifier] = content if isinstance(content, bytes) else b""
    # In a damaged database an index may point to missing or other rows; listed rows not found are unreadable.
    for identifier, updated in wanted.items():
        yield identifier, updated, found.get(identifier, b"")
