"""Records copied from another session, branches of a conversation, and the folder of a renamed file."""

import json
from pathlib import Path
from typing import Any

import pytest

from inspector.session.follow import Follower
from inspector.session.model import LinkKind
from inspector.session.open import open_session
from inspector.session.reading_check import independent_totals, totals_of
from inspector.session.registry import detect
from inspector.session.related import full_output, locate, subagent_of, without_copied_calls
from tests.session.claude_lines import SESSION, Script, prompt_texts

EARLIER = "99999999-2222-4333-8444-555555555555"
USAGE = {"input_tokens": 3, "output_tokens": 20, "cache_read_input_tokens": 100, "cache_creation_input_tokens": 7}


def resumed(*, is_copied: bool = True) -> Script:
    """A session that goes on from another one's lines, which keep that one's id."""
    script = Script()
    script.prompt("old", sessionId=EARLIER)
    script.text("m1", usage=USAGE, sessionId=EARLIER)
    if not is_copied:
        script.parent = None
    script.prompt("new")
    script.text("m2", usage=USAGE)
    return script


def inherited(path: Path) -> list[bool]:
    return [message.is_inherited for message in open_session(path).messages]


def test_a_renamed_copy_shows_what_it_inherited_by_the_line_it_goes_on_from(tmp_path: Path) -> None:
    path = resumed().write(tmp_path / "renamed.jsonl")
    assert inherited(path) == [True, True, False, False]
    (link,) = open_session(path).links
    assert (link.kind, link.identifier) == (LinkKind.CONTINUED, EARLIER)


def test_sessions_that_only_are_in_one_file_inherit_nothing_from_each_other(tmp_path: Path) -> None:
    path = resumed(is_copied=False).write(tmp_path / "joined.jsonl")
    assert inherited(path) == [False] * 4


def test_a_resume_of_a_resume_inherits_from_both(tmp_path: Path) -> None:
    script = resumed()
    script.prompt("newest", sessionId="aaaaaaaa-2222-4333-8444-555555555555")
    assert inherited(script.write(tmp_path / "renamed.jsonl")) == [True] * 4 + [False]


def test_a_name_that_no_line_has_for_its_session_tells_nothing(tmp_path: Path) -> None:
    script = Script()
    script.prompt("go")
    script.text("m1")
    session = open_session(script.write(tmp_path / f"{EARLIER}.jsonl"))
    assert not any(message.is_inherited for message in session.messages)
    assert (session.identifier, session.links) == (SESSION, ())
    renamed = resumed().write(tmp_path / "bbbbbbbb-2222-4333-8444-555555555555.jsonl")
    assert inherited(renamed) == [True, True, False, False]


def test_the_name_counts_from_the_first_line_that_has_it(tmp_path: Path) -> None:
    own = {"type": "mode", "mode": "normal", "sessionId": SESSION}
    for place in (0, 2, 4):
        script = resumed()
        script.lines[2]["parentUuid"] = None
        script.lines.insert(place, own)
        session = open_session(script.write(tmp_path / f"{SESSION}.jsonl"))
        assert [message.is_inherited for message in session.messages] == [True, True, False, False]
        assert session.identifier == SESSION
        assert [link.identifier for link in session.links] == [EARLIER]


def test_a_line_that_shows_a_copy_while_it_is_followed_marks_what_came_before(tmp_path: Path) -> None:
    lines = resumed().encoded()
    path = tmp_path / "renamed.jsonl"
    path.write_bytes(b"".join(lines[:2]))
    follower = Follower(path)
    follower.poll()
    assert follower.session is not None
    assert not any(message.is_inherited for message in follower.session.messages)
    with path.open("ab") as file:
        file.write(b"".join(lines[2:]))
    follower.poll()
    assert follower.session == open_session(path)


