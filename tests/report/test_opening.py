"""Head of a session's page: the session, and the meaning and unit of every figure."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from msgspec import structs

from inspector.replay.assumptions import RunsPerDay
from inspector.replay.figure import Band
from inspector.replay.sessions import replay_session
from inspector.report.monthly_saving import at_best, monthly_saving
from inspector.report.numbers import IN_TEXT
from inspector.report.options import ReportOptions
from inspector.report.pages.content import page_content
from inspector.report.secret_masks import MASK, says_something
from inspector.report.session_report import report_of
from inspector.session.open import open_session
from inspector.strategies.plan import Plan
from tests.conftest import ROOT

if TYPE_CHECKING:
    from inspector.report.document import Report

SAMPLE = ROOT / "sample_sessions" / "coding-agent.jsonl"


@pytest.fixture(scope="module")
def planned() -> Report:
    inputs = replay_session(open_session(SAMPLE), Plan()).inputs
    return report_of(inputs, [Plan.from_specs(["tiered-stale"])], ReportOptions(RunsPerDay(1)))


def notes(report: Report) -> dict[str, str]:
    return {tile.title: "".join(cell.shown for cell in tile.note) for tile in page_content(report).tiles}


def test_the_page_says_first_which_session_it_is_by_whom_with_which_model_and_when(planned: Report) -> None:
    session, told = planned.session, page_content(planned).identity

    assert told.startswith(f"Session {session.id} · recorded by {session.agent} · {session.models[0]}")
    assert f" · {session.started[:10]} {session.started[11:16]} to " in told


def test_every_tile_says_what_its_figure_is_counted_in(planned: Report) -> None:
    for report in (planned, structs.replace(planned, plans=[])):
        for tile in page_content(report).tiles:
            assert tile.unit == ("" if "$" in tile.cell.text else "tokens")


def test_the_largest_prompt_is_next_to_the_window_and_what_it_was_without_the_plan(planned: Report) -> None:
    before = IN_TEXT.whole(planned.baseline.peak_prompt_tokens)
    assert notes(planned)["largest prompt with plan A"] == f"of the model's 200k window; {before} without a plan"


def test_what_is_saved_is_next_to_its_share_and_what_is_left_net(planned: Report) -> None:
    plan = planned.plans[0]
    needed, share = plan.needed_later, IN_TEXT.percent(plan.saved.percent)
    worst, best = (IN_TEXT.dollars(usd) for usd in (needed.saved_at_least_usd, needed.saved_at_most_usd))
    assert notes(planned)["saved with plan A (tiered-stale)"] == (
        f"{share} of the cost; net {worst} to {best} after re-fetches. Claude Code cannot apply it; your own code can"
    )


def test_what_the_agent_can_apply_is_next_to_the_best_plan_that_it_cannot() -> None:
    inputs = replay_session(open_session(SAMPLE), Plan()).inputs
    report = report_of(inputs, [], ReportOptions(best_plan=True))
    best = report.best_plan.best
    title = f"the best plan ({best.name}) would save"
    assert report.best_plan.applicable is None
    assert notes(report)[title].endswith(". Claude Code cannot apply it; your own code can")
    needed = structs.replace(best.needed_later, saved_at_least_usd=0.02, saved_at_most_usd=0.03)
    can = structs.replace(best, name="trim-at-insertion", needed_later=needed)
    found = structs.replace(report, best_plan=structs.replace(report.best_plan, applicable=can))
    assert notes(found)[title].endswith(
        "Claude Code cannot apply it; your own code can. "
        "On its own it can apply trim-at-insertion: net $0.020 to $0.030"
    )


def test_the_ends_of_a_month_are_explained_where_they_are(planned: Report) -> None:
    note = notes(planned)["saved per month at 1 run a day, as set"]
    assert note.startswith("about $")
    assert "this and the lower end are net of expected re-fetches" in note
    assert note.endswith("the upper end assumes none")
    for count, said in ((0.0, "hardly any re-fetches"), (None, "re-fetches not measured")):
        ends = dict.fromkeys(("refetches", "refetches_low", "refetches_high"), count)
        needed = structs.replace(planned.plans[0].needed_later, calls=0, **ends)
        plan = structs.replace(planned.plans[0], needed_later=needed)
        told = notes(structs.replace(planned, plans=[plan]))
        assert told["saved per month at 1 run a day, as set"].endswith(f"; {said}")


def test_a_plan_that_costs_more_is_shown_to_and_its_amounts_have_no_sign(planned: Report) -> None:
    plan = planned.plans[0]
    lost = structs.replace(plan.saved, usd=-2.5, percent=-12.0)
    month = structs.replace(plan.projection, usd_per_month=-75.0, usd_per_month_low=-90.0, usd_per_month_high=-60.0)
    report = structs.replace(planned, plans=[structs.replace(plan, saved=lost, projection=month)])

    tiles = {tile.title: tile for tile in page_content(report).tiles}
    assert tiles["costs more with plan A (tiered-stale)"].cell.text == "$2.50"
    assert notes(report)["costs more with plan A (tiered-stale)"] == (
        "12.0 % of the cost. Claude Code cannot apply it; your own code can"
    )
    assert tiles["costs more per month at 1 run a day, as set"].cell.text == "$60 to $90"


def test_what_the_marks_at_the_top_mean_is_below_the_tiles(planned: Report) -> None:
    assert page_content(planned).legend == "~ projected"


def test_a_loss_that_may_be_a_saving_is_stated_without_a_sign() -> None:
    month = Band(-170.0, -30.0, 190.0)
    assert monthly_saving(month, IN_TEXT) == "about $30 more a month, between $170 more and $190 less"
    assert at_best(month, IN_TEXT) == "$190 less"
    assert at_best(Band(50.0, 260.0, 480.0), IN_TEXT) == "$480"
    assert at_best(Band(-90.0, -75.0, -60.0), IN_TEXT) == "$60 more"


def test_a_name_of_which_only_masks_are_left_does_not_head_a_page(planned: Report) -> None:
    def headed(title: str) -> str:
        return page_content(structs.replace(planned, session=structs.replace(planned.session, title=title))).title

    mask = MASK.format(kind="API key")
    assert says_something(f"deploy with {mask}")
    assert headed(f"deploy with {mask}") == f"deploy with {mask}"
    assert headed(f"{mask}: {mask}") == headed("")
    assert headed("").startswith("Session of 34 calls, Claude Code")
