"""Base classes of readers and interpreters, the two halves of reading a session.

A *reader* handles a container (JSON lines, a JSON document, a directory, a database): it opens it, follows it, and
passes its content to an interpreter. An *interpreter* handles a format: it fills a builder, and rebuilds the blocks of
a record when their texts are needed.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from enum import Enum, auto
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol

from inspector.plug_ins import FORMATS, failure_of
from inspector.session.builder import SessionBuilder
from inspector.session.json import LineDecoder, Node, ObjectDecoder, object_nodes
from inspector.session.model import Origin, Session

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from inspector.session.blocks import TextBlock


class ReadingProgress(NamedTuple):
    """Read progress in bytes."""

    done: int
    total: int


class FileChange(Enum):
    """Change to a file since the last check."""

    NONE = auto()
    APPENDED = auto()
    """The session grew; the reader has read the new data."""
    REPLACED = auto()
    """The file was replaced or rewritten: a new reader is needed."""
    VANISHED = auto()
    """The file no longer exists. The session stays readable."""
    UNREADABLE = auto()
    """The file exists but is not readable at the moment, or is being rewritten."""

    @classmethod
    def of_error(cls, error: OSError) -> FileChange:
        return cls.VANISHED if isinstance(error, FileNotFoundError) else cls.UNREADABLE


class Reader(Protocol):
    """Reads one session and later additions. Not thread-safe."""

    def load(self) -> Iterator[ReadingProgress]:
        """Read all in slices, yielding progress. Call it once, first. Raises `SessionError` if unreadable."""
        ...

    def snapshot(self) -> Session:
        """Return everything read so far."""
        ...

    def refresh(self) -> FileChange:
        """Check the file and read appended data. Never raises because of the file's content or state."""
        ...

    def watched(self) -> Path:
        """Return the folder to watch for changes to the session."""
        ...


class Record(NamedTuple):
    """One decoded record of a container.

    Attributes:
        value: Its value from the interpreter's decoder; a JSON object by default.
        data: Its bytes, without a line end.
        offset: Their offset in the file; 0 for a separate file.
        line: 1-based line number, 0 if the container has no lines.
        locator: The name of its file, if it is a separate one.
    """

    value: Any
    data: bytes
    offset: int
    line: int = 0
    locator: str = ""

    @property
    def origin(self) -> Origin:
        return Origin(self.offset, len(self.data), locator=self.locator)


class Interpreter(ABC):
    """Builds a session from the content passed by a reader."""

    def __init__(self, builder: SessionBuilder | None = None) -> None:
        self.builder = builder if builder is not None else SessionBuilder()

    @abstractmethod
    def blocks_of_record(self, record: bytes, origin: Origin, /) -> Iterable[TextBlock]:
        """Return all blocks of a record that is read again, with their texts."""

    def settle(self) -> None:  # noqa: B027  # most fill the builder at once
        """Apply later records that affect earlier ones to the builder."""


class DocumentInterpreter(Interpreter):
    """Builds a session from one JSON document. A rewritten document gets a new interpreter."""

    @abstractmethod
    def take_document(self, document: Node) -> None:
        """Read the whole document. Raises `SessionError` if it does not contain the session."""


class RecordInterpreter(Interpreter):
    """Builds a session from records: lines, items of a list in a JSON document, or small files.

    Attributes:
        record_name: Name of a record in diagnostics, with its article.
        takes_texts: Receives the texts of a new record so that it need not be read again; None if they are not needed.
            Interpreters may ignore it.
    """

    decoder: ClassVar[LineDecoder] = ObjectDecoder()
    record_name: ClassVar[str] = "a record"
    takes_texts: Callable[[Origin, Sequence[TextBlock]], object] | None = None

    @abstractmethod
    def add(self, record: Record) -> None:
        """Add a record."""

    def take(self, record: Record) -> None:
        """Add an untrusted record: one nested too deeply, or that a plug-in fails on, becomes a diagnostic."""
        if self.builder.is_full:
            self.builder.leave_out(1, record.line, record.offset)
            return
        try:
            self.add(record)
        except RecursionError:
            self.builder.diagnose("JSON nested too deeply", record.line, record.offset, skipped=True)
        except Exception as error:
            failed = failure_of(error, FORMATS)
            if not failed:
                raise
            self.builder.diagnose(failed, record.line, record.offset, skipped=True)

    def take_document(self, document: Node) -> None:
        """Add the records of a document that is a list."""
        for item, value in object_nodes(document.items(), self.record_name, self.builder):
            self.take(Record(value, item.raw(), item.offset))
