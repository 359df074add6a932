"""Numbers as reports write them, and as the screen does."""

import math
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.report.numbers import IN_TEXT, MINUS, ON_SCREEN, NumberFormat, age, file_size, window_size


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (14.824, "$14.82"),
        (1234.5, "$1,234.50"),
        (0.0031, "$0.0031"),
        (0.61, "$0.61"),
        (0.0717, "$0.072"),
        (-5.45, MINUS + "$5.45"),
        (0.0, "$0.00"),
        (-0.000001, "$0.00"),
        (None, "unknown"),
    ],
)
def test_dollars_show_cents_and_more_digits_below_ten_cents(value: float | None, written: str):
    assert IN_TEXT.dollars(value) == written


@pytest.mark.parametrize(
    ("value", "written"), [(37.24, "37.2 %"), (-4.0, MINUS + "4.0 %"), (-0.04, "0.0 %"), (0.0, "0.0 %"), (None, "-")]
)
def test_a_percentage_has_one_digit_and_no_sign_on_nothing(value: float | None, written: str):
    assert IN_TEXT.percent(value) == written


@pytest.mark.parametrize(("value", "written"), [(1234567, "1,234,567"), (-31, MINUS + "31"), (0, "0"), (None, "-")])
def test_whole_numbers_are_grouped(value: float | None, written: str):
    assert IN_TEXT.whole(value) == written


def test_one_of_a_thing_is_singular():
    assert (IN_TEXT.plural(1, "call"), IN_TEXT.plural(0, "call"), IN_TEXT.plural(2000, "call")) == (
        "1 call",
        "0 calls",
        "2,000 calls",
    )


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
    assert ON_SCREEN.short(value) == text


@given(st.integers(-(10**11), 10**11))
def test_a_short_count_is_never_wider_than_its_column(value: int) -> None:
    assert len(ON_SCREEN.short(value)) <= 5


@pytest.mark.parametrize(("value", "text"), MONEY.items())
def test_money_keeps_the_digits_that_matter(value: float | None, text: str) -> None:
    assert ON_SCREEN.dollars(value) == text


def test_a_negative_saving_shows_its_sign() -> None:
    assert ON_SCREEN.share(-0.08) == MINUS + "8.0 %"
    assert ON_SCREEN.whole(-3_905) == MINUS + "3,905"


def test_ages_and_sizes_name_their_unit() -> None:
    assert [age(seconds) for seconds in (2, 300, 10_800, 1_036_800)] == ["2 s", "5 min", "3 h", "12 d"]
    assert [file_size(count) for count in (812, 8_100_000, 125_342, 4 * 10**9)] == [
        "812 B",
        "8.1 MB",
        "125 kB",
        "4.0 GB",
    ]


@given(st.lists(st.floats(0.0, 1e6), min_size=1, max_size=8).filter(lambda parts: sum(parts) > 1))
def test_shares_of_a_whole_add_up_to_a_hundred_as_they_are_written(parts: list[float]) -> None:
    for numbers in (ON_SCREEN, IN_TEXT):
        written = numbers.shares_of_parts([part / sum(parts) for part in parts])
        assert sum(0.0 if "<" in text else float(text.removesuffix(" %")) for text in written) == pytest.approx(100)
        assert all(text.startswith("0") for text, part in zip(written, parts, strict=True) if part == 0)


CENTS = st.floats(-1e3, 1e3).filter(lambda part: part == 0 or abs(part) > 0.01)


@given(st.lists(CENTS, min_size=1, max_size=8).filter(lambda parts: abs(sum(parts)) > 1))
def test_parts_of_an_amount_add_up_to_it_as_they_are_written(parts: list[float]) -> None:
    total = sum(parts)
    for numbers in (ON_SCREEN, IN_TEXT):
        written = numbers.dollars_of_parts(total, parts)
        values = [float(text.replace(MINUS, "-").replace("$", "").replace(",", "")) for text in written]
        assert sum(values) == pytest.approx(float(f"{total:.2f}"), abs=1e-6)
        # Parts have the same number as elsewhere; only the largest may differ.
        largest = max(range(len(parts)), key=lambda at: abs(parts[at]))
        others = [at for at in range(len(parts)) if at != largest]
        assert [values[at] for at in others] == pytest.approx([float(f"{parts[at]:.2f}") for at in others])
        assert abs(values[largest] - parts[largest]) < 0.0051 * (len(parts) + 1)


