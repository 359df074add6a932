r"""Access to other programs' files: parse session paths, check existence, open files and compare their states.

`Path.exists` and the like raise on permission errors, which would stop a search through other users' folders;
`exists`, `is_file` and `is_folder` return False. For a path given by the user, opening it reports the error.

One name per file, even if a Windows session spells it in several ways: in a session with a Windows working directory,
`C:\shop\src\a.py`, `c:/shop/src/a.py`, `src\a.py`, `/c/shop/src/a.py` (Git Bash), `/c:/shop/src/a.py` (URIs) and
`\\?\C:\shop\src\a.py` are one file. Elsewhere, a backslash is part of a name.
"""

from __future__ import annotations

import errno
import os
import posixpath
import re
import stat
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from inspector.errors import SessionError, TemporaryFolderError, UnreadableFileError

if TYPE_CHECKING:
    from collections.abc import Iterator


SEPARATOR = "#"
"""Separates a file's path from the id of one of several sessions in it."""

CLOCK_SECONDS = 0.05
"""File system clock resolution: two changes within one tick, a few milliseconds, have the same modification time."""

LIVE_SECONDS = 300.0
"""A session without changes for longer is still followed, but no longer shown as live."""

COPIED_SECONDS = 3600.0
"""A file modified this long after its newest record is assumed to have been copied, not written by an agent."""

DISK_FULL_ERRNOS = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})

SETTLE_SECONDS = 2.0
"""Invalid JSON is treated as still being written until the file has not changed for this long."""


def expand_user(text: str) -> Path:
    """Expand `~` and `~name` in a path given by the user. The name of an unknown user is left as it is."""
    return Path(os.path.expanduser(text))  # noqa: PTH111  `Path.expanduser` raises for an unknown user


class Locator(NamedTuple):
    """A path to a file, and the id of a session in it; empty if not given."""

    file: Path
    session: str = ""

    @classmethod
    def of(cls, path: Path) -> Locator:
        """Parse a path. If a file with the separator in its name exists, the path is that file."""
        name, separator, session = path.name.rpartition(SEPARATOR)
        if not separator or not name or not session or os.path.lexists(path):
            return cls(path)
        file = path.with_name(name)
        return cls(file, session) if os.path.lexists(file) else cls(path)

    @property
    def path(self) -> Path:
        return self.file.with_name(f"{self.file.name}{SEPARATOR}{self.session}") if self.session else self.file


class FileState(NamedTuple):
    """Identity and version of a file, to distinguish appending from rewriting. Times are in nanoseconds."""

    device: int
    inode: int
    size: int
    modified: int

    @classmethod
    def of(cls, status: os.stat_result) -> FileState:
        return cls(status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)

    @classmethod
    def at(cls, path: Path) -> FileState | None:
        """Return the state of the file at a path, or None if it does not exist or is not accessible."""
        try:
            return cls.of(path.stat())
        except OSError:
            return None

    @property
    def age(self) -> float:
        """Seconds since the file was modified."""
        return time.time() - self.modified / 1e9

    def settled(self) -> FileState:
        """Return the state to remember; for a file modified just now, one that differs from every later state."""
        return self if self.age > CLOCK_SECONDS else self._replace(modified=0)


def last_written(changed: float, recorded: float | None) -> float:
    """Return when an agent last wrote to a session, in seconds: a copy may have a later time than its records."""
    return changed if recorded is None or changed - recorded < COPIED_SECONDS else recorded


def is_live(written: float | None, now: float) -> bool:
    """Return True if a session last written at a time counts as live; False for None."""
    return written is not None and now - written <= LIVE_SECONDS


def open_for_reading(path: Path) -> BinaryIO:
    """Open a regular file without blocking. Raises `SessionError` if it is not regular or not readable."""
    try:
        status = path.stat()
        # Without O_NONBLOCK, opening a pipe that has just replaced the file would block.
        if stat.S_ISREG(status.st_mode):
            return os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb", buffering=0)
    except PermissionError as error:
        raise UnreadableFileError(open_error_message(path, error)) from error
    except (OSError, ValueError) as error:
        raise SessionError(open_error_message(path, error)) from error
    what = "a directory" if stat.S_ISDIR(status.st_mode) else "not a regular file"
    raise SessionError(f"{path}: {what}. Give the path of a session file.")


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """Create a folder that is deleted on exit. Raises `TemporaryFolderError` if that fails."""
    from tempfile import TemporaryDirectory

    try:
        folder = TemporaryDirectory(prefix="inspector-", ignore_cleanup_errors=True)
    except OSError as error:
        raise _no_temporary_file(error) from error
    with folder as name:
        try:
            yield Path(name)
        except OSError as error:
            if error.errno in DISK_FULL_ERRNOS:
                raise _no_temporary_file(error) from error
            raise


