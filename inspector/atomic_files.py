"""Files of the program's own: written whole or not at all, for their owner alone, no more than there is room for."""

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
"""The name of the folders, where the platform wants a program's settings, data, state and caches."""

UNFINISHED_SUFFIX = ".part"
"""Ends the name of a file that is being written, or was when its writer was killed."""

ABANDONED_SECONDS = 3600
"""No file takes that long to be written."""


def cache_folder(name: str) -> Path:
    """A folder of what can be worked out again."""
    from platformdirs import user_cache_path

    return user_cache_path(APPLICATION) / name


@contextmanager
def replacing(path: Path, mode: int = 0o600) -> Iterator[IO[bytes]]:
    """A new file that takes the place of another once it was written whole.

    Args:
        path: The file to be replaced, or made. Its folder is made too where there is none.
        mode: Who may read and write it, less what the process's mask forbids; its owner alone where not given.

    Raises:
        OSError: It cannot be written; what was there before is left as it was.
    """
    if not path.parent.is_dir():
        with _naming_what_is_no_folder(path.parent):
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


def write_whole(path: Path, text: str) -> None:
    """Write a text file of a person's own, whole or not at all; one that was there keeps its mode, a link stays one.

    Raises:
        OSError: It cannot be written; what was there before is left as it was.
    """
    _write(path.resolve(), text.encode(), 0o600)


def write_as_asked(path: Path, data: bytes) -> None:
    """Write a file where a person said, whole or not at all; a device or a pipe is written to as it is.

    It gets the mode that files of theirs get. One that was there keeps its own, and a link stays one.

    Raises:
        OSError: It cannot be written, or its folder is not there; what was there before is left as it was.
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
def _naming_what_is_no_folder(folder: Path) -> Iterator[None]:
    """Say that a file stands where a folder is to be made, not that it is there already."""
    try:
        yield
    except FileExistsError:
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(folder)) from None


def make_room(folder: Path, *, most_files: float = inf, most_bytes: float = inf) -> None:
    """Remove the files of a folder that were left alone for longest, as far as they are too many or too large.

    What a killed process left half written goes in any case. What cannot be removed stays.

    Args:
        folder: Holds nothing but files of this program's own.
        most_files: How many may stay.
        most_bytes: What they may take together.

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
