"""Read Hermes' database. Every version adds columns, so only existing ones are selected."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from inspector.session.builder import SessionBuilder
from inspector.session.files import Locator
from inspector.session.format import ContainedSession
from inspector.session.formats.hermes import (
    MESSAGE,
    MODEL_COLUMNS,
    SESSION,
    USAGE_COLUMNS,
    USAGE_TABLE,
    CompactionEvents,
    CompactionRecord,
    HermesMessage,
    StoredSession,
    add_compactions,
    blocks_of_row,
    blocks_of_row_again,
    blocks_of_session,
    fill,
    hermes_message,
    inherited,
    is_meta,
)
from inspector.session.json import clean_string, compact_json, json_in, mapping, seconds_of_any, string
from inspector.session.model import LinkKind, SessionLink
from inspector.session.sqlite import Columns, Row, RowCache, RowInterpreter, RowsGoneError, Selector

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Mapping
    from pathlib import Path


FORKS = ("_branched_from", "_delegate_from", "_reset_from")
"""Marks in `model_config` of sessions that begin from another one without continuing it."""


def chain_of(sessions: Mapping[str, Row], identifier: str) -> list[Row]:
    """Return the sessions of one conversation, in order."""
    followers = _followers(sessions)
    first = identifier
    seen = {first}
    while (parent := string(sessions[first].get("parent_session_id"))) in sessions and parent not in seen:
        if _next(sessions[parent], followers) is not sessions[first]:
            break
        first = parent
        seen.add(first)
    chain = [sessions[first]]
    seen = {first}
    while (following := _next(chain[-1], followers)) is not None and string(following["id"]) not in seen:
        seen.add(string(following["id"]))
        chain.append(following)
    return chain


def heads(sessions: Mapping[str, Row]) -> list[Row]:
    """Return the sessions that do not continue another one."""
    followers = _followers(sessions)
    continuing = {string(following["id"]) for row in sessions.values() if (following := _next(row, followers))}
    return [row for identifier, row in sessions.items() if identifier not in continuing]


def subagent_parent(sessions: Mapping[str, Row], row: Row) -> str:
    """Return the session that started a subagent; empty for a session started by the user."""
    parent = string(row.get("parent_session_id"))
    marks = _marks(row)
    is_branch = any(mark in marks for mark in ("_branched_from", "_reset_from"))
    if not is_branch and (string(row.get("source")) == "tool" or marks.get("_delegate_from") == parent):
        return parent  # also of a parent that was compressed later
    ended = string(sessions.get(parent, {}).get("end_reason"))
    return "" if is_branch or ended in ("branched", "compression", "session_reset", "session_switch") else parent


def branched_from(sessions: Mapping[str, Row], row: Row) -> str:
    """Return the session that a branch was copied from; empty if there is none or it is not in the database."""
    marks, parent = _marks(row), string(row.get("parent_session_id"))
    origin = string(marks.get("_branched_from"))
    is_unmarked = not any(mark in marks for mark in FORKS)
    if not origin and is_unmarked and string(sessions.get(parent, {}).get("end_reason")) == "branched":
        origin = parent
    return origin if origin in sessions and origin != row.get("id") else ""


def _followers(sessions: Mapping[str, Row]) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    for row in sessions.values():
        found.setdefault(string(row.get("parent_session_id")), []).append(row)
    return found


def _next(row: Row, followers: Mapping[str, list[Row]]) -> Row | None:
    """Return the session that continues this one, the newest of several."""
    mine = [child for child in followers.get(string(row.get("id")), ()) if _is_continued(row, child)]
    return max(mine, key=lambda child: (_number(child.get("started_at")), string(child.get("id"))), default=None)


def _is_continued(parent: Row, child: Row) -> bool:
    if string(parent.get("end_reason")) != "compression" or string(child.get("source")) == "tool":
        return False
    # Continuations inherit their parent's marks; only a mark that names the parent is the child's own.
    marks = _marks(child)
    return not any(marks.get(mark) == parent.get("id") for mark in FORKS)


def _marks(row: Row) -> Mapping[str, Any]:
    text = row.get("model_config")
    return mapping(json_in(text)) if isinstance(text, str) and "_from" in text else {}


def _number(value: object) -> float:
    return float(value) if isinstance(value, (int, float)) else 0.0


SESSION_COLUMNS = (
    *("id", "source", "model", "model_config", "parent_session_id", "started_at", "ended_at", "end_reason"),
    *("title", "cwd", "last_activity_at", *USAGE_COLUMNS),
)

MESSAGE_COLUMNS = (
    *("id", "session_id", "role", "content", "tool_call_id", "tool_calls", "tool_name", "timestamp", "finish_reason"),
    *("reasoning", "reasoning_content", "_compressed_summary", "active", "compacted", "api_content", "display_kind"),
    "message_uid",
)


class Tables:
    """Queries on a database of any version."""

    def __init__(self, connection: sqlite3.Connection, columns: Columns | None = None) -> None:
        self._selector = Selector(connection, columns)

    def sessions(self) -> dict[str, Row]:
        """Return the rows of all sessions by id, without the system prompt."""
        rows = self._selector.rows("sessions", SESSION_COLUMNS, "")
        return {string(row["id"]): row for row in rows if string(row.get("id"))}

    def messages(self, session: str) -> tuple[list[str], list[tuple[Any, ...]]]:
        """Return the column names and rows of a session's messages, in order of writing."""
        return self._selector.select("messages", MESSAGE_COLUMNS, "WHERE session_id = ? ORDER BY id", session)

    def message(self, identifier: str) -> Row | None:
        rows = self._selector.rows("messages", MESSAGE_COLUMNS, "WHERE id = ?", identifier)
        return rows[0] if rows else None

    def usage(self, session: str) -> list[Row]:
        """Return a session's usage by model and task; empty in older versions."""
        return self._selector.rows(USAGE_TABLE, MODEL_COLUMNS, "WHERE session_id = ? ORDER BY rowid", session)

    def system_text(self, session: str) -> str:
        """Return a session's system prompt, which may be stored in the shared table."""
        own = self._selector.rows("sessions", ("system_prompt", "system_prompt_hash"), "WHERE id = ?", session)
        if not own:
            return ""
        if name := own[0].get("system_prompt_hash"):
            shared = self._selector.rows("system_prompts", ("prompt",), "WHERE hash = ?", name)
            if shared and string(shared[0].get("prompt")):
                return string(shared[0]["prompt"])
        return string(own[0].get("system_prompt"))

    def last_times(self) -> dict[str, float]:
        query = "SELECT session_id, MAX(timestamp) FROM messages GROUP BY session_id"
        return {str(session): seconds_of_any(time) or 0.0 for session, time in self._selector.connection.execute(query)}


