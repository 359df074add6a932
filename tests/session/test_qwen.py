"""Qwen Code's sessions: a tree of records, compressions, and usage in two dialects."""

from pathlib import Path
from typing import Any

import pytest

from inspector.session.discovery import sessions_in
from inspector.session.formats.qwen import QwenFormat, usage_of
from inspector.session.model import BlockKind, ContextCause, LinkKind, Role, Session
from inspector.session.open import open_session
from tests.session.following import tailed
from tests.session.qwen_lines import QwenScript, qwen
from tests.session.run_files import encoded, jsonl
from tests.session.soundness import assert_sound


def opened(tmp_path: Path, script: QwenScript) -> Session:
    path = tmp_path / "s1.jsonl"
    path.write_bytes(jsonl(script.lines))
    session = open_session(path)
    assert session.format == "qwen-code"
    assert_sound(session)
    return session


def texts(session: Session, context: int = -1) -> list[str]:
    return [
        session.text(block)
        for index in session.contexts[context].members
        for block in session.messages[index].blocks
        if block.kind is not BlockKind.THINKING
    ]


def test_a_turn_is_a_call_its_result_and_what_was_stated(tmp_path: Path) -> None:
    script = QwenScript()
    script.user("go")
    script.answer("looking", "c1")
    script.result("c1", "found")
    script.answer("done")
    session = opened(tmp_path, script)
    assert [(message.role, message.blocks[-1].kind) for message in session.messages] == [
        (Role.USER, BlockKind.USER_TEXT),
        (Role.ASSISTANT, BlockKind.TOOL_CALL),
        (Role.TOOL, BlockKind.TOOL_RESULT),
        (Role.ASSISTANT, BlockKind.ASSISTANT_TEXT),
    ]
    assert texts(session) == ["go", "looking", '{"path":"a"}', "found", "done"]
    assert session.messages[2].blocks[0].tool_name == "read_file"
    assert [call.prompt_messages for call in session.calls] == [1, 3]
    assert (session.calls[0].model, session.window, session.agent) == ("qwen3-coder-plus", 262_144, "Qwen Code 0.24.7")
    assert (session.identifier, session.working_directory) == ("s1", "/work")


@pytest.mark.parametrize(
    ("reported", "output"),
    [
        ({"candidatesTokenCount": 20, "thoughtsTokenCount": 5, "totalTokenCount": 1_020}, 20),
        ({"candidatesTokenCount": 20, "thoughtsTokenCount": 5, "totalTokenCount": 1_025}, 25),
        ({"candidatesTokenCount": 20, "thoughtsTokenCount": 5}, 20),
        ({"candidatesTokenCount": 20}, 20),
    ],
)
def test_whether_thoughts_are_part_of_the_output_is_reported_by_the_total(
    reported: dict[str, int], output: int
) -> None:
    usage = usage_of({"promptTokenCount": 1_000, "cachedContentTokenCount": 400, **reported})
    assert usage is not None
    assert (usage.uncached, usage.cache_read, usage.output) == (600, 400, output)


def test_usage_of_zeros_is_none() -> None:
    assert usage_of({"promptTokenCount": 0, "candidatesTokenCount": 0}) is None
    assert usage_of(None) is None


def test_a_response_in_pieces_is_one_whose_usage_was_reported_last(tmp_path: Path) -> None:
    script = QwenScript()
    script.user("go")
    script.answer("first", tokens=(1_000, 0, 3), uuid="a")
    script.parent = "u0"
    script.answer("second", tokens=(1_000, 0, 30), uuid="a")
    (call,) = opened(tmp_path, script).calls
    assert call.usage is not None
    assert (call.usage.prompt, call.usage.output) == (1_000, 30)


def test_a_compression_begins_with_its_summary_and_keeps_what_stays(tmp_path: Path) -> None:
    script = QwenScript()
    script.user("go")
    script.answer("looking", "c1")
    script.result("c1", "found")
    summary = {"role": "user", "parts": [{"text": "so far"}]}
    script.compress(summary, script.lines[1]["message"], script.lines[2]["message"])
    script.user("and then")
    script.answer("done")
    session = opened(tmp_path, script)
    (compaction,) = session.compactions
    assert (compaction.trigger, compaction.tokens_before, compaction.tokens_after) == ("token_limit", 9_000, 700)
    assert session.messages[compaction.message].is_summary
    assert texts(session) == ["so far", "looking", '{"path":"a"}', "found", "and then", "done"]
    assert [context.cause for context in session.contexts] == [ContextCause.START, ContextCause.COMPACTION]
    assert session.contexts[1].retained == 3
    assert session.calls[-1].prompt_messages == 4


