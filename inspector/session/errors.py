"""What can go wrong before there is a session to show."""

from __future__ import annotations


class SessionError(Exception):
    """A path could not be read as a session.

    Attributes:
        message: One line for the person who gave the path: what is wrong, where, and what to do about it.
    """

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message
