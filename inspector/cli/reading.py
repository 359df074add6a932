"""Session files as commands read them: with progress where a person looks, and failures as one line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from inspector.cli.exits import CommandError
from inspector.cli.progress import Progress
from inspector.session.files import why_not_opened

if TYPE_CHECKING:
    from pathlib import Path

    from inspector.session.format import Detection
    from inspector.session.model import Session


def detect_format(path: Path) -> Detection:
    """What a file or folder is taken for, from a look at its beginning.

    Raises:
        CommandError: It cannot be read, or is no session.
    """
    from inspector.session.errors import SessionError
    from inspector.session.registry import detect

    try:
        return detect(path)
    except SessionError as error:
        raise CommandError(error.message) from None


def read_session(path: Path) -> Session:
    """The session in a file or folder.

    Raises:
        CommandError: It cannot be read, or is no session.
    """
    from inspector.session.open import SessionError, open_session

    with Progress("reading") as progress:
        try:
            return open_session(path, progress=progress)
        except SessionError as error:
            raise CommandError(error.message) from None


def read_text(path: Path) -> str:
    """The text of a small file the user named, such as a plan.

    Raises:
        CommandError: It cannot be read as UTF-8.
    """
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise CommandError(why_not_opened(path, error)) from None
    except UnicodeDecodeError as error:
        raise CommandError(f"{path}: not a text file (byte {error.start} is no UTF-8)") from None
