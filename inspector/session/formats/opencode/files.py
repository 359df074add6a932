"""Read sessions of OpenCode versions without a database: a small file per session, message and part.

    storage/session/<project>/<session>.json
    storage/message/<session>/<message>.json
    storage/part/<message>/<part>.json

Each file is rewritten whole when it changes, so it may be found half-written.
"""

from __future__ import annotations

import os
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, NamedTuple

from inspector.session.blocks import NamedTexts, TextBlock
from inspector.session.builder import SessionBuilder
from inspector.session.errors import SessionError
from inspector.session.files import FileState, Locator, is_folder, open_for_reading
from inspector.session.format import ContainedSession
from inspector.session.formats.opencode import MESSAGES, PARTS, SESSIONS, is_session_file
from inspector.session.formats.opencode.database import View, blocks_of_row, is_row, message_and_parts, row_name
from inspector.session.formats.opencode.reader import (
    ERROR,
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
from inspector.session.json import (
    lenient_json,
    mapping,
    object_nodes,
    string,
)
from inspector.session.model import Origin, Role, TextUnavailableError
from inspector.session.reader import DocumentInterpreter, FileChange, ReadingProgress

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from inspector.session.json import Fields, Node
    from inspector.session.model import Session

    Columns = Mapping[str, frozenset[str]]


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
        """Find the session. Raises `SessionError` if the session does not exist.

        Args:
            path: Its file, or the storage folder, optionally with the session's id; the default is the newest top-level
                session.
        """
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
        except FileNotFoundError:
            return FileChange.VANISHED
        except OSError:
            return FileChange.UNREADABLE
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
