"""Samples of a running evaluation of Inspect's: in a database elsewhere until they are finished."""

import hashlib
import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from inspector.errors import SessionError
from inspector.session.follow import Follower
from inspector.session.model import BlockKind, RecordedBreakpoint, Session
from inspector.session.open import open_session
from inspector.session.registry import detect
from tests.session import run_files
from tests.session.run_files import Record, encoded
from tests.session.soundness import assert_sound

TABLES = """
    CREATE TABLE task_database (version INTEGER PRIMARY KEY DEFAULT 1, metrics TEXT DEFAULT '[]');
    CREATE TABLE samples (id TEXT, epoch INTEGER, data TEXT, PRIMARY KEY (id, epoch));
    CREATE TABLE events (
        id INTEGER PRIMARY KEY AUTOINCREMENT, event_id TEXT, sample_id TEXT, sample_epoch INTEGER, data TEXT
    );
    CREATE TABLE attachments (
        id INTEGER PRIMARY KEY AUTOINCREMENT, sample_id TEXT, sample_epoch INTEGER, hash TEXT, content TEXT
    );
    INSERT INTO task_database (version) VALUES (1);
"""

POOL = """
    CREATE TABLE message_pool (
        id INTEGER PRIMARY KEY AUTOINCREMENT, sample_id TEXT, sample_epoch INTEGER, msg_id TEXT, data TEXT
    );
"""


class Running:
    """Writes as a running evaluation does: each sample's events as they happen."""

    def __init__(self, path: Path, tables: str = TABLES) -> None:
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        with closing(sqlite3.connect(path)) as database:
            database.executescript(tables)

    def write(self, statement: str, *values: Any) -> None:
        with closing(sqlite3.connect(self.path)) as database, database:
            database.execute(statement, values)
            database.execute("UPDATE task_database SET version = version + 1")

    def begin(self, sample: Record) -> None:
        about = {name: sample[name] for name in ("id", "epoch", "input")}
        self.write("INSERT INTO samples VALUES (?, ?, ?)", str(sample["id"]), sample["epoch"], json.dumps(about))
        for digest, content in sample["attachments"].items():
            values = (str(sample["id"]), sample["epoch"], digest, content)
            self.write("INSERT INTO attachments (sample_id, sample_epoch, hash, content) VALUES (?, ?, ?, ?)", *values)

    def log(self, sample: Record, event: Record, name: str) -> None:
        values = (name, str(sample["id"]), sample["epoch"], json.dumps(event))
        self.write("INSERT INTO events (event_id, sample_id, sample_epoch, data) VALUES (?, ?, ?, ?)", *values)

    def remove(self, sample: Record) -> None:
        self.write("DELETE FROM events WHERE sample_id = ?", str(sample["id"]))
        self.write("DELETE FROM samples WHERE id = ?", str(sample["id"]))


def beside(log: Path, home: Path) -> Path:
    folder = hashlib.sha256(f"file://{log.parent}".encode()).hexdigest()
    return home / "inspect_ai" / "samplebuffer" / folder / f"{log.name}.4711.db"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setattr("sys.platform", "linux")
    return tmp_path / "data"


def results(session: Session) -> list[str]:
    return [session.text(block) for block in session.blocks if block.kind is BlockKind.TOOL_RESULT]


def test_a_sample_that_runs_is_read_and_followed_until_the_log_has_it(tmp_path: Path, home: Path) -> None:
    log = tmp_path / "logs" / "log.eval"
    log.parent.mkdir()
    log.write_bytes(run_files.inspect_archive([run_files.inspect_sample(1, "first")]))
    running = Running(beside(log, home))
    sample = run_files.inspect_sample(3, "second")
    events = sample["events"]
    running.begin(sample)
    running.log(sample, events[0], "e0")
    running.log(sample, events[1], "e1")
    follower = Follower(log)
    assert follower.session.format == "inspect"
    assert follower.session.identifier == "second_epoch_1"
    assert len(follower.session.calls) == 1
    assert [one.identifier for one in detect(log).format.contained_sessions(log)] == ["second_epoch_1", "first_epoch_1"]
    assert len(open_session(log.with_name("log.eval#first_epoch_1")).calls) == 1
    asked = [follower.session.text(block) for block in follower.session.blocks if block.kind is BlockKind.USER_TEXT]
    assert asked == ["a long question"]
    running.log(sample, {**events[2], "output": {"choices": []}, "pending": True}, "e2")
    running.log(sample, events[2], "e2")
    running.log(sample, events[3], "e3")
    follower.poll()
    assert_sound(follower.session)
    assert len(follower.session.calls) == 3, "a request that is written again once it was answered is one"
    assert results(follower.session) == ["file0", "file1"]
    other = run_files.inspect_sample(1, "third")
    running.begin(other)
    running.log(other, other["events"][1], "o1")
    follower.poll()
    assert follower.session.identifier == "second_epoch_1", "what is followed stays though others begin"
    log.write_bytes(run_files.inspect_archive([run_files.inspect_sample(1, "first"), sample]))
    running.remove(sample)
    follower.poll()
    assert len(follower.session.calls) == 3
    assert results(follower.session) == ["file0", "file1", "file2"], "the finished sample has the rest"
    running.path.unlink()
    follower.poll()
    assert len(follower.session.calls) == 3


