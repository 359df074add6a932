"""Sessions from OpenTelemetry spans: reported in many ways, counted once."""

import json
from pathlib import Path
from typing import Any

import pytest

from inspector.session.follow import Follower
from inspector.session.model import BlockKind, Role, Session
from inspector.session.open import open_session
from inspector.session.registry import detect
from tests.session.following import tailed
from tests.session.run_files import encoded, jsonl
from tests.session.soundness import assert_sound
from tests.session.span_lines import (
    attributes,
    conversation,
    export_document,
    export_lines,
    flat,
    flat_lines,
    typed,
    usage,
)

Record = dict[str, Any]


def opened(tmp_path: Path, *lines: Record) -> Session:
    path = tmp_path / "spans.jsonl"
    path.write_bytes(jsonl(list(lines)))
    session = open_session(path)
    assert session.format == "otel"
    assert_sound(session)
    return session


def said(session: Session) -> list[tuple[Role, BlockKind, str]]:
    return [(message.role, block.kind, session.text(block)) for message in session.messages for block in message.blocks]


@pytest.mark.parametrize("made", [flat_lines, export_lines])
def test_every_shape_of_lines_is_the_same_conversation(tmp_path: Path, made: Any) -> None:
    session = opened(tmp_path, *made(3))
    assert said(session)[:4] == [
        (Role.SYSTEM, BlockKind.SYSTEM_TEXT, "You help."),
        (Role.USER, BlockKind.USER_TEXT, "go"),
        (Role.ASSISTANT, BlockKind.ASSISTANT_TEXT, "turn 0"),
        (Role.ASSISTANT, BlockKind.TOOL_CALL, '{"path":"."}'),
    ]
    assert said(session)[4] == (Role.TOOL, BlockKind.TOOL_RESULT, "result 0")
    assert [block.tool_name for block in session.blocks if block.kind is BlockKind.TOOL_RESULT] == ["ls", "ls"]
    assert len(session.contexts) == 1
    assert [call.prompt_messages for call in session.calls] == [2, 4, 6]
    assert [call.identifier for call in session.calls] == ["r0", "r1", "r2"]
    assert [call.model for call in session.calls] == ["gpt-5"] * 3
    assert [call.time for call in session.calls] == [1_770_000_000.5 + turn for turn in range(3)]
    assert session.identifier == "s1"


def test_a_document_of_otlp_is_the_same_too(tmp_path: Path) -> None:
    path = tmp_path / "export.json"
    path.write_bytes(json.dumps(export_document(3), indent=1).encode())
    session = open_session(path)
    assert_sound(session)
    assert said(session) == said(opened(tmp_path, *flat_lines(3)))
    assert [call.usage for call in session.calls] == [call.usage for call in opened(tmp_path, *flat_lines(3)).calls]


@pytest.mark.parametrize("name", ["cache_write", "cache_creation"])
def test_both_names_of_what_was_written_to_a_cache_are_read(tmp_path: Path, name: str) -> None:
    about = {key: value for key, value in usage(0).items() if "cache_write" not in key}
    (messages,) = conversation(1)
    whole = attributes(0, messages)
    whole.pop("gen_ai.usage.cache_write.input_tokens")
    (call,) = opened(tmp_path, flat(0, {**whole, **about, f"gen_ai.usage.{name}.input_tokens": 50})).calls
    assert call.usage is not None
    assert (call.usage.uncached, call.usage.cache_read, call.usage.cache_write_5m) == (350, 600, 50)
    assert (call.usage.prompt, call.usage.output, call.usage.reasoning) == (1_000, 20, 5)


def test_input_that_leaves_out_what_caches_held_is_reported_by_its_sum(tmp_path: Path) -> None:
    about = {**usage(0), "gen_ai.usage.input_tokens": 7}
    (call,) = opened(tmp_path, flat(0, {"gen_ai.operation.name": "chat", **about})).calls
    assert call.usage is not None
    assert (call.usage.uncached, call.usage.prompt) == (7, 657)


def told_four_times(*, with_span: bool = True) -> list[Record]:
    """One request: its span, its details, its turn and its agent."""
    (messages,) = conversation(1)
    whole = attributes(0, messages)
    counts = {key: value for key, value in whole.items() if "messages" not in key and "instructions" not in key}
    details = {**whole, "event.name": "gen_ai.client.inference.operation.details"}
    turn = {**usage(0), "event.name": "copilot_chat.agent.turn", "turn.index": 0}
    agent = {**usage(0), "gen_ai.operation.name": "invoke_agent"}
    log = {"traceId": "t0", "timestamp": "2026-02-02T02:40:00Z"}
    return [
        *([flat(0, counts)] if with_span else []),
        {**log, "spanId": "p0", "body": "GenAI inference: gpt-5", "attributes": details},
        {**log, "_body": "copilot_chat.agent.turn: 0", "attributes": turn},
        flat(0, agent, spanId="a", name="invoke_agent copilot"),
    ]


@pytest.mark.parametrize("left", [0, 1, 2, 3])
def test_one_request_reported_four_times_counts_once(tmp_path: Path, left: int) -> None:
    (call,) = opened(tmp_path, *told_four_times()[left:]).calls
    assert call.usage is not None
    assert (call.usage.prompt, call.usage.output) == (1_000, 20)


def test_the_details_lend_their_messages_to_a_span_without_contents(tmp_path: Path) -> None:
    session = opened(tmp_path, *told_four_times())
    assert said(session)[2][2] == "turn 0"


def test_a_span_that_is_exported_again_or_reported_by_two_instrumentations_counts_once(tmp_path: Path) -> None:
    (messages,) = conversation(1)
    outer = flat(0, attributes(0, messages))
    inner = flat(0, attributes(0, messages), spanId="inner", parentSpanId="p0")
    assert len(opened(tmp_path, inner, outer, outer).calls) == 1


