"""Reading a large session in a process of its own, so that whoever shows it has a processor to itself meanwhile.

Python's threads take turns: while one of them reads, everything else waits for it, and it for everything else. The
process is started as early as possible, reads the session once, hands it over and ends; what is added to the file later
is read by whoever follows it.
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

    from inspector.session.sent_session import SentPart

LEAST_BYTES: Final = 32 << 20
"""What is read in a fifth of a second is shown no later without a process, which takes half of that to start."""

PIPE_BYTES: Final = 1 << 20

PROGRAM: Final = """\
import sys
sys.path[:] = sys.argv[2:]
from inspector.session.sent_session import send_session
send_session(sys.argv[1])
"""


class ReadingProcess:
    """A process that reads one session.

    Attributes:
        path: What it reads.
        identifier: What the system knows it by.
    """

    def __init__(self, path: Path) -> None:
        """Start it.

        Raises:
            OSError: The system starts none.
        """
        self.path = path
        # The terminal is the screen's alone.
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
        """Start one where it is worth it: for a long file, beside another processor; None elsewhere."""
        is_python = bool(sys.executable) and not getattr(sys, "frozen", False)  # else it is a program that holds Python
        with suppress(OSError, ValueError):  # of a path that is none
            if is_python and processors() > 1 and path.is_file() and path.stat().st_size >= LEAST_BYTES:
                return cls(path)
        return None

    def parts(self) -> Generator[SentPart, None, None]:
        """What it has read so far, now and then, and at last all of it; it has ended then. To be called once.

        The last part never comes where it could not read the session, for whatever reason.
        """
        from msgspec import DecodeError

        from inspector.session.sent_session import decoded_parts

        try:
            if self._process.stdout is not None:
                yield from decoded_parts(self._process.stdout)
        except DecodeError:
            pass
        finally:
            self.stop()

    def stop(self) -> None:
        """End it, whatever it is doing."""
        self._process.kill()
        if self._process.stdout is not None:
            self._process.stdout.close()
        self._process.wait()


def command(path: Path) -> list[str | Path]:
    """What is run to read a session; it finds what this program imports, and nothing that happens to lie about."""
    return [sys.executable, "-P", "-c", PROGRAM, path, *sys.path]


def processors() -> int:
    """How many processors this program may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
