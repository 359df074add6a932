"""OpenCode: a database of all sessions, a tree of small files before that, and exports of one session."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from inspector.session.documents import DocumentReader
from inspector.session.errors import SessionError
from inspector.session.formats.base import SQLITE, Format, Inside, Sample
from inspector.session.formats.opencode.export import interpret, is_export
from inspector.session.formats.opencode.parts import blocks_of_record
from inspector.session.formats.opencode.tree import TreeReader, inside_session_file, is_session_file, is_storage
from inspector.session.formats.opencode.tree import sessions_inside as sessions_inside_tree
from inspector.session.locator import Locator

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from inspector.session.reading import Reader

NAME = "opencode"

TABLES: Mapping[str, frozenset[str]] = {
    "session": frozenset({"id", "directory"}),
    "message": frozenset({"id", "session_id", "time_created", "time_updated", "data"}),
    "part": frozenset({"id", "message_id", "session_id", "time_updated", "data"}),
}
"""The tables, and columns of them, by which a database is told to be OpenCode's."""


def _recognise(sample: Sample) -> str:
    if sample.is_directory:
        return "a folder with OpenCode's sessions, messages and parts" if is_storage(sample.path) else ""
    if sample.head.startswith(SQLITE):
        known = all(columns <= sample.tables.get(name, frozenset()) for name, columns in TABLES.items())
        return "a database with OpenCode's tables of sessions, messages and parts" if known else ""
    document = _document(sample)
    if is_export(document):
        return "a session exported by OpenCode"
    if is_session_file(sample.path, document):
        return "a session's file in OpenCode's folder of sessions, messages and parts"
    return ""


def _reader(path: Path) -> Reader:
    locator = Locator.of(path)
    sample = Sample(locator.file)
    if sample.head.startswith(SQLITE):
        from inspector.session.formats.opencode.tables import OpenCodeRows
        from inspector.session.rows import RowsReader

        return RowsReader(path, NAME, OpenCodeRows(locator.session))
    if sample.is_directory or not is_export(_document(sample)):
        return TreeReader(path, NAME)
    return DocumentReader(path, NAME, interpret, blocks_of_record)


def _document(sample: Sample) -> object:
    """The whole file, on however many lines."""
    if not sample.is_lines:
        return sample.document
    return sample.records[0] if len(sample.records) == 1 else None


def _inside(path: Path) -> Sequence[Inside]:
    sample = Sample(path)
    if sample.is_directory:
        return sessions_inside_tree(path)
    if not sample.head.startswith(SQLITE):
        return inside_session_file(path, _document(sample))
    from inspector.session.database import Database, DatabaseUnreadableError
    from inspector.session.formats.opencode.tables import sessions_inside

    try:
        with Database(path).reading() as connection:
            return sessions_inside(path, connection)
    except DatabaseUnreadableError as error:
        raise SessionError(f"{path}: the database cannot be read ({error}). Try again.") from error


def _homes() -> tuple[Path, ...]:
    data = os.environ.get("XDG_DATA_HOME")
    home = (Path(data) if data else Path.home() / ".local" / "share") / "opencode"
    # Beside them lie copies of whole projects, which are not to be searched.
    return (home / "opencode.db", *sorted(home.glob("opencode-*.db")), home / "storage")


FORMAT = Format(
    name=NAME,
    title="OpenCode",
    where="~/.local/share/opencode: opencode*.db, or storage in versions before 1.2; `opencode export` anywhere",
    is_live=True,
    exact="tokens of every call that was completed",
    recognise=_recognise,
    reader=_reader,
    homes=_homes,
    inside=_inside,
)
