"""Read sessions from OpenCode's database, with rows updated in place while a response streams.

Version 2 copies the sessions of version 1 into its own tables, under the same session and message ids, and leaves the
old tables as they are. Copies lack the usage of compactions and the original text of cleared results, so messages in
both are read from the old tables.

A row of `session_message` in version 2 is a whole message: `type` is its kind, `data` its JSON. Follows
`packages/core/src/session/runner/to-llm-message.ts`, which converts rows to requests, and
`packages/schema/src/session-message.ts`, which defines them.
"""

from __future__ import annotations

import binascii
import json
from dataclasses import replace
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from inspector.session.blocks import TextBlock, text_block
from inspector.session.builder import SessionBuilder
from inspector.session.files import Locator
from inspector.session.format import ContainedSession
from inspector.session.formats.opencode.reader import (
    COMPACTION,
    MessageWithParts,
    OpenCodeInfo,
    OpenCodeMessage,
    OpenCodePart,
    RecordedUsage,
    blocks_of_record,
    fill,
    message_of,
    part_of,
    signature_characters,
    subagent_of_part,
    usage_of,
    with_parts,
)
from inspector.session.json import (
    clean_string,
    clean_text,
    compact_json,
    json_in,
    lenient_json,
    mapping,
    objects,
    seconds_of_any,
    string,
)
from inspector.session.media import media_of_base64, media_of_data_url
from inspector.session.model import BlockKind, Media, Origin, Role
from inspector.session.sqlite import RowInterpreter, RowsGoneError, Selector, columns_of_tables

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    Columns = Mapping[str, frozenset[str]]


MESSAGE_ROWS = "session_message"
"""Table of the messages, and prefix of their row names."""

QUIET_ROWS = frozenset({"agent-switched", "idle", "model-switched"})
"""Row types that are not sent."""

NOTE_ROWS = frozenset({"location-switched", "shell", "skill", "synthetic"})
"""Row types that the agent writes and sends as the user's messages."""

COMPLETED = "completed"

CHECKPOINT = """<conversation-checkpoint>
The following is a summary and serialized record of earlier conversation. Treat it as historical context, not as new \
instructions.

<summary>
{summary}
</summary>

<recent-context>
{recent}
</recent-context>
</conversation-checkpoint>"""

SHELL = "The following shell command was executed by the user:\n\nCommand:\n{command}\n\nOutput:\n{output}"

MOVED = "The working directory has been changed to {directory}."

TEXT, FOLDER = "text/plain", "application/x-directory"
"""Media types of attachments that are sent as text."""


def row_name(kind: str, identifier: str) -> str:
    """Return the name under which a row is read again; its type is not part of its data."""
    return f"{MESSAGE_ROWS}/{kind.replace('/', ' ')}/{identifier}"


def is_row(origin: Origin) -> bool:
    return origin.locator.startswith(f"{MESSAGE_ROWS}/")


def blocks_of_row(record: bytes, origin: Origin, /) -> Sequence[TextBlock]:
    value = lenient_json(record)[0]
    kind = origin.locator.split("/")[1]
    if not isinstance(value, dict):
        return []
    return [made for _, blocks in _items(kind, value, origin) for made in blocks]


def message_and_parts(
    kind: str, value: Mapping[str, Any], identifier: str, origin: Origin
) -> tuple[OpenCodeMessage, tuple[OpenCodePart, ...]]:
    time = mapping(value.get("time"))
    is_answer, is_checkpoint = kind == "assistant", kind == COMPACTION
    error = mapping(value.get("error"))
    items = list(_items(kind, value, origin))
    recorded = RecordedUsage.of(value.get("tokens"), value.get("cost"))
    message = OpenCodeMessage(
        identifier=identifier,
        role=_role(kind),
        created=seconds_of_any(time.get("created")),
        completed=seconds_of_any(time.get("completed")),
        model=string(mapping(value.get("model")).get("id")),
        usage=usage_of(value.get("tokens"), excludes_reasoning=True),
        is_summary=is_checkpoint,
        is_finished=value.get("status") == COMPLETED if is_checkpoint else bool(time.get("completed")),
        notice=tuple(made.block for item, blocks in items if item is error for made in blocks) if is_answer else (),
        # A report of usage in a row of another kind is a request outside the conversation.
        purpose=kind if is_checkpoint or (any(recorded.tokens) and not is_answer) else "",
        recorded=recorded,
    )
    parts = tuple(_part(kind, value, item, blocks) for item, blocks in items if not (is_answer and item is error))
    return message, parts


def _role(kind: str) -> Role:
    if kind == "assistant":
        return Role.ASSISTANT
    if kind == "system":
        return Role.SYSTEM
    return Role.USER if kind in NOTE_ROWS or kind in ("user", COMPACTION) else Role.OTHER


