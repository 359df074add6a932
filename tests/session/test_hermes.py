"""Sessions of Hermes: its database, with compressions that hand a session on, and the files of older versions."""

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from inspector.errors import SessionError
from inspector.session.follow import Follower
from inspector.session.formats.hermes import HermesFormat
from inspector.session.model import BlockKind, ContextCause, LinkKind, Role, Session, TextUnavailableError
from inspector.session.open import open_session
from inspector.session.registry import detect
from inspector.session.related import subagents_of
from tests.examples import examples
from tests.session.databases import Statement, change_rows, row_changes, run
from tests.session.hermes_store import SUMMARY, HermesStore, create
from tests.session.mutations import mutated
from tests.session.other_process import append, quiet_moments, replace, rewrite, sql
from tests.session.soundness import assert_reads, assert_sound

PNG = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAIAAAADCAIAAAA2iEnW"


def opened(folder: Path, *statements: Statement, session: str = "", is_first: bool = False) -> Session:
    path = create(folder / "state.db", *statements, is_first=is_first)
    found = open_session(Path(f"{path}#{session}") if session else path)
    assert found.format == "hermes"
    assert_sound(found)
    return found


def texts(session: Session, messages: tuple[int, ...]) -> list[str]:
    return [session.text(block) for index in messages for block in session.messages[index].blocks]


def now(session: Session) -> list[str]:
    return texts(session, session.contexts[-1].members)


def prompt(session: Session, call: int) -> list[str]:
    made = session.calls[call]
    return texts(session, session.contexts[made.context].members[: made.prompt_messages])


@pytest.mark.parametrize("is_first", [True, False], ids=["first schema", "later schema"])
def test_a_session_is_read_from_tables_of_every_version(tmp_path: Path, is_first: bool) -> None:
    store = HermesStore()
    session = opened(
        tmp_path,
        store.session("s1", system_prompt="You are Hermes."),
        store.user("s1", "look"),
        store.answer("s1", "I look.", "c1", "c2"),
        store.result("s1", "c1", "one"),
        store.result("s1", "c2", "two"),
        store.answer("s1", "Done."),
        is_first=is_first,
    )
    arguments = '{"command": "ls"}'
    assert now(session) == ["You are Hermes.", "look", "I look.", arguments, arguments, "one", "two", "Done."]
    assert "".join(message.role.value[0] for message in session.messages) == "suatta"
    assert [call.prompt_messages for call in session.calls] == [2, 5]
    assert [(call.model, call.usage) for call in session.calls] == [("m1", None)] * 2
    result = session.blocks[5]
    assert (result.tool_call_id, result.tool_name, result.plain_text) == ("c1", "terminal", True)
    assert session.record_counts == {"session": 1, "message:user": 1, "message:assistant": 2, "message:tool": 2}
    assert session.messages[1].time == 1_772_359_202.0


def test_a_database_is_reported_by_its_tables(tmp_path: Path) -> None:
    path = create(tmp_path / "odd.name")
    assert detect(path).format.name == "hermes"
    with pytest.raises(SessionError, match="no session"):
        open_session(path)
    assert HermesFormat().contained_sessions(path) == []


def test_reading_leaves_nothing_next_to_the_database(tmp_path: Path) -> None:
    store = HermesStore()
    path = create(tmp_path / "state.db", store.session("s1"), store.user("s1", "hi"))
    before = path.read_bytes()
    session = open_session(path)
    assert [session.text(block) for block in session.blocks] == ["hi"]
    assert list(tmp_path.iterdir()) == [path]
    assert path.read_bytes() == before


def test_several_sessions_are_listed_and_opened_by_name(tmp_path: Path) -> None:
    store = HermesStore()
    path = create(
        tmp_path / "state.db",
        store.session("old", title="An old one", cwd="/old"),
        store.user("old", "old prompt"),
        store.session("new"),
        store.user("new", "new prompt"),
        store.session("sub", parent_session_id="new"),
        store.user("sub", "subagent's prompt"),
        store.user("old", "old one again"),
    )
    inside = HermesFormat().contained_sessions(path)
    assert [(one.identifier, one.parent) for one in inside] == [("old", ""), ("sub", "new"), ("new", "")]
    assert (inside[0].title, inside[0].working_directory) == ("An old one", "/old")
    assert inside[0].modified == store.time
    assert [now(open_session(one.path))[0] for one in inside] == ["old prompt", "subagent's prompt", "new prompt"]
    assert open_session(path).identifier == "old"
    with pytest.raises(SessionError, match="no session nowhere"):
        open_session(Path(f"{path}#nowhere"))


