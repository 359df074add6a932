"""Two sets of sessions compared: known differences are recovered, too few are refused, and how many more it takes."""

from math import inf, isnan

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inspector.replay.analysis.before_after import LEAST_SESSIONS, ChangeVerdict, SetDifference, Statistic, difference

Numbers = np.ndarray[tuple[int, ...], np.dtype[np.float64]]


def sessions(count: int, factor: float, seed: int, spread: float = 0.4) -> Numbers:
    random = np.random.default_rng(seed)
    calls = np.maximum(np.round(np.exp(random.normal(3.5, 0.7, count))), 1)
    return np.column_stack([calls * factor * np.exp(random.normal(0, spread, count)), calls])


def compared(
    before: Numbers, after: Numbers, statistic: Statistic = Statistic.RATIO, wanted: float = 0.1
) -> SetDifference:
    return difference(before, after, statistic, wanted, is_part=False)


def test_a_cost_cut_by_a_fifth_is_reported_with_an_interval_that_holds_it() -> None:
    found = compared(sessions(150, 1.0, 1), sessions(150, 0.8, 2))

    assert found.verdict is ChangeVerdict.LESS
    assert found.share_low < -0.2 < found.share_high < 0
    assert found.share_low < found.share < found.share_high
    assert found.low < found.change < found.high < 0


def test_a_cost_raised_by_a_quarter_is_reported() -> None:
    found = compared(sessions(400, 0.8, 3), sessions(400, 1.0, 4))

    assert found.verdict is ChangeVerdict.MORE
    assert 0 < found.share_low < 0.25 < found.share_high


def test_where_nothing_changed_none_is_reported_and_none_as_large_as_was_wanted() -> None:
    found = compared(sessions(600, 1.0, 1, 0.2), sessions(600, 1.0, 2, 0.2))

    assert found.verdict is ChangeVerdict.SMALL
    assert -0.1 < found.share_low < 0 < found.share_high < 0.1


def test_few_sessions_that_vary_are_inconclusive_and_how_many_more_would() -> None:
    found = compared(sessions(8, 1.0, 1), sessions(12, 0.9, 3))

    assert found.verdict is ChangeVerdict.INCONCLUSIVE
    assert found.low < 0 < found.high
    assert 10 < found.more < 1_000


def test_as_many_more_sessions_as_were_shown_to_be_needed_tell_the_difference_four_times_of_five() -> None:
    few = [compared(sessions(15, 1.0, seed), sessions(15, 1.0, 1_000 + seed), wanted=0.3) for seed in range(40)]
    needed = 15 + round(float(np.median([each.more for each in few])))
    told = [
        compared(sessions(needed, 1.0, 9_000 + seed), sessions(needed, 0.7, 8_000 + seed)).verdict is ChangeVerdict.LESS
        for seed in range(80)
    ]

    assert 20 < needed < 60
    assert 0.65 <= np.mean(told) <= 0.97


@pytest.mark.parametrize(
    ("before", "after", "lacks", "alone"), [(3, 8, 2, inf), (8, 3, 2, 2), (0, 9, 5, inf), (4, 4, 1, inf)]
)
def test_fewer_than_five_of_either_set_are_refused_with_how_many_lack(
    before: int, after: int, lacks: int, alone: float
) -> None:
    found = compared(sessions(before, 1.0, 1), sessions(after, 0.5, 2))

    assert found.verdict is ChangeVerdict.TOO_FEW
    assert found.sessions == (before, after)
    assert found.more == lacks
    assert found.more_after == alone
    assert isnan(found.low)
    assert isnan(found.share_high)


def test_sessions_that_lack_the_figure_are_left_out() -> None:
    before, after = sessions(20, 1.0, 1), sessions(20, 0.5, 2)
    holed = before.copy()
    holed[3:9, 0] = np.nan

    assert compared(holed, after).sessions == (14, 20)
    assert compared(holed, after).before == compared(np.delete(before, slice(3, 9), 0), after).before


def test_more_sessions_after_alone_cannot_make_up_for_few_before() -> None:
    few_before = compared(sessions(6, 1.0, 1), sessions(400, 1.0, 2))
    few_after = compared(sessions(400, 1.0, 1), sessions(6, 1.0, 2))

    assert few_before.more_after == inf > few_before.more
    assert few_after.more_after < inf


def test_figures_that_are_all_the_same_leave_no_doubt() -> None:
    alike, half = np.full((9, 1), 2.0), np.full((7, 1), 1.0)

    same, less = compared(alike, alike, Statistic.MEAN), compared(alike, half, Statistic.MEDIAN)

    assert (same.verdict, same.change, same.low, same.high) == (ChangeVerdict.SMALL, 0, 0, 0)
    assert (less.verdict, less.share, less.share_low) == (ChangeVerdict.LESS, -0.5, -0.5)
    assert compared(0 * alike, 0 * half, Statistic.MEAN).verdict is ChangeVerdict.SMALL


def test_intervals_hold_the_difference_there_is_about_nineteen_times_of_twenty() -> None:
    held = []
    for seed in range(200):
        before, after = sessions(12, 1.0, seed), sessions(9, 0.8, 50_000 + seed)
        found = compared(before, after)
        held.append(found.share_low <= -0.2 <= found.share_high)

    assert 0.89 <= np.mean(held) <= 0.99


figures = st.lists(
    st.tuples(st.floats(0, 1e4, allow_subnormal=False), st.integers(1, 500)), min_size=LEAST_SESSIONS, max_size=25
)


@settings(max_examples=60, deadline=None)
@given(figures, figures, st.sampled_from(Statistic))
def test_swapping_the_sets_negates(
    one: list[tuple[float, int]], other: list[tuple[float, int]], statistic: Statistic
) -> None:
    before, after = np.array(one, dtype=np.float64), np.array(other, dtype=np.float64)
    found, swapped = compared(before, after, statistic), compared(after, before, statistic)
    scale = 1e-9 * (1 + abs(found.before) + abs(found.after) + abs(found.low) + abs(found.high))

    assert swapped.change == pytest.approx(-found.change, abs=scale)
    assert (swapped.low, swapped.high) == pytest.approx((-found.high, -found.low), abs=scale)
    assert (swapped.before, swapped.after) == (found.after, found.before)
    assert swapped.sessions == found.sessions[::-1]


@settings(max_examples=30, deadline=None)
@given(figures, figures, st.sampled_from(Statistic))
def test_the_same_sets_give_the_same_answer(
    one: list[tuple[float, int]], other: list[tuple[float, int]], statistic: Statistic
) -> None:
    before, after = np.array(one, dtype=np.float64), np.array(other, dtype=np.float64)

    assert repr(compared(before, after, statistic)) == repr(compared(before, after, statistic))