def test_requests_without_contents_are_calls_whose_contents_are_not_recorded(tmp_path: Path) -> None:
    lines = [flat(turn, {"gen_ai.operation.name": "chat", **usage(turn)}) for turn in range(3)]
    session = opened(tmp_path, *lines)
    assert [call.usage.prompt for call in session.calls if call.usage] == [1_000, 1_001, 1_002]
    assert {kind for _, kind, _ in said(session)} == {BlockKind.OTHER}
    assert "contents not recorded" in said(session)[0][2]


def test_openinference_is_read_from_its_flattened_attributes(tmp_path: Path) -> None:
    call = "llm.input_messages.2.message.tool_calls.0.tool_call"
    about = {
        "openinference.span.kind": "LLM",
        "llm.model_name": "claude-sonnet-4-5",
        "session.id": "s9",
        "llm.tools.0.tool.json_schema": '{"name": "ls"}',
        "llm.input_messages.0.message.role": "system",
        "llm.input_messages.0.message.content": "You help.",
        "llm.input_messages.1.message.role": "user",
        "llm.input_messages.1.message.contents.0.message_content.type": "text",
        "llm.input_messages.1.message.contents.0.message_content.text": "go",
        "llm.input_messages.1.message.contents.1.message_content.image.image.url": "data:image/png;base64,AAAA",
        "llm.input_messages.2.message.role": "assistant",
        f"{call}.id": "c",
        f"{call}.function.name": "ls",
        f"{call}.function.arguments": "{}",
        "llm.input_messages.3.message.role": "tool",
        "llm.input_messages.3.message.tool_call_id": "c",
        "llm.input_messages.3.message.content": "found",
        "llm.output_messages.0.message.role": "assistant",
        "llm.output_messages.0.message.content": "done",
        "llm.token_count.prompt": 900,
        "llm.token_count.completion": 40,
        "llm.token_count.prompt_details.cache_read": 300,
        "llm.token_count.prompt_details.cache_write": 100,
    }
    session = opened(tmp_path, flat(0, about))
    assert [kind for _, kind, _ in said(session)] == [
        BlockKind.SYSTEM_TEXT,
        BlockKind.SYSTEM_TEXT,
        BlockKind.USER_TEXT,
        BlockKind.IMAGE,
        BlockKind.TOOL_CALL,
        BlockKind.TOOL_RESULT,
        BlockKind.ASSISTANT_TEXT,
    ]
    newest = session.calls[-1]
    assert newest.usage is not None
    assert (newest.usage.uncached, newest.usage.cache_read, newest.usage.cache_write_5m) == (500, 300, 100)
    assert (session.identifier, newest.model) == ("s9", "claude-sonnet-4-5")
    assert sum(call.usage is not None for call in session.calls) == 1


def test_claude_codes_own_names_leave_out_what_caches_held(tmp_path: Path) -> None:
    about = {"input_tokens": 5, "cache_read_tokens": 900, "cache_creation_tokens": 80, "output_tokens": 12}
    (call,) = opened(tmp_path, flat(0, {**about, "model": "claude-opus-4-8"}, name="claude_code.llm_request")).calls
    assert call.usage is not None
    assert (call.usage.prompt, call.usage.output, call.model) == (985, 12, "claude-opus-4-8")


def test_other_spans_are_counted_and_not_shown(tmp_path: Path) -> None:
    tool = flat(9, {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "ls"}, name="execute_tool ls")
    session = opened(tmp_path, *flat_lines(1), tool)
    assert session.record_counts == {"span": 1, "execute_tool": 1}
    assert len(session.calls) == 1


def test_two_conversations_in_one_export_are_two(tmp_path: Path) -> None:
    (messages,) = conversation(1)
    other = [{"role": "user", "parts": [{"type": "text", "content": "something else"}]}, messages[-1]]
    session = opened(tmp_path, *flat_lines(2), flat(5, attributes(5, other)))
    assert [session.messages[call.response].thread for call in session.calls] == [0, 0, 1]


def test_a_file_that_grows_is_followed_to_what_a_load_gives(tmp_path: Path) -> None:
    lines = [*told_four_times(), *flat_lines(4)]
    data = jsonl(lines)
    for before, now in tailed(tmp_path / "s.jsonl", data, len(encoded(lines[0])) + 1, [0.1, 0.3, 0.5, 0.9]):
        assert len(now.calls) >= len(before.calls)


def test_a_span_that_comes_late_takes_the_place_of_what_stood_for_it(tmp_path: Path) -> None:
    lines = told_four_times()
    path = tmp_path / "s.jsonl"
    path.write_bytes(jsonl(lines[1:]))
    follower = Follower(path)
    with path.open("ab") as file:
        file.write(encoded(lines[0]) + b"\n")
    follower.poll()
    assert len(follower.session.calls) == 1
    assert follower.session == open_session(path)


@pytest.mark.parametrize("odd", [None, 1, "x", [], {}, [1], {"a": 1}])
def test_attributes_of_any_kind_raise_nothing(tmp_path: Path, odd: Any) -> None:
    (messages,) = conversation(1)
    for name in attributes(0, messages):
        span = flat(0, {**attributes(0, messages), name: odd})
        opened(tmp_path, span, *flat_lines(1))
        path = tmp_path / "typed.json"
        value = export_document(1)
        value["resourceSpans"][0]["scopeSpans"][0]["spans"][0]["attributes"].append({"key": name, "value": typed("x")})
        path.write_bytes(encoded(value))
        assert detect(path).format.name == "otel"
        assert_sound(open_session(path))
