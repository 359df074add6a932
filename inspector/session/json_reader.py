"""Reading files that are one JSON document: read whole, and read again whole when they change.

Programs that keep a session like this rewrite the file at every step, some in place. So a file that is not whole JSON
at the moment is left alone for a while, and what was read of it before stays.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from inspector.session.builder import SessionBuilder
from inspector.session.errors import SessionError
from inspector.session.files import BROKEN_SECONDS, FileState, Locator, is_file, open_for_reading
from inspector.session.json.codec import is_whole_json
from inspector.session.json.nodes import FileNode
from inspector.session.jsonl_reader import JsonlReader
from inspector.session.linked_documents import LinkedDocuments
from inspector.session.reader import FileChange, ReadingProgress
from inspector.session.registry import detect
from inspector.session.sniff import Sample
from inspector.session.texts import FileTexts, MemoryTexts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from inspector.session.linked_documents import SidecarFile
    from inspector.session.model import Session, TextSource
    from inspector.session.reader import DocumentInterpreter, Reader, RecordInterpreter


class JsonReader:
    """Reads one JSON document, and again whenever it was written anew."""

    def __init__(
        self,
        path: Path,
        format_name: str,
        interpreter: Callable[[], DocumentInterpreter | RecordInterpreter],
        sidecars: Sequence[SidecarFile] = (),
        linked: LinkedDocuments | None = None,
        opened: Path | None = None,
    ) -> None:
        """Open a file.

        Args:
            path: The file, perhaps with the name of one of several sessions in it.
            format_name: The format's name.
            interpreter: Makes one that takes the document; called again whenever the document was written anew.
            sidecars: Documents that the interpreter looks at too; where one changes, everything is put together anew.
            linked: Documents that the interpreter opens because the session goes on in them.
            opened: What was asked for, where that is another place than the file.

        Raises:
            SessionError: It cannot be opened.
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
        """Read the document."""
        data = self._file.read()
        yield ReadingProgress(0, len(data))
        self._take(data)
        yield ReadingProgress(len(data), len(data))

    def snapshot(self) -> Session:
        """What has been read."""
        if self._session is None:
            files = (self._path, *self._linked.paths)
            self._session = self._builder.snapshot(self._format, self._session_path, self._texts, files)
        return self._session

    def refresh(self) -> FileChange:
        """Look at the file again, and read it again where it was written anew."""
        try:
            state = FileState.of(self._path.stat())
            # All are looked at, so that none is seen to have changed twice.
            are_sidecars_same = not [one for one in self._sidecars if one.changed()]
            if state == self._state and are_sidecars_same and not self._linked.changed():
                return FileChange.NONE
            if state.size == 0 or not self._linked.are_settled(BROKEN_SECONDS):
                return FileChange.UNREADABLE
            file = open_for_reading(self._path)
            data = file.read()
            if FileState.of(os.fstat(file.fileno())) != state:
                return FileChange.UNREADABLE  # written while it was read
        except FileNotFoundError:
            return FileChange.VANISHED
        except OSError:
            return FileChange.UNREADABLE
        except SessionError:
            return FileChange.UNREADABLE if is_file(self._path) else FileChange.REPLACED
        found = self._format_found()
        if found not in (self._format, ""):
            return FileChange.REPLACED
        if not found or not is_whole_json(data):
            return FileChange.UNREADABLE if state.age < BROKEN_SECONDS else FileChange.REPLACED
        before = self.snapshot()
        self._file, self._state = file, state.settled()
        try:
            self._take(data)
        except SessionError:
            return FileChange.REPLACED  # the session that was read is no longer in it
        self._builder.reuse(before)
        return FileChange.NONE if self.snapshot() == before else FileChange.APPENDED

    def watched(self) -> Path:
        """The file's folder."""
        return self._path.parent

    def _take(self, data: bytes) -> None:
        self._linked.begin()
        interpreter = self._make_interpreter()
        interpreter.take_document(FileNode(data, 0))
        interpreter.settle()
        paths, files = (self._path, *self._linked.paths), (self._file, *self._linked.files)
        self._texts = FileTexts(paths, files, interpreter.blocks_of_record)
        # The interpreter itself is let go: it may hold on to the whole document.
        self._builder, self._session = interpreter.builder, None

    def _format_found(self) -> str:
        """Name of the format that the file has now; empty where it has none."""
        try:
            return detect(self._path).format.name
        except SessionError:
            return ""


def json_file_reader(path: Path, format_name: str, interpreter: Callable[[], RecordInterpreter]) -> Reader:
    """A reader for records that stand on lines, or all in one document.

    Args:
        path: The file, perhaps with the name of one of several sessions in it.
        format_name: The format's name.
        interpreter: Makes one that takes lines as well as the document.

    Raises:
        SessionError: It cannot be opened.
    """
    if Sample(Locator.of(path).file).is_lines:
        return JsonlReader(path, format_name, interpreter())
    return JsonReader(path, format_name, interpreter)
