"""Details of reports on real sessions: certainty of figures, and effects of options."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import msgspec
import pytest

from inspector.cli import main
from inspector.cli.arguments import CACHE_NAMES
from inspector.replay.cache.cache_models import CACHE_MODELS
from inspector.report.document import Report
from inspector.report.numbers import IN_TEXT
from inspector.report.sentences import about, between

if TYPE_CHECKING:
    from pathlib import Path

COMPACTED = "claude-code/8ecab05f-4481-43d6-9428-a6b177981877.jsonl"
EVERYTHING = ("--strategy", "tiered-stale", "--runs-per-day", "24", "--next-calls", "20", "--explain")


def report_on(capsys: pytest.CaptureFixture[str], path: Path, *options: str) -> Report:
    assert main(["report", str(path), "--format", "json", *options]) == 0
    return msgspec.json.decode(capsys.readouterr().out, type=Report, strict=True)


def parts_with_known(value: object) -> list[dict]:
    if isinstance(value, list):
        return [part for each in value for part in parts_with_known(each)]
    if not isinstance(value, dict):
        return []
    mine = [value] if isinstance(value.get("known"), dict) else []
    return mine + [part for each in value.values() for part in parts_with_known(each)]


COUNTED_IN_THE_FILE = {
    "blocks",
    "calls",
    "seconds",
    "lifetime_seconds",
    "reported_tokens",
    "message",
    "avoided",
    "call",
    "until_call",
    "tokens_cut",
    "results",
    "touched",
    "compactions",
    "measured",
    "summaries",
}
REQUEST_EVENT = {"runs_per_day", "days_per_month"}


def test_every_figure_of_a_report_says_how_it_is_known(corpus: Path, capsys):
    document = json.loads(json.dumps(msgspec.to_builtins(report_on(capsys, corpus / COMPACTED, *EVERYTHING))))
    parts = parts_with_known(document)

    assert len(parts) > 20
    for part in parts:
        numbers = {name for name, value in part.items() if isinstance(value, int | float) and value is not True}
        numbers = {name for name in numbers if part[name] is not False} - COUNTED_IN_THE_FILE - REQUEST_EVENT
        if "saved" in part and "tiers" not in part:
            continue
        assert numbers <= set(part["known"]), part
        assert all(part[name] is not None for name in part["known"] if name != "break_even_call")


def test_every_total_is_explained_with_its_own_value(corpus: Path, capsys):
    report = report_on(capsys, corpus / COMPACTED, *EVERYTHING)
    (plan,) = report.plans

    assert report.explain is not None
    assert plan.explain is not None
    for figures, explained in ((report.baseline, report.explain), (plan.figures, plan.explain)):
        for name, how in figures.known.items():
            assert explained[name].value == pytest.approx(getattr(figures, name))
            assert explained[name].known == how
    assert plan.projection is not None
    assert plan.explain["usd_per_month"].value == pytest.approx(plan.projection.usd_per_month)
    assert plan.explain["saved_usd"].value == pytest.approx(plan.saved.usd)
    assert plan.outcome is not None
    assert plan.explain["break_usd"].value == pytest.approx(plan.outcome.break_usd)


def test_without_being_asked_for_nothing_is_explained_or_projected(corpus: Path, capsys):
    report = report_on(capsys, corpus / COMPACTED, "--strategy", "tiered-stale")

    assert report.explain is None
    assert report.plans[0].explain is None
    assert report.plans[0].projection is None
    assert report.plans[0].next_calls is None


def test_what_takes_up_the_prompts_adds_up_to_them(corpus: Path, capsys):
    report = report_on(capsys, corpus / COMPACTED, "--strategy", "tiered-stale")

    for rows, figures in ((report.carried, report.baseline), (report.plans[0].carried, report.plans[0].figures)):
        assert figures.prompt_tokens is not None
        assert sum(row.sent_tokens or 0 for row in rows) == pytest.approx(figures.prompt_tokens, abs=len(rows))
        assert sum(row.share or 0 for row in rows) == pytest.approx(1, abs=1e-4)
    tools = {row.tool for row in report.carried if row.tool}
    assert {block.tool for block in report.heaviest} <= tools
    costs = [block.usd or 0 for block in report.heaviest]
    assert costs == sorted(costs, reverse=True)


def test_a_recorded_compaction_that_a_plan_puts_off_is_distinguished_from_the_totals(corpus: Path, capsys):
    path = corpus / COMPACTED
    (plan,) = report_on(capsys, path, "--strategy", "tiered-stale").plans
    (compaction,) = plan.compactions
    main(["report", str(path), "--strategy", "tiered-stale"])
    text = " ".join(capsys.readouterr().out.split())

    assert compaction.reached_call is None
    assert compaction.saved_usd == pytest.approx((compaction.calls_usd or 0) + (compaction.requests_usd or 0), abs=2e-6)
    assert set(compaction.known.values()) == {"exact", "projected"}
    size = IN_TEXT.whole(compaction.trigger_tokens)
    assert f"at {size} tokens by the agent's own count: the prompt would have been" in text
    assert "never reached that in this session" in text


def test_a_price_file_and_a_factor_change_what_calls_cost(corpus: Path, tmp_path: Path, capsys):
    prices = tmp_path / "prices.toml"
    prices.write_text('[models."claude-opus-4-6"]\ninput = 1\noutput = 2\n', encoding="utf-8")
    path = corpus / COMPACTED
    own = report_on(capsys, path, "--price-file", str(prices))
    listed = report_on(capsys, path)
    half = report_on(capsys, path, "--factor", "0.5")

    figures = own.baseline
    assert figures.prompt_tokens is not None
    assert figures.output_tokens is not None
    assert figures.cost_usd == pytest.approx((figures.prompt_tokens + 2 * figures.output_tokens) / 1e6, abs=1e-5)
    assert own.prices is not None
    assert str(prices) in own.prices.source
    assert half.baseline.cost_usd == pytest.approx((listed.baseline.cost_usd or 0) / 2, abs=1e-5)
    assert half.prices is not None
    assert half.prices.factor == 0.5


def test_another_prompt_cache_is_projected_and_the_recorded_cost_stays(corpus: Path, capsys):
    path = corpus / COMPACTED
    report = report_on(capsys, path, "--cache", "none")

    assert report.recorded is not None
    assert report.recorded.known["cost_usd"] != "projected"
    assert report.baseline.known["cost_usd"] == "projected"
    assert report.baseline.prompt_tokens == report.recorded.prompt_tokens
    assert report.baseline.cache_read_tokens == 0
    assert (report.baseline.cost_usd or 0) > (report.recorded.cost_usd or 0)
    assert report.prices is not None
    assert report.prices.cache == "none"


def test_the_command_knows_every_prompt_cache():
    assert set(CACHE_NAMES) == set(CACHE_MODELS)


@pytest.mark.parametrize(
    "option",
    [
        ("--cache", "nobodys"),
        ("--factor", "-1"),
        ("--factor", "much"),
        ("--next-calls", "0"),
        ("--next-calls", "1.5"),
        ("--next-calls", "99999999"),
    ],
)
def test_a_value_that_makes_no_sense_is_wrong_usage_reported_in_a_line(option: tuple[str, str], corpus: Path, capsys):
    assert main(["report", str(corpus / COMPACTED), *option]) == 2
    complaint = capsys.readouterr().err
    assert len(complaint.splitlines()) == 1
    assert option[1] in complaint


def test_a_price_file_that_is_not_there_is_reported_in_a_line(corpus: Path, tmp_path: Path, capsys):
    assert main(["report", str(corpus / COMPACTED), "--price-file", str(tmp_path / "none.toml")]) == 1
    assert "none.toml" in capsys.readouterr().err


def test_the_next_calls_are_projected_with_a_band(corpus: Path, capsys):
    path = corpus / COMPACTED
    (plan,) = report_on(capsys, path, "--strategy", "tiered-stale", "--next-calls", "50").plans
    main(["report", str(path), "--strategy", "tiered-stale", "--next-calls", "50"])
    text = " ".join(capsys.readouterr().out.split())

    projected = plan.next_calls
    assert projected is not None
    assert projected.calls == 50
    for band in (projected.baseline_usd, projected.plan_usd, projected.saved_usd):
        assert band.low <= band.middle <= band.high
    assert set(projected.known.values()) == {"projected"}
    assert (
        f"next 50 calls about {about(projected.saved_usd, IN_TEXT)} ({between(projected.saved_usd, IN_TEXT)})" in text
    )
