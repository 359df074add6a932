import pytest

from inspector.live.figures import TYPICAL_STEPS, forecast


def test_steady_growth_reaches_the_size_after_the_room_divided_by_a_step():
    found = forecast(140_000, 160_000, [1_000.0] * 60, [])
    assert found is not None
    # 20,000 tokens are 20 steps; ten typical steps of 1,245 on average are mixed in.
    assert sum(TYPICAL_STEPS) / 10 == 1_245
    assert 18 <= found.calls.middle <= 21
    assert found.calls.low < found.calls.middle < found.calls.high
    assert found.minutes is None


def test_a_far_compaction_has_a_range_in_proportion():
    found = forecast(0, 130_000, [1_000.0] * 60, [])
    assert found is not None
    # 70 steps have 60,000 and 12,450 tokens: 1,035 each.
    assert found.calls.middle == pytest.approx(125.6, abs=0.1)
    assert found.calls.low == pytest.approx(0.4 * found.calls.middle)
    assert found.calls.high == pytest.approx(1.5 * found.calls.middle)


def test_a_prompt_below_the_size_is_sent_at_least_once_more():
    found = forecast(166_999, 167_000, [1_000.0] * 60, [])
    assert found is not None
    assert (found.calls.low, found.calls.middle) == (1, 1)


def test_no_call_fits_once_the_size_is_reached():
    found = forecast(170_000, 167_000, [1_000.0] * 10, [])
    assert found is not None
    assert (found.calls.low, found.calls.middle, found.calls.high) == (0, 0, 0)


def test_there_is_no_forecast_before_three_steps():
    assert forecast(1_000, 167_000, [1_000.0, 0.0, -500.0, 200.0], []) is None


def test_minutes_follow_the_gaps_without_pauses():
    # Gaps of 20 s, and a pause of an hour that is left out: a third of a minute a call.
    found = forecast(0, 130_000, [1_000.0] * 60, [20.0] * 20 + [3_600.0])
    assert found is not None
    assert found.minutes is not None
    assert found.minutes.middle == pytest.approx(found.calls.middle / 3)


def test_one_slow_call_counts_as_four_usual_ones():
    # 9 gaps of 10 s and one of 200 s, cut to 40 s: (90 + 40) / 10 = 13 s a call.
    found = forecast(0, 130_000, [1_000.0] * 60, [10.0] * 9 + [200.0])
    assert found is not None
    assert found.minutes is not None
    assert found.minutes.middle == pytest.approx(found.calls.middle * 13 / 60)


def test_the_same_session_has_the_same_forecast():
    growth = [200.0, 4_000.0, 700.0, 900.0]
    assert forecast(150_000, 167_000, growth, []) == forecast(150_000, 167_000, growth, [])
