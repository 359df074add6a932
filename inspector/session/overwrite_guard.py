"""Guard against overwriting recorded sessions with results."""

from __future__ import annotations

from typing import TYPE_CHECKING

from inspector.session.files import exists, is_file, is_folder

if TYPE_CHECKING:
    from pathlib import Path


def problem_with_target(target: Path, source: Path | None = None) -> str:
    """Return the reason why a result must not be written to a file, or an empty string.

    Returns:
        The obstacle and the remedy, without the path.
    """
    from inspector.errors import SessionError
    from inspector.session.registry import detect

    if is_folder(target):
        return "is a folder; choose a file"
    if source is not None and exists(source) and source.resolve() in (target.resolve(), *target.resolve().parents):
        return "is part of the session; choose another file"
    if not is_file(target):
        return ""  # does not exist yet, or is a device or pipe
    if source is not None and exists(source) and target.samefile(source):
        return "is the session itself; choose another file"
    try:
        detection = detect(target)
    except SessionError:
        return ""
    return f"contains a session ({detection.format.title}), which is never overwritten; choose another file"
