"""Atomic writes and size limits for the program's own files, private by default."""

from __future__ import annotations

import errno
import os
import time
from contextlib import contextmanager, suppress
from math import inf
from pathlib import Path
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

APPLICATION = "inspector"
"""Name of the program's folders below the platform's settings, data, state and cache folders."""

UNFINISHED_SUFFIX = ".part"
"""Suffix of a partly written file, which remains if its writer is killed."""

ABANDONED_SECONDS = 3600
"""A partly written file older than this is abandoned."""


def cache_folder(name: str) -> Path:
    """Return a folder for data that can be recomputed."""
    from platformdirs import user_cache_path

    return user_cache_path(APPLICATION) / name


@contextmanager
def replacing(path: Path, mode: int = 0o600) -> Iterator[IO[bytes]]:
    """Open a new file that replaces `path` once it was written completely.

    Args:
        path: The file to replace or create. Missing folders are created.
        mode: Permissions before the process's umask; by default for the owner only.

    Raises:
        OSError: It cannot be written; the old file is unchanged.
    """
    if not path.parent.is_dir():
        with _reporting_non_folder(path.parent):
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    part = path.with_name(f"new-{os.urandom(8).hex()}{UNFINISHED_SUFFIX}")
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
        part.replace(path)
    except BaseException:
        with suppress(OSError):
            part.unlink()
        raise


def write_atomic(path: Path, text: str) -> None:
    """Write a user's text file atomically. An existing file keeps its mode, and a link stays a link.

    Raises:
        OSError: It cannot be written; the old file is unchanged.
    """
    _write(path.resolve(), text.encode(), 0o600)


def write_user_file(path: Path, data: bytes) -> None:
    """Write a file to a path given by the user, atomically; devices and pipes are written directly.

    A new file gets default permissions. An existing one keeps its mode, and a link stays a link.

    Raises:
        OSError: It cannot be written, or its folder does not exist; the old file is unchanged.
    """
    if path.exists() and not path.is_file():
        path.write_bytes(data)
        return
    path = path.resolve()
    path.parent.resolve(strict=True)
    _write(path, data, 0o666)


def _write(path: Path, data: bytes, mode: int) -> None:
    with replacing(path, mode) as file:
        if path.exists():
            os.fchmod(file.fileno(), path.stat().st_mode & 0o777)
        file.write(data)


@contextmanager
def _reporting_non_folder(folder: Path) -> Iterator[None]:
    """Report a file in the place of a folder as such, rather than as an existing file."""
    try:
        yield
    except FileExistsError:
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(folder)) from None


def evict(folder: Path, *, most_files: float = inf, most_bytes: float = inf) -> None:
    """Evict the least recently modified files of a folder beyond the limits.

    Partial files of killed processes are always removed. Files that cannot be removed are ignored.

    Args:
        folder: A folder that contains only files of this program.
        most_files: Maximum number of files.
        most_bytes: Maximum total size.

    Raises:
        OSError: The folder cannot be listed.
    """
    files = []
    for entry in os.scandir(folder):
        with suppress(OSError):
            status = entry.stat()
            files.append((status.st_mtime, status.st_size, entry.path))
    count, taken = len(files), sum(size for _, size, _ in files)
    last_abandoned = time.time() - ABANDONED_SECONDS
    for changed, size, path in sorted(files):
        is_abandoned = path.endswith(UNFINISHED_SUFFIX) and changed < last_abandoned
        if count > most_files or taken > most_bytes or is_abandoned:
            with suppress(OSError):
                Path(path).unlink()
                count, taken = count - 1, taken - size
