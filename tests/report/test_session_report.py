"""Reports on real sessions, compared with figures computed independently from the files."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import msgspec
import pytest

from inspector.cli import main
from inspector.report.document import Report
from inspector.report.numbers import AT_LEAST, IN_TEXT
from inspector.session.open import open_session
from inspector.strategies.history.history import History
from inspector.ui.timeline.boundaries import boundaries_of

if TYPE_CHECKING:
    from pathlib import Path

COMPACTED = "claude-code/70d782f7-b303-4e48-9512-6bec16c37abd.jsonl"
REPORTED = "claude-code/be2220da-eaff-40d2-b482-9f05cced3187.jsonl"
ONE_HOUR_CACHE = "claude-code/e92f5a0b-1b9e-4913-98b3-c319b4d5e90b.jsonl"
TWO_MODELS = ONE_HOUR_CACHE

DOLLARS_PER_MILLION = {
    "claude-opus-4-5-20251101": {"input": 5.0, "read": 0.5, "write_5m": 6.25, "write_1h": 10.0, "output": 25.0},
    "claude-opus-4-8": {"input": 5.0, "read": 0.5, "write_5m": 6.25, "write_1h": 10.0, "output": 25.0},
    "claude-fable-5": {"input": 10.0, "read": 1.0, "write_5m": 12.5, "write_1h": 20.0, "output": 50.0},
}
"""Anthropic's list prices."""


def report_on(capsys: pytest.CaptureFixture[str], path: Path, *options: str) -> Report:
    assert main(["report", str(path), "--format", "json", *options]) == 0
    return msgspec.json.decode(capsys.readouterr().out, type=Report, strict=True)


def usage_in(path: Path) -> list[tuple[dict, str]]:
    """Usage and model of every response of the main conversation, the last record of each response counting."""
    found: dict[str, tuple[dict, str]] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        if record["type"] == "assistant" and not record["isSidechain"]:
            message = record["message"]
            if message["model"] != "<synthetic>":
                found[message["id"]] = (message["usage"], message["model"])
    return list(found.values())


def parts(usage: dict) -> dict[str, int]:
    written = usage.get("cache_creation_input_tokens", 0)
    one_hour = usage.get("cache_creation", {}).get("ephemeral_1h_input_tokens", 0)
    return {
        "input": usage["input_tokens"],
        "read": usage.get("cache_read_input_tokens", 0),
        "write_5m": written - one_hour,
        "write_1h": one_hour,
        "output": usage["output_tokens"],
    }


@pytest.mark.parametrize("name", [COMPACTED, ONE_HOUR_CACHE])
def test_recorded_figures_are_the_sums_of_what_the_file_reports(name: str, corpus: Path, capsys):
    report = report_on(capsys, corpus / name)
    calls = [(parts(usage), model) for usage, model in usage_in(corpus / name)]
    prompts = [sum(part.values()) - part["output"] for part, _ in calls]
    cost = sum(
        tokens * DOLLARS_PER_MILLION[model][kind] / 1e6 for part, model in calls for kind, tokens in part.items()
    )

    recorded = report.recorded
    assert recorded is not None
    assert recorded.calls == len(calls)
    assert recorded.prompt_tokens == sum(prompts)
    assert recorded.peak_prompt_tokens == max(prompts)
    assert recorded.cache_read_tokens == sum(part["read"] for part, _ in calls)
    assert recorded.cache_write_tokens == sum(part["write_5m"] + part["write_1h"] for part, _ in calls)
    assert recorded.uncached_tokens == sum(part["input"] for part, _ in calls)
    assert recorded.output_tokens == sum(part["output"] for part, _ in calls)
    assert recorded.cost_usd == pytest.approx(cost, abs=1e-6)
    assert recorded.known["prompt_tokens"] == "exact"


def test_the_baseline_costs_what_was_recorded_to_the_cent(corpus: Path, capsys):
    report = report_on(capsys, corpus / REPORTED)

    assert report.recorded is not None
    assert report.recorded.cost_usd is not None
    assert report.recorded.at_least == []
    assert report.baseline.cost_usd == pytest.approx(report.recorded.cost_usd, abs=0.005)
    assert report.baseline.prompt_tokens == report.recorded.prompt_tokens


def test_where_placeholders_were_recorded_the_recorded_cost_is_a_least_and_the_baseline_an_estimate(corpus, capsys):
    report = report_on(capsys, corpus / COMPACTED)

    assert report.recorded is not None
    assert set(report.recorded.at_least) == {"output_tokens", "cost_usd"}
    assert report.baseline.at_least == []
    assert (report.baseline.cost_usd or 0) > (report.recorded.cost_usd or 0)
    assert report.baseline.known["cost_usd"] == report.baseline.known["output_tokens"] == "estimated"
    main(["report", str(corpus / COMPACTED)])
    text = capsys.readouterr().out
    assert f"{AT_LEAST} ${report.recorded.cost_usd:.2f}" in text
    assert f"~${report.baseline.cost_usd:.2f}" in text
    assert f"~ estimated or projected, {AT_LEAST} lower bound" in text


