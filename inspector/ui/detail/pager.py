"""Show a text in the user's pager: from a temporary file, made safe, without a shell."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import termios
from contextlib import contextmanager
from typing import TYPE_CHECKING

from inspector.errors import InspectorError
from inspector.safe_text import safe_text
from inspector.session.files import temporary_folder

if TYPE_CHECKING:
    from collections.abc import Iterator

USUAL = ("less", "more")
TERMINAL = 0
"""File descriptor of the keyboard."""


class PagerError(InspectorError):
    """No pager is available or it cannot be started; the message contains advice."""

    advice = "set PAGER to a program that shows text, such as less"


def pager_command() -> list[str]:
    """Return the pager command: `$PAGER`, or the first of the usual pagers that exists.

    Raises:
        PagerError: There is none.
    """
    named = os.environ.get("PAGER", "")
    try:
        words = shlex.split(named)
    except ValueError:
        words = []
    if words:
        if shutil.which(words[0]) is None:
            raise PagerError(f"cannot find {words[0]!r}, named by $PAGER")
        return words
    usual = next((name for name in USUAL if shutil.which(name)), None)
    if usual is None:
        raise PagerError("no pager found: set $PAGER")
    return [usual]


@contextmanager
def terminal_restored() -> Iterator[None]:
    """Restore the terminal settings afterwards, because a killed program leaves its own."""
    try:
        before = termios.tcgetattr(TERMINAL)
    except termios.error:  # not a terminal
        yield
        return
    try:
        yield
    finally:
        termios.tcsetattr(TERMINAL, termios.TCSADRAIN, before)


def show_in_pager(text: str, command: list[str]) -> None:
    """Run the pager on a text and wait for it to exit. The app must be suspended.

    Raises:
        PagerError: It cannot be started.
        TemporaryFolderError: The text cannot be written.
    """
    with temporary_folder() as folder:
        path = folder / "text"
        path.write_text(safe_text(text), encoding="utf-8", errors="replace")
        try:
            with terminal_restored():
                subprocess.run([*command, str(path)], check=False)  # noqa: S603  the user's own pager, no shell
        except OSError as error:
            raise PagerError(f"cannot start {command[0]}: {error.strerror}") from error
