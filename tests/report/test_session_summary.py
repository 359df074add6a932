"""One session in a line: its figures are sums over the provider's reports, priced as a report prices them."""

import json
from pathlib import Path

import pytest

from inspector.replay.pricing.prices import Pricing
from inspector.report.session_summary import summarize
from tests.program import run_here
from tests.session.claude_lines import SESSION, Script
from tests.session.copilot_lines import CopilotScript
from tests.session.test_copilot_totals import MODEL, answered, metrics, shutdown


def usage(uncached: int, read: int, output: int) -> dict[str, int]:
    return {"input_tokens": uncached, "cache_read_input_tokens": read, "output_tokens": output}


def test_a_summary_says_who_what_and_how_much(tmp_path: Path) -> None:
    script = Script()
    script.add(type="ai-title", aiTitle="Find the guard")
    script.prompt("look into it")
    script.text("m1", "Looking.", usage=usage(10, 100, 5))
    script.text("m2", "Found it.", usage=usage(20, 200, 7))
    summary = summarize(script.write(tmp_path / f"{SESSION}.jsonl"))
    assert (summary.title, summary.prompt, summary.last) == ("Find the guard", "look into it", "Found it.")
    assert (summary.identifier, summary.working_directory, summary.model) == (SESSION, "/project", "claude-opus-4-8")
    assert (summary.calls, summary.tokens, summary.context) == (2, 330, 227)
    assert summary.is_whole


def test_calls_copied_from_another_session_are_counted_there(tmp_path: Path) -> None:
    script = Script()
    script.text("m1", usage=usage(10, 0, 5), sessionId="99999999-2222-4333-8444-555555555555")
    script.prompt("go on")
    script.text("m2", usage=usage(20, 0, 7))
    summary = summarize(script.write(tmp_path / f"{SESSION}.jsonl"))
    assert (summary.calls, summary.tokens) == (1, 20)


def test_a_session_that_only_took_over_calls_shows_them_while_their_own_session_is_gone(tmp_path: Path) -> None:
    earlier = "99999999-2222-4333-8444-555555555555"
    script = Script()
    script.lines.append({"type": "mode", "mode": "normal", "sessionId": SESSION})
    script.text("m1", usage=usage(10, 0, 5), sessionId=earlier)
    path = script.write(tmp_path / f"{SESSION}.jsonl")
    assert (summarize(path).calls, summarize(path).tokens) == (1, 10)
    script.write(tmp_path / f"{earlier}.jsonl")
    assert (summarize(path).calls, summarize(path).tokens) == (0, None)


def test_a_total_of_many_short_prompts_is_not_priced_as_a_long_one(tmp_path: Path) -> None:
    script = CopilotScript()
    script.start()
    answered(script, *[100] * 10)
    shutdown(script, metrics(1_000_000, 1_000, requests=10))
    summary = summarize(script.write(tmp_path / "s1" / "events.jsonl"))
    # 100,000 tokens each, below 200,000, from where $6 and $22.50 apply: 1,000,000 x $3 + 1,000 x $15 per million
    assert (summary.tokens, summary.usd) == (1_000_000, pytest.approx(3.015))


def test_side_requests_that_only_totals_report_have_the_price_of_their_average_prompt(tmp_path: Path) -> None:
    script = CopilotScript()
    script.start()
    answered(script, 100)
    shutdown(script, metrics(20_000, 100), {"gemini-2.5-pro": metrics(900_000, 0, requests=9)})
    summary = summarize(script.write(tmp_path / "s1" / "events.jsonl"))
    # 100,000 tokens each, at most 200,000, so $1.25 per million; the call is 20,000 x $3 + 100 x $15 per million.
    assert summary.usd == pytest.approx(900_000 * 1.25e-6 + 0.0615)


@pytest.mark.parametrize(("model", "is_lower_bound"), [(MODEL, False), ("gpt-5-mini", True)])
def test_a_call_of_a_model_that_no_total_has_makes_the_cost_a_lower_bound(
    tmp_path: Path, model: str, is_lower_bound: bool
) -> None:
    script = CopilotScript()
    script.start()
    answered(script, 100)
    script.user("go")
    script.answer("done", outputTokens=50, model=model)
    shutdown(script, metrics(20_000, 150, requests=2))
    assert summarize(script.write(tmp_path / "s1" / "events.jsonl")).is_lower_bound is is_lower_bound


def test_a_model_without_a_price_has_tokens_and_no_cost(tmp_path: Path) -> None:
    script = Script()
    message = {"id": "m1", "model": "nobody-knows-1", "content": [], "usage": usage(10, 0, 5)}
    script.add(type="assistant", message=message)
    summary = summarize(script.write(tmp_path / "s.jsonl"))
    assert (summary.tokens, summary.usd) == (10, None)


def test_what_cannot_be_read_says_why(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text("{}")
    summary = summarize(tmp_path / "x.json")
    assert summary.format == ""
    assert "not of a supported agent" in summary.problem


def test_a_long_session_can_be_read_in_part(tmp_path: Path) -> None:
    script = Script()
    for number in range(2000):
        script.text(f"m{number}", "word " * 200, usage=usage(1, 1, 1))
    path = script.write(tmp_path / "s.jsonl")
    part, whole = summarize(path, most_bytes=1 << 20), summarize(path)
    assert not part.is_whole
    assert 0 < part.calls < whole.calls == 2000


@pytest.mark.parametrize("name", ["claude-code/be2220da-eaff-40d2-b482-9f05cced3187.jsonl"])
def test_the_cost_is_what_the_report_says_was_recorded(name: str, corpus: Path, capsys) -> None:
    path = corpus / name
    recorded = json.loads(run_here(capsys, "report", path, "--format", "json").out)["recorded"]
    summary = summarize(path, Pricing.load())
    assert summary.usd == pytest.approx(recorded["cost_usd"])
    assert summary.calls == recorded["calls"]


def test_a_directory_is_listed_as_text_where_no_one_looks(tmp_path: Path, capsys) -> None:
    script = Script()
    script.prompt("look \x1b[31minto it")
    path = script.write(tmp_path / f"{SESSION}.jsonl")
    outcome = run_here(capsys, tmp_path)
    head, row = outcome.out.splitlines()
    assert outcome.code == 0
    assert head.split()[-1] == "path"
    assert row.endswith(str(path))
    assert "\x1b" not in row
