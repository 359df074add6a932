"""Whole reports on a bundled sample, reviewed once, with figures computed independently."""

from __future__ import annotations

import json
import os
from pathlib import Path

import msgspec
import pytest

from inspector.cli import main
from inspector.replay.engine.replay import replay
from inspector.replay.message_lists import messages_at
from inspector.report.document import Report
from inspector.strategies.plan import Plan
from tests.conftest import ROOT

GOLDEN = Path(__file__).parent / "golden"
SAMPLE = "sample_sessions/coding-agent.jsonl"
OPUS = {"input": 5.0, "read": 0.5, "write_5m": 6.25, "write_1h": 10.0, "output": 25.0}
"""Anthropic's list prices for claude-opus-4-8, dollars per million tokens."""

REPORTS = {
    "report.txt": [
        "report",
        SAMPLE,
        "--strategy",
        "tiered-stale",
        "--strategy",
        "token-budget + keep-recent",
        "--runs-per-day",
        "24",
    ],
    "report.json": ["report", SAMPLE, "--strategy", "tiered-stale", "--format", "json"],
    "report.md": ["report", SAMPLE, "--strategy", "tiered-stale", "--runs-per-day", "24", "--format", "md"],
    "calls.csv": ["report", SAMPLE, "--strategy", "tiered-stale", "--format", "csv"],
    "blocks.csv": ["report", SAMPLE, "--strategy", "tiered-stale", "--format", "csv", "--rows", "blocks"],
}


@pytest.fixture(autouse=True)
def in_the_checkout(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


@pytest.mark.parametrize("name", REPORTS)
def test_a_report_is_what_was_read_by_eye(name: str, capsys):
    assert main(REPORTS[name]) == 0
    text = capsys.readouterr().out
    if os.environ.get("INSPECTOR_UPDATE_GOLDEN"):
        (GOLDEN / name).write_text(text, encoding="utf-8", newline="")

    assert text == (GOLDEN / name).read_bytes().decode("utf-8"), (
        "read the difference; INSPECTOR_UPDATE_GOLDEN=1 keeps it"
    )


def golden_report() -> Report:
    return msgspec.json.decode((GOLDEN / "report.json").read_bytes(), type=Report, strict=True)


def test_the_recorded_tokens_and_cost_are_those_in_the_file():
    usages = {}
    for line in Path(SAMPLE).read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        if record["type"] == "assistant":
            usages[record["message"]["id"]] = record["message"]["usage"]
    prompt, cost = 0, 0.0
    for usage in usages.values():
        written = usage["cache_creation_input_tokens"]
        one_hour = usage.get("cache_creation", {}).get("ephemeral_1h_input_tokens", 0)
        prompt += usage["input_tokens"] + usage["cache_read_input_tokens"] + written
        cost += usage["input_tokens"] * OPUS["input"] + usage["cache_read_input_tokens"] * OPUS["read"]
        cost += (written - one_hour) * OPUS["write_5m"] + one_hour * OPUS["write_1h"]
        cost += usage["output_tokens"] * OPUS["output"]

    recorded = golden_report().recorded
    assert recorded is not None
    assert recorded.prompt_tokens == prompt
    assert recorded.cost_usd == pytest.approx(cost / 1e6, abs=1e-6)


def test_the_tokens_a_plan_saves_are_those_missing_from_the_messages_it_would_send():
    from inspector.cli.reading import read_session, replay_inputs
    from inspector.tokens.counter import load_counter

    report = golden_report()
    inputs = replay_inputs(read_session(Path(SAMPLE)))
    count = load_counter().count
    baseline, planned = (replay(inputs, plan) for plan in (Plan(), Plan.from_specs(report.plans[0].strategies)))

    def tokens(result: dict) -> int:
        content = result["content"]
        return sum(count(part["text"]) for part in content) if isinstance(content, list) else count(content)

    def results_sent(which, call: int) -> int:
        messages = messages_at(which, call, "anthropic")
        parts = [part for message in messages if isinstance(message["content"], list) for part in message["content"]]
        return sum(tokens(part) for part in parts if part["type"] == "tool_result")

    calls = range(inputs.history.call_count)
    missing = sum(results_sent(baseline, call) - results_sent(planned, call) for call in calls)
    assert report.tokens.calibration is not None
    assert report.plans[0].saved.tokens == pytest.approx(missing * report.tokens.calibration.ratio, rel=0.001)
