"""Find sessions in a folder and in the agents' folders on this machine.

An agent's home may hold thousands of files with names that identify the format (`rollout-….jsonl`). `list_sessions`
lists these from directory entries only, ten thousand in a fraction of a second; the caller reads them later, which may
show another format. Databases and files with other names are opened before they are listed, and so is everything that
`sessions_in` finds.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from stat import S_ISREG
from typing import TYPE_CHECKING

from msgspec import Struct

from inspector.errors import SessionError, UnreadableFileError
from inspector.session.files import Locator, exists, is_folder, open_error_message
from inspector.session.registry import all_formats, detect

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from collections.abc import Set as AbstractSet

    from inspector.session.format import Format


PACKED_SUFFIXES = (".zst", ".zstd")

SKIPPED_FOLDERS = frozenset(
    {".git", ".hg", ".svn", ".tox", ".venv", "__pycache__", "node_modules", "site-packages", "venv"}
)

PIECES = frozenset({"message", "part"})
"""Folders next to one named `session` that hold parts of its sessions, one small file each."""


class ListedFile(Struct, frozen=True):
    """A file as listed by its folder, with its time of modification in seconds since the epoch."""

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
        """Initialize without results. `passed_over`: names of folders to skip, in addition to `SKIPPED_FOLDERS`."""
        self._passed_over = SKIPPED_FOLDERS | passed_over
        self._folders: dict[_FileKey, int] = {}
        self._files: set[_FileKey] = set()
        self._links: list[tuple[os.DirEntry[str], int]] = []

    def files(
        self, places: Iterable[tuple[Path, Format | None]], depth: int
    ) -> Iterator[tuple[ListedFile, Format | None]]:
        """Yield non-empty files, and folders that are sessions, with the format that their place is a home of."""
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


MOST_FILES = 20_000
FOLDER_DEPTH = 6
"""Search depth in a folder named by the user."""

HOME_DEPTH = 9
"""Search depth for lists."""

MOST_DOCUMENT_BYTES = 1 << 26
"""Larger JSON documents are not parsed to detect their format."""

LINES_SUFFIX = ".jsonl"
"""Suffix of files that should hold a session; documents (`.json`) hold all kinds of data."""

RESULT_FOLDERS = frozenset({"tool-results"})
"""Folders next to a session that hold tool output."""

SUBAGENT_FOLDERS = RESULT_FOLDERS | {"subagents", "workflows"}
"""`RESULT_FOLDERS` and the folders of subagents' sessions."""


class Header(Struct, frozen=True):
    """A session that was found but not read.

    Attributes:
        format: Name of its format, empty if unknown.
        size: File size in bytes.
        is_sniffed: True if its content was inspected, False if only its name was.
        parent: Path of the session that started it, if its location shows that; otherwise None.
        identifier: Its id, if the file holds several sessions.
        title: Its title, if the file holds several sessions.
        working_directory: The agent's working directory, if the file holds several sessions.
        problem: Why a file with a session's name cannot be read; empty for all others.
        is_subagent: True if its location or its database shows that another session started it.
    """

    path: Path
    format: str
    size: int
    modified: float
    is_sniffed: bool = False
    parent: Path | None = None
    identifier: str = ""
    title: str = ""
    working_directory: str = ""
    inode: int = 0
    problem: str = ""
    is_subagent: bool = False


SniffedFiles = dict[ListedFile, list[Header]]
"""Cache of the sessions found in files, by file state."""


def sessions_in(folder: Path, sniffed: SniffedFiles | None = None) -> Iterator[Header]:
    """Yield the sessions below a folder by content, newest first, without subagents, copies and packages."""
    return (header for header in found_in(folder, sniffed) if not header.problem)


def found_in(folder: Path, sniffed: SniffedFiles | None = None, *, with_subagents: bool = False) -> Iterator[Header]:
    """Yield the sessions below a folder, and files with a session's name that are not text, with the problem.

    Pass `sniffed` again to inspect only changed files.
    """
    sniffed = {} if sniffed is None else sniffed
    passed_over = RESULT_FOLDERS if with_subagents else SUBAGENT_FOLDERS
    found = (file for file, _ in FileSearch(passed_over).files([(folder, None)], FOLDER_DEPTH))
    for file in sorted(found, key=lambda file: (-file.modified, file.path))[:MOST_FILES]:
        if file not in sniffed:
            sniffed[file] = list(_sniffed(file))
        yield from (header for header in sniffed[file] if with_subagents or not _is_started_in(folder, header))


def _is_started_in(folder: Path, header: Header) -> bool:
    """Return True for a subagent of a session in the same database, or in a file below the folder."""
    is_below = header.parent is not None and header.parent.is_relative_to(folder)
    return header.is_subagent and (bool(header.identifier) or is_below)


