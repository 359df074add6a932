"""Exit codes, and the error that carries one."""

from __future__ import annotations

from enum import IntEnum

from inspector.errors import InspectorError


class ExitCode(IntEnum):
    """Meaning of the program's exit code."""

    FINE = 0
    UNREADABLE = 1
    """An input could not be read, or the output could not be written."""
    WRONG_USAGE = 2
    """The command line is invalid."""
    BEYOND_THRESHOLD = 3
    """A check found a violation."""
    BUG = 70
    """Internal error (`EX_SOFTWARE` of sysexits.h)."""
    INTERRUPTED = 130
    """Ctrl-C: 128 plus the number of SIGINT, as in shells."""
    BROKEN_PIPE = 141
    """The reader closed the pipe: 128 plus the number of SIGPIPE, as in shells."""


class CommandError(InspectorError):
    """A failed command.

    Attributes:
        message: One line: problem, input, remedy. May hold untrusted text, which is sanitized when printed.
        code: The exit code.
    """

    advice = "`inspector --help` lists commands and options"

    def __init__(self, message: str, code: ExitCode = ExitCode.UNREADABLE) -> None:
        super().__init__(message)
        self.code = code
