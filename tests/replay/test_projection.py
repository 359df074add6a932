from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inspector.replay.analysis.forecast import CostComparison, RunProjection, project_next_calls, project_runs
from inspector.replay.assumptions import RunsPerDay
from inspector.replay.figure import Band, HowKnown
from inspector.replay.pricing.rates import RateRow, Rates
from tests.examples import examples

FLAT = Rates("flat", "", (RateRow(0, 3.0, 0.3, 3.75, 6.0, 15.0),))
UNCACHED_DOLLARS_PER_TOKEN = 3.00 / 1_000_000


@dataclass(frozen=True)
class Figures:
    prompt_tokens: np.ndarray
    cache_read: np.ndarray
    cache_write_5m: np.ndarray
    cache_write_1h: np.ndarray
    output: np.ndarray


def test_the_founding_documents_example_comes_out_as_it_says():
    """400 to 600 tokens saved on each of 24 wakes a day at $3 a million, rounded to cents before a month is taken."""
    saving = Band(400 * UNCACHED_DOLLARS_PER_TOKEN, 500 * UNCACHED_DOLLARS_PER_TOKEN, 600 * UNCACHED_DOLLARS_PER_TOKEN)
    projection = RunProjection(CostComparison(saving, Band(0, 0, 0), saving), runs=RunsPerDay(24))
    day, month = projection.per_day.saving, projection.per_month.saving
    assert (saving.low, saving.high) == pytest.approx((0.0012, 0.0018))
    assert (round(day.low, 2), round(day.high, 2)) == (0.03, 0.04)
    assert (round(day.low, 2) * 30, round(day.high, 2) * 30) == pytest.approx((0.90, 1.20))
    assert (month.low, month.high) == pytest.approx((0.864, 1.296))


def test_the_founding_documents_example_from_calls_stays_within_what_it_says():
    """Calls that saved 400 to 600 tokens are not projected to save less than the least or more than the most."""
    saved = np.linspace(400, 600, 25) * UNCACHED_DOLLARS_PER_TOKEN
    projection = project_runs(saved + 0.01, np.full(25, 0.01), RunsPerDay(24 / 25))
    day = projection.per_day.saving
    assert 0.0288 <= day.low < day.middle < day.high <= 0.0432
    assert day.middle == pytest.approx(24 * 500 * UNCACHED_DOLLARS_PER_TOKEN)


costs = st.lists(st.tuples(st.floats(0, 10), st.floats(0, 10)), min_size=1, max_size=80)


@settings(max_examples=examples(60), deadline=None)
@given(costs, st.floats(0, 1000))
def test_a_run_is_projected_to_cost_what_it_did_within_its_band(pairs: list[tuple[float, float]], runs: float):
    baseline, plan = np.array(pairs).T
    projection = project_runs(baseline, plan, RunsPerDay(runs))
    per_run = projection.per_run
    assert per_run.baseline.middle == pytest.approx(baseline.sum())
    assert per_run.plan.middle == pytest.approx(plan.sum())
    assert per_run.saving.middle == pytest.approx((baseline - plan).sum(), abs=1e-9)
    for band in (per_run.baseline, per_run.plan, per_run.saving):
        assert band.low <= band.middle <= band.high
    assert projection.per_month.saving.middle == pytest.approx(30 * runs * (baseline - plan).sum(), abs=1e-6)


def test_calls_that_all_cost_the_same_leave_no_doubt():
    per_run = project_runs(np.full(37, 2.0), np.full(37, 0.5), RunsPerDay(1)).per_run
    assert (per_run.saving.low, per_run.saving.high) == pytest.approx((55.5, 55.5))
    assert per_run.saved_share == pytest.approx(0.75)


def test_costs_that_come_in_long_stretches_leave_more_doubt_than_the_same_costs_shuffled():
    stretched = np.repeat([0.0, 4.0], 200)
    shuffled = np.random.default_rng(1).permutation(stretched)
    one, other = (project_runs(cost, np.zeros(400), RunsPerDay(1)).per_run.baseline for cost in (stretched, shuffled))
    assert one.middle == other.middle == 800.0
    assert one.high - one.low > 2 * (other.high - other.low)