def _no_temporary_file(error: OSError) -> TemporaryFolderError:
    reason = error.strerror or str(error)
    return TemporaryFolderError(f"cannot write a temporary file ({reason}): {TemporaryFolderError.advice}")


def open_error_message(path: Path, error: OSError | ValueError) -> str:
    match error:
        case FileNotFoundError():
            return f"{path}: no such file or directory. Check the path."
        case PermissionError():
            return f"{path}: permission denied. Change its permissions, or copy it to a readable place."
        case IsADirectoryError():
            return f"{path}: a directory, not a file. Give the path of a file in it."
        case NotADirectoryError():
            return f"{path}: a part of this path is a file, not a directory. Check the path."
    return f"{path}: cannot be opened ({getattr(error, 'strerror', None) or error}). Check the path."


def exists(path: Path) -> bool:
    """Return True if a path exists; follows links, never raises."""
    return _mode(path) != 0


def is_file(path: Path) -> bool:
    """Return True if a path is a regular file; follows links, never raises."""
    return stat.S_ISREG(_mode(path))


def is_folder(path: Path) -> bool:
    """Return True if a path is a folder; follows links, never raises."""
    return stat.S_ISDIR(_mode(path))


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


def glob_sorted(folder: Path, pattern: str) -> list[Path]:
    """Return sorted paths that match a glob pattern in a folder; empty if it is not accessible."""
    try:
        return sorted(folder.glob(pattern))
    except OSError:
        return []


def is_link(path: Path) -> bool:
    """Return True if a path is a symbolic link; never raises."""
    try:
        return path.is_symlink()
    except OSError:
        return False


def _mode(path: Path) -> int:
    try:
        return path.stat().st_mode
    except (OSError, ValueError):
        return 0


_DRIVE = re.compile(r"[A-Za-z]:(?=[\\/]|$)")
_IN_URI = re.compile(r"/(?=[A-Za-z]:[\\/])")
_IN_GIT_BASH = re.compile(r"/([A-Za-z])(?=/|$)")
_LONG = "\\\\?\\"
"""Windows prefix for long paths."""
_SHARE = ("\\\\", "//")


def is_windows_path(path: str) -> bool:
    """Return True for an absolute path of Windows: of a drive, or of a network share."""
    return path.startswith(_SHARE) or _DRIVE.match(path) is not None or _IN_URI.match(path) is not None


def is_absolute_path(path: str) -> bool:
    """Return True for an absolute path of any system, or one from the home directory."""
    return path.startswith(("/", "~")) or is_windows_path(path)


def joined_path(folder: str, path: str) -> str:
    """Return a path in its normal form, with slashes, absolute if `folder` is; addresses stay."""
    if not path or "://" in path:
        return path
    home = _with_slashes(folder) if is_windows_path(folder) else folder
    drive = _DRIVE.match(home)
    if is_windows_path(path):
        return posixpath.normpath(_with_slashes(path))
    if home != folder or drive:
        path = path.replace("\\", "/") if not path.startswith("/") else path
        if drive and (found := _IN_GIT_BASH.match(path)):
            return posixpath.normpath(f"{found[1].upper()}:/{path[found.end() :]}")
    return posixpath.normpath(path if is_absolute_path(path) else posixpath.join(home, path))


def relative_path(folder: str, path: str) -> str:
    """Return a path of `joined_path` relative to a folder it is in; otherwise unchanged."""
    home = joined_path("", folder).rstrip("/")
    is_inside = bool(home) and same_file(path).startswith(f"{same_file(home)}/")
    return path[len(home) + 1 :] if is_inside else path


def same_file(path: str) -> str:
    """Return a key that is equal for paths of one file, for paths of `joined_path`: Windows ignores case."""
    return path.casefold() if _DRIVE.match(path) or path.startswith("//") else path


def _with_slashes(path: str) -> str:
    """Return an absolute path of Windows with slashes, and its drive as a capital."""
    path = path.removeprefix(_LONG)
    path = path[1:] if _IN_URI.match(path) else path
    drive = path[:1].upper() if _DRIVE.match(path) else path[:1]
    return f"{drive}{path[1:]}".replace("\\", "/")
