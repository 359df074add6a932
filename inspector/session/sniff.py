"""A sample of a file's first bytes and records, for format detection."""

from __future__ import annotations

import os
from enum import Flag, auto
from functools import cached_property
from typing import TYPE_CHECKING, Any

from inspector.errors import SessionError
from inspector.session.files import is_folder, open_error_message, open_for_reading
from inspector.session.json import BLANKS, decode_json, line_bounds
from inspector.session.zstd import is_zstd, unpacked_beginning

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

HEAD_BYTES = 1 << 16

LONGER_BEGINNINGS = (1 << 19, 1 << 23)
LONGEST_BEGINNING = 1 << 27
"""Limit on the bytes searched for a format: single lines of two megabytes are common, longer ones possible."""

SAMPLE_RECORDS = 50

MOST_OTHERS = 1_000
"""Lines without an object after which a file without any object so far is one document."""

BLANK_BYTES = BLANKS.encode()

SQLITE = b"SQLite format 3\x00"

ZIP = b"PK\x03\x04"


class FileKind(Flag):
    """Kind of a file, by its first bytes."""

    FOLDER = auto()
    DATABASE = auto()
    ARCHIVE = auto()
    TEXT = auto()


def beginning_size(path: Path) -> int:
    """Return a file's size up to `HEAD_BYTES`: equal while a log's beginning is. Raises `OSError` if it is gone."""
    return min(path.stat().st_size, HEAD_BYTES)


class Sample:
    """The beginning of a file as bytes (64 KB), lines and a document. Folders have none."""

    def __init__(self, path: Path, most_document_bytes: int | None = None) -> None:
        """Inspect a path; larger documents are not parsed. Raises `SessionError` if nothing is readable."""
        self.path = path
        self._most_document_bytes = most_document_bytes
        try:
            self.is_directory = is_folder(path)
        except (OSError, ValueError) as error:
            raise SessionError(open_error_message(path, error)) from error
        self.size = 0
        self.head = b""
        self._unpacked = b""
        if not self.is_directory:
            with open_for_reading(path) as file:
                self.size = os.fstat(file.fileno()).st_size
                self.head = self._read(file.fileno(), HEAD_BYTES)
                if is_zstd(self.head):
                    self._unpack()
                if len(self.head.lstrip()) == 0 and self.size <= HEAD_BYTES:
                    raise SessionError(f"{path}: the file is empty. Give the path of a session with content.")

    def _unpack(self) -> None:
        """Inspect the content of a compressed file instead; its size is only known for the part that was unpacked."""
        beginning = unpacked_beginning(self.path, LONGER_BEGINNINGS[-1])
        if beginning:
            self.head, self.size, self._unpacked = beginning[:HEAD_BYTES], len(beginning), beginning

    def _read(self, descriptor: int, count: int) -> bytes:
        if self._unpacked:
            return self._unpacked[:count]
        try:
            return os.pread(descriptor, count, 0)
        except OSError as error:
            raise SessionError(open_error_message(self.path, error)) from error

    @cached_property
    def records(self) -> tuple[dict[str, Any], ...]:
        """The first fifty JSON objects on separate lines. Line 1 is not enough: it is rarely specific."""
        return tuple(self._lines[0])

    @property
    def is_lines(self) -> bool:
        """True if the file has one JSON object per line, rather than one document over many lines."""
        records, others = self._lines
        return len(records) > 0 and len(records) >= others

    @cached_property
    def _lines(self) -> tuple[list[dict[str, Any]], int]:
        """The first objects, and the number of other lines among them."""
        records: list[dict[str, Any]] = []
        others = 0
        for data in self._beginnings():
            records, others = [], 0
            for start, end, _ in self._whole_lines(data):
                value = _object(data[start:end])
                if value is None:
                    others += 1
                    if others == MOST_OTHERS and not records:
                        return records, others  # one document over many lines
                else:
                    records.append(value)
                if len(records) == SAMPLE_RECORDS:
                    return records, others
        return records, others

    @cached_property
    def starts_like_json(self) -> bool:
        """True if the first character begins a JSON object or array."""
        return self.head.lstrip(BLANK_BYTES)[:1] in (b"{", b"[")

    @property
    def is_database(self) -> bool:
        return self.head.startswith(SQLITE)

    @property
    def is_archive(self) -> bool:
        return self.head.startswith(ZIP)

    @property
    def kind(self) -> FileKind:
        if self.is_directory:
            return FileKind.FOLDER
        if self.is_database:
            return FileKind.DATABASE
        return FileKind.ARCHIVE if self.is_archive else FileKind.TEXT

    @cached_property
    def fields(self) -> frozenset[str]:
        """Field names of the JSON objects, including those of a list: `a`; in separate lines also `a.b`."""
        found: set[str] = set()
        for record in self.records:
            found.update(record)
            for name, inner in record.items():
                if isinstance(inner, dict):
                    found.update(f"{name}.{one}" for one in inner)
        document = None if self.is_lines else self.document
        for entry in document if isinstance(document, list) else (document,):
            if isinstance(entry, dict):
                found.update(entry)
        return frozenset(found)

    def has_tables(self, tables: Mapping[str, frozenset[str]]) -> bool:
        """Return True if it has these tables with these columns. Raises `SessionError` while not readable."""
        return all(columns <= self.tables.get(name, frozenset()) for name, columns in tables.items())

    @cached_property
    def tables(self) -> Mapping[str, frozenset[str]]:
        """Columns by table of an SQLite database, empty for others. Raises `SessionError` while unreadable."""
        if not self.is_database:
            return {}
        from inspector.session.sqlite import columns_of_tables, read_database

        return read_database(self.path, columns_of_tables)

    @cached_property
    def document(self) -> Any:
        """The whole file as one JSON value, or None. Only for files that are not read by lines."""
        if self.is_directory or not self.starts_like_json:
            return None
        if self._most_document_bytes is not None and self.size > self._most_document_bytes:
            return None
        if self._unpacked:
            data = unpacked_beginning(self.path, self._most_document_bytes or LONGEST_BEGINNING)
        else:
            with open_for_reading(self.path) as file:
                data = file.read()
        return decode_json(data)[0]

    @cached_property
    def only_value(self) -> Any:
        """The only JSON value in the file, on one line or many; None for several lines and for folders."""
        if self.is_directory:
            return None
        if not self.is_lines:
            return self.document
        return self.records[0] if len(self.records) == 1 else None

    def _beginnings(self) -> Iterator[bytes]:
        """Yield ever longer parts of the file while that may reveal more lines."""
        if self.is_directory:
            return
        yield self.head
        if self.size <= len(self.head) or not (self.starts_like_json or b"\n{" in self.head):
            return
        data = b""
        for count in (*LONGER_BEGINNINGS, LONGEST_BEGINNING):
            if len(data) < self.size and (count < LONGEST_BEGINNING or b"\n" not in data):
                with open_for_reading(self.path) as file:
                    data = self._read(file.fileno(), count)
                yield data

    def _whole_lines(self, data: bytes) -> list[tuple[int, int, int]]:
        bounds = line_bounds(data)
        if bounds and len(data) < self.size and not data.endswith(b"\n"):
            bounds.pop()  # cut by the sample, not in the file
        return bounds


def _object(line: bytes) -> dict[str, Any] | None:
    if not line.lstrip(BLANK_BYTES).startswith(b"{"):
        return None
    value, _ = decode_json(line)
    return value if isinstance(value, dict) else None
