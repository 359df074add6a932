"""Sessions of Kimi Code and Kimi CLI: steps told part by part, usage told twice, compactions, what was taken back."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.session.discovery import list_sessions, sessions_in
from inspector.session.formats.kimi import KimiCliFormat, KimiCodeFormat
from inspector.session.model import BlockKind, ContextCause, LinkKind, Role
from inspector.session.open import open_session
from tests.session.following import tailed
from tests.session.kimi_lines import KimiCliScript, KimiScript, kimi_cli, kimi_code
from tests.session.run_files import encoded, jsonl
from tests.session.soundness import assert_sound

if TYPE_CHECKING:
    from pathlib import Path

    from inspector.session.model import Session


def opened(tmp_path: Path, script: KimiScript | KimiCliScript) -> Session:
    path = tmp_path / "wire.jsonl"
    path.write_bytes(jsonl(script.lines))
    session = open_session(path)
    assert session.format == ("kimi-code" if isinstance(script, KimiScript) else "kimi-cli")
    assert_sound(session)
    return session


def texts(session: Session, context: int = -1) -> list[str]:
    return [
        session.text(block)
        for index in session.contexts[context].members
        for block in session.messages[index].blocks
        if block.kind is not BlockKind.THINKING
    ]


CALL = '{"path":"/work/a.py"}'


def test_a_step_is_a_call_whose_usage_is_counted_once(tmp_path: Path) -> None:
    script = KimiScript()
    script.user("go")
    script.step("looking", calls=("c1", "c2"), tokens=(100, 900, 50, 20))
    script.result("c1", "found")
    script.result("c2", "", note="nothing there")
    script.step("done", tokens=(200, 1_000, 0, 30))
    session = opened(tmp_path, script)
    assert [message.role for message in session.messages] == [
        *(Role.SYSTEM, Role.USER, Role.ASSISTANT, Role.TOOL, Role.TOOL, Role.ASSISTANT)
    ]
    empty = "<system>Tool output is empty.</system>\nnothing there"
    assert texts(session) == ["You are Kimi.", "go", "looking", CALL, CALL, "found", empty, "done"]
    assert session.messages[3].blocks[0].tool_name == "Read"
    usages = [call.usage for call in session.calls if call.usage]
    assert [(one.uncached, one.cache_read, one.cache_write_5m, one.output) for one in usages] == [
        (100, 900, 50, 20),
        (200, 1_000, 0, 30),
    ]
    assert not session.side_calls
    assert [call.prompt_messages for call in session.calls] == [2, 5]
    assert (session.calls[0].model, session.working_directory) == ("kimi-k2-thinking", "/work")


def test_a_step_whose_end_reports_nothing_has_what_the_record_behind_it_reports(tmp_path: Path) -> None:
    script = KimiScript()
    script.user("go")
    script.step("done", tokens=None)
    script.usage((100, 0, 0, 5), model="kimi-k2")
    (call,) = opened(tmp_path, script).calls
    assert call.usage is not None
    assert (call.usage.prompt, call.usage.output) == (100, 5)


def test_usage_of_no_step_is_that_of_a_request_beside_the_conversation(tmp_path: Path) -> None:
    script = KimiScript()
    script.user("go")
    script.step("done")
    script.add("full_compaction.begin", source="manual")
    script.request(kind="compaction")
    script.usage((5_000, 0, 0, 300), scope="session")
    counts = {"compactedCount": 2, "tokensBefore": 1_020, "tokensAfter": 300, "keptUserMessageCount": 1}
    script.add("context.apply_compaction", summary="short", contextSummary="Handed over: short", **counts)
    script.add("full_compaction.complete")
    script.usage((70, 0, 0, 3), scope="session")
    session = opened(tmp_path, script)
    assert [(side.purpose, side.usage.prompt) for side in session.side_calls if side.usage] == [
        ("compaction", 5_000),
        ("side request", 70),
    ]
    assert texts(session) == ["You are Kimi.", "go", "Handed over: short"]
    (compaction,) = session.compactions
    assert (compaction.tokens_before, compaction.tokens_after) == (1_020, 300)
    assert session.messages[compaction.message].is_summary


def test_a_symbolic_model_is_the_one_that_was_chosen(tmp_path: Path) -> None:
    script = KimiScript()
    script.user("go")
    script.step("done", model="__kimi_env_model__")
    assert opened(tmp_path, script).calls[0].model == "kimi-code/k2"


def test_older_compactions_keep_what_follows_the_compacted(tmp_path: Path) -> None:
    script = KimiScript()
    script.user("first")
    script.step("one")
    script.user("second")
    script.step("two")
    script.add("context.apply_compaction", summary="so far", compactedCount=2, tokensBefore=1, tokensAfter=1)
    assert texts(opened(tmp_path, script)) == ["You are Kimi.", "so far", "second", "two"]


def test_newer_compactions_keep_what_a_person_said_first_and_last(tmp_path: Path) -> None:
    script = KimiScript()
    for number in range(4):
        script.user(f"question {number}")
        script.user("reminder", origin="injection")
        script.step(f"answer {number}")
    counts = {"keptUserMessageCount": 3, "keptHeadUserMessageCount": 1, "compactedCount": 12}
    script.add("context.apply_compaction", summary="so far", tokensBefore=1, tokensAfter=1, **counts)
    assert texts(opened(tmp_path, script))[1:] == ["question 0", "question 2", "question 3", "so far"]


def test_what_is_taken_back_is_left_but_for_what_was_injected(tmp_path: Path) -> None:
    script = KimiScript()
    script.user("first")
    script.step("one")
    script.user("second")
    script.user("reminder", origin="injection")
    script.step("two")
    script.add("context.undo", count=1)
    script.step("three")
    session = opened(tmp_path, script)
    assert texts(session) == ["You are Kimi.", "first", "one", "reminder", "three"]
    assert session.contexts[-1].cause is ContextCause.REWIND
    left = [session.text(message.blocks[-1]) for message in session.messages if message.is_abandoned]
    assert left == ["second", "two"]
    script.add("context.clear")
    assert texts(opened(tmp_path, script)) == ["You are Kimi."]


def test_what_a_person_says_meanwhile_waits_for_the_results(tmp_path: Path) -> None:
    script = KimiScript()
    script.user("go")
    script.step("looking", calls=("c1",))
    script.user("faster")
    script.result("c1", "found", isError=True)
    script.result("c1", "found again")
    assert texts(opened(tmp_path, script))[3:] == [
        CALL,
        "<system>ERROR: Tool execution failed.</system>\nfound",
        "faster",
    ]


def test_tools_stand_before_the_system_prompt_and_other_ones_begin_anew(tmp_path: Path) -> None:
    script = KimiScript()
    script.user("go")
    tools = [{"name": "Read", "description": "Reads.", "parameters": {}}]
    script.add("llm.tools_snapshot", hash="b", tools=tools)
    script.step("done")
    written = '[{"name":"Read","description":"Reads.","parameters":{}}]'
    assert texts(opened(tmp_path, script)) == [written, "You are Kimi.", "go", "done"]
    script.add("config.update", systemPrompt="You are Kimi.")
    assert len(opened(tmp_path, script).contexts) == 1
    script.add("config.update", systemPrompt="You are another.")
    session = opened(tmp_path, script)
    assert texts(session) == [written, "You are another.", "go", "done"]
    assert len(session.contexts) == 2


def test_what_was_before_a_fork_is_counted_where_it_was_said(tmp_path: Path) -> None:
    script = KimiScript()
    script.user("go")
    script.step("one")
    script.add("forked")
    script.user("another way")
    script.step("two", tokens=(1, 2, 0, 3))
    session = opened(tmp_path, script)
    assert [message.is_inherited for message in session.messages] == [True, True, True, False, False]
    assert [call.usage.prompt for call in session.calls if call.usage] == [3]
    assert texts(session)[1:] == ["go", "one", "another way", "two"]


def test_messages_that_are_recorded_whole_are_read(tmp_path: Path) -> None:
    script = KimiScript()
    for role, part in (
        ("user", {"type": "text", "text": "go"}),
        ("assistant", {"type": "think", "think": "hm"}),
        ("assistant", {"type": "text", "text": "looking"}),
        ("tool", {"type": "text", "text": "found"}),
    ):
        script.add("agent.message.appended", agentId="main", message={"message": {"role": role, "content": [part]}})
    session = opened(tmp_path, script)
    assert texts(session)[1:] == ["go", "looking", "found"]
    assert len(session.calls) == 1


def test_a_subagents_file_leads_to_the_main_agents(tmp_path: Path) -> None:
    agents = tmp_path / "wd_work_0123456789ab" / "session_1" / "agents"
    for name in ("main", "agent-0"):
        (agents / name).mkdir(parents=True)
        (agents / name / "wire.jsonl").write_bytes(jsonl(kimi_code(2)))
    main, sub = (agents / name / "wire.jsonl" for name in ("main", "agent-0"))
    assert KimiCodeFormat().parent_file(sub) == main
    assert KimiCodeFormat().parent_file(main) is None
    assert open_session(main).identifier == "session_1"
    (link,) = open_session(sub).links
    assert (link.kind, link.path) == (LinkKind.PARENT, main)
    assert {header.path for header in sessions_in(tmp_path)} >= {main}


def test_unknown_records_are_shown_and_a_file_with_a_header_alone_is_known(tmp_path: Path) -> None:
    script = KimiScript()
    script.add("something.new", value=1)
    session = opened(tmp_path, script)
    assert [message.role for message in session.messages] == [Role.SYSTEM, Role.OTHER]
    path = tmp_path / "new.jsonl"
    path.write_bytes(jsonl(script.lines[:1]))
    assert open_session(path).format == "kimi-code"
    path.write_bytes(jsonl(kimi_cli(0)[:1]))
    assert open_session(path).format == "kimi-cli"


def test_cli_messages_make_steps_with_their_results_and_usage(tmp_path: Path) -> None:
    script = KimiCliScript()
    script.add("TurnBegin", {"user_input": [{"type": "text", "text": "go"}]})
    script.step("looking", "c1", "c2")
    script.result("c1", "found", "1 line read.")
    script.result("c2", "", "no such file", is_error=True)
    script.add("SteerInput", {"user_input": "faster"})
    script.step("done", tokens=(200, 1_000, 0, 30))
    script.add("StatusUpdate", {"plan_mode": True})
    session = opened(tmp_path, script)
    read, failed = "<system>1 line read.</system>\nfound", "<system>ERROR: no such file</system>"
    assert texts(session) == ["go", "looking", CALL, CALL, read, failed, "faster", "done"]
    assert [call.usage.prompt for call in session.calls if call.usage] == [1_000, 1_200]
    assert session.window == 262_144
    assert session.messages[3].blocks[0].is_error


def test_cli_subagents_are_conversations_of_their_own(tmp_path: Path) -> None:
    script = KimiCliScript()
    script.add("TurnBegin", {"user_input": "go"})
    script.step("asking", "c1")
    script.step("inside", "i1", agent="c1")
    script.result("i1", "seen", agent="c1")
    script.result("c1", "report")
    session = opened(tmp_path, script)
    assert [message.thread for message in session.messages] == [0, 0, 1, 1, 0]
    assert len(session.calls) == 2


def test_a_cli_compaction_keeps_the_last_messages_and_says_that_its_summary_is_elsewhere(tmp_path: Path) -> None:
    script = KimiCliScript()
    script.add("TurnBegin", {"user_input": "go"})
    script.step("one", "c1")
    script.result("c1", "found")
    script.step("two")
    script.add("CompactionBegin")
    script.add("CompactionEnd")
    session = opened(tmp_path, script)
    assert texts(session) == ["one", CALL, "found", "two"]
    (compaction,) = session.compactions
    assert compaction.tokens_before == 1_020
    assert session.messages[-1].role is Role.OTHER


@pytest.mark.parametrize("made", [kimi_code, kimi_cli])
@given(turns=st.integers(1, 12), start=st.floats(0, 1), cuts=st.lists(st.floats(0, 1), max_size=4))
def test_a_file_that_grows_is_followed_to_what_a_fresh_load_gives(
    made: object, tmp_path_factory: pytest.TempPathFactory, turns: int, start: float, cuts: list[float]
) -> None:
    lines = kimi_code(turns) if made is kimi_code else kimi_cli(turns)
    data = jsonl(lines)
    first = sum(len(encoded(line)) + 1 for line in lines[:3])
    path = tmp_path_factory.mktemp("kimi") / "wire.jsonl"
    for _, session in tailed(path, data, first + int(start * (len(data) - first)), cuts):
        assert_sound(session)


def test_what_kimi_cli_sends_is_listed_as_the_messages_beside_it(
    private_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("KIMI_SHARE_DIR", raising=False)
    folder = private_home / ".kimi" / "sessions" / "0a1b" / "s1"
    folder.mkdir(parents=True)
    (folder / "wire.jsonl").write_bytes(jsonl(kimi_cli(2)))
    (folder / "context.jsonl").write_bytes(jsonl([{"role": "_system_prompt", "content": "x"}, {"role": "user"}]))
    (home,) = KimiCliFormat().homes()
    found = [header.path for batch in list_sessions([(home, KimiCliFormat())]) for header in batch]
    assert found == [folder / "wire.jsonl"]
    assert open_session(found[0]).identifier == "s1"
