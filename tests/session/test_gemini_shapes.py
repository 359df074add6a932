"""Records of Gemini CLI in shapes that real files have seldom: nothing is merged, lost or doubled for them."""

import json
from pathlib import Path
from typing import Any

import pytest

from inspector.session.discovery import list_sessions, sessions_in
from inspector.session.follow import Follower
from inspector.session.open import open_session
from tests.session.gemini_lines import ABOUT, GeminiScript
from tests.session.soundness import assert_sound

USER = {"type": "user", "content": "hi", "timestamp": "2026-03-01T10:00:01.000Z"}
ANSWER = {"type": "gemini", "content": "Hello.", "timestamp": "2026-03-01T10:00:02.000Z"}


def lines_of(path: Path, *records: Any) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in ({**ABOUT, "lastUpdated": ""}, *records)))
    return path


@pytest.mark.parametrize("identifier", [{}, {"id": None}, {"id": 7}])
def test_records_without_an_id_do_not_replace_one_another(tmp_path: Path, identifier: dict[str, Any]) -> None:
    records = [{"id": "u0", **USER}, *({**USER, **identifier, "content": f"said {n}"} for n in range(3))]
    session = open_session(lines_of(tmp_path / "session.jsonl", *records))
    assert [session.text(block) for block in session.blocks] == ["hi", "said 0", "said 1", "said 2"]
    assert_sound(session)


def test_a_response_without_usage_or_model_is_a_call_all_the_same(tmp_path: Path) -> None:
    session = open_session(lines_of(tmp_path / "session.jsonl", {"id": "u", **USER}, {"id": "a", **ANSWER}))
    (call,) = session.calls
    assert (call.response, call.usage, call.model) == (1, None, "")


@pytest.mark.parametrize("bad", [None, 5, "x", [1]])
def test_what_is_no_message_is_counted_with_its_place(tmp_path: Path, bad: Any) -> None:
    script = GeminiScript()
    script.header()
    script.user("u1", "hi")
    script.set(messages=[script.lines[1], bad])
    path = script.write(tmp_path / "session.jsonl")
    (found,) = open_session(path).diagnostics
    assert (found.line, found.skipped) == (3, True)
    assert path.read_bytes()[found.offset :].startswith(json.dumps(bad).encode())
    document = {**ABOUT, "lastUpdated": "", "messages": [{"id": "u", **USER}, bad]}
    path = tmp_path / "session.json"
    path.write_text(json.dumps(document, indent=2))
    (found,) = open_session(path).diagnostics
    assert json.loads(path.read_bytes()[found.offset :].decode().rpartition("]")[0]) == bad


def test_a_record_that_said_nothing_at_first_keeps_its_place(tmp_path: Path) -> None:
    silent = {name: value for name, value in USER.items() if name != "content"}
    records = [{"id": "u", **silent, "content": ""}, {"id": "a", **ANSWER}, {"id": "u", **USER}, {"id": "a", **ANSWER}]
    path = lines_of(tmp_path / "session.jsonl", *records[:3])
    follower = Follower(path)
    lines_of(path, *records)
    follower.poll()
    session = open_session(path)
    assert follower.session == session
    assert session.contexts[0].members == (0, 1)
    assert [session.text(block) for block in session.blocks] == ["hi", "Hello."]
    assert session.calls[0].prompt_messages == 1


def test_a_session_that_was_taken_up_again_is_listed_once(tmp_path: Path) -> None:
    chats = tmp_path / "40fc" / "chats"
    chats.mkdir(parents=True)
    old = chats / "session-2026-03-01T10-00-0123abcd.json"
    old.write_text(json.dumps({**ABOUT, "lastUpdated": "", "messages": [{"id": "u", **USER}]}))
    assert [found.path for found in sessions_in(tmp_path)] == [old]
    new = lines_of(old.with_suffix(".jsonl"), {"id": "u", **USER}, {"id": "a", **ANSWER})
    assert [found.path for found in sessions_in(tmp_path)] == [new]
    assert [header.path for batch in list_sessions([(tmp_path, None)]) for header in batch] == [new]
    assert len(open_session(old).messages) == 1
