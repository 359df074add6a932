"""A report saved while no plan was chosen: the cost first, then the best plan, called a suggestion."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from inspector.replay.engine.replay import replay_session
from inspector.report.forms import written
from inspector.report.options import ReportOptions
from inspector.report.pages.content import page_content
from inspector.report.session_report import report_of
from inspector.session.open import open_session
from inspector.strategies.plan import Plan
from tests.conftest import ROOT

if TYPE_CHECKING:
    from inspector.report.document import Report

SAMPLE = ROOT / "sample_sessions" / "coding-agent.jsonl"


@pytest.fixture(scope="module")
def suggested() -> Report:
    inputs = replay_session(open_session(SAMPLE), Plan()).inputs
    return report_of(inputs, [Plan.from_specs(["cozempic-trim"])], ReportOptions(suggests=True))


def said(report: Report) -> list[str]:
    return ["".join(cell.shown for cell in line.cells) for line in page_content(report).lead]


def test_the_total_cost_and_why_come_first_and_the_plan_is_called_a_suggestion(suggested: Report) -> None:
    total, parts, misses, plan, *_ = said(suggested)

    assert total.startswith("This session cost $1.75 for ")
    assert parts.startswith("Cache writes $0.91 (51.9 %), cache reads $0.64 (36.5 %), output $0.20 (11.6 %)")
    assert misses == "1 cache miss cost $0.30 more than reading would have."
    assert plan.startswith("A suggestion, which nobody chose: plan A saves $0.31")


def test_every_large_figure_says_whose_it_is(suggested: Report) -> None:
    tiles = {title: cell.value for title, cell in page_content(suggested).figures}

    assert tiles["largest prompt, as recorded"] == suggested.baseline.peak_prompt_tokens
    assert tiles["largest prompt with plan A"] == suggested.plans[0].figures.peak_prompt_tokens
    assert tiles["cost"] == suggested.baseline.cost_usd
    assert "plan A, a suggestion, would save" in tiles


def test_a_plan_that_was_chosen_comes_first_and_its_largest_prompt_is_said_to_be_its(suggested: Report) -> None:
    inputs = replay_session(open_session(SAMPLE), Plan()).inputs
    chosen = report_of(inputs, [Plan.from_specs(["cozempic-trim"])], ReportOptions())

    assert said(chosen)[0].startswith("Plan A saves $0.31")
    assert "largest prompt with plan A" in dict(page_content(chosen).figures)
    assert '"is_suggestion":true' in written(suggested, "json").replace(" ", "")
