import math

from hypothesis import given
from hypothesis import strategies as st

from inspector.strategies.core.parameters import LARGE_STEP, Parameter, ParameterKind, ValueScale

scales = st.builds(
    lambda minimum, span, logarithmic, whole: ValueScale(minimum, minimum + span, logarithmic, whole),
    st.integers(-1000, 1000),
    st.integers(2, 10_000_000),
    st.booleans(),
    st.booleans(),
)


@given(scales, st.floats(0, 1))
def test_every_position_has_a_value_inside_the_range(scale: ValueScale, fraction: float) -> None:
    value = scale.value(fraction)

    assert scale.minimum <= value <= scale.maximum
    assert not scale.whole or value == int(value)


@given(scales)
def test_the_ends_of_the_line_are_the_ends_of_the_range(scale: ValueScale) -> None:
    assert (scale.value(0), scale.value(1)) == (scale.minimum, scale.maximum)
    assert (scale.fraction(scale.minimum), scale.fraction(scale.maximum)) == (0, 1)


@given(scales, st.floats(0, 1), st.floats(0, 1))
def test_further_along_the_line_is_never_a_smaller_value(scale: ValueScale, one: float, other: float) -> None:
    low, high = sorted((one, other))

    assert scale.value(low) <= scale.value(high)


@given(scales, st.data())
def test_a_step_moves_the_value_until_the_end(scale: ValueScale, data: st.DataObject) -> None:
    value = data.draw(st.integers(int(scale.minimum), int(scale.maximum)))

    assert scale.stepped(value, 1) > value or value == scale.maximum
    assert scale.stepped(value, -1) < value or value == scale.minimum
    assert scale.minimum <= scale.stepped(value, -LARGE_STEP) <= scale.stepped(value, LARGE_STEP) <= scale.maximum


def test_steps_are_as_large_as_the_value_asks_for() -> None:
    scale = ValueScale(0, 100_000, logarithmic=True)

    assert [scale.stepped(value, 1) for value in (0, 40, 100, 400, 405, 4_000, 40_000)] == [
        1,
        41,
        110,
        410,
        410,
        4_100,
        41_000,
    ]
    assert [scale.stepped(value, -1) for value in (1, 100, 1_000, 405)] == [0, 99, 990, 400]
    assert scale.stepped(400, LARGE_STEP) == 500


@given(scales, st.data())
def test_a_coarse_step_leads_as_far_as_a_fine_one_or_further(scale: ValueScale, data: st.DataObject) -> None:
    value = data.draw(st.integers(int(scale.minimum), int(scale.maximum)))

    assert scale.stepped(value, 1) <= scale.stepped(value, 1, coarse=True) <= scale.maximum
    assert scale.stepped(value, -1) >= scale.stepped(value, -1, coarse=True) >= scale.minimum


def test_steps_over_a_wide_range_of_fractions_are_round_numbers_too():
    scale = ValueScale(0, 1_100_000, logarithmic=True, whole=False)

    assert (scale.stepped(11, -1), scale.stepped(11, -1, coarse=True)) == (10, 10)
    assert scale.stepped(11, 1) == 12


def test_coarse_steps_lead_to_numbers_with_one_digit_that_counts() -> None:
    scale = ValueScale(0, 100_000, logarithmic=True)
    values = (0, 9, 10, 42, 150, 900, 4_000)

    assert [scale.stepped(value, 1, coarse=True) for value in values] == [1, 10, 20, 50, 200, 1_000, 5_000]
    assert [scale.stepped(value, -1, coarse=True) for value in (1, 10, 42, 150, 1_000)] == [0, 9, 40, 100, 900]


def test_a_short_range_is_walked_one_by_one_and_a_long_one_in_about_twenty_coarse_steps() -> None:
    assert ValueScale(0, 12).stepped(3, 1, coarse=True) == 4
    assert ValueScale(0, 1_000).stepped(100, 1, coarse=True) == 150


def test_ratios_are_equally_far_apart_on_a_logarithmic_line() -> None:
    scale = ValueScale(0, 100_000, logarithmic=True)

    near = scale.fraction(600) - scale.fraction(150)
    far = scale.fraction(60_000) - scale.fraction(15_000)

    assert math.isclose(near, far, rel_tol=0.02)


def test_an_open_range_leaves_room_above_its_value() -> None:
    parameter = Parameter("keep", ParameterKind.WHOLE_NUMBER, 3, "How many.", minimum=0)

    assert ValueScale.of(parameter, 3).maximum > 3
    assert ValueScale.of(parameter, 5_000).maximum > 5_000


def test_a_range_narrower_than_one_keeps_its_ends_and_can_be_walked() -> None:
    scale = ValueScale.of(Parameter("share", ParameterKind.NUMBER, 0.5, "A share.", minimum=0.01, maximum=0.99), 0.5)

    assert (scale.minimum, scale.maximum) == (0.01, 0.99)
    assert scale.minimum < scale.stepped(0.5, -1) < 0.5 < scale.stepped(0.5, 1) < scale.maximum
    assert (scale.stepped(0.99, 1), scale.stepped(0.01, -1)) == (0.99, 0.01)
