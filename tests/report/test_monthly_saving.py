"""What a saving comes to a month is said no more exactly than it is known."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.report.monthly_saving import daily_saving, monthly_range, runs_a_day
from inspector.report.numbers import IN_TEXT, ON_SCREEN


@pytest.mark.parametrize(
    ("low", "high", "said"),
    [
        (1_434.18, 3_325.08, "$1,400 to $3,300"),
        (102.37, 506.29, "$100 to $510"),
        (-12.4, 31.9, "-$12 to $32"),
        (0.113, 0.148, "$0.11 to $0.15"),
        (45.0, 45.0, "$45.00"),
    ],
)
def test_a_range_is_rounded_to_its_spread(low: float, high: float, said: str) -> None:
    assert monthly_range(low, high, IN_TEXT) == said


@given(st.floats(-1e6, 1e6), st.floats(0.5, 1e6))
def test_rounding_moves_an_end_by_less_than_a_tenth_of_the_spread(low: float, spread: float) -> None:
    words = monthly_range(low, low + spread, IN_TEXT).replace("$", "").replace(",", "").split(" to ")
    for end, value in zip((low, low + spread), map(float, words), strict=False):
        assert math.isclose(value, end, abs_tol=0.1 * spread + 0.01)


def test_a_loss_is_said_to_cost_more() -> None:
    assert daily_saving(-2.5, ON_SCREEN) == "costs $2.50 more a day"
    assert daily_saving(2.5, ON_SCREEN) == "saves $2.50 a day"
    assert (runs_a_day(1), runs_a_day(24)) == ("1 run a day", "24 runs a day")
