"""Grok Build's sessions: messages in one file, what they were billed for in another."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from inspector.session.discovery import sessions_in
from inspector.session.errors import SessionError
from inspector.session.follow import Follower
from inspector.session.formats.grok import GrokFormat
from inspector.session.model import BlockKind, LinkKind, Role, Usage
from inspector.session.open import open_session
from tests.session.grok_lines import GrokScript, grok
from tests.session.run_files import encoded, jsonl
from tests.session.soundness import assert_sound

if TYPE_CHECKING:
    from pathlib import Path

    from inspector.session.model import Session


def opened(folder: Path, script: GrokScript) -> Session:
    session = open_session(script.write(folder / "s1"))
    assert session.format == "grok-build"
    assert_sound(session)
    return session


def texts(session: Session) -> list[str]:
    return [session.text(block) for block in session.blocks if block.kind is not BlockKind.THINKING]


def test_a_turn_is_a_call_its_result_and_what_was_said(tmp_path: Path) -> None:
    script = GrokScript()
    script.user("rules", synthetic_reason="project_instructions")
    script.user("go", prompt_index=0)
    script.answer("looking", "c1", (100, 400, 20))
    script.result("c1", "found")
    script.answer("done", tokens=(30, 500, 7))
    session = opened(tmp_path, script)
    assert [(message.role, message.blocks[-1].kind) for message in session.messages] == [
        (Role.SYSTEM, BlockKind.SYSTEM_TEXT),
        (Role.USER, BlockKind.USER_TEXT),
        (Role.USER, BlockKind.USER_TEXT),
        (Role.ASSISTANT, BlockKind.TOOL_CALL),
        (Role.TOOL, BlockKind.TOOL_RESULT),
        (Role.ASSISTANT, BlockKind.ASSISTANT_TEXT),
    ]
    assert texts(session)[1:] == ["rules", "go", "looking", '{"target_file": "a"}', "found", "done"]
    assert session.messages[3].blocks[0].kind is BlockKind.THINKING
    assert session.messages[4].blocks[0].tool_name == "read_file"
    assert [message.is_meta for message in session.messages[:3]] == [False, True, False]
    assert [call.prompt_messages for call in session.calls] == [3, 5]
    assert [call.usage for call in session.calls] == [
        Usage(uncached=100, cache_read=400, output=20, reasoning=5),
        Usage(uncached=30, cache_read=500, output=7, reasoning=5),
    ]
    assert (session.calls[0].model, session.calls[0].time) == ("grok-4.5", 1_750_000_000 + 4)
    assert session.side_calls == ()


def test_what_stands_beside_the_messages_tells_of_the_session(tmp_path: Path) -> None:
    session = opened(tmp_path, grok(1))
    assert (session.identifier, session.title, session.working_directory) == ("s1", "A title", "/work")
    assert (session.window, session.agent) == (256_000, "Grok Build")
    assert [(link.kind, link.identifier) for link in session.links] == [(LinkKind.CONTINUED, "s0")]


def test_a_compaction_leaves_its_summary_and_the_requests_before_it_are_billed_beside(tmp_path: Path) -> None:
    script = grok(3)
    script.answer("kept", tokens=(10, 600, 9))
    script.compact("So far: …", kept=2)
    script.answer("after", tokens=(700, 0, 8))
    session = opened(tmp_path, script)
    (compaction,) = session.compactions
    assert (compaction.tokens_before, compaction.tokens_after) == (90_000, 9_000)
    assert session.messages[compaction.message].is_summary
    assert [message.is_inherited for message in session.messages] == [False, True, False, False]
    assert [call.usage and call.usage.prompt for call in session.calls] == [700]
    assert [side.usage and side.usage.prompt for side in session.side_calls] == [500, 500, 500, 610]


def test_a_response_that_was_told_again_counts_once(tmp_path: Path) -> None:
    script = grok(2)
    script.updates += [line for line in script.updates if line["params"]["update"].get("message_id") == "m0"]
    session = opened(tmp_path, script)
    assert [call.usage and call.usage.prompt for call in session.calls] == [500, 500]
    assert session.side_calls == ()


def test_a_response_that_was_taken_back_is_billed_and_no_message(tmp_path: Path) -> None:
    script = GrokScript()
    script.user("go")
    script.answer("wrong way", tokens=(1, 2, 3))
    del script.rows[-3:]
    script.user("another way")
    script.answer("right", tokens=(10, 20, 30))
    session = opened(tmp_path, script)
    assert [call.usage and call.usage.output for call in session.calls] == [30]
    assert [side.usage and side.usage.output for side in session.side_calls] == [3]


def test_a_response_that_broke_off_has_no_usage_and_takes_none_of_anothers(tmp_path: Path) -> None:
    script = GrokScript()
    script.user("go")
    script.answer("first", tokens=(1, 2, 3))
    script.add("assistant", content="broke o", model_id="grok-4.5")
    script.tell("agent_message_chunk", content={"type": "text", "text": "broke o"})
    script.tell("turn_completed", prompt_id="p", stop_reason="cancelled")
    script.user("again")
    script.answer("last", tokens=(10, 20, 30))
    session = opened(tmp_path, script)
    assert [call.usage and call.usage.output for call in session.calls] == [3, None, 30]


def test_calls_at_the_provider_belong_to_the_answer_behind_them(tmp_path: Path) -> None:
    script = GrokScript()
    script.user("go")
    search = {"tool_type": "web_search", "id": "ws", "status": "completed", "action": {"type": "search", "query": "q"}}
    script.add("backend_tool_call", kind=search)
    script.answer("found")
    session = opened(tmp_path, script)
    answer = session.messages[session.calls[0].response]
    assert (answer.blocks[0].kind, answer.blocks[0].tool_name) == (BlockKind.TOOL_CALL, "web_search")
    assert session.text(answer.blocks[0]) == '{"type":"search","query":"q"}'


def test_the_older_form_of_the_history_is_read(tmp_path: Path) -> None:
    call: dict[str, Any] = {"id": "c", "type": "function", "function": {"name": "read_file", "arguments": "{}"}}
    rows = [
        {"role": "system", "content": "You are Grok"},
        {"role": "user", "content": "go"},
        {
            "role": "assistant",
            "content": "looking",
            "tool_calls": [call],
            "model_id": "grok-4",
            "reasoning_content": "hm",
        },
        {"role": "tool", "content": "found", "tool_call_id": "c"},
    ]
    script = GrokScript()
    script.write(tmp_path / "s1")
    (tmp_path / "s1" / "chat_history.jsonl").write_bytes(jsonl(rows))
    session = open_session(tmp_path / "s1")
    assert session.format == "grok-build"
    assert_sound(session)
    assert [message.role for message in session.messages] == [Role.SYSTEM, Role.USER, Role.ASSISTANT, Role.TOOL]
    assert session.messages[3].blocks[0].tool_name == "read_file"
    assert session.calls[0].usage is None


def test_a_row_of_an_unknown_kind_is_shown_and_not_sent(tmp_path: Path) -> None:
    script = grok(1)
    script.add("hologram", content="?")
    session = opened(tmp_path, script)
    assert session.messages[-1].role is Role.OTHER
    assert len(session.messages) - 1 not in session.contexts[0].members


def test_a_session_is_followed_through_both_files_and_a_compaction(tmp_path: Path) -> None:
    folder = grok(2).write(tmp_path / "s1")
    follower = Follower(folder)
    script = grok(3)
    (folder / "chat_history.jsonl").write_bytes(b"".join(encoded(row) + b"\n" for row in script.rows))
    follower.poll()
    assert follower.session.calls[-1].usage is None
    script.write(folder)
    follower.poll()
    assert follower.session.calls[-1].usage is not None
    assert follower.session == open_session(folder)
    script.compact("So far: …")
    script.answer("after")
    script.write(folder)
    for _ in range(3):
        follower.poll()
    assert follower.session == open_session(folder)
    assert len(follower.session.side_calls) == 3


def test_a_broken_update_is_told_with_its_file_and_line(tmp_path: Path) -> None:
    folder = grok(2).write(tmp_path / "s1")
    lines = (folder / "updates.jsonl").read_bytes().splitlines(keepends=True)
    (folder / "updates.jsonl").write_bytes(b"".join([lines[0], b'{"params": {\n', *lines[1:]]))
    session = open_session(folder)
    assert [(note.reason, note.line) for note in session.diagnostics] == [("updates.jsonl: invalid JSON", 2)]
    assert all(call.usage is not None for call in session.calls)


def test_any_of_a_sessions_paths_opens_it_and_its_folder_is_listed_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GROK_HOME", str(tmp_path))
    (home,) = GrokFormat().homes()
    folder = grok(2).write(home / "%2Fwork" / "s1")
    for path in (folder, folder / "chat_history.jsonl", folder / "updates.jsonl"):
        assert len(open_session(path).calls) == 2
    assert [(header.format, header.path) for header in sessions_in(home)] == [("grok-build", folder)]


def test_updates_without_a_history_are_no_session(tmp_path: Path) -> None:
    folder = grok(2).write(tmp_path / "s1")
    (folder / "chat_history.jsonl").unlink()
    with pytest.raises(SessionError, match="of no known agent"):
        open_session(folder / "updates.jsonl")


def test_the_session_it_was_forked_from_is_beside_it(tmp_path: Path) -> None:
    folder = grok(1).write(tmp_path / "s1")
    other = grok(1).write(tmp_path / "s0")
    assert GrokFormat().locate(folder, "s0") == other
    assert GrokFormat().locate(folder, "../x") is None
