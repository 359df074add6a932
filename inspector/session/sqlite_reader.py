"""Read a session from a database, and follow rows that are added, changed or deleted."""

from __future__ import annotations

import time
from abc import abstractmethod
from typing import TYPE_CHECKING, ClassVar

from inspector.errors import InspectorError
from inspector.session.errors import SessionError
from inspector.session.files import Locator
from inspector.session.model import TextUnavailableError
from inspector.session.reader import FileChange, Interpreter, ReadingProgress
from inspector.session.sqlite import (
    OWNER_COLUMNS,
    Database,
    DatabaseState,
    DatabaseUnreadableError,
    LingeringConnection,
    unread_table_diagnostics,
    unread_tables,
    unreadable_error,
)
from inspector.session.texts import NamedTexts

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator
    from pathlib import Path

    from inspector.session.model import Origin, Session

ATTEMPTS = 20
ATTEMPT_SECONDS = 0.05

PATIENCE_SECONDS = 5.0
"""An unreadable database counts as busy for this long."""


class RowsGoneError(InspectorError):
    """The session's row no longer exists."""

    advice = "open the session again: its row was deleted"


class RowInterpreter(Interpreter):
    """Builds a session from its database rows.

    Attributes:
        known_tables: The tables that are read, and others with columns of conversations that are left out on purpose.
            Empty to look for no others.
        owner_columns: Columns that assign a row to a conversation; None if the database contains a single one.
    """

    known_tables: ClassVar[frozenset[str]] = frozenset()
    owner_columns: ClassVar[frozenset[str] | None] = OWNER_COLUMNS

    @abstractmethod
    def read(self, connection: sqlite3.Connection) -> None:
        """Read the current rows; the first time, all of them. `settle` then replaces the builder.

        Raises:
            RowsGoneError: The session does not exist.
        """

    @abstractmethod
    def settle(self) -> None:
        """Build the session from the rows read, in a new builder."""

    @abstractmethod
    def fetch(self, connection: sqlite3.Connection, name: str) -> bytes | None:
        """Return a row's record by its name, or None if the row was deleted."""

    def name_of(self, origin: Origin) -> str:
        return origin.locator


class SqliteReader:
    """Reads one session of a database. Holds no connection between reads, except briefly for texts."""

    def __init__(self, path: Path, format_name: str, interpreter: RowInterpreter) -> None:
        """Create the reader without reading anything.

        Args:
            path: The database, optionally with a session's id.
            format_name: Name of the format.
            interpreter: Reads the rows of that session.
        """
        self._path = path
        self._format = format_name
        self._interpreter = interpreter
        self._database = Database(Locator.of(path).file)
        self._held = LingeringConnection(self._database)
        self._state: DatabaseState | None = None
        self._session: Session | None = None
        self._unreadable_since: float | None = None
        self._texts = NamedTexts(
            self._database.path.name, self._fetch, interpreter.blocks_of_record, interpreter.name_of
        )

    def load(self) -> Iterator[ReadingProgress]:
        """Read the session.

        Raises:
            SessionError: It is not readable or does not exist.
        """
        size = 0
        for attempt in range(ATTEMPTS):
            try:
                state = self._database.state()
                size = state.main.size + (state.log.size if state.log is not None else 0)
                yield ReadingProgress(0, size)
                self._read(state)
                break
            except (DatabaseUnreadableError, OSError) as error:
                if attempt == ATTEMPTS - 1:
                    raise unreadable_error(self._path, error) from error
                time.sleep(ATTEMPT_SECONDS)
            except RowsGoneError as error:
                raise SessionError(
                    f"{self._path}: {error}. Give only the path of the database to open its newest session."
                ) from error
        yield ReadingProgress(size, size)

    def snapshot(self) -> Session:
        if self._session is None:
            files = (self._database.path,)
            self._session = self._interpreter.builder.snapshot(self._format, self._path, self._texts, files)
        return self._session

    def refresh(self) -> FileChange:
        """Check for commits and read the changes."""
        try:
            state = self._database.state()
        except FileNotFoundError:
            return FileChange.VANISHED
        except OSError:
            return FileChange.UNREADABLE
        if state == self._state:
            self._unreadable_since = None
            return FileChange.NONE
        if self._state is not None and state.main[:2] != self._state.main[:2]:
            return FileChange.REPLACED
        before = self.snapshot()
        try:
            self._read(state)
        except RowsGoneError:
            return FileChange.VANISHED
        except DatabaseUnreadableError:
            return self._wait()
        self._interpreter.builder.reuse(before)
        return FileChange.NONE if self.snapshot() == before else FileChange.APPENDED

    def watched(self) -> Path:
        """Return the folder of the database, with links resolved, where its log is written."""
        return self._database.path.resolve().parent

    def _read(self, state: DatabaseState) -> None:
        self._held.give_up()
        with self._database.reading() as connection:
            self._interpreter.read(connection)
            known = self._interpreter.known_tables
            unread = unread_tables(connection, known, self._interpreter.owner_columns) if known else []
        # A commit between the state check and the read is read twice, rather than never.
        self._state, self._unreadable_since = state, None
        self._interpreter.settle()
        self._interpreter.builder.current_diagnostics = unread_table_diagnostics(unread)
        self._session = None

    def _wait(self) -> FileChange:
        now = time.monotonic()
        self._unreadable_since = self._unreadable_since or now
        return FileChange.UNREADABLE if now - self._unreadable_since < PATIENCE_SECONDS else FileChange.REPLACED

    def _fetch(self, name: str) -> bytes:
        try:
            with self._held.reading() as connection:
                record = self._interpreter.fetch(connection, name)
        except DatabaseUnreadableError as error:
            raise TextUnavailableError(str(error)) from error
        if record is None:
            raise TextUnavailableError(f"{name} is no longer in {self._database.path.name}")
        return record
