"""Name and select the samples of a log."""

from __future__ import annotations

import re
import struct
import sys
import zipfile
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from inspector.session.errors import SessionError
from inspector.session.files import open_for_reading
from inspector.session.json.codec import lenient_json
from inspector.session.json.nodes import FileNode
from inspector.session.json.values import mapping, objects, string

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from inspector.session.json.nodes import Fields, Node


ZSTANDARD = 93
"""ZIP compression method (APPNOTE.TXT, 4.4.5), which Python supports since 3.14."""

LOCAL_HEADER = struct.Struct("<4s5H3I2H")
"""Header before a member's data (APPNOTE.TXT, 4.3.7)."""

SAMPLE = re.compile(r"samples/(?P<name>.+)\.json")

HEADERS = ("header.json", "_journal/start.json")

UNREADABLE = (zipfile.BadZipFile, zlib.error, OSError, ValueError, EOFError, KeyError, NotImplementedError)

MOST_BYTES = 1 << 31


@dataclass(frozen=True)
class Archive:
    """The contents of an archive, from its directory.

    Attributes:
        path: The archive.
        samples: Names of sample files by sample name, in order of writing.
        headers: Names of the files with evaluation metadata, the final one first.
        files: All file names.
    """

    path: Path
    samples: dict[str, str]
    headers: tuple[str, ...]
    files: frozenset[str]

    @property
    def is_log(self) -> bool:
        return bool(self.headers)

    @classmethod
    def at(cls, path: Path) -> Archive:
        """Read an archive's directory; the result is empty if it cannot be read.

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
        """Return the content of a file in the archive.

        Raises:
            SessionError: The file cannot be read.
        """
        with open_for_reading(self.path) as file:
            try:
                archive = zipfile.ZipFile(file)
                # A file written twice is listed twice; the last one is valid.
                listed = archive.NameToInfo[name]
                if listed.file_size > MOST_BYTES:
                    raise SessionError(f"{self.path}: {name} is too large to read ({listed.file_size:,} bytes).")
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
                    f"{self.path}: cannot read {name} inside ({type(error).__name__}). Wait until the log is complete, "
                    "or check the file."
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
        raise SessionError(f"{path}: compressed with Zstandard. To read it: pip install backports.zstd") from error
    try:
        return bytes(zstd.decompress(data))
    except zstd.ZstdError as error:
        raise zlib.error(str(error)) from error


SUMMARIES = "summaries.json"

TITLE_CHARACTERS = 200


def name_of_sample(value: Mapping[str, Any]) -> str:
    """Return a sample's name, as used for its file in archives."""
    return f"{value.get('id')}_epoch_{value.get('epoch', 1)}".replace("/", "_")


def title_of(task: str, value: Mapping[str, Any]) -> str:
    epoch = value.get("epoch", 1)
    which = f"sample {value.get('id')}" + (f", epoch {epoch}" if epoch != 1 else "")
    return f"{task}: {which}" if task else which


def chosen(names: Iterable[str], wanted: str, path: Path) -> str:
    """Return the name of the wanted sample, or the last one if none is given.

    Raises:
        SessionError: There is no such sample, or none at all.
    """
    listed = list(names)
    if not listed:
        raise SessionError(f"{path}: the log has no samples yet.")
    if not wanted:
        return listed[-1]
    if wanted in listed:
        return wanted
    near = [name for name in listed if name.startswith(f"{wanted}_epoch_")]
    if near:
        return near[0]
    raise SessionError(f"{path}: no sample {wanted}. Give only the path of the log to open its last sample.")


def nodes_of_samples(log: Node) -> dict[str, Node]:
    fields = log.fields()
    found: dict[str, Node] = {}
    for item in fields.items_of("samples"):
        about = item.fields()
        value = about.values_of("id", "epoch")
        found[name_of_sample(value)] = item
    return found


def titles_of_samples(path: Path, *, is_archive: bool) -> list[tuple[str, str]]:
    """Return name and title of every sample of a log, in order.

    Raises:
        SessionError: The log cannot be read.
    """
    if not is_archive:
        with open_for_reading(path) as file:
            node = FileNode(file.read(), 0)
        return [(name, _title(one.fields())) for name, one in nodes_of_samples(node).items()]
    archive = Archive.at(path)
    titles: dict[str, str] = {}
    if SUMMARIES in archive.files:
        for summary in objects(lenient_json(archive.read(SUMMARIES))[0]):
            titles[name_of_sample(summary)] = first_words(summary.get("input"))
    return [(name, titles.get(name, "")) for name in archive.samples]


def _title(fields: Fields) -> str:
    return first_words(fields.value_of("input"))


def first_words(asked: Any) -> str:
    """Return the beginning of an input: of the text, or of the last message in a list."""
    if isinstance(asked, str):
        return asked[:TITLE_CHARACTERS]
    content = mapping(next(reversed(objects(asked)), {})).get("content")
    parts = [string(part.get("text")) for part in objects(content)]
    return (string(content) or " ".join(parts))[:TITLE_CHARACTERS]


def read_header(archive: Archive) -> Mapping[str, Any]:
    """Return the evaluation metadata of an archive; empty if it cannot be read."""
    for name in archive.headers:
        try:
            return mapping(lenient_json(archive.read(name))[0])
        except SessionError:
            continue
    return {}
