"""Read Inspect: evaluation logs of the inspect-ai package, as `.eval` archives or JSON documents.

A log holds many samples, each a separate conversation named `log.eval#<sample>_epoch_<n>`. The structure is defined by
`inspect_ai/log/_log.py` and `inspect_ai/log/_recorders`. Logs are read without that package, which has about a hundred
dependencies.

The samples of a running evaluation are in a separate database until finished. Its tables are defined by
`inspect_ai/log/_recorders/buffer/database.py`. It is named after the log, in a folder named after the log's folder, and
is deleted at the end of the evaluation.
"""

from __future__ import annotations

import os
import re
import struct
import sys
import zipfile
import zlib
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from inspector.errors import SessionError
from inspector.session.files import open_for_reading
from inspector.session.format import ContainedSession, Format, named_sessions
from inspector.session.json import (
    FileNode,
    compact_json,
    count,
    json_in,
    lenient_json,
    mapping,
    objects,
    sequence,
    string,
)
from inspector.session.sniff import SQLITE, Sample
from inspector.session.sqlite import Database, DatabaseUnreadableError, Selector, unread_tables, unreadable_error

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from inspector.session.json import Fields, Node
    from inspector.session.reader import Reader
    from inspector.session.sqlite import DatabaseState


SENT = ("event:model", "event:compaction")
"""Events that record requests; all others are bookkeeping."""


def is_log(value: Any) -> bool:
    log = mapping(value)
    about = mapping(log.get("eval"))
    is_begun = isinstance(log.get("samples"), list) or ("plan" in log and log.get("samples") is None)
    return "status" in log and is_begun and ("task" in about or "eval_id" in about)


class InspectFormat(Format):
    """Inspect logs, finished and running."""

    name = "inspect"
    title = "Inspect (.eval and JSON logs)"
    where = "logs in the folder where the evaluation was run, or $INSPECT_LOG_DIR"
    exact = "tokens of every call, if the log contains its events"

    def recognize(self, sample: Sample) -> str:
        if sample.is_database:
            if not sample.has_tables(TABLES):
                return ""
            return f"a database with {len(running_in(sample.path))} running Inspect samples"
        if sample.is_archive:
            archive = Archive.at(sample.path)
            return f"an archive with {len(archive.samples)} Inspect samples" if archive.is_log else ""
        document = sample.only_value
        if not is_log(document):
            return ""
        return f"a JSON document with {len(sequence(document.get('samples')))} Inspect samples"

    def homes(self) -> tuple[Path, ...]:
        """Return the log folder set in the environment, if it is on this machine."""
        named = os.environ.get("INSPECT_LOG_DIR", "").removeprefix("file://")
        return (Path(named),) if named and "://" not in named else ()

    def reader(self, path: Path) -> Reader:
        from inspector.session.formats.inspect_ai.reader import log_reader

        return log_reader(path, self.name)

    def contained_sessions(self, path: Path) -> Sequence[ContainedSession]:
        sample = Sample(path)
        finished = [] if sample.is_database else titles_of_samples(path, is_archive=sample.is_archive)
        running = {name: one.title for name, one in running_in(path).items()}
        return named_sessions(path, [*finished, *(one for one in running.items() if one[0] not in dict(finished))])

    def is_bookkeeping(self, count_name: str) -> bool:
        return count_name.startswith("event:") and count_name not in SENT


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
    """An archive's contents: sample files by name as written, and those with metadata, the final one first."""

    path: Path
    samples: dict[str, str]
    headers: tuple[str, ...]
    files: frozenset[str]

    @property
    def is_log(self) -> bool:
        return bool(self.headers)

    @classmethod
    def at(cls, path: Path) -> Archive:
        """Read an archive's directory, empty if unreadable. Raises `SessionError` if it cannot be opened."""
        with open_for_reading(path) as file:
            try:
                names = zipfile.ZipFile(file).namelist()
            except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError):
                names = []
        samples = {found["name"]: name for name in names if (found := SAMPLE.fullmatch(name)) is not None}
        return cls(path, samples, tuple(name for name in HEADERS if name in names), frozenset(names))

    def read(self, name: str) -> bytes:
        """Return the content of a file in the archive. Raises `SessionError` if the file cannot be read."""
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
    """Return the wanted sample's name, or the last one. Raises `SessionError` if there is no such sample."""
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
    """Return name and title of every sample of a log, in order. Raises `SessionError` if the log cannot be read."""
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


TABLES = {
    "task_database": frozenset({"version"}),
    "samples": frozenset({"id", "epoch", "data"}),
    "events": frozenset({"sample_id", "sample_epoch", "data"}),
    "attachments": frozenset({"sample_id", "hash", "content"}),
}
"""Tables and columns that identify such a database."""