def test_the_database_of_a_running_evaluation_opens_by_itself(tmp_path: Path, home: Path) -> None:
    running = Running(home / "anything.sqlite", TABLES + POOL)
    sample = run_files.inspect_sample(2, 7)
    for message in sample["messages"]:
        values = ("7", 1, message["id"], json.dumps(message))
        running.write("INSERT INTO message_pool (sample_id, sample_epoch, msg_id, data) VALUES (?, ?, ?, ?)", *values)
    running.begin(sample)
    for number, event in enumerate(sample["events"]):
        refs = {"input": [], "input_refs": [[0, 2 * number - 1]]} if event["event"] == "model" else {}
        running.log(sample, {**event, **refs}, f"e{number}")
    before = {path: path.read_bytes() for path in running.path.parent.iterdir()}
    session = open_session(running.path)
    assert_sound(session)
    assert (session.format, session.identifier, len(session.calls)) == ("inspect", "7_epoch_1", 2)
    assert results(session) == ["file0"]
    assert {path: path.read_bytes() for path in running.path.parent.iterdir()} == before, "nothing is written there"


def test_a_table_that_is_not_read_is_named(home: Path) -> None:
    running = Running(home / "anything.sqlite", TABLES + POOL)
    sample = run_files.inspect_sample(2, 7)
    running.begin(sample)
    for number, event in enumerate(sample["events"]):
        running.log(sample, event, f"e{number}")
    follower = Follower(running.path)
    assert not follower.session.diagnostics
    running.write("CREATE TABLE event_pool (id INTEGER, sample_id TEXT, sample_epoch INTEGER, data TEXT)")
    running.write("CREATE TABLE progress (id INTEGER, data TEXT)")
    running.write("INSERT INTO event_pool VALUES (1, '7', 1, '{}')")
    running.write("INSERT INTO progress VALUES (1, '{}')")
    follower.poll()
    assert follower.session.diagnostics == open_session(running.path).diagnostics
    assert [(each.reason, each.skipped) for each in follower.session.diagnostics] == [
        ("table event_pool is not read; figures may be incomplete", False)
    ]


def test_cache_marks_of_a_running_evaluation_are_those_of_the_requests_its_database_keeps_once(home: Path) -> None:
    running = Running(home / "anything.sqlite", TABLES + POOL + POOL.replace("message_pool", "call_pool"))
    sample = run_files.inspect_sample(1, 7)
    mark = {"type": "text", "text": "a long question", "cache_control": {"type": "ephemeral", "ttl": "1h"}}
    for text in ("not this one", {"role": "user", "content": [mark]}):
        running.write(
            "INSERT INTO call_pool (sample_id, sample_epoch, data) VALUES (?, ?, ?)", "7", 1, json.dumps(text)
        )
    running.begin(sample)
    call = {"request": {"model": "claude-sonnet-4-5"}, "call_refs": [[1, 2]], "call_key": "messages"}
    for number, event in enumerate(sample["events"]):
        running.log(sample, {**event, "call": call}, f"e{number}")
    (made,) = open_session(running.path).calls
    assert made.marks == (RecordedBreakpoint(1, "1h"),)


def test_a_log_that_has_no_sample_yet_is_read_from_its_database_in_either_form(tmp_path: Path, home: Path) -> None:
    sample = run_files.inspect_sample(1, "only")
    begun: Record = {**run_files.inspect_log([]), "plan": {}, "samples": None}
    for name, data in (("log.eval", run_files.inspect_archive([])), ("log.json", encoded(begun))):
        log = tmp_path / name
        log.write_bytes(data)
        assert detect(log).format.name == "inspect"
        running = Running(beside(log, home))
        running.begin(sample)
        running.log(sample, sample["events"][1], "e1")
        session = open_session(log)
        assert_sound(session)
        assert (session.identifier, len(session.calls)) == ("only_epoch_1", 1)


@pytest.mark.parametrize("data", ["", "null", "[]", '{"event": "model"', '{"event": "model", "output": 7, "input": 9}'])
def test_rows_of_any_content_do_no_harm(tmp_path: Path, home: Path, data: str) -> None:
    running = Running(home / "log.eval.1.db")
    running.write("INSERT INTO samples VALUES (?, ?, ?)", "a", 1, data)
    running.write(
        "INSERT INTO events (event_id, sample_id, sample_epoch, data) VALUES (?, ?, ?, ?)", None, "a", 1, data
    )
    session = open_session(running.path)
    assert_sound(session)
    assert session.identifier == "a_epoch_1"


def test_a_database_without_samples_is_refused_in_one_line(home: Path) -> None:
    running = Running(home / "log.eval.1.db")
    with pytest.raises(SessionError, match=r"no samples|incomplete archive") as refused:
        open_session(running.path)
    assert "\n" not in str(refused.value)
