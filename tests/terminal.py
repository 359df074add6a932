"""The program in a pseudo-terminal: real keys in, an emulated screen out."""

from __future__ import annotations

import os
import re
import select
import signal
import time
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Self

import pexpect
import pyte
from pyte.charsets import LAT1_MAP
from pyte.modes import IRM
from pyte.screens import wcwidth

from tests.program import COMMAND, environment

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyte.screens import Char

KEYS = {
    "up": "\x1b[A",
    "down": "\x1b[B",
    "right": "\x1b[C",
    "left": "\x1b[D",
    "home": "\x1b[H",
    "end": "\x1b[F",
    "pageup": "\x1b[5~",
    "pagedown": "\x1b[6~",
    "enter": "\r",
    "escape": "\x1b",
    "tab": "\t",
    "shift+tab": "\x1b[Z",
    "shift+left": "\x1b[1;2D",
}
_UNKNOWN_TO_PYTE = re.compile(rb"\x1b[P_^X].*?\x1b\\|\x1b\[[<=>][0-9;]*[a-zA-Z]|\x1b\[[0-9;?]*\$p", re.DOTALL)
OTHER_SCREEN = b"\x1b[?1049h"
"""Switches to a screen on which nothing is; the emulator has one alone."""
SECONDS_TO_WAIT = 120
"""Before something is taken never to show: many, for a machine that is busy with other things."""
SECONDS_AT_REST = 0.1


def kill(child: pexpect.spawn[bytes]) -> None:
    """End a program at once. (`close` gives up on one that is slow to go.)"""
    with suppress(ProcessLookupError):
        child.kill(signal.SIGKILL)
    child.wait()
    child.close()


def is_running(process: int) -> bool:
    for told in Path(f"/proc/{process}/task").glob("*/stat"):
        with suppress(OSError):
            if told.read_text().rpartition(")")[2].split()[0] in "RD":
                return True
    return False


class _Screen(pyte.Screen):
    """The emulator's screen, with runs of characters of one cell that fit in their line drawn at once.

    That is nearly all that is painted, and takes a third of the time that one character after another does.
    """

    def draw(self, data: str) -> None:
        """Take in text at the cursor."""
        at = self.cursor.x
        is_usual = not self.charset and self.g0_charset is LAT1_MAP and IRM not in self.mode
        if not is_usual or at + len(data) > self.columns or any(_cells(character) != 1 for character in data):
            super().draw(data)
            return
        line, made = self.buffer[self.cursor.y], _made(self.cursor.attrs)
        for place, character in enumerate(data, start=at):
            line[place] = made.get(character) or made.setdefault(character, self.cursor.attrs._replace(data=character))
        self.cursor.x = at + len(data)
        self.dirty.add(self.cursor.y)

    @property
    def display(self) -> list[str]:
        return ["".join(self.buffer[row][column].data for column in range(self.columns)) for row in range(self.lines)]


_cells = cache(wcwidth)


@cache
def _made(_attributes: Char) -> dict[str, Char]:
    """Characters that were drawn with attributes."""
    return {}


class TerminalProgram:
    def __init__(
        self,
        folder: Path,
        *arguments: str,
        size: tuple[int, int] = (120, 36),
        command: Sequence[str] = COMMAND,
        first: Callable[[], None] | None = None,
        **variables: str,
    ) -> None:
        homes = {f"XDG_{kind}_HOME": str(folder / kind) for kind in ("CACHE", "CONFIG", "DATA", "STATE")}
        env = environment(**{"TERM": "xterm-256color", "HOME": str(folder), **homes, **variables})
        program, *words = (*command, *arguments)
        self.written = b""
        self._text: str | None = None
        self._screen = _Screen(*size)
        self._stream = pyte.ByteStream(self._screen)
        self.child = pexpect.spawn(program, words, env=env, dimensions=size[::-1], timeout=5, preexec_fn=first)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        kill(self.child)

    @property
    def text(self) -> str:
        if self._text is None:
            self._text = "\n".join(self._screen.display)
        return self._text

    @property
    def last_line(self) -> str:
        """The status line."""
        return self.text.rpartition("\n")[2]

    def take(self, seconds: float) -> bool:
        try:
            data = self.child.read_nonblocking(65_536, timeout=seconds)
        except (pexpect.TIMEOUT, pexpect.EOF):
            return False
        self.written += data
        self._text = None
        self._stream.feed(_UNKNOWN_TO_PYTE.sub(b"", data).replace(OTHER_SCREEN, OTHER_SCREEN + b"\x1b[2J"))
        return True

    def type(self, data: bytes) -> None:
        deadline = time.monotonic() + SECONDS_TO_WAIT
        while data and self.child.isalive():
            assert time.monotonic() < deadline, f"it reads no more:\n{self.text}"
            readable, writable, _ = select.select([self.child.child_fd], [self.child.child_fd], [], 0.05)
            if readable:
                self.take(0)
            elif writable:
                data = data[os.write(self.child.child_fd, data[:512]) :]

    def read(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while time.monotonic() < until and self.child.isalive():
            self.take(0.05)

    def rest(self) -> None:
        deadline = time.monotonic() + SECONDS_TO_WAIT
        rested = time.monotonic()
        while time.monotonic() < rested + SECONDS_AT_REST:
            assert time.monotonic() < deadline, f"it never came to rest:\n{self.text}"
            if self.take(0.01) or is_running(self.child.pid):
                rested = time.monotonic()

    def until(self, fact: Callable[[], bool], what: str) -> None:
        """Wait until something shows."""
        deadline = time.monotonic() + SECONDS_TO_WAIT
        while not fact():
            assert time.monotonic() < deadline, f"{what} never showed:\n{self.text}"
            self.take(0.05)

    def press(self, *keys: str, shows: str = "", hides: str = "") -> None:
        """Press keys; wait until the screen shows a text, or does not any more."""
        for key in keys:
            self.child.send(KEYS.get(key, key))
            self.read(0.03)
        if shows:
            self.until(lambda: shows in self.text, shows)
        if hides:
            self.until(lambda: hides not in self.text, f"a screen without {hides}")

    def picture(self) -> list[list[tuple[object, ...]]]:
        """Every cell of the screen: its character and how it is drawn."""
        rows, columns = self._screen.lines, self._screen.columns
        return [[tuple(self._screen.buffer[row][column]) for column in range(columns)] for row in range(rows)]

    def resize(self, columns: int, rows: int) -> None:
        self._text = None
        self._screen.resize(rows, columns)
        self.child.setwinsize(rows, columns)
