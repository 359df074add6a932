"""Conversations of the Antigravity CLI and IDE: databases with protobuf messages."""

import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inspector.session.discovery import list_sessions, search_places, sessions_in
from inspector.session.follow import Follower
from inspector.session.formats.antigravity import ProtobufError, ProtobufMessage
from inspector.session.model import BlockKind, ContextCause, LinkKind, Role, Session, SideCall, Usage
from inspector.session.open import open_session
from inspector.session.related import locate
from tests.examples import examples
from tests.session import databases
from tests.session.antigravity_store import (
    ERROR,
    MODEL,
    RUNNING,
    TABLES,
    AntigravityScript,
    Fields,
    about,
    encoded,
    turns,
    usage,
    write,
)
from tests.session.soundness import assert_sound


def opened(script: AntigravityScript, folder: Path, *statements: databases.Statement) -> Session:
    session = open_session(script.database(folder / "antigravity-cli" / "conversations" / "c1.db", *statements))
    assert session.format == "antigravity"
    assert_sound(session)
    return session


def test_a_conversation_has_its_messages_tools_model_and_counts(tmp_path: Path) -> None:
    script = AntigravityScript()
    script.user("list the folder")
    script.answer("I look.", ("c1", "run_command"), counts=usage(900, 12_000, 30, 12), thinking="a folder?")
    script.result("c1", "a.py\nb.py")
    script.answer("Two files.", counts=usage(150, 12_800, 0, 7))
    session = opened(script, tmp_path)
    assert [(message.role, [block.kind for block in message.blocks]) for message in session.messages] == [
        (Role.USER, [BlockKind.USER_TEXT]),
        (Role.ASSISTANT, [BlockKind.THINKING, BlockKind.ASSISTANT_TEXT, BlockKind.TOOL_CALL]),
        (Role.TOOL, [BlockKind.TOOL_RESULT]),
        (Role.ASSISTANT, [BlockKind.ASSISTANT_TEXT]),
    ]
    assert [session.text(block) for block in session.blocks] == [
        *("list the folder", "a folder?", "I look.", '{"CommandLine": "ls"}', "a.py\nb.py", "Two files.")
    ]
    assert session.blocks[4].tool_name == "run_command"
    assert [call.prompt_messages for call in session.calls] == [1, 3]
    # Input excludes cache reads; output is thinking plus response: 30 + 12.
    assert [call.usage for call in session.calls] == [
        Usage(uncached=900, cache_read=12_000, output=42, reasoning=30),
        Usage(uncached=150, cache_read=12_800, output=7),
    ]
    assert session.models == (MODEL,)
    assert (session.agent, session.identifier, session.working_directory) == ("Antigravity CLI", "c1", "/project")


@pytest.mark.parametrize(
    ("payload", "text", "fails"),
    [
        ({28: {23: "ls", 21: {1: "combined"}, 6: 0}}, "combined", False),
        ({28: {23: "ls", 21: {2: "cut"}, 6: 2}}, "cut", True),
        ({28: {23: "ls", 4: "old stdout", 6: -1}}, "old stdout", True),
        ({14: {1: "file:///a.py", 4: "the text"}}, "the text", False),
        ({13: {1: "TODO", 3: "a.py:1: TODO"}}, "a.py:1: TODO", False),
        ({34: {1: "*.py", 11: "a.py"}}, "a.py", False),
        ({15: {1: "file:///", 2: ["a.py", "b.py"]}}, "a.py\nb.py", False),
        ({47: {1: "server", 3: "found"}}, "found", False),
    ],
)
def test_the_result_of_every_kind_of_tool_is_read(tmp_path: Path, payload: Fields, text: str, *, fails: bool) -> None:
    script = AntigravityScript()
    script.answer("", ("c1", "tool"), counts=usage(10, 0, 0, 1))
    script.step(21, payload, metadata={4: {1: "c1", 2: "tool"}})
    session = opened(script, tmp_path)
    block = session.blocks[1]
    assert (session.text(block), block.is_error, block.tool_call_id) == (text, fails, "c1")


def test_a_failed_step_is_an_error_with_its_text(tmp_path: Path) -> None:
    script = AntigravityScript()
    script.answer("", ("c1", "view_file"), counts=usage(10, 0, 0, 1))
    details = encoded({1: "Not found", 3: "open a.py: no such file"})
    script.step(8, {14: {1: "file:///a.py"}}, ERROR, metadata={4: {1: "c1", 2: "view_file"}}, error_details=details)
    script.step(17, {24: {3: {2: "quota exhausted"}}})
    session = opened(script, tmp_path)
    assert [(session.text(block), block.is_error) for block in session.blocks[1:]] == [
        ("open a.py: no such file", True),
        ("error: quota exhausted", False),
    ]
    assert session.messages[-1].role is Role.OTHER