@pytest.mark.parametrize("pause", [0, 7])
def test_a_compression_hands_a_session_on_and_copies_count_once(tmp_path: Path, pause: int) -> None:
    store = HermesStore()
    first = [
        store.session("s1", system_prompt="You are Hermes.", title="Long work"),
        store.user("s1", "first prompt"),
        store.answer("s1", "looking", "c1"),
        store.result("s1", "c1", "found"),
        store.answer("s1", "late answer"),
        store.user("s1", "late prompt"),
        store.end("s1", "compression"),
    ]
    second = [store.session("s2", parent_session_id="s1", system_prompt="You are Hermes.")]
    started = store.time
    second += [
        store.user("s2", "first prompt", timestamp=started),
        store.user("s2", f"{SUMMARY}So far.", timestamp=started + pause),
        store.answer("s2", "late answer", timestamp=started + 2 * pause),
        store.user("s2", "late prompt", timestamp=started + 2 * pause),
    ]
    store.time += 20
    second.append(store.answer("s2", "new answer"))
    for name in ("s1", "s2", ""):
        folder = tmp_path / (name or "none")
        folder.mkdir()
        session = opened(folder, *first, *second, session=name)
        assert now(session) == [
            "You are Hermes.",
            "first prompt",
            f"{SUMMARY}So far.",
            "late answer",
            "late prompt",
            "new answer",
        ]
        assert [context.cause for context in session.contexts] == [ContextCause.START, ContextCause.COMPACTION]
        assert session.contexts[1].retained == 5
        assert len(session.calls) == 3
        assert len(session.messages) == 8
        assert prompt(session, 1) == ["You are Hermes.", "first prompt", "looking", '{"command": "ls"}', "found"]
        (made,) = session.compactions
        assert session.messages[made.message].is_summary
        assert (session.identifier, session.title) == ("s1", "Long work")
    assert [one.identifier for one in HermesFormat().contained_sessions(tmp_path / "s1" / "state.db")] == ["s1"]


def test_branches_and_subagents_of_a_compressed_session_do_not_continue_it(tmp_path: Path) -> None:
    store = HermesStore()
    path = create(
        tmp_path / "state.db",
        store.session("s1"),
        store.user("s1", "one"),
        store.end("s1", "compression"),
        store.session("branch", parent_session_id="s1", model_config='{"_branched_from": "s1"}'),
        store.user("branch", "branched"),
        store.session("sub", parent_session_id="s1", source="tool"),
        store.user("sub", "delegated"),
        store.session("s2", parent_session_id="s1", model_config='{"_branched_from": "elsewhere"}'),
        store.user("s2", "two"),
    )
    assert texts(open_session(Path(f"{path}#s1")), (0, 1)) == ["one", "two"]
    assert now(open_session(Path(f"{path}#branch"))) == ["branched"]
    parents = {one.identifier: one.parent for one in HermesFormat().contained_sessions(path)}
    assert parents == {"s1": "", "branch": "", "sub": "s1"}
    links = open_session(Path(f"{path}#s1")).links
    assert [(link.kind, link.identifier) for link in links] == [(LinkKind.SUBAGENT, "sub")]
    assert [one.identifier for one in subagents_of(open_session(Path(f"{path}#s1"))).found] == ["sub"]


def test_sessions_that_name_each_other_as_parents_are_read(tmp_path: Path) -> None:
    store = HermesStore()
    path = create(
        tmp_path / "state.db",
        store.session("a", parent_session_id="b", end_reason="compression"),
        store.session("b", parent_session_id="a", end_reason="compression"),
        store.session("c", parent_session_id="c", end_reason="compression"),
        store.user("a", "one"),
        store.user("c", "round"),
    )
    assert_sound(open_session(Path(f"{path}#a")))
    assert now(open_session(Path(f"{path}#c"))) == ["round"]
    HermesFormat().contained_sessions(path)


@pytest.mark.parametrize("pause", [0, 7])
def test_a_compaction_in_place_archives_rows_and_writes_the_kept_ones_again(tmp_path: Path, pause: int) -> None:
    store = HermesStore()
    archived = {"active": 0, "compacted": 1}
    rows = [
        store.session("s1"),
        store.user("s1", "first", **archived),
        store.answer("s1", "answer one", **archived),
        store.user("s1", "second", **archived),
        store.answer("s1", "answer two", **archived),
    ]
    store.time += 30
    moment = store.time
    rows += [
        store.user("s1", "first", timestamp=moment),
        store.message("s1", "assistant", "It was like this.", _compressed_summary=1, timestamp=moment),
        store.user("s1", "second", timestamp=moment + pause),
        store.answer("s1", "answer two", timestamp=moment + 2 * pause),
    ]
    store.time += 30
    rows += [store.user("s1", "third"), store.answer("s1", "answer three")]
    session = opened(tmp_path, *rows)
    assert now(session) == ["first", "It was like this.", "second", "answer two", "third", "answer three"]
    assert len(session.calls) == 3
    assert len(session.messages) == 7
    assert session.contexts[1].retained == 4
    assert session.messages[session.compactions[0].message].is_summary
    assert not any(message.is_abandoned for message in session.messages)


