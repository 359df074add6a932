"""Totals that Claude Code records: the `result` of a printed run, and `cost-state`."""

import json
from pathlib import Path
from typing import Any

import pytest

from inspector.cli.reading import replay_inputs
from inspector.replay.analysis.plan_outcome import plan_outcome
from inspector.replay.assumptions import ASSUMED_RUNS, Assumptions
from inspector.replay.engine.replay import replay
from inspector.replay.explain.cost_sheet import cost_sheet
from inspector.report.document import Report
from inspector.report.session_report import report_of
from inspector.report.session_summary import summary_of
from inspector.session.follow import Follower
from inspector.session.model import Session, Usage
from inspector.session.open import open_session
from inspector.session.reading_check import independent_totals, totals_of
from inspector.strategies.plan import Plan
from inspector.ui.cost.rows import CostSection, section_table
from inspector.ui.figure_table.table import Table
from inspector.ui.timeline.rows import Rows
from tests.session.claude_lines import SESSION, Script

MODEL, SMALL = "claude-sonnet-4-5", "claude-haiku-4-5"


def per_model(prompt: int, output: int, read: int = 0, written: int = 0, cost: float = 0.0) -> dict[str, Any]:
    counts = {"inputTokens": prompt, "cacheReadInputTokens": read, "cacheCreationInputTokens": written}
    return {**counts, "outputTokens": output, "costUSD": cost}


class Printed:
    """Lines of `claude -p --output-format stream-json`: responses report their output as they begin."""

    def __init__(self) -> None:
        self.lines: list[dict[str, Any]] = []
        self.add("system", subtype="init", cwd="/project", tools=[])

    def add(self, kind: str, **fields: Any) -> None:
        self.lines.append({"type": kind, "session_id": "s", "uuid": f"u{len(self.lines)}", **fields})

    def ask(self, text: str) -> None:
        self.add("user", message={"role": "user", "content": text}, parent_tool_use_id=None)

    def answer(self, identifier: str, text: str, prompt: int, read: int = 0, agent: str | None = None) -> None:
        usage = {"input_tokens": prompt, "cache_read_input_tokens": read, "output_tokens": 1}
        message = {"id": identifier, "role": "assistant", "model": MODEL, "usage": usage}
        self.add(
            "assistant", message={**message, "content": [{"type": "text", "text": text}]}, parent_tool_use_id=agent
        )

    def result(
        self, cost: float, output: int, prompt: int, models: dict[str, Any] | None = None, read: int = 0
    ) -> None:
        usage = {"input_tokens": prompt, "cache_read_input_tokens": read, "output_tokens": output}
        fields = {"usage": usage} if models is None else {"usage": usage, "modelUsage": models}
        self.add("result", subtype="success", total_cost_usd=cost, num_turns=2, result="done", **fields)

    def write(self, path: Path) -> Path:
        path.write_text("".join(json.dumps(line) + "\n" for line in self.lines))
        return path


def reported(session: Session) -> Report:
    return report_of(replay_inputs(session))


def two_calls() -> Printed:
    run = Printed()
    run.ask("go")
    run.answer("m1", "one " * 100, 1_000)
    run.answer("m2", "one " * 300, 400, read=1_000)
    return run


# Sonnet 4.5, per million: $3 in, $0.30 read, $15 out. 1,400 in, 1,000 read and 500 out are 0.0042 + 0.0003 + 0.0075.
def test_the_result_of_a_printed_run_makes_its_output_exact(tmp_path: Path) -> None:
    run = two_calls()
    run.result(0.012, 500, 1_400, {MODEL: per_model(1_400, 500, 1_000)}, read=1_000)
    session = open_session(run.write(tmp_path / "run.jsonl"))
    report = reported(session)
    assert report.recorded is not None
    assert (report.recorded.output_tokens, report.recorded.at_least) == (500, [])
    assert report.recorded.cost_usd == pytest.approx(0.012)
    assert (report.baseline.output_tokens, report.baseline.cost_usd) == (500, pytest.approx(0.012))
    assert {report.baseline.known[name] for name in ("output_tokens", "cost_usd")} == {"exact"}
    assert report.beside == []
    assert not any("the agent recorded" in each for each in report.warnings)
    # 1 of each had been streamed; the other 498 by length, 100 and 300 words.
    inputs = replay_inputs(session)
    first, second = inputs.output.tolist()
    assert first + second == 500
    assert second / first == pytest.approx(3, rel=0.2)


def test_without_a_result_the_output_of_a_printed_run_is_a_lower_bound(tmp_path: Path) -> None:
    report = reported(open_session(two_calls().write(tmp_path / "run.jsonl")))
    assert report.recorded is not None
    assert "output_tokens" in report.recorded.at_least


