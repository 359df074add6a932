"""Databases of OpenAI's Agents SDK: items of the Responses API, a row each."""

import sqlite3
from contextlib import closing
from pathlib import Path

from inspector.session.discovery import sessions_in
from inspector.session.follow import Follower
from inspector.session.model import BlockKind
from inspector.session.open import open_session
from tests.session import databases
from tests.session.agents_store import TABLES, item, turns, write
from tests.session.soundness import assert_sound


def test_the_items_of_a_session_are_its_conversation(tmp_path: Path) -> None:
    said = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "done"}], "id": "m"}
    path = databases.created(tmp_path / "a.db", TABLES, *turns(2), item(said))
    session = open_session(path)
    assert_sound(session)
    assert session.format == "openai-agents"
    assert [block.kind for block in session.blocks] == [
        BlockKind.USER_TEXT,
        BlockKind.TOOL_CALL,
        BlockKind.TOOL_RESULT,
        BlockKind.TOOL_CALL,
        BlockKind.TOOL_RESULT,
        BlockKind.ASSISTANT_TEXT,
    ]
    assert [session.text(block) for block in session.blocks][2:] == ["result 0", "{}", "result 1", "done"]
    assert session.blocks[2].tool_name == "ls"
    assert [call.prompt_messages for call in session.calls] == [1, 3, 5]
    assert all(call.usage is None for call in session.calls)


def test_a_database_of_several_sessions_opens_the_newest_and_each_by_its_name(tmp_path: Path) -> None:
    late = item({"role": "user", "content": "later"}, "s2", 50)
    path = databases.created(tmp_path / "a.db", TABLES, *turns(1), late)
    assert open_session(path).identifier == "s2"
    assert len(open_session(tmp_path / "a.db#s1").calls) == 1
    assert {header.identifier for header in sessions_in(tmp_path)} == {"s1", "s2"}


def test_an_item_that_was_taken_back_is_gone_and_new_ones_come(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    write(path, 2)
    follower = Follower(path)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("DELETE FROM agent_messages WHERE id = (SELECT MAX(id) FROM agent_messages)")
    follower.poll()
    assert len(follower.session.blocks) == 4
    assert follower.session == open_session(path)


def test_a_row_that_holds_no_item_is_reported(tmp_path: Path) -> None:
    broken = databases.insert("agent_messages", {"session_id": "s1", "message_data": '{"role": "us'})
    session = open_session(databases.created(tmp_path / "a.db", TABLES, *turns(1), broken))
    assert [diagnostic.reason for diagnostic in session.diagnostics] == ["not an item"]
    assert len(session.calls) == 1
