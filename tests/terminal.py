"""The program in a terminal of its own, and what that terminal shows: real keys in, an emulated screen out."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING, Self

import pexpect
import pyte

from tests.program import COMMAND, environment

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

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
}
_UNKNOWN_TO_PYTE = re.compile(rb"\x1b[P_^X].*?\x1b\\|\x1b\[[<=>][0-9;]*[a-zA-Z]|\x1b\[[0-9;?]*\$p", re.DOTALL)
SECONDS_TO_WAIT = 30


class TerminalProgram:
    """`inspector` in a pseudo-terminal. Everything it writes is kept, and shown on a screen."""

    def __init__(self, folder: Path, *arguments: str, size: tuple[int, int] = (120, 36), **variables: str) -> None:
        homes = {f"XDG_{kind}_HOME": str(folder / kind) for kind in ("CACHE", "CONFIG", "DATA", "STATE")}
        env = environment(TERM="xterm-256color", HOME=str(folder), **homes, **variables)
        command, *words = (*COMMAND, *arguments)
        self.written = b""
        self._screen = pyte.Screen(*size)
        self._stream = pyte.ByteStream(self._screen)
        self.child = pexpect.spawn(command, words, env=env, dimensions=size[::-1], timeout=5)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.child.close(force=True)

    @property
    def text(self) -> str:
        """What the screen shows."""
        return "\n".join(self._screen.display)

    @property
    def last_line(self) -> str:
        """The status line."""
        return self._screen.display[-1]

    def read(self, seconds: float) -> None:
        """Take in what is written for a while."""
        until = time.monotonic() + seconds
        while time.monotonic() < until and self.child.isalive():
            try:
                data = self.child.read_nonblocking(65_536, timeout=0.05)
            except pexpect.TIMEOUT:
                continue
            except pexpect.EOF:
                return
            self.written += data
            self._stream.feed(_UNKNOWN_TO_PYTE.sub(b"", data))

    def until(self, fact: Callable[[], bool], what: str) -> None:
        """Wait until something shows."""
        deadline = time.monotonic() + SECONDS_TO_WAIT
        while not fact():
            assert time.monotonic() < deadline, f"{what} never showed:\n{self.text}"
            self.read(0.05)

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
        """Give the terminal another size; everything is painted anew."""
        self._screen.resize(rows, columns)
        self.child.setwinsize(rows, columns)
