"""Writing a result to a file the user named, and never over a recorded session."""

from __future__ import annotations

from typing import TYPE_CHECKING

from inspector.cli.exits import CommandError, ExitCode

if TYPE_CHECKING:
    from pathlib import Path


def check_target(target: Path, source: Path | None = None) -> None:
    """Refuse to write over a session.

    Args:
        target: What is to be written.
        source: What is read, where anything is.

    Raises:
        CommandError: `target` is the source, lies in it, or is a session file itself.
    """
    from inspector.session.errors import SessionError
    from inspector.session.formats import detect

    if target.is_dir():
        raise CommandError(f"{target}: is a folder; name a file to write to", ExitCode.WRONG_USAGE)
    if source is not None and source.exists() and source.resolve() in (target.resolve(), *target.resolve().parents):
        raise CommandError(f"{target}: is part of the session; name another file to write to", ExitCode.WRONG_USAGE)
    if not target.is_file():
        return  # nothing there yet, or a device or a pipe
    if source is not None and source.exists() and target.samefile(source):
        raise CommandError(f"{target}: is the session itself; name another file to write to", ExitCode.WRONG_USAGE)
    try:
        detection = detect(target)
    except SessionError:
        return
    raise CommandError(
        f"{target}: holds a session ({detection.format.title}), which is never overwritten; name another file",
        ExitCode.WRONG_USAGE,
    )


def save(target: Path, text: str) -> None:
    """Write `text` as UTF-8.

    Raises:
        CommandError: The file cannot be written.
    """
    try:
        target.write_text(text, encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        raise CommandError(f"{target}: cannot be written: {error.strerror or error}") from None
