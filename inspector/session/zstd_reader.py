"""Read compressed sessions: Codex compresses rollouts that have not been used for a long time.

The content is decompressed into a deleted temporary file and read from there; nothing is written next to the session.
Most compressed files do not grow: an agent decompresses them before continuing the session. DeepSeek Harness appends
frames to compressed files; these are decompressed again up to the last whole frame.
"""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING

from inspector.session.errors import SessionError
from inspector.session.files import FileState, open_for_reading, temporary_folder
from inspector.session.reader import FileChange, ReadingProgress
from inspector.session.zstd import DamagedError, unpacked

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from inspector.session.model import Session
    from inspector.session.reader import Reader

HEAD_BYTES = 4096

MOST_BYTES = 1 << 32
"""Limit on the decompressed size: a decompression bomb is refused before it fills the disk."""


class ZstdReader:
    """Reads a compressed session."""

    def __init__(self, path: Path, open_inside: Callable[[Path], Reader], *, grows: bool = False) -> None:
        """Open a file.

        Args:
            path: The compressed file.
            open_inside: Opens the decompressed content.
            grows: True if agents append frames to it, the last of which may be incomplete.

        Raises:
            SessionError: It cannot be opened.
        """
        self._path = path
        self._open_inside = open_inside
        self._grows = grows
        self._file = open_for_reading(path)
        self._state = FileState.of(os.fstat(self._file.fileno()))
        self._head = os.pread(self._file.fileno(), HEAD_BYTES, 0)
        self._session: Session | None = None
        self._inside: Reader | None = None

    def load(self) -> Iterator[ReadingProgress]:
        """Decompress and read it.

        Raises:
            SessionError: It is damaged or too large, or the disk is full.
        """
        self._file.seek(0)
        with temporary_folder() as folder:
            copy = folder / self._path.name.removesuffix(".zst")
            with copy.open("wb") as written:
                for piece in self._unpacked():
                    written.write(piece)
                    yield ReadingProgress(self._file.tell(), self._state.size * 2)
            self._inside = self._open_inside(copy)
            for done, total in self._inside.load():
                yield ReadingProgress(self._state.size + self._state.size * done // max(total, 1), self._state.size * 2)
        self._session = None

    def snapshot(self) -> Session:
        if self._session is None:
            assert self._inside is not None  # noqa: S101  # `load` is called before anything else
            inside = self._inside.snapshot()
            self._session = replace(inside, path=self._path, files=(self._path,))
        return self._session

    def refresh(self) -> FileChange:
        """Check the file and decompress it again if it grew."""
        try:
            state = FileState.of(self._path.stat())
        except FileNotFoundError:
            return FileChange.VANISHED
        except OSError:
            return FileChange.UNREADABLE
        if state == self._state:
            return FileChange.NONE
        if not self._grows or not self._is_continued(state):
            return FileChange.REPLACED
        before = self.snapshot()
        self._state = state
        try:
            for _ in self.load():
                pass
        except (SessionError, OSError):
            return FileChange.REPLACED
        return FileChange.NONE if self.snapshot() == before else FileChange.APPENDED

    def watched(self) -> Path:
        return self._path.parent

    def _is_continued(self, state: FileState) -> bool:
        """Return True if the data read before is still in the file, judging by its beginning."""
        is_longer = state[:2] == self._state[:2] and state.size > self._state.size
        return is_longer and os.pread(self._file.fileno(), len(self._head), 0) == self._head

    def _unpacked(self) -> Iterator[bytes]:
        count = 0
        try:
            for piece in unpacked(self._file):
                count += len(piece)
                if count > MOST_BYTES:
                    raise SessionError(
                        f"{self._path}: unpacks to more than {MOST_BYTES >> 30} GB. Decompress it yourself."
                    )
                yield piece
        except DamagedError as error:
            if self._grows and count:
                return  # a frame is being written
            message = f"{self._path}: the compressed file is truncated or damaged. Look for an uncompressed copy."
            raise SessionError(message) from error
