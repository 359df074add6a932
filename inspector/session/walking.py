"""Files below a folder that may be sessions, as the folders list them: none is opened."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from inspector.session.registry import all_formats

if TYPE_CHECKING:
    from collections.abc import Iterator
    from collections.abc import Set as AbstractSet

PASSED_OVER = frozenset(
    {".git", ".hg", ".svn", ".tox", ".venv", "__pycache__", "node_modules", "site-packages", "venv"}
)
"""Folders of version control and packages."""

PIECES = frozenset({"message", "part"})
"""Folders beside one named `session` that hold the pieces of its sessions, a small file each."""


@dataclass(frozen=True, slots=True)
class File:
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


def files_below(folder: str, depth: int, passed_over: AbstractSet[str]) -> Iterator[File]:
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
    if any(signs <= names for known in all_formats() for signs in known.folders):
        yield from _folder(folder, entries)
        return
    here = PASSED_OVER | passed_over | (PIECES if names >= PIECES | {"session"} else frozenset())
    for entry in entries:
        try:
            if entry.is_dir(follow_symlinks=False):
                if depth and entry.name not in here:
                    yield from files_below(entry.path, depth - 1, passed_over)
            elif entry.is_file():
                status = entry.stat()
                if status.st_size:
                    yield File(entry.path, entry.name, status.st_size, status.st_mtime, status.st_ino)
        except OSError:
            continue


def _folder(folder: str, entries: list[os.DirEntry[str]]) -> Iterator[File]:
    """A folder that is itself a session: as large as its files, as new as the newest."""
    statuses = []
    for entry in entries:
        try:
            statuses.append(entry.stat())
        except OSError:
            continue
    if statuses:
        size, newest = sum(status.st_size for status in statuses), max(status.st_mtime for status in statuses)
        yield File(folder, folder.rpartition(os.sep)[2], size, newest, statuses[0].st_ino)