def test_parts_of_a_cost_are_rounded_together() -> None:
    assert ON_SCREEN.dollars_of_parts(4.0448, [2.2378, 0.9013, 0.9057]) == ["$2.23", "$0.90", "$0.91"]
    assert ON_SCREEN.dollars_of_parts(-1.506, [-1.254, -0.252]) == [MINUS + "$1.26", MINUS + "$0.25"]
    assert ON_SCREEN.dollars_of_parts(None, [1.0, 2.0]) == ["$1.00", "$2.00"]


@given(st.lists(CENTS.map(abs), min_size=1, max_size=8).filter(lambda parts: all(part >= 0.1 for part in parts)))
def test_a_sum_is_what_its_parts_add_up_to_as_they_are_written(parts: list[float]) -> None:
    for numbers in (ON_SCREEN, IN_TEXT):
        written = [round(100 * float(numbers.dollars(part)[1:].replace(",", ""))) for part in parts]
        assert numbers.sum_of_dollars(parts) == pytest.approx(sum(written) / 100)


def test_a_sum_of_rounded_parts_is_theirs_and_unknown_where_one_of_them_is() -> None:
    assert ON_SCREEN.dollars(ON_SCREEN.sum_of_dollars([2.334, 0.114])) == "$2.44"
    assert ON_SCREEN.sum_of_dollars([2.334, None]) is None


def test_sizes_are_written_the_way_people_say_them() -> None:
    sizes = (7_500, 32_768, 131_072, 200_000, 258_400, 262_144, 999_900, 1_000_000, 1_048_576, 2_500_000)
    said = ["7.5k", "33k", "131k", "200k", "258k", "262k", "1M", "1M", "1M", "2.5M"]
    assert [window_size(size) for size in sizes] == said


def test_shares_of_a_cost_are_rounded_together() -> None:
    assert ON_SCREEN.shares_of_parts([0.506, 0.4081, 0.0853, 0.0006]) == ["51 %", "41 %", "8 %", "<1 %"]
    assert IN_TEXT.shares_of_parts([0.506, 0.4081, 0.0853, 0.0006]) == ["50.6 %", "40.8 %", "8.5 %", "0.1 %"]
    assert ON_SCREEN.shares_of_parts([0.5, None]) == ["50 %", "-"]


@pytest.mark.parametrize("numbers", [IN_TEXT, ON_SCREEN])
@given(before=st.floats(0.1, 4_000), share=st.floats(0, 2))
def test_a_cost_with_a_plan_and_its_saving_add_up_to_the_cost_before_as_they_are_written(
    numbers: NumberFormat, before: float, share: float
) -> None:
    after = before * share
    shown = numbers.cost_with_plan(before, after)
    written = [numbers.dollars(each).replace(MINUS, "-") for each in (before, before - after, shown)]
    was, saved, costs = (Decimal(each.replace("$", "").replace(",", "")) for each in written)
    digits = [-each.as_tuple().exponent for each in (was, saved, costs)]
    assert shown == pytest.approx(after, abs=0.0101)
    if digits[0] == digits[1] == digits[2]:
        assert costs + saved == was


def test_a_cost_with_a_plan_stays_where_it_is_unknown_or_written_more_exactly() -> None:
    assert ON_SCREEN.dollars(ON_SCREEN.cost_with_plan(57.008, 33.444)) == "$33.45"
    assert ON_SCREEN.cost_with_plan(10.0, 0.0042) == 0.0042
    assert ON_SCREEN.cost_with_plan(None, 2.0) == 2.0
    assert ON_SCREEN.cost_with_plan(2.0, None) is None
