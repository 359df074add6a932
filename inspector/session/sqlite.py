"""Read sessions from SQLite databases of other programs, following rows that change, without leaving files behind.

Programs use write-ahead mode: the latest commits are in a second file, `-wal`, and a third, `-shm`, is an index of it
(sqlite.org/wal.html). Opening the database even for reading *creates* both if they are missing, so the mode depends on
the existing files:

- Both exist: open with `mode=ro`; readers and the writer do not block each other.
- No `-wal`: the database was closed and its main file is complete. Open it as immutable, which ignores other files, and
  check after reading that no writer has started.
- A `-wal` without its index (a copied folder): copy both to a temporary folder and read them there.

Connections are short-lived: an open one prevents a closing writer from cleaning up. Commits are detected by the
counters in the headers of SQLite's files.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import threading
import time
from abc import abstractmethod
from contextlib import ExitStack, closing, contextmanager, suppress
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NamedTuple, TypeVar
from urllib.parse import quote

from inspector.errors import InspectorError, SessionError
from inspector.session.blocks import NamedTexts
from inspector.session.files import FileState, Locator, temporary_folder
from inspector.session.json import clean_text
from inspector.session.model import Diagnostic, Origin, Session, TextUnavailableError
from inspector.session.reader import FileChange, Interpreter, ReadingProgress

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator, Sequence
    from collections.abc import Set as AbstractSet
    from pathlib import Path


Found = TypeVar("Found")

GRACE_SECONDS = 0.3
"""Idle time after which a connection for small reads is closed, since it prevents a closing writer from cleaning up."""

BUSY_SECONDS = 2.0
"""Timeout for a writer's exclusive lock."""

WRITE_AHEAD = 2
"""Value of byte 19 of a database in write-ahead mode (sqlite.org/fileformat.html, 1.3.2 to 1.3.5)."""

UNREADABLE = (sqlite3.Error, OSError, UnicodeDecodeError)
"""Errors raised by damaged databases: column names and error messages with their text are decoded strictly."""

INDEX_HEADER_BYTES = 48
"""Size of the first copy of the index header, which counts commits (sqlite.org/walformat.html, 2.1)."""


class DatabaseUnreadableError(InspectorError):
    """A database is not readable at the moment: locked, damaged, not a database, or changed while it was read."""

    advice = "try again after the agent has closed its database"


def unreadable_error(path: Path, error: Exception) -> SessionError:
    advice = "It may be locked or damaged: close the program that writes it, or copy the file."
    return SessionError(f"{path}: cannot read the database ({error}). {advice}")


def read_database(path: Path, read: Callable[[sqlite3.Connection], Found]) -> Found:
    """Return the result of `read` on a connection. Raises `SessionError` while the database is not readable."""
    try:
        with Database(path).reading() as connection:
            return read(connection)
    except DatabaseUnreadableError as error:
        raise unreadable_error(path, error) from error


class DatabaseState(NamedTuple):
    """Identity and version of a database.

    Attributes:
        counters: The main file's change counter and mode.
        log: The `-wal` file, or None.
        log_index: The header of the `-shm` file, empty if there is none.
    """

    main: FileState
    counters: bytes
    log: FileState | None
    log_index: bytes


