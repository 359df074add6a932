"""Reading OpenCode's sessions, and listing those that are kept together."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from inspector.session.files import Locator, exists, is_folder
from inspector.session.formats.opencode.database import OpenCodeRows, sessions_inside
from inspector.session.formats.opencode.files import ExportInterpreter, TreeReader, inside_session_file
from inspector.session.formats.opencode.files import sessions_inside as sessions_of_tree
from inspector.session.json_reader import JsonReader
from inspector.session.sqlite import read_database
from inspector.session.sqlite_reader import SqliteReader

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from inspector.session.format import ContainedSession
    from inspector.session.reader import Reader

__all__ = ["export_reader", "rows_reader", "session_of_file", "sessions_of_database", "sessions_of_tree", "tree_reader"]


def rows_reader(path: Path, name: str) -> Reader:
    """A reader for a session in a database."""
    return SqliteReader(path, name, OpenCodeRows(Locator.of(path).session))


def tree_reader(path: Path, name: str) -> Reader:
    """A reader for a session in the tree of files."""
    return TreeReader(path, name)


def export_reader(path: Path, name: str) -> Reader:
    """A reader for an exported session."""
    return JsonReader(path, name, ExportInterpreter)


def sessions_of_database(path: Path) -> Sequence[ContainedSession]:
    """Every session of a database, the newest first.

    Raises:
        SessionError: It cannot be read at the moment.
    """
    return read_database(path, partial(sessions_inside, path))


def locate(path: Path, identifier: str) -> Path | None:
    """Another session of the same database, tree or folder of exports."""
    file = Locator.of(path).file
    if "/" in identifier or "\x00" in identifier:
        return None
    if is_folder(file):
        return Locator(file, identifier).path
    beside = file.with_name(f"{identifier}.json")
    if file.suffix != ".json":
        return Locator(file, identifier).path
    return beside if exists(beside) else None


def session_of_file(path: Path, document: object) -> Sequence[ContainedSession]:
    """The session whose own file this is in the tree; nothing for any other file."""
    return inside_session_file(path, document)