class HermesRows(RowInterpreter):
    """Interpreter for the rows of one conversation."""

    known_tables = frozenset(("messages", "sessions", "system_prompts", USAGE_TABLE))

    def __init__(self, session: str, home: Path) -> None:
        """Initialize for any session id of a conversation; empty for the one with the last activity."""
        super().__init__()
        self._events = CompactionEvents(home)
        self._records: list[CompactionRecord] = []
        self._session = session
        self._chain: list[Row] = []
        self._parent = ""
        self._children: list[str] = []
        self._origin = ""
        self._parts: list[StoredSession] = []
        self._known = RowCache(_entry)
        self._columns: Columns = {}

    def read(self, connection: sqlite3.Connection) -> None:
        self._columns.clear()  # a new version adds columns
        tables = Tables(connection, self._columns)
        sessions = tables.sessions()
        self._session = self._session or _newest(sessions, tables.last_times())
        if self._session not in sessions:
            raise RowsGoneError(f"no session {self._session}".strip())
        self._chain = chain_of(sessions, self._session)
        self._parent = subagent_parent(sessions, self._chain[0])
        mine = {string(row["id"]) for row in self._chain}
        started = [string(row["id"]) for row in heads(sessions) if subagent_parent(sessions, row) in mine]
        self._children = [child for child in started if child not in mine]
        self._known.begin()
        self._parts = [self._part(row, tables) for row in self._chain]
        self._records = self._events.of({string(row["id"]) for row in self._chain})
        self._origin = branched_from(sessions, self._chain[0])
        if self._origin:
            first = self._parts[0]
            entries = inherited(first.entries, self._entries(self._origin, tables), first.started)
            self._parts[0] = first._replace(entries=entries)

    def settle(self) -> None:
        builder = self.builder = SessionBuilder()
        fill(builder, self._chain, self._parts)
        add_compactions(builder, self._records)
        builder.side_files |= dict.fromkeys(self._events.files)
        if self._parent:
            builder.link(SessionLink(LinkKind.PARENT, self._parent))
        if self._origin:
            builder.link(SessionLink(LinkKind.CONTINUED, self._origin))
        for child in self._children:
            builder.link(SessionLink(LinkKind.SUBAGENT, child))

    blocks_of_record = staticmethod(blocks_of_row_again)

    def fetch(self, connection: sqlite3.Connection, name: str) -> bytes | None:
        tables = Tables(connection, self._columns)
        if name.startswith(SESSION):
            row: Row | None = {"system_prompt": tables.system_text(name.removeprefix(SESSION))}
        else:
            row = tables.message(name.removeprefix(MESSAGE))
        return None if row is None else compact_json(row).encode(errors="replace")

    def _part(self, session: Row, tables: Tables) -> StoredSession:
        identifier = string(session["id"])
        system = blocks_of_session({"system_prompt": tables.system_text(identifier)}, SESSION + identifier)
        return StoredSession(
            model=string(session.get("model")),
            started=seconds_of_any(session.get("started_at")),
            system=tuple(made.block for made in system),
            entries=self._entries(identifier, tables),
            row=session,
            usage=tables.usage(identifier),
        )

    def _entries(self, session: str, tables: Tables) -> list[HermesMessage]:
        return [entry for entry in self._known.made_of(*tables.messages(session)) if entry is not None]