POOLS = ("message_pool", "call_pool")
"""Tables referenced by events by index: messages, and messages of requests as sent."""

OWNERS = frozenset({"sample_id"})
"""Columns that assign a row to a sample."""

ENDING = ".db"

OF_SAMPLE = "WHERE sample_id = ? AND sample_epoch = ? ORDER BY id"


class Running(NamedTuple):
    """A sample in the database. `identifier`: the sample's id as stored in the database."""

    identifier: str
    epoch: int
    about: Mapping[str, Any]

    @property
    def title(self) -> str:
        """The beginning of the input."""
        return first_words(self.about.get("input"))


class Buffer:
    """The database of a running log."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._database = Database(path)

    def state(self) -> DatabaseState | None:
        """Return a state that changes with every write; None if it is unavailable."""
        try:
            return self._database.state()
        except OSError:
            return None

    def samples(self) -> dict[str, Running]:
        """Return the samples by name in order of start; empty if the database cannot be read."""
        try:
            with self._database.reading() as connection:
                rows = Selector(connection).rows("samples", ("id", "epoch", "data"), "ORDER BY rowid")
        except DatabaseUnreadableError:
            return {}
        found = {}
        for row in rows:
            about = mapping(json_in(string(row.get("data"))))
            identifier, epoch = str(row.get("id")), count(row.get("epoch"))
            named = {"id": about.get("id", identifier), "epoch": about.get("epoch", epoch)}
            found[name_of_sample(named)] = Running(identifier, epoch, about)
        return found

    def unread_tables(self) -> list[str]:
        """Return the tables of samples' data that are not read; empty if the database cannot be read."""
        try:
            with self._database.reading() as connection:
                return unread_tables(connection, {*TABLES, *POOLS}, OWNERS)
        except DatabaseUnreadableError:
            return []

    def document(self, sample: Running) -> bytes:
        """Return a sample so far in the form of a finished log. Raises `SessionError` if it is locked."""
        key = (sample.identifier, sample.epoch)
        try:
            with self._database.reading() as connection:
                selector = Selector(connection)
                events = selector.rows("events", ("id", "event_id", "data"), OF_SAMPLE, *key)
                # Early versions store a text shared by several samples only with the first of them.
                attachments = selector.rows("attachments", ("hash", "content"), "ORDER BY id")
                pool, calls = (selector.rows(name, ("id", "data"), OF_SAMPLE, *key) for name in POOLS)
        except DatabaseUnreadableError as error:
            raise unreadable_error(self.path, error) from error
        # A rewritten event, such as a completed request, replaces the earlier version.
        latest: dict[object, Any] = {}
        for row in events:
            latest[row.get("event_id") or len(latest)] = json_in(string(row.get("data")))
        sample_of_log = {
            "id": sample.identifier,
            "epoch": sample.epoch,
            **sample.about,
            "events": list(latest.values()),
            "attachments": {string(row.get("hash")): string(row.get("content")) for row in attachments},
            "message_pool": [json_in(string(row.get("data"))) for row in pool],
            "call_pool": [json_in(string(row.get("data"))) for row in calls],
        }
        return compact_json(sample_of_log).encode(errors="replace")


def buffer_of(log: Path) -> Buffer | None:
    """Return the newest database of a log, or the database itself if it is the path; None if there is none."""
    if _is_database(log):
        return Buffer(log)
    found = []
    for folder in dict.fromkeys((log.absolute().parent, log.resolve().parent)):
        named = sha256(f"file://{folder.as_posix()}".encode(errors="surrogateescape")).hexdigest()
        found += [one for one in _files(_home() / named) if _log_named(one.name) == log.name]
    return Buffer(max(found, key=_modified)) if found else None


def running_in(log: Path) -> dict[str, Running]:
    buffer = buffer_of(log)
    return buffer.samples() if buffer is not None else {}


def _is_database(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(len(SQLITE)) == SQLITE
    except OSError:
        return False


def _home() -> Path:
    """Return the folder of Inspect's buffers, as in the platformdirs package."""
    if sys.platform == "darwin":
        data = Path.home() / "Library" / "Application Support" / "inspect_ai"
    elif sys.platform == "win32":
        data = Path(os.environ.get("LOCALAPPDATA") or Path.home()) / "inspect_ai" / "inspect_ai"
    else:
        data = Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "inspect_ai"
    return data / "samplebuffer"


def _log_named(name: str) -> str:
    """Return the log name of a database, without process number and suffix."""
    return name.rsplit(".", 2)[0] if name.count(".") > 1 else ""


def _files(folder: Path) -> list[Path]:
    try:
        return [one for one in folder.iterdir() if one.suffix == ENDING]
    except OSError:
        return []


def _modified(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


FORMATS = (InspectFormat(),)
