"""Read files with one record per line, appended to by an agent while they are read."""

from __future__ import annotations

import os
import re
import stat
import time
from hashlib import blake2b
from typing import TYPE_CHECKING, NamedTuple

from inspector.session.blocks import FileTexts
from inspector.session.builder import limit_of
from inspector.session.files import FileState, Locator, open_for_reading
from inspector.session.json import RecordShapes, is_whole_json, line_bounds
from inspector.session.model import Diagnostic
from inspector.session.reader import FileChange, ReadingProgress, Record

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from inspector.session.model import Session, TextSource
    from inspector.session.reader import RecordInterpreter

SLICE_BYTES = 1 << 20
"""Slice size. Decoding one holds the GIL for a few milliseconds, so the screen stays responsive."""

LINE_VARIABLE = "INSPECTOR_LINE_MB"
DEFAULT_LINE_MB = 64
"""Limit on a line; agents write a few megabytes at most. Decoding takes several times the memory of the line."""

EMPTY_RECORDS = re.compile(rb"^(?:\{\}\r?\n)+", re.MULTILINE)
"""Empty objects, skipped together: a damaged file may hold millions."""

HEAD_BYTES = 4096
TAIL_BYTES = 64

SETTLED_SECONDS = 1.0
"""A last line without a line end is accepted once its file has not changed for this long."""


class ReadPlace(NamedTuple):
    """Read position in a file, with evidence that the data before it is unchanged: another reader can resume there.

    Attributes:
        state: State of the file when it was opened.
        offset: Byte offset after the last line read.
        is_tail_taken: True if the last line read had no line end.
        unfinished: Diagnostic for an incomplete last line, which may still be completed.
        head: Length and digest of the beginning of the file.
        before_offset: Digest of the bytes just before the offset.
    """

    state: FileState
    offset: int
    lines: int
    is_tail_taken: bool
    unfinished: Diagnostic | None
    head: tuple[int, bytes]
    before_offset: bytes


