"""Base class of all errors that a user or caller can act on, errors of opening a session, and the description of bugs.

A program that uses `inspector` as a library can catch `InspectorError` for all of them. Subclasses are defined next to
the code that raises them. Bugs in the program raise other Python exceptions.
"""

from __future__ import annotations

from typing import ClassVar


class InspectorError(Exception):
    """An operation failed.

    Attributes:
        message: One line for the user: the problem, its place, and, if it depends on the case, the remedy. May contain
            untrusted text, which must be made safe for display.
        advice: Short advice for all errors of this class. Every subclass has some.
    """

    advice: ClassVar[str] = ""

    def __init__(self, message: str = "") -> None:
        super().__init__(message)
        self.message = message

    @property
    def explanation(self) -> str:
        """The message, followed by the advice unless it is part of the message."""
        parts = (self.message, "" if self.advice in self.message else self.advice)
        return ": ".join(part for part in parts if part) or type(self).__name__


TRACEBACK_VARIABLE = "INSPECTOR_TRACEBACK"
"""Environment variable; any value prints the traceback of a bug."""


def describe_bug(error: Exception) -> str:
    """Return one line on an exception that no code expects."""
    import traceback

    frames = traceback.extract_tb(error.__traceback__)
    place = f"{frames[-1].filename}:{frames[-1].lineno}" if frames else "an unknown location"
    return f"this is a bug: {type(error).__name__} in {place}; set {TRACEBACK_VARIABLE}=1 to see the traceback"


class SessionError(InspectorError):
    """A path could not be read as a session.

    Attributes:
        message: One line for the user: the problem, its place and the remedy.
    """

    advice = "`inspector formats` lists the supported formats"


class UnreadableFileError(SessionError):
    """A file cannot be opened or is not text, in any format: it may have been a session."""


class TemporaryFolderError(SessionError):
    """A temporary folder could not be created."""

    advice = "set TMPDIR to a writable folder with free space"
