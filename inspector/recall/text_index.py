"""Full-text search over many sessions, with a disposable index.

The index is an SQLite file with two FTS5 tables: stemmed words (porter), ranked by bm25, where any word of a query
matches; and trigrams, for literal matches, also inside words. Texts are not stored: results are read from the session's
own file. A text in several sessions, such as resumed ones, is indexed once. A session is up to date in the index while
size, modification time and inode of its file are unchanged.
"""

from __future__ import annotations

import contextlib
import os
import re
import sqlite3
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from inspector.atomic_files import cache_folder
from inspector.errors import InspectorError, SessionError
from inspector.recall.find import RecalledText
from inspector.session.files import Locator
from inspector.session.open import open_session

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from inspector.session.discovery import Header
    from inspector.session.model import Session

FILE_NAME = "texts.db"
VERSION = 1
"""Version of the tables; an index of another version is rebuilt."""

MOST_CHARACTERS = 1_000_000
"""Number of leading characters of a text that are indexed."""

MOST_READ = 24
"""Maximum number of sessions read to show the hits."""

FEWEST_LETTERS = 3
"""Minimum length of a literal query: one trigram."""

MOST_LITERAL = 200
"""Maximum number of texts with all trigrams of a query that are read, newest first."""

LONGEST_EXCERPT = 160
LETTERS_OF_STEM = 5
SECONDS_FOR_OTHERS = 10.0
"""Timeout for another process that writes to the index."""

DEAD_SHARE = 0.5
"""The index is rebuilt when more than this share of it belongs to no session."""

_WORD = re.compile(r"\w+")
_TABLES = """
CREATE TABLE sessions (id INTEGER PRIMARY KEY, path BLOB UNIQUE, size INTEGER, modified REAL, inode INTEGER);
CREATE TABLE texts (id INTEGER PRIMARY KEY, digest BLOB UNIQUE);
CREATE TABLE places (session INTEGER, block INTEGER, text INTEGER, PRIMARY KEY (session, block)) WITHOUT ROWID;
CREATE INDEX places_of_text ON places (text);
CREATE VIRTUAL TABLE words USING fts5(text, content='', tokenize='porter unicode61 remove_diacritics 2');
CREATE VIRTUAL TABLE letters USING fts5(text, content='', detail=none, tokenize='trigram');
"""


class IndexUnavailableError(InspectorError):
    """The index is not readable and cannot be created."""

    advice = "search without the index: --no-index"


class SearchHit(NamedTuple):
    """A text that matches a query.

    Attributes:
        place: Its place in the newest session that contains it.
        line: Number of the best matching line, counted from 1.
        excerpt: Part of that line around the words, as recorded.
        is_literal: True if it contains the whole query literally, ignoring case.
        sessions: Number of searched sessions that contain it.
    """

    place: RecalledText
    line: int
    excerpt: str
    is_literal: bool
    sessions: int


@dataclass(frozen=True)
class TextSearch:
    """Hits, literal ones first, then by bm25, and the unreadable sessions with the reason of each."""

    hits: tuple[SearchHit, ...]
    searched: int
    unread: tuple[str, ...] = ()


def index_path() -> Path:
    return cache_folder("recall") / FILE_NAME


def drop_index(path: Path | None = None) -> bool:
    """Delete the index; return True if there was one. Raises `OSError` if it cannot be removed."""
    path = path or index_path()
    there = path.exists()
    for each in (path, *(path.with_name(f"{path.name}{suffix}") for suffix in ("-wal", "-shm", "-journal"))):
        each.unlink(missing_ok=True)
    return there


@contextlib.contextmanager
def open_index(path: Path | None) -> Iterator[TextIndex]:
    """Open or build an index, in memory without a path. Raises `IndexUnavailableError` if it cannot be."""
    try:
        connection = _connection(path)
    except (OSError, sqlite3.Error) as error:
        raise IndexUnavailableError(f"the index {path or 'in memory'} cannot be used: {error}") from error
    with contextlib.closing(connection):
        yield TextIndex(connection)


def _connection(path: Path | None) -> sqlite3.Connection:
    if path is None:
        return _with_tables(sqlite3.connect(":memory:"))
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        return _with_tables(_open_private(path))
    except sqlite3.DatabaseError as error:
        if isinstance(error, sqlite3.OperationalError):
            raise  # locked by another process, or the disk is full: the content is still valid
        drop_index(path)
        return _with_tables(_open_private(path))


def _open_private(path: Path) -> sqlite3.Connection:
    os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    return sqlite3.connect(path, timeout=SECONDS_FOR_OTHERS)


def _with_tables(connection: sqlite3.Connection) -> sqlite3.Connection:
    try:
        with _writing(connection):
            (version,) = connection.execute("PRAGMA user_version").fetchone()
            if version not in {0, VERSION}:
                raise sqlite3.DatabaseError(f"version {version}")
            if version == 0:
                for statement in _TABLES.split(";")[:-1]:
                    connection.execute(statement)
                connection.execute(f"PRAGMA user_version = {VERSION}")
    except BaseException:
        connection.close()
        raise
    return connection


