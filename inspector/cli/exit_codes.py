"""How a command ends: the exit codes, and the error that carries one."""

from __future__ import annotations

from enum import IntEnum

from inspector.errors import InspectorError


class ExitCode(IntEnum):
    """What the program's exit code means."""

    FINE = 0
    UNREADABLE = 1
    """Something that was asked for could not be read, or the answer could not be written."""
    WRONG_USAGE = 2
    """The command line itself makes no sense."""
    BEYOND_THRESHOLD = 3
    """A check found what it was asked to look for."""
    BUG = 70
    """The program failed where it should not (`EX_SOFTWARE` of sysexits.h)."""
    INTERRUPTED = 130
    """Ctrl-C: 128 and the number of SIGINT, as shells report it."""
    BROKEN_PIPE = 141
    """Nobody reads the output any more: 128 and the number of SIGPIPE, as shells report it."""


class CommandError(InspectorError):
    """A command cannot do what it was asked.

    Attributes:
        message: One line: what, where, what to do. May hold untrusted text; it is made safe when it is printed.
        code: The exit code.
    """

    advice = "`inspector --help` shows what can be asked"

    def __init__(self, message: str, code: ExitCode = ExitCode.UNREADABLE) -> None:
        super().__init__(message)
        self.code = code
