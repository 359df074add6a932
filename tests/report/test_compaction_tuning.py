"""Advice on compaction thresholds in every form, and as settings of the agents."""

from __future__ import annotations

import csv
import json
import tomllib
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from msgspec import structs

from inspector.cli import main
from inspector.replay.figure import HowKnown
from inspector.replay.tuning.compaction_costs import compacted_session
from inspector.replay.tuning.search import FleetGroup, FleetSession
from inspector.report.charts.drawing import plain_svg
from inspector.report.charts.specifications import PAGE, tuning_charts
from inspector.report.compaction_tuning import CompactionGroup, compaction_group
from inspector.report.export import COMPACTION_SETTINGS, ExportError, default_threshold, export_compaction
from inspector.report.forms import tune_written
from inspector.report.numbers import MINUS
from inspector.report.tuning import TuneReport, TuningTerms, tune_report
from tests.replay.test_compaction_thresholds import Agent, chosen

if TYPE_CHECKING:
    from collections.abc import Sequence

ASKED = TuningTerms(max_needed=None, max_risk=None, budget_calls=None, keep=[], may_forget=False)


def group_of(fleet: Sequence[Agent], threshold: float, agent: str = "codex", **rest: object) -> CompactionGroup:
    ran = [each.run(threshold)[0] for each in fleet]
    sessions = [
        FleetSession(Path(f"{at}.jsonl"), agent, "given", 200, float(each.ledger.cost.sum()), HowKnown.EXACT, 3)
        for at, each in enumerate(ran)
    ]
    group = FleetGroup(agent, ("given",), tuple(sessions))
    return compaction_group(group, "6 sessions", agent, [compacted_session(each) for each in ran], chosen(ran), **rest)


def report_of(group: CompactionGroup, *, model_uncertainty: bool = False) -> TuneReport:
    asked = structs.replace(ASKED, model_uncertainty=model_uncertainty)
    return tune_report([], asked, [], [], [], compaction=[group])


@pytest.fixture(scope="module")
def found() -> CompactionGroup:
    return group_of([Agent(180 + 10 * number, 3_000) for number in range(6)], 60_000)


def test_the_threshold_is_reported_with_its_saving_and_its_configuration(found: CompactionGroup) -> None:
    best = found.threshold
    assert best is not None
    assert best.configuration is not None
    told = tomllib.loads(best.configuration.text)
    assert (found.verdict, told) == ("recommended", {"model_auto_compact_token_limit": best.tokens})
    point = next(each for each in found.curve if each.is_chosen)
    assert point.cost_usd is not None
    assert best.saved_usd == pytest.approx(best.against_usd - point.cost_usd, abs=1e-5)
    assert best.low_percent <= best.saved_percent <= best.high_percent
    assert sum(row.saved_usd or 0 for row in found.rows) == pytest.approx(best.saved_usd, abs=1e-4)


def test_every_form_says_it(found: CompactionGroup) -> None:
    report = report_of(found)
    best = found.threshold
    assert best is not None
    text = tune_written(report, "text")
    assert f"compact at  ~{best.tokens:,} tokens" in text or f"compact at  {best.tokens:,} tokens" in text
    assert "Projected" in text
    assert f"{best.tokens:,}" in tune_written(report, "md")
    assert json.loads(tune_written(report, "json"))["compaction"][0]["threshold"]["tokens"] == best.tokens
    (first, *_) = csv.DictReader(StringIO(tune_written(report, "csv")))
    assert (first["compact_at"], first["fired_median"]) == (str(best.tokens), str(found.rows[0].effective.median))
    assert f"{best.tokens:,}" in tune_written(report, "html", is_interactive=False)
    assert list(tuning_charts(report, PAGE)) == ["threshold-1"]
    assert "<circle" in plain_svg(tuning_charts(report, PAGE)["threshold-1"])


