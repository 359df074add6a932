"""A program in a real terminal: keys in, bytes out, every piece of output with its time.

Parsing never delays reading: output is only stored as it arrives, and fed to the terminal emulator (which is far slower
than the measured programs) at the end. The time of a text on the screen is then found by drawing frame after frame.
"""

from __future__ import annotations

import os
import re
import select
import signal
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, NamedTuple, Self

import pexpect  # type: ignore[import-untyped]  # comes without types
import pyte

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

SIZE = (120, 36)
"""Columns and rows."""

KEYS = {"down": b"\x1b[B", "up": b"\x1b[A", "right": b"\x1b[C", "left": b"\x1b[D", "end": b"\x1b[F", "home": b"\x1b[H"}

_MOUSE = {"press": (0, "M"), "move": (32, "M"), "release": (0, "m")}
_READ_BYTES = 1 << 16
_LONGEST_MARKER = 1 << 12
_ASKS_FOR_FRAMES = b"\x1b[?2026$p"
_HAS_FRAMES = b"\x1b[?2026;2$y"
_FRAME_BEGINS, _FRAME_ENDS = b"\x1b[?2026h", b"\x1b[?2026l"
_NOT_DRAWN = re.compile(rb"\x1b[P_^X].*?\x1b\\|\x1b\[[<=>][0-9;]*[a-zA-Z]|\x1b\[[0-9;?]*\$p", re.DOTALL)
"""Questions and settings that the emulator would take for text."""


def mouse(what: str, column: int, row: int) -> bytes:
    """Return the terminal's bytes for the left button: `press`, `move` while it is held, `release`. Counted from 1."""
    button, end = _MOUSE[what]
    return f"\x1b[<{button};{column};{row}{end}".encode()


class NotShownError(Exception):
    """The expected text did not appear."""


class ToolResultEvent(NamedTuple):
    """A text that was waited for.

    Attributes:
        time: When its last byte came.
        text: The text.
    """

    time: float
    text: bytes


class Frame(NamedTuple):
    """One drawing of the screen, or a part of it that came alone.

    Attributes:
        time: When its last byte came.
        data: Its bytes.
    """

    time: float
    data: bytes


@dataclass(frozen=True)
class CallContext:
    """Effect of an action on the screen.

    Attributes:
        at: Time of the action.
        seconds: Time from the action to the last change of the watched part.
        frames: Frames drawn until then.
        bytes: Bytes written until then.
    """

    at: float
    seconds: float
    frames: int
    bytes: int


