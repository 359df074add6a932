"""A report saved while no plan was chosen: the cost first, then the best plan, by its name."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import pytest

from inspector.replay.analysis.breakdown import part_label
from inspector.replay.sessions import replay_session
from inspector.report.document import ReportOptions
from inspector.report.forms import written
from inspector.report.pages.opening import page_content
from inspector.report.session_report import report_of
from inspector.session.open import open_session
from inspector.strategies.plan import Plan
from tests.sample_figures import SAMPLE, dollars, percent, saving

if TYPE_CHECKING:
    from inspector.report.document import Report


@pytest.fixture(scope="module")
def suggested() -> Report:
    inputs = replay_session(open_session(SAMPLE), Plan()).inputs
    return report_of(inputs, [Plan.from_specs(["cozempic-trim"])], ReportOptions(suggests=True))


def said(report: Report) -> list[str]:
    return ["".join(cell.shown for cell in line.cells) for line in page_content(report).lead]


def test_the_total_cost_and_why_come_first_and_the_best_plan_with_what_it_does_and_risks_last(
    suggested: Report,
) -> None:
    total, part, plan, risk, verdict = said(suggested)

    assert total == (
        "51.9 % of the cost is cache writes: text that is sent for the first time, or again after it left the "
        "provider's cache. Its 34 calls to the model sent 1,425,050 prompt tokens in total, the largest prompt 76,938 "
        "tokens, of the model's 200k window."
    )
    costliest = max(suggested.carried, key=lambda row: row.usd or 0.0)
    named = f"{costliest.tool} results" if costliest.tool else part_label(costliest.kind, "")
    assert part.startswith(f"Most expensive to resend: {named}")
    assert " of all prompt tokens; then " in part
    trim = saving("cozempic-trim")
    saved = f"{dollars(trim.saved)} ({percent(trim.saved)} of the cost)"
    assert plan == (
        f"The best plan found, plan A (cozempic-trim), saves {saved}. Effect: keep head and tail of results with too "
        "many lines or bytes."
    )
    assert risk.startswith(
        f"Risk: net {dollars(trim.worst)} to {dollars(trim.best)} (saves {dollars(trim.saved)}) after up to 1 "
        "re-fetch; 1 later call needed cut text"
    )
    assert risk.endswith(
        " Beyond what has been tried: 14 of 14 results are never sent whole; tried: 30,000 characters on arrival."
    )
    assert verdict == "Claude Code cannot apply it; your own code can."


@pytest.mark.parametrize(
    ("copied", "told"),
    [
        (34, ", all of it billed in an earlier session from which it was copied"),
        (12, ", including 12 calls already billed in an earlier session"),
        (1, ", including 1 call already billed in an earlier session"),
    ],
)
def test_what_an_earlier_session_was_billed_for_is_stated_with_the_cost(
    suggested: Report, copied: int, told: str
) -> None:
    session = msgspec.structs.replace(suggested.session, copied_calls=copied)

    cost = page_content(msgspec.structs.replace(suggested, session=session)).tiles[0]
    assert cost.note[0].text.endswith(told)


def test_every_large_figure_says_whose_it_is(suggested: Report) -> None:
    tiles = {tile.title: tile for tile in page_content(suggested).tiles}

    assert tiles["cost without a plan"].cell.value == suggested.baseline.cost_usd
    assert tiles["avoidable"].cell.value == suggested.cache_misses.extra_usd
    saved = tiles["your own code can save"]
    assert (saved.cell.value, saved.most.value) == (
        suggested.plans[0].needed_later.saved_at_least_usd,
        suggested.plans[0].needed_later.saved_at_most_usd,
    )


def test_a_plan_that_was_chosen_comes_first(suggested: Report) -> None:
    inputs = replay_session(open_session(SAMPLE), Plan()).inputs
    chosen = report_of(inputs, [Plan.from_specs(["cozempic-trim"])], ReportOptions())

    assert said(chosen)[0].startswith(f"Plan A (cozempic-trim) saves {dollars(saving('cozempic-trim').saved)}")
    assert page_content(chosen).title.startswith("Plan A would have saved net ")
    assert '"is_suggestion":true' in written(suggested, "json").replace(" ", "")


def test_a_page_on_no_plan_names_the_best_one_that_was_found_and_what_it_risks() -> None:
    inputs = replay_session(open_session(SAMPLE), Plan()).inputs
    found = report_of(inputs, [], ReportOptions(best_plan=True))

    _, _, plan, risk = said(found)
    best = saving("hermes-proactive-prune")
    saved = f"{dollars(best.saved)} ({percent(best.saved)} of the cost)"
    assert plan.startswith(f"The best plan found, hermes-proactive-prune, saves {saved}. Effect: ")
    net = f"net {dollars(best.worst)} to {dollars(best.best)}"
    assert risk.startswith(f"Risk: {net} (saves {dollars(best.saved)}) after ")
    assert "Untested" not in risk
    tiles = {tile.title: tile.cell.value for tile in page_content(found).tiles}
    assert tiles["your own code can save"] == found.best_plan.best.needed_later.saved_at_least_usd
