"""Sessions of Goose: its database, with messages that compactions hid from the model, and the files of old versions."""

import json
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from inspector.errors import SessionError
from inspector.session.follow import Follower
from inspector.session.formats.goose import GooseFormat
from inspector.session.model import BlockKind, ContextCause, Role, Session
from inspector.session.open import open_session
from inspector.session.registry import detect
from tests.examples import examples
from tests.session.databases import change_rows, row_changes, run
from tests.session.goose_store import (
    CONTINUE_PREFIX,
    FIRST_TABLES,
    GooseScript,
    create,
    request,
    response,
    session,
)
from tests.session.mutations import mutated
from tests.session.other_process import append, quiet_moments, replace, rewrite, sql
from tests.session.soundness import assert_reads, assert_sound

PNG = {"type": "image", "mimeType": "image/png", "data": "iVBORw0KGgoAAAANSUhEUgAAAAIAAAADCAIAAAA2iEnW"}

MODEL = '{"model_name": "claude-opus-4-8"}'


def as_database(script: GooseScript, folder: Path) -> Path:
    return create(folder / "sessions.db", session("s1", name="A title"), *script.statements("s1"))


def as_lines(script: GooseScript, folder: Path) -> Path:
    path = folder / "s1.jsonl"
    path.write_bytes(script.lines())
    return path


def as_export(script: GooseScript, folder: Path) -> Path:
    path = folder / "s1.json"
    path.write_text(
        json.dumps({"id": "s1", "working_dir": "/project", "name": "A title", "conversation": script.messages})
    )
    return path


SOURCES: dict[str, Callable[[GooseScript, Path], Path]] = {
    "database": as_database,
    "lines": as_lines,
    "export": as_export,
}


@pytest.fixture(params=sorted(SOURCES))
def read(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[GooseScript], Session]:
    def opened(script: GooseScript) -> Session:
        found = open_session(SOURCES[request.param](script, tmp_path))
        assert (found.format, found.agent, found.title) == ("goose", "Goose", "A title")
        assert found.working_directory == "/project"
        assert_sound(found)
        return found

    return opened


def texts(found: Session, messages: tuple[int, ...]) -> list[str]:
    return [found.text(block) for index in messages for block in found.messages[index].blocks]


def now(found: Session) -> list[str]:
    return texts(found, found.contexts[-1].members)


def prompt(found: Session, call: int) -> list[str]:
    made = found.calls[call]
    return texts(found, found.contexts[made.context].members[: made.prompt_messages])


def test_calls_and_results_are_paired(read: Callable[[GooseScript], Session]) -> None:
    script = GooseScript()
    script.user("look")
    script.answer("I look.", request("c1"), request("c2", "read", path="a"))
    script.user(response("c1", "one", "two"), response("c2", "three", isError=True))
    script.answer("Done.")
    found = read(script)
    arguments = ['{"command":"ls"}', '{"path":"a"}']
    assert now(found) == ["look", "I look.", *arguments, "one\ntwo", "three", "Done."]
    assert [call.prompt_messages for call in found.calls] == [1, 3]
    assert all(call.usage is None for call in found.calls)
    results = [block for block in found.blocks if block.kind is BlockKind.TOOL_RESULT]
    assert [(block.tool_call_id, block.tool_name, block.is_error, block.plain_text) for block in results] == [
        ("c1", "developer__shell", False, False),
        ("c2", "read", True, True),
    ]
    assert found.messages[0].time == 1_772_359_200.0


def test_answers_that_follow_one_another_are_one_call(read: Callable[[GooseScript], Session]) -> None:
    script = GooseScript()
    script.user("look")
    script.answer("I look.")
    script.answer(request("c1"))
    script.user(response("c1", "found"))
    found = read(script)
    assert len(found.calls) == 1
    assert [len(message.blocks) for message in found.messages] == [1, 2, 1]


def test_a_compaction_hides_what_it_sums_up(read: Callable[[GooseScript], Session]) -> None:
    script = GooseScript()
    script.user("one")
    script.answer("first")
    script.compact("summed up once", "one")
    script.answer("second")
    script.user("two")
    script.compact("summed up twice")
    script.answer("third")
    found = read(script)
    assert now(found) == ["summed up twice", CONTINUE_PREFIX, "third"]
    assert [texts(found, context.members) for context in found.contexts[:2]] == [
        ["one", "first"],
        ["summed up once", CONTINUE_PREFIX, "one", "second", "two"],
    ]
    assert [context.cause for context in found.contexts[1:]] == [ContextCause.COMPACTION] * 2
    assert [found.messages[made.message].is_summary for made in found.compactions] == [True, True]
    assert len(found.calls) == 3
    assert prompt(found, 1) == ["summed up once", CONTINUE_PREFIX, "one"]
    assert found.messages[3].is_meta


