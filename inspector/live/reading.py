"""Read the newest records of a session, then appended ones.

A file with one record per line is read from near its end. Only whole documents, folders and databases are read in full,
because their readers cannot start in the middle; larger documents than `MOST_DOCUMENT_BYTES` are not read.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Final, NamedTuple

from inspector.errors import SessionError
from inspector.session.files import Locator, is_folder
from inspector.session.jsonl_reader import JsonlReader
from inspector.session.model import Session, session_name
from inspector.session.open import open_reader
from inspector.session.reader import FileChange, Reader
from inspector.session.sqlite import SqliteReader

if TYPE_CHECKING:
    from pathlib import Path


TAIL_BYTES: Final = 4 << 20
"""Bytes read at the end of a file of lines."""

MOST_TAIL_BYTES: Final = 64 << 20
"""Limit for files without a reported prompt in the last `TAIL_BYTES`."""

MOST_DOCUMENT_BYTES: Final = 32 << 20
"""Larger documents are not read: each change would be read as a whole."""

COSTLY_SECONDS: Final = 0.02
REST: Final = 20
"""After a refresh of more CPU time than that, the next one waits for this multiple of it."""


class Beginning(NamedTuple):
    """Data from the beginning of a file of which only the end is read.

    Attributes:
        name: Title or first prompt; may be empty.
        started: Time of the first record, seconds since the epoch; None if not recorded.
        model: Model of the first calls; may be empty.
        agent: The agent as recorded; may be empty.
        working_directory: The agent's working directory; may be empty.
        identifier: The agent's id of the session.
        first_prompt: Tokens of the first prompt; 0 if not recorded.
    """

    name: str
    started: float | None
    model: str
    agent: str
    working_directory: str
    identifier: str
    first_prompt: int

    @classmethod
    def of(cls, session: Session) -> Beginning:
        started = next((message.time for message in session.messages if message.time is not None), None)
        return cls(
            session_name(session),
            started,
            session.main_model,
            session.agent,
            session.working_directory,
            session.identifier,
            next((call.usage.prompt for call in session.calls if call.usage is not None), 0),
        )


class LiveReader:
    """Reads one running session. Not thread-safe; never raises once opened.

    Attributes:
        file: Its file or folder.
        session: The newest part that was read.
        skipped_bytes: Bytes before that part.
        modified: Time of the last change of the file, seconds since the epoch.
        is_gone: True if the file does not exist or is not a session any more.
        rests_until: Time of `time.monotonic` before which it should not be refreshed: whole documents are costly.
    """

    def __init__(self, path: Path, known: str = "", tail_bytes: int = TAIL_BYTES) -> None:
        """Open a session and read its newest part.

        Args:
            known: Name of its format if already detected.
            tail_bytes: Bytes to read at the end of a file of lines.

        Raises:
            SessionError: It cannot be read, or is too large to read in full.
        """
        self.path = path
        self.file = Locator.of(path).file
        self.is_gone = False
        self.rests_until = 0.0
        self._known = known
        self._tail_bytes = tail_bytes
        self._open()

    def _open(self) -> None:
        tail = self._tail_bytes
        while True:
            self._reader, self.skipped_bytes = self._loaded(tail)
            self.session = self._reader.snapshot()
            has_usage = any(call.usage is not None and call.usage.prompt for call in self.session.calls)
            if has_usage or not self.skipped_bytes or tail >= MOST_TAIL_BYTES:
                break
            tail *= 4
        self.beginning = self._beginning() if self.skipped_bytes else Beginning.of(self.session)
        self._note_modified()

    def _loaded(self, tail: int) -> tuple[Reader, int]:
        reader = open_reader(self.path, self._known)
        is_tailed = isinstance(reader, JsonlReader) and self.path == self.file
        skipped = reader.start_near_end(tail) if isinstance(reader, JsonlReader) and is_tailed else 0
        is_bounded = isinstance(reader, JsonlReader | SqliteReader) or is_folder(self.file)
        if not is_bounded and (size := self.file.stat().st_size) > MOST_DOCUMENT_BYTES:
            limit = f"{MOST_DOCUMENT_BYTES >> 20} MB"
            raise SessionError(f"{self.path}: a document of {size >> 20} MB; only those up to {limit} are watched")
        for _ in reader.load():
            pass
        return reader, skipped

    def _beginning(self) -> Beginning:
        """Read the first slice of the file."""
        reader = open_reader(self.path, self._known)
        next(iter(reader.load()), None)
        return Beginning.of(reader.snapshot())

    def refresh(self) -> bool:
        """Read appended records; return True if the session changed."""
        began = time.thread_time()
        is_changed = self._refresh()
        if (cost := time.thread_time() - began) > COSTLY_SECONDS:
            self.rests_until = time.monotonic() + REST * cost
        return is_changed

    def _refresh(self) -> bool:
        try:
            found = self._reader.refresh()
            if found is FileChange.REPLACED or (self.is_gone and found is FileChange.NONE):
                self._open()
                self.is_gone = False
                return True
        except (SessionError, OSError):
            found = FileChange.VANISHED
        if found is FileChange.VANISHED:
            changed, self.is_gone = not self.is_gone, True
            return changed
        if found is not FileChange.APPENDED:
            return False
        self.is_gone = False
        self.session = self._reader.snapshot()
        self._note_modified()
        if not self.skipped_bytes and not (self.beginning.name and self.beginning.model):
            self.beginning = Beginning.of(self.session)
        return True

    def watched(self) -> Path:
        """Return the folder with the files of the session."""
        return self._reader.watched()

    def _note_modified(self) -> None:
        self.modified = 0.0
        for file in self.session.files or (self.file,):
            with suppress(OSError):
                self.modified = max(self.modified, os.stat(file).st_mtime)  # noqa: PTH116  `Path.stat` is slower
