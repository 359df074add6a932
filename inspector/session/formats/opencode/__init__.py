"""Read OpenCode: a database of all sessions, the older tree of small files, and exports of one session.

Version 2 writes other tables, usually into the database of version 1, and leaves the old tables as they are.
"""

from __future__ import annotations

import os
import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, NamedTuple

from inspector.errors import SessionError
from inspector.session.blocks import NamedTexts, TextBlock
from inspector.session.builder import SessionBuilder
from inspector.session.files import FileState, Locator, exists, glob_sorted, is_folder, open_for_reading
from inspector.session.format import ContainedSession, Format, can_name_file, home_of
from inspector.session.formats.opencode.database import (
    NOTE_ROWS,
    QUIET_ROWS,
    OpenCodeRows,
    View,
    blocks_of_row,
    is_row,
    message_and_parts,
    row_name,
    sessions_of_database,
)
from inspector.session.formats.opencode.reader import (
    ERROR,
    QUIET,
    SENT,
    MessageWithParts,
    OpenCodeInfo,
    OpenCodeMessage,
    OpenCodePart,
    RecordedUsage,
    blocks_of_record,
    fill,
    info_of,
    message_of,
    part_of,
    with_parts,
)
from inspector.session.json import Fields, Node, lenient_json, mapping, object_nodes, string
from inspector.session.model import Origin, Role, Session, TextUnavailableError
from inspector.session.reader import DocumentInterpreter, FileChange, Reader, ReadingProgress
from inspector.session.sniff import Sample
from inspector.session.sqlite import SqliteReader, read_database

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    Columns = Mapping[str, frozenset[str]]


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
            agent = next((title for name, title in KIN.items() if locator.file.name.startswith(name)), self.title)
            return SqliteReader(path, self.name, OpenCodeRows(locator.session, agent))
        if sample.is_directory or not is_export(sample.only_value):
            return StorageReader(path, self.name)
        from inspector.session.json_reader import JsonReader

        return JsonReader(path, self.name, ExportInterpreter)

    def contained_sessions(self, path: Path) -> Sequence[ContainedSession]:
        sample = Sample(path)
        if sample.is_database:
            return read_database(path, partial(sessions_of_database, path))
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

        return count_name.partition("part:")[2] in QUIET | QUIET_ROWS

    def knows_record(self, count_name: str) -> bool:

        kind, _, part = count_name.partition(":")
        return kind == "message" or part in SENT | NOTE_ROWS or self.is_bookkeeping(count_name)


FORMATS = (OpenCodeFormat(),)


SETTLED_SECONDS = 2.0
"""Age below which a file is read again on every refresh and may still be half-written."""

MANY_FILES = 2000

REST = 20
"""Minimum pause between scans of many files, as a multiple of the scan's duration."""


class ReadFile(NamedTuple, Generic[View]):
    """A file as last read. `view`: the parsed file; None if it cannot be read."""

    place: FileState
    view: View | None


def sessions_of_storage(storage: Path) -> list[ContainedSession]:
    """List the sessions of a storage tree, newest first."""
    found = []
    for project in _entries(storage / SESSIONS):
        for entry in _entries(project.path):
            value = _decoded(entry.path)
            if entry.name.endswith(".json") and isinstance(value, dict):
                view = info_of(value)
                path = storage / SESSIONS / project.name / entry.name
                found.append(_inside(path, view))
    return sorted(found, key=lambda inside: (-inside.modified, inside.identifier))


def inside_session_file(path: Path, document: Any) -> list[ContainedSession]:
    """Return the session of a session file, with its parent; empty for other files."""
    if not is_session_file(path, document):
        return []
    return [_inside(path, info_of(document))]


class StorageReader:
    """Reads one session of the storage folder."""

    def __init__(self, path: Path, format_name: str) -> None:
        """Find a session by file, or in the folder: the named or newest top-level one. Raises `SessionError`."""
        self._path = path
        self._format = format_name
        self._file = _session_file(path)
        self._storage = self._file.absolute().parents[2]
        self._view = OpenCodeInfo()
        self._messages: dict[str, ReadFile[OpenCodeMessage]] = {}
        self._parts: dict[str, dict[str, ReadFile[OpenCodePart]]] = {}
        self._stored: dict[str, MessageWithParts] = {}
        self._texts = NamedTexts(str(self._storage), self._fetch, blocks_of_record)
        self._session: Session | None = None
        self._looked = (0.0, 0.0)

    def load(self) -> Iterator[ReadingProgress]:
        yield ReadingProgress(0, 1)
        self._read()
        yield ReadingProgress(1, 1)

    def snapshot(self) -> Session:
        if self._session is None:
            self._session = self._build().snapshot(self._format, self._path, self._texts, (self._file,))
        return self._session

    def refresh(self) -> FileChange:
        try:
            self._file.stat()
        except OSError as error:
            return FileChange.of_error(error)
        before, (ended, took) = self.snapshot(), self._looked
        count = len(self._messages) + sum(map(len, self._parts.values()))
        if count > MANY_FILES and time.monotonic() - ended < took * REST:
            return FileChange.NONE
        self._read()
        builder = self._build()
        builder.reuse(before)
        session = builder.snapshot(self._format, self._path, self._texts, (self._file,))
        if session == before:
            return FileChange.NONE
        self._session = session
        return FileChange.APPENDED

    def watched(self) -> Path:
        """Return the folder of the session's messages; the part folders are polled every second."""
        messages = self._storage / MESSAGES / self._file.stem
        return messages if is_folder(messages) else self._file.parent

    def _read(self) -> None:
        began = time.monotonic()
        value = _decoded(self._file)
        if isinstance(value, dict):
            self._view = info_of(value)
        self._messages = _taken(
            self._storage / MESSAGES / self._file.stem,
            self._messages,
            lambda value, name, size: message_of(
                value, name, None, self._origin(MESSAGES, self._file.stem, name, size)
            ),
        )
        self._parts = {message: self._parts_of(message) for message in self._messages}
        self._looked = (time.monotonic(), time.monotonic() - began)

    def _parts_of(self, message: str) -> dict[str, ReadFile[OpenCodePart]]:
        view = self._messages[message].view
        role = view.role if view is not None else Role.OTHER
        return _taken(
            self._storage / PARTS / message,
            self._parts.get(message, {}),
            lambda value, name, size: part_of(value, name, role, self._origin(PARTS, message, name, size)),
        )

    def _origin(self, kind: str, folder: str, name: str, size: int) -> Origin:
        return Origin(0, size, 0, 0, f"{kind}/{folder}/{name}.json")

    def _build(self) -> SessionBuilder:
        builder = SessionBuilder()
        messages = [(name, file.view) for name, file in self._messages.items()]
        messages.sort(key=lambda item: (item[1] is not None, (item[1] and item[1].created) or 0.0, item[0]))
        self._stored = with_parts(builder, self._view, messages, self._parts_in, self._stored)
        fill(builder, self._view, list(self._stored.values()))
        builder.identifier = self._view.identifier or self._file.stem
        return builder

    def _parts_in(self, message: str) -> Iterator[tuple[str, OpenCodePart | None]]:
        return ((name, file.view) for name, file in sorted(self._parts.get(message, {}).items()))

    def _fetch(self, name: str) -> bytes:
        try:
            with open_for_reading(self._storage / name) as file:
                return file.read()
        except (SessionError, OSError) as error:
            raise TextUnavailableError(f"{name} cannot be read: {error}") from error


