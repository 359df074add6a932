"""The hook's logs: one line per trim, and one line per distinct error.

Each line is appended in one write, so that concurrent hooks lose none.
"""

from __future__ import annotations

import errno
import json
import os
import stat
import time
from typing import Any, NamedTuple

TRIMS = "trims.jsonl"
ERRORS = "errors.log"
MOST_BYTES = 16 << 20
"""Maximum size of each file; a larger one is rotated to `.1`."""


class Trim(NamedTuple):
    """A trimmed result.

    Attributes:
        time: Seconds since 1970.
        original: Original length in characters.
        trimmed: Trimmed length in characters.
        cumulative: Characters saved in its session so far, including this trim.
    """

    time: float
    agent: str
    session: str
    tool: str
    identifier: str
    original: int
    trimmed: int
    cumulative: int

    @property
    def saved(self) -> int:
        """Saved characters; negative if the marker is longer than the cut text."""
        return self.original - self.trimmed


def record_trim(folder: str, **trim: Any) -> None:
    """Append a trim. Raises `OSError` if it cannot be written."""
    saved = trim["original"] - trim["trimmed"]
    _append(f"{folder}/{TRIMS}", json.dumps({"time": round(time.time(), 3), **trim, "saved": saved}))


def open_regular(path: str, flags: int) -> int:
    """Open a regular file, as an `opener`: a pipe would block the agent. Raises `OSError` for others."""
    descriptor = os.open(path, flags | os.O_NONBLOCK, 0o600)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "not a regular file", path)
    return descriptor


def record_error(folder: str, message: str) -> bool:
    """Append an error unless it was logged before; return False if that fails."""
    path = f"{folder}/{ERRORS}"
    line = json.dumps(message[:1_000])
    try:
        with open(path, encoding="utf-8", opener=open_regular) as file:
            if any(known.rstrip("\n").endswith(line) for known in file):
                return True
    except OSError:
        pass
    try:
        _append(path, f"{time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime())} {line}")
    except OSError:
        return False
    return True


def _append(path: str, line: str) -> None:
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)  # noqa: PTH103, PTH120
    descriptor = open_regular(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    try:
        os.write(descriptor, f"{line}\n".encode())
        is_full = os.fstat(descriptor).st_size > MOST_BYTES
    finally:
        os.close(descriptor)
    if is_full:
        os.replace(path, f"{path}.1")  # noqa: PTH105


def trims(folder: str) -> list[Trim]:
    """Return all recorded trims in order, with cumulative savings per session."""
    found: list[Trim] = []
    saved: dict[tuple[str, str], int] = {}
    for name in (f"{TRIMS}.1", TRIMS):
        try:
            with open(f"{folder}/{name}", encoding="utf-8", errors="replace", opener=open_regular) as file:
                lines = file.readlines()
        except OSError:
            continue
        for line in lines:
            try:
                reported = json.loads(line)
                trim = Trim(
                    float(reported["time"]),
                    str(reported["agent"]),
                    str(reported["session"]),
                    str(reported["tool"]),
                    str(reported["id"]),
                    int(reported["original"]),
                    int(reported["trimmed"]),
                    0,
                )
            except (ValueError, LookupError, TypeError, OverflowError):
                continue  # an incomplete line of a killed process
            key = (trim.agent, trim.session)
            saved[key] = saved.get(key, 0) + trim.saved
            found.append(trim._replace(cumulative=saved[key]))
    return found


def errors(folder: str) -> list[str]:
    """Return each distinct error with the time of its first occurrence."""
    try:
        with open(f"{folder}/{ERRORS}", encoding="utf-8", errors="replace", opener=open_regular) as file:
            return [line.rstrip("\n") for line in file]
    except OSError:
        return []
