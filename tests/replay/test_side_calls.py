"""Requests beside a conversation are priced apart, and told under their own names."""

import dataclasses

import pytest

from inspector.cli.reading import replay_inputs
from inspector.replay.analysis.side_calls import side_spending
from inspector.replay.pricing.prices import Pricing
from inspector.report.session_report import report_of
from inspector.report.text import report_text
from inspector.session.model import BlockKind, Role, SideCall, Usage
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
    assert (condenser.purpose, condenser.calls, condenser.prompt, condenser.output) == (
        "condenser",
        2,
        2_000_000,
        100_000,
    )
    assert (title.purpose, title.calls, title.cache_read) == ("title", 1, 100_000)
    assert title.cost == pytest.approx(0.03)


def test_the_figures_of_the_conversation_are_the_same_with_and_without_them() -> None:
    with_them, without = (report_of(replay_inputs(session(*calls))) for calls in (CALLS, ()))
    assert with_them.recorded == without.recorded
    assert with_them.baseline == without.baseline
    assert without.beside == []
    assert with_them.recorded is not None
    parts = [each.cost_usd for each in with_them.beside]
    assert with_them.altogether_usd == pytest.approx(with_them.recorded.cost_usd + sum(parts), abs=0.001)


def test_they_are_told_under_their_own_names() -> None:
    words = " ".join(report_text(report_of(replay_inputs(session(*CALLS)))).split())
    assert "Beside the conversation calls prompt tokens output cost" in words
    assert "condenser 2 2,000,000 100,000" in words


def test_a_call_without_a_price_leaves_the_sum_unknown() -> None:
    unpriced = SideCall("title", "a model of nobody", None, Usage(uncached=10))
    report = report_of(replay_inputs(session(unpriced)))
    assert report.beside[0].cost_usd is None
    assert report.altogether_usd is None
