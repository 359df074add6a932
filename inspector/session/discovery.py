"""Finding sessions: in a folder, and where agents keep theirs on this machine.

A home of an agent may hold thousands of files whose names tell the format (`rollout-….jsonl`). `list_sessions` lists
these from the folders alone, ten thousand in a fraction of a second; whoever shows them looks into them afterwards,
which may show that one is something else. Files whose names tell nothing, and databases, are looked into before they
are listed, and so is everything that `sessions_in` finds.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from inspector.session.errors import SessionError, UnreadableFileError
from inspector.session.files import Locator, exists, is_folder, why_not_opened
from inspector.session.registry import all_formats, detect

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from collections.abc import Set as AbstractSet

    from inspector.session.format import Format

MOST_FILES = 20_000
FOLDER_DEPTH = 6
"""How deep sessions are looked for in a folder that somebody named."""

HOME_DEPTH = 9
"""How deep they are looked for in a list."""

MOST_DOCUMENT_BYTES = 1 << 26
"""A single JSON document larger than this is not parsed just to find out what it is."""

LINES_SUFFIX = ".jsonl"
"""Ends the name of a file that should hold a session whatever is in it; documents have all kinds of names."""

OTHER_PROGRAMS = frozenset(
    {".git", ".hg", ".svn", ".tox", ".venv", "__pycache__", "node_modules", "site-packages", "venv"}
)
"""Folders of version control and packages."""

PIECES = frozenset({"message", "part"})
"""Folders beside one named `session` that hold the pieces of its sessions, a small file each."""

RESULT_FOLDERS = frozenset({"tool-results"})
"""Folders beside a session that hold outputs of its tools."""

SUBAGENT_FOLDERS = RESULT_FOLDERS | {"subagents", "workflows"}
"""The same, and those that hold its subagents' sessions."""


@dataclass(frozen=True, slots=True)
class ListedFile:
    """A file as a folder lists it.

    Attributes:
        path: Where it is.
        name: Its name.
        size: In bytes.
        modified: Seconds since the epoch.
        inode: What the file system knows it by.
    """

    path: str
    name: str
    size: int
    modified: float
    inode: int


@dataclass(frozen=True, slots=True)
class Header:
    """A session that was found, not read.

    Attributes:
        path: What opens it.
        format: Name of its format, as far as it is known.
        size: Of its file, in bytes.
        modified: Seconds since the epoch.
        is_sniffed: Its content was looked at; otherwise only its name was.
        parent: What opens the session that started it, where its place tells so; else None.
        identifier: Its id, where it was one of several in a file.
        title: What the agent calls it, where it was one of several in a file.
        working_directory: Where the agent worked, where it was one of several in a file.
        inode: Of its file.
        problem: Why a file that is named like one cannot be read as a session; empty for every other.
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


SniffedFiles = dict[ListedFile, list[Header]]
"""The sessions in files, as they were when they were looked into."""


def sessions_in(folder: Path, sniffed: SniffedFiles | None = None) -> Iterator[Header]:
    """Sessions below a folder, newest file first, told by their content; a file is its own folder.

    Subagents' and copies are left out, folders of version control and packages passed over.

    Args:
        folder: Where to look.
        sniffed: As of `found_in`.
    """
    return (header for header in found_in(folder, sniffed) if not header.problem)


def found_in(folder: Path, sniffed: SniffedFiles | None = None) -> Iterator[Header]:
    """The same, and among them files that are named like a session's and are no text, with what is wrong.

    Args:
        folder: Where to look.
        sniffed: What was found by looking into files, to be given again so that only changed ones are looked into.
    """
    sniffed = {} if sniffed is None else sniffed
    files = sorted(_files_at(folder, FOLDER_DEPTH, SUBAGENT_FOLDERS), key=lambda file: (-file.modified, file.path))
    for file in files[:MOST_FILES]:
        if file not in sniffed:
            sniffed[file] = list(_sniffed(file, with_subagents=False))
        yield from sniffed[file]


def describe_folder(folder: Path) -> str:
    """One line that says which sessions a folder holds, and what to do."""
    try:
        os.scandir(folder).close()
    except OSError as error:
        return why_not_opened(folder, error)
    all_found = list(found_in(folder))
    found = [header for header in all_found if not header.problem]
    if not found:
        unread = f" One of {len(all_found)} that cannot be read: {all_found[0].problem}" if all_found else ""
        return (
            f"{folder}: no sessions in this directory. `inspector formats` lists what can be read and where it is kept."
            f"{unread}"
        )
    newest = found[0].path
    if len(found) == 1:
        return f"{folder}: a directory with one session. Name that: {newest}"
    return (
        f"{folder}: a directory with {len(found):,} sessions. Name one of them, the newest is {newest}; all of them: "
        f"inspector report {folder}"
    )


def places(folders: Iterable[Path] | None = None) -> list[tuple[Path, Format | None]]:
    """Where to look: the folders, or where agents keep their sessions; with whose home it is."""
    if folders is not None:
        return [(folder, None) for folder in dict.fromkeys(folders)]
    homes = {home: format_ for format_ in all_formats() for home in format_.homes() if exists(home)}
    return list(homes.items())


def list_sessions(
    places: Sequence[tuple[Path, Format | None]], sniffed: SniffedFiles | None = None
) -> Iterator[list[Header]]:
    """Sessions in batches: first all that names tell, then those that had to be looked into, newest first in each.

    Files that are named like a session's and are no text are among them, with what is wrong.

    Args:
        places: Folders and files, each with the format whose home it is, or None.
        sniffed: What was found by looking into files, to be given again so that only changed ones are looked into.
    """
    sniffed = {} if sniffed is None else sniffed
    named: list[Header] = []
    unnamed: list[ListedFile] = []
    seen: set[str] = set()
    for place, home_of in places:
        for file in _files_at(place, HOME_DEPTH, RESULT_FOLDERS):
            if file.path in seen:
                continue
            seen.add(file.path)
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
            sniffed[file] = list(_sniffed(file, with_subagents=True))
        if found := sniffed[file]:
            yield found


def may_hold_sessions(places: Sequence[tuple[Path, Format | None]]) -> bool:
    """Whether there is anything to look into: a folder is not looked through further than to its first file."""
    return any(True for place, _ in places for _ in _files_at(place, HOME_DEPTH, RESULT_FOLDERS))


def format_of_name(name: str, home_of: Format | None = None) -> Format | None:
    """The format that a file's name tells, in an agent's home by that agent's rule first; None where it tells none."""
    for candidate in all_formats() if home_of is None else (home_of, *all_formats()):
        if candidate.file_names and re.fullmatch(candidate.file_names, name):
            return candidate
    return None