def is_session_list(path: Path) -> bool:
    """Return True if a path is a folder of sessions, and not a session itself."""
    if not is_folder(path):
        return False
    try:
        return bool(detect(path).format.contained_sessions(path))
    except SessionError:
        return True


def describe_folder(folder: Path) -> str:
    """Return one line on the sessions in a folder and how to open them."""
    try:
        os.scandir(folder).close()
    except OSError as error:
        return open_error_message(folder, error)
    all_found = list(found_in(folder))
    found = [header for header in all_found if not header.problem]
    if not found:
        unread = f" Unreadable files: {len(all_found)}, for example {all_found[0].problem}" if all_found else ""
        return (
            f"{folder}: no sessions in this directory. `inspector formats` lists the supported formats and their "
            f"folders.{unread}"
        )
    newest = found[0].path
    if len(found) == 1:
        return f"{folder}: a directory with one session. Give its path: {newest}"
    return (
        f"{folder}: a directory with {len(found):,} sessions. Give the path of one, such as the newest: {newest}. "
        f"For a report on all of them: inspector report {folder}"
    )


def search_places(folders: Iterable[Path] | None = None) -> list[tuple[Path, Format | None]]:
    """Return the folders to search, each with the format it is the home of: those given, or the agents' homes."""
    if folders is not None:
        return [(folder, None) for folder in dict.fromkeys(folders)]
    homes = {home: format_ for format_ in all_formats() for home in format_.homes() if exists(home)}
    return list(homes.items())


def list_sessions(
    places: Sequence[tuple[Path, Format | None]], sniffed: SniffedFiles | None = None
) -> Iterator[list[Header]]:
    """Yield sessions in batches, newest first in each: those recognized by name, then others and problems."""
    sniffed = {} if sniffed is None else sniffed
    named: list[Header] = []
    unnamed: list[ListedFile] = []
    for file, home_of in FileSearch(RESULT_FOLDERS).files(places, HOME_DEPTH):
        format_ = format_of_name(file.name, home_of)
        if format_ is None:
            unnamed.append(file)
        elif not (format_.is_sidecar(path := Path(file.path)) or format_.is_copy(path)):
            parent = format_.parent_file(path)
            named.append(Header(path, format_.name, file.size, file.modified, parent=parent, inode=file.inode))
    named.sort(key=lambda header: -header.modified)
    yield named
    unnamed.sort(key=lambda file: -file.modified)
    for file in unnamed:
        if file not in sniffed:
            sniffed[file] = list(_sniffed(file))
        if found := sniffed[file]:
            yield found


def may_hold_sessions(places: Sequence[tuple[Path, Format | None]]) -> bool:
    """Return True if there are any files to inspect; stops at the first file found."""
    return any(True for _ in FileSearch(RESULT_FOLDERS).files(places, HOME_DEPTH))


def format_of_name(name: str, home_of: Format | None = None) -> Format | None:
    """Return the format that a file name identifies, or None; the format `home_of` takes precedence."""
    for candidate in all_formats() if home_of is None else (home_of, *all_formats()):
        if candidate.file_names and re.fullmatch(candidate.file_names, name):
            return candidate
    return None


def read_header(path: Path) -> Header | None:
    """Inspect one session and return its header, or None if it is not readable as a session."""
    try:
        status, found = Locator.of(path).file.stat(), detect(path)
    except (OSError, SessionError, ValueError):
        return None
    return Header(
        path,
        found.format.name,
        status.st_size,
        status.st_mtime,
        is_sniffed=True,
        parent=found.format.parent_file(path),
        inode=status.st_ino,
    )


def _sniffed(file: ListedFile) -> Iterator[Header]:
    path = Path(file.path)
    if any(format_.is_sidecar(path) for format_ in all_formats()):
        return
    try:
        format_ = detect(path, most_document_bytes=MOST_DOCUMENT_BYTES).format
        contained = format_.contained_sessions(path)
    except UnreadableFileError as error:
        if path.suffix == LINES_SUFFIX:
            problem = error.message
            yield Header(path, "", file.size, file.modified, is_sniffed=True, inode=file.inode, problem=problem)
        return
    except (SessionError, OSError):
        return
    if not contained and not format_.is_copy(path):
        parent = format_.parent_file(path)
        yield Header(
            path,
            format_.name,
            file.size,
            file.modified,
            is_sniffed=True,
            parent=parent,
            inode=file.inode,
            is_subagent=parent is not None,
        )
    path_of = {one.identifier: one.path for one in contained}
    for one in contained:
        yield Header(
            path=one.path,
            format=format_.name,
            size=file.size,
            modified=one.modified or file.modified,
            is_sniffed=True,
            parent=(path_of.get(one.parent) or format_.locate(one.path, one.parent)) if one.parent else None,
            identifier=one.identifier,
            title=one.title,
            working_directory=one.working_directory,
            inode=file.inode,
            is_subagent=bool(one.parent),
        )
