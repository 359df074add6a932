"""What goes wrong with files that are not written by lines: databases, and documents written whole."""

from __future__ import annotations

import json
import os
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

from inspector.session.follow import Follower
from inspector.session.open import open_session
from tests.session.gemini_lines import GeminiScript
from tests.session.hermes_store import HermesStore, create, run
from tests.session.soundness import assert_sound

if TYPE_CHECKING:
    from pathlib import Path

ABOUT = {"sessionId": "s", "projectHash": "h", "startTime": "2026-03-01T10:00:00.000Z"}


def database(path: Path, answers: int, name: str = "s0") -> Path:
    """A database of one session, without a log beside it."""
    store = HermesStore()
    made = [store.session(name), store.user(name, "go"), *(store.answer(name, f"a{n}") for n in range(answers))]
    return create(path, *made, mode="delete")


def document(answers: int) -> bytes:
    script = GeminiScript()
    for number in range(answers):
        script.user(f"u{number}", f"prompt {number}")
        script.answer(f"g{number}", f"answer {number}")
    return json.dumps({**ABOUT, "lastUpdated": "", "messages": script.lines}).encode()


def caught_up(follower: Follower) -> list[str]:
    """The notices of a few looks, the last of which finds nothing new."""
    notices = []
    for _ in range(3):
        follower.poll()
        notices.append(follower.notice)
    assert follower.change == ""
    return [notice for notice in notices if notice]


def test_a_database_replaced_by_another_is_read_anew(tmp_path: Path) -> None:
    path = database(tmp_path / "state.db", 5)
    follower = Follower(path)
    database(tmp_path / "new.db", 2, "s1").replace(path)
    caught_up(follower)
    assert follower.session == open_session(path)
    assert (follower.session.identifier, len(follower.session.calls)) == ("s1", 2)


def test_a_broken_database_keeps_the_last_view_until_it_is_whole_again(tmp_path: Path) -> None:
    path = database(tmp_path / "state.db", 5)
    follower = Follower(path)
    before, whole = follower.session, path.read_bytes()
    for broken in (whole[: len(whole) // 2], whole[:16], b"", b"not a database", whole[:100] + bytes(len(whole) - 100)):
        path.write_bytes(broken)
        caught_up(follower)
        assert follower.session is before
    path.unlink()
    database(path, 7)
    caught_up(follower)
    assert len(follower.session.calls) == 7
    assert follower.session == open_session(path)


def test_a_database_that_is_deleted_is_said_to_be_gone_and_followed_when_made_again(tmp_path: Path) -> None:
    path = database(tmp_path / "state.db", 5)
    follower = Follower(path)
    path.unlink()
    assert any("gone" in notice for notice in caught_up(follower))
    assert (follower.state, len(follower.session.calls)) == ("vanished", 5)
    database(path, 2)
    assert any("back" in notice or "again" in notice for notice in caught_up(follower))
    assert (follower.state, len(follower.session.calls)) == ("live", 2)


def test_ten_thousand_rows_at_once_are_all_read(tmp_path: Path) -> None:
    path = database(tmp_path / "state.db", 1)
    follower = Follower(path)
    store = HermesStore(messages=10)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        run(connection, *(store.answer("s0", f"b{number}") for number in range(10_000)))
    caught_up(follower)
    assert follower.session == open_session(path)
    answered = [
        block.preview for call in follower.session.calls for block in follower.session.messages[call.response].blocks
    ]
    assert answered == ["a0", *(f"b{number}" for number in range(10_000))]
    assert_sound(follower.session)


def test_a_document_that_is_truncated_replaced_or_made_again_loses_and_doubles_nothing(tmp_path: Path) -> None:
    path = tmp_path / "session.json"
    path.write_bytes(document(6))
    follower = Follower(path)
    before = follower.session
    os.truncate(path, len(document(6)) // 2)
    caught_up(follower)
    assert follower.session is before
    (tmp_path / "new").write_bytes(document(3))
    (tmp_path / "new").replace(path)
    caught_up(follower)
    assert follower.session == open_session(path)
    assert len(follower.session.calls) == 3
    path.unlink()
    assert any("gone" in notice for notice in caught_up(follower))
    assert (follower.state, len(follower.session.calls)) == ("vanished", 3)
    path.write_bytes(document(4))
    assert any("back" in notice or "again" in notice for notice in caught_up(follower))
    assert (follower.state, len(follower.session.calls)) == ("live", 4)


def test_ten_thousand_records_added_to_a_document_at_once_are_all_read(tmp_path: Path) -> None:
    path = tmp_path / "session.json"
    path.write_bytes(document(1))
    follower = Follower(path)
    path.write_bytes(document(5_000))
    caught_up(follower)
    assert len(follower.session.calls) == 5_000
    assert follower.session == open_session(path)
