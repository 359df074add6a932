"""Showing a text in the user's pager: as a file of their own, made safe, never through a shell."""

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
"""The descriptor keys are read from."""


class PagerError(InspectorError):
    """There is no pager, or it cannot be started; the message says what to do."""

    advice = "set PAGER to a program that shows text"


def pager_command() -> list[str]:
    """The pager and its arguments: `$PAGER`, else the first of the usual ones there is.

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
            raise PagerError(f"$PAGER names {words[0]!r}, which is not there")
        return words
    usual = next((name for name in USUAL if shutil.which(name)), None)
    if usual is None:
        raise PagerError("there is no pager: set $PAGER to one")
    return [usual]


@contextmanager
def terminal_given_back() -> Iterator[None]:
    """Have the terminal afterwards as it is now: a program that is killed leaves it as it had set it for itself."""
    try:
        before = termios.tcgetattr(TERMINAL)
    except termios.error:  # it is none
        yield
        return
    try:
        yield
    finally:
        termios.tcsetattr(TERMINAL, termios.TCSADRAIN, before)


def show_in_pager(text: str, command: list[str]) -> None:
    """Run the pager on a text and wait until it is left. The terminal must be its own meanwhile.

    Raises:
        PagerError: It cannot be started.
        TemporaryFolderError: There is no room for the text.
    """
    with temporary_folder() as folder:
        path = folder / "text"
        path.write_text(safe_text(text), encoding="utf-8", errors="replace")
        try:
            with terminal_given_back():
                subprocess.run([*command, str(path)], check=False)  # noqa: S603  the user's own pager, no shell
        except OSError as error:
            raise PagerError(f"{command[0]} cannot be started: {error.strerror}") from error
