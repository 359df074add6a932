"""Side requests are priced separately and reported under their own names."""

import dataclasses

import pytest
from msgspec import structs

from inspector.cli.reading import replay_inputs
from inspector.replay.analysis.costs import made_before, side_requests, side_spending
from inspector.replay.analysis.plan_outcome import plan_outcome
from inspector.replay.assumptions import ASSUMED_RUNS, Assumptions
from inspector.replay.engine.replay import replay
from inspector.replay.explain.cost_sheet import WITH_SIDE_REQUESTS, cost_sheet, spending_of
from inspector.replay.explain.explanation import side_explanation
from inspector.replay.pricing.prices import Pricing
from inspector.report.numbers import ON_SCREEN
from inspector.report.session_report import report_of
from inspector.report.text import report_text
from inspector.session.model import BlockKind, Role, SideCall, Usage
from inspector.strategies.plan import Plan, PlanEntry
from inspector.strategies.registry import strategy
from inspector.ui.cost.rows import CostSection, section_table
from inspector.ui.figure_table.table import Table
from inspector.ui.timeline.rows import Rows
from tests.replay.synthetic import SessionBuilder

MODEL = "claude-sonnet-4-5"
CALLS = (
    SideCall("condenser", MODEL, None, Usage(uncached=1_000_000, output=100_000)),
    SideCall("title", MODEL, None, Usage(cache_read=100_000)),
    SideCall("condenser", MODEL, None, Usage(uncached=1_000_000)),
    SideCall("title", MODEL),
)


def session(*calls: SideCall):
    builder = SessionBuilder()
    builder.add(Role.USER, builder.block(BlockKind.USER_TEXT, "go"))
    builder.respond(usage=Usage(uncached=1_000, output=100), model=MODEL)
    return dataclasses.replace(builder.session(), side_calls=calls)


def test_calls_are_added_up_by_what_they_were_for() -> None:
    condenser, title = side_spending(session(*CALLS), Pricing())
    assert (condenser.purpose, condenser.calls, condenser.prompt_tokens, condenser.output_tokens) == (
        "condenser",
        2,
        2_000_000,
        100_000,
    )
    assert (title.purpose, title.calls, title.cache_read_tokens) == ("title", 1, 100_000)
    assert title.cost_usd == pytest.approx(0.03)


def test_the_figures_of_the_conversation_are_the_same_with_and_without_them() -> None:
    with_them, without = (report_of(replay_inputs(session(*calls))) for calls in (CALLS, ()))
    assert with_them.recorded == without.recorded
    assert with_them.baseline == without.baseline
    assert without.beside == []
    assert with_them.recorded is not None
    parts = [each.cost_usd for each in with_them.beside]
    assert with_them.altogether_usd == pytest.approx(with_them.recorded.cost_usd + sum(parts), abs=0.001)


def test_they_are_reported_under_their_own_names() -> None:
    words = " ".join(report_text(report_of(replay_inputs(session(*CALLS)))).split())
    assert "Side requests calls prompt tokens output cost" in words
    assert "condenser 2 2,000,000 100,000" in words


# Prompts of a million tokens are beyond 200,000: $6 and $22.50 a million tokens in place of $3 and $15.
def test_the_screen_shows_them_below_the_totals_and_no_plan_changes_them():
    inputs = replay_inputs(session(*CALLS))
    baseline = replay(inputs, Plan())
    planned = replay(inputs, Plan((PlanEntry(strategy("keep-recent")),)))
    sheet = cost_sheet(baseline, planned, plan_outcome(baseline, planned), Assumptions(), ASSUMED_RUNS)
    table = section_table(CostSection.TOTALS, sheet, Rows.of(inputs.history), Table((), ()))
    rows = {row.key: row.cells for row in table.rows}
    assert rows["beside", "condenser"]["before"].text == rows["beside", "condenser"]["after"].text == "$14.25"
    assert rows["beside", "title"]["before"].text == "$0.030"
    total = sheet.explained["before", WITH_SIDE_REQUESTS].value
    assert total == pytest.approx(baseline.figures.cost_usd.value + 14.28)
    shown = [rows[key]["before"].text for key in ("cost_usd", ("beside", "condenser"), ("beside", "title"))]
    added = sum(float(text.removeprefix("$")) for text in shown)
    assert rows[WITH_SIDE_REQUESTS]["before"].text == ON_SCREEN.dollars(added)
    assert spending_of(baseline).side_requests == (pytest.approx(14.25), pytest.approx(0.03))


def test_a_request_is_before_the_call_that_came_next():
    builder = SessionBuilder()
    for number in range(3):
        builder.add(Role.USER, builder.block(BlockKind.USER_TEXT, f"go {number}"))
        builder.respond(usage=Usage(uncached=1_000, output=100), model=MODEL)
    made = builder.session()
    calls = tuple(structs.replace(call, time=100.0 * place) for place, call in enumerate(made.calls))
    beside = tuple(SideCall("title", MODEL, time, Usage(uncached=10)) for time in (50.0, 100.0, 900.0, None))
    made = dataclasses.replace(made, calls=calls, side_calls=beside)
    (title,) = side_spending(made, Pricing())
    assert [each.before for each in side_requests(made, Pricing())] == [1, 1, 3, None]
    assert [call.time for call in made_before(made, 1)] == [50.0, 100.0]
    told = side_explanation(title, replay(replay_inputs(made), Plan())).inputs
    assert told[4].label == "request 1: before call 2, 10 tokens in, 0 out"
    assert told[6].label == "request 3: after the last call, 10 tokens in, 0 out"


def test_a_call_without_a_price_leaves_the_sum_unknown() -> None:
    unpriced = SideCall("title", "a model of nobody", None, Usage(uncached=10))
    report = report_of(replay_inputs(session(unpriced)))
    assert report.beside[0].cost_usd is None
    assert report.altogether_usd is None
    assert "with the recorded calls" not in report_text(report)
