"""File watching: a wake-up when something happens to a file (watchfiles), and regular polling as a fallback."""

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
"""An append is seen after eight milliseconds with these; the library's defaults take seventy."""

SWEEP_MILLISECONDS = 1000
"""Events can be lost; a look at the file itself costs a few microseconds."""

STAT_SECONDS = 0.1
"""How often a file is looked at where nothing tells of changes to it."""

WATCH_VARIABLE = "INSPECTOR_WATCH"
"""Set to `stat` to look at files regularly instead of waiting for events."""

SILENT_FILE_SYSTEMS = frozenset(
    {"9p", "afs", "ceph", "cifs", "drvfs", "fakeowner", "glusterfs", "lustre", "ncpfs", "nfs", "nfs4", "prl_fs", "smb3"}
    | {"smbfs", "vboxsf", "virtiofs", "vmhgfs"}
)
"""File systems whose files change elsewhere, so that this machine's kernel has no events for them."""


async def wake_ups(folders: tuple[Path, ...], stop: asyncio.Event) -> AsyncIterator[None]:
    """Wake up when something happens in one of the folders, and at least every second, until `stop` is set.

    Folders are watched, not files: a watch on a file goes silent for ever once the file is replaced or deleted. Where
    events do not reach this machine, and while a folder does not exist, wake up ten times a second.
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
    """Wake up on events until a folder is no longer the one that is watched."""
    from watchfiles import awatch

    watched = _identities(folders)
    events = awatch(
        *folders,
        watch_filter=None,
        debounce=DEBOUNCE_MILLISECONDS,
        step=STEP_MILLISECONDS,
        stop_event=stop,
        rust_timeout=SWEEP_MILLISECONDS,
        yield_on_timeout=True,
        # The library's own poller compares whole seconds and loses the second of two quick appends.
        force_polling=False,
        recursive=False,
    )
    first = asyncio.ensure_future(anext(events, None))
    try:
        await asyncio.sleep(0)  # from here on the watch is in place; what happened before is found by looking now
        yield
        happened = await first
        while happened is not None and _identities(folders) == watched:
            yield
            happened = await anext(events, None)
    except (OSError, RuntimeError):  # no watches left, or the folder went away meanwhile
        return
    finally:
        first.cancel()
        with contextlib.suppress(asyncio.CancelledError, OSError, RuntimeError):
            await first
        await events.aclose()


def has_events(folders: tuple[Path, ...]) -> bool:
    """Whether the operating system tells of changes in these folders."""
    if os.environ.get(WATCH_VARIABLE) == "stat":
        return False
    return not any(is_silent(file_system_of(folder)) for folder in folders)


def is_silent(file_system: str) -> bool:
    """Whether a file system of this type gives no events. FUSE ones may be anything, so they count as silent."""
    return file_system in SILENT_FILE_SYSTEMS or file_system == "fuse" or file_system.startswith("fuse.")


def file_system_of(folder: Path) -> str:
    """The type of the file system that holds a folder; empty where the operating system does not say."""
    if not sys.platform.startswith("linux"):
        return ""
    try:
        mounts = Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="replace")
        return file_system_in(mounts, os.path.realpath(folder))
    except OSError:
        return ""


def file_system_in(mounts: str, folder: str) -> str:
    """The type of the file system that holds a folder.

    Args:
        mounts: What the kernel says of mounts, one a line, as described in proc_pid_mountinfo(5).
        folder: An absolute path without links.
    """
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
