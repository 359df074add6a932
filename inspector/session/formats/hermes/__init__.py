"""Hermes: a database of all sessions; one file a session before that, and beside it where a gateway writes one.

The tables are those of `hermes_state_common.py` in NousResearch/hermes-agent, in every version of their schema.
"""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from inspector.session.files import Locator
from inspector.session.format import ContainedSession, Format
from inspector.session.formats.hermes.records import NAME, TABLES, is_document, is_meta
from inspector.session.sniff import SQLITE, Sample

if TYPE_CHECKING:
    from collections.abc import Sequence

    from inspector.session.reader import Reader


class HermesFormat(Format):
    """Hermes' databases and session files."""

    name = NAME
    title = "Hermes"
    where = "~/.hermes, or $HERMES_HOME: state.db, that of every profile, and sessions in older versions"
    exact = "nothing: tokens are recorded for whole sessions alone"

    def recognise(self, sample: Sample) -> str:
        if sample.is_directory:
            return ""
        if sample.head.startswith(SQLITE):
            known = all(columns <= sample.tables.get(name, frozenset()) for name, columns in TABLES.items())
            return "a database with Hermes' tables of sessions and messages" if known else ""
        if sample.is_lines:
            if is_document(sample.records[0]):
                return "a JSON document with a session of Hermes"
            return "a line that says what session of Hermes it is" if any(map(is_meta, sample.records)) else ""
        return "a JSON document with a session of Hermes" if is_document(sample.document) else ""

    def homes(self) -> tuple[Path, ...]:
        configured = os.environ.get("HERMES_HOME")
        home = Path(configured) if configured else Path.home() / ".hermes"
        # Beside them lie caches, skills and whole checkouts, which are not to be searched.
        return (home / "state.db", *sorted(home.glob("profiles/*/state.db")), home / "sessions")

    def reader(self, path: Path) -> Reader:
        locator = Locator.of(path)
        if Sample(locator.file).head.startswith(SQLITE):
            from inspector.session.formats.hermes.database import HermesRows
            from inspector.session.sqlite_reader import SqliteReader

            return SqliteReader(path, NAME, HermesRows(locator.session))
        from inspector.session.formats.hermes.reader import file_reader

        return file_reader(path)

    def contained_sessions(self, path: Path) -> Sequence[ContainedSession]:
        if not Sample(path).head.startswith(SQLITE):
            return ()
        from inspector.session.formats.hermes.database import sessions_inside
        from inspector.session.sqlite import read_database

        return read_database(path, partial(sessions_inside, path))

    def locate(self, path: Path, identifier: str) -> Path | None:
        file = Locator.of(path).file
        return Locator(file, identifier).path if Sample(file).head.startswith(SQLITE) and identifier else None


FORMATS = (HermesFormat(),)
