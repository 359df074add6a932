"""Conversion of Codex rollout lines into messages, calls and contexts."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inspector.session.discovery import search_places, sessions_in
from inspector.session.follow import Follower
from inspector.session.formats import codex
from inspector.session.model import BlockKind, ContextCause, Role, Session, Usage
from inspector.session.open import open_session
from inspector.session.registry import detect
from tests.examples import examples
from tests.session.codex_lines import Rollout
from tests.session.following import tailed
from tests.session.mutations import mutated, short
from tests.session.other_process import append, quiet_moments
from tests.session.soundness import assert_reads, assert_sound

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAUAAAAHCAYAAADAp4fuAAAAEklEQVR42mNk+M9Qz0AEYBxVSFkAP5sD/WQ6t2kAAAAASUVORK5CYII="


def session_of(rollout: Rollout, path: Path) -> Session:
    session = open_session(rollout.write(path / "rollout.jsonl"))
    assert session.format == "codex"
    assert_sound(session)
    return session


def roles(session: Session) -> str:
    letters = {Role.SYSTEM: "S", Role.USER: "U", Role.ASSISTANT: "A", Role.TOOL: "T", Role.OTHER: "o"}
    return "".join(letters[message.role] for message in session.messages)


def texts(session: Session, message: int) -> list[str]:
    return [session.text(block) for block in session.messages[message].blocks]


def prompts(session: Session) -> list[int | None]:
    return [None if call.usage is None else call.usage.prompt for call in session.calls]


@pytest.mark.parametrize("counts_first", [False, True])
def test_usage_goes_to_the_call_it_is_of_wherever_it_is_written(tmp_path: Path, counts_first: bool) -> None:
    rollout = Rollout(counts_first)
    rollout.header()
    rollout.turn()
    rollout.prompt("go")
    for number in range(1, 6):
        rollout.response(f"c{number}", usage=(100 * number, number), text=f"text {number}")
        if number % 2:
            rollout.report({"input_tokens": 100 * number, "output_tokens": number, "total_tokens": 101 * number})
    session = session_of(rollout, tmp_path)
    assert roles(session) == "UATATATATAT"
    assert prompts(session) == [100, 200, 300, 400, 500]
    assert [call.prompt_messages for call in session.calls] == [1, 3, 5, 7, 9]
    assert [texts(session, call.response)[1] for call in session.calls] == [f"text {n}" for n in range(1, 6)]


def test_a_report_behind_the_outputs_is_of_the_response_before_them(tmp_path: Path) -> None:
    rollout = Rollout()
    rollout.header()
    rollout.prompt("go")
    for number in (1, 2):
        rollout.reasoning()
        rollout.call(f"c{number}")
        rollout.output(f"c{number}")
        rollout.usage(100 * number, 5)
    assert prompts(session_of(rollout, tmp_path)) == [100, 200]


@pytest.mark.parametrize("counts_first", [False, True])
def test_a_response_without_a_report_takes_no_other_ones(tmp_path: Path, counts_first: bool) -> None:
    rollout = Rollout(counts_first)
    rollout.header()
    rollout.prompt("go")
    rollout.response("c1", usage=(100, 1))
    rollout.response(usage=None, text="broken off")
    rollout.event("turn_aborted", reason="interrupted")
    rollout.turn()
    rollout.prompt("again")
    rollout.response("c3", usage=(300, 3))
    rollout.response(usage=(400, 4))
    assert prompts(session_of(rollout, tmp_path)) == [100, None, 300, 400]


def test_the_report_of_a_compaction_is_next_to_the_conversation(tmp_path: Path) -> None:
    rollout = Rollout()
    rollout.header()
    rollout.prompt("go")
    rollout.response("c1", usage=(100, 1))
    rollout.usage(150, 40)
    rollout.add("compacted", {"message": "what was done"})
    rollout.response(usage=(50, 2))
    session = session_of(rollout, tmp_path)
    assert prompts(session) == [100, 50]
    assert [(call.purpose, call.usage.prompt) for call in session.side_calls if call.usage] == [("compaction", 150)]
    assert [call.context for call in session.calls] == [0, 1]


def test_totals_alone_tell_what_every_call_added(tmp_path: Path) -> None:
    rollout = Rollout()
    rollout.header()
    for prompt, read, output in ((100, 0, 10), (250, 90, 25), (250, 90, 25), (900, 400, 31)):
        rollout.prompt("go")
        if prompt != 250 or not rollout.total:
            rollout.message("assistant", f"answer {prompt}")
        total = {"input_tokens": prompt, "cached_input_tokens": read, "output_tokens": output}
        rollout.total = {**total, "total_tokens": prompt + output}
        rollout.event("token_count", info={"total_token_usage": rollout.total})
        rollout.event("token_count", info=None)
    usages = [call.usage for call in session_of(rollout, tmp_path).calls if call.usage is not None]
    assert [(usage.prompt, usage.cache_read, usage.output) for usage in usages] == [
        (100, 0, 10),
        (150, 90, 15),
        (650, 310, 6),
    ]


def test_what_was_cached_and_reasoned_is_part_of_the_counts(tmp_path: Path) -> None:
    rollout = Rollout()
    rollout.header()
    rollout.prompt("go")
    rollout.reasoning()
    rollout.usage(1000, 90, cached=600, reasoning=70, written=300)
    usage = session_of(rollout, tmp_path).calls[0].usage
    assert usage == Usage(uncached=100, cache_read=600, cache_write_5m=300, output=90, reasoning=70)


def test_reports_of_rate_limits_alone_are_of_no_call(tmp_path: Path) -> None:
    rollout = Rollout()
    rollout.header()
    rollout.prompt("go")
    rollout.event("token_count", info=None, rate_limits={"primary": {}})
    rollout.response("c1")
    rollout.event("token_count", info=None, rate_limits={"primary": {}})
    rollout.response()
    assert prompts(session_of(rollout, tmp_path)) == [100, 100]


def test_items_of_one_response_are_one_message_and_so_are_its_outputs(tmp_path: Path) -> None:
    rollout = Rollout()
    rollout.header(base_instructions={"text": "You are Codex."})
    rollout.message("developer", "<permissions instructions>")
    rollout.message("user", "<environment_context>\n  <cwd>/project</cwd>")
    rollout.prompt("go")
    rollout.response("c1", "c2", text="Looking.")
    rollout.event("agent_message", message="Looking.")
    rollout.response(text="Done.")
    session = session_of(rollout, tmp_path)
    assert roles(session) == "SSUUATA"
    assert texts(session, 0) == ["You are Codex."]
    assert [message.is_meta for message in session.messages] == [True, True, True, False, False, False, False]
    assert [block.kind for block in session.messages[4].blocks] == [
        BlockKind.THINKING,
        BlockKind.ASSISTANT_TEXT,
        BlockKind.TOOL_CALL,
        BlockKind.TOOL_CALL,
    ]
    assert [(block.tool_call_id, block.tool_name) for block in session.messages[5].blocks] == [
        ("c1", "exec_command"),
        ("c2", "exec_command"),
    ]
    assert session.messages[4].blocks[0].signature_characters == 5
    assert session.agent == "Codex 0.140.0"
    assert session.identifier == "own"
    assert session.working_directory == "/project"
    assert session.window == 258_400
    assert session.record_counts["response_item:function_call"] == 2


def test_the_model_is_the_one_of_the_turn(tmp_path: Path) -> None:
    rollout = Rollout()
    rollout.header()
    rollout.turn("gpt-5.4")
    rollout.prompt("go")
    rollout.response()
    rollout.turn("gpt-5.5")
    rollout.prompt("on")
    rollout.response()
    assert [call.model for call in session_of(rollout, tmp_path).calls] == ["gpt-5.4", "gpt-5.5"]


@pytest.mark.parametrize(
    ("output", "is_error", "text"),
    [
        ("Exit code: 0\nWall time: 0.1 seconds\nOutput:\nfine", False, None),
        ("Exit code: 2\nWall time: 0.1 seconds\nOutput:\nno", True, None),
        ("Chunk ID: ab\nWall time: 1 seconds\nProcess exited with code 1\nOutput:\nx", True, None),
        ("Chunk ID: ab\nWall time: 1 seconds\nProcess running with session ID 7\nOutput:\nx", False, None),
        ("Output:\nProcess exited with code 1", False, None),
        ('{"output":"cat: no\\n","metadata":{"exit_code":1,"duration_seconds":0.1}}', True, None),
        ('{"output":"exit_code: 1","metadata":{"exit_code":0,"duration_seconds":0.1}}', False, None),
        ("apply_patch verification failed: no such lines", True, None),
        (
            [{"type": "input_text", "text": "Script failed"}, {"type": "input_text", "text": "b"}],
            True,
            "Script failed\nb",
        ),
        ([{"type": "input_text", "text": "a"}, {"type": "input_text", "text": "b"}], False, "a\nb"),
        ({"content": "inside", "success": False}, True, "inside"),
        ({"content": [{"type": "input_text", "text": "inside"}], "success": True}, False, "inside"),
        ({"unknown": 1}, False, '{"unknown":1}'),
        (None, False, ""),
    ],
)
def test_outputs_of_all_versions_are_read(tmp_path: Path, output: Any, is_error: bool, text: str | None) -> None:
    rollout = Rollout()
    rollout.header()
    rollout.prompt("go")
    rollout.call("c1")
    rollout.output("c1", output)
    session = session_of(rollout, tmp_path)
    block = session.messages[-1].blocks[0]
    assert block.is_error is is_error
    assert block.plain_text is isinstance(
        output if not isinstance(output, dict) else output.get("content", ""), str | None
    )
    assert session.text(block) == (output if text is None else text)


def test_tools_of_every_kind_are_calls_with_results(tmp_path: Path) -> None:
    rollout = Rollout()
    rollout.header()
    rollout.prompt("go")
    rollout.item("custom_tool_call", name="exec", input="await tools.exec_command({})\n", call_id="c1", status="done")
    rollout.item("custom_tool_call_output", call_id="c1", output=[{"type": "input_text", "text": "Script completed"}])
    rollout.item("local_shell_call", call_id="c2", status="done", action={"type": "exec", "command": ["ls"]})
    rollout.output("c2", "a\nb")
    rollout.item("web_search_call", id="ws_1", status="completed", action={"type": "search", "query": "q"})
    rollout.item("tool_search_call", call_id="c3", arguments={"query": "github"}, execution="client")
    rollout.item("tool_search_output", call_id="c3", tools=[{"type": "namespace", "name": "github"}])
    rollout.item("function_call", name="get_issue", namespace="mcp__github", arguments="{}", call_id="c4")
    rollout.item(
        "function_call_output",
        call_id="c4",
        output=[{"type": "input_image", "image_url": f"data:image/png;base64,{PNG}"}],
    )
    rollout.item("image_generation_call", id="ig_1", status="completed", revised_prompt="a cat", result=PNG)
    session = session_of(rollout, tmp_path)
    calls = [block for block in session.blocks if block.kind is BlockKind.TOOL_CALL]
    assert [(block.tool_name, session.text(block)) for block in calls] == [
        ("exec", "await tools.exec_command({})\n"),
        ("local_shell", '{"type":"exec","command":["ls"]}'),
        ("web_search", '{"type":"search","query":"q"}'),
        ("tool_search", '{"query":"github"}'),
        ("mcp__github__get_issue", "{}"),
        ("image_generation", "a cat"),
    ]
    results = [block for block in session.blocks if block.kind is BlockKind.TOOL_RESULT]
    assert [block.tool_call_id for block in results] == ["c1", "c2", "c3", "c4", "ig_1"]
    assert [block.tool_name for block in results] == [
        "exec",
        "local_shell",
        "tool_search",
        "mcp__github__get_issue",
        "image_generation",
    ]
    assert [(media.width, media.height) for block in results for media in block.media] == [(5, 7), (5, 7)]


def test_a_compaction_begins_a_context_with_what_it_left(tmp_path: Path) -> None:
    rollout = Rollout()
    rollout.header(base_instructions={"text": "You are Codex."})
    rollout.prompt("first")
    rollout.response("c1", usage=(9000, 50))
    history = [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "first"}]},
        {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "rules"}]},
        {"type": "compaction", "encrypted_content": "x" * 400},
    ]
    rollout.add("compacted", {"message": "", "replacement_history": history, "window_id": 1})
    rollout.report({"input_tokens": 0, "output_tokens": 0, "total_tokens": 700})
    rollout.event("context_compacted")
    rollout.prompt("second")
    rollout.response("c2", usage=(800, 5))
    session = session_of(rollout, tmp_path)
    before, after = session.contexts
    assert after.cause is ContextCause.COMPACTION
    assert after.retained == 1
    assert [texts(session, index) for index in after.members[:5]] == [
        ["You are Codex."],
        ["first"],
        ["rules"],
        [""],
        ["second"],
    ]
    summary = session.messages[after.members[3]]
    assert summary.is_summary
    assert summary.blocks[0].signature_characters == 400
    assert len(before.members) == 4
    compaction = session.compactions[0]
    assert (compaction.tokens_before, compaction.tokens_after) == (9050, 700)
    assert compaction.message == after.members[1]
    assert prompts(session) == [9000, 800]
    assert [call.context for call in session.calls] == [0, 1]


def test_a_summary_handed_over_as_a_message_is_a_summary(tmp_path: Path) -> None:
    rollout = Rollout()
    rollout.header()
    rollout.prompt("first")
    rollout.response()
    text = "Another language model started to solve this problem and produced a summary: done so far"
    history = [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": words}]}
        for words in ("first", "<environment_context>…", text)
    ]
    rollout.add("compacted", {"message": text, "replacement_history": history})
    session = session_of(rollout, tmp_path)
    members = [session.messages[index] for index in session.contexts[-1].members]
    assert [(message.is_meta, message.is_summary) for message in members] == [
        (False, False),
        (True, False),
        (False, True),
    ]


def test_an_old_compaction_keeps_what_the_user_said_next_to_its_summary(tmp_path: Path) -> None:
    rollout = Rollout()
    rollout.header()
    rollout.message("user", "<user_instructions>be good</user_instructions>")
    rollout.prompt("too long ago " * 7000)
    rollout.response("c1")
    rollout.prompt("recent")
    rollout.response("c2")
    rollout.add("compacted", {"message": "We did this and that."})
    rollout.response()
    session = session_of(rollout, tmp_path)
    context = session.contexts[-1]
    assert [texts(session, index)[0] for index in context.members[:-1]] == [
        "<user_instructions>be good</user_instructions>",
        "recent",
        "We did this and that.",
    ]
    assert context.retained == 2
    assert [session.messages[index].is_summary for index in context.members][-2:] == [True, False]


def test_turns_that_were_taken_back_are_abandoned(tmp_path: Path) -> None:
    rollout = Rollout()
    rollout.header(base_instructions={"text": "You are Codex."})
    rollout.message("user", "<environment_context>…")
    for number in range(4):
        if number:
            rollout.message("user", "<subagent_notification>…")
        rollout.prompt(f"prompt {number}")
        rollout.response(f"c{number}", text=f"answer {number}")
    rollout.event("thread_rolled_back", num_turns=2)
    rollout.prompt("instead")
    rollout.response(text="answered")
    session = session_of(rollout, tmp_path)
    context = session.contexts[-1]
    assert context.cause is ContextCause.REWIND
    spoken = [texts(session, index)[-1] for index in context.members if session.messages[index].role is Role.USER]
    assert spoken == ["<environment_context>…", "prompt 0", "<subagent_notification>…", "prompt 1", "instead"]
    abandoned = [message for message in session.messages if message.is_abandoned]
    assert [message.role for message in abandoned] == [Role.USER, Role.USER, Role.ASSISTANT, Role.TOOL] * 2
    assert len(session.calls) == 5


@pytest.mark.parametrize("turns", [0, 5, 10**9])
def test_taking_back_more_turns_than_there_are_leaves_what_is_before_them(tmp_path: Path, turns: int) -> None:
    rollout = Rollout()
    rollout.header()
    rollout.message("user", "<environment_context>…")
    rollout.prompt("one")
    rollout.response()
    rollout.event("thread_rolled_back", num_turns=turns)
    session = session_of(rollout, tmp_path)
    assert len(session.contexts[-1].members) == (3 if turns == 0 else 1)


@pytest.mark.parametrize("spread", [0.0, 0.002])
def test_what_a_fork_copied_is_inherited_and_counted_elsewhere(tmp_path: Path, spread: float) -> None:
    parent = Rollout()
    parent.header("parent", base_instructions={"text": "parent's"})
    parent.event("task_started", started_at=int(parent.clock), model_context_window=258_400)
    parent.turn()
    parent.prompt("first")
    parent.response("c1", usage=(100, 1), text="one")
    parent.response("c2", usage=(200, 2), text="two")
    child = Rollout(clock=parent.clock + 500)
    child.header("child", forked_from_id="parent", base_instructions={"text": "child's"})
    for line in parent.lines:
        child.add(line["type"], line["payload"], step=spread)
    child.total = dict(parent.total)
    child.event("task_started", started_at=int(child.clock), model_context_window=100_000)
    child.report({"input_tokens": 200, "output_tokens": 2, "total_tokens": 202})
    child.prompt("second")
    child.response("c3", usage=(300, 3), text="three")
    session = session_of(child, tmp_path)
    assert session.identifier == "child"
    assert prompts(session) == [300]
    inherited = [message.is_inherited for message in session.messages]
    assert roles(session) == "SUATATUAT"
    assert inherited == [False, *[True] * 5, False, False, False]
    assert session.calls[0].prompt_messages == 7
    assert len(session.contexts) == 1
    assert texts(session, 0) == ["child's"]
    assert session.window == 258_400


def test_a_fork_without_its_parents_header_inherits_what_has_the_time_of_the_fork(tmp_path: Path) -> None:
    parent = Rollout()
    parent.prompt("first")
    parent.response("c1")
    rollout = Rollout(total=dict(parent.total))
    rollout.header("child", forked_from_id="parent")
    rollout.clock -= 1
    for line in parent.lines:
        rollout.add(line["type"], line["payload"], step=0)
    rollout.clock += 20
    rollout.prompt("second")
    rollout.response(usage=(300, 3), text="two")
    session = session_of(rollout, tmp_path)
    assert [message.is_inherited for message in session.messages] == [True, True, True, False, False]
    assert prompts(session) == [300]


def test_a_subagent_that_was_given_no_history_inherits_nothing(tmp_path: Path) -> None:
    rollout = Rollout()
    rollout.header("child", source={"subagent": {"thread_spawn": {"parent_thread_id": "parent"}}})
    rollout.clock -= 1
    rollout.add("turn_context", {"model": "gpt-5.5"}, step=0)
    rollout.prompt("find it")
    rollout.response(usage=(300, 3))
    session = session_of(rollout, tmp_path)
    assert not any(message.is_inherited for message in session.messages)
    assert prompts(session) == [300]


def test_kinds_and_forms_yet_unknown_are_read_as_far_as_they_go(tmp_path: Path) -> None:
    path = tmp_path / "rollout.jsonl"
    item = {"type": "message", "role": "user", "content": "plain text"}
    lines: list[dict[str, Any]] = [
        *({"timestamp": "2026-01-01T00:00:00Z", "type": "novel", "payload": {"number": n}} for n in range(40)),
        {"timestamp": 1_780_000_000, "type": "response_item", "payload": item},
        {"type": "response_item", "payload": {**item, "role": "assistant"}},
        {"timestamp": "never", "type": "response_item", "payload": None},
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    session = open_session(path)
    assert session.format == "codex"
    assert [message.role.value for message in session.messages[40:]] == ["user", "assistant", "other"]
    assert [message.time for message in session.messages[40:]] == [1_780_000_000, None, None]
    assert json.loads(session.text(session.blocks[-1])) == lines[-1]


def test_a_fork_of_a_fork_that_was_compacted_counts_nothing_of_its_parents(tmp_path: Path) -> None:
    parent = Rollout(counts_first=True)
    parent.header("parent")
    parent.header("grandparent")
    parent.prompt("first")
    parent.response(usage=(100, 1))
    history = [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "first"}]}]
    parent.add("compacted", {"message": "", "replacement_history": history})
    parent.response(usage=(50, 1))
    parent.usage(60, 1)
    child = Rollout(clock=parent.clock + 500)
    child.header("child")
    for line in parent.lines:
        child.add(line["type"], line["payload"], step=0)
    child.clock += 3
    child.total = dict(parent.total)
    child.prompt("second")
    child.response(usage=(70, 1))
    session = session_of(child, tmp_path)
    assert prompts(session) == [70]
    assert session.compactions == ()
    assert [len(context.members) for context in session.contexts] == [2, 4]


def test_a_header_written_again_by_a_resume_changes_nothing(tmp_path: Path) -> None:
    rollout = Rollout()
    rollout.header("own")
    rollout.prompt("first")
    rollout.response()
    rollout.header("own", cli_version="0.141.0")
    rollout.prompt("second")
    rollout.response()
    session = session_of(rollout, tmp_path)
    assert len(session.calls) == 2
    assert not any(message.is_inherited for message in session.messages)


@pytest.mark.parametrize("is_repeated", [False, True])
def test_instructions_of_early_headers_are_sent_once(tmp_path: Path, is_repeated: bool) -> None:
    rollout = Rollout()
    rollout.header(cli_version="0.36.0", instructions="Be brief.")
    if is_repeated:
        rollout.message("user", "<user_instructions>\n\nBe brief.\n\n</user_instructions>")
    rollout.prompt("first")
    rollout.response(text="one")
    rollout.message("user", "I said: Be brief.")
    rollout.response(text="two")
    session = session_of(rollout, tmp_path)
    assert_sound(session)
    first, second = [
        [
            session.text(block)
            for member in session.contexts[0].members[: call.prompt_messages]
            for block in session.messages[member].blocks
        ]
        for call in session.calls
    ]
    assert sum("Be brief." in text for text in first) == 1
    assert sum("Be brief." in text for text in second) == 2
    assert first[-1] == "first"
    assert roles(session)[0] == ("o" if is_repeated else "S")


def test_a_session_without_envelopes_is_read(tmp_path: Path) -> None:
    lines: list[dict[str, Any]] = [
        {"id": "old", "timestamp": "2025-06-01T10:00:00Z", "instructions": None, "git": {}},
        {"record_type": "state"},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "go"}]},
        {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "thinking"}]},
        {"type": "function_call", "name": "shell", "arguments": "{}", "call_id": "c1", "id": "fc_1"},
        {"record_type": "state"},
        {"type": "function_call_output", "call_id": "c1", "output": '{"output":"x","metadata":{"exit_code":1}}'},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "done"}]},
    ]
    path = tmp_path / "anything.txt"
    path.write_text("\n".join(json.dumps(line) for line in lines))
    session = open_session(path)
    assert_sound(session)
    assert session.format == "codex"
    assert roles(session) == "UATA"
    assert session.identifier == "old"
    assert session.messages[2].blocks[0].is_error
    assert len(session.calls) == 2
    assert session.record_counts["state"] == 2


@pytest.mark.parametrize("indent", [None, 2])
def test_an_early_session_in_one_document_is_read_on_one_line_or_many(tmp_path: Path, indent: int | None) -> None:
    spoken = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "go"}]}
    document = {
        "session": {"id": "old", "timestamp": "2025-05-01T10:00:00Z", "instructions": ""},
        "items": [spoken] * 2,
    }
    path = tmp_path / "rollout.json"
    path.write_text(json.dumps(document, indent=indent))
    session = open_session(path)
    assert (session.format, session.agent, session.identifier, roles(session)) == ("codex", "Codex", "old", "UU")


def test_unknown_lines_events_and_items_are_shown_and_never_sent(tmp_path: Path) -> None:
    rollout = Rollout()
    rollout.header()
    rollout.prompt("go")
    rollout.reasoning()
    rollout.item("quantum_leap", qubits=3)
    rollout.message("assistant", "still the same response")
    rollout.event("brand_new", text="x")
    rollout.add("unheard_of", {"a": 1})
    rollout.add("world_state", {"full": True})
    rollout.event("error", message="stream disconnected")
    rollout.usage(100, 5)
    session = session_of(rollout, tmp_path)
    assert roles(session) == "UAoooo"
    assert len(session.messages[1].blocks) == 2
    assert session.contexts[0].members == (0, 1)
    assert prompts(session) == [100]
    assert json.loads(texts(session, 3)[0])["payload"]["type"] == "brand_new"
    assert session.record_counts["unheard_of"] == 1
    assert session.skipped_records == 0


def test_a_thread_has_the_name_it_was_given_last(tmp_path: Path) -> None:
    rollout = Rollout()
    rollout.header()
    rollout.prompt("go")
    rollout.event("thread_name_updated", thread_name="First")
    rollout.event("thread_name_updated", thread_name="Second")
    assert session_of(rollout, tmp_path).title == "Second"


def test_its_homes_are_known(private_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rollout = Rollout()
    rollout.header()
    rollout.prompt("go")
    monkeypatch.delenv("CODEX_HOME", raising=False)
    day = private_home / ".codex" / "sessions" / "2026" / "06" / "18"
    day.mkdir(parents=True)
    path = rollout.write(day / "rollout.jsonl")
    assert [one.path for home, _ in search_places() for one in sessions_in(home)] == [path]
    monkeypatch.setenv("CODEX_HOME", str(private_home / "elsewhere"))
    (private_home / "elsewhere" / "archived_sessions").mkdir(parents=True)
    assert [home for home, _ in search_places()] == [private_home / "elsewhere" / "archived_sessions"]


def test_it_is_reported_by_content_not_by_name_or_first_line(tmp_path: Path) -> None:
    rollout = Rollout()
    rollout.header()
    rollout.prompt("go")
    rollout.response("c1")
    path = tmp_path / "notes.txt"
    path.write_bytes(b'{"broken": \n{"type":"unrelated"}\n' + b"".join(rollout.encoded()))
    found = detect(path)
    assert found.format.name == codex.CodexFormat.name
    assert "Codex" in found.reason


STEPS: list[Callable[[Rollout, int], None]] = [
    lambda rollout, number: rollout.prompt(f"prompt {number}"),
    lambda rollout, number: rollout.turn(f"gpt-{number}"),
    lambda rollout, number: rollout.usage(number * 7 % 5, number % 3),
    lambda rollout, number: rollout.report({"input_tokens": 0, "output_tokens": 0, "total_tokens": number}),
    lambda rollout, number: rollout.add("compacted", {"message": "summary" * (number % 2)}) and None,
    lambda rollout, number: rollout.add("compacted", {"message": "", "replacement_history": HISTORY}) and None,
    lambda rollout, number: rollout.event("thread_rolled_back", num_turns=number % 4),
    lambda rollout, number: rollout.event("turn_aborted", reason="interrupted"),
    lambda rollout, number: rollout.item("unknown", number=number),
    lambda rollout, number: rollout.header(f"header {number % 3}"),
    lambda rollout, number: rollout.response(usage=None, text="unreported"),
    lambda rollout, number: rollout.response(usage=(100 + number, 5)),
    lambda rollout, number: rollout.response(f"a{number}", usage=(100 + number, 5), text="text"),
    lambda rollout, number: rollout.response(f"a{number}", f"b{number}", usage=(100 + number, 5)),
]

HISTORY = [{"type": "message", "role": role, "content": "x"} for role in ("user", "assistant", "developer")]


@st.composite
def rollouts(draw: st.DrawFn) -> list[bytes]:
    rollout = Rollout(draw(st.booleans()))
    rollout.header(base_instructions={"text": "You are Codex."})
    if draw(st.integers(0, 4)) == 0:
        rollout.clock -= 1
        rollout.header("parent")
    rollout.prompt("go")
    for number, step in enumerate(draw(st.lists(st.sampled_from(STEPS), min_size=1, max_size=14))):
        step(rollout, number)
    return rollout.encoded()


@settings(max_examples=examples(80), deadline=None)
@given(lines=rollouts(), cuts=st.lists(st.floats(0, 1), max_size=6))
def test_a_tailed_rollout_is_a_loaded_one_at_every_cut(
    tmp_path_factory: pytest.TempPathFactory, lines: list[bytes], cuts: list[float]
) -> None:
    path = tmp_path_factory.mktemp("tail") / "rollout.jsonl"
    for _, session in tailed(path, b"".join(lines), len(lines[0]) + len(lines[1]), cuts):
        assert_sound(session)


def test_a_rollout_written_by_another_process_is_followed(tmp_path: Path, corpus: Path) -> None:
    source = next((corpus / "codex").glob("rollout-2026-04-07*.jsonl"))
    lines = source.read_bytes().splitlines(keepends=True)
    path = tmp_path / "rollout.jsonl"
    path.write_bytes(b"".join(lines[:6]))
    follower = Follower(path)
    steps = [append(line) for line in lines[6:120]]
    for _ in quiet_moments(path, steps, follower.poll, seed=3, most=20):
        follower.poll()
        assert follower.session == open_session(path)
    assert len(follower.session.calls) > 10


@pytest.fixture(scope="module")
def real_lines(corpus: Path) -> list[bytes]:
    lines: list[bytes] = []
    for path in sorted((corpus / "codex").glob("*.jsonl")):
        content = path.read_bytes().splitlines()
        lines += [line for line in content if b'"compacted"' in line[:80]][:1]
        lines += content[:400]
    return [*short(lines), *Rollout().encoded()]


@settings(max_examples=examples(150), deadline=None)
@given(data=st.data())
def test_whatever_a_rollout_holds_it_is_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, real_lines: list[bytes], data: st.DataObject
) -> None:
    path = tmp_path_factory.mktemp("fuzz") / "rollout.jsonl"
    path.write_bytes(data.draw(mutated(real_lines)))
    assert_reads(codex.CodexFormat(), path)