@contextlib.contextmanager
def _writing(connection: sqlite3.Connection) -> Iterator[None]:
    """Run an exclusive transaction."""
    connection.isolation_level = None
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


class TextIndex:
    """An open index."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def update(
        self,
        headers: Sequence[Header],
        progress: Callable[[int, int], None] = lambda done, total: None,  # noqa: ARG005  default without effect
    ) -> tuple[str, ...]:
        """Index new and changed sessions, one transaction per session.

        Args:
            progress: Called with the number of sessions read and their total.

        Returns:
            Unreadable sessions, each with the reason.

        Raises:
            IndexUnavailableError: It is not writable.
        """
        try:
            self._forget_what_is_gone()
            changed = [header for header in headers if not self._knows(header)]
            unread = []
            for done, header in enumerate(changed):
                progress(done, len(changed))
                try:
                    session = open_session(header.path)
                except SessionError as error:
                    unread.append(f"{header.path}: {error.message}")
                    continue
                with _writing(self._connection):
                    self._add_session(header, session)
        except sqlite3.Error as error:
            raise IndexUnavailableError(f"the index cannot be written: {error}") from error
        return tuple(unread)

    def search(self, asked: str, headers: Sequence[Header], limit: int) -> TextSearch:
        """Search for a query's words, rarer ones first, and for all of it. Raises `IndexUnavailableError`."""
        try:
            wanted = self._sessions_of(headers)
            literal = self._holding_all_letters(asked, wanted)
            ranked = self._by_words(asked, wanted, limit)
        except sqlite3.Error as error:
            raise IndexUnavailableError(f"the index cannot be read: {error}") from error
        order = {text: place for place, text in enumerate(ranked)}
        literal.sort(key=lambda text: order.get(text, len(order)))
        reader = _Reader(self._connection, wanted, asked)
        hits: dict[int, SearchHit] = {}
        for text, is_literal in (*((text, True) for text in literal), *((text, False) for text in ranked)):
            if len(hits) == limit:
                break
            if text not in hits and (hit := reader.hit(text, is_literal=is_literal)) is not None:
                hits[text] = hit
        return TextSearch(tuple(hits.values()), len(wanted), tuple(reader.unread))

    def _knows(self, header: Header) -> bool:
        row = self._connection.execute(
            "SELECT size, modified, inode FROM sessions WHERE path = ?", (os.fsencode(header.path),)
        ).fetchone()
        return bool(row == (header.size, header.modified, header.inode))

    def _add_session(self, header: Header, session: Session) -> None:
        path = os.fsencode(header.path)
        self._drop_session(path)
        stamp = (path, header.size, header.modified, header.inode)
        number = self._connection.execute(
            "INSERT INTO sessions (path, size, modified, inode) VALUES (?, ?, ?, ?)", stamp
        ).lastrowid
        for index, block in enumerate(session.all_blocks):
            if block.characters:
                text = self._text(session, index)
                if text is not None:
                    self._connection.execute("INSERT INTO places VALUES (?, ?, ?)", (number, index, text))

    def _text(self, session: Session, index: int) -> int | None:
        """Return the row of a block's text, adding it if new; None if the text is not readable."""
        block = session.all_blocks[index]
        row = self._connection.execute("SELECT id FROM texts WHERE digest = ?", (block.digest,)).fetchone()
        if row is not None:
            return int(row[0])
        try:
            text = session.text(block)[:MOST_CHARACTERS].encode("utf-8", "replace").decode()
        except SessionError:
            return None
        number = self._connection.execute("INSERT INTO texts (digest) VALUES (?)", (block.digest,)).lastrowid
        for table in ("words", "letters"):
            self._connection.execute(f"INSERT INTO {table} (rowid, text) VALUES (?, ?)", (number, text))  # noqa: S608
        return number

    def _drop_session(self, path: bytes) -> None:
        self._connection.execute(
            "DELETE FROM places WHERE session IN (SELECT id FROM sessions WHERE path = ?)", (path,)
        )
        self._connection.execute("DELETE FROM sessions WHERE path = ?", (path,))

    def _forget_what_is_gone(self) -> None:
        """Remove sessions without a file; remove all if most texts belong to no session."""
        paths = [path for (path,) in self._connection.execute("SELECT path FROM sessions")]
        gone = [path for path in paths if not _is_there(path)]
        (texts,) = self._connection.execute("SELECT count(*) FROM texts").fetchone()
        (used,) = self._connection.execute("SELECT count(DISTINCT text) FROM places").fetchone()
        if texts and (texts - used) / texts > DEAD_SHARE:
            with _writing(self._connection):
                for table in ("sessions", "places", "texts"):
                    self._connection.execute(f"DELETE FROM {table}")  # noqa: S608  our own table names
                for table in ("words", "letters"):
                    self._connection.execute(f"INSERT INTO {table} ({table}) VALUES ('delete-all')")  # noqa: S608
        elif gone:
            with _writing(self._connection):
                for path in gone:
                    self._drop_session(path)

    def _sessions_of(self, headers: Sequence[Header]) -> dict[int, Header]:
        numbers = dict(self._connection.execute("SELECT path, id FROM sessions"))
        found = ((numbers.get(os.fsencode(header.path)), header) for header in headers)
        return {number: header for number, header in found if number is not None}

    def _by_words(self, asked: str, wanted: dict[int, Header], limit: int) -> list[int]:
        words = dict.fromkeys(_WORD.findall(asked))
        if not words:
            return []
        match = " OR ".join(f'"{word}"' for word in words)
        rows = self._connection.execute("SELECT rowid FROM words WHERE words MATCH ? ORDER BY rank", (match,))
        return list(islice((text for (text,) in rows if self._is_in(text, wanted)), limit))

    def _holding_all_letters(self, asked: str, wanted: dict[int, Header]) -> list[int]:
        """Return texts that may contain the whole query, newest first."""
        if len(asked) < FEWEST_LETTERS:
            return []
        groups = dict.fromkeys(
            asked[start : start + FEWEST_LETTERS] for start in range(len(asked) - FEWEST_LETTERS + 1)
        )
        match = " AND ".join('"{}"'.format(group.replace('"', '""')) for group in groups)
        rows = self._connection.execute("SELECT rowid FROM letters WHERE letters MATCH ? ORDER BY rowid DESC", (match,))
        return list(islice((text for (text,) in rows if self._is_in(text, wanted)), MOST_LITERAL))

    def _is_in(self, text: int, wanted: dict[int, Header]) -> bool:
        rows = self._connection.execute("SELECT session FROM places WHERE text = ?", (text,))
        return any(session in wanted for (session,) in rows)


