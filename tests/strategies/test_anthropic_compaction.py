"""Compaction by the Anthropic API: when it summarizes, what stays, and what it is charged."""

import json
from typing import Any

import pytest

from inspector.replay.engine.replay import replay
from inspector.replay.message_lists import apply_once, inputs_of_messages
from inspector.report.export import export_plan
from inspector.session.formats.plain import read_conversation
from inspector.strategies.library.micro_x import summary_placeholder
from tests.strategies.recorded import plan_of


def conversation(steps: int, words: int = 400) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Find the fault."}]
    for step in range(steps):
        use = {"type": "tool_use", "id": f"t{step}", "name": "bash", "input": {"command": f"step {step}"}}
        result = {"type": "tool_result", "tool_use_id": f"t{step}", "content": "word " * words}
        messages += [{"role": "assistant", "content": [use]}, {"role": "user", "content": [result]}]
    return messages


def test_below_the_threshold_nothing_changes() -> None:
    given = conversation(3)
    assert apply_once(given, plan_of("anthropic-compact"), input_tokens=149_999) == given


def test_at_the_threshold_a_summary_replaces_every_message() -> None:
    """Seven messages: the prompt, and three times a call with its result."""
    given = conversation(3)
    sent = apply_once(given, plan_of("anthropic-compact", summary_tokens=100), input_tokens=150_000)
    assert sent == [{"role": "user", "content": summary_placeholder(7, 100)}]


@pytest.mark.parametrize(("keep", "kept"), [(1, 2), (2, 2), (3, 4), (4, 4), (99, 7)])
def test_messages_that_are_kept_keep_their_pairs(keep: int, kept: int) -> None:
    """A result needs the message before it, which has its call."""
    given = conversation(3)
    plan = plan_of("anthropic-compact", keep_messages=keep, summary_tokens=100)
    sent = apply_once(given, plan, input_tokens=150_000)
    assert sent[-kept:] == given[-kept:]
    assert len(sent) == min(kept + 1, len(given))


def test_the_request_that_writes_the_summary_is_charged_at_the_call_that_reaches_the_threshold() -> None:
    session = read_conversation(conversation(6))
    outcome = replay(inputs_of_messages(session), plan_of("anthropic-compact", trigger=1_500, summary_tokens=100))
    first = outcome.ledger.prompt_tokens.tolist()
    whole = replay(inputs_of_messages(session), plan_of("anthropic-compact", trigger=2_000_000)).ledger.prompt_tokens
    reached = next(call for call, tokens in enumerate(whole.tolist()) if tokens >= 1_500)
    assert first[:reached] == whole.tolist()[:reached]
    assert first[reached] < 400
    assert len(outcome.edits.model_calls) >= 1
    made = outcome.edits.model_calls[0]
    assert (made.call, made.output_tokens) == (reached, 100)
    assert made.prompt_tokens > 1_000


def test_a_later_summary_covers_the_earlier_one() -> None:
    session = read_conversation(conversation(12))
    outcome = replay(inputs_of_messages(session), plan_of("anthropic-compact", trigger=1_500, summary_tokens=100))
    calls = [made.call for made in outcome.edits.model_calls]
    assert len(calls) > 1
    assert calls == sorted(set(calls))
    assert outcome.ledger.prompt_tokens.max() < 1_500


def test_it_is_exported_as_an_edit_of_its_own() -> None:
    exported = export_plan(plan_of("anthropic-compact", trigger=180_000, keep_messages=2), "anthropic")
    assert json.loads(exported.text)["context_management"]["edits"] == [
        {
            "type": "compact_20260112",
            "trigger": {"type": "input_tokens", "value": 180_000},
            "pause_after_compaction": True,
        }
    ]


def test_haystacks_hook_is_exported_as_code() -> None:
    exported = export_plan(plan_of("haystack-prune", window=100_000, keep_steps=2), "haystack")
    compile(exported.text, "hook", "exec")
    assert "ToolResultPruningCompactor(min_keep_steps=2" in exported.text
    assert "context_window=100000" in exported.text
