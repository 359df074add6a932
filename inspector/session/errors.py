"""What can go wrong before there is a session to show."""

from __future__ import annotations

from inspector.errors import InspectorError


class SessionError(InspectorError):
    """A path could not be read as a session.

    Attributes:
        message: One line for the person who gave the path: what is wrong, where, and what to do about it.
    """

    advice = "`inspector formats` lists what can be read"


class UnreadableFileError(SessionError):
    """A file cannot be opened, or what is in it is not text, whoever wrote it: it may have been a session."""


class TemporaryFolderError(SessionError):
    """There is no place for files that are needed for a while."""

    advice = "set TMPDIR to a folder with room that you may write to"