def test_a_compression_without_its_history_changes_no_prompt(tmp_path: Path) -> None:
    script = QwenScript()
    script.user("go")
    script.add("system", subtype="chat_compression", systemPayload={"info": {"compressionStatus": 2}})
    script.answer("done")
    session = opened(tmp_path, script)
    assert session.compactions == ()
    assert texts(session) == ["go", "done"]


def test_what_a_branch_left_is_shown_and_not_sent(tmp_path: Path) -> None:
    script = QwenScript()
    first = script.user("go")
    script.answer("one")
    script.parent = first
    script.answer("two")
    session = opened(tmp_path, script)
    assert [message.is_abandoned for message in session.messages] == [False, True, False]
    assert texts(session) == ["go", "two"]
    assert [call.prompt_messages for call in session.calls] == [1, 1]


def test_a_branch_behind_a_compression_keeps_its_summary(tmp_path: Path) -> None:
    script = QwenScript()
    script.user("go")
    compressed = script.compress({"role": "user", "parts": [{"text": "so far"}]})
    script.user("left")
    script.parent = compressed
    script.user("taken")
    assert texts(opened(tmp_path, script)) == ["so far", "taken"]


def test_a_record_whose_parent_is_missing_begins_again_and_that_is_stated(tmp_path: Path) -> None:
    script = QwenScript()
    script.user("go")
    script.parent = "lost"
    script.user("again")
    session = opened(tmp_path, script)
    assert texts(session) == ["again"]
    assert [diagnostic.line for diagnostic in session.diagnostics] == [2]


def test_a_subagents_records_are_a_conversation_of_their_own(tmp_path: Path) -> None:
    script = QwenScript()
    script.user("go")
    main = script.parent
    script.user("search", agentId="explore-1", isSidechain=True)
    script.answer("found", agentId="explore-1", isSidechain=True)
    script.parent = main
    script.answer("done")
    session = opened(tmp_path, script)
    assert [message.thread for message in session.messages] == [0, 1, 1, 0]
    assert [call.prompt_messages for call in session.calls] == [1, 1]
    assert session.diagnostics == ()


def test_what_a_branched_session_copied_is_sent_and_counted_elsewhere(tmp_path: Path) -> None:
    script = QwenScript()
    copied: dict[str, Any] = {"forkedFrom": {"sessionId": "before", "messageUuid": "x"}}
    script.user("go", **copied)
    script.answer("one", **copied)
    script.answer("two")
    session = opened(tmp_path, script)
    assert len(session.calls) == 1
    assert session.calls[0].prompt_messages == 2
    assert [(link.kind, link.identifier) for link in session.links] == [(LinkKind.CONTINUED, "before")]


def test_titles_are_taken_and_bookkeeping_is_not_shown(tmp_path: Path) -> None:
    script = QwenScript()
    script.user("go")
    script.add("system", subtype="custom_title", systemPayload={"customTitle": "A name"})
    script.add("system", subtype="ui_telemetry", systemPayload={"uiEvent": {}})
    script.add("system", subtype="slash_command", systemPayload={"rawCommand": "/about"})
    session = opened(tmp_path, script)
    assert session.title == "A name"
    assert [message.role for message in session.messages] == [Role.USER, Role.OTHER]
    assert QwenFormat().is_bookkeeping("system:ui_telemetry")


def test_a_long_session_that_grows_is_followed_to_what_a_load_gives(tmp_path: Path) -> None:
    lines = qwen(24)
    data = jsonl(lines)
    start = len(encoded(lines[0])) + 1
    *_, (_, session) = tailed(tmp_path / "s.jsonl", data, start, [0.2, 0.43, 0.44, 0.81])
    assert len(session.compactions) == 2
    assert len(session.calls) == 24


def test_sessions_are_found_where_the_program_keeps_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QWEN_HOME", str(tmp_path))
    (home,) = QwenFormat().homes()
    chats = home / "-work" / "chats"
    chats.mkdir(parents=True)
    (chats / "s1.jsonl").write_bytes(jsonl(qwen(2)))
    assert [header.format for header in sessions_in(home)] == ["qwen-code"]
