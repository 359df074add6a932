"""Events while a session of any format is followed: nothing is lost or doubled, and losses are reported."""

import os
import sqlite3
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from inspector.session.follow import Follower
from inspector.session.open import open_session
from inspector.session.registry import all_formats
from inspector.session.sqlite import GRACE_SECONDS
from tests.session.growing import GROWING, Growing, remove
from tests.session.soundness import assert_sound

PATIENCE = 60
"""Seconds before something is taken never to happen."""


NOBODY = 65534

TABLE_OF = {
    "opencode": "part",
    "antigravity": "steps",
    "openai-agents": "agent_messages",
    "claude-tap": "records",
    "copilot-traces": "spans",
}


@pytest.fixture(params=GROWING)
def known(request: pytest.FixtureRequest) -> Growing:
    return GROWING[request.param]


@pytest.fixture(params=[name for name, known in GROWING.items() if known.family == "database"])
def database(request: pytest.FixtureRequest) -> Growing:
    return GROWING[request.param]


def followed(known: Growing, path: Path, turns: int) -> Follower:
    known.write(path, turns)
    follower = Follower(path)
    assert follower.session.format == known.format
    return follower


def look(follower: Follower) -> list[str]:
    """The notices of a few looks, the last of which finds nothing new."""
    notices = []
    for _ in range(4):
        follower.poll()
        notices.append(follower.notice)
    assert follower.change == ""
    return [notice for notice in notices if notice]


def assert_caught_up(follower: Follower) -> None:
    assert follower.state == "live"
    assert follower.session == open_session(follower.path)
    assert_sound(follower.session)


def main_file(known: Growing, path: Path) -> Path:
    """The file of a session that an agent wrote last."""
    if known.family != "folder":
        return path
    return max((file for file in path.rglob("*.json") if file.name != "ui_messages.json"), key=lambda file: file.name)


def test_every_format_that_grows_is_tried_here() -> None:
    assert {known.format for known in GROWING.values()} == {known.name for known in all_formats() if known.is_live}


def test_a_session_that_only_grows_is_followed_without_a_word(tmp_path: Path, known: Growing) -> None:
    follower = followed(known, tmp_path / known.name, 2)
    for turns in (3, 4, 9):
        known.write(follower.path, turns)
        assert look(follower) == []
        assert_caught_up(follower)


def test_one_that_is_deleted_stays_readable_and_is_followed_when_made_again(tmp_path: Path, known: Growing) -> None:
    follower = followed(known, tmp_path / known.name, 6)
    before = follower.session
    remove(follower.path)
    notices = look(follower)
    assert [notice for notice in notices if "no longer exists" in notice] == notices
    assert len(notices) == 1
    assert (follower.state, follower.session) == ("vanished", before)
    known.write(follower.path, 2)
    assert len(look(follower)) == 1
    assert_caught_up(follower)
    known.write(follower.path, 3)
    look(follower)
    assert_caught_up(follower)


def test_one_that_is_replaced_by_a_shorter_one_is_reread_and_that_is_stated(tmp_path: Path, known: Growing) -> None:
    follower = followed(known, tmp_path / known.name, 6)
    other = tmp_path / f"other-{known.name}"
    known.write(other, 3)
    if other.is_dir():
        follower.path.rename(tmp_path / "away")
    for suffix in ("-wal", "-shm"):
        follower.path.with_name(follower.path.name + suffix).unlink(missing_ok=True)
    other.replace(follower.path)
    assert look(follower)
    assert_caught_up(follower)