def test_a_summary_without_the_word_to_go_on_is_known_by_what_is_before_it(
    read: Callable[[GooseScript], Session],
) -> None:
    script = GooseScript()
    script.user("one", visible=(True, False))
    script.answer("first", visible=(True, False))
    script.answer(
        {"type": "systemNotification", "notificationType": "inlineMessage", "msg": "Compacted."}, visible=(True, False)
    )
    script.user("summed up", visible=(False, True))
    script.answer("second")
    found = read(script)
    assert now(found) == ["summed up", "second"]
    assert texts(found, found.contexts[0].members) == ["one", "first"]
    assert len(found.calls) == 2


def test_what_is_for_the_person_alone_is_shown_and_not_sent(read: Callable[[GooseScript], Session]) -> None:
    script = GooseScript()
    script.user("one")
    note = {"type": "systemNotification", "notificationType": "inlineMessage", "msg": "Compacting."}
    script.answer(note, visible=(True, False))
    script.user("a note to myself", visible=(True, False))
    script.answer({"type": "toolConfirmationRequest", "id": "x", "toolName": "shell", "arguments": {}})
    found = read(script)
    assert now(found) == ["one"]
    assert [message.role for message in found.messages[1:]] == [Role.OTHER] * 3
    assert found.text(found.blocks[1]) == "Compacting."
    assert not found.calls


def test_parts_of_a_result_that_the_model_does_not_get_are_left_out(read: Callable[[GooseScript], Session]) -> None:
    script = GooseScript()
    script.answer(request("c1"))
    script.user(
        response(
            "c1",
            {"type": "text", "text": "pretty", "annotations": {"audience": ["user"], "priority": 0.0}},
            {"type": "text", "text": "plain", "annotations": {"audience": ["assistant"]}},
            {"type": "resource", "resource": {"uri": "file:///a", "text": "inside"}},
            PNG,
        )
    )
    found = read(script)
    result = found.blocks[1]
    assert found.text(result) == "plain\ninside"
    assert result.media[0].width == 2


def test_every_kind_of_part_is_read(read: Callable[[GooseScript], Session]) -> None:
    script = GooseScript()
    script.user("see", PNG)
    script.answer(
        {"type": "thinking", "thinking": "hm", "signature": "12345"},
        {"type": "redactedThinking", "data": "123"},
        {"type": "toolRequest", "id": "c0", "toolCall": {"status": "error", "error": "unreadable"}},
        {"type": "hologram", "shape": "cube"},
    )
    script.user({"type": "toolResponse", "id": "c0", "toolResult": {"status": "error", "error": "no such tool"}})
    script.user(
        {
            "type": "toolResponse",
            "id": "c1",
            "toolResult": {"status": "success", "value": [{"type": "text", "text": "old form"}]},
        }
    )
    found = read(script)
    assert [block.kind for block in found.blocks] == [
        BlockKind.USER_TEXT,
        BlockKind.IMAGE,
        BlockKind.THINKING,
        BlockKind.THINKING,
        BlockKind.TOOL_CALL,
        BlockKind.OTHER,
        BlockKind.TOOL_RESULT,
        BlockKind.TOOL_RESULT,
    ]
    assert [block.signature_characters for block in found.blocks[2:4]] == [5, 3]
    assert [found.text(block) for block in found.blocks[4:]] == [
        "unreadable",
        '{"type":"hologram","shape":"cube"}',
        "no such tool",
        "old form",
    ]
    assert found.blocks[6].is_error


def test_the_first_tables_and_models_are_read(tmp_path: Path) -> None:
    path = create(
        tmp_path / "old.db",
        ("INSERT INTO sessions (id, description, working_dir) VALUES ('s1', 'A title', '/project')", ()),
        (
            "INSERT INTO messages (session_id, role, content_json, created_timestamp) VALUES ('s1', 'user', ?, 1)",
            (json.dumps([{"type": "text", "text": "hi"}]),),
        ),
        tables=FIRST_TABLES,
    )
    found = open_session(path)
    assert (found.title, now(found)) == ("A title", ["hi"])
    script = GooseScript()
    script.answer("hello")
    newer = create(tmp_path / "new.db", session("s1", model_config_json=MODEL), *script.statements("s1"))
    assert open_session(newer).models == ("claude-opus-4-8",)


def test_sessions_are_listed_newest_first_and_opened_by_name(tmp_path: Path) -> None:
    script = GooseScript()
    script.user("hi")
    path = create(
        tmp_path / "sessions.db",
        session("20260301_1", name="First", updated_at="2026-03-01 10:00:00"),
        session("20260301_2", name="Second", updated_at="2026-03-01 11:00:00"),
        session("20260301_3", session_type="sub_agent", updated_at="2026-03-01 12:00:00"),
        *script.statements("20260301_1"),
    )
    assert detect(path).format.name == "goose"
    inside = GooseFormat().contained_sessions(path)
    assert [(one.identifier, one.title, bool(one.parent)) for one in inside] == [
        ("20260301_3", "", True),
        ("20260301_2", "Second", False),
        ("20260301_1", "First", False),
    ]
    assert open_session(path).identifier == "20260301_2"
    assert now(open_session(inside[2].path)) == ["hi"]
    with pytest.raises(SessionError, match="no session x"):
        open_session(Path(f"{path}#x"))


