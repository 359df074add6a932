"""Paths where a session may still appear, and why they cannot be opened yet."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

from inspector.session.errors import SessionError
from inspector.session.files import Locator, is_folder
from inspector.session.registry import detect

if TYPE_CHECKING:
    from pathlib import Path


def may_appear(path: Path) -> bool:
    """Return True if a session may still appear at a path: it is an empty file, or missing from an existing folder."""
    file = Locator.of(path).file
    try:
        status = os.lstat(file)
    except FileNotFoundError:
        return is_folder(file.parent)
    except (OSError, ValueError):
        return False
    return stat.S_ISREG(status.st_mode) and status.st_size == 0


def why_not_ready(path: Path) -> str:
    """Return a short reason why an awaited path cannot be opened yet, or an empty string once it can.

    A new file may hold half a line at first, and a new folder no files, so unrecognized content is waited for too.
    """
    file = Locator.of(path).file
    try:
        status = file.stat()
    except FileNotFoundError:
        return "the file does not exist yet" if is_folder(file.parent) else "its folder no longer exists"
    except (OSError, ValueError):
        return "it is not accessible"
    if stat.S_ISDIR(status.st_mode) and _holds_sessions(file):
        return ""
    if stat.S_ISREG(status.st_mode) and status.st_size == 0:
        return "the file is still empty"
    try:
        detect(path)
    except SessionError:
        return "it is not a session yet"
    return ""


def _holds_sessions(folder: Path) -> bool:
    from inspector.session.discovery import sessions_in

    return any(True for _ in sessions_in(folder))
