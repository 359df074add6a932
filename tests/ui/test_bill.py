"""The bill over calls as text: every row as wide as it is to be, every dollar in a column, misses where they are."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from inspector import open_session, replay_session
from inspector.replay.analysis.cache_misses import cache_misses
from inspector.report.numbers import ON_SCREEN
from inspector.safe_text import cell_width
from inspector.strategies.plan import Plan
from inspector.ui.misses.drawing import KINDS, CostSeries, bill_of, call_at, call_summary, draw_bill
from tests.conftest import ROOT

if TYPE_CHECKING:
    from pathlib import Path

SAMPLE = ROOT / "sample_sessions" / "coding-agent.jsonl"


@pytest.fixture(scope="module")
def series() -> CostSeries:
    """The bill of a session with one miss."""
    found = bill_of(cache_misses(replay_session(open_session(SAMPLE), Plan())))
    assert found is not None
    return found


def rows_of(series: CostSeries, width: int, height: int) -> list[str]:
    return ["".join(run.text for run in row) for row in draw_bill(series, width, height)]


def test_the_dollars_of_the_bill_are_those_of_the_session(series: CostSeries) -> None:
    plain = replay_session(open_session(SAMPLE), Plan())

    assert series.dollars.sum() == pytest.approx(plain.figures.cost_usd.value)
    assert series.dollars.sum(axis=0) == pytest.approx(plain.ledger.cost)


@pytest.mark.parametrize("height", [1, 3, 4, 6, 20])
@pytest.mark.parametrize("width", [1, 7, 30, 33, 34, 35, 78, 200])
def test_every_row_is_as_wide_as_it_is_to_be(series: CostSeries, width: int, height: int) -> None:
    for call in (None, 0, 17, 33, 99):
        rows = rows_of(replace(series, call=call), width, height)
        assert len(rows) == height
        assert {cell_width(row) for row in rows} == {width}


@pytest.mark.parametrize("call", [0, 17, 30])
def test_the_call_that_is_looked_at_is_marked_whatever_else_is_there(series: CostSeries, call: int) -> None:
    axis, legend = rows_of(replace(series, call=call), 78, 10)[-2:]

    assert call_at(series, axis.index("◆"), 78) == call
    assert axis.count("◆") == 1
    assert f"◆ call {call + 1}" in legend


def test_the_highest_column_is_the_costliest_call_and_its_miss_is_named_above_it(series: CostSeries) -> None:
    rows = rows_of(series, 78, 10)
    highest = {at for at, letter in enumerate(rows[1]) if letter in "░▒▓█"}

    assert highest
    assert {call_at(series, at, 78) for at in highest} == {17}
    assert rows[0].strip() == "○ 18 $0.30"
    assert rows[0].index("○") in highest
    assert rows[-2][min(highest)] == "○"
    assert rows[1].startswith(f" {ON_SCREEN.dollars(float(series.dollars[:, 17].sum()))} ")


def test_of_calls_that_share_a_column_the_costliest_is_drawn() -> None:
    dollars = np.zeros((len(KINDS), 10))
    dollars[1] = [1.0, 1.0, 0, 0, 0, 0, 0, 0, 0, 3.0]
    dollars[3] = [0, 0, 0, 0, 0, 0, 0, 0, 2.9, 0]
    rows = rows_of(CostSeries(dollars, ()), 5, 9)

    assert [row.count("▓") for row in rows[1:-2]] == [1, 1, 1, 1, 2, 2]


def test_the_costliest_call_costs_the_same_however_wide_the_bill_is(series: CostSeries) -> None:
    assert len({rows_of(series, width, 10)[1].split()[0] for width in (34, 40, 78, 118, 200)}) == 1


def test_a_call_is_reported_by_its_kinds_of_tokens(series: CostSeries) -> None:
    said = call_summary(replace(series, call=17))

    assert said.startswith("call 18: $0.33, writes $0.33")
    assert call_summary(series) == call_summary(replace(series, call=99)) == ""


def test_without_a_price_there_is_no_bill() -> None:
    session = open_session(ROOT / "sample_sessions" / "local-agent.json")

    assert bill_of(cache_misses(replay_session(session, Plan()))) is None


@pytest.mark.parametrize("width", [76, 116])
def test_misses_near_one_another_are_all_named(corpus: Path, width: int) -> None:
    path = corpus / "claude-code" / "e92f5a0b-1b9e-4913-98b3-c319b4d5e90b.jsonl"
    found = bill_of(cache_misses(replay_session(open_session(path), Plan())))
    assert found is not None
    names = rows_of(found, width, 9)[0]
    for named in ("132 $1.99", "125 $1.88", "35 $0.85"):
        assert named in names