def test_the_last_view_stays_while_something_is_half_written(tmp_path: Path, known: Growing) -> None:
    follower = followed(known, tmp_path / known.name, 6)
    before = follower.session
    file = main_file(known, follower.path)
    whole = file.read_bytes()
    if known.family == "lines":
        with file.open("ab") as appended:
            appended.write(whole.splitlines()[-1][:30])
    else:
        file.write_bytes(whole[: len(whole) // 2])
    for _ in range(3):
        follower.poll()
        assert follower.session.messages == before.messages
        assert "no longer exists" not in follower.notice
    file.write_bytes(whole)
    look(follower)
    assert_caught_up(follower)
    assert follower.session.messages == before.messages


def test_one_that_cannot_be_read_for_long_is_shown_to_be_so_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("inspector.session.follow.UNREADABLE_SECONDS", 0.0)
    known = GROWING["openai-chat"]
    follower = followed(known, tmp_path / known.name, 3)
    whole = follower.path.read_bytes()
    for _ in range(2):
        follower.path.write_bytes(whole[:100])
        notices = look(follower)
        assert [notice for notice in notices if "is empty or not readable at the moment" in notice] == notices
        assert len(notices) == 1
        follower.path.write_bytes(whole)
        assert look(follower) == [f"{follower.path.name} is readable again."]
    assert_caught_up(follower)


@contextmanager
def as_nobody() -> Iterator[None]:
    """Without the rights of root, who may read everything."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that everybody may look into."""
    with tempfile.TemporaryDirectory(prefix="inspector-test-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        yield folder


def test_one_that_may_not_be_read_for_a_while_keeps_its_view(open_folder: Path, known: Growing) -> None:
    path = open_folder / known.name
    known.write(path, 4)
    open_session(path)  # run all imports outside the restricted process
    with as_nobody():
        follower = Follower(path)
        before = follower.session
    known.write(path, 6)
    whole = [path, *path.parent.glob(f"{path.name}-*")]
    modes = {file: file.stat().st_mode & 0o777 for file in whole}
    for file in whole:
        file.chmod(0)
    with as_nobody():
        if path.is_file():
            with pytest.raises(PermissionError):
                path.open("rb").close()
        follower.poll()
        # which shows only the newest
        # Appends to an open file are read all the same.
        if known.format != "transcripts":  # of which the newest is shown
            assert follower.session.messages[: len(before.messages)] == before.messages
        assert follower.notice == ""
    for file, mode in modes.items():
        file.chmod(mode)
    with as_nobody():
        look(follower)
        assert_caught_up(follower)
    assert follower.session.messages != before.messages


@pytest.mark.long
def test_thousands_of_records_at_once_arrive_whole_and_once(tmp_path: Path, known: Growing) -> None:
    follower = followed(known, tmp_path / known.name, 1)
    known.write(follower.path, known.most)
    assert look(follower) == []
    assert follower.session == open_session(follower.path)
    if known.format != "transcripts":  # of which the newest is shown
        assert known.most <= len(follower.session.calls) <= known.most + 1


def test_a_database_whose_writer_is_killed_before_it_commits_is_as_it_was(tmp_path: Path, database: Growing) -> None:
    follower = followed(database, tmp_path / database.name, 4)
    before = follower.session
    process = os.fork()
    if process == 0:
        connection = sqlite3.connect(follower.path, isolation_level=None)
        connection.execute("PRAGMA cache_spill = 1")
        connection.execute("BEGIN IMMEDIATE")
        for table in ("messages", *TABLE_OF.values()):
            try:
                connection.execute(f"DELETE FROM {table}")  # noqa: S608  # names of tests
            except sqlite3.OperationalError:
                continue
        os._exit(9)
    os.waitpid(process, 0)
    assert look(follower) == []
    assert follower.session.messages == before.messages
    database.write(follower.path, 6)
    look(follower)
    assert_caught_up(follower)


def test_a_database_held_by_its_writer_alone_keeps_its_view_until_it_is_let_go(
    tmp_path: Path, database: Growing, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("inspector.session.sqlite.BUSY_SECONDS", 0.05)
    path = tmp_path / database.name
    database.write(path, 4)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = DELETE")
    follower = Follower(path)
    before = follower.session
    with closing(sqlite3.connect(path, isolation_level=None)) as holder:
        holder.execute("BEGIN EXCLUSIVE")
        table = TABLE_OF.get(database.format, "messages")
        holder.execute(f"DELETE FROM {table}")  # noqa: S608  # names of tests
        for _ in range(2):
            follower.poll()
            assert follower.session.messages == before.messages
        holder.execute("ROLLBACK")
    database.write(path, 5)
    look(follower)
    assert_caught_up(follower)


def test_a_database_whose_log_is_emptied_and_taken_away_is_followed_on(tmp_path: Path, database: Growing) -> None:
    follower = followed(database, tmp_path / database.name, 2)
    log = follower.path.with_name(f"{follower.path.name}-wal")
    with closing(sqlite3.connect(follower.path, isolation_level=None)) as held:
        held.execute("SELECT count(*) FROM sqlite_master").fetchall()
        for turns in (3, 4):
            database.write(follower.path, turns)
            look(follower)
            assert_caught_up(follower)
            held.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            assert log.stat().st_size == 0
            look(follower)
            assert_caught_up(follower)
    until = time.monotonic() + PATIENCE
    while log.exists() and time.monotonic() < until:
        # The follower still reads, and may not write: only a writer that closes last takes the log away.
        time.sleep(GRACE_SECONDS / 4)
        with closing(sqlite3.connect(follower.path)) as last:
            last.execute("SELECT count(*) FROM sqlite_master").fetchall()
    assert not log.exists(), "the last to close takes it away"
    assert look(follower) == []
    database.write(follower.path, 6)
    look(follower)
    assert_caught_up(follower)


def test_a_broken_database_keeps_the_last_view_until_it_is_whole_again(tmp_path: Path, database: Growing) -> None:
    follower = followed(database, tmp_path / database.name, 5)
    before, whole = follower.session, follower.path.read_bytes()
    misspelled = whole.replace(b"CREATE TABLE", b"CREATE\xb4TABLE")
    emptied = whole[:100] + bytes(len(whole) - 100)
    for broken in (whole[: len(whole) // 2], whole[:16], b"", b"not a database", emptied, misspelled):
        follower.path.write_bytes(broken)
        look(follower)
        assert follower.session is before
    remove(follower.path)
    database.write(follower.path, 7)
    look(follower)
    assert_caught_up(follower)
    assert len(follower.session.messages) > len(before.messages)
