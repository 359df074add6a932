"""Which files results may be written to: never over a recorded session."""

from __future__ import annotations

from typing import TYPE_CHECKING

from inspector.session.files import exists, is_file, is_folder

if TYPE_CHECKING:
    from pathlib import Path


def problem_with_target(target: Path, source: Path | None = None) -> str:
    """Why a result must not be written to a file; empty where it may.

    Args:
        target: What is to be written.
        source: The session the result is about, where it is about one.

    Returns:
        What is in the way and what to do, without the path.
    """
    from inspector.session.errors import SessionError
    from inspector.session.registry import detect

    if is_folder(target):
        return "is a folder; name a file to write to"
    if source is not None and exists(source) and source.resolve() in (target.resolve(), *target.resolve().parents):
        return "is part of the session; name another file to write to"
    if not is_file(target):
        return ""  # nothing there yet, or a device or a pipe
    if source is not None and exists(source) and target.samefile(source):
        return "is the session itself; name another file to write to"
    try:
        detection = detect(target)
    except SessionError:
        return ""
    return f"holds a session ({detection.format.title}), which is never overwritten; name another file"