def test_copied_calls_count_once_among_sessions_that_are_still_there(tmp_path: Path) -> None:
    path = resumed().write(tmp_path / f"{SESSION}.jsonl")
    session = open_session(path)
    assert len(session.calls) == len(without_copied_calls(session).calls) == 2
    (tmp_path / f"{EARLIER}.jsonl").write_bytes(b"".join(resumed().encoded()[:2]))
    assert [call.identifier for call in without_copied_calls(session).calls] == ["req_m2"]
    assert len(session.calls) == 2


@pytest.mark.parametrize("name", ["agent-acompact-1a2b.jsonl", "agent-aside_question-1a2b.jsonl"])
def test_the_run_of_a_summary_inherits_all_but_its_own_question_and_answer(tmp_path: Path, name: str) -> None:
    script = Script()
    script.prompt("go")
    script.call("m1", "toolu_1", usage=USAGE)
    script.result("toolu_1")
    script.text("m2", usage=USAGE)
    script.prompt("and then")
    script.text("m3", usage=USAGE)
    script.prompt("Your task is to create a detailed summary of the conversation so far.")
    script.text("m4", "A summary.", usage=USAGE)
    for line in script.lines:
        line.update(isSidechain=True, agentId="acompact-1a2b")
    path = tmp_path / SESSION / "subagents" / name
    path.parent.mkdir(parents=True)
    session = open_session(script.write(path))
    assert [message.is_inherited for message in session.messages] == [True] * 6 + [False, False]
    assert prompt_texts(session, -1)[-1].startswith("Your task")
    assert [call.identifier for call in session.calls if not session.messages[call.response].is_inherited] == ["req_m4"]
    assert session.copied_calls == len(session.calls) - 1


def with_leaf(leaf: str) -> dict[str, Any]:
    return {"type": "last-prompt", "lastPrompt": "first", "leafUuid": leaf, "sessionId": SESSION}


def forked() -> tuple[Script, str]:
    """Two prompts behind the same answer; the leaf of the first of them."""
    script = Script()
    script.prompt("go")
    answered = script.text("m1")
    script.prompt("first")
    leaf = script.text("m2")
    script.parent = answered
    script.prompt("second")
    script.text("m3")
    return script, leaf


def test_the_leaf_noted_last_shows_the_branch_that_is_sent_next(tmp_path: Path) -> None:
    script, leaf = forked()
    script.lines.append(with_leaf(leaf))
    session = open_session(script.write(tmp_path / "session.jsonl"))
    assert [message.is_abandoned for message in session.messages] == [False] * 4 + [True, True]
    assert session.contexts[-1].members == (0, 1, 2, 3)


def test_what_follows_a_noted_leaf_tells_more_than_it(tmp_path: Path) -> None:
    script, leaf = forked()
    lines, tail = list(script.lines), script.parent
    script.lines.append(with_leaf(leaf))
    script.parent = tail
    script.prompt("second goes on")
    script.text("m4")
    session = open_session(script.write(tmp_path / "session.jsonl"))
    assert [message.is_abandoned for message in session.messages] == [False, False, True, True] + [False] * 4
    assert session.contexts[-1].members == (0, 1, 4, 5, 6, 7)
    assert len(lines) == 6


@pytest.mark.parametrize("leaf", ["00000001-0000-4000-8000-000000000000", "unknown", None])
def test_a_leaf_that_the_conversation_went_on_from_or_that_is_unknown_changes_nothing(
    tmp_path: Path, leaf: str | None
) -> None:
    script, _ = forked()
    before = open_session(script.write(tmp_path / "session.jsonl"))
    script.lines.append({"type": "last-prompt", "leafUuid": leaf, "sessionId": SESSION})
    after = open_session(script.write(tmp_path / "session.jsonl"))
    assert (after.messages, after.contexts) == (before.messages, before.contexts)


