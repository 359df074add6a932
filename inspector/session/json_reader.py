"""Reading files that are one JSON document: read whole, and read again whole when they change.

Programs that keep a session like this rewrite the file at every step, some in place. So a file that is not whole JSON
at the moment is left alone for a while, and what was read of it before stays.
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from inspector.session.builder import SessionBuilder
from inspector.session.errors import SessionError
from inspector.session.files import BYTE_ORDER_MARK, CLOCK_SECONDS, FileState, Locator, is_file, open_for_reading
from inspector.session.json.codec import is_whole_json
from inspector.session.json.nodes import FileNode
from inspector.session.linked_documents import LinkedDocuments
from inspector.session.reader import Change, Progress
from inspector.session.registry import detect
from inspector.session.texts import FileTexts, MemoryTexts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path
    from typing import BinaryIO

    from inspector.session.linked_documents import SidecarFile
    from inspector.session.model import Session, TextSource
    from inspector.session.reader import DocumentInterpreter, RecordInterpreter

BROKEN_SECONDS = 2.0
"""A document that is broken is being written, unless it has been left like that for this long."""


class JsonReader:
    """Reads one JSON document, and again whenever it was written anew."""

    def __init__(
        self,
        path: Path,
        format_name: str,
        interpreter: Callable[[], DocumentInterpreter | RecordInterpreter],
        beside: Sequence[SidecarFile] = (),
        others: LinkedDocuments | None = None,
        opened: Path | None = None,
    ) -> None:
        """Open a file.

        Args:
            path: The file, perhaps with the name of one of several sessions in it.
            format_name: The format's name.
            interpreter: Makes one that takes the document; called again whenever the document was written anew.
            beside: Documents that the interpreter looks at too; where one changes, everything is put together anew.
            others: Documents that the interpreter opens because the session goes on in them.
            opened: What was asked for, where that is another place than the file.

        Raises:
            SessionError: It cannot be opened.
        """
        self._session_path = opened or path
        self._path = path = Locator.of(path).file
        self._beside = tuple(beside)
        self._others = others or LinkedDocuments()
        self._format = format_name
        self._make_interpreter = interpreter
        file = open_for_reading(path)
        self._use(file, FileState.of(os.fstat(file.fileno())))
        self._builder = SessionBuilder()
        self._texts: TextSource = MemoryTexts()
        self._session: Session | None = None

    def load(self) -> Iterator[Progress]:
        """Read the document."""
        data = self._file.read()
        yield Progress(0, len(data))
        self._take(data)
        yield Progress(len(data), len(data))

    def snapshot(self) -> Session:
        """What has been read."""
        if self._session is None:
            files = (self._path, *self._others.paths)
            self._session = self._builder.snapshot(self._format, self._session_path, self._texts, files)
        return self._session

    def refresh(self) -> Change:
        """Look at the file again, and read it again where it was written anew."""
        try:
            place = FileState.of(self._path.stat())
            # All are looked at, so that none is seen to have changed twice.
            is_same_beside = not [one for one in self._beside if one.changed()]
            if place == self._place and is_same_beside and not self._others.changed():
                return Change.NONE
            if place.size == 0 or not self._others.are_settled(BROKEN_SECONDS):
                return Change.UNREADABLE
            file = open_for_reading(self._path)
            data = file.read()
            if FileState.of(os.fstat(file.fileno())) != place:
                return Change.UNREADABLE  # written while it was read
        except FileNotFoundError:
            return Change.VANISHED
        except OSError:
            return Change.UNREADABLE
        except SessionError:
            return Change.UNREADABLE if is_file(self._path) else Change.REPLACED
        found = self._format_found()
        if found not in (self._format, ""):
            return Change.REPLACED
        if not found or not is_whole_json(_without_mark(data)[0]):
            is_fresh = time.time() - place.modified / 1e9 < BROKEN_SECONDS
            return Change.UNREADABLE if is_fresh else Change.REPLACED
        before = self.snapshot()
        self._use(file, place)
        try:
            self._take(data)
        except SessionError:
            return Change.REPLACED  # the session that was read is no longer in it
        self._builder.reuse(before)
        return Change.NONE if self.snapshot() == before else Change.APPENDED

    def watched(self) -> Path:
        """The file's folder."""
        return self._path.parent

    def _use(self, file: BinaryIO, place: FileState) -> None:
        """Take a file as it was at `place`; one that has just been written is looked at once more."""
        is_settled = time.time() - place.modified / 1e9 > CLOCK_SECONDS
        self._file = file
        self._place = place if is_settled else place._replace(modified=0)

    def _take(self, data: bytes) -> None:
        data, start = _without_mark(data)
        self._others.begin()
        interpreter = self._make_interpreter()
        interpreter.take_document(FileNode(data, start))
        interpreter.settle()
        paths, files = (self._path, *self._others.paths), (self._file, *self._others.files)
        self._texts = FileTexts(paths, files, interpreter.blocks_of_record)
        # The interpreter itself is let go: it may hold on to the whole document.
        self._builder, self._session = interpreter.builder, None

    def _format_found(self) -> str:
        """Name of the format that the file has now; empty where it has none."""
        try:
            return detect(self._path).format.name
        except SessionError:
            return ""


def _without_mark(data: bytes) -> tuple[bytes, int]:
    """A document without its byte order mark, and where it begins."""
    start = len(BYTE_ORDER_MARK) if data.startswith(BYTE_ORDER_MARK) else 0
    return data[start:], start