def test_a_result_without_models_counts_for_the_only_model(tmp_path: Path) -> None:
    run = two_calls()
    run.result(0.012, 500, 1_400, read=1_000)
    report = reported(open_session(run.write(tmp_path / "run.jsonl")))
    assert (report.baseline.output_tokens, report.baseline.known["output_tokens"]) == (500, "exact")


# A title by Haiku 4.5 ($1, $5 per million): 300 in and 20 out are $0.0004. A request of the main model without a
# message: 600 in and 40 out are 0.0018 + 0.0006 = $0.0024.
def test_requests_that_only_a_result_reports_are_side_requests(tmp_path: Path) -> None:
    run = two_calls()
    models = {MODEL: per_model(2_000, 540, 1_000), SMALL: per_model(300, 20)}
    run.result(0.0148, 500, 1_400, models, read=1_000)
    session = open_session(run.write(tmp_path / "run.jsonl"))
    assert sorted((each.model, each.usage) for each in session.side_calls) == [
        (SMALL, Usage(uncached=300, output=20)),
        (MODEL, Usage(uncached=600, output=40)),
    ]
    report = reported(session)
    assert report.baseline.output_tokens == 500
    (beside,) = report.beside
    assert (beside.purpose, beside.calls, beside.cost_usd) == ("request without a message", 2, pytest.approx(0.0028))
    assert report.altogether_usd == pytest.approx(0.0148)


def test_results_of_one_process_include_the_earlier_ones_and_those_of_another_do_not(tmp_path: Path) -> None:
    run = two_calls()
    run.result(0.012, 500, 1_400, {MODEL: per_model(1_400, 500, 1_000)}, read=1_000)
    run.ask("on")
    run.answer("m3", "two " * 50, 100, read=1_400)
    run.result(0.013, 60, 100, {MODEL: per_model(1_500, 560, 2_400)}, read=1_400)  # the same process
    session = open_session(run.write(tmp_path / "run.jsonl"))
    (whole,) = session.recorded_totals
    assert (whole.first_call, whole.end_call, whole.cost_usd) == (0, 3, 0.013)
    assert reported(session).baseline.output_tokens == 560

    run.ask("on")
    run.answer("m4", "three " * 50, 200)
    run.result(0.001, 30, 200, {MODEL: per_model(200, 30)})  # a new one
    session = open_session(run.write(tmp_path / "run.jsonl"))
    assert [(each.first_call, each.end_call) for each in session.recorded_totals] == [(0, 3), (3, 4)]
    assert reported(session).baseline.output_tokens == 560 + 30
    assert session.side_calls == ()


def test_a_cost_that_differs_from_the_computed_one_is_shown_next_to_it(tmp_path: Path) -> None:
    run = two_calls()
    run.result(0.5, 500, 1_400, {MODEL: per_model(1_400, 500, 1_000)}, read=1_000)
    report = reported(open_session(run.write(tmp_path / "run.jsonl")))
    (cost,) = report.recorded_costs
    assert (cost.source, cost.recorded_usd, cost.computed_usd) == ("result", 0.5, pytest.approx(0.012))
    assert "the agent recorded a cost of $0.50 (result); known requests cost $0.012" in report.warnings


def test_totals_below_the_reported_usage_are_not_used(tmp_path: Path) -> None:
    run = two_calls()
    run.result(0.001, 5, 10, {MODEL: per_model(10, 5)})
    session = open_session(run.write(tmp_path / "run.jsonl"))
    assert [each.usages for each in session.recorded_totals] == [()]
    report = reported(session)
    assert report.recorded is not None
    assert "output_tokens" in report.recorded.at_least


def test_the_last_event_of_a_stream_has_the_size_of_its_response(tmp_path: Path) -> None:
    run = Printed()
    run.ask("go")
    for number, output in enumerate((70, 90)):
        run.add(
            "stream_event", event={"type": "message_start", "message": {"id": f"m{number}"}}, parent_tool_use_id=None
        )
        run.answer(f"m{number}", "a long answer " * 40, 1_000 + number)
        delta = {"type": "message_delta", "delta": {}, "usage": {"output_tokens": output}}
        run.add("stream_event", event=delta, parent_tool_use_id=None)
    session = open_session(run.write(tmp_path / "run.jsonl"))
    assert [call.usage and (call.usage.output, call.usage.output_is_placeholder) for call in session.calls] == [
        (70, False),
        (90, False),
    ]
    assert independent_totals(session) == totals_of(session)


def recorded_session(cost: float, models: dict[str, Any], **fields: Any) -> Script:
    script = Script()
    script.prompt("go")
    usage = {"input_tokens": 1_000, "output_tokens": 100}
    script.block("m1", {"type": "text", "text": "An answer."}, usage)
    script.lines.append(
        {"type": "cost-state", "sessionId": SESSION, "totalCostUSD": cost, "modelUsage": models, **fields}
    )
    return script


OPUS = "claude-opus-4-8"


