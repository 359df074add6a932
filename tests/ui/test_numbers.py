import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.ui import numbers
from inspector.ui.numbers import MINUS

SHORT = {
    0: "0",
    812: "812",
    999.4: "999",
    999.6: "1.0k",
    4_812: "4.8k",
    66_040: "66k",
    -41_200: MINUS + "41k",
    999_600: "1.0M",
    1_234_567: "1.2M",
    3_200_000_000: "3.2G",
    -0.2: "0",
}

MONEY = {
    14.82: "$14.82",
    -0.61: MINUS + "$0.61",
    0: "$0.00",
    0.0031: "$0.0031",
    0.042: "$0.042",
    3_912.4: "$3,912.40",
    39_124: "$39k",
    math.nan: "unknown",
    None: "unknown",
    0.999: "$1.00",
    -0.00000001: "$0.00",
}


@pytest.mark.parametrize(("value", "text"), SHORT.items())
def test_counts_are_short(value: float, text: str) -> None:
    assert numbers.short(value) == text


@given(st.integers(-(10**11), 10**11))
def test_a_short_count_is_never_wider_than_its_column(value: int) -> None:
    assert len(numbers.short(value)) <= 5


@pytest.mark.parametrize(("value", "text"), MONEY.items())
def test_money_keeps_the_digits_that_matter(value: float | None, text: str) -> None:
    assert numbers.dollars(value) == text


def test_a_negative_saving_shows_its_sign() -> None:
    assert numbers.percent(-0.08) == MINUS + "8.0 %"
    assert numbers.whole(-3_905) == MINUS + "3,905"


def test_ages_and_sizes_name_their_unit() -> None:
    assert [numbers.age(seconds) for seconds in (2, 300, 10_800, 1_036_800)] == ["2 s", "5 min", "3 h", "12 d"]
    assert [numbers.size(count) for count in (812, 8_100_000, 125_342, 4 * 10**9)] == [
        "812 B",
        "8.1 MB",
        "125 kB",
        "4.0 GB",
    ]