def header_of(path: Path) -> Header | None:
    """One session, looked into; None where it cannot be read as one."""
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


def _sniffed(file: ListedFile, *, with_subagents: bool) -> Iterator[Header]:
    """The sessions in a file, told by its content.

    Args:
        file: The file.
        with_subagents: Of a file that holds several, those too that another one started.
    """
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
        yield Header(path, format_.name, file.size, file.modified, is_sniffed=True, parent=parent, inode=file.inode)
    path_of = {one.identifier: one.path for one in contained}
    for one in contained:
        if one.parent and not with_subagents:
            continue
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
        )


def _files_at(place: Path, depth: int, passed_over: AbstractSet[str]) -> Iterator[ListedFile]:
    """The files below a folder as `files_below` gives them, or the one file that is there."""
    if is_folder(place):
        yield from files_below(os.fspath(place), depth, passed_over)
        return
    try:
        status = place.stat()
    except OSError:
        return
    modified = _modified(place, status.st_mtime)
    yield ListedFile(os.fspath(place), place.name, status.st_size, modified, status.st_ino)


def files_below(folder: str, depth: int, passed_over: AbstractSet[str]) -> Iterator[ListedFile]:
    """Files that are not empty, and folders that are sessions. What cannot be listed is left out.

    Args:
        folder: Where to look.
        depth: How many folders deep.
        passed_over: Names of folders not to look into, besides those of version control and packages.
    """
    try:
        with os.scandir(folder) as listed:
            entries = list(listed)
    except OSError:
        return
    names = {entry.name for entry in entries}
    if any(signs <= names for format_ in all_formats() for signs in format_.session_folders):
        yield from _folder(folder, entries)
        return
    here = OTHER_PROGRAMS | passed_over | (PIECES if names >= PIECES | {"session"} else frozenset())
    for entry in entries:
        try:
            if entry.is_dir(follow_symlinks=False):
                if depth and entry.name not in here:
                    yield from files_below(entry.path, depth - 1, passed_over)
            elif entry.is_file():
                status = entry.stat()
                if status.st_size:
                    yield ListedFile(entry.path, entry.name, status.st_size, status.st_mtime, status.st_ino)
        except OSError:
            continue


def _folder(folder: str, entries: list[os.DirEntry[str]]) -> Iterator[ListedFile]:
    """A folder that is itself a session: as large as its files, as new as the newest."""
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
    """When a database was written last, which its log may know better."""
    try:
        return max(own, database.with_name(f"{database.name}-wal").stat().st_mtime)
    except OSError:
        return own
