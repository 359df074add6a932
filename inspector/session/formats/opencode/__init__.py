"""Read OpenCode: a database of all sessions, the older tree of small files, and exports of one session.

Version 2 writes other tables, usually into the database of version 1, and leaves the old tables as they are.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from inspector.session.files import Locator, exists, glob_sorted, is_folder
from inspector.session.format import ContainedSession, Format, can_name_file, home_of
from inspector.session.json import mapping, string
from inspector.session.sniff import Sample

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from inspector.session.reader import Reader


SESSIONS, MESSAGES, PARTS = "session", "message", "part"
"""Folders of the storage tree."""


def is_message(value: Any) -> bool:
    """Return True for an exported message of OpenCode 1, or of OpenCode 2."""
    if not isinstance(value, dict):
        return False
    if string(value.get("id")).startswith("msg_") and isinstance(value.get("time"), dict):
        return isinstance(value.get("type"), str) and "created" in value["time"]
    return isinstance(value.get("parts"), list) and mapping(value.get("info")).get("role") in ("user", "assistant")


def is_export(value: Any) -> bool:
    """Return True for an exported session or its message list."""
    if isinstance(value, list):
        return bool(value) and sum(map(is_message, value)) * 2 > len(value)
    if not isinstance(value, dict) or not isinstance(value.get("info"), dict):
        return False
    messages = value.get("messages")
    if not isinstance(messages, list):
        return False
    return string(value["info"].get("id")).startswith("ses") or (bool(messages) and is_export(messages))


def is_storage(folder: Path) -> bool:
    return all(is_folder(folder / name) for name in (SESSIONS, MESSAGES, PARTS))


def is_session_file(path: Path, document: Any) -> bool:
    return (
        isinstance(document, dict)
        and isinstance(document.get("id"), str)
        and isinstance(document.get("time"), dict)
        and len(path.absolute().parents) > 2
        and is_folder(path.absolute().parents[2] / MESSAGES)
        and path.absolute().parents[1].name == SESSIONS
    )


TABLES: Mapping[str, frozenset[str]] = {
    "session": frozenset({"id", "directory"}),
    "message": frozenset({"id", "session_id", "time_created", "time_updated", "data"}),
    "part": frozenset({"id", "message_id", "session_id", "time_updated", "data"}),
}
"""Tables and columns that identify a database of OpenCode 1."""

TABLES_2: Mapping[str, frozenset[str]] = {
    "session_v2": frozenset({"id", "directory"}),
    "session_message": frozenset({"id", "session_id", "type", "seq", "time_created", "time_updated", "data"}),
}
"""Tables and columns that identify a database of OpenCode 2."""

TABLES_NEXT = {"session": TABLES["session"], "session_message": TABLES_2["session_message"]}
"""Tables and columns of the previews of OpenCode 2, in `opencode-next.db`."""

KIN: Mapping[str, str] = {"kilo": "Kilo", "mimocode": "MiMo Code"}
"""Forks of OpenCode with the same database, by prefix of their file names."""


class OpenCodeFormat(Format):
    """OpenCode databases, storage folders and exports."""

    name = "opencode"
    title = "OpenCode"
    where = (
        "opencode in ~/.local/share or $XDG_DATA_HOME: opencode*.db, or storage in versions before 1.2;"
        " kilo/kilo.db and mimocode/mimocode*.db next to it; `opencode export` anywhere"
    )
    exact = "tokens of every completed call"

    def recognize(self, sample: Sample) -> str:
        if sample.is_directory:
            return "a folder with OpenCode sessions, messages and parts" if is_storage(sample.path) else ""
        if sample.is_database:
            if sample.has_tables(TABLES_2) or sample.has_tables(TABLES_NEXT):
                return "a database with OpenCode 2's session and message tables"
            return "a database with OpenCode's session, message and part tables" if sample.has_tables(TABLES) else ""
        document = sample.only_value
        if is_export(document):
            return "a session exported by OpenCode"
        if is_session_file(sample.path, document):
            return "a session file in an OpenCode storage folder"
        return ""

    def homes(self) -> tuple[Path, ...]:
        home = home_of("XDG_DATA_HOME", ".local", "share") / "opencode"
        # The folder also contains copies of whole projects, which are not searched.
        share = home.parent
        kin = (share / "kilo" / "kilo.db", *glob_sorted(share / "mimocode", "mimocode*.db"))
        return (home / "opencode.db", *glob_sorted(home, "opencode-*.db"), home / "storage", *kin)

    def reader(self, path: Path) -> Reader:
        locator = Locator.of(path)
        sample = Sample(locator.file)
        if sample.is_database:
            from inspector.session.formats.opencode.database import OpenCodeRows
            from inspector.session.sqlite import SqliteReader

            agent = next((title for name, title in KIN.items() if locator.file.name.startswith(name)), self.title)
            return SqliteReader(path, self.name, OpenCodeRows(locator.session, agent))
        if sample.is_directory or not is_export(sample.only_value):
            from inspector.session.formats.opencode.files import StorageReader

            return StorageReader(path, self.name)
        from inspector.session.formats.opencode.files import ExportInterpreter
        from inspector.session.json_reader import JsonReader

        return JsonReader(path, self.name, ExportInterpreter)

    def contained_sessions(self, path: Path) -> Sequence[ContainedSession]:
        sample = Sample(path)
        if sample.is_database:
            from inspector.session.formats.opencode.database import sessions_of_database
            from inspector.session.sqlite import read_database

            return read_database(path, partial(sessions_of_database, path))
        from inspector.session.formats.opencode.files import inside_session_file, sessions_of_storage

        return sessions_of_storage(path) if sample.is_directory else inside_session_file(path, sample.only_value)

    def subagents(self, path: Path, identifier: str) -> Sequence[ContainedSession]:
        """Return the sessions of the same database or storage folder that name this one as their parent."""
        file = Locator.of(path).file
        folder = file.absolute().parents[2] if len(file.absolute().parents) > 2 else file
        in_tree = file.suffix == ".json" and is_storage(folder)
        return [one for one in self.contained_sessions(folder if in_tree else file) if one.parent == identifier]

    def locate(self, path: Path, identifier: str) -> Path | None:
        """Find another session of the same database, storage or export folder."""
        file = Locator.of(path).file
        if not can_name_file(identifier):
            return None
        if is_folder(file) or file.suffix != ".json":
            return Locator(file, identifier).path
        sibling = file.with_name(f"{identifier}.json")
        return sibling if exists(sibling) else None

    def is_bookkeeping(self, count_name: str) -> bool:
        from inspector.session.formats.opencode.database import QUIET_ROWS
        from inspector.session.formats.opencode.reader import QUIET

        return count_name.partition("part:")[2] in QUIET | QUIET_ROWS

    def knows_record(self, count_name: str) -> bool:
        from inspector.session.formats.opencode.database import NOTE_ROWS
        from inspector.session.formats.opencode.reader import SENT

        kind, _, part = count_name.partition(":")
        return kind == "message" or part in SENT | NOTE_ROWS or self.is_bookkeeping(count_name)


FORMATS = (OpenCodeFormat(),)
