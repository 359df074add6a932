"""Real Codex sessions, checked against counts made here with nothing but the json module."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from inspector.session.model import BlockKind, Role, Session
from inspector.session.open import open_session
from inspector.session.registry import detect
from tests.session.soundness import assert_sound

FILES = {
    "rollout-2025-09-16T12-47-48-9cd28a74-da7e-4458-a91a-fffec2be9d7a.jsonl": ("0.36.0", "gpt-5-codex", 272_000),
    "rollout-2025-10-04T22-31-15-0199b26c-737a-71a2-9939-52ce68c95cbe.jsonl": ("0.44.0", "gpt-5-codex", 272_000),
    "rollout-2026-04-07T13-59-53-019d683e-1ac9-7fb1-99eb-e46acbee7ff0.jsonl": ("0.118.0-alpha.2", "gpt-5.4", 258_400),
    "rollout-2026-06-18T07-23-13-019ed99c-d00d-7613-b2e7-d2f512f78afd.jsonl": ("0.140.0", "gpt-5.5", 258_400),
}

Items = list[dict[str, Any]]


@pytest.fixture(scope="module", params=sorted(FILES))
def path(request: pytest.FixtureRequest, corpus: Path) -> Path:
    file: Path = corpus / "codex" / request.param
    return file


@pytest.fixture(scope="module")
def lines(path: Path) -> Items:
    return [json.loads(line) for line in path.read_bytes().split(b"\n") if line]


@pytest.fixture(scope="module")
def session(path: Path) -> Session:
    return open_session(path)


def items(lines: Items) -> Items:
    """The items of the conversation, with those that compactions left."""
    found = []
    for line in lines:
        if line["type"] == "response_item":
            found.append(line["payload"])
        elif line["type"] == "compacted":
            found += line["payload"]["replacement_history"]
    return found


def reports(lines: Items) -> Items:
    events = [line["payload"] for line in lines if line["type"] == "event_msg"]
    infos = [event["info"] for event in events if event["type"] == "token_count" and event["info"]]
    changed = [info for info, before in zip(infos, [{}, *infos], strict=False) if info != before]
    seen: list[dict[str, Any]] = []
    for info in changed:
        if not seen or info["total_token_usage"] != seen[-1]["total_token_usage"]:
            seen.append(info)
    return seen


def texts_of(item: dict[str, Any]) -> list[str]:
    content = item["content"]
    return [content] if isinstance(content, str) else [part["text"] for part in content]


def test_it_is_reported_by_its_content(path: Path, tmp_path: Path) -> None:
    copy = tmp_path / "something.else"
    copy.write_bytes(path.read_bytes())
    assert detect(copy).format.name == "codex"


def test_nothing_is_skipped_and_everything_holds(session: Session, lines: Items) -> None:
    assert session.skipped_records == 0
    assert session.diagnostics == ()
    assert sum(session.record_counts.values()) == len(lines)
    assert_sound(session)


def test_the_header_is_read(path: Path, session: Session, lines: Items) -> None:
    version, model, window = FILES[path.name]
    assert session.agent == f"Codex {version}"
    assert session.models == (model,)
    assert session.window == window
    assert session.identifier == lines[0]["payload"]["id"]
    assert session.working_directory == lines[0]["payload"]["cwd"]


def test_every_text_of_every_message_is_there_once_and_in_order(session: Session, lines: Items) -> None:
    header = lines[0]["payload"]
    instructions = [header["base_instructions"]["text"]] if "base_instructions" in header else []
    tools = [header["dynamic_tools"]] if header.get("dynamic_tools") else []
    for role, kind in (
        ("user", BlockKind.USER_TEXT),
        ("assistant", BlockKind.ASSISTANT_TEXT),
        ("developer", BlockKind.SYSTEM_TEXT),
    ):
        messages = [item for item in items(lines) if item["type"] == "message" and item["role"] == role]
        found = [session.text(block) for block in session.blocks if block.kind is kind]
        if role == "developer":
            assert found[: len(instructions)] == instructions
            defined = found[len(instructions) : len(instructions) + len(tools)]
            assert [json.loads(text) for text in defined] == tools
            del found[: len(instructions) + len(tools)]
        assert found == [text for item in messages for text in texts_of(item)]


def test_tool_calls_and_results_are_all_there(session: Session, lines: Items) -> None:
    calls = [item for item in items(lines) if item["type"].endswith("_call")]
    blocks = [block for block in session.blocks if block.kind is BlockKind.TOOL_CALL]
    assert [block.tool_call_id for block in blocks] == [item["call_id"] for item in calls]
    assert [block.tool_name for block in blocks] == [item.get("name", "tool_search") for item in calls]
    for block, item in zip(blocks, calls, strict=True):
        if item["type"] == "function_call":
            assert session.text(block) == item["arguments"]
        elif item["type"] == "custom_tool_call":
            assert session.text(block) == item["input"]
    outputs = [item for item in items(lines) if item["type"].endswith("_output")]
    results = [block for block in session.blocks if block.kind is BlockKind.TOOL_RESULT]
    assert [block.tool_call_id for block in results] == [item["call_id"] for item in outputs]
    names = {item["call_id"]: item.get("name", "tool_search") for item in calls}
    assert [block.tool_name for block in results] == [names[item["call_id"]] for item in outputs]
    assert [session.text(block) for block in results if block.tool_name != "tool_search"] == [
        item["output"] for item in outputs if "output" in item
    ]


def test_commands_that_failed_are_errors(session: Session, lines: Items) -> None:
    failed = []
    for item in items(lines):
        output = item.get("output", "")
        head = output[:200].partition("Output:")[0]
        codes = [words.split()[-1] for words in head.splitlines() if words.startswith(("Exit code:", "Process exited"))]
        is_error = (
            (output.startswith('{"output"') and json.loads(output)["metadata"]["exit_code"] != 0)
            or codes not in ([], ["0"])
            or output.startswith(("apply_patch verification failed", "failed in sandbox"))
        )
        failed += [item["call_id"]] if is_error else []
    assert [block.tool_call_id for block in session.blocks if block.is_error] == failed


def test_reasoning_is_there_with_the_length_of_what_is_encrypted(session: Session, lines: Items) -> None:
    reasoning = [item for item in items(lines) if item["type"] == "reasoning"]
    blocks = [block for block in session.blocks if block.kind is BlockKind.THINKING]
    assert [block.signature_characters for block in blocks] == [
        len(item.get("encrypted_content") or "") for item in reasoning
    ]
    assert [session.text(block) for block in blocks] == [
        "\n\n".join(part["text"] for part in item["summary"]) for item in reasoning
    ]


def test_usage_adds_up_to_the_total_that_codex_kept_itself(session: Session, lines: Items) -> None:
    usages = [call.usage for call in session.calls if call.usage is not None]
    total = reports(lines)[-1]["total_token_usage"]
    assert len(usages) == len(session.calls) == len(reports(lines))
    assert sum(usage.prompt for usage in usages) == total["input_tokens"]
    assert sum(usage.cache_read for usage in usages) == total["cached_input_tokens"]
    assert sum(usage.output for usage in usages) == total["output_tokens"]
    assert sum(usage.reasoning for usage in usages) == total["reasoning_output_tokens"]


def test_every_call_has_the_report_that_fits_its_response(session: Session, lines: Items) -> None:
    prompts = [info["last_token_usage"]["input_tokens"] for info in reports(lines)]
    assert [call.usage.prompt for call in session.calls if call.usage] == prompts
    # No token has more than a dozen characters on average, so usage of another response would be visible.
    for call in session.calls:
        blocks = session.messages[call.response].blocks
        visible = sum(block.characters for block in blocks if block.kind is not BlockKind.THINKING)
        assert call.usage is not None
        assert call.usage.output - call.usage.reasoning >= visible / 12


def test_no_event_is_shown_next_to_the_item_it_repeats(session: Session) -> None:
    shown = [session.text(message.blocks[0]) for message in session.messages if message.role is Role.OTHER]
    assert [json.loads(text)["payload"]["type"] for text in shown] == ["turn_aborted"] * len(shown)


def test_prompts_of_a_context_grow_until_a_compaction(session: Session, lines: Items) -> None:
    compacted = [line["payload"] for line in lines if line["type"] == "compacted"]
    assert len(session.compactions) == len(compacted)
    assert len(session.contexts) == 1 + len(compacted)
    for context, payload in zip(session.contexts[1:], compacted, strict=True):
        left = context.members[context.retained : context.retained + len(payload["replacement_history"])]
        assert [[session.text(block) for block in session.messages[index].blocks] for index in left] == [
            texts_of(item) for item in payload["replacement_history"]
        ]
    for before, after in zip(session.calls, session.calls[1:], strict=False):
        if before.context == after.context:
            assert after.prompt_messages > before.prompt_messages


def test_prompts_no_one_typed_are_marked(session: Session, lines: Items) -> None:
    typed = Counter(
        line["payload"]["message"]
        for line in lines
        if line["type"] == "event_msg" and line["payload"]["type"] == "user_message"
    )
    found = Counter(
        session.text(message.blocks[0])
        for message in session.messages[: session.compactions[0].message if session.compactions else None]
        if message.role is Role.USER and not message.is_meta
    )
    assert found <= typed
    if not session.compactions:
        assert found == typed


def test_our_counts_are_on_the_scale_of_what_was_reported(session: Session) -> None:
    from inspector.replay.engine.token_scale import calibrate_session
    from inspector.strategies.history.history import History
    from inspector.tokens.counter import load_counter
    from inspector.tokens.token_table import count_session

    counter = load_counter()
    if not counter.is_exact_tokenizer:
        pytest.skip("the vocabulary is not there, so that counts are estimates")
    *_, table = count_session(session, counter)
    calibration = calibrate_session(History.of(session), table)
    assert calibration.is_fitted
    assert calibration.ratio == pytest.approx(1.0, abs=0.025)
    assert calibration.residual < 0.005
    assert calibration.residual_p90 < 0.02
