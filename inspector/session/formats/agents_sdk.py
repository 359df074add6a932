"""Read the OpenAI Agents SDK: `SQLiteSession` databases with one row per session and one per Responses API item.

Written by `SQLiteSession` of openai/openai-agents-python (`src/agents/memory/sqlite_session.py`). Popping an item
deletes its row; clearing a session deletes all of its items.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from inspector.session.builder import SessionBuilder
from inspector.session.files import Locator
from inspector.session.format import ContainedSession, Format
from inspector.session.formats.responses.reader import ItemSide, ItemThread, blocks_of_item, side_of
from inspector.session.json import clean_text, json_in, mapping, seconds, string
from inspector.session.model import Origin
from inspector.session.sqlite import RowCache, RowInterpreter, RowsGoneError, Selector, SqliteReader, read_database

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from inspector.session.blocks import TextBlock
    from inspector.session.reader import Reader
    from inspector.session.sniff import Sample
    from inspector.session.sqlite import Columns, Row


TABLES: Mapping[str, frozenset[str]] = {
    "agent_sessions": frozenset({"session_id"}),
    "agent_messages": frozenset({"id", "session_id", "message_data"}),
}
"""Default table names and required columns of `SQLiteSession`."""


class AgentsSdkFormat(Format):
    """Databases of the OpenAI Agents SDK."""

    name = "openai-agents"
    title = "OpenAI Agents SDK (SQLiteSession)"
    exact = "nothing: token counts and models are not recorded"

    def recognize(self, sample: Sample) -> str:
        if sample.is_directory or not sample.is_database or not sample.has_tables(TABLES):
            return ""
        return "a database with the Agents SDK's session and message tables"

    def reader(self, path: Path) -> Reader:
        return SqliteReader(path, self.name, AgentRows(Locator.of(path).session))

    def contained_sessions(self, path: Path) -> Sequence[ContainedSession]:
        return read_database(path, partial(sessions_inside, path))


ITEM = "item:"

COLUMNS = ("id", "session_id", "message_data", "created_at")


class StoredItem(NamedTuple):
    """An item's JSON object, empty if it is none, and the length of its text in bytes."""

    item: Mapping[str, Any]
    name: str
    length: int
    time: float | None

    @property
    def origin(self) -> Origin:
        return Origin(0, self.length, locator=self.name)


class AgentRows(RowInterpreter):
    """Interpreter for the rows of one session."""

    known_tables = frozenset(("agent_messages", "agent_sessions"))

    def __init__(self, session: str) -> None:
        """Initialize for a session id, empty for the session last written."""
        super().__init__()
        self._session = session
        self._items: list[StoredItem] = []
        self._known = RowCache(_stored)
        self._columns: Columns = {}

    def read(self, connection: sqlite3.Connection) -> None:
        self._columns.clear()
        selector = Selector(connection, self._columns)
        times = _times(selector)
        self._session = self._session or next(iter(times), "")
        if self._session not in times:
            raise RowsGoneError(f"no session {self._session}".strip())
        self._known.begin()
        rows = selector.select("agent_messages", COLUMNS, "WHERE session_id = ? ORDER BY id", self._session)
        self._items = self._known.made_of(*rows)

    def settle(self) -> None:
        builder = self.builder = SessionBuilder()
        builder.identifier, builder.agent = clean_text(self._session), "OpenAI Agents SDK"
        thread = ItemThread(builder)
        for number, stored in enumerate(self._items):
            if not stored.item:
                builder.diagnose("not an item", 0, number, skipped=True)
                continue
            side = side_of(stored.item)
            builder.record_counts[clean_text(string(stored.item.get("type"))) or "message"] += 1
            blocks = [made.block for made in blocks_of_item(stored.item, stored.origin, thread.tool_names)]
            if side is not ItemSide.OTHER or blocks:
                thread.join(side, blocks, time=stored.time, identifier=clean_text(string(stored.item.get("id"))))

    @staticmethod
    def blocks_of_record(record: bytes, origin: Origin, /) -> list[TextBlock]:
        item = mapping(json_in(record.decode(errors="replace")))
        return blocks_of_item(item, Origin(0, origin.length, locator=origin.locator), {}) if item else []

    def fetch(self, connection: sqlite3.Connection, name: str) -> bytes | None:
        rows = Selector(connection, self._columns).rows(
            "agent_messages", COLUMNS, "WHERE id = ?", name.removeprefix(ITEM)
        )
        return None if not rows else string(rows[0].get("message_data")).encode(errors="replace")


def sessions_inside(path: Path, connection: sqlite3.Connection) -> list[ContainedSession]:
    times = _times(Selector(connection))
    return [ContainedSession(Locator(path, name).path, clean_text(name), modified=time) for name, time in times.items()]


def _times(selector: Selector) -> dict[str, float]:
    """Return the time of the last item per session, newest first."""
    query = "SELECT session_id, MAX(created_at), MAX(id) FROM agent_messages GROUP BY session_id"
    rows = selector.connection.execute(query).fetchall()
    found = [(seconds(str(time)) or 0.0, number, name) for name, time, number in rows if isinstance(name, str) and name]
    found.sort(key=lambda one: (one[0], one[1] if isinstance(one[1], int) else 0), reverse=True)
    return {name: time for time, _, name in found}


def _stored(row: Row) -> StoredItem:
    text = string(row.get("message_data"))
    item = mapping(json_in(text)) if text.lstrip().startswith("{") else {}
    length = len(text.encode(errors="replace"))
    return StoredItem(item, f"{ITEM}{row.get('id')}", length, seconds(string(row.get("created_at"))))


FORMATS = (AgentsSdkFormat(),)