class Database:
    """A database of another program."""

    def __init__(self, path: Path) -> None:
        self.path = path
        real = path.resolve()  # the other files are next to the file itself, not next to a link to it
        self._real = real
        self._log = real.with_name(real.name + "-wal")
        self._index = real.with_name(real.name + "-shm")

    def state(self) -> DatabaseState:
        """Return its state; equal states have the same rows. Raises `OSError` if it is not readable."""
        return DatabaseState(
            FileState.of(self._real.stat()),
            _head(self._real, 100)[18:28],
            _place(self._log),
            _head_of_index(self._index),
        )

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Open a connection in one read transaction. Raises `DatabaseUnreadableError`: try again later."""
        try:
            before = self.state()
            is_write_ahead = before.counters[:1] == bytes([WRITE_AHEAD])
            has_log = before.log is not None and before.log.size > 0
            if not is_write_ahead or (before.log is not None and before.log_index):
                with _connected(self._real) as connection:
                    yield connection
            elif has_log:
                with self._copied() as connection:
                    yield connection
            else:
                with _connected(self._real, immutable=True) as connection:
                    yield connection
                if self.state() != before:
                    raise DatabaseUnreadableError(f"{self.path.name} changed while it was read")
        except UNREADABLE as error:
            raise DatabaseUnreadableError(f"{self.path.name}: {error}") from error

    @contextmanager
    def _copied(self) -> Iterator[sqlite3.Connection]:
        with temporary_folder() as folder:
            copy = folder / "copy.db"
            shutil.copyfile(self._real, copy)
            shutil.copyfile(self._log, copy.with_name("copy.db-wal"))
            with _connected(copy) as connection:
                yield connection


def columns_of_tables(connection: sqlite3.Connection) -> dict[str, frozenset[str]]:
    tables = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
    columns = "SELECT name FROM pragma_table_info(?)"
    return {name: frozenset(row[0] for row in connection.execute(columns, (name,))) for (name,) in tables}


OWNER_COLUMNS = frozenset({"chat_id", "conversation_id", "session_id", "sessionid", "thread_id"})
"""Columns that assign a row to a conversation."""

CONTENT_COLUMNS = frozenset(
    {
        *("body", "content", "content_json", "data", "message", "message_data", "messages", "parts", "payload"),
        *("payload_json", "response", "text", "usage", "usage_json"),
        *("input_tokens", "output_tokens", "prompt_tokens", "tokens", "total_tokens"),
    }
)
"""Columns that hold texts or token counts of a conversation."""


def unread_tables(
    connection: sqlite3.Connection, known: Container[str], owners: AbstractSet[str] | None = OWNER_COLUMNS
) -> list[str]:
    """Return the tables with rows of conversations that are not in `known`, without search indexes.

    Args:
        known: Names of the tables to leave out.
        owners: Columns of which a table needs one; None for a database of a single conversation.
    """
    kinds = connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table'").fetchall()
    indexes = [name for name, sql in kinds if str(sql).upper().startswith("CREATE VIRTUAL")]
    found = []
    for name, columns in columns_of_tables(connection).items():
        if name in known or any(name == index or name.startswith(f"{index}_") for index in indexes):
            continue
        lower = {column.lower() for column in columns}
        if (owners is None or lower & owners) and lower & CONTENT_COLUMNS:
            quoted = name.replace('"', '""')
            query = f'SELECT EXISTS (SELECT 1 FROM "{quoted}")'  # noqa: S608  # an existing table, quoted
            with suppress(sqlite3.DatabaseError):  # a damaged table
                found += [name] if connection.execute(query).fetchone()[0] else []
    return sorted(found)


def unread_table_diagnostics(tables: Iterable[str]) -> tuple[Diagnostic, ...]:
    return tuple(
        Diagnostic(f"table {clean_text(name)[:80]} is not read; figures may be incomplete", skipped=False)
        for name in tables
    )


class LingeringConnection:
    """One read transaction shared by many small reads, closed shortly after the last one.

    Opening a database takes ten times as long as reading one row. Thread-safe.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._lock = threading.Lock()
        self._open: ExitStack | None = None
        self._connection: sqlite3.Connection | None = None
        self._used = 0.0

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Return the connection, opening it if necessary. Raises `DatabaseUnreadableError` if it is not readable."""
        with self._lock:
            if self._connection is None:
                with ExitStack() as opening:
                    self._connection = opening.enter_context(self._database.reading())
                    self._open = opening.pop_all()
                self._start_timer()
            self._used = time.monotonic()
            try:
                yield self._connection
            except UNREADABLE as error:
                raise DatabaseUnreadableError(str(error)) from error

    def _start_timer(self) -> None:
        timer = threading.Timer(GRACE_SECONDS, self._give_up_unused)
        timer.daemon = True
        timer.start()

    def _give_up_unused(self) -> None:
        if time.monotonic() - self._used < GRACE_SECONDS:
            self._start_timer()
        else:
            self.give_up()

    def give_up(self) -> None:
        """Close the connection; the next read sees later commits."""
        with self._lock:
            opened, self._open, self._connection = self._open, None, None
            if opened is not None:
                # A change to the database in the meantime does not invalidate the texts read: they are verified by
                # digest.
                with suppress(DatabaseUnreadableError):
                    opened.close()


@contextmanager
def _connected(path: Path, *, immutable: bool = False) -> Iterator[sqlite3.Connection]:
    uri = f"file:{quote(os.fsencode(path))}?mode=ro" + ("&immutable=1" if immutable else "")
    connection = sqlite3.connect(uri, uri=True, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)
    with closing(connection):
        connection.text_factory = _text
        connection.execute("PRAGMA query_only = 1")
        connection.execute("BEGIN")
        yield connection


def _text(data: bytes) -> str:
    return data.decode(errors="replace")


def _place(path: Path) -> FileState | None:
    try:
        return FileState.of(path.stat())
    except FileNotFoundError:
        return None


def _head_of_index(path: Path) -> bytes:
    try:
        return _head(path, INDEX_HEADER_BYTES)
    except FileNotFoundError:
        return b""


def _head(path: Path, count: int) -> bytes:
    with path.open("rb", buffering=0) as file:
        return file.read(count)


Row = dict[str, Any]

Made = TypeVar("Made")

Columns = dict[str, frozenset[str]]


class Selector:
    """Selects only existing columns."""

    def __init__(self, connection: sqlite3.Connection, columns: Columns | None = None) -> None:
        """Use a connection. `columns`: known columns by table; more are added as they are discovered."""
        self.connection = connection
        self._columns = {} if columns is None else columns

    def rows(self, table: str, columns: Sequence[str], condition: str, *values: object) -> list[Row]:
        """Return the rows that meet a condition, without missing columns; empty if the table does not exist."""
        names, rows = self.select(table, columns, condition, *values)
        return [row_of(names, row) for row in rows]

    def select(
        self, table: str, columns: Sequence[str], condition: str, *values: object
    ) -> tuple[list[str], list[tuple[Any, ...]]]:
        """Select rows as tuples, with the names of their columns.

        Args:
            table: Table name. Table, columns and condition are inserted into the statement unescaped: only `values` may
                come from outside.
            condition: Rest of the statement after the table.
        """
        if table not in self._columns:
            found = self.connection.execute("SELECT name FROM pragma_table_info(?)", (table,))
            self._columns[table] = frozenset(name for (name,) in found)
        known = [name for name in columns if name in self._columns[table]]
        if not known:
            return [], []
        names = ", ".join(f'"{name}"' for name in known)
        query = f'SELECT {names} FROM "{table}" {condition}'  # noqa: S608  # names of this program, values bound
        return known, self.connection.execute(query, values).fetchall()


def row_of(names: Sequence[str], values: Sequence[Any]) -> Row:
    """Return a row as it is stored in a record: bytes as text."""
    return {
        name: value.decode(errors="replace") if isinstance(value, bytes) else value
        for name, value in zip(names, values, strict=True)
    }


class RowCache(Generic[Made]):
    """Cache of objects built from rows: unchanged rows are not processed again."""

    def __init__(self, make: Callable[[Row], Made]) -> None:
        self._make = make
        self._before: dict[object, tuple[int, Made]] = {}
        self._now: dict[object, tuple[int, Made]] = {}

    def begin(self) -> None:
        """Start a new read: rows that do not appear again are dropped."""
        self._before, self._now = self._now, {}

    def made_of(self, names: Sequence[str], rows: Iterable[tuple[Any, ...]]) -> list[Made]:
        """Return the object built from each row; its first column identifies it."""
        found = []
        for values in rows:
            fingerprint = hash(values)
            known = self._before.get(values[0])
            made = known[1] if known is not None and known[0] == fingerprint else self._make(row_of(names, values))
            self._now[values[0]] = (fingerprint, made)
            found.append(made)
        return found


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
    def read(self, connection: sqlite3.Connection) -> bool | None:
        """Read the current rows; the first time, all of them. `settle` then replaces the builder.

        Returns:
            False if the session did not change, so that `settle` is not needed.

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
        """Create the reader without reading anything. `path`: the database, optionally with a session's id."""
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
        try:
            state = self._database.state()
        except OSError as error:
            return FileChange.of_error(error)
        if state == self._state:
            self._unreadable_since = None
            return FileChange.NONE
        if self._state is not None and state.main[:2] != self._state.main[:2]:
            return FileChange.REPLACED
        before = self.snapshot()
        try:
            if not self._read(state):
                return FileChange.NONE
        except RowsGoneError:
            return FileChange.VANISHED
        except DatabaseUnreadableError:
            return self._wait()
        self._interpreter.builder.reuse(before)
        return FileChange.NONE if self.snapshot() == before else FileChange.APPENDED

    def watched(self) -> Path:
        """Return the folder of the database, with links resolved, where its log is written."""
        return self._database.path.resolve().parent

    def _read(self, state: DatabaseState) -> bool:
        """Read the rows; return False if the session did not change."""
        is_first = self._state is None
        self._held.give_up()
        with self._database.reading() as connection:
            is_changed = self._interpreter.read(connection) is not False
            known = self._interpreter.known_tables
            unread = unread_tables(connection, known, self._interpreter.owner_columns) if known else []
        # A commit between the state check and the read is read twice, rather than never.
        self._state, self._unreadable_since = state, None
        diagnostics = unread_table_diagnostics(unread)
        if not (is_first or is_changed) and diagnostics == self._interpreter.builder.current_diagnostics:
            return False
        self._interpreter.settle()
        self._interpreter.builder.current_diagnostics = diagnostics
        self._session = None
        return True

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