def test_rows_that_were_taken_back_are_marked_and_no_longer_sent(tmp_path: Path) -> None:
    store = HermesStore()
    rows = [
        store.session("s1"),
        store.user("s1", "one"),
        store.answer("s1", "answer"),
        store.user("s1", "wrong", active=0),
        store.answer("s1", "wrong answer", active=0),
    ]
    session = opened(tmp_path, *rows, store.user("s1", "right"), store.answer("s1", "right answer"))
    assert now(session) == ["one", "answer", "right", "right answer"]
    assert [message.is_abandoned for message in session.messages] == [False, False, True, True, False, False]
    assert prompt(session, 1) == ["one", "answer", "wrong"]
    (tmp_path / "state.db").unlink()
    assert now(opened(tmp_path, *rows)) == ["one", "answer"]


def test_every_kind_of_content_is_read(tmp_path: Path) -> None:
    store = HermesStore()
    parts = [{"type": "text", "text": "see"}, {"type": "image_url", "image_url": {"url": PNG}}]
    session = opened(
        tmp_path,
        ("INSERT INTO system_prompts VALUES ('h', 'Shared text.')", ()),
        store.session("s1", system_prompt_hash="h"),
        store.message("s1", "session_meta", "{}"),
        store.user("s1", "\x00json:" + json.dumps(parts)),
        store.user("s1", "short", api_content="short, and what was added for the model"),
        store.user("s1", "hidden", display_kind="hidden"),
        store.answer("s1", "", "c1", reasoning="hm", reasoning_content="hmm"),
        store.message("s1", "tool", "\x00json:[broken", tool_call_id="c1"),
        store.message("s1", "oracle", "of no known role"),
        store.message("s1", "user", b"\xff\x00bytes"),
        store.message("s1", "assistant", None, tool_calls="not json"),
    )
    assert session.text(session.blocks[0]) == "Shared text."
    assert session.blocks[2].kind is BlockKind.IMAGE
    assert session.blocks[2].media[0].width == 2
    assert session.text(session.blocks[3]) == "short, and what was added for the model"
    assert session.messages[3].is_meta
    assert (session.blocks[5].kind, session.text(session.blocks[5])) == (BlockKind.THINKING, "hmm")
    assert session.text(session.blocks[7]) == "\x00json:[broken"
    assert session.messages[6].role is Role.OTHER
    assert 6 not in session.contexts[-1].members


def test_a_row_that_changed_is_read_again_and_a_lost_one_says_so(tmp_path: Path) -> None:
    store = HermesStore()
    path = create(tmp_path / "state.db", store.session("s1"), store.user("s1", "one"), store.user("s1", "two"))
    session = open_session(path)
    with closing(sqlite3.connect(path)) as connection:
        run(connection, ("UPDATE messages SET content = 'changed' WHERE id = 1", ()))
        run(connection, ("DELETE FROM messages WHERE id = 2", ()))
    with pytest.raises(TextUnavailableError, match="rewritten"):
        session.text(session.blocks[0])
    with pytest.raises(TextUnavailableError, match="no longer"):
        session.text(session.blocks[1])


def test_a_followed_conversation_goes_on_in_the_session_it_was_handed_to(tmp_path: Path) -> None:
    store = HermesStore()
    path = create(tmp_path / "state.db", store.session("s1"), store.user("s1", "one"))
    follower = Follower(path)
    first = follower.session.messages[0]
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        run(connection, store.end("s1", "compression"), store.session("s2", parent_session_id="s1"))
        run(connection, store.user("s2", f"{SUMMARY}.", timestamp=store.time), store.answer("s2", "two"))
        follower.poll()
        assert follower.change == "appended"
        assert follower.session == open_session(path)
        assert len(follower.session.contexts) == 2
        assert follower.session.messages[0] is first
        run(connection, ("UPDATE sessions SET title = 'Named' WHERE id = 's2'", ()))
        follower.poll()
        assert follower.session.title == "Named"
        assert follower.poll() is None


