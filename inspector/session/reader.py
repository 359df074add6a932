"""Readers and interpreters: the two halves of reading a session.

A *reader* knows a container (JSON lines, a JSON document, a directory, a database): it opens it, keeps up with it, and
hands what is in it to an interpreter. An *interpreter* knows a format: it fills a builder from what it is given, and
makes the blocks of a record again when their texts are asked for.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from enum import Enum, auto
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol

from inspector.session.builder import SessionBuilder
from inspector.session.json.lines import ObjectDecoder
from inspector.session.json.nodes import objects_among
from inspector.session.model import Origin

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from inspector.session.blocks import TextBlock
    from inspector.session.json.lines import LineDecoder
    from inspector.session.json.nodes import Node
    from inspector.session.model import Session


class ReadingProgress(NamedTuple):
    """How far a session has been read, in bytes."""

    done: int
    total: int


class FileChange(Enum):
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
    """Reads one session, and what is added to it later. Not thread-safe."""

    def load(self) -> Iterator[ReadingProgress]:
        """Read all there is, in slices; progress after each. To be called once, before anything else.

        Raises:
            SessionError: The file cannot be read.
        """
        ...

    def snapshot(self) -> Session:
        """What has been read so far."""
        ...

    def refresh(self) -> FileChange:
        """Look at the file again and read what was added. Never raises for what a file may hold or have become."""
        ...

    def watched(self) -> Path:
        """The folder in which something happens when the session changes."""
        ...


class Record(NamedTuple):
    """One record of a container, decoded.

    Attributes:
        value: What it holds: as the interpreter's decoder gives it, a JSON object where that says nothing else.
        data: Its bytes, without a line end.
        offset: Where they stand in the file; 0 for a file of its own.
        line: 1-based number of its line, 0 where lines mean nothing.
        locator: The name of its file, where it has one of its own.
    """

    value: Any
    data: bytes
    offset: int
    line: int = 0
    locator: str = ""

    @property
    def origin(self) -> Origin:
        """Where its blocks come from."""
        return Origin(self.offset, len(self.data), locator=self.locator)


class Interpreter(ABC):
    """Makes a session out of what a reader gives it.

    Attributes:
        builder: Filled with what has been read.
    """

    def __init__(self, builder: SessionBuilder | None = None) -> None:
        """Begin.

        Args:
            builder: What to fill; a new one where not given.
        """
        self.builder = builder if builder is not None else SessionBuilder()

    @abstractmethod
    def blocks_of_record(self, record: bytes, origin: Origin, /) -> Iterable[TextBlock]:
        """All blocks of a record that is read again, with their texts."""

    def settle(self) -> None:  # noqa: B027  # most fill the builder at once
        """Bring the builder up to date, where records that come later say how earlier ones count."""


class DocumentInterpreter(Interpreter):
    """Makes a session out of one JSON document. When the document is written anew, another one begins."""

    @abstractmethod
    def take_document(self, document: Node) -> None:
        """Take the whole document.

        Raises:
            SessionError: The session is not in it.
        """


class RecordInterpreter(Interpreter):
    """Makes a session out of records, whether they are lines, entries of a list in a JSON document, or small files.

    Attributes:
        decoder: Reads lines.
        record_name: What a record is called in diagnostics, with its article.
        takes_texts: Takes the texts of a record that was just read, so that it is not read for them again; None where
            nobody wants them. An interpreter may leave it alone.
    """

    decoder: ClassVar[LineDecoder] = ObjectDecoder()
    record_name: ClassVar[str] = "a record"
    takes_texts: Callable[[Origin, Sequence[TextBlock]], object] | None = None

    @abstractmethod
    def add(self, record: Record) -> None:
        """Take a record."""

    def take(self, record: Record) -> None:
        """Take a record that anything may be in: one that is nested too deeply becomes a diagnostic."""
        try:
            self.add(record)
        except RecursionError:
            self.builder.diagnose("JSON nested too deeply", record.line, record.offset, skipped=True)

    def take_document(self, document: Node) -> None:
        """Take the records in a list that is the whole document."""
        for item, value in objects_among(document.items(), self.record_name, self.builder):
            self.take(Record(value, item.raw(), item.offset))
