"""Errors raised while opening a session."""

from __future__ import annotations

from inspector.errors import InspectorError


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