def test_files_are_reported_by_their_content(tmp_path: Path) -> None:
    script = GooseScript()
    script.user("hi")
    script.answer(request("c1"))
    path = tmp_path / "notes.txt"
    path.write_bytes(script.lines().partition(b"\n")[2])  # some lack the first line
    assert detect(path).format.name == "goose"
    chat = tmp_path / "chat.jsonl"
    chat.write_text('{"role": "user", "created": 5, "content": [{"type": "text", "text": "hi"}]}\n')
    assert detect(chat).format.name != "goose"


def story(count: int) -> list[tuple[GooseScript, bool]]:
    script, told = GooseScript(), []
    for number in range(count):
        if number % 11 == 7:
            script.compact(f"summary {number}", f"prompt {number}" * (number % 2))
        else:
            script.user(f"prompt {number}")
            script.answer(f"answer {number}", request(f"c{number}"))
            script.user(response(f"c{number}", f"result {number}"))
        copy = GooseScript(json.loads(json.dumps(script.messages)))
        told.append((copy, number % 11 == 7))
    return told


def test_an_agent_that_commits_at_random_moments_is_followed(tmp_path: Path) -> None:
    script = GooseScript()
    script.user("first")
    path = create(tmp_path / "sessions.db", session("s1"), *script.statements("s1"))
    follower = Follower(path)
    steps: list[dict[str, Any]] = []
    written = 0
    for copy, is_new in story(30):
        statements = copy.replaced("s1") if is_new else copy.statements("s1", written)
        steps.append(sql(*statements))
        written = len(copy.messages)
    steps.insert(9, {"do": "checkpoint"})
    for _ in quiet_moments(path, steps, follower.poll, seed=23):
        follower.poll()
        follower.poll()
        assert follower.session == open_session(path)
        assert_sound(follower.session)
    assert len(follower.session.compactions) == 3


def test_an_agent_that_writes_files_at_random_moments_is_followed(tmp_path: Path) -> None:
    path = tmp_path / "s1.jsonl"
    told = story(24)
    path.write_bytes(GooseScript().lines())
    follower = Follower(path)
    steps = []
    for number, (copy, _) in enumerate(told):
        data = copy.lines()
        steps.append(rewrite(data) if number % 3 else replace(data))
    more = GooseScript()
    more.user("more")
    steps.append(append(more.lines().partition(b"\n")[2]))
    for _ in quiet_moments(path, steps, follower.poll, seed=29):
        follower.poll()
        assert follower.session == open_session(path)
    assert now(follower.session)[-1] == "more"


def odd_lines() -> list[bytes]:
    script = GooseScript()
    script.user("hi", PNG)
    script.answer({"type": "thinking", "thinking": "hm", "signature": "1"}, request("c1"), request("c2"))
    script.user(response("c1", "one", PNG), response("c2", {"type": "text", "text": "x", "annotations": {}}))
    script.compact("summary", "hi")
    script.answer("done")
    return [line for line in script.lines().split(b"\n") if line]


@settings(
    max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
@given(data=st.data(), is_export=st.booleans())
def test_nothing_in_changed_files_makes_the_reader_raise(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, is_export: bool
) -> None:
    made = data.draw(mutated(odd_lines()))
    if is_export:
        inner = b",".join(line for line in made.split(b"\n") if line)
        made = b'{"id":"s","working_dir":"/","model_config":{"model_name":1},"conversation":[' + inner + b"]}"
    path = tmp_path_factory.mktemp("changed") / "session.json"
    path.write_bytes(made)
    assert_reads(GooseFormat(), path)


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database with rows of every kind, to be changed in copies."""
    script = GooseScript([json.loads(line) for line in odd_lines()[1:]])
    path = tmp_path_factory.mktemp("sound") / "sessions.db"
    return create(path, session("s1", model_config_json=MODEL), *script.statements("s1"))


@settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(changes=row_changes(9))
def test_nothing_in_changed_rows_makes_the_reader_raise(
    tmp_path_factory: pytest.TempPathFactory, sound: Path, changes: list[tuple[str, int, int, Any]]
) -> None:
    path = Path(shutil.copy(sound, tmp_path_factory.mktemp("changed") / "sessions.db"))
    change_rows(path, changes)
    assert_reads(GooseFormat(), path)
    GooseFormat().contained_sessions(path)


def test_a_followed_session_stays_while_its_rows_are_rewritten(tmp_path: Path) -> None:
    script = GooseScript()
    script.user("one")
    script.answer("first")
    path = create(tmp_path / "sessions.db", session("s1"), *script.statements("s1"))
    follower = Follower(path)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        script.compact("summary")
        run(connection, *script.replaced("s1"))
        follower.poll()
        assert follower.session == open_session(path)
        assert now(follower.session) == ["summary", CONTINUE_PREFIX]
        run(connection, ("DELETE FROM sessions WHERE id = 's1'", ()))
        follower.poll()
        assert follower.state == "vanished"
        assert len(follower.session.messages) == 4
