"""Read a large session in a subprocess, to keep the screen responsive.

Python threads share the GIL, so a reading thread would slow down everything else. The subprocess is started as early as
possible, reads the session once, sends it and ends; later additions are read by the follower.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from subprocess import DEVNULL, PIPE, Popen
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

    from inspector.session.transfer import TransferPart

LEAST_BYTES: Final = 32 << 20
"""Minimum file size: smaller files are read within 0.2 s, and starting a process takes half of that."""

PIPE_BYTES: Final = 1 << 20

PROGRAM: Final = """\
import sys
sys.path[:] = sys.argv[2:]
from inspector.session.transfer import send_session
send_session(sys.argv[1])
"""


class ReadingProcess:
    """A subprocess that reads one session. `identifier`: process id."""

    def __init__(self, path: Path) -> None:
        """Start the subprocess. Raises `OSError` if it cannot be started."""
        self.path = path
        # Keep the subprocess away from the terminal, which belongs to the screen.
        self._process = Popen(  # noqa: S603  Python itself, and a file as an argument
            command(path),
            stdin=DEVNULL,
            stdout=PIPE,
            stderr=DEVNULL,
            pipesize=PIPE_BYTES,
        )
        self.identifier = self._process.pid

    @classmethod
    def begin(cls, path: Path) -> ReadingProcess | None:
        """Start one if it helps: for a large file and more than one processor; otherwise return None."""
        is_python = bool(sys.executable) and not getattr(
            sys, "frozen", False
        )  # otherwise an executable with Python embedded
        with suppress(OSError, ValueError):  # invalid path
            if is_python and processors() > 1 and path.is_file() and path.stat().st_size >= LEAST_BYTES:
                return cls(path)
        return None

    def parts(self) -> Generator[TransferPart, None, None]:
        """Yield partial sessions, last the complete one unless it failed; the process has ended. Call once."""
        from msgspec import DecodeError

        from inspector.session.transfer import decoded_parts

        try:
            if self._process.stdout is not None:
                yield from decoded_parts(self._process.stdout)
        except DecodeError:
            pass
        finally:
            self.stop()

    def stop(self) -> None:
        self._process.kill()
        if self._process.stdout is not None:
            self._process.stdout.close()
        self._process.wait()


def command(path: Path) -> list[str | Path]:
    """Return the subprocess's command line; it imports from this program's `sys.path` only."""
    return [sys.executable, "-P", "-c", PROGRAM, path, *sys.path]


def processors() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