def test_a_result_of_an_unknown_kind_is_reported(tmp_path: Path) -> None:
    script = AntigravityScript()
    script.answer("", ("c1", "new_tool"), counts=usage(10, 0, 0, 1))
    script.step(150, {170: {1: "text of a later version"}}, metadata={4: {1: "c1", 2: "new_tool"}})
    script.step(151, {171: {1: "?"}})
    session = opened(script, tmp_path)
    assert [each.reason for each in session.diagnostics] == ["1 tool results have no known text"]
    assert session.text(session.blocks[-1]) == "step of type 151"


def test_a_request_without_steps_belongs_to_the_response_after_it(tmp_path: Path) -> None:
    script = AntigravityScript()
    script.user("go")
    script.time += 10
    script.request(usage(100, 0, 0, 1))  # failed: the next request is before the response too
    script.time += 10
    script.request(usage(200, 0, 0, 2))
    script.answer("first")
    script.time += 10
    script.request(usage(300, 0, 0, 3))
    script.answer("second")
    session = opened(script, tmp_path)
    assert [call.usage and call.usage.uncached for call in session.calls] == [200, 300]
    (failed,) = session.side_calls
    assert (failed.purpose, failed.usage) == ("request without a message", Usage(uncached=100, output=1))


def test_usage_in_a_step_counts_if_no_request_has_it(tmp_path: Path) -> None:
    script = AntigravityScript()
    script.step(15, {20: {1: "one"}}, metadata={9: {**usage(500, 0, 0, 9), 11: "x1"}, 11: 1298})
    script.answer("two", counts=usage(600, 0, 0, 8))
    # A checkpoint is summarized by a model with a number that no request names.
    script.step(23, {30: {1: 0, 9: 1, 10: "A title"}}, metadata={9: {**usage(1_519, 0, 0, 6), 1: 1250, 11: "x2"}})
    session = opened(script, tmp_path)
    assert [(call.usage.uncached, call.model) for call in session.calls if call.usage] == [(500, MODEL), (600, MODEL)]
    assert session.side_calls == (
        SideCall("summary", "", session.messages[2].time, Usage(uncached=1_519, output=6), "x2"),
    )
    assert session.title == "A title"


def test_a_checkpoint_begins_a_context_when_a_request_uses_it(tmp_path: Path) -> None:
    script = AntigravityScript()
    script.user("go")  # step 0
    script.answer("one", ("c1", "run_command"), counts=usage(90_000, 0, 0, 1))
    script.result("c1", "long")
    script.step(23, {30: {1: 4, 4: "intent", 5: "all that happened"}})  # step 3
    script.answer("two", counts=usage(90_500, 0, 0, 1))
    script.user("go on")  # step 5
    covered = {2: 4, 3: (0, 1, 2, 4), 4: {1: script.time + 1}}
    script.answer("three", counts=usage(9_000, 0, 0, 1), start=covered)
    script.answer("four", counts=usage(9_100, 0, 0, 1), start=covered)
    session = opened(script, tmp_path)
    first, second = session.contexts
    assert [session.messages[at].blocks[0].preview for at in first.members] == ["go", "one", "long", "two", "go on"]
    assert (second.cause, second.retained) == (ContextCause.COMPACTION, 2)
    assert [session.text(session.messages[at].blocks[0]) for at in second.members] == [
        *("intent\n\nall that happened", "go on", "three", "four")
    ]
    assert [call.context for call in session.calls] == [0, 0, 1, 1]
    assert len(session.compactions) == 1


def test_running_steps_appear_when_they_are_finished(tmp_path: Path) -> None:
    script = turns(1)
    path = script.database(tmp_path / "c1.db")
    follower = Follower(path)
    script.answer("", ("c9", "run_command"), counts=usage(300, 0, 0, 2))
    script.result("c9", "", status=RUNNING)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        databases.run(connection, *script.statements(3, 1))
        follower.poll()
        assert len(follower.session.calls) == 2
        assert follower.session.messages[-1].role is Role.ASSISTANT
        script.steps.pop()
        number = script.result("c9", "done")
        row = script.steps[number]
        connection.execute(
            "UPDATE steps SET status = ?, step_payload = ? WHERE idx = ?", (3, row["step_payload"], number)
        )
    follower.poll()
    assert follower.session == open_session(path)
    assert follower.session.text(follower.session.blocks[-1]) == "done"


def test_a_rewind_deletes_steps(tmp_path: Path) -> None:
    path = tmp_path / "c1.db"
    write(path, 3)
    follower = Follower(path)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("DELETE FROM steps WHERE idx > 3")
        connection.execute("DELETE FROM gen_metadata WHERE idx > 1")
    follower.poll()
    assert len(follower.session.calls) == 2
    assert follower.session == open_session(path)


