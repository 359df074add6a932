"""Opening files for reading, and telling one state of a file from another."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING, NamedTuple

from inspector.session.errors import SessionError

if TYPE_CHECKING:
    from pathlib import Path
    from typing import BinaryIO


class Place(NamedTuple):
    """What identifies a state of a file: enough to see that it was appended to and not rewritten."""

    device: int
    inode: int
    size: int
    modified: int

    @classmethod
    def of(cls, status: os.stat_result) -> Place:
        """The state that a file status describes."""
        return cls(status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)


def open_for_reading(path: Path) -> BinaryIO:
    """A regular file, open for reading, without ever waiting for one.

    Raises:
        SessionError: It is no regular file, does not exist or may not be read.
    """
    try:
        status = path.stat()
        # Opening a pipe that took the file's place meanwhile would wait for its other end unless told not to.
        if stat.S_ISREG(status.st_mode):
            return os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb", buffering=0)
    except (OSError, ValueError) as error:
        raise SessionError(why_not_opened(path, error)) from error
    what = "a directory" if stat.S_ISDIR(status.st_mode) else "not a regular file"
    raise SessionError(f"{path}: {what}. Give the path of a session file.")


def why_not_opened(path: Path, error: OSError | ValueError) -> str:
    """One line for a file that cannot be opened."""
    match error:
        case FileNotFoundError():
            return f"{path}: no such file or directory. Check the path."
        case PermissionError():
            return f"{path}: no permission to read it. Change its permissions or copy it to where you may read."
        case IsADirectoryError():
            return f"{path}: a directory, not a file. Name a file in it."
        case NotADirectoryError():
            return f"{path}: a part of this path is a file, not a directory. Check the path."
    return f"{path}: cannot be opened ({getattr(error, 'strerror', None) or error}). Check the path."