def story(number: int) -> list[list[Statement]]:
    store = HermesStore()
    told: list[list[Statement]] = []
    session, live = "s0", 0
    for step in range(number):
        match (step * 7) % 10:
            case 0 | 1 | 2:
                told.append([store.user(session, f"prompt {step}")])
            case 3 | 4 | 5:
                told.append(
                    [store.answer(session, f"answer {step}", f"c{step}"), store.result(session, f"c{step}", "r")]
                )
            case 6:
                told.append([("UPDATE messages SET active = 0 WHERE id = ?", (store.messages,))])
            case 7:
                update = "UPDATE messages SET active = 0, compacted = 1 WHERE session_id = ? AND active = 1"
                store.time += 5
                told.append([(update, (session,)), store.user(session, f"{SUMMARY}{step}")])
            case 8:
                live += 1
                end, child = store.end(session, "compression"), f"s{live}"
                made = store.session(child, parent_session_id=session)
                told.append([end, made, store.user(child, f"{SUMMARY}{step}", timestamp=store.time)])
                session = child
            case 9:
                told.append([("DELETE FROM messages WHERE id = ?", (store.messages - 1,))])
    return told


def test_an_agent_that_commits_at_random_moments_is_followed(tmp_path: Path) -> None:
    path = create(tmp_path / "state.db", HermesStore().session("s0", system_prompt="You are Hermes."))
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        run(connection, HermesStore(messages=9_000).user("s0", "first"))
    follower = Follower(path)
    steps: list[dict[str, Any]] = []
    for number, statements in enumerate(story(60)):
        steps.append(sql(*statements))
        if number % 9 == 4:
            steps.append(sql(HermesStore(messages=9_600).answer("s0", "taken back"), end="ROLLBACK"))
        if number % 20 == 10:
            steps.append({"do": "checkpoint"})
    for _ in quiet_moments(path, steps, follower.poll, seed=13):
        follower.poll()
        follower.poll()
        assert follower.session == open_session(path)
        assert_sound(follower.session)
    assert len(follower.session.messages) > 40


META = {"role": "session_meta", "tools": [{"type": "function", "function": {"name": "terminal"}}], "model": "m1"}


def lines(*entries: dict[str, Any]) -> bytes:
    return b"".join(json.dumps(entry).encode() + b"\n" for entry in entries)


def conversation(count: int) -> list[dict[str, Any]]:
    function = {"name": "terminal", "arguments": '{"command": "ls"}'}
    made: list[dict[str, Any]] = []
    for number in range(count):
        call = {"id": f"c{number}", "call_id": f"c{number}", "type": "function", "function": function}
        time = f"2026-03-01T10:{number:02d}:00.123456"
        made.append({"role": "user", "content": f"prompt {number}", "timestamp": time})
        made.append({"role": "assistant", "content": "", "reasoning": "hm", "tool_calls": [call], "timestamp": time})
        made.append({"role": "tool", "content": f"result {number}", "tool_call_id": f"c{number}", "timestamp": time})
    return made


def test_lines_with_a_description_of_their_session_are_read(tmp_path: Path) -> None:
    path = tmp_path / "20260301_100000_ab.jsonl"
    path.write_bytes(lines(META, *conversation(2), {"role": "assistant", "content": "Done."}))
    session = open_session(path)
    assert session.format == "hermes"
    assert_sound(session)
    assert now(session)[0] == json.dumps(META["tools"])
    assert now(session)[1:5] == ["prompt 0", "hm", '{"command": "ls"}', "result 0"]
    assert [call.model for call in session.calls] == ["m1"] * 3
    assert session.record_counts == {"session_meta": 1, "user": 2, "assistant": 3, "tool": 2}
    assert [block.tool_name for block in session.blocks if block.kind is BlockKind.TOOL_RESULT] == ["terminal"] * 2
    assert session.messages[1].time is not None


