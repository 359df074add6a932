"""Listing sessions by the thousand: what the names and places of files tell at once, and what only their content does.

A home of an agent holds files whose names tell the format (`rollout-….jsonl`). These are listed from the folders
alone, as *headers*: ten thousand in a fraction of a second. Whoever shows them looks into them afterwards, which may
show that one is something else. Files whose names tell nothing, and databases, are looked into before they are listed.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from inspector.session.discover import MOST_DOCUMENT_BYTES
from inspector.session.errors import SessionError
from inspector.session.locator import Locator
from inspector.session.paths import exists, is_folder
from inspector.session.registry import all_formats, detect
from inspector.session.walking import File, files_below

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from inspector.session.format import Format

MOST_DEPTH = 9

NO_SESSIONS = frozenset({"tool-results"})
"""Folders beside a session that hold parts of it."""


@dataclass(frozen=True, slots=True)
class Header:
    """A session that was found, not read.

    Attributes:
        path: What opens it.
        format: Name of its format, as far as it is known.
        size: Of its file, in bytes.
        modified: Seconds since the epoch.
        is_told: Its content was looked at; otherwise only its name was.
        parent: What opens the session that started it, where its place tells so; else None.
        identifier: Its id, where it was one of several in a file.
        title: What the agent calls it, where it was one of several in a file.
        working_directory: Where the agent worked, where it was one of several in a file.
        inode: Of its file.
    """

    path: Path
    format: str
    size: int
    modified: float
    is_told: bool = False
    parent: Path | None = None
    identifier: str = ""
    title: str = ""
    working_directory: str = ""
    inode: int = 0


Known = dict[File, list[Header]]
"""The sessions in files, as they were when they were looked into."""


def places(folders: Iterable[Path] | None = None) -> list[tuple[Path, Format | None]]:
    """Where to look: the folders, or where agents keep their sessions; with whose home it is."""
    if folders is not None:
        return [(folder, None) for folder in dict.fromkeys(folders)]
    homes = {home: known for known in all_formats() for home in known.homes() if exists(home)}
    return list(homes.items())


def list_sessions(places: Sequence[tuple[Path, Format | None]], known: Known | None = None) -> Iterator[list[Header]]:
    """Sessions in batches: first all that names tell, then those that had to be looked into, newest first in each.

    Args:
        places: Folders and files, each with the format whose home it is, or None.
        known: What was found by looking into files, to be given again so that only changed ones are looked into.
    """
    known = {} if known is None else known
    told: list[Header] = []
    open_questions: list[File] = []
    seen: set[str] = set()
    for place, home_of in places:
        for file in _files(place):
            if file.path in seen:
                continue
            seen.add(file.path)
            named = format_of_name(file.name, home_of)
            if named is None:
                open_questions.append(file)
            elif not (named.is_beside(path := Path(file.path)) or named.is_copy(path)):
                parent = named.parent_file(path)
                told.append(Header(path, named.name, file.size, file.modified, parent=parent, inode=file.inode))
    told.sort(key=lambda header: -header.modified)
    yield told
    open_questions.sort(key=lambda file: -file.modified)
    for file in open_questions:
        if file not in known:
            known[file] = list(_looked_into(file))
        if found := known[file]:
            yield found


def may_hold_sessions(places: Sequence[tuple[Path, Format | None]]) -> bool:
    """Whether there is anything to look into: a folder is not looked through further than to its first file."""
    return any(True for place, _ in places for _ in _files(place))


def format_of_name(name: str, known: Format | None = None) -> Format | None:
    """The format that a file's name tells, in an agent's home by that agent's rule first; None where it tells none."""
    for candidate in all_formats() if known is None else (known, *all_formats()):
        if candidate.names and re.fullmatch(candidate.names, name):
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
        is_told=True,
        parent=found.format.parent_file(path),
        inode=status.st_ino,
    )


def _looked_into(file: File) -> Iterator[Header]:
    path = Path(file.path)
    if any(known.is_beside(path) for known in all_formats()):
        return
    try:
        known = detect(path, most_document_bytes=MOST_DOCUMENT_BYTES).format
        inside = known.inside(path)
    except (SessionError, OSError):
        return
    if not inside:
        if not known.is_copy(path):
            parent = known.parent_file(path)
            yield Header(path, known.name, file.size, file.modified, is_told=True, parent=parent, inode=file.inode)
        return
    place_of = {one.identifier: one.path for one in inside}
    for one in inside:
        yield Header(
            path=one.path,
            format=known.name,
            size=file.size,
            modified=one.modified or file.modified,
            is_told=True,
            parent=(place_of.get(one.parent) or known.locate(one.path, one.parent)) if one.parent else None,
            identifier=one.identifier,
            title=one.title,
            working_directory=one.working_directory,
            inode=file.inode,
        )


def _files(place: Path) -> Iterator[File]:
    if is_folder(place):
        yield from files_below(os.fspath(place), MOST_DEPTH, NO_SESSIONS)
        return
    try:
        status = place.stat()
    except OSError:
        return
    modified = _modified(place, status.st_mtime)
    yield File(os.fspath(place), place.name, status.st_size, modified, status.st_ino)


def _modified(database: Path, own: float) -> float:
    """When a database was written last, which its log may know better."""
    try:
        return max(own, database.with_name(f"{database.name}-wal").stat().st_mtime)
    except OSError:
        return own
