"""Paths at which a session may yet appear, and what is still missing there."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

from inspector.session.errors import SessionError
from inspector.session.files import Locator, is_folder
from inspector.session.registry import detect

if TYPE_CHECKING:
    from pathlib import Path


def is_awaited(path: Path) -> bool:
    """Whether a path is one at which a session may yet appear: an empty file, or nothing in a folder that exists."""
    file = Locator.of(path).file
    try:
        status = os.lstat(file)
    except FileNotFoundError:
        return is_folder(file.parent)
    except (OSError, ValueError):
        return False
    return stat.S_ISREG(status.st_mode) and status.st_size == 0


def why_still_awaited(path: Path) -> str:
    """Why a path that was awaited cannot be opened yet, in a few words for a person; empty once it can.

    What appears may be half a line at first, or a folder without files, so that anything unknown is waited for, too.
    """
    file = Locator.of(path).file
    try:
        status = file.stat()
    except FileNotFoundError:
        return "there is no such file yet" if is_folder(file.parent) else "its folder is gone"
    except (OSError, ValueError):
        return "it cannot be looked at"
    if stat.S_ISDIR(status.st_mode) and _holds_sessions(file):
        return ""
    if stat.S_ISREG(status.st_mode) and status.st_size == 0:
        return "the file is empty so far"
    try:
        detect(path)
    except SessionError:
        return "what is there is no session so far"
    return ""


def _holds_sessions(folder: Path) -> bool:
    from inspector.session.discovery import sessions_in

    return any(True for _ in sessions_in(folder))
