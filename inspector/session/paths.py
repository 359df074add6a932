"""Asking what is at a path, where it may be that nobody may look.

`Path.exists` and the like raise then, in the middle of a search through other people's folders; these say that nothing
is there. Where a person named the path, opening it tells why it cannot be read.
"""

from __future__ import annotations

import stat
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def exists(path: Path) -> bool:
    """Whether anything is there; of a link, whether what it leads to is."""
    return _mode(path) != 0


def is_file(path: Path) -> bool:
    """Whether a regular file is there, or a link to one."""
    return stat.S_ISREG(_mode(path))


def is_folder(path: Path) -> bool:
    """Whether a folder is there, or a link to one."""
    return stat.S_ISDIR(_mode(path))


def is_link(path: Path) -> bool:
    """Whether a symbolic link is there."""
    try:
        return path.is_symlink()
    except OSError:
        return False


def _mode(path: Path) -> int:
    try:
        return path.stat().st_mode
    except (OSError, ValueError):
        return 0
