"""The archive that a log is: which samples it holds, and what is in one of its files."""

from __future__ import annotations

import re
import struct
import sys
import zipfile
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from inspector.session.errors import SessionError
from inspector.session.opening import open_for_reading

if TYPE_CHECKING:
    from pathlib import Path

ZSTANDARD = 93
"""Compression method of ZIP files (APPNOTE.TXT, 4.4.5), which Python reads from 3.14 on."""

LOCAL_HEADER = struct.Struct("<4s5H3I2H")
"""What stands before a file's bytes (APPNOTE.TXT, 4.3.7)."""

SAMPLE = re.compile(r"samples/(?P<name>.+)\.json")

HEADERS = ("header.json", "_journal/start.json")

UNREADABLE = (zipfile.BadZipFile, zlib.error, OSError, ValueError, EOFError, KeyError, NotImplementedError)

MOST_BYTES = 1 << 31


@dataclass(frozen=True)
class Archive:
    """The contents of an archive, as its directory lists them.

    Attributes:
        path: The archive.
        samples: Names of the files with samples, by the name of the sample, in the order in which they were written.
        headers: Names of the files that say what was evaluated, the final one first.
        files: The names of all files.
    """

    path: Path
    samples: dict[str, str]
    headers: tuple[str, ...]
    files: frozenset[str]

    @property
    def is_log(self) -> bool:
        """Whether it is a log of Inspect's."""
        return bool(self.headers)

    @classmethod
    def at(cls, path: Path) -> Archive:
        """The archive in a file; an empty one where its directory cannot be read.

        Raises:
            SessionError: The file cannot be opened.
        """
        with open_for_reading(path) as file:
            try:
                names = zipfile.ZipFile(file).namelist()
            except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError):
                names = []
        samples = {found["name"]: name for name in names if (found := SAMPLE.fullmatch(name)) is not None}
        return cls(path, samples, tuple(name for name in HEADERS if name in names), frozenset(names))

    def read(self, name: str) -> bytes:
        """What a file of the archive holds.

        Raises:
            SessionError: It cannot be read.
        """
        with open_for_reading(self.path) as file:
            try:
                archive = zipfile.ZipFile(file)
                # A file written twice is listed twice, and the last one counts.
                listed = archive.NameToInfo[name]
                if listed.file_size > MOST_BYTES:
                    raise SessionError(f"{self.path}: {name} is too large to be read ({listed.file_size:,} bytes).")
                if listed.compress_type != ZSTANDARD:
                    return archive.read(listed)
                file.seek(listed.header_offset)
                header = LOCAL_HEADER.unpack(_exactly(file, LOCAL_HEADER.size))
                _exactly(file, header[9] + header[10])
                return _zstandard(self.path, _exactly(file, listed.compress_size))
            except (
                zipfile.BadZipFile,
                zlib.error,
                OSError,
                ValueError,
                EOFError,
                KeyError,
                NotImplementedError,
            ) as error:
                raise SessionError(
                    f"{self.path}: {name} in it cannot be read ({type(error).__name__}). Wait until it is finished, or "
                    "check the file."
                ) from error


def _exactly(file: Any, count: int) -> bytes:
    data = b""
    while len(data) < count:
        more = file.read(count - len(data))
        if not more:
            raise EOFError
        data += more
    return data


def _zstandard(path: Path, data: bytes) -> bytes:
    try:
        if sys.version_info >= (3, 14):
            from compression import zstd
        else:
            from backports import zstd
    except ImportError as error:
        raise SessionError(
            f"{path}: compressed with Zstandard. Install what reads that: pip install backports.zstd"
        ) from error
    try:
        return bytes(zstd.decompress(data))
    except zstd.ZstdError as error:
        raise zlib.error(str(error)) from error
