"""File watching with watchfiles, and regular polling as a fallback."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from inspector.session.files import is_folder

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

DEBOUNCE_MILLISECONDS = 20
STEP_MILLISECONDS = 5
"""Appends are detected after eight milliseconds with these values; after seventy with the library's defaults."""

POLL_MILLISECONDS = 1000
"""Polling interval in case events are lost; checking a file takes a few microseconds."""

STAT_SECONDS = 0.1
"""Polling interval without events."""

WATCH_VARIABLE = "INSPECTOR_WATCH"
"""Set to `stat` to poll files instead of waiting for events."""

SILENT_FILE_SYSTEMS = frozenset(
    {"9p", "afs", "ceph", "cifs", "drvfs", "fakeowner", "glusterfs", "lustre", "ncpfs", "nfs", "nfs4", "prl_fs", "smb3"}
    | {"smbfs", "vboxsf", "virtiofs", "vmhgfs"}
)
"""File systems changed by other machines, so the local kernel has no events for them."""


async def watch_folders(folders: tuple[Path, ...], stop: asyncio.Event) -> AsyncIterator[None]:
    """Yield when something changes in one of the folders, and at least every second, until `stop` is set.

    Folders are watched, not files: a watch on a file stops working once the file is replaced or deleted. On file
    systems without events, and while a folder does not exist, yield ten times a second.
    """
    while not stop.is_set():
        existing = tuple(folder for folder in folders if is_folder(folder))
        if len(existing) == len(folders) and has_events(folders):
            async for _ in _events(folders, stop):
                yield
        if not stop.is_set():
            yield
            await _pause(stop)


async def _events(folders: tuple[Path, ...], stop: asyncio.Event) -> AsyncIterator[None]:
    """Yield on events until a watched folder is replaced."""
    from watchfiles import awatch

    watched = _identities(folders)
    events = awatch(
        *folders,
        watch_filter=None,
        debounce=DEBOUNCE_MILLISECONDS,
        step=STEP_MILLISECONDS,
        stop_event=stop,
        rust_timeout=POLL_MILLISECONDS,
        yield_on_timeout=True,
        # The library's own poller compares whole seconds and misses the second of two quick appends.
        force_polling=False,
        recursive=False,
    )
    first = asyncio.ensure_future(anext(events, None))
    try:
        await asyncio.sleep(0)  # the watch is active from here; the first yield covers earlier changes
        yield
        happened = await first
        while happened is not None and _identities(folders) == watched:
            yield
            happened = await anext(events, None)
    except (OSError, RuntimeError):  # out of watches, or the folder was deleted
        return
    finally:
        first.cancel()
        with contextlib.suppress(asyncio.CancelledError, OSError, RuntimeError):
            await first
        await events.aclose()


def has_events(folders: tuple[Path, ...]) -> bool:
    """Return True if the operating system reports changes in these folders."""
    if os.environ.get(WATCH_VARIABLE) == "stat":
        return False
    return not any(is_silent(file_system_of(folder)) for folder in folders)


def is_silent(file_system: str) -> bool:
    """Return True if a file system type has no events. FUSE may be anything, so it counts as silent."""
    return file_system in SILENT_FILE_SYSTEMS or file_system == "fuse" or file_system.startswith("fuse.")


def file_system_of(folder: Path) -> str:
    """Return the type of the file system that contains a folder; empty if unknown."""
    if not sys.platform.startswith("linux"):
        return ""
    try:
        mounts = Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="replace")
        return file_system_in(mounts, os.path.realpath(folder))
    except OSError:
        return ""


def file_system_in(mounts: str, folder: str) -> str:
    """Return the type of a folder's file system, from mounts in the format of proc_pid_mountinfo(5)."""
    best, found = "", ""
    for line in mounts.splitlines():
        before, separator, after = line.partition(" - ")
        fields = before.split(" ")
        if not separator or len(fields) < 5:
            continue
        point = fields[4].encode().decode("unicode_escape") if "\\" in fields[4] else fields[4]
        inside = folder == point or folder.startswith(point.rstrip("/") + "/")
        if inside and len(point) >= len(best):
            best, found = point, after.split(" ")[0]
    return found


def _identities(folders: tuple[Path, ...]) -> list[tuple[int, int] | None]:
    found: list[tuple[int, int] | None] = []
    for folder in folders:
        try:
            status = folder.stat()
        except OSError:
            found.append(None)
        else:
            found.append((status.st_dev, status.st_ino))
    return found


async def _pause(stop: asyncio.Event) -> None:
    try:
        await asyncio.wait_for(stop.wait(), STAT_SECONDS)
    except TimeoutError:
        return