def sessions_inside(path: Path, connection: sqlite3.Connection) -> list[ContainedSession]:
    tables = Tables(connection)
    sessions, times = tables.sessions(), tables.last_times()
    found = []
    for head in heads(sessions):
        chain = chain_of(sessions, string(head["id"]))
        titles = [clean_string(row.get("title")) for row in chain]
        folders = [clean_string(row.get("cwd")) for row in chain]
        parent = subagent_parent(sessions, head)
        found.append(
            ContainedSession(
                path=Locator(path, string(head["id"])).path,
                identifier=string(head["id"]),
                title=next((title for title in reversed(titles) if title), ""),
                parent=string(chain_of(sessions, parent)[0]["id"]) if parent in sessions else parent,
                working_directory=next((folder for folder in reversed(folders) if folder), ""),
                modified=max(_activity(row, times) for row in chain),
            )
        )
    found.sort(key=lambda one: (-one.modified, one.identifier))
    return found


def _entry(row: Row) -> HermesMessage | None:
    if is_meta(row):
        return None
    name = f"{MESSAGE}{row['id']}"
    return hermes_message(row, blocks_of_row(row, name), name)


def _newest(sessions: dict[str, Row], times: dict[str, float]) -> str:
    """Return the last active session that is not a subagent's."""
    own = [identifier for identifier, row in sessions.items() if not subagent_parent(sessions, row)]
    return max(own or list(sessions), key=lambda name: (_activity(sessions[name], times), name), default="")


def _activity(row: Row, times: dict[str, float]) -> float:
    return max(times.get(string(row["id"]), 0.0), seconds_of_any(row.get("started_at")) or 0.0)
