"""Other programs' files: which session a path names, what is there, opening it, telling its states apart.

`Path.exists` and the like raise where nobody may look, in the middle of a search through other people's folders;
`exists`, `is_file` and `is_folder` say that nothing is there. Where a person named the path, opening it tells why it
cannot be read.
"""

from __future__ import annotations

import errno
import os
import stat
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from inspector.session.errors import SessionError, TemporaryFolderError, UnreadableFileError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO


SEPARATOR = "#"
"""Stands between a file's path and the id of one of several sessions in it."""

CLOCK_SECONDS = 0.05
"""Two changes within one tick of a file system's clock, a few milliseconds, leave the same time of change."""

LIVE_SECONDS = 300.0
"""A file left alone for longer is followed all the same, but no longer called live."""

COPIED_SECONDS = 3600.0
"""A file that changed this long after its newest record was made was copied then, and not written by an agent."""

NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
"""What a system says where a disk is full, or one may not write as much."""

BROKEN_SECONDS = 2.0
"""A file that is no whole JSON is being written, unless it has been left like that for this long."""


def expanded(text: str) -> Path:
    """The path a person means: `~` is the home folder, `~name` that of a user. One nobody has is a name like others."""
    return Path(os.path.expanduser(text))  # noqa: PTH111  the way of `Path` fails where there is no such user


class Locator(NamedTuple):
    """A path as given.

    Attributes:
        file: The file or folder.
        session: The session's id inside it; empty where none is named.
    """

    file: Path
    session: str = ""

    @classmethod
    def of(cls, path: Path) -> Locator:
        """What a path names. A file whose own name holds the separator is that file."""
        name, separator, session = path.name.rpartition(SEPARATOR)
        if not separator or not name or not session or os.path.lexists(path):
            return cls(path)
        file = path.with_name(name)
        return cls(file, session) if os.path.lexists(file) else cls(path)

    @property
    def path(self) -> Path:
        """Both as one path."""
        return self.file.with_name(f"{self.file.name}{SEPARATOR}{self.session}") if self.session else self.file


class FileState(NamedTuple):
    """What identifies a state of a file: enough to see that it was appended to and not rewritten.

    Attributes:
        device: The file system it is on.
        inode: What that knows it by.
        size: In bytes.
        modified: When it was written last, in nanoseconds since the epoch.
    """

    device: int
    inode: int
    size: int
    modified: int

    @classmethod
    def of(cls, status: os.stat_result) -> FileState:
        """The state that a file status describes."""
        return cls(status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)

    @classmethod
    def at(cls, path: Path) -> FileState | None:
        """The state of what is at a path; None where nothing is, or nobody may look."""
        try:
            return cls.of(path.stat())
        except OSError:
            return None

    @property
    def age(self) -> float:
        """Seconds since the file was written."""
        return time.time() - self.modified / 1e9

    def settled(self) -> FileState:
        """The state to remember: of a file that has just been written one that no later look equals."""
        return self if self.age > CLOCK_SECONDS else self._replace(modified=0)


def time_of_writing(changed: float, recorded: float | None) -> float:
    """When an agent last wrote to a session; what copies a file may give it a new time of change.

    Args:
        changed: When its file changed last, seconds since the epoch.
        recorded: When its newest record was made; None where records have no time.
    """
    return changed if recorded is None or changed - recorded < COPIED_SECONDS else recorded


def is_live(written: float | None, now: float) -> bool:
    """Whether a session is taken for one that is being written: in the header, in tabs and in lists alike.

    Args:
        written: As `time_of_writing` has it; None where unknown.
        now: Seconds since the epoch.
    """
    return written is not None and now - written <= LIVE_SECONDS


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
    except PermissionError as error:
        raise UnreadableFileError(why_not_opened(path, error)) from error
    except (OSError, ValueError) as error:
        raise SessionError(why_not_opened(path, error)) from error
    what = "a directory" if stat.S_ISDIR(status.st_mode) else "not a regular file"
    raise SessionError(f"{path}: {what}. Give the path of a session file.")


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """A folder for files that are needed for a while; it goes when it is left.

    Raises:
        TemporaryFolderError: There is no place for one, or no room left in it.
    """
    from tempfile import TemporaryDirectory

    try:
        folder = TemporaryDirectory(prefix="inspector-", ignore_cleanup_errors=True)
    except OSError as error:
        raise _no_temporary_file(error) from error
    with folder as name:
        try:
            yield Path(name)
        except OSError as error:
            if error.errno in NO_ROOM:
                raise _no_temporary_file(error) from error
            raise


def _no_temporary_file(error: OSError) -> TemporaryFolderError:
    reason = error.strerror or str(error)
    return TemporaryFolderError(f"no temporary file can be written ({reason}): {TemporaryFolderError.advice}")


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


def exists(path: Path) -> bool:
    """Whether anything is there; of a link, whether what it leads to is."""
    return _mode(path) != 0


def is_file(path: Path) -> bool:
    """Whether a regular file is there, or a link to one."""
    return stat.S_ISREG(_mode(path))


def is_folder(path: Path) -> bool:
    """Whether a folder is there, or a link to one."""
    return stat.S_ISDIR(_mode(path))


def found_by(folder: Path, pattern: str) -> list[Path]:
    """What is in a folder by names with wildcards, in order; nothing where nobody may look."""
    try:
        return sorted(folder.glob(pattern))
    except OSError:
        return []


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
