import pytest

from inspector.report.numbers import IN_TEXT


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (14.824, "$14.82"),
        (1234.5, "$1,234.50"),
        (0.0031, "$0.0031"),
        (0.61, "$0.61"),
        (0.0717, "$0.072"),
        (-5.45, "-$5.45"),
        (0.0, "$0.00"),
        (-0.000001, "$0.00"),
        (None, "unknown"),
    ],
)
def test_dollars_show_cents_and_more_digits_below_ten_cents(value: float | None, written: str):
    assert IN_TEXT.dollars(value) == written


@pytest.mark.parametrize(
    ("value", "written"), [(37.24, "37.2 %"), (-4.0, "-4.0 %"), (-0.04, "0.0 %"), (0.0, "0.0 %"), (None, "-")]
)
def test_a_percentage_has_one_digit_and_no_sign_on_nothing(value: float | None, written: str):
    assert IN_TEXT.percent(value) == written


@pytest.mark.parametrize(("value", "written"), [(1234567, "1,234,567"), (-31, "-31"), (0, "0"), (None, "-")])
def test_whole_numbers_are_grouped(value: float | None, written: str):
    assert IN_TEXT.whole(value) == written


def test_one_of_a_thing_is_singular():
    assert (IN_TEXT.plural(1, "call"), IN_TEXT.plural(0, "call"), IN_TEXT.plural(2000, "call")) == (
        "1 call",
        "0 calls",
        "2,000 calls",
    )
