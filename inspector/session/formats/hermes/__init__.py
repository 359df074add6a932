"""Read Hermes: a database of all sessions, and one file per session in older versions or written by a gateway.

The tables are defined by `hermes_state_common.py` in NousResearch/hermes-agent; all versions of their schema are read.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from inspector.session.files import Locator, glob_sorted
from inspector.session.format import ContainedSession, Format, home_of
from inspector.session.formats.plain import ROLES
from inspector.session.json import mapping, string
from inspector.session.sniff import Sample

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from inspector.session.reader import Reader


NAME = "hermes"

META = "session_meta"
"""Role of an entry with session metadata."""

TABLES = {
    "sessions": frozenset({"id", "source", "parent_session_id", "started_at"}),
    "messages": frozenset({"id", "session_id", "role", "content", "tool_calls", "timestamp"}),
}
"""Tables and columns that identify a Hermes database."""


def is_document(value: object) -> bool:
    about = mapping(value)
    messages = about.get("messages")
    is_own = isinstance(about.get("session_id"), str) and any(
        name in about for name in ("system_prompt", "platform", "base_url")
    )
    if not is_own or not isinstance(messages, list):
        return False
    first = messages[:20]
    return not first or sum(map(_has_role, first)) * 2 > len(first)


def is_meta(record: Mapping[str, Any]) -> bool:
    """Return True for a line with session metadata."""
    return record.get("role") == META


def _has_role(item: object) -> bool:
    return string(mapping(item).get("role")) in ROLES | {META}


class HermesFormat(Format):
    """Hermes databases and session files."""

    name = "hermes"
    title = "Hermes"
    where = "~/.hermes, or $HERMES_HOME: state.db, profiles/*/state.db, and sessions in older versions"
    exact = "prompt tokens, cache reads and output in sum: only session totals are recorded"

    def recognize(self, sample: Sample) -> str:
        if sample.is_directory:
            return ""
        if sample.is_database:
            return "a database with Hermes' session and message tables" if sample.has_tables(TABLES) else ""
        if sample.is_lines:
            if is_document(sample.records[0]):
                return "a JSON document with a Hermes session"
            return "a line with Hermes session metadata" if any(map(is_meta, sample.records)) else ""
        return "a JSON document with a Hermes session" if is_document(sample.document) else ""

    def homes(self) -> tuple[Path, ...]:
        home = home_of("HERMES_HOME", ".hermes")
        # The home folder also holds caches, skills and whole checkouts, which are not searched.
        return (home / "state.db", *glob_sorted(home, "profiles/*/state.db"), home / "sessions")

    def reader(self, path: Path) -> Reader:
        locator = Locator.of(path)
        if Sample(locator.file).is_database:
            from inspector.session.formats.hermes.database import HermesRows
            from inspector.session.sqlite import SqliteReader

            return SqliteReader(path, self.name, HermesRows(locator.session, locator.file.parent))
        from inspector.session.formats.hermes.reader import file_reader

        return file_reader(path)

    def contained_sessions(self, path: Path) -> Sequence[ContainedSession]:
        if not Sample(path).is_database:
            return ()
        from inspector.session.formats.hermes.database import sessions_inside
        from inspector.session.sqlite import read_database

        return read_database(path, partial(sessions_inside, path))

    def locate(self, path: Path, identifier: str) -> Path | None:
        file = Locator.of(path).file
        return Locator(file, identifier).path if Sample(file).is_database and identifier else None


FORMATS = (HermesFormat(),)
