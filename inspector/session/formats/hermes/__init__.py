"""Read Hermes: a database of all sessions, and one file per session in older versions or written by a gateway.

The tables are defined by `hermes_state_common.py` in NousResearch/hermes-agent; all versions of their schema are read.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from inspector.session.files import Locator, glob_sorted
from inspector.session.format import ContainedSession, Format, home_of
from inspector.session.formats.hermes.records import TABLES, is_document, is_meta
from inspector.session.sniff import Sample

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from inspector.session.reader import Reader


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
            from inspector.session.sqlite_reader import SqliteReader

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
