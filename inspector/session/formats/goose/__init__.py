"""Read Goose: a database of all sessions, JSONL files before version 1.10, and exports of one session."""

from __future__ import annotations

import os
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from inspector.session.files import Locator
from inspector.session.format import ContainedSession, Format, home_of
from inspector.session.formats.goose.records import (
    FORWARDED_RECORDS,
    INTERNAL_TYPES,
    TABLES,
    has_own_parts,
    is_export,
    is_message,
    is_metadata,
)
from inspector.session.sniff import Sample

if TYPE_CHECKING:
    from collections.abc import Sequence

    from inspector.session.reader import Reader


class GooseFormat(Format):
    """Goose databases, session files and exports."""

    name = "goose"
    title = "Goose"
    where = (
        "goose/sessions in ~/.local/share or $XDG_DATA_HOME, Block/goose in Application Support or %APPDATA%, or"
        " data/sessions in $GOOSE_PATH_ROOT; `goose session export` anywhere"
    )
    exact = "tokens of calls since database schema 15 (July 2026), if the provider reports them"

    def recognize(self, sample: Sample) -> str:
        if sample.is_directory:
            return ""
        if sample.is_database:
            return "a database with Goose's session and message tables" if sample.has_tables(TABLES) else ""
        if not sample.is_lines:
            return "a session exported by Goose" if is_export(sample.document) else ""
        if is_export(sample.records[0]):
            return "a session exported by Goose"
        messages = [record for record in sample.records if is_message(record)]
        about = [record for record in sample.records if is_metadata(record)]
        is_sure = bool(about) or any(map(has_own_parts, messages))
        if not is_sure or (len(messages) + len(about)) * 2 <= len(sample.records):
            return ""
        return f"{len(messages)} of the first {len(sample.records)} lines are Goose messages"

    def homes(self) -> tuple[Path, ...]:
        root = os.environ.get("GOOSE_PATH_ROOT")
        if root:
            return (Path(root) / "data" / "sessions",)
        if sys.platform == "darwin":
            return (Path.home() / "Library" / "Application Support" / "Block" / "goose" / "sessions",)
        if sys.platform == "win32":
            return (Path(os.environ.get("APPDATA", Path.home())) / "Block" / "goose" / "data" / "sessions",)
        return (home_of("XDG_DATA_HOME", ".local", "share") / "goose" / "sessions",)

    def reader(self, path: Path) -> Reader:
        locator = Locator.of(path)
        if Sample(locator.file).is_database:
            from inspector.session.formats.goose.database import GooseRows
            from inspector.session.sqlite_reader import SqliteReader

            return SqliteReader(path, self.name, GooseRows(locator.session))
        from inspector.session.formats.goose.reader import file_reader

        return file_reader(path)

    def contained_sessions(self, path: Path) -> Sequence[ContainedSession]:
        if not Sample(path).is_database:
            return ()
        from inspector.session.formats.goose.database import sessions_inside
        from inspector.session.sqlite import read_database

        return read_database(path, partial(sessions_inside, path))

    def locate(self, path: Path, identifier: str) -> Path | None:
        file = Locator.of(path).file
        is_known = identifier and identifier not in INTERNAL_TYPES
        return Locator(file, identifier).path if is_known and Sample(file).is_database else None

    def is_bookkeeping(self, count_name: str) -> bool:
        return count_name == FORWARDED_RECORDS


FORMATS = (GooseFormat(),)
