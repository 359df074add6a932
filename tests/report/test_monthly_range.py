"""A month of a plan's saving never promises more than the plan saves of the session at least."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inspector.cli.reading import replay_inputs
from inspector.replay.analysis.forecast import project_runs
from inspector.replay.analysis.reuse import find_reuse
from inspector.replay.assumptions import ASSUMED_RUNS, DAYS_PER_MONTH, RunsPerDay
from inspector.replay.engine.replay import replay
from inspector.replay.figure import Band
from inspector.report.build_report import plan_facts
from inspector.report.document import ReportOptions
from inspector.report.numbers import IN_TEXT
from inspector.report.sentences import bands_of, between
from inspector.session.open import open_session
from inspector.strategies.plan import Plan
from inspector.strategies.registry import strategy_for
from tests.examples import examples

if TYPE_CHECKING:
    from pathlib import Path

SESSIONS = (
    "claude-code/e92f5a0b-1b9e-4913-98b3-c319b4d5e90b.jsonl",
    "claude-code/8ecab05f-4481-43d6-9428-a6b177981877.jsonl",
    "claude-code/be2220da-eaff-40d2-b482-9f05cced3187.jsonl",
    "codex/rollout-2025-10-04T22-31-15-0199b26c-737a-71a2-9939-52ce68c95cbe.jsonl",
    "opencode/ses_2200dec98ffeAAGsw94tLFVYT6.json",
)
PLANS = ("vercel-prune", "maf-tool-calls", "tiered-stale", "clear-old", "trim-at-insertion", "prune-old")
A_MONTH = ASSUMED_RUNS.number * DAYS_PER_MONTH
HALF_A_CENT = 0.005


@pytest.mark.parametrize("name", SESSIONS)
def test_the_range_of_a_month_begins_no_higher_than_the_least_a_plan_saves_times_the_runs(name: str, corpus: Path):
    path = corpus / name
    if not path.exists():
        pytest.skip("the session is not at hand")
    inputs = replay_inputs(open_session(path))
    session = inputs.history.session
    baseline, uses = replay(inputs, Plan()), find_reuse(inputs.history)
    needed = 0
    for strategy in PLANS:
        planned = replay(inputs, Plan.of(strategy_for(strategy, session)))
        facts = plan_facts(planned, baseline, uses, ReportOptions(runs_per_day=ASSUMED_RUNS, details=False))
        later, month = facts.needed_later, facts.projection
        assert later is not None
        assert month is not None
        assert facts.saved.usd is not None
        assert later.saved_at_least_usd is not None
        needed += later.calls
        least = A_MONTH * later.saved_at_least_usd
        assert month.usd_per_month_low <= least + 0.1
        # Multiplying the printed figure of the session gives at least the printed figure of the month.
        begins = printed_beginning(bands_of(month)[1])
        assert begins <= least + A_MONTH * HALF_A_CENT
        assert later.recoveries_usd is not None
        expected = A_MONTH * (facts.saved.usd - later.recoveries_usd)
        assert month.usd_per_month == pytest.approx(expected, abs=0.01)
        assert month.usd_per_month_low <= A_MONTH * facts.saved.usd + 0.1 <= month.usd_per_month_high + 0.2
    assert needed > 0


def printed_beginning(month: Band) -> float:
    """The first amount of a range as it is written, in dollars."""
    text = between(month, IN_TEXT).split(" to ")[0]
    digits = re.sub(r"[^\d.]", "", text)
    return float(digits) * (-1 if text[0] != "$" else 1)


costs = st.lists(st.tuples(st.floats(0, 10), st.floats(0, 10), st.floats(0, 3)), min_size=1, max_size=40)


@settings(max_examples=examples(100), deadline=None)
@given(costs)
def test_what_recoveries_cost_lowers_a_saving_and_its_lower_end_but_not_the_upper_one(calls: list[tuple[float, ...]]):
    baseline, plan, recovery = (np.array(column) for column in zip(*calls, strict=True))
    runs = RunsPerDay(24)
    recovered = dict(enumerate(recovery.tolist()))
    alone = project_runs(baseline, plan, runs)
    found = project_runs(baseline, plan, runs, recovery_cost=recovered)

    assert alone is not None
    assert found is not None
    saving = found.per_run.saving
    assert saving.low <= alone.per_run.saving.low + 1e-9
    assert saving.low <= (baseline - plan - recovery).sum() + 1e-9
    assert saving.middle == pytest.approx((baseline - plan - recovery).sum())
    assert saving.high == pytest.approx(alone.per_run.saving.high)
    assert found.recovered == pytest.approx(recovery.sum())
    assert alone.recovered is None
    assert found.per_run.baseline == alone.per_run.baseline
    assert found.per_run.plan.middle == pytest.approx((plan + recovery).sum())
    assert found.per_run.plan.low == pytest.approx(alone.per_run.plan.low)
    assert found.per_run.plan.high >= alone.per_run.plan.high - 1e-9


@settings(max_examples=examples(100), deadline=None)
@given(st.floats(-1e5, 1e5), st.floats(0.01, 1e5), st.floats(0.01, 1e5))
def test_a_range_is_written_no_narrower_than_it_is(middle: float, below: float, above: float):
    band = Band(middle - below, middle, middle + above)
    assert printed_beginning(band) <= band.low + max(1e-6 * abs(band.low), HALF_A_CENT)