def test_a_summary_among_the_messages_is_marked_and_is_no_answer(tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    summary = {"role": "assistant", "content": f"{SUMMARY}So far."}
    path.write_bytes(lines(META, {"role": "user", "content": "first"}, summary, *conversation(1)))
    session = open_session(path)
    assert [message.is_summary for message in session.messages] == [False, False, True, False, False, False]
    assert len(session.calls) == 1
    assert session.compactions[0].message == 2
    assert len(session.contexts) == 1


def test_a_document_is_read_with_its_system_text_and_tools(tmp_path: Path) -> None:
    path = tmp_path / "session_1.json"
    about = {"session_id": "s1", "model": "m1", "platform": "cli", "system_prompt": "You are Hermes.", "tools": [{}]}
    path.write_text(json.dumps({**about, "message_count": 6, "messages": conversation(2)}, indent=1))
    session = open_session(path)
    assert session.format == "hermes"
    assert_sound(session)
    assert now(session)[1] == "You are Hermes."
    assert len(session.calls) == 2
    assert session.identifier == "s1"
    one_line = tmp_path / "one-line.json"
    one_line.write_text(json.dumps({**about, "messages": conversation(2)}))
    assert now(open_session(one_line))[1:] == now(session)[1:]


def test_a_damaged_document_is_still_one_of_hermes(tmp_path: Path) -> None:
    path = tmp_path / "session_1.json"
    about = {"session_id": "s1", "platform": "cli", "system_prompt": "You are Hermes."}
    path.write_text(json.dumps({**about, "messages": [*conversation(1), {"role": None, "content": 1}, {}]}, indent=1))
    session = open_session(path)
    assert session.format == "hermes"
    assert now(session) == ["You are Hermes.", "prompt 0", "hm", '{"command": "ls"}', "result 0"]


def test_rows_without_a_time_or_a_known_role_behind_a_compression_are_no_copies(tmp_path: Path) -> None:
    store = HermesStore()
    path = create(
        tmp_path / "state.db",
        store.session("s1"),
        store.user("s1", "first"),
        store.answer("s1", "one"),
        store.end("s1", "compression"),
        store.session("s2", parent_session_id="s1"),
        store.user("s2", f"{SUMMARY}So far."),
        store.answer("s2", "two", timestamp="unreadable"),
        store.message("s2", "observer", "noted"),
    )
    session = open_session(path)
    assert_sound(session)
    assert [session.text(session.messages[call.response].blocks[0]) for call in session.calls] == ["one", "two"]
    assert now(session) == [f"{SUMMARY}So far.", "two"]


def test_plain_conversations_are_not_taken_for_hermes(tmp_path: Path) -> None:
    path = tmp_path / "chat.jsonl"
    path.write_bytes(lines(*conversation(2)))
    assert detect(path).format.name == "openai-chat"


def test_an_agent_that_writes_files_at_random_moments_is_followed(tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    entries = conversation(20)
    path.write_bytes(lines(META))
    follower = Follower(path)
    steps = [append(lines(entry)) for entry in entries]
    compacted = lines(META, {"role": "user", "content": f"{SUMMARY}So far."}, *entries[27:30])
    steps.insert(30, replace(compacted))
    for _ in quiet_moments(path, steps, follower.poll, seed=17):
        follower.poll()
        assert follower.session == open_session(path)
    document = tmp_path / "session_2.json"
    about = {"session_id": "s2", "platform": "cli", "system_prompt": "x"}
    document.write_text(json.dumps({**about, "messages": []}))
    follower = Follower(document)
    steps = [
        rewrite(json.dumps({**about, "messages": entries[: 3 * count]}, indent=1).encode()) for count in range(1, 15)
    ]
    for done in quiet_moments(document, steps, follower.poll, seed=19):
        follower.poll()
        assert follower.session == open_session(document)
        assert len(follower.session.calls) == done


@settings(
    max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
@given(data=st.data(), is_document=st.booleans())
def test_nothing_in_changed_files_makes_the_reader_raise(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, is_document: bool
) -> None:
    summary = {"role": "user", "content": f"{SUMMARY}So far."}
    entries = [META, summary, *conversation(2), {"role": "user", "content": [{"type": "text", "text": "x"}]}]
    made = data.draw(mutated([json.dumps(entry).encode() for entry in entries]))
    if is_document:
        inner = b",".join(line for line in made.split(b"\n") if line)
        made = b'{"session_id":"s","platform":"cli","messages":[' + inner + b"]}"
    path = tmp_path_factory.mktemp("changed") / "session.json"
    path.write_bytes(made)
    assert_reads(HermesFormat(), path)


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database with rows of every kind, to be changed in copies."""
    path = create(tmp_path_factory.mktemp("sound") / "state.db", HermesStore().session("s0", system_prompt="x"))
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        run(connection, *(statement for statements in story(20) for statement in statements))
    return path


@settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(changes=row_changes(30))
def test_nothing_in_changed_rows_makes_the_reader_raise(
    tmp_path_factory: pytest.TempPathFactory, sound: Path, changes: list[tuple[str, int, int, Any]]
) -> None:
    path = Path(shutil.copy(sound, tmp_path_factory.mktemp("changed") / "state.db"))
    change_rows(path, changes)
    assert_reads(HermesFormat(), path)
    HermesFormat().contained_sessions(path)