class JsonlReader:
    """Reads a file line by line and follows it.

    Only whole lines count. A last line without a line end is read once the file has not changed for a second, and
    immediately when a file is first opened: truncated copies often lack the last line end.
    """

    def __init__(
        self, path: Path, format_name: str, interpreter: RecordInterpreter, opened: Path | None = None
    ) -> None:
        """Open a file. Raises `SessionError` if it cannot be opened.

        Args:
            opened: The requested path, if it is not the file.
        """
        self._session_path = opened or path
        self._path = path = Locator.of(path).file
        self._format = format_name
        self._interpreter = interpreter
        self._file = open_for_reading(path)
        self._state = FileState.of(os.fstat(self._file.fileno()))
        self._offset = 0
        self._lines = 0
        self._tail_taken = False  # the last line read had no line end
        self._tail_settled = False
        self._unfinished: Diagnostic | None = None
        self._head = (0, b"")
        self._before_offset = b""
        self._texts = FileTexts((path,), (self._file,), interpreter.blocks_of_record)
        self._read_elsewhere: Session | None = None
        self._most = limit_of(LINE_VARIABLE, DEFAULT_LINE_MB) << 20
        self._searched = (0, 0)  # offset of a line over the limit, and up to where it has no line end

    @property
    def texts(self) -> TextSource:
        """Reads texts of the file again, including those read by another reader."""
        return self._texts

    @property
    def place(self) -> ReadPlace:
        return ReadPlace(
            self._state,
            self._offset,
            self._lines,
            self._tail_taken,
            self._unfinished,
            self._head,
            self._before_offset,
        )

    def resume(self, place: ReadPlace, session: Session) -> bool:
        """Resume at another reader's position; return False and do nothing if that reader read a different file.

        Data before the position is not read unless the file grows.

        Args:
            place: Position of a reader that reached the end of the file.
            session: The session it read, with this reader's texts.
        """
        if place.state[:2] != self._state[:2]:
            return False
        self._state, self._offset, self._lines, self._tail_taken = place[:4]
        self._unfinished, self._head, self._before_offset = place[4:]
        self._tail_settled = True
        self._read_elsewhere = session
        return True

    def start_near_end(self, length: int) -> int:
        """Skip everything before the first line that begins in the last bytes of the file; call it before `load`.

        Line numbers in diagnostics then count from there. Skipped records are missing in the session, so only figures
        of single calls are complete.

        Returns:
            Number of bytes skipped; 0 if the file is not longer.
        """
        start = os.fstat(self._file.fileno()).st_size - length
        position = start - 1  # a line may begin exactly at the start
        while position >= 0 and (data := os.pread(self._file.fileno(), HEAD_BYTES, position)):
            newline = data.find(b"\n")
            if newline >= 0:
                self._offset = position + newline + 1
                break
            position += len(data)
        return self._offset

    def keep_texts(self, characters: int) -> None:
        """Cache up to this many characters of text, for callers that read all texts more than once."""
        self._texts.keep(characters)
        self._interpreter.takes_texts = self._texts.remember

    def load(self) -> Iterator[ReadingProgress]:
        total = os.fstat(self._file.fileno()).st_size
        for offset in self._read_slices():
            yield ReadingProgress(offset, max(total, offset))
        self._settle_tail()
        self._remember()
        yield ReadingProgress(max(total, self._offset), max(total, self._offset))

    def snapshot(self) -> Session:
        if self._read_elsewhere is not None:
            return self._read_elsewhere
        self._interpreter.settle()
        return self._interpreter.builder.snapshot(
            self._format, self._session_path, self._texts, (self._path,), self._unfinished
        )

    def watched(self) -> Path:
        """Return the file's folder; a watch on the file itself would stop working once it is replaced."""
        return self._path.parent

    def refresh(self) -> FileChange:
        try:
            status = self._path.stat()
        except OSError as error:
            return FileChange.of_error(error)
        state = FileState.of(status)
        if state == self._state:
            return self._settle(status)
        if state[:2] != self._state[:2] or not stat.S_ISREG(status.st_mode):
            return FileChange.REPLACED
        if state.size == 0 < self._state.size:
            return FileChange.UNREADABLE  # about to be rewritten
        if state.size < self._state.size or not self._is_continued():
            return FileChange.REPLACED
        self._state = state
        try:
            return self._read_on()
        except OSError:
            return FileChange.UNREADABLE

    def _read_on(self) -> FileChange:
        before = self._offset
        if self._tail_taken and not self._line_end_follows():
            return FileChange.REPLACED
        had_unfinished, self._unfinished = self._unfinished, None
        if self._read_elsewhere is not None and self._state.size > self._offset:
            self._read_again(self._read_elsewhere)
        for _ in self._read_slices():
            pass
        self._remember()
        self._tail_settled = False
        return FileChange.APPENDED if self._offset > before or had_unfinished else FileChange.NONE

    def _read_again(self, before: Session) -> None:
        """Read the data of another reader again: appended records cannot be interpreted without it."""
        self._read_elsewhere = None
        self._offset = self._lines = 0
        self._tail_taken = False
        for _ in self._read_slices():
            pass
        self._interpreter.settle()
        self._interpreter.builder.reuse(before)

    def _read_slices(self) -> Iterator[int]:
        """Read all whole lines from the offset on; yield the offset after each slice."""
        pieces: list[bytes] = []  # parts of a line longer than a slice
        start, position = self._searched
        if start != self._offset:
            position = self._offset
        descriptor = self._file.fileno()
        while data := os.pread(descriptor, SLICE_BYTES, position):
            if position - self._offset >= self._most:
                pieces = []
                newline = data.find(b"\n")
                position += len(data) if newline < 0 else newline + 1
                if newline < 0:
                    self._searched = (self._offset, position)
                else:
                    self._skip_line(position)
                yield position
                continue
            newline = data.rfind(b"\n")
            if newline < 0:
                pieces.append(data)
                position += len(data)
                continue
            self._take(b"".join((*pieces, data[: newline + 1])))
            pieces = []
            position = self._offset  # a line cut off by the end of a slice is read again as a whole
            yield self._offset

    def _skip_line(self, end: int) -> None:
        """Pass over a line over the limit, which ends before an offset."""
        self._lines += 1
        self._interpreter.builder.diagnose(
            f"line longer than {self._most >> 20} MB; {LINE_VARIABLE} sets the limit",
            self._lines,
            self._offset,
            skipped=True,
            loses_usage=True,
        )
        self._offset = end
        self._tail_taken = False

    def _take(self, data: bytes) -> None:
        end = 0
        # Lengths of lines take a tenth of the time of a search for `{}` and a line end.
        has_empty = data.startswith(b"{}") or any(end - start == 2 for start, end, _ in line_bounds(data))
        for run in EMPTY_RECORDS.finditer(data) if has_empty else ():
            self._take_records(data[end : run.start()])
            count, end = run[0].count(b"\n"), run.end()
            self._interpreter.builder.skip_empty(count, self._lines + 1, self._offset)
            self._offset += len(run[0])
            self._lines += count
            self._tail_taken = False
        self._take_records(data[end:] if end else data)

    def _take_records(self, data: bytes) -> None:
        """Interpret whole lines; unreadable ones become diagnostics."""
        if not data:
            return
        if self._interpreter.builder.is_full:
            count = data.count(b"\n") + (not data.endswith(b"\n"))
            self._interpreter.builder.leave_out(count, self._lines + 1, self._offset)
            self._offset += len(data)
            self._lines += count
            self._tail_taken = not data.endswith(b"\n")
            return
        take, diagnose = self._interpreter.take, self._interpreter.builder.diagnose
        first_offset, first_line = self._offset, self._lines + 1
        number = end = 0
        shapes: RecordShapes | None = None
        for value, start, end, number, problem in self._interpreter.decoder.lines(data):
            is_lost = value is None
            is_torn = is_lost and data[start:end].lstrip().startswith(b"{")
            if problem:
                diagnose(problem, first_line + number, first_offset + start, skipped=is_lost, loses_usage=is_torn)
            if value is not None:
                take(Record(value, data[start:end], first_offset + start, first_line + number))
            elif is_torn:
                shapes = shapes or RecordShapes(data, os.pread(self._file.fileno(), HEAD_BYTES, 0))
                for record in self._glued(shapes, data, start, end):
                    take(record._replace(offset=first_offset + record.offset, line=first_line + number))
        self._offset += len(data)
        self._lines += number + data.count(b"\n", end)
        self._tail_taken = not data.endswith(b"\n")
        self._lines += self._tail_taken

    def _glued(self, shapes: RecordShapes, data: bytes, start: int, end: int) -> Iterator[Record]:
        """Yield the whole records in an invalid line: a crash tears a record, and the next one follows in its line."""
        for first, last in shapes.records_in(data[start:end]):
            piece = data[start + first : start + last]
            for decoded in self._interpreter.decoder.lines(piece):
                if decoded.value is not None:
                    yield Record(decoded.value, piece, start + first)

    def _settle(self, status: os.stat_result) -> FileChange:
        """Accept a last line without a line end once the file has not changed for a while."""
        waits = self._state.size > self._offset and not self._tail_settled
        if not waits or time.time() - status.st_mtime < SETTLED_SECONDS:
            return FileChange.NONE
        changed = self._settle_tail()
        self._remember()
        return FileChange.APPENDED if changed else FileChange.NONE

    def _settle_tail(self) -> bool:
        """Accept the text after the last line end if it is a whole record; otherwise note it as unfinished."""
        self._tail_settled = True
        size = os.fstat(self._file.fileno()).st_size
        if size - self._offset > self._most + SLICE_BYTES:
            problem = f"the last line is longer than {self._most >> 20} MB; {LINE_VARIABLE} sets the limit"
            self._unfinished = Diagnostic(problem, self._lines + 1, self._offset, loses_usage=True)
            return True
        tail = os.pread(self._file.fileno(), size - self._offset, self._offset) if size > self._offset else b""
        if not tail.strip():
            return False
        if tail.rstrip().endswith(b"}") and is_whole_json(tail):
            self._unfinished = None
            self._take(tail)
        else:
            self._unfinished = Diagnostic(
                "the last line is incomplete", self._lines + 1, self._offset, loses_usage=True
            )
        return True

    def _line_end_follows(self) -> bool:
        following = os.pread(self._file.fileno(), 2, self._offset)
        if following[:1] == b"\n" or following == b"\r\n":
            self._lines -= 1  # the unterminated line was already counted
            self._tail_taken = False
            return True
        return not following

    def _remember(self) -> None:
        descriptor = self._file.fileno()
        length = min(HEAD_BYTES, self._offset)
        if self._head[0] != length:
            self._head = (length, _digest(os.pread(descriptor, length, 0)))
        self._before_offset = self._just_before()

    def _just_before(self) -> bytes:
        start = max(self._offset - TAIL_BYTES, 0)
        return _digest(os.pread(self._file.fileno(), self._offset - start, start))

    def _is_continued(self) -> bool:
        """Return True if the data read before is still in the file, judging by its beginning and end."""
        try:
            head = _digest(os.pread(self._file.fileno(), self._head[0], 0))
            return head == self._head[1] and self._just_before() == self._before_offset
        except OSError:
            return False


def _digest(data: bytes) -> bytes:
    return blake2b(data, digest_size=16).digest()
