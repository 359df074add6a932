"""Read files that are one JSON document, and reread them completely when they change.

Programs that store a session this way rewrite the file at every step, some in place. A file with incomplete JSON is
therefore left alone for a while, and the session read before stays.

A session may have additional documents. Blocks of a *linked* document, such as a continuation, belong to the session:
its file is one of `Session.files`. A *sidecar* only adds data about content of the session's own file.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

from inspector.errors import SessionError
from inspector.session.blocks import FileTexts, MemoryTexts
from inspector.session.builder import SessionBuilder
from inspector.session.files import SETTLE_SECONDS, FileState, Locator, is_file, open_for_reading
from inspector.session.json import FileNode, Node, is_whole_json, lenient_json
from inspector.session.jsonl_reader import JsonlReader
from inspector.session.reader import DocumentInterpreter, FileChange, Reader, ReadingProgress, RecordInterpreter
from inspector.session.registry import detect
from inspector.session.sniff import Sample

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from inspector.session.model import Session, TextSource


MOST_DOCUMENTS = 1000

MOST_LINKED_BYTES = 1 << 31

MOST_SIDECAR_BYTES = 1 << 28


class LinkedDocument(NamedTuple):
    """An opened document. `number`: value of `origin.file` for its blocks."""

    number: int
    node: Node


class LinkedDocuments:
    """The documents in which a session continues, numbered from 1, found while the first one is read."""

    def __init__(self) -> None:
        self.paths: list[Path] = []
        self.files: list[BinaryIO] = []
        self._states: dict[Path, FileState | None] = {}

    def begin(self) -> None:
        """Reset before the first document is read again. Files stay open for the texts read from them."""
        self.paths, self.files, self._states = [], [], {}

    def open(self, path: Path) -> LinkedDocument | None:
        """Open a document, or return None if it is missing, invalid JSON or beyond the limit."""
        if len(self.paths) >= MOST_DOCUMENTS or path in self._states:
            return None
        self._states[path] = None
        try:
            file = open_for_reading(path)
            state = FileState.of(os.fstat(file.fileno()))
            self._states[path] = state.settled()
            if state.size > MOST_LINKED_BYTES:
                return None
            data = file.read()
        except (OSError, SessionError):
            return None
        if not is_whole_json(data):
            return None
        self.paths.append(path)
        self.files.append(file)
        return LinkedDocument(len(self.paths), FileNode(data, 0))

    def changed(self) -> bool:
        """Return True if any document was changed, created or removed since it was opened."""
        return any(FileState.at(path) != state for path, state in self._states.items())

    def are_settled(self, seconds: float) -> bool:
        """Return True if no document is being written: invalid JSON counts as settled after `seconds`."""
        for path in self._states:
            state = FileState.at(path)
            if state is None or state == self._states[path]:
                continue
            try:
                with open_for_reading(path) as file:
                    is_broken = not is_whole_json(file.read())
            except (OSError, SessionError):
                continue
            if is_broken and state.age < seconds:
                return False
        return True


class SidecarFile:
    """A document that may be missing, incomplete or created later."""

    def __init__(
        self,
        path: Path,
        part: Callable[[Any], Any] | None = None,
        decode: Callable[[bytes], Any] = lambda data: lenient_json(data)[0],
    ) -> None:
        """Create the sidecar without reading it. Changes outside its `part` are ignored."""
        self._path = path
        self._part = part
        self._decode = decode
        self._state: FileState | None = None
        self._value: Any = None

    def value(self) -> Any:
        """Return the content as last read, or None if it was never readable."""
        self.changed()
        return self._value

    def changed(self) -> bool:
        """Check the file; return True if its content has changed."""
        try:
            state = FileState.of(self._path.stat())
            if state == self._state or state.size > MOST_SIDECAR_BYTES:
                return False
            with open_for_reading(self._path) as file:
                data = file.read()
        except (OSError, SessionError):
            return False
        value = self._decode(data)
        if value is None:
            return False  # incomplete; checked again later
        self._state = state
        before, self._value = self._value, value if self._part is None else self._part(value)
        return bool(before != self._value)


class JsonReader:
    """Reads one JSON document, and again after each rewrite."""

    def __init__(
        self,
        path: Path,
        format_name: str,
        interpreter: Callable[[], DocumentInterpreter | RecordInterpreter],
        sidecars: Sequence[SidecarFile] = (),
        linked: LinkedDocuments | None = None,
        opened: Path | None = None,
    ) -> None:
        """Open a file. Raises `SessionError` if it cannot be opened.

        Args:
            path: The file, optionally with the id of one of several sessions in it.
            interpreter: Factory for an interpreter of the document; called again after each rewrite.
            sidecars: Documents that the interpreter reads too; a change in one rebuilds the session.
            linked: Documents opened by the interpreter because the session continues in them.
            opened: The requested path, if it is not the file.
        """
        self._session_path = opened or path
        self._path = path = Locator.of(path).file
        self._sidecars = tuple(sidecars)
        self._linked = linked or LinkedDocuments()
        self._format = format_name
        self._make_interpreter = interpreter
        file = open_for_reading(path)
        self._file = file
        self._state = FileState.of(os.fstat(file.fileno())).settled()
        self._builder = SessionBuilder()
        self._texts: TextSource = MemoryTexts()
        self._session: Session | None = None

    def load(self) -> Iterator[ReadingProgress]:
        data = self._file.read()
        yield ReadingProgress(0, len(data))
        self._take(data)
        yield ReadingProgress(len(data), len(data))

    def snapshot(self) -> Session:
        if self._session is None:
            files = (self._path, *self._linked.paths)
            self._session = self._builder.snapshot(self._format, self._session_path, self._texts, files)
        return self._session

    def refresh(self) -> FileChange:
        """Check the file and reread it if it was rewritten."""
        try:
            state = FileState.of(self._path.stat())
            # Check all sidecars: each change must be reported only once.
            are_sidecars_same = not [one for one in self._sidecars if one.changed()]
            if state == self._state and are_sidecars_same and not self._linked.changed():
                return FileChange.NONE
            if state.size == 0 or not self._linked.are_settled(SETTLE_SECONDS):
                return FileChange.UNREADABLE
            file = open_for_reading(self._path)
            data = file.read()
            if FileState.of(os.fstat(file.fileno())) != state:
                return FileChange.UNREADABLE  # changed during the read
        except OSError as error:
            return FileChange.of_error(error)
        except SessionError:
            return FileChange.UNREADABLE if is_file(self._path) else FileChange.REPLACED
        found = self._format_found()
        if found not in (self._format, ""):
            return FileChange.REPLACED
        if not found or not is_whole_json(data):
            return FileChange.UNREADABLE if state.age < SETTLE_SECONDS else FileChange.REPLACED
        before = self.snapshot()
        self._file, self._state = file, state.settled()
        try:
            self._take(data)
        except SessionError:
            return FileChange.REPLACED  # no longer contains the session
        self._builder.reuse(before)
        return FileChange.NONE if self.snapshot() == before else FileChange.APPENDED

    def watched(self) -> Path:
        return self._path.parent

    def _take(self, data: bytes) -> None:
        self._linked.begin()
        interpreter = self._make_interpreter()
        interpreter.take_document(FileNode(data, 0))
        interpreter.settle()
        paths, files = (self._path, *self._linked.paths), (self._file, *self._linked.files)
        self._texts = FileTexts(paths, files, interpreter.blocks_of_record)
        # Release the interpreter, which may hold the whole document.
        self._builder, self._session = interpreter.builder, None

    def _format_found(self) -> str:
        try:
            return detect(self._path).format.name
        except SessionError:
            return ""


def json_file_reader(path: Path, format_name: str, interpreter: Callable[[], RecordInterpreter]) -> Reader:
    """Return a reader for records in lines or in one document. Raises `SessionError` if it cannot be opened."""
    if Sample(Locator.of(path).file).is_lines:
        return JsonlReader(path, format_name, interpreter())
    return JsonReader(path, format_name, interpreter)
