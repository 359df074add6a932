"""Databases of other programs: read without locks and without leftover files."""

import shutil
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from inspector.session.files import Locator
from inspector.session.follow import Follower
from inspector.session.open import open_session
from inspector.session.sqlite import Database, DatabaseUnreadableError, LingeringConnection, columns_of_tables
from tests.session import agents_store, goose_store, hermes_store, opencode_store, tap_store, trace_store

ROWS = "SELECT name FROM thing ORDER BY rowid"


@pytest.fixture(params=["plain.db", "odd %20?#&name é.db"])
def path(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    file: Path = tmp_path / request.param
    with closing(writer(file)) as connection:
        connection.execute("CREATE TABLE thing (name TEXT)")
        connection.execute("INSERT INTO thing VALUES ('one')")
    return file


def writer(path: Path, mode: str = "wal") -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute(f"PRAGMA journal_mode = {mode}")
    return connection


def names(path: Path) -> list[str]:
    with Database(path).reading() as connection:
        return [name for (name,) in connection.execute(ROWS)]


def files(path: Path) -> dict[str, bytes]:
    return {entry.name: entry.read_bytes() for entry in path.parent.iterdir()}


def test_a_closed_database_is_read_with_no_file_next_to_it(path: Path) -> None:
    before = files(path)
    assert list(before) == [path.name]
    assert names(path) == ["one"]
    assert files(path) == before


def test_what_a_running_writer_committed_is_read_and_what_it_did_not_is_not(path: Path) -> None:
    with closing(writer(path)) as connection:
        connection.execute("INSERT INTO thing VALUES ('two')")
        connection.execute("BEGIN")
        connection.execute("INSERT INTO thing VALUES ('three')")
        assert names(path) == ["one", "two"]
        connection.execute("COMMIT")
        assert names(path) == ["one", "two", "three"]
    assert list(files(path)) == [path.name]


def test_a_log_without_its_index_is_read_and_left_as_it_is(path: Path, tmp_path: Path) -> None:
    copied = tmp_path / "copy" / path.name
    copied.parent.mkdir()
    with closing(writer(path)) as connection:
        connection.execute("INSERT INTO thing VALUES ('in the log')")
        for suffix in ("", "-wal"):
            shutil.copy(path.with_name(path.name + suffix), copied.with_name(copied.name + suffix))
    before = files(copied)
    assert names(copied) == ["one", "in the log"]
    assert files(copied) == before


def test_a_database_with_a_rollback_journal_is_read(tmp_path: Path) -> None:
    path = tmp_path / "old.db"
    with closing(writer(path, "delete")) as connection:
        connection.execute("CREATE TABLE thing (name TEXT)")
        connection.execute("INSERT INTO thing VALUES ('one')")
        assert names(path) == ["one"]
    assert list(files(path)) == [path.name]


def test_every_commit_is_another_state_and_reading_is_none(path: Path) -> None:
    database = Database(path)
    with closing(writer(path)) as connection:
        states = [database.state()]
        for number in range(50):
            # Checkpoints restart the log, so its size means nothing.
            if number % 7 == 0:
                connection.execute("PRAGMA wal_checkpoint(RESTART)")
            connection.execute("UPDATE thing SET name = ?", (str(number % 10),))
            assert names(path) == [str(number % 10)]
            states.append(database.state())
            assert database.state() == states[-1]
    assert len(set(states)) == 51


def test_commits_in_a_rollback_journal_are_other_states(tmp_path: Path) -> None:
    path = tmp_path / "old.db"
    with closing(writer(path, "delete")) as connection:
        connection.execute("CREATE TABLE thing (name TEXT)")
        connection.execute("INSERT INTO thing VALUES ('-')")
        states = set()
        for number in range(20):
            connection.execute("UPDATE thing SET name = ?", (str(number % 10),))
            states.add(Database(path).state())
    assert len(states) == 20


def test_one_reading_is_of_one_state(path: Path) -> None:
    with closing(writer(path)) as connection:
        connection.execute("INSERT INTO thing VALUES ('two')")
        with Database(path).reading() as reading:
            assert len(reading.execute(ROWS).fetchall()) == 2
            connection.execute("INSERT INTO thing VALUES ('three')")
            assert len(reading.execute(ROWS).fetchall()) == 2
        assert len(names(path)) == 3


def test_a_writer_that_comes_while_a_closed_database_is_read_is_noticed(path: Path) -> None:
    with pytest.raises(DatabaseUnreadableError, match="changed"), Database(path).reading():
        writer(path).execute("INSERT INTO thing VALUES ('two')")


def test_a_locked_damaged_or_missing_database_is_unreadable(tmp_path: Path, path: Path) -> None:
    damaged = tmp_path / "damaged.db"
    damaged.write_bytes(b"SQLite format 3\x00" + bytes(range(256)) * 64)
    for broken in (damaged, tmp_path / "missing.db", tmp_path):
        with pytest.raises(DatabaseUnreadableError), Database(broken).reading() as connection:
            connection.execute(ROWS).fetchall()
    assert not (tmp_path / "missing.db").exists()
    with pytest.raises(DatabaseUnreadableError, match="readonly"), Database(path).reading() as connection:
        connection.execute("INSERT INTO thing VALUES ('mine')")


def test_a_link_to_a_database_is_read_with_the_log_next_to_its_target(path: Path, tmp_path: Path) -> None:
    link = tmp_path / "elsewhere" / "link.db"
    link.parent.mkdir()
    link.symlink_to(path)
    with closing(writer(path)) as connection:
        before = Database(link).state()
        connection.execute("INSERT INTO thing VALUES ('two')")
        assert Database(link).state() != before
        assert names(link) == ["one", "two"]
    assert list(files(link)) == ["link.db"]


def test_bytes_that_are_no_text_do_not_stop_reading(path: Path) -> None:
    with closing(writer(path)) as connection:
        connection.execute("UPDATE thing SET name = CAST(x'61ff62' AS TEXT)")
    assert names(path) == ["a\ufffdb"]


def test_tables_and_columns_are_listed(path: Path) -> None:
    with Database(path).reading() as connection:
        assert columns_of_tables(connection) == {"thing": frozenset({"name"})}


def test_a_writer_killed_in_the_middle_leaves_a_readable_database(path: Path) -> None:
    script = (
        "import os, sqlite3, sys; c = sqlite3.connect(sys.argv[1], isolation_level=None);"
        "c.execute(\"INSERT INTO thing VALUES ('two')\"); c.execute('BEGIN');"
        "c.execute(\"INSERT INTO thing VALUES ('never')\"); os._exit(1)"
    )
    subprocess.run([sys.executable, "-c", script, str(path)], check=False)
    assert names(path) == ["one", "two"]


@pytest.mark.parametrize(
    ("given", "file", "session"),
    [
        ("a.db#ses_1", "a.db", "ses_1"),
        ("a.db", "a.db", ""),
        ("a.db#", "a.db#", ""),
        ("#a.db", "#a.db", ""),
        ("missing.db#ses_1", "missing.db#ses_1", ""),
        ("b.db#c", "b.db#c", ""),
        ("b.db#c#ses_1", "b.db#c", "ses_1"),
    ],
)
def test_a_locator_names_a_session_inside_a_file(tmp_path: Path, given: str, file: str, session: str) -> None:
    for name in ("a.db", "b.db#c", "b.db"):
        (tmp_path / name).write_text("x")
    locator = Locator.of(tmp_path / given)
    assert locator == Locator(tmp_path / file, session)
    assert locator.path == tmp_path / given


def test_many_small_reads_share_a_connection_that_is_given_up_soon(tmp_path: Path) -> None:
    path = tmp_path / "data.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as writer:
        writer.execute("PRAGMA journal_mode = WAL")
        writer.execute("CREATE TABLE t (n)")
        writer.execute("INSERT INTO t VALUES (1)")
        held = LingeringConnection(Database(path))
        with held.reading() as first:
            assert first.execute("SELECT n FROM t").fetchall() == [(1,)]
        writer.execute("UPDATE t SET n = 2")
        with held.reading() as second:
            assert second is first
            assert second.execute("SELECT n FROM t").fetchall() == [(1,)]
        held.give_up()
        with held.reading() as third:
            assert third is not first
            assert third.execute("SELECT n FROM t").fetchall() == [(2,)]
        held.give_up()
    assert sorted(file.name for file in tmp_path.iterdir()) == ["data.db"]


def test_a_connection_no_one_reads_from_is_closed_by_itself(tmp_path: Path) -> None:
    path = tmp_path / "data.db"
    with closing(sqlite3.connect(path)) as writer:
        writer.execute("CREATE TABLE t (n)")
    held = LingeringConnection(Database(path))
    with held.reading() as connection:
        connection.execute("SELECT * FROM t")
    for _ in range(1_200):
        try:
            connection.execute("SELECT 1")
        except sqlite3.ProgrammingError:
            return
        time.sleep(0.05)
    raise AssertionError("it is still open")


OTHER_TABLES = """
CREATE TABLE message_v3 (id TEXT, session_id TEXT, data TEXT);
CREATE TABLE empty_v3 (id TEXT, session_id TEXT, data TEXT);
CREATE TABLE settings (id TEXT, data TEXT);
CREATE TABLE locks (session_id TEXT, holder TEXT);
CREATE VIRTUAL TABLE found USING fts5(session_id, content);
INSERT INTO message_v3 VALUES ('1', 's', '{}');
INSERT INTO settings VALUES ('1', '{}');
INSERT INTO locks VALUES ('s', 'h');
INSERT INTO found VALUES ('s', 'text');
"""


def hermes(path: Path) -> object:
    store = hermes_store.HermesStore()
    return hermes_store.create(path, store.session("s1"), store.user("s1", "go"))


WRITTEN: dict[str, Callable[[Path], object]] = {
    "claude-tap": lambda path: tap_store.write(path, 1),
    "goose": lambda path: goose_store.create(path, goose_store.session("s1")),
    "hermes": hermes,
    "openai-agents": lambda path: agents_store.write(path, 2),
    "opencode": lambda path: opencode_store.Store().database(path),
    "spans": lambda path: trace_store.create(path, *trace_store.conversation(1)),
}


@pytest.mark.parametrize("name", sorted(WRITTEN))
def test_a_table_of_conversations_that_is_not_read_is_named(tmp_path: Path, name: str) -> None:
    path = tmp_path / "agent.db"
    WRITTEN[name](path)
    known = open_session(path)
    assert known.diagnostics == ()
    follower = Follower(path)
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(OTHER_TABLES)
    session = open_session(path)
    assert [(each.reason, each.skipped) for each in session.diagnostics] == [
        ("table message_v3 is not read; figures may be incomplete", False)
    ]
    assert session.skipped_records == 0
    follower.poll()
    assert follower.session.diagnostics == session.diagnostics