def test_a_model_that_may_answer_otherwise_widens_the_band_and_is_named(found: CompactionGroup) -> None:
    wide = group_of([Agent(180 + 10 * number, 3_000) for number in range(6)], 60_000, model_uncertainty=True)
    narrow, widened = found.threshold, wide.threshold
    assert narrow is not None
    assert widened is not None
    assert widened.low_percent < narrow.low_percent < narrow.high_percent < widened.high_percent
    assert f"{MINUS}26 % to +32 % turns" in tune_written(report_of(wide, model_uncertainty=True), "text")


def test_compactions_that_fired_late_are_distinguished() -> None:
    late = group_of([Agent(200, 3_000) for _ in range(6)], 60_000, configured=40_000)
    assert all(row.is_late for row in late.rows)
    assert (late.configured, late.configured_from) == (40_000, "as given")
    assert "Set to 40,000, fired at 60,000" in tune_written(report_of(late), "md")
    assert not any(row.is_late for row in group_of([Agent(200, 3_000)] * 6, 60_000, configured=58_000).rows)


def test_too_few_are_refused_with_how_many_more_would_do() -> None:
    few = group_of([Agent(100, 3_000)] * 3, 40_000)
    assert (few.verdict, few.threshold, few.curve) == ("too few", None, [])
    assert few.answer == "not enough data to recommend a threshold: 2 sessions more needed"
    none = group_of([Agent(60, 3_000)] * 6, 1e9)
    assert none.answer.endswith("3 automatic compactions more needed")
    assert none.effective is None


@pytest.mark.parametrize(
    ("agent", "threshold", "window", "said"),
    [
        ("claude-code", 130_000, 200_000, {"autoCompactWindow": 163_000}),
        (
            "claude-code",
            60_000,
            200_000,
            {"autoCompactWindow": 100_000, "env": {"CLAUDE_AUTOCOMPACT_PCT_OVERRIDE": "75"}},
        ),
        ("kilo", 100_000, 200_000, {"compaction": {"threshold_percent": 50}}),
        ("opencode", 150_000, 200_000, {"compaction": {"reserved": 50_000}}),
        ("gemini-cli", 262_144, 1_048_576, {"model": {"compressionThreshold": 0.25}}),
        ("pi", 120_000, 200_000, {"compaction": {"reserveTokens": 80_000}}),
    ],
)
def test_agents_are_reported_in_their_own_words(
    agent: str, threshold: int, window: int, said: dict[str, object]
) -> None:
    assert json.loads(export_compaction(agent, threshold, window).text) == said


def test_claude_code_is_also_recognized_by_its_environment() -> None:
    notes = " ".join(export_compaction("claude-code", 130_000, 200_000).left_out)
    assert "CLAUDE_CODE_AUTO_COMPACT_WINDOW=163000" in notes
    assert "CLAUDE_AUTOCOMPACT_PCT_OVERRIDE=72" in notes


def test_what_an_agent_cannot_be_reported_is_stated() -> None:
    with pytest.raises(ExportError, match="latest"):
        export_compaction("claude-code", 190_000, 200_000)
    with pytest.raises(ExportError, match="--window"):
        export_compaction("pi", 100_000, None)
    with pytest.raises(ExportError, match="supported: claude-code"):
        export_compaction("nobody", 100_000, None)


def test_defaults_are_those_of_the_agents() -> None:
    told = {name: default_threshold(name, 200_000) for name in COMPACTION_SETTINGS}
    assert told == {
        "claude-code": 167_000,
        "codex": 180_000,
        "kilo": None,
        "opencode": None,
        "gemini-cli": 100_000,
        "pi": 183_616,
    }


@pytest.mark.parametrize("option", ["--max-needed=0", "--keep=Read", "--strategy=keep-recent", "--may-forget"])
def test_what_is_about_plans_does_not_go_with_thresholds(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tune", ".", "--compaction", option]) == 2
    assert "is about plans" in capsys.readouterr().err


def test_the_command_tells_it_of_real_sessions(corpus: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tune", "--compaction", "--format", "json", "--processes", "0", str(corpus / "codex")]) == 0
    (found,) = json.loads(capsys.readouterr().out)["compaction"]
    assert (found["verdict"], found["effective"]["count"], found["configured"]) == ("too few", 3, 244_800)