def test_the_copied_steps_of_a_fork_are_counted_in_the_original(tmp_path: Path) -> None:
    script = turns(2)
    reference = encoded({1: "t-c0", 2: 2, 5: 2, 6: "c0"})
    session = opened(script, tmp_path, databases.insert("parent_references", {"idx": 0, "data": reference}))
    assert [message.is_inherited for message in session.messages] == [True, True, True, False, False]
    assert len(session.own_calls) == 1
    assert [(link.kind, link.identifier) for link in session.links] == [(LinkKind.CONTINUED, "c0")]


def test_subagents_and_parents_are_linked_to_their_files(tmp_path: Path) -> None:
    folder = tmp_path / ".gemini" / "antigravity-cli" / "conversations"
    script = AntigravityScript()
    script.answer("", ("c1", "invoke_subagent"), counts=usage(10, 0, 0, 1))
    payload = {143: {1: "researcher", 10: [{1: "child"}]}}
    script.step(127, payload, metadata={4: {1: "c1", 2: "invoke_subagent"}})
    parent = open_session(script.database(folder / "parent.db"))
    path = databases.created(folder / "child.db", TABLES, *about("child", parent="parent"), *turns(1).statements())
    child = open_session(path)
    assert [(link.kind, link.identifier, link.tool_call_id) for link in parent.links] == [
        (LinkKind.SUBAGENT, "child", "c1")
    ]
    assert [(link.kind, locate(child, link)) for link in child.links] == [(LinkKind.PARENT, folder / "parent.db")]


def test_conversations_are_found_in_every_program_s_folder_once(private_home: Path) -> None:
    gemini = private_home / ".gemini"
    for program, name, time in (
        ("antigravity-cli", "a", 1_000),
        ("antigravity-ide", "b", 2_000),
        ("antigravity", "b", 1_000),
        ("antigravity-acp", "c", 1_000),
    ):
        path = turns(1).database(gemini / program / "conversations" / f"{name}.db")
        os.utime(path, (time, time))
    found = [header.path for batch in list_sessions(search_places()) for header in batch]
    assert sorted(str(path.relative_to(gemini)) for path in found) == [
        "antigravity-acp/conversations/c.db",
        "antigravity-cli/conversations/a.db",
        "antigravity-ide/conversations/b.db",
    ]
    assert len(list(sessions_in(gemini))) == 3


def test_a_count_that_no_version_had_is_named(tmp_path: Path) -> None:
    script = AntigravityScript()
    script.answer("one", counts={**usage(10, 0, 0, 1), 21: 7})
    session = opened(script, tmp_path)
    assert session.calls[0].usage is not None
    assert session.calls[0].usage.ignored == ("field 21",)


@settings(max_examples=examples(60))
@given(st.binary(max_size=60))
def test_any_bytes_are_a_message_or_an_error(data: bytes) -> None:
    try:
        message = ProtobufMessage(data)
    except ProtobufError:
        return
    for number in range(20):
        message.number(number)
        message.text(number)


@settings(max_examples=examples(40), deadline=None)
@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 60), st.integers(0, 255)), max_size=4))
def test_damaged_rows_are_diagnostics_and_the_rest_is_read(
    tmp_path_factory: pytest.TempPathFactory, changes: list[tuple[int, int, int]]
) -> None:
    script = turns(3)
    for row, place, byte in changes:
        data = bytearray(script.steps[row]["step_payload"])
        data[place % len(data)] = byte
        script.steps[row]["step_payload"] = bytes(data)
    path = script.database(tmp_path_factory.mktemp("damaged") / "c1.db")
    session = open_session(path)
    assert_sound(session)
    assert len(session.messages) + session.skipped_records >= 7 - len(changes)


def test_a_table_that_is_not_read_is_named(tmp_path: Path) -> None:
    """A file has one conversation, so its tables have no column that assigns a row to it."""
    path = turns(1).database(tmp_path / "c1.db")
    follower = Follower(path)
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript("""
            CREATE TABLE battle_mode_infos (idx INTEGER PRIMARY KEY, data BLOB);
            CREATE TABLE steps_v2 (idx INTEGER PRIMARY KEY, data BLOB);
            INSERT INTO executor_metadata VALUES (0, x'0a');
            INSERT INTO steps_v2 VALUES (0, x'0a');
        """)
    session = open_session(path)
    assert [(each.reason, each.skipped) for each in session.diagnostics] == [
        ("table steps_v2 is not read; figures may be incomplete", False)
    ]
    follower.poll()
    assert follower.session.diagnostics == session.diagnostics