def _inside(path: Path, view: OpenCodeInfo) -> ContainedSession:
    return ContainedSession(path, view.identifier or path.stem, view.title, view.parent, view.directory, view.modified)


def _session_file(path: Path) -> Path:
    locator = Locator.of(path)
    if not is_folder(locator.file):
        return locator.file
    inside = sessions_of_storage(locator.file)
    if locator.session:
        named = [one for one in inside if one.identifier == locator.session]
    else:
        named = [one for one in inside if not one.parent] or inside
    if not named:
        what = f"no session {locator.session}" if locator.session else "no sessions"
        raise SessionError(f"{path}: {what} in this folder. Give the path of a session file in it.")
    return named[0].path


def _taken(
    folder: Path, known: dict[str, ReadFile[View]], view: Callable[[dict[str, Any], str, int], View]
) -> dict[str, ReadFile[View]]:
    """Return the parsed files of a folder by name without extension, reading changed ones again."""
    taken: dict[str, ReadFile[View]] = {}
    now = time.time()
    for entry in _entries(folder):
        name = entry.name.removesuffix(".json")
        try:
            place = FileState.of(entry.stat())
        except OSError:
            continue
        before = known.get(name)
        is_young = now - place.modified / 1e9 < SETTLED_SECONDS
        if name == entry.name or (before is not None and before.place == place and not is_young):
            if before is not None:
                taken[name] = before
            continue
        data = _bytes_of(entry.path)
        value = lenient_json(data)[0]
        if isinstance(value, dict):
            made = view(value, name, len(data))
            taken[name] = before if before is not None and before == ReadFile(place, made) else ReadFile(place, made)
        elif before is not None:
            taken[name] = before  # half-written: keep the earlier version until it is complete
        elif not is_young:
            taken[name] = ReadFile(place, None)
    return taken


def _entries(folder: Path | str) -> list[os.DirEntry[str]]:
    try:
        return sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError:
        return []


def _bytes_of(path: Path | str) -> bytes:
    try:
        with open_for_reading(Path(path)) as file:
            return file.read()
    except (SessionError, OSError):
        return b""


def _decoded(path: Path | str) -> Any:
    return lenient_json(_bytes_of(path))[0]


class ExportInterpreter(DocumentInterpreter):
    """Builds a session from an export. OpenCode 2 exports its message rows with their ids and types."""

    def take_document(self, document: Node) -> None:
        fields = document.fields()
        messages = fields["messages"].items() if "messages" in fields else document.items()
        info = mapping(fields.value_of("info"))
        session, stored = info_of(info), []
        for message in messages:
            inner = message.fields()
            if "info" in inner:
                stored.append(self._first(inner, session))
            elif isinstance(value := message.value(), dict) and isinstance(kind := value.get("type"), str):
                session = replace(session, recorded=RecordedUsage.of(info.get("tokens"), info.get("cost")))
                identifier = string(value.get("id"))
                origin = Origin(message.offset, message.length, 0, 0, row_name(kind, identifier))
                view, parts = message_and_parts(kind, value, identifier, origin)
                stored.append(MessageWithParts.of(view, parts, session))
            else:
                self.builder.diagnose("not a message", 0, max(message.offset, 0), skipped=True)
        fill(self.builder, session, stored)

    def _first(self, message: Fields, session: OpenCodeInfo) -> MessageWithParts:
        info = message["info"]
        view = message_of(mapping(info.value()), "", None, Origin(info.offset, info.length, 0, 0, ERROR))
        parts = []
        for part, value in object_nodes(message.items_of("parts"), "a part", self.builder):
            parts.append(part_of(value, "", view.role, _origin(part)))
        return MessageWithParts.of(view, parts, session)

    @staticmethod
    def blocks_of_record(record: bytes, origin: Origin, /) -> Sequence[TextBlock]:
        return (blocks_of_row if is_row(origin) else blocks_of_record)(record, origin)


def _origin(node: Node) -> Origin:
    return Origin(node.offset, node.length)