class _Reader:
    """Reads hits from the sessions' own files, with a cache of sessions."""

    def __init__(self, connection: sqlite3.Connection, wanted: dict[int, Header], asked: str) -> None:
        self._connection = connection
        self._wanted = wanted
        self._asked = asked.lower()
        self._words = [word.lower() for word in _WORD.findall(asked)]
        self._sessions: dict[int, Session | None] = {}
        self.unread: list[str] = []

    def hit(self, text: int, *, is_literal: bool) -> SearchHit | None:
        """Return the text with its best line; None if it is not readable or does not contain the literal query."""
        rows = self._connection.execute("SELECT session, block FROM places WHERE text = ?", (text,))
        places = [(session, block) for session, block in rows if session in self._wanted]
        number, block = max(places, key=lambda place: (place[0] in self._sessions, self._wanted[place[0]].modified))
        session = self._session(number)
        if session is None:
            return None
        try:
            recorded = session.text(session.all_blocks[block])
        except (SessionError, IndexError):
            return None
        at = recorded.lower().find(self._asked)
        if is_literal and at < 0:
            return None
        line, excerpt = self._excerpt(recorded, at)
        sessions = len({session for session, _ in places})
        return SearchHit(RecalledText(session, block), line, excerpt, at >= 0, sessions)

    def _session(self, number: int) -> Session | None:
        if number not in self._sessions:
            if len(self._sessions) >= MOST_READ:
                return None
            try:
                self._sessions[number] = open_session(self._wanted[number].path)
            except SessionError as error:
                self._sessions[number] = None
                self.unread.append(f"{self._wanted[number].path}: {error.message}")
        return self._sessions[number]

    def _excerpt(self, text: str, at: int) -> tuple[int, str]:
        """Return the number of the best line, and the part of it around the words."""
        if at >= 0:
            start = text.rfind("\n", 0, at) + 1
            line, within = text.count("\n", 0, at) + 1, at - start
        else:
            lines = text.lower().splitlines() or [""]
            found = [sum(_stem(word) in each for word in self._words) for each in lines]
            line = found.index(max(found)) + 1
            places = [lines[line - 1].find(_stem(word)) for word in self._words]
            within = min((place for place in places if place >= 0), default=0)
            start = sum(len(each) for each in text.splitlines(keepends=True)[: line - 1])
        whole = text[start:].split("\n", 1)[0]
        first = max(0, min(within - LONGEST_EXCERPT // 3, len(whole) - LONGEST_EXCERPT))
        excerpt = whole[first : first + LONGEST_EXCERPT]
        return line, f"{'…' if first else ''}{excerpt}{'…' if first + LONGEST_EXCERPT < len(whole) else ''}"


def _stem(word: str) -> str:
    """Return an approximate stem of a word, to find its other forms in a line."""
    return word if len(word) < LETTERS_OF_STEM else word[:LETTERS_OF_STEM]


def _is_there(path: bytes) -> bool:
    return Locator.of(Path(os.fsdecode(path))).file.exists()
