"""SQLite databases that another program writes: read as they stand, and nothing left behind.

Programs keep such databases in write-ahead mode: what was committed last stands in a second file, `-wal`, and a third,
`-shm`, is an index of it (sqlite.org/wal.html). Opening the database for reading is enough to *create* the two where
they do not exist, so that how it is opened depends on what is there:

- The two exist: opened with `mode=ro`; readers and the writer do not disturb each other.
- There is no `-wal`: the database was closed, and its main file is all of it. It is opened as immutable, which looks
  for no other files, and whoever has read from it looks afterwards whether a writer came meanwhile.
- There is a `-wal` without its index (a copied folder): both are copied to a temporary folder and read there.

Connections are short-lived: one that stays open keeps a writer that closes from tidying up. Whether anything was
committed is told by the counters that SQLite itself keeps at the beginning of its files.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import threading
import time
from contextlib import ExitStack, closing, contextmanager, suppress
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar
from urllib.parse import quote

from inspector.errors import InspectorError
from inspector.session.errors import SessionError
from inspector.session.files import FileState, temporary_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path


Found = TypeVar("Found")

LINGER_SECONDS = 0.3
"""How long a connection for small reads stays open after the last of them: a writer that closes waits for nobody."""

BUSY_SECONDS = 2.0
"""How long to wait for a writer that holds the database for itself."""

WRITE_AHEAD = 2
"""The 19th byte of a database in write-ahead mode (sqlite.org/fileformat.html, 1.3.2 to 1.3.5)."""

UNREADABLE = (sqlite3.Error, OSError, UnicodeDecodeError)
"""What reading a damaged database raises: names of columns, and errors that repeat its text, are decoded strictly."""

INDEX_HEADER_BYTES = 48
"""The first copy of the index's header; it counts commits (sqlite.org/walformat.html, 2.1)."""


class DatabaseUnreadableError(InspectorError):
    """A database cannot be read at the moment: locked, damaged, no database, or changed while it was read."""

    advice = "try again once the agent has let go of its database"


def unreadable_error(path: Path, error: Exception) -> SessionError:
    """What to say of a database that could not be read."""
    advice = "It may be locked or damaged: try again, or name another file."
    return SessionError(f"{path}: the database cannot be read ({error}). {advice}")


def read_database(path: Path, read: Callable[[sqlite3.Connection], Found]) -> Found:
    """What a function finds in a database.

    Raises:
        SessionError: The database cannot be read at the moment.
    """
    try:
        with Database(path).reading() as connection:
            return read(connection)
    except DatabaseUnreadableError as error:
        raise unreadable_error(path, error) from error


class DatabaseState(NamedTuple):
    """What tells one state of a database from every other.

    Attributes:
        main: The main file.
        counters: The main file's change counter and mode.
        log: The `-wal` file, None where there is none.
        log_index: The header of the `-shm` file, empty where there is none.
    """

    main: FileState
    counters: bytes
    log: FileState | None
    log_index: bytes


class Database:
    """A database that belongs to another program.

    Attributes:
        path: The main file.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        real = path.resolve()  # the other files stand beside the file itself, not beside a link to it
        self._real = real
        self._log = real.with_name(real.name + "-wal")
        self._index = real.with_name(real.name + "-shm")

    def state(self) -> DatabaseState:
        """Its state; equal states hold the same rows.

        Raises:
            OSError: There is no such file, or it cannot be read.
        """
        return DatabaseState(
            FileState.of(self._real.stat()),
            _head(self._real, 100)[18:28],
            _place(self._log),
            _head_of_index(self._index),
        )

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """A connection inside one read transaction: everything read from it is of one state.

        Raises:
            DatabaseUnreadableError: It cannot be read, or changed meanwhile; the caller may try again later.
        """
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
    """The names of a database's tables, each with those of its columns."""
    tables = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
    columns = "SELECT name FROM pragma_table_info(?)"
    return {name: frozenset(row[0] for row in connection.execute(columns, (name,))) for (name,) in tables}


class LingeringConnection:
    """One read transaction for many small reads that follow one another, given up soon after the last of them.

    Opening a database takes ten times as long as reading a row of it. May be used by several threads.
    """

    def __init__(self, database: Database) -> None:
        """Make one; nothing is opened yet."""
        self._database = database
        self._lock = threading.Lock()
        self._open: ExitStack | None = None
        self._connection: sqlite3.Connection | None = None
        self._used = 0.0

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """The connection, opened where it is not.

        Raises:
            DatabaseUnreadableError: It cannot be read.
        """
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
        timer = threading.Timer(LINGER_SECONDS, self._give_up_unused)
        timer.daemon = True
        timer.start()

    def _give_up_unused(self) -> None:
        if time.monotonic() - self._used < LINGER_SECONDS:
            self._start_timer()
        else:
            self.give_up()

    def give_up(self) -> None:
        """Close the connection: the next read sees what was committed since."""
        with self._lock:
            opened, self._open, self._connection = self._open, None, None
            if opened is not None:
                # That the database changed while it was held is no failure of what was read: texts have digests.
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
"""Names of columns by table."""


class Selector:
    """Selects those columns that there are."""

    def __init__(self, connection: sqlite3.Connection, columns: Columns | None = None) -> None:
        """Begin.

        Args:
            connection: The database.
            columns: The columns of its tables as far as they are known, to which is added what is found out.
        """
        self.connection = connection
        self._columns = {} if columns is None else columns

    def rows(self, table: str, columns: Sequence[str], condition: str, *values: object) -> list[Row]:
        """The rows that fulfil a condition, without columns that are not there; none where there is no such table."""
        names, rows = self.select(table, columns, condition, *values)
        return [row_of(names, row) for row in rows]

    def select(
        self, table: str, columns: Sequence[str], condition: str, *values: object
    ) -> tuple[list[str], list[tuple[Any, ...]]]:
        """The same as tuples, with the names of their columns.

        Args:
            table: Its name. Like the others, a name of this program: only `values` may be of anyone else's.
            columns: Names of those asked for.
            condition: What follows the table in the statement.
            values: What its question marks stand for.
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
    """A row as it can be written in a record: bytes as text."""
    return {
        name: value.decode(errors="replace") if isinstance(value, bytes) else value
        for name, value in zip(names, values, strict=True)
    }


class KnownRows(Generic[Made]):
    """What was made of rows when they were read last: those that did not change are not looked into again."""

    def __init__(self, make: Callable[[Row], Made]) -> None:
        """Begin; `make` is called for every row that is new or changed."""
        self._make = make
        self._before: dict[object, tuple[int, Made]] = {}
        self._now: dict[object, tuple[int, Made]] = {}

    def begin(self) -> None:
        """The rows are read anew: those that do not come again are forgotten."""
        self._before, self._now = self._now, {}

    def made_of(self, names: Sequence[str], rows: Iterable[tuple[Any, ...]]) -> list[Made]:
        """What was made of each row; its first column identifies it."""
        found = []
        for values in rows:
            fingerprint = hash(values)
            known = self._before.get(values[0])
            made = known[1] if known is not None and known[0] == fingerprint else self._make(row_of(names, values))
            self._now[values[0]] = (fingerprint, made)
            found.append(made)
        return found