# Opus 4.8 ($5, $25 per million): 1,000 in and 100 out are $0.0075. Haiku 4.5: 500 in and 30 out are $0.00065.
def test_a_cost_state_adds_the_requests_that_a_session_does_not_record(tmp_path: Path) -> None:
    models = {f"{OPUS}[1m]": per_model(1_000, 100), SMALL: per_model(500, 30)}
    session = open_session(recorded_session(0.00815, models).write(tmp_path / f"{SESSION}.jsonl"))
    (totals,) = session.recorded_totals
    assert (totals.source, totals.includes_subagents) == ("cost-state", True)
    assert [(each.purpose, each.model, each.usage) for each in session.side_calls] == [
        ("request without a message", SMALL, Usage(uncached=500, output=30))
    ]
    report = reported(session)
    assert report.altogether_usd == pytest.approx(0.00815)
    assert not any("the agent recorded" in each for each in report.warnings)


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda script: script.call("m2", "t1", "Agent"), id="a subagent"),
        pytest.param(
            lambda script: script.lines[-1].update(startTime=1_772_000_000_000),
            id="the process began in another session",
        ),
    ],
)
def test_a_cost_state_that_may_include_other_files_is_only_shown(tmp_path: Path, change: Any) -> None:
    script = recorded_session(3.0, {OPUS: per_model(100_000, 10_000)})
    last = script.lines.pop()
    script.lines.append(last)
    change(script)
    if script.lines[-1] is not last:
        script.lines.remove(last)
        script.lines.append(last)
        agent = script.lines[-2]["message"]["content"][0]
        agent["input"] = {"prompt": "look", "description": "look"}
    session = open_session(script.write(tmp_path / f"{SESSION}.jsonl"))
    assert session.side_calls == ()
    assert any(
        "the agent recorded a cost of $3.00 (cost-state, with subagents)" in each for each in reported(session).warnings
    )


def test_a_later_cost_state_replaces_the_earlier_one_while_its_session_is_followed(tmp_path: Path) -> None:
    script = recorded_session(0.00815, {OPUS: per_model(1_000, 100), SMALL: per_model(500, 30)})
    path = script.write(tmp_path / f"{SESSION}.jsonl")
    follower = Follower(path)
    models = {OPUS: per_model(1_000, 100), SMALL: per_model(700, 40)}
    line = {"type": "cost-state", "sessionId": SESSION, "totalCostUSD": 0.0084, "modelUsage": models}
    with path.open("a") as file:
        file.write(json.dumps(line) + "\n")
    follower.poll()
    assert [each.usage for each in follower.session.side_calls] == [Usage(uncached=700, output=40)]
    assert follower.session == open_session(path)
    assert independent_totals(follower.session) == totals_of(follower.session)


# As in the first test: $0.012, of which 498 output tokens are in no line.
def test_the_list_of_sessions_shows_the_cost_of_a_printed_run_from_its_result(tmp_path: Path) -> None:
    run = two_calls()
    run.result(0.012, 500, 1_400, {MODEL: per_model(1_400, 500, 1_000)}, read=1_000)
    summary = summary_of(open_session(run.write(tmp_path / "run.jsonl")))
    assert (summary.usd, summary.tokens, summary.is_lower_bound) == (pytest.approx(0.012), 2_400, False)
    assert summary_of(open_session(two_calls().write(tmp_path / "other.jsonl"))).is_lower_bound


# 1,000 x 3 + 19,000 x 0.30 + 41,000 x 3.75 + 350 x 15 per million is $0.1677.
def test_the_list_of_sessions_shows_the_cost_of_copilot_from_its_totals(shared: Path) -> None:
    (path,) = (shared / "cases" / "86-copilot-shutdown").iterdir()
    summary = summary_of(open_session(path))
    assert (summary.usd, summary.tokens, summary.is_lower_bound) == (pytest.approx(0.1677), 61_000, False)


def test_the_screen_shows_a_recorded_cost_that_differs_below_the_totals(tmp_path: Path) -> None:
    run = two_calls()
    run.result(0.5, 500, 1_400, {MODEL: per_model(1_400, 500, 1_000)}, read=1_000)
    inputs = replay_inputs(open_session(run.write(tmp_path / "run.jsonl")))
    baseline = replay(inputs, Plan())
    sheet = cost_sheet(baseline, baseline, plan_outcome(baseline, baseline), Assumptions(), ASSUMED_RUNS)
    table = section_table(CostSection.TOTALS, sheet, Rows.of(inputs.history), Table((), ()))
    (row,) = [row for row in table.rows if row.key == ("recorded", 0)]
    assert (row.cells["name"].text, row.cells["before"].text) == ("recorded by the agent (result)", "$0.50")
    assert sheet.explained["recorded", 0].inputs[0].value == pytest.approx(0.012)