def test_a_report_counts_the_compactions_that_the_screen_goes_through_and_no_results_that_were_cleared(corpus, capsys):
    path = corpus / "claude-code" / "70d782f7-b303-4e48-9512-6bec16c37abd.jsonl"
    session = open_session(path)
    shown = sum(each.is_compaction for each in boundaries_of(History.of(session)))

    assert any(each.is_partial for each in session.compactions)
    assert report_on(capsys, path).session.compactions == shown == 2


def test_what_a_plan_saves_is_the_baseline_less_the_plan(corpus: Path, capsys):
    report = report_on(capsys, corpus / COMPACTED, "--strategy", "tiered-stale", "--strategy", "tiered-stale:data=100")

    for plan in report.plans:
        assert plan.figures.prompt_tokens is not None
        assert plan.figures.cost_usd is not None
        assert report.baseline.prompt_tokens is not None
        assert report.baseline.cost_usd is not None
        assert plan.saved.tokens == report.baseline.prompt_tokens - plan.figures.prompt_tokens > 0
        assert plan.saved.usd == pytest.approx(report.baseline.cost_usd - plan.figures.cost_usd, abs=2e-6)
        assert plan.saved.percent == pytest.approx(100 * plan.saved.usd / report.baseline.cost_usd, abs=1e-3)
        assert (plan.edits or 0) > 0
    first, second = report.plans
    assert "data=100" in second.strategies[0]
    assert (second.saved.tokens or 0) > (first.saved.tokens or 0)


def test_figures_without_a_value_say_nothing_about_how_they_are_known(corpus: Path, capsys):
    report = report_on(capsys, corpus / COMPACTED, "--model", "no-such-model", "--strategy", "tiered-stale")

    for figures in (report.recorded, report.baseline, report.plans[0].figures):
        assert figures is not None
        assert figures.cost_usd is None
        assert {name for name in figures.known if getattr(figures, name) is None} == set()
        values = {
            name
            for name in figures.__struct_fields__
            if name not in ("known", "at_least") and getattr(figures, name) is not None
        }
        assert values == set(figures.known)
    assert report.plans[0].saved.percent_of == "prompt_tokens"
    assert any("--model" in warning for warning in report.warnings)


def test_naming_a_model_prices_every_call_as_that_model(corpus: Path, capsys):
    named = report_on(capsys, corpus / COMPACTED, "--model", "claude-fable-5")
    own = report_on(capsys, corpus / COMPACTED)

    assert named.baseline.cost_usd == pytest.approx(2 * (own.baseline.cost_usd or 0), abs=1e-5)


def test_a_projection_is_given_only_when_runs_are(corpus: Path, capsys):
    path = corpus / COMPACTED
    without = report_on(capsys, path, "--strategy", "tiered-stale").plans[0]
    projected = report_on(capsys, path, "--strategy", "tiered-stale", "--runs-per-day", "10").plans[0].projection

    assert without.projection is None
    assert projected is not None
    needed = without.needed_later
    assert needed is not None
    assert 0 < (needed.saved_at_least_usd or 0) < (without.saved.usd or 0)
    expected = (without.saved.usd or 0) - (needed.recoveries_usd or 0)
    assert projected.usd_per_day == pytest.approx(10 * expected, abs=1e-4)
    assert projected.usd_per_month_low <= 300 * (needed.saved_at_least_usd or 0) + 1e-3
    assert projected.usd_per_month == pytest.approx(30 * projected.usd_per_day, abs=1e-3)
    assert projected.usd_per_month_low <= projected.usd_per_month <= projected.usd_per_month_high


def test_the_text_report_shows_the_figures_of_the_json_report(corpus: Path, capsys):
    report = report_on(capsys, corpus / COMPACTED, "--strategy", "tiered-stale")
    main(["report", str(corpus / COMPACTED), "--strategy", "tiered-stale"])
    text = capsys.readouterr().out

    for figures in (report.recorded, report.baseline, report.plans[0].figures):
        assert figures is not None
        for value in (figures.prompt_tokens, figures.peak_prompt_tokens, figures.cache_read_tokens):
            assert f" {value:,}" in text
    # Cost and saving are rounded so that both add up to the cost without a plan.
    before, after = report.baseline.cost_usd, report.plans[0].figures.cost_usd
    for cost in (report.recorded.cost_usd, before, IN_TEXT.cost_with_plan(before, after)):
        assert re.search(rf"[ ~]\${cost:.2f}", text)
    for tier in report.plans[0].tiers:
        if tier.results:
            cut = IN_TEXT.whole(tier.tokens_cut)
            cut = f"~{cut}" if tier.known["tokens_cut"] == "estimated" else cut
            assert f"{tier.tier} {tier.results} {tier.touched} {cut}" in " ".join(text.split())