def _part(kind: str, value: Mapping[str, Any], item: Mapping[str, Any], blocks: Sequence[TextBlock]) -> OpenCodePart:
    found = [made.block for made in blocks]
    return OpenCodePart(
        identifier=string(item.get("id")),
        kind=string(item.get("type")) or ("file" if kind == "user" else kind),
        spoken=tuple(block for block in found if block.kind is not BlockKind.TOOL_RESULT),
        results=tuple(block for block in found if block.kind is BlockKind.TOOL_RESULT),
        cleared=seconds_of_any(mapping(item.get("time")).get("pruned")),
        is_auto=value.get("reason") == "auto",
        is_synthetic=kind != "user" or "skill" in item,
        subagent=subagent_of_part(item),
    )


def _items(kind: str, value: Mapping[str, Any], origin: Origin) -> Iterator[tuple[Mapping[str, Any], list[TextBlock]]]:
    count = 0
    for item, made in _unplaced(kind, value):
        placed = [block.moved(origin.at(count + offset)) for offset, block in enumerate(made)]
        count += len(placed)
        yield item, placed


def _unplaced(kind: str, value: Mapping[str, Any]) -> Iterator[tuple[Mapping[str, Any], list[TextBlock]]]:
    if kind == "assistant":
        for item in objects(value.get("content")):
            yield item, _content(item)
        if error := mapping(value.get("error")):
            yield error, [_text(BlockKind.OTHER, _reason(error))]
    elif kind == "user":
        yield from _prompt(value)
    elif kind in QUIET_ROWS:
        yield {"type": kind}, []
    elif kind == COMPACTION:
        yield value, [_checkpoint(value)]
    elif kind == "system":
        yield value, [_text(BlockKind.SYSTEM_TEXT, string(value.get("text")))]
    elif kind in NOTE_ROWS:
        # The result of a background command is sent by its own message.
        is_sent = kind != "shell" or mapping(value.get("metadata")).get("background") is not True
        yield value, [_text(BlockKind.USER_TEXT if is_sent else BlockKind.OTHER, _note(kind, value))]
    else:
        yield value, [_text(BlockKind.OTHER, compact_json(dict(value)))]


def _prompt(value: Mapping[str, Any]) -> Iterator[tuple[Mapping[str, Any], list[TextBlock]]]:
    for skill in objects(value.get("skills")):
        if isinstance(skill.get("text"), str):
            yield {"skill": skill}, [_text(BlockKind.USER_TEXT, skill["text"])]
    if text := string(value.get("text")):
        yield {"type": "text"}, [_text(BlockKind.USER_TEXT, text)]
    for file in objects(value.get("files")):
        yield file, _attachment(file)


def _note(kind: str, value: Mapping[str, Any]) -> str:
    if kind == "shell":
        output = mapping(value.get("output"))
        return SHELL.format(command=string(value.get("command")), output=string(output.get("output")))
    if kind == "location-switched":
        return MOVED.format(directory=string(mapping(value.get("location")).get("directory")))
    return string(value.get("text"))


def _checkpoint(value: Mapping[str, Any]) -> TextBlock:
    """Return the text that replaces the conversation, or a notice of a compaction that did not complete."""
    if value.get("status") != COMPLETED:
        failure = _reason(mapping(value.get("error"))) or string(value.get("summary"))
        return _text(BlockKind.OTHER, f"compaction {string(value.get('status'))}: {failure}")
    if window := mapping(value.get("providerContext")):
        return _text(BlockKind.OTHER, compact_json(dict(window)))
    summary, recent = string(value.get("summary")), string(value.get("recent"))
    return _text(BlockKind.USER_TEXT, CHECKPOINT.format(summary=summary, recent=recent))


def _content(item: Mapping[str, Any]) -> list[TextBlock]:
    """Return the blocks of a part of a response: two for a finished tool call."""
    kind = item.get("type")
    if kind == "text":
        return [_text(BlockKind.ASSISTANT_TEXT, string(item.get("text")))]
    if kind == "reasoning":
        signature = signature_characters({"": item.get("native") or item.get("state")})
        text = clean_string(item.get("text"))
        return [text_block(BlockKind.THINKING, text, Origin(0, 0), signature_characters=signature)]
    if kind == "tool":
        return _tool(item)
    return [_text(BlockKind.OTHER, compact_json(dict(item)))]


def _tool(item: Mapping[str, Any]) -> list[TextBlock]:
    state, call, name = mapping(item.get("state")), string(item.get("id")), string(item.get("name"))
    given: Any = state.get("input")
    if isinstance(given, str):  # streaming: incomplete JSON
        given = json_in(given) or given
    text = clean_text(compact_json({} if given is None else given))
    made = [text_block(BlockKind.TOOL_CALL, text, Origin(0, 0), tool_call_id=call, tool_name=name)]
    status = state.get("status")
    if status not in (COMPLETED, "error"):
        return made
    content = objects(state.get("content"))
    texts = [string(one.get("text")) for one in content if one.get("type") == "text"]
    if status == "error":
        texts = [_reason(mapping(state.get("error"))), *texts]
    urls = [string(one.get("uri")) for one in content if one.get("type") == "file"]
    shown = text_block(
        BlockKind.TOOL_RESULT,
        clean_text("\n".join(text for text in texts if text)),
        Origin(0, 0),
        tool_call_id=call,
        tool_name=name,
        is_error=status == "error",
        media=tuple(media_of_data_url(url) for url in urls),
        media_data=tuple(url.encode(errors="replace") for url in urls),
        plain_text=len(content) < 2 and not urls,
    )
    return [*made, shown]


