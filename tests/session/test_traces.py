"""The database of Copilot's spans: conversations, prompts that were cut off, titles, subagents."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from inspector.errors import SessionError
from inspector.session.follow import Follower
from inspector.session.formats.spans import CopilotTraceFormat, whole_items
from inspector.session.model import LinkKind, Role, Session
from inspector.session.open import open_session
from inspector.session.related import subagents_of
from tests.session import trace_store
from tests.session.soundness import assert_sound
from tests.session.trace_store import called, conversation, create, found, request, said, tool


def texts(session: Session, context: int = -1) -> list[str]:
    return [
        session.text(block) for index in session.contexts[context].members for block in session.messages[index].blocks
    ]


@pytest.mark.parametrize("most", [64_000, 400], ids=["whole", "cut off"])
def test_requests_of_a_session_are_one_conversation_however_much_of_their_prompts_was_kept(
    tmp_path: Path, most: int
) -> None:
    session = open_session(create(tmp_path / "agent-traces.db", *conversation(3, most)))
    assert_sound(session)
    assert (session.format, session.identifier, session.agent) == ("copilot-traces", "chat-1", "VS Code Copilot Chat")
    call = '{"filePath":"/work/a.py"}'
    assert texts(session) == [
        *("You help.", "go", "turn 0", call, "result 0", "turn 1", call, "result 1", "turn 2", call)
    ]
    assert [one.prompt_messages for one in session.calls] == [2, 4, 6]
    assert len(session.contexts) == 1
    first = session.calls[0].usage
    assert first is not None
    assert (first.uncached, first.cache_read, first.output) == (100, 900, 20)
    assert [message.role for message in session.messages][2:5] == [Role.ASSISTANT, Role.TOOL, Role.ASSISTANT]


def test_a_cut_prompt_that_begins_otherwise_is_as_it_was_kept(tmp_path: Path) -> None:
    changed = [said("You help.", "system"), said("a summary of it all"), said("x" * 600), said("y" * 600)]
    statements = [*conversation(1), *request(9, changed, said("done", "assistant"), most=900)]
    session = open_session(create(tmp_path / "agent-traces.db", *statements))
    assert texts(session) == ["You help.", "a summary of it all", "x" * 600, "done"]
    assert len(session.calls) == 2


def test_a_title_is_counted_next_to_the_conversation(tmp_path: Path) -> None:
    about = {"copilot_chat__parent_chat_session_id": "chat-1", "copilot_chat__debug_log_label": "title"}
    title = request(50, [said("name it")], said("A name", "assistant"), (300, 0, 5), session="other", **about)
    path = create(tmp_path / "agent-traces.db", *conversation(1), *title)
    assert [one.identifier for one in CopilotTraceFormat().contained_sessions(path)] == ["chat-1"]
    session = open_session(path)
    (side,) = session.side_calls
    assert side.usage is not None
    assert (side.purpose, side.usage.prompt, len(session.calls)) == ("title", 300, 1)


def test_a_subagent_is_a_session_that_leads_to_the_one_that_started_it(tmp_path: Path) -> None:
    about = {"copilot_chat__parent_chat_session_id": "chat-1"}
    own = request(50, [said("look")], said("seen", "assistant"), session="sub", **about)
    path = create(tmp_path / "agent-traces.db", *conversation(1), *own)
    newest, other = CopilotTraceFormat().contained_sessions(path)
    assert (newest.identifier, newest.parent, other.identifier) == ("sub", "chat-1", "chat-1")
    (link,) = open_session(newest.path).links
    assert (link.kind, link.identifier) == (LinkKind.PARENT, "chat-1")
    assert CopilotTraceFormat().locate(newest.path, "chat-1") == other.path
    parent = open_session(other.path)
    assert [(link.kind, link.identifier) for link in parent.links] == [(LinkKind.SUBAGENT, "sub")]
    assert [one.path for one in subagents_of(parent).found] == [newest.path]


def test_spans_that_were_deleted_are_gone_for_followers(tmp_path: Path) -> None:
    path = create(tmp_path / "agent-traces.db", *conversation(3))
    follower = Follower(path)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("DELETE FROM spans WHERE span_id = 's0'")
    follower.poll()
    assert [one.usage is None for one in follower.session.calls] == [True, False, False], "its answer is in the next"
    assert follower.session == open_session(path)


def test_a_session_without_spans_is_reported_to_be_gone(tmp_path: Path) -> None:
    path = create(tmp_path / "agent-traces.db")
    with pytest.raises(SessionError, match="no session"):
        open_session(path)


def test_a_tools_span_alone_is_no_conversation(tmp_path: Path) -> None:
    path = create(tmp_path / "agent-traces.db", *tool(99, "c9", "found"), *conversation(1))
    assert texts(open_session(path))[:2] == ["You help.", "go"]
    assert found("c1", "x")["role"] == "tool"


def test_items_are_read_as_far_as_they_are_whole() -> None:
    assert whole_items('[{"a": 1}, {"b": [2, 3]}, {"c": "...[truncated') == [{"a": 1}, {"b": [2, 3]}]
    assert whole_items('["only') == whole_items("{}") == []
    assert called("t", "c")["role"] == "assistant"


def test_a_database_that_grows_is_followed(tmp_path: Path) -> None:
    path = tmp_path / "agent-traces.db"
    trace_store.write(path, 2)
    follower = Follower(path)
    for turns in (3, 30):
        trace_store.write(path, turns)
        follower.poll()
        assert follower.session == open_session(path)
        assert len(follower.session.calls) == turns
        assert len(follower.session.contexts) == 1