def test_a_renamed_session_finds_its_folder_by_its_id(tmp_path: Path) -> None:
    script = Script()
    script.block("m1", {"type": "tool_use", "id": "toolu_1", "name": "Agent", "input": {"prompt": "find it"}})
    script.result("toolu_1", "found", toolUseResult={"agentId": "a1"})
    script.call("m2", "toolu_2")
    preview = f"<persisted-output>\nOutput too large (64.5KB). Full output saved to: /x/{SESSION}/tool-results/b.txt\n"
    script.result("toolu_2", f"{preview}\nPreview (first 2KB):\nbegin")
    path = script.write(tmp_path / "renamed.jsonl")
    folder = tmp_path / SESSION
    (folder / "subagents").mkdir(parents=True)
    (folder / "tool-results").mkdir()
    child = Script().write(folder / "subagents" / "agent-a1.jsonl")
    (folder / "tool-results" / "b.txt").write_text("begin and end")
    session = open_session(path)
    link = subagent_of(session, "toolu_1")
    assert link is not None
    assert locate(session, link) == child
    found = full_output(session, session.text(session.blocks[-1]))
    assert found == (folder / "tool-results" / "b.txt", "begin and end")


def test_records_of_types_yet_unknown_tell_the_format_by_their_place_in_the_chain(tmp_path: Path) -> None:
    chained = {"parentUuid": None, "isSidechain": False, "sessionId": SESSION}
    script = Script()
    script.prompt("go")
    path = tmp_path / "session.jsonl"
    unknown = "".join(json.dumps({"type": "novel", **chained, "uuid": str(number)}) + "\n" for number in range(60))
    path.write_bytes(unknown.encode() + b"".join(script.encoded()))
    assert detect(path).format.name == "claude-code"
    assert open_session(path).record_counts == {"novel": 60, "user": 1}


def test_output_that_a_run_without_a_screen_prints_is_a_placeholder(tmp_path: Path) -> None:
    answer = {"id": "m1", "role": "assistant", "content": [{"type": "text", "text": "Hi."}], "usage": USAGE}
    lines = [
        {"type": "system", "subtype": "init", "session_id": "s", "cwd": "/project"},
        {"type": "user", "message": {"role": "user", "content": "hello"}, "session_id": "s"},
        {"type": "assistant", "message": answer, "session_id": "s", "parent_tool_use_id": None},
    ]
    path = tmp_path / "printed.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    (call,) = open_session(path).calls
    assert call.usage is not None
    assert (call.usage.prompt, call.usage.output_is_placeholder) == (110, True)


def test_the_runs_next_to_a_session_are_its_side_calls_each_once(tmp_path: Path) -> None:
    main = Script()
    main.prompt("go")
    main.text("m1", usage=USAGE)
    path = main.write(tmp_path / f"{SESSION}.jsonl")
    for name, identifier in (("agent-acompact-1a.jsonl", "c1"), ("agent-aside_question-2b.jsonl", "q1")):
        run = Script()
        run.prompt("go")
        run.text("m1", usage=USAGE)
        run.prompt("Summarise." if identifier == "c1" else "What is this?")
        run.text(identifier, "An answer.", usage=USAGE)
        run.text(identifier, "It goes on.", usage=USAGE)
        file = tmp_path / SESSION / "subagents" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        run.write(file)
    session = open_session(path)
    assert [(call.purpose, call.identifier) for call in session.side_calls] == [
        ("compaction", "req_c1"),
        ("side question", "req_q1"),
    ]
    assert [call.identifier for call in session.calls] == ["req_m1"]
    assert all(call.usage is not None and call.usage.output == USAGE["output_tokens"] for call in session.side_calls)


def test_a_run_that_ends_while_its_session_is_followed_is_taken_up(tmp_path: Path) -> None:
    main = Script()
    main.prompt("go")
    main.text("m1", usage=USAGE)
    path = main.write(tmp_path / f"{SESSION}.jsonl")
    follower = Follower(path)
    assert follower.session.side_calls == ()
    run = Script()
    run.prompt("Summarise.")
    run.text("c1", "A summary.", usage=USAGE)
    file = tmp_path / SESSION / "subagents" / "agent-acompact-1a.jsonl"
    file.parent.mkdir(parents=True)
    run.write(file)
    main.prompt("and then")
    main.write(path)
    follower.poll()
    assert [call.purpose for call in follower.session.side_calls] == ["compaction"]
    assert follower.session == open_session(path)


