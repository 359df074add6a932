"""Read sessions from OpenCode's database, with rows updated in place while a response streams.

Only the tables of sessions, messages and parts are read; others hold credentials.
"""

from __future__ import annotations

import json
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from inspector.session.builder import SessionBuilder
from inspector.session.files import Locator
from inspector.session.format import ContainedSession
from inspector.session.formats.opencode.blocks import (
    OpenCodeInfo,
    OpenCodeMessage,
    OpenCodePart,
    blocks_of_record,
    message_of,
    part_of,
)
from inspector.session.formats.opencode.reader import MessageWithParts, fill, with_parts
from inspector.session.json.codec import json_in, lenient_json
from inspector.session.json.values import mapping, seconds_of_any, string
from inspector.session.model import Origin, Role
from inspector.session.sqlite_reader import RowInterpreter, RowsGoneError

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from inspector.session.blocks import TextBlock


LISTED = {
    "message": "SELECT id, time_updated, time_created FROM message WHERE session_id = ? ORDER BY time_created, id",
    "part": "SELECT id, time_updated, message_id FROM part WHERE session_id = ? ORDER BY id",
}
"""Queries that list rows without the data column, which holds most of the bytes."""

DATA = {
    "message": "SELECT id, CAST(data AS BLOB) FROM message WHERE id IN (SELECT value FROM json_each(?))",
    "part": "SELECT id, CAST(data AS BLOB) FROM part WHERE id IN (SELECT value FROM json_each(?))",
}

View = TypeVar("View")

RECENT_MILLISECONDS = 2000
"""Rows updated within this time of the newest are read again: two updates may have the same timestamp."""


class ReadRow(NamedTuple, Generic[View]):
    """A row as last read.

    Attributes:
        updated: Time of the update as stored.
        role: Role used for reading a part: its message's role.
        digest: Digest of its data.
        view: The parsed row; None if it cannot be read.
    """

    updated: Any
    role: Role
    digest: bytes
    view: View | None


class OpenCodeRows(RowInterpreter):
    """Interpreter for the rows of one session."""

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

    def read(self, connection: sqlite3.Connection) -> None:
        """Read the current rows; data is loaded only for changed ones."""
        view = _session(connection, self._session)
        if view is None:
            what = f"no session {self._session}" if self._session else "no sessions"
            raise RowsGoneError(f"{what} in this database")
        self._view, self._session = view, view.identifier
        messages = _listed(connection, "message", self._session)
        parts = _listed(connection, "part", self._session)
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

    def settle(self) -> None:
        builder = self.builder = SessionBuilder()
        messages = ((name, row.view) for name, row in self._messages.items())
        self._stored = with_parts(builder, self._view, messages, self._parts_in, self._stored)
        fill(builder, self._view, list(self._stored.values()), self._agent)

    def _parts_in(self, message: str) -> Iterator[tuple[str, OpenCodePart | None]]:
        return ((part, self._parts[part].view) for part in self._parts_of.get(message, ()))

    @staticmethod
    def blocks_of_record(record: bytes, origin: Origin, /) -> Sequence[TextBlock]:
        return blocks_of_record(record, origin)

    def fetch(self, connection: sqlite3.Connection, name: str) -> bytes | None:
        table, _, identifier = name.partition("/")
        rows = connection.execute(DATA[table], (json.dumps([identifier]),)).fetchall() if table in DATA else []
        return next((data for _, data in rows if isinstance(data, bytes)), None)

    def _message(self, identifier: str, updated: Any, created: float | None, data: bytes) -> ReadRow[OpenCodeMessage]:
        return _read_row(
            self._messages.get(identifier),
            ReadRow(updated, Role.OTHER, blake2b(data, digest_size=16).digest(), None),
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


def _read_row(
    before: ReadRow[View] | None, now: ReadRow[View], data: bytes, make: Callable[[dict[str, Any]], View]
) -> ReadRow[View]:
    """Parse a row, or reuse the earlier result if its data is the same."""
    if before is not None and (now.digest, now.role) == (before.digest, before.role):
        return before._replace(updated=now.updated)
    value = lenient_json(data)[0]
    return now._replace(view=make(value)) if isinstance(value, dict) else now


def sessions_of_database(path: Path, connection: sqlite3.Connection) -> list[ContainedSession]:
    """List the sessions of a database, newest first."""
    found = [_view_of(row) for row in _session_rows(connection)]
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


def _session(connection: sqlite3.Connection, identifier: str) -> OpenCodeInfo | None:
    """Return the named session, otherwise the newest top-level one, otherwise the newest."""
    found = [_view_of(row) for row in _session_rows(connection)]
    if identifier:
        return next((view for view in found if view.identifier == identifier), None)
    own = [view for view in found if not view.parent] or found
    return min(own, key=lambda view: (-view.modified, view.identifier), default=None)


def _session_rows(connection: sqlite3.Connection) -> Iterator[dict[str, Any]]:
    rows = connection.execute("SELECT * FROM session")
    names = [column[0] for column in rows.description]
    for row in rows:
        yield dict(zip(names, row, strict=True))


def _view_of(row: Mapping[str, Any]) -> OpenCodeInfo:
    revert = mapping(json_in(string(row.get("revert"))))
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
    )


def _listed(connection: sqlite3.Connection, table: str, session: str) -> list[tuple[str, Any, Any]]:
    """List a session's rows without their data, skipping non-text ids."""
    rows = connection.execute(LISTED[table], (session,)).fetchall()
    return [row for row in rows if isinstance(row[0], str)]


def _changed(
    connection: sqlite3.Connection,
    table: str,
    listed: Sequence[tuple[str, Any, Any]],
    known: Mapping[str, ReadRow[Any]],
) -> Iterator[tuple[str, Any, bytes]]:
    """Yield the listed rows that may have changed, with their data; empty if it cannot be read."""
    times = [updated for _, updated, _ in listed if isinstance(updated, (int, float))]
    recent = max(times, default=0) - RECENT_MILLISECONDS
    wanted = {
        identifier: updated
        for identifier, updated, _ in listed
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