def test_a_plan_that_costs_more_saves_less_than_nothing():
    per_run = project_runs(np.full(4, 1.0), np.full(4, 1.5), RunsPerDay(1)).per_run
    assert (per_run.saving.low, per_run.saving.middle, per_run.saving.high) == (-2, -2, -2)
    assert per_run.saved_share == -0.5


def test_a_call_without_a_price_cannot_be_projected():
    assert project_runs(np.array([1.0, np.nan]), np.array([1.0, 1.0]), RunsPerDay(24)) is None
    assert project_runs(np.zeros(0), np.zeros(0), RunsPerDay(24)) is None


def test_projections_say_that_they_are_projected_and_are_the_same_every_time():
    cost = np.random.default_rng(3).random(50)
    first, second = (project_runs(cost, cost / 2, RunsPerDay(24)) for _ in range(2))
    assert first == second
    assert first.per_day.known is HowKnown.PROJECTED


def steady(calls: int, growth: int, start: int = 10_000) -> Figures:
    prompt = start + growth * np.arange(calls, dtype=np.int64)
    zeros = np.zeros(calls, dtype=np.int64)
    return Figures(prompt, prompt - growth, np.full(calls, growth), zeros, np.full(calls, 100))


def previous(calls: int) -> np.ndarray:
    return np.arange(calls, dtype=np.int64) - 1


def test_the_next_calls_of_a_session_that_does_not_grow_cost_what_its_calls_cost():
    session = steady(20, growth=0)
    projection = project_next_calls(session, session, previous(20), FLAT, 10)
    assert projection.cost.baseline.middle == pytest.approx(10 * (10_000 * 0.3 + 100 * 15) / 1e6)
    assert projection.cost.saving == Band(0, 0, 0)
    assert projection.baseline_prompt_tokens.middle == 10_000


def test_the_next_calls_go_on_growing_as_the_session_grew():
    session = steady(30, growth=500)
    projection = project_next_calls(session, steady(30, growth=100), previous(30), FLAT, 40)
    assert projection.baseline_prompt_tokens.middle == 10_000 + 500 * 29 + 500 * 40
    assert projection.plan_prompt_tokens.middle == 10_000 + 100 * 29 + 100 * 40
    assert projection.cost.saving.low > 0
    assert not projection.reaches_window


def test_no_projected_prompt_outgrows_the_window():
    session = steady(30, growth=500)
    projection = project_next_calls(session, session, previous(30), FLAT, 100, window=50_000)
    assert projection.baseline_prompt_tokens == Band(50_000, 50_000, 50_000)
    assert projection.reaches_window


def test_growth_across_a_compaction_is_not_drawn():
    session = steady(20, growth=0)
    dropped = replace(session, prompt_tokens=np.where(np.arange(20) < 10, 90_000, 10_000))
    links = previous(20)
    links[10] = -1
    assert project_next_calls(dropped, dropped, links, FLAT, 30).baseline_prompt_tokens.low == 10_000


def test_longer_prompts_pay_the_rates_of_their_tier():
    tiered = Rates("tiered", "", (*FLAT.rows, RateRow(24_600, 6.0, 0.6, 7.5, 12.0, 30.0)))
    session = steady(30, growth=500)
    base = project_next_calls(session, session, previous(30), FLAT, 5).cost.baseline.middle
    assert project_next_calls(session, session, previous(30), tiered, 5).cost.baseline.middle == pytest.approx(2 * base)


def test_a_session_without_a_second_call_cannot_be_continued():
    assert project_next_calls(steady(1, 0), steady(1, 0), previous(1), FLAT, 10) is None


def test_the_cost_with_the_plan_is_the_cost_without_it_minus_the_savings():
    # Prompts without the plan grow in a burst, so medians of the parts and of their difference differ.
    growth = np.where(np.arange(40) % 7 == 0, 4_000, 100)
    prompt = 10_000 + np.cumsum(growth)
    zeros = np.zeros(40, dtype=np.int64)
    without = Figures(prompt, prompt - growth, growth, zeros, np.full(40, 100))
    with_plan = Figures(prompt // 2, zeros, prompt // 2, zeros, np.full(40, 100))
    cost = project_next_calls(without, with_plan, previous(40), FLAT, 50, recovery_cost={7: 0.5, 8: 0.1}).cost

    assert cost.plan.middle == pytest.approx(cost.baseline.middle - cost.saving.middle)
    assert cost.plan.low <= cost.plan.middle <= cost.plan.high