class Terminal:
    """Runs a program in a pty and watches its output. To be used with `with`.

    Attributes:
        started: Start time of the program.
    """

    def __init__(self, command: Sequence[str], environment: Mapping[str, str], folder: Path) -> None:
        """Start a program.

        Args:
            command: The program and its arguments.
            environment: Its environment, whole.
            folder: Where it is started.
        """
        columns, rows = SIZE
        self._screen = pyte.Screen(columns, rows)
        self._stream = pyte.ByteStream(self._screen)
        self._frames: list[Frame] = []
        self._drawn = 0
        self._begun = b""
        self._unseen = b""
        self._last = 0.0
        self.started = perf_counter()
        shown = {"TERM": "xterm-256color", "COLORTERM": "truecolor", **environment}
        self._child = pexpect.spawn(
            command[0], list(command[1:]), dimensions=(rows, columns), env=shown, cwd=str(folder), echo=False
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        # However busy the machine is: asking first, and waiting for an answer, can take longer than pexpect waits.
        with suppress(OSError):
            self._child.kill(signal.SIGKILL)
        self._child.wait()
        self._child.close()

    @property
    def process(self) -> int:
        """The program's process id."""
        return int(self._child.pid)

    def memory(self) -> tuple[float, float]:
        """Resident memory of the program in MB: now, and at most so far."""
        status = Path(f"/proc/{self.process}/status").read_text(encoding="ascii")
        kilobytes = dict(re.findall(r"(VmRSS|VmHWM):\s+(\d+) kB", status))
        return int(kilobytes["VmRSS"]) / 1024, int(kilobytes["VmHWM"]) / 1024

    def send(self, data: bytes) -> float:
        """Give the program input; the moment it was given."""
        at = perf_counter()
        os.write(self._child.child_fd, data)
        return at

    def wait_for(self, marker: bytes | re.Pattern[bytes], seconds: float = 30.0) -> ToolResultEvent:
        """Read until a text has been written, in one piece, after the text of the previous wait.

        Args:
            marker: The text, or a pattern for it.
            seconds: Timeout.

        Raises:
            NotShownError: The text did not appear.
        """
        pattern = re.compile(re.escape(marker)) if isinstance(marker, bytes) else marker
        deadline = perf_counter() + seconds
        while (found := pattern.search(self._unseen)) is None:
            self._unseen = self._unseen[-_LONGEST_MARKER:]
            if perf_counter() > deadline:
                raise NotShownError(f"{pattern.pattern!r} did not appear; the screen:\n" + "\n".join(self.screen()))
            self._read(0.2)
        self._unseen = self._unseen[found.end() :]
        return ToolResultEvent(self._last, found[0])

    def forget(self) -> None:
        """Ignore earlier output in the next wait."""
        self._unseen = b""

    def drop(self) -> None:
        """Drop all output so far: for long runs that do not read the screen."""
        self._frames.clear()
        self._drawn = 0

    def descriptors(self) -> int:
        """Files, sockets and pipes the program has open."""
        return len([*Path(f"/proc/{self.process}/fd").iterdir()])

    def settle(self, quiet: float = 0.15, seconds: float = 30.0) -> None:
        """Read until nothing has been written for a while."""
        deadline = perf_counter() + seconds
        while self._read(quiet) and perf_counter() < deadline:
            pass

    def pause(self, seconds: float) -> None:
        """Go on reading for a time."""
        until = perf_counter() + seconds
        while (left := until - perf_counter()) > 0:
            self._read(left)

    def screen(self) -> list[str]:
        """Return the rows of the screen after all output so far."""
        self._draw_all()
        return list(self._screen.display)

    def time(
        self, act: Callable[[], float], watch: Callable[[list[str]], object], quiet: float = 0.15, seconds: float = 30.0
    ) -> CallContext:
        """Perform an action and measure the time until the watched part has its final content.

        Args:
            act: Performs the action, and returns its time.
            watch: Extracts the watched part from the rows of the screen.
            quiet: Seconds without output after which the screen is final.
            seconds: Timeout for a change.

        Raises:
            NotShownError: The watched part did not change.
        """
        before = watch(self.screen())
        first = len(self._frames)
        at = act()
        deadline = perf_counter() + seconds
        while perf_counter() < deadline:
            self.settle(quiet, seconds)
            found = self._find_change(before, watch)
            if found is not None:
                written = self._frames[first : found + 1]
                return CallContext(
                    at,
                    self._frames[found].time - at,
                    sum(_FRAME_ENDS in frame.data for frame in written),
                    sum(len(frame.data) for frame in written),
                )
        raise NotShownError("the watched part did not change; the screen:\n" + "\n".join(self.screen()))

    def _find_change(self, before: object, watch: Callable[[list[str]], object]) -> int | None:
        """Return the frame with the final content of the watched part; None if it did not change."""
        found, last = None, before
        for index in range(self._drawn, len(self._frames)):
            self._draw(index)
            now = watch(list(self._screen.display))
            if now != last:
                found, last = index, now
        return found if last != before else None

    def _read(self, seconds: float) -> bool:
        """Read output within a time limit; False if there is none."""
        descriptor = self._child.child_fd
        if not select.select([descriptor], [], [], seconds)[0]:
            return False
        try:
            data = os.read(descriptor, _READ_BYTES)
        except OSError:
            return False
        self._last = perf_counter()
        if _ASKS_FOR_FRAMES in data:
            os.write(descriptor, _HAS_FRAMES)
        self._unseen += data
        self._keep(data)
        return True

    def _keep(self, data: bytes) -> None:
        """Divide output at the ends of frames: half a frame is on no screen that knows frames."""
        *whole, rest = (self._begun + data).split(_FRAME_ENDS)
        self._frames += [Frame(self._last, part + _FRAME_ENDS) for part in whole]
        self._begun = rest
        if rest and _FRAME_BEGINS not in rest and not _is_torn(rest):
            self._frames.append(Frame(self._last, rest))
            self._begun = b""

    def _draw_all(self) -> None:
        for index in range(self._drawn, len(self._frames)):
            self._draw(index)

    def _draw(self, index: int) -> None:
        self._stream.feed(_NOT_DRAWN.sub(b"", self._frames[index].data))
        self._drawn = index + 1


def _is_torn(data: bytes) -> bool:
    """Return True if the last control sequence is incomplete."""
    last = data.rfind(b"\x1b")
    return last >= 0 and re.fullmatch(rb"\x1b(?:\[[0-9;?<=>$]*|[P_^X].*)?", data[last:], re.DOTALL) is not None
