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
    from inspector.session.overwrite_guard import problem_with_target

    problem = problem_with_target(target, source)
    if problem:
        raise CommandError(f"{target}: {problem}", ExitCode.WRONG_USAGE)


def save(target: Path, text: str) -> None:
    """Write `text` as UTF-8.

    Raises:
        CommandError: The file cannot be written.
    """
    try:
        target.write_text(text, encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        raise CommandError(f"{target}: cannot be written: {error.strerror or error}") from None
