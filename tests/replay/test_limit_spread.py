"""Limit of a plan with the largest effect over its range."""

import pytest

from inspector.replay.analysis.sweep import limit_spreads, tunable_limits
from inspector.replay.engine.replay import Replay, replay
from inspector.replay.sessions import replay_session
from inspector.session.open import open_session
from inspector.strategies.plan import Plan
from inspector.ui.tune.sweeps import Limits, limits_to_rank
from tests.conftest import ROOT

SAMPLE = ROOT / "sample_sessions" / "coding-agent.jsonl"
PLAN = Plan.from_specs(["tiered-stale", "keep-recent:enabled=false"])


@pytest.fixture(scope="module")
def baseline() -> Replay:
    return replay_session(open_session(SAMPLE), Plan(), precise=False)


def test_the_limit_that_changes_the_cost_most_comes_first_with_what_its_range_costs(baseline: Replay) -> None:
    axes = tunable_limits(Plan.from_specs(["tiered-stale"]))
    (*_, found) = limit_spreads(baseline.inputs, Plan.from_specs(["tiered-stale"]), axes)
    assert [spread.width for spread in found] == sorted((spread.width for spread in found), reverse=True)
    assert {spread.axis for spread in found} == set(axes)
    most = found[0]
    ends = [most.axis.moved(Plan.from_specs(["tiered-stale"]), most.axis.scale.value(end)) for end in (0.0, 1.0)]
    costs = [replay(baseline.inputs, plan).figures.cost_usd.value or 0.0 for plan in ends]
    assert most.is_cost
    assert most.least <= min(costs)
    assert most.most >= max(costs)


def test_without_time_for_the_first_round_nothing_is_stated(baseline: Replay) -> None:
    plan = Plan.from_specs(["tiered-stale"])
    assert list(limit_spreads(baseline.inputs, plan, tunable_limits(plan), seconds=0.0)) == []


def test_limits_of_strategies_that_are_off_are_weighed_only_where_none_is_on() -> None:
    assert {axis.strategy for axis in limits_to_rank(Limits.of(PLAN))} == {"tiered-stale"}
    off = Plan.from_specs(["tiered-stale:enabled=false", "keep-recent:enabled=false"])
    assert {axis.strategy for axis in limits_to_rank(Limits.of(off))} == {"tiered-stale", "keep-recent"}


def test_when_edits_are_held_back_is_not_weighed_next_to_what_is_cut() -> None:
    names = {axis.parameter.name for axis in limits_to_rank(Limits.of(PLAN))}
    assert {"confirmation", "data"} <= names
    assert not any(name.startswith("batch-") for name in names)
