"""Find sessions in a folder and in the agents' folders on this machine.

An agent's home may hold thousands of files with names that identify the format (`rollout-….jsonl`). `list_sessions`
lists these from directory entries only, ten thousand in a fraction of a second; the caller reads them later, which may
show another format. Databases and files with other names are opened before they are listed, and so is everything that
`sessions_in` finds.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from inspector.session.errors import SessionError, UnreadableFileError
from inspector.session.file_search import FileSearch, ListedFile
from inspector.session.files import Locator, exists, is_folder, open_error_message
from inspector.session.registry import all_formats, detect

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from inspector.session.format import Format

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


@dataclass(frozen=True, slots=True)
class Header:
    """A session that was found but not read.

    Attributes:
        path: Path that opens it.
        format: Name of its format, empty if unknown.
        size: File size in bytes.
        modified: Seconds since the epoch.
        is_sniffed: True if its content was inspected, False if only its name was.
        parent: Path of the session that started it, if its location shows that; otherwise None.
        identifier: Its id, if the file holds several sessions.
        title: Its title, if the file holds several sessions.
        working_directory: The agent's working directory, if the file holds several sessions.
        inode: Inode number of the file.
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
    """Yield the sessions below a folder, newest file first, detected by content; a file counts as its own folder.

    Subagents' sessions and copies are skipped, as are folders of version control and packages.
    """
    return (header for header in found_in(folder, sniffed) if not header.problem)


def found_in(folder: Path, sniffed: SniffedFiles | None = None, *, with_subagents: bool = False) -> Iterator[Header]:
    """Yield the sessions below a folder, and files with a session's name that are not text, with the problem.

    Args:
        folder: Folder or file to search.
        sniffed: Cache of inspected files; pass it again to inspect only changed ones.
        with_subagents: Include the sessions that others started, for sums over all calls.
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
    """Yield sessions in batches: first all recognized by name, then the rest, newest first in each.

    Files with a session's name that are not text are included, with the problem.

    Args:
        places: Folders and files, each with the format it is the home of, or None.
        sniffed: Cache of inspected files; pass it again to inspect only changed ones.
    """
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
    """Yield the sessions in a file, detected by content."""
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
