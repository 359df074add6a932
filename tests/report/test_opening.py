"""Head of a session's page: the session, and the meaning and unit of every figure."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from msgspec import structs

from inspector.replay.assumptions import RunsPerDay
from inspector.replay.figure import Band
from inspector.replay.sessions import replay_session
from inspector.report.document import ReportOptions
from inspector.report.numbers import IN_TEXT
from inspector.report.pages.model import Chart
from inspector.report.pages.opening import page_content
from inspector.report.secret_rules import MASK, says_something
from inspector.report.sentences import at_best, monthly_saving
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
    return report_of(inputs, [Plan.from_specs(["tiered-stale"])], ReportOptions(RunsPerDay(1), ledger=True))


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


def test_the_title_is_the_cost_and_its_avoidable_part_or_the_saving_of_the_plan(planned: Report) -> None:
    plan = planned.plans[0]
    worst = IN_TEXT.dollars(plan.needed_later.saved_at_least_usd)
    cost, avoidable = (IN_TEXT.dollars(usd) for usd in (planned.baseline.cost_usd, planned.cache_misses.extra_usd))
    assert page_content(planned).title.startswith(f"Plan A would have saved net {worst} to ")
    assert page_content(planned).title.endswith(f" of this session's {cost}")
    alone = structs.replace(planned, plans=[])
    assert page_content(alone).title == f"This session cost {cost}; {avoidable} of it was avoidable"
    misses = structs.replace(planned.cache_misses, calls=0, extra_usd=0.0, causes=[])
    assert page_content(structs.replace(alone, cache_misses=misses)).title == (
        f"This session cost {cost}; none of it was avoidable"
    )


def test_only_misses_with_a_known_prevention_are_avoidable(planned: Report) -> None:
    (expired, *others) = [row for row in planned.cache_misses.causes if not row.expected]
    assert not others
    unknown = structs.replace(expired, cause="unknown", prevention="", calls=3, extra_usd=2.0)
    misses = structs.replace(planned.cache_misses, calls=4, extra_usd=2.3, causes=[unknown, expired])
    report = structs.replace(planned, plans=[], cache_misses=misses)
    tile = next(tile for tile in page_content(report).tiles if tile.title == "avoidable")
    assert tile.cell.value == expired.extra_usd
    assert notes(report)["avoidable"] == f"1 of 4 cache misses: {expired.prevention}"


def test_three_figures_are_below_one_chart_and_the_chart_is_not_repeated(planned: Report) -> None:
    for report, name in ((planned, "context"), (structs.replace(planned, plans=[]), "bill")):
        content = page_content(report)
        assert content.chart.name == name
        assert len(content.tiles) <= 3
        charts = [part.name for section in content.sections for part in section.parts if isinstance(part, Chart)]
        assert name not in charts


def test_what_is_saved_is_net_of_the_expected_re_fetches(planned: Report) -> None:
    needed = planned.plans[0].needed_later
    tile = next(tile for tile in page_content(planned).tiles if tile.title == "your own code can save")
    worst, best = (IN_TEXT.dollars(usd) for usd in (needed.saved_at_least_usd, needed.saved_at_most_usd))
    assert tile.text == f"~{worst} to ~{best}"
    assert notes(planned)[tile.title].startswith("net of ")
    assert notes(planned)[tile.title].endswith(", with tiered-stale; Claude Code cannot apply it")


def test_the_saving_that_the_agent_can_apply_comes_before_a_larger_one() -> None:
    inputs = replay_session(open_session(SAMPLE), Plan()).inputs
    report = report_of(inputs, [], ReportOptions(best_plan=True))
    best = report.best_plan.best
    assert report.best_plan.applicable is None
    assert notes(report)["your own code can save"].endswith(f", with {best.name}; Claude Code cannot apply it")
    needed = structs.replace(best.needed_later, saved_at_least_usd=0.02, saved_at_most_usd=0.03)
    can = structs.replace(best, name="trim-at-insertion", strategies=["trim-at-insertion"], needed_later=needed)
    found = structs.replace(report, best_plan=structs.replace(report.best_plan, applicable=can))
    tile = next(tile for tile in page_content(found).tiles if tile.title == "Claude Code can save")
    assert tile.text == "~$0.020 to ~$0.030"
    assert notes(found)[tile.title].endswith(
        f", with trim-at-insertion; your own code could apply {best.name}: "
        f"net {IN_TEXT.dollars(best.needed_later.saved_at_least_usd)} to "
        f"{IN_TEXT.dollars(best.needed_later.saved_at_most_usd)}"
    )


def test_the_ends_of_a_month_are_explained_where_they_are(planned: Report) -> None:
    note = notes(planned)["saved per month at 1 run a day, as set"]
    assert note.startswith("about $")
    assert note.endswith("only the upper end assumes no re-fetches")
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
    assert tiles["costs more with tiered-stale"].cell.text == "$2.50"
    assert notes(report)["costs more with tiered-stale"] == "12.0 % of the cost; Claude Code cannot apply it"
    assert page_content(report).title.startswith("Plan A would have cost $2.50 more than this session's $")
    assert tiles["costs more per month at 1 run a day, as set"].cell.text == "$60 to $90"


def test_what_the_marks_at_the_top_mean_is_below_the_tiles(planned: Report) -> None:
    assert page_content(planned).legend == "~ estimated or projected"


def test_a_loss_that_may_be_a_saving_is_stated_without_a_sign() -> None:
    month = Band(-170.0, -30.0, 190.0)
    assert monthly_saving(month, IN_TEXT) == "about $30 more a month, between $170 more and $190 less"
    assert at_best(month, IN_TEXT) == "$190 less"
    assert at_best(Band(50.0, 260.0, 480.0), IN_TEXT) == "$480"
    assert at_best(Band(-90.0, -75.0, -60.0), IN_TEXT) == "$60 more"


def test_a_name_of_which_only_masks_are_left_does_not_head_a_page(planned: Report) -> None:
    def headed(title: str) -> str:
        content = page_content(structs.replace(planned, session=structs.replace(planned.session, title=title)))
        return content.about.partition(". Plan A: ")[0]

    mask = MASK.format(kind="API key")
    assert says_something(f"deploy with {mask}")
    assert headed(f"deploy with {mask}") == f"deploy with {mask}"
    assert headed(f"{mask}: {mask}") == headed("")
    assert headed("").startswith("Session of 34 calls, Claude Code")


def test_the_line_under_the_title_explains_the_letter_of_the_plan(planned: Report) -> None:
    content = page_content(planned)
    assert content.title.startswith("Plan A would have ")
    assert ". Plan A: once the model has answered a tool result, keep only its first characters" in content.about
