"""Finding sessions: in a folder, and where agents keep theirs on this machine."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from inspector.session.errors import SessionError
from inspector.session.opening import why_not_opened
from inspector.session.paths import exists, is_file
from inspector.session.registry import all_formats, detect
from inspector.session.walking import File, files_below

if TYPE_CHECKING:
    from collections.abc import Iterator

MOST_FILES = 20_000
MOST_DEPTH = 6
MOST_DOCUMENT_BYTES = 1 << 26
"""A single JSON document larger than this is not parsed just to find out what it is."""

SUBAGENT_FOLDERS = frozenset({"subagents", "tool-results", "workflows"})
"""Folders beside a session that hold parts of it."""


@dataclass(frozen=True)
class Found:
    """A session that was found, not read.

    Attributes:
        path: What opens it: its file, with the session's id behind it where the file holds several.
        format: Name of its format.
        size: Of its file, in bytes.
        modified: Seconds since the epoch.
    """

    path: Path
    format: str
    size: int
    modified: float


def candidates(folder: Path) -> list[File]:
    """Files below a folder that may be sessions, newest first; a file is its own. What cannot be listed is left out.

    Folders of version control, packages and subagents are passed over, and so is what lies very deep.
    """
    found = list(_one(folder) if is_file(folder) else files_below(os.fspath(folder), MOST_DEPTH, SUBAGENT_FOLDERS))
    found.sort(key=lambda file: (-file.modified, file.path))
    return found[:MOST_FILES]


def sessions_in(folder: Path) -> Iterator[Found]:
    """Sessions below a folder, newest file first, told by their content. Subagents' and copies are left out."""
    for candidate in candidates(folder):
        path = Path(candidate.path)
        if any(known.is_beside(path) for known in all_formats()):
            continue
        try:
            known = detect(path, most_document_bytes=MOST_DOCUMENT_BYTES).format
            inside = known.inside(path)
        except SessionError:
            continue
        if not inside and not known.is_copy(path):
            yield Found(path, known.name, candidate.size, candidate.modified)
        for one in inside:
            if not one.parent:
                yield Found(one.path, known.name, candidate.size, one.modified)


def homes() -> tuple[Path, ...]:
    """The folders and databases in which agents keep their sessions on this machine, those that exist."""
    named = [home for known in all_formats() for home in known.homes()]
    return tuple(home for home in dict.fromkeys(named) if exists(home))


def describe_folder(folder: Path) -> str:
    """One line that says which sessions a folder holds, and what to do."""
    try:
        os.scandir(folder).close()
    except OSError as error:
        return why_not_opened(folder, error)
    found = list(sessions_in(folder))
    if not found:
        return (
            f"{folder}: no sessions in this directory. `inspector formats` lists what can be read and where it is kept."
        )
    count = "1 session" if len(found) == 1 else f"{len(found)} sessions"
    return f"{folder}: a directory with {count}. Open one of them; the newest is {found[0].path}"


def _one(file: Path) -> Iterator[File]:
    try:
        status = file.stat()
    except OSError:
        return
    if status.st_size:
        yield File(os.fspath(file), file.name, status.st_size, status.st_mtime, status.st_ino)
