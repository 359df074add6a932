"""Precision of monthly savings matches the precision of their inputs."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.replay.analysis.forecast import project_runs
from inspector.replay.assumptions import ASSUMED_RUNS, RunsPerDay
from inspector.replay.figure import Band
from inspector.report.numbers import IN_TEXT, MINUS, ON_SCREEN
from inspector.report.sentences import (
    adding_up,
    between,
    daily_saving,
    monthly_saving,
    runs_a_day,
)


@pytest.mark.parametrize(
    ("low", "high", "said"),
    [
        (1_434.18, 3_325.08, "$1,400 to $3,400"),
        (102.37, 506.29, "$100 to $510"),
        (-12.4, 31.9, f"{MINUS}$13 to $32"),
        (1_012.0, 1_583.0, "$1,000 to $1,600"),
        (0.113, 0.148, "$0.11 to $0.15"),
        (45.0, 45.0, "$45.00"),
    ],
)
def test_a_range_is_rounded_to_its_spread(low: float, high: float, said: str) -> None:
    assert between(Band(low, low, high), IN_TEXT) == said


@given(st.floats(-1e6, 1e6), st.floats(0.5, 1e6))
def test_rounding_widens_a_range_by_less_than_a_fifth_of_its_spread_at_each_end(low: float, spread: float) -> None:
    said = between(Band(low, low, low + spread), IN_TEXT).replace(MINUS, "-")
    words = said.replace("$", "").replace(",", "").split(" to ")
    for end, value in zip((low, low + spread), map(float, words), strict=False):
        assert math.isclose(value, end, abs_tol=0.2 * spread + 0.01)
    least, *_, most = map(float, words)
    assert least <= low + 1e-6 * spread + 1e-6
    assert most >= low + spread - 1e-6 * spread - 1e-6


def test_a_loss_is_shown_to_cost_more() -> None:
    loss = Band(-4.1, -2.5, -1.4)
    assert daily_saving(loss, ON_SCREEN) == "costs about $2.50 more a day"
    assert monthly_saving(loss.times(100), ON_SCREEN) == "about $250 more a month, $140 to $410"


def test_a_saving_is_stated_with_what_it_may_come_to() -> None:
    day = Band(1_012.0 / 30, 1_377.0 / 30, 1_583.0 / 30)
    assert daily_saving(day, ON_SCREEN) == "saves about $46 a day"
    assert monthly_saving(day.times(30), ON_SCREEN) == "about $1,400 a month, $1,000 to $1,600"
    assert monthly_saving(Band(45.0, 45.0, 45.0), ON_SCREEN) == "about $45.00 a month"
    assert daily_saving(day, ON_SCREEN, is_most=True) == "saves up to $46 a day"
    assert monthly_saving(day.times(30), ON_SCREEN, is_most=True).startswith("up to $1,400 a month")
    loss = Band(-4.1, -2.5, -1.4)
    assert "up to" not in daily_saving(loss, ON_SCREEN, is_most=True) + monthly_saving(loss, ON_SCREEN, is_most=True)
    assert runs_a_day(RunsPerDay(1)) == "1 run a day, as set"
    assert runs_a_day(ASSUMED_RUNS) == "1 run a day, assumed"


@pytest.mark.parametrize(
    ("before", "saved", "written"),
    [
        # Rounded apart, $3.52 - $0.13 would be written $3.50, $3.40 and $0.13.
        (Band(3.0, 3.52, 3.9), Band(0.1, 0.13, 0.17), ("$3.52", "$3.39", "$0.13")),
        (Band(3.0, 3.5, 3.9), Band(-0.2, -0.1, 0.3), ("$3.50", "$3.60", "\N{MINUS SIGN}$0.10")),
        (Band(1000, 1400, 1900), Band(200, 350, 700), ("$1,400", "$1,000", "$400")),
        (Band(2, 2, 2), Band(0.5, 0.5, 0.5), ("$2.00", "$1.50", "$0.50")),
    ],
)
def test_costs_and_savings_add_up_as_written(before: Band, saved: Band, written: tuple[str, str, str]) -> None:
    assert adding_up(before, saved, ON_SCREEN) == written


@given(st.floats(0.5, 5_000), st.floats(-0.9, 0.9), st.floats(0.001, 0.9), st.floats(0.001, 0.9))
def test_a_saving_as_written_has_the_sign_of_the_difference_of_the_costs_as_written(
    cost: float, share: float, wide: float, narrow: float
) -> None:
    saved = cost * share
    before = Band(cost * (1 - wide), cost, cost * (1 + wide))
    first, after, less = (
        float(text.replace("$", "").replace(",", "").replace("\N{MINUS SIGN}", "-"))
        for text in adding_up(before, Band(saved - cost * narrow, saved, saved + cost * narrow), IN_TEXT)
    )
    assert first - after == pytest.approx(less, abs=1e-6)


def test_a_month_is_projected_only_from_runs_that_fit_into_it() -> None:
    day = 86_400.0
    cost = np.full(4, 0.5)
    # Once a day is assumed: a run of a day fits, one of two days does not.
    assert project_runs(cost, cost / 2, ASSUMED_RUNS, seconds=day) is not None
    assert project_runs(cost, cost / 2, ASSUMED_RUNS, seconds=2 * day) is None
    # A number that the user set may be of parallel runs.
    assert project_runs(cost, cost / 2, RunsPerDay(1), seconds=2 * day) is not None
