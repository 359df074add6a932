"""Gate that applies a plan to an agent's calls: messages sent, reports, and behavior on failure."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from inspector import Plan, compact
from inspector.adapters.gate import PlanGate
from inspector.adapters.sdk import with_plan
from inspector.strategies.plan import PlanError

TRIM = 'trim-at-insertion:threshold=400,head=100,tail=100,marker="[{recall}]"'
BUDGET = "token-budget:budget=500,keep=50"


def conversation(results: int, form: str = "openai") -> list[dict]:
    """A conversation of so many tool results, each of 2,000 characters."""
    messages: list[dict] = [{"role": "user", "content": "go"}]
    for number in range(results):
        name, text = f"call_{number}", f"{number} " * 1_000
        if form == "openai":
            function = {"name": "run", "arguments": "{}"}
            call = {"id": name, "type": "function", "function": function}
            messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
            messages.append({"role": "tool", "tool_call_id": name, "content": text})
        else:
            use = {"type": "tool_use", "id": name, "name": "run", "input": {}}
            messages.append({"role": "assistant", "content": [use]})
            result = {"type": "tool_result", "tool_use_id": name, "content": text}
            messages.append({"role": "user", "content": [result]})
    return messages


@pytest.mark.parametrize("form", ["openai", "anthropic"])
@pytest.mark.parametrize("plan", [TRIM, BUDGET, "aggressive", "tiered-stale"])
def test_call_after_call_it_sends_what_compact_says(plan: str, form: str) -> None:
    gate = PlanGate(plan)
    for results in (1, 2, 3, 5):
        messages = conversation(results, form)
        before = [dict(message) for message in messages]
        assert gate.to_send(messages) == compact(messages, plan)
        assert messages == before


def test_conversations_at_once_are_distinguished() -> None:
    gate = PlanGate(BUDGET)
    other = [{"role": "user", "content": "another"}, *conversation(4)[1:]]
    for results in (2, 3, 4):
        assert gate.to_send(conversation(results)) == compact(conversation(results), BUDGET)
        assert gate.to_send(other[: 2 * results]) == compact(other[: 2 * results], BUDGET)


def test_a_changed_beginning_is_another_conversation() -> None:
    gate = PlanGate(BUDGET)
    gate.to_send(conversation(4))
    rewound = conversation(2)
    assert gate.to_send(rewound) == compact(rewound, BUDGET)


def test_each_call_says_its_row_of_the_ledger_and_what_was_cut() -> None:
    reports = []
    gate = PlanGate(TRIM, on_call=reports.append)
    gate.to_send(conversation(1))
    gate.to_send(conversation(2))
    first, second = reports
    assert (first.call, second.call) == (2, 3)
    assert first.removed_tokens == first.whole_tokens - first.prompt_tokens > 0
    (cut,) = first.cuts
    assert (cut.tool, cut.tool_call_id, cut.action, cut.is_new) == ("run", "call_0", "cut", True)
    assert cut.reason == "trim-at-insertion: large at insertion"
    assert (cut.characters_before, cut.characters_sent) == (2_000, 200 + len("[inspector recall call_0]"))
    assert [each.is_new for each in second.cuts] == [False, True]
    assert second.edits == 1
    assert 0 < second.reusable_tokens <= second.prompt_tokens


def test_the_token_budget_says_on_standard_error_what_its_document_says(capsys: pytest.CaptureFixture[str]) -> None:
    gate = PlanGate(BUDGET, diagnostics=True)
    for results in range(1, 4):
        gate.to_send(conversation(results))
    lines = capsys.readouterr().err.splitlines()
    assert lines
    assert all(line.startswith("Note: Compacted ") for line in lines)
    assert "old tool result(s) — input tokens (" in lines[0]
    assert lines[0].endswith(") exceeded budget (500)")


def test_other_plans_say_what_they_changed_and_nothing_where_they_did_not(capsys: pytest.CaptureFixture[str]) -> None:
    gate = PlanGate(TRIM, diagnostics=True)
    gate.to_send(conversation(1))
    gate.to_send([*conversation(1), {"role": "assistant", "content": "ok"}, {"role": "user", "content": "more"}])
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("Note: Call 2: the plan changed 1 block — ")


def test_what_fails_leaves_the_messages_as_they_are_and_is_reported_once(capsys: pytest.CaptureFixture[str]) -> None:
    gate = PlanGate(TRIM)
    broken = [{"role": "user", "content": "go"}, {"role": "nobody"}]
    assert gate.to_send(broken) == broken
    assert gate.to_send(broken) == broken
    assert capsys.readouterr().err.count("\n") == 1
    assert gate.to_send(conversation(1)) == compact(conversation(1), TRIM)


def test_a_callback_that_fails_keeps_no_call_from_being_made(capsys: pytest.CaptureFixture[str]) -> None:
    def fail(report: object) -> None:
        raise ValueError("mine")

    gate = PlanGate(TRIM, on_call=fail)
    assert gate.to_send(conversation(1)) == conversation(1)
    assert "mine" in capsys.readouterr().err


def test_a_plan_that_is_none_is_refused_at_once() -> None:
    with pytest.raises(PlanError):
        PlanGate("nobody")
    assert PlanGate(Plan()).to_send(conversation(1)) == conversation(1)


def test_what_is_no_client_is_refused() -> None:
    with pytest.raises(TypeError, match="is not a client"):
        with_plan(SimpleNamespace(), TRIM)