# A second compaction writes the old messages again with their uuids and times; the third prompt begins after it.
def test_messages_written_again_by_a_second_compaction_are_not_counted_again(tmp_path: Path) -> None:
    script = Script()
    for number in range(2):
        script.prompt(f"ask {number}")
        script.text(f"m{number}", usage=USAGE)
    old = [dict(line) for line in script.lines]
    script.boundary()
    script.summary("The first summary.")
    script.text("m2", usage=USAGE)
    script.lines += old
    script.boundary()
    script.summary("The second summary.")
    script.text("m3", usage=USAGE)
    session = open_session(script.write(tmp_path / f"{SESSION}.jsonl"))
    assert [call.identifier for call in session.calls] == ["req_m0", "req_m1", "req_m2", "req_m3"]
    assert session.record_counts["(repeated)"] == 4
    assert [list(context.members) for context in session.contexts] == [[0, 1, 2, 3], [4, 5], [6, 7]]
    assert independent_totals(session) == totals_of(session)


def test_lines_that_only_share_a_uuid_are_all_read(tmp_path: Path) -> None:
    script = Script()
    script.prompt("go")
    uuid = script.text("m1", usage=USAGE)
    script.prompt("and then")
    script.text("m2", uuid=uuid, usage={**USAGE, "input_tokens": 700})
    session = open_session(script.write(tmp_path / f"{SESSION}.jsonl"))
    assert [call.identifier for call in session.calls] == ["req_m1", "req_m2"]
    assert [call.prompt_messages for call in session.calls] == [1, 3]
    assert "(repeated)" not in session.record_counts
    assert independent_totals(session) == totals_of(session)


def forked_subagent(folder: Path) -> tuple[Path, Path]:
    """A session and the subagent it forked, which begins with a copy of it."""
    main = Script()
    main.prompt("go")
    last = main.block("m1", {"type": "text", "text": "An answer."}, USAGE)
    copied = [{**line, "isSidechain": True, "agentId": "a1"} for line in main.lines]
    arguments = {"description": "look", "prompt": "Look closer.", "subagent_type": "fork"}
    main.block("m2", {"type": "tool_use", "id": "t1", "name": "Agent", "input": arguments}, USAGE)
    path = main.write(folder / f"{SESSION}.jsonl")
    run = Script(parent=last)
    ref = {"type": "fork-context-ref", "agentId": "a1", "parentSessionId": SESSION, "parentLastUuid": last}
    run.lines += [{**ref, "contextLength": 2}, *copied]
    run.prompt("Look closer.", isSidechain=True, agentId="a1")
    # It reads the parent's prompt of 110 tokens from the cache.
    usage = {**USAGE, "cache_read_input_tokens": 107, "cache_creation_input_tokens": 40}
    run.text("s1", usage=usage, isSidechain=True, agentId="a1")
    file = folder / SESSION / "subagents" / "agent-a1.jsonl"
    file.parent.mkdir(parents=True)
    return path, run.write(file)


def test_a_forked_subagent_begins_with_its_parents_conversation_which_was_billed_there(tmp_path: Path) -> None:
    _, file = forked_subagent(tmp_path)
    session = open_session(file)
    assert [message.is_inherited for message in session.messages] == [True, True, False, False]
    assert (len(session.calls), session.copied_calls) == (2, 1)
    (own,) = without_copied_calls(session).calls
    assert own.usage is not None
    assert (own.prompt_messages, own.usage.cache_read) == (3, 107)
    assert prompt_texts(session, 1) == ["go", "An answer.", "Look closer."]


def test_a_running_fork_is_found_by_its_own_prompt(tmp_path: Path) -> None:
    path, file = forked_subagent(tmp_path)
    (link,) = open_session(path).links
    assert link.kind is LinkKind.SUBAGENT
    assert locate(open_session(path), link) == file
