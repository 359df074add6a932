"""Open and load sessions, including compressed ones.

Codex compresses rollouts that have not been used for a long time. The content is decompressed into a deleted temporary
file and read from there; nothing is written next to the session. Most compressed files do not grow: an agent
decompresses them before continuing the session. DeepSeek Harness appends frames to compressed files; these are
decompressed again up to the last whole frame.
"""

from __future__ import annotations

import os
from dataclasses import replace
from functools import partial
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING

from msgspec import Struct

from inspector.errors import SessionError
from inspector.session.discovery import describe_folder
from inspector.session.files import FileState, Locator, is_folder, open_for_reading, temporary_folder
from inspector.session.jsonl_reader import JsonlReader
from inspector.session.reader import FileChange, Reader, ReadingProgress
from inspector.session.registry import detect, format_named
from inspector.session.zstd import ZSTANDARD, DamagedError, is_zstd, unpacked, unpacked_beginning

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from inspector.session.model import Session


HEAD_BYTES = 4096

MOST_BYTES = 1 << 32
"""Limit on the decompressed size: a decompression bomb is refused before it fills the disk."""


class ZstdReader:
    """Reads a compressed session."""

    def __init__(self, path: Path, open_inside: Callable[[Path], Reader], *, grows: bool = False) -> None:
        """Open a file to which agents may append frames (`grows`). Raises `SessionError` if that fails."""
        self._path = path
        self._open_inside = open_inside
        self._grows = grows
        self._file = open_for_reading(path)
        self._state = FileState.of(os.fstat(self._file.fileno()))
        self._head = os.pread(self._file.fileno(), HEAD_BYTES, 0)
        self._session: Session | None = None
        self._inside: Reader | None = None

    def load(self) -> Iterator[ReadingProgress]:
        """Decompress and read it. Raises `SessionError` if it is damaged or too large, or the disk is full."""
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
        except OSError as error:
            return FileChange.of_error(error)
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


def open_reader(path: Path | str, known: str = "") -> Reader:
    """Return a reader, with nothing read yet, for a known or detected format. Raises `SessionError`."""
    path = Path(path)
    try:
        format_ = format_named(known) or detect(path).format
    except SessionError:
        if os.path.isdir(path):  # noqa: PTH112  # never raises
            raise SessionError(describe_folder(path)) from None
        raise
    if _is_compressed(Locator.of(path).file):
        return ZstdReader(path, partial(format_.reader_of_copy, path=path), grows=format_.grows_compressed)
    return format_.reader(path)


def _is_compressed(path: Path) -> bool:
    if is_folder(path):
        return False
    with open_for_reading(path) as file:
        begins_so = is_zstd(file.read(len(ZSTANDARD)))
    return begins_so and bool(unpacked_beginning(path, 1))  # a damaged line may begin with anything


def open_session(
    path: Path | str,
    *,
    progress: Callable[[int, int], None] | None = None,
    known: str = "",
    kept_characters: int = 0,
) -> Session:
    """Read a session.

    Args:
        path: Its file or folder.
        progress: Called while reading, with the bytes read and the total bytes.
        known: As in `open_reader`.
        kept_characters: Number of characters of text to cache in line-based formats, for callers that count and search
            the session immediately and then discard it.

    Raises:
        SessionError: It cannot be read as a session.
    """
    reader = open_reader(path, known)
    if kept_characters and isinstance(reader, JsonlReader):
        reader.keep_texts(kept_characters)
    for done, total in reader.load():
        if progress is not None:
            progress(done, total)
    return reader.snapshot()


FIRST_PART_BYTES = 1 << 20
"""Bytes read before the first rows are shown; every further part is twice as long."""


class Loading(Struct, frozen=True):
    """Bytes read of a session and in total, and now and then the partial session."""

    done: int
    total: int
    session: Session | None = None
    is_complete: bool = False


def load_in_parts(reader: Reader, seconds_between: float = 0.0) -> Iterator[Loading]:
    """Read a session in slices; yield a partial session after the first part and whenever its size has doubled.

    Args:
        seconds_between: Minimum interval between parts after the first.

    Raises:
        SessionError: It cannot be read.
    """
    due, next_part = FIRST_PART_BYTES, 0.0
    progress = (0, 0)
    for progress in reader.load():
        is_due = due <= progress.done < progress.total and monotonic() >= next_part
        if is_due:
            due, next_part = progress.done * 2, monotonic() + seconds_between
        yield Loading(progress.done, progress.total, reader.snapshot() if is_due else None)
    yield Loading(progress[0], progress[1], reader.snapshot(), is_complete=True)
