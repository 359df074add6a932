"""Read the OpenAI Agents SDK: `SQLiteSession` databases with Responses API items."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from inspector.session.files import Locator
from inspector.session.format import Format

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from inspector.session.format import ContainedSession
    from inspector.session.reader import Reader
    from inspector.session.sniff import Sample

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
        from inspector.session.formats.agents_sdk.database import AgentRows
        from inspector.session.sqlite_reader import SqliteReader

        return SqliteReader(path, self.name, AgentRows(Locator.of(path).session))

    def contained_sessions(self, path: Path) -> Sequence[ContainedSession]:
        from inspector.session.formats.agents_sdk.database import sessions_inside
        from inspector.session.sqlite import read_database

        return read_database(path, partial(sessions_inside, path))


FORMATS = (AgentsSdkFormat(),)
