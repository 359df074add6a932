"""Readers: what turns a file into a session and keeps up with it."""

from __future__ import annotations

from enum import Enum, auto
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from inspector.session.model import Session


class Progress(NamedTuple):
    """How far a session has been read, in bytes."""

    done: int
    total: int


class Change(Enum):
    """What became of a file since it was last looked at."""

    NONE = auto()
    APPENDED = auto()
    """The session grew; the reader has read what was added."""
    REPLACED = auto()
    """The file is another one, or was rewritten: it needs a new reader."""
    VANISHED = auto()
    """There is no file. What was read stays readable."""
    UNREADABLE = auto()
    """It is there and cannot be read at the moment, or is being rewritten."""


class Reader(Protocol):
    """Reads one session, and what is added to it later. Not thread-safe.

    A format that is one document, a folder or a database has a reader of its own; formats of one record a line share
    `inspector.session.jsonl_reader.JsonlReader`.
    """

    def load(self) -> Iterator[Progress]:
        """Read all there is, in slices; progress after each. To be called once, before anything else.

        Raises:
            SessionError: The file cannot be read.
        """
        ...

    def snapshot(self) -> Session:
        """What has been read so far."""
        ...

    def refresh(self) -> Change:
        """Look at the file again and read what was added. Never raises for what a file may hold or have become."""
        ...

    def watched(self) -> Path:
        """The folder in which something happens when the session changes."""
        ...
