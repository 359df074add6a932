"""Search folders for files. Links are followed, and each file is found once."""

from __future__ import annotations

import os
from pathlib import Path
from stat import S_ISREG
from typing import TYPE_CHECKING

from msgspec import Struct

from inspector.session.files import is_folder
from inspector.session.registry import all_formats

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from collections.abc import Set as AbstractSet

    from inspector.session.format import Format

PACKED_SUFFIXES = (".zst", ".zstd")
"""Suffixes of compressed sessions."""

SKIPPED_FOLDERS = frozenset(
    {".git", ".hg", ".svn", ".tox", ".venv", "__pycache__", "node_modules", "site-packages", "venv"}
)

PIECES = frozenset({"message", "part"})
"""Folders next to one named `session` that hold parts of its sessions, one small file each."""


class ListedFile(Struct, frozen=True):
    """A file and its directory listing data.

    Attributes:
        path: Full path.
        name: File name.
        size: In bytes.
        modified: Seconds since the epoch.
        inode: Inode number.
    """

    path: str
    name: str
    size: int
    modified: float
    inode: int


_FileKey = tuple[int, int] | str
"""Device and inode number; the path where a file system has no inode numbers."""


class FileSearch:
    """A search that finds each file once, even if links lead to it by several paths.

    Links to folders and files are followed last, so that a file keeps its own path if it is below one of the places. A
    compressed file next to the same file uncompressed is a copy.
    """

    def __init__(self, passed_over: AbstractSet[str]) -> None:
        """Initialize without results.

        Args:
            passed_over: Names of folders to skip, in addition to `SKIPPED_FOLDERS`.
        """
        self._passed_over = SKIPPED_FOLDERS | passed_over
        self._folders: dict[_FileKey, int] = {}
        self._files: set[_FileKey] = set()
        self._links: list[tuple[os.DirEntry[str], int]] = []

    def files(
        self, places: Iterable[tuple[Path, Format | None]], depth: int
    ) -> Iterator[tuple[ListedFile, Format | None]]:
        """Yield non-empty files, and folders that are sessions, with the format of their place.

        Unreadable folders are skipped.

        Args:
            places: Folders and files, each with the format it is the home of, or None.
            depth: Search depth.
        """
        linked: list[tuple[list[tuple[os.DirEntry[str], int]], Path, Format | None]] = []
        for place, home_of in places:
            self._links = []
            for file in self._at(place, depth):
                yield file, home_of
            linked.append((self._links, place, home_of))
        for links, place, home_of in linked:
            self._links = links
            for file in self._at_links(os.path.realpath(place)):
                yield file, home_of

    def _at(self, place: Path, depth: int) -> Iterator[ListedFile]:
        if is_folder(place):
            yield from self._below(os.fspath(place), depth)
            return
        try:
            status = place.stat()
        except OSError:
            return
        if self._is_new(status, os.fspath(place)):
            modified = _modified(place, status.st_mtime)
            yield ListedFile(os.fspath(place), place.name, status.st_size, modified, status.st_ino)

    def _at_links(self, place: str) -> Iterator[ListedFile]:
        """Yield files that the links lead to, and links below them; a link to a folder around the place is a loop."""
        while self._links:
            entry, depth = self._links.pop(0)
            target = Path(os.path.realpath(entry.path))
            if target.name not in self._passed_over and not Path(place).is_relative_to(target):
                yield from self._below(entry.path, depth) if depth >= 0 else self._listed([entry])

    def _below(self, folder: str, depth: int) -> Iterator[ListedFile]:
        try:
            if not self._is_deeper(folder, depth):
                return
            with os.scandir(folder) as listed:
                entries = sorted(listed, key=lambda entry: entry.name)
        except OSError:
            return
        names = {entry.name for entry in entries}
        if any(signs <= names for format_ in all_formats() for signs in format_.session_folders):
            yield from _folder(folder, entries)
            return
        here = self._passed_over | (PIECES if names >= PIECES | {"session"} else frozenset())
        files: list[os.DirEntry[str]] = []
        for entry in entries:
            try:
                leads_on = entry.is_dir()
                is_link = entry.is_symlink()
            except OSError:
                continue
            if leads_on and (not depth or entry.name in here):
                continue
            if is_link:
                self._links.append((entry, depth - 1 if leads_on else -1))
            elif leads_on:
                yield from self._below(entry.path, depth - 1)
            else:
                files.append(entry)
        yield from self._listed(files)

    def _is_deeper(self, folder: str, depth: int) -> bool:
        """Return True if the folder was not searched to this depth yet."""
        key = _key(Path(folder).stat(), folder)
        before = self._folders.get(key, -1)
        self._folders[key] = max(before, depth)
        return before < depth

    def _listed(self, entries: Sequence[os.DirEntry[str]]) -> Iterator[ListedFile]:
        """Yield new files that are not empty."""
        for entry in entries:
            try:
                status = entry.stat()
            except OSError:
                continue
            is_file = bool(status.st_size) and S_ISREG(status.st_mode) and not _is_packed_copy(entry.path)
            if is_file and self._is_new(status, entry.path):
                yield ListedFile(entry.path, entry.name, status.st_size, status.st_mtime, status.st_ino)

    def _is_new(self, status: os.stat_result, path: str) -> bool:
        key = _key(status, path)
        is_new = key not in self._files
        self._files.add(key)
        return is_new


def _key(status: os.stat_result, path: str) -> _FileKey:
    return (status.st_dev, status.st_ino) if status.st_ino else path


def _is_packed_copy(path: str) -> bool:
    """Return True for a compressed file next to the same file uncompressed."""
    if not path.endswith(PACKED_SUFFIXES):
        return False
    try:
        return Path(path).with_suffix("").stat().st_size > 0
    except OSError:
        return False


def _folder(folder: str, entries: list[os.DirEntry[str]]) -> Iterator[ListedFile]:
    """Yield a folder that is itself a session: total size of its files, time of the newest."""
    statuses = []
    for entry in entries:
        try:
            statuses.append(entry.stat())
        except OSError:
            continue
    if statuses:
        size, newest = sum(status.st_size for status in statuses), max(status.st_mtime for status in statuses)
        yield ListedFile(folder, folder.rpartition(os.sep)[2], size, newest, statuses[0].st_ino)


def _modified(database: Path, own: float) -> float:
    """Return when a database was last written; its write-ahead log may be newer."""
    try:
        return max(own, database.with_name(f"{database.name}-wal").stat().st_mtime)
    except OSError:
        return own