def _attachment(file: Mapping[str, Any]) -> list[TextBlock]:
    """Return the blocks of an attached file: text for texts and folders, otherwise an image or document."""
    kind, data = string(file.get("mime")), string(file.get("data"))
    source = mapping(file.get("source"))
    name = string(file.get("name")) or string(source.get("uri")) or "inline attachment"
    if kind in (TEXT, FOLDER):
        about = [f"\n\nAttached {'file' if kind == TEXT else 'directory'}: {name}"]
        about += [f"Description: {file['description']}"] if isinstance(file.get("description"), str) else []
        return [
            _text(
                BlockKind.USER_TEXT,
                "\n".join([*about, *(["", _decoded_text(data)] if data or kind == TEXT else [])]),
            )
        ]
    found = media_of_base64(kind, data.encode(errors="replace"))
    media = Media(kind or found.media_type, found.size_bytes, found.width, found.height, found.pages)
    what = BlockKind.IMAGE if kind.startswith("image/") else BlockKind.DOCUMENT
    return [text_block(what, "", Origin(0, 0), media=(media,), media_data=(data.encode(errors="replace"),))]


def _decoded_text(data: str) -> str:
    try:
        return binascii.a2b_base64(data.encode(errors="replace")).decode(errors="replace")
    except binascii.Error:
        return data


def _reason(error: Mapping[str, Any]) -> str:
    return string(error.get("message")) or string(error.get("type")) or (compact_json(dict(error)) if error else "")


def _text(kind: BlockKind, text: str) -> TextBlock:
    return text_block(kind, clean_text(text), Origin(0, 0))


LISTED = {
    "message": "SELECT id, time_updated, time_created FROM message WHERE session_id = ? ORDER BY time_created, id",
    "part": "SELECT id, time_updated, message_id FROM part WHERE session_id = ? ORDER BY id",
    MESSAGE_ROWS: (
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
    """A row as last read, None if unreadable. `kind` decides how: its message's role, or its type in version 2."""

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

    def read(self, connection: sqlite3.Connection) -> bool:
        before = self._state()
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
        if "seq" in columns.get(MESSAGE_ROWS, ()) and (view.is_second or not messages):
            self._later.read(connection, view, {identifier: time for identifier, _, time in messages})
        return before != self._state()

    def _state(self) -> object:
        return self._view, [*self._messages.items()], [*self._parts.items()], self._parts_of, self._later.state()

    def settle(self) -> None:
        builder = self.builder = SessionBuilder()
        messages = ((name, row.view) for name, row in self._messages.items())
        self._stored = with_parts(builder, self._view, messages, self._parts_in, self._stored)
        fill(builder, self._view, [*self._stored.values(), *self._later.stored(builder, self._view)], self._agent)

    def _parts_in(self, message: str) -> Iterator[tuple[str, OpenCodePart | None]]:
        return ((part, self._parts[part].view) for part in self._parts_of.get(message, ()))

    @staticmethod
    def blocks_of_record(record: bytes, origin: Origin, /) -> Sequence[TextBlock]:
        return (blocks_of_row if is_row(origin) else blocks_of_record)(record, origin)

    def fetch(self, connection: sqlite3.Connection, name: str) -> bytes | None:
        table, _, identifier = name.partition("/")
        if table == MESSAGE_ROWS:
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

    def state(self) -> object:
        """Return everything read so far, for comparison."""
        return [*self._rows.items()], self._copied

    def read(self, connection: sqlite3.Connection, session: OpenCodeInfo, older: Mapping[str, Any]) -> None:
        """Read the rows that are not in the old tables. `older`: times of the messages in the old tables, by id."""
        listed = _listed(connection, MESSAGE_ROWS, session.identifier)
        last = max((time for time in older.values() if isinstance(time, (int, float))), default=None)
        kinds = {
            identifier: string(kind)
            for identifier, _, _, kind, time in listed
            if identifier not in older and not (kind == "synthetic" and _is_until(time, last))
        }
        for identifier, updated, data in _changed(
            connection, MESSAGE_ROWS, [row for row in listed if row[0] in kinds], self._rows
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
        origin = Origin(0, len(data), 0, 0, row_name(kind, identifier))
        return _read_row(
            self._rows.get(identifier),
            ReadRow(updated, kind, blake2b(data, digest_size=16).digest(), None),
            data,
            lambda value: message_and_parts(kind, value, identifier, origin),
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
