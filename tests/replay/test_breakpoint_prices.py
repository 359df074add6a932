"""Prices of a plan by the cache breakpoints of its requests."""

from dataclasses import replace
from pathlib import Path

import pytest

from inspector.replay.analysis.alternatives import breakpoint_prices
from inspector.replay.cache.agent_breakpoints import LEAST, MOST, RULES
from inspector.replay.sessions import replay_session
from inspector.session.open import open_session
from inspector.strategies.plan import Plan
from tests.conftest import ROOT

SAMPLES = ROOT / "sample_sessions"
OLD_RESULTS = Plan.from_specs(["vercel-prune:messages=2"])
EDITED_SESSION = "claude-code/8ecab05f-4481-43d6-9428-a6b177981877.jsonl"


def test_edits_far_behind_the_end_cost_most_with_one_breakpoint_there(corpus: Path) -> None:
    found = breakpoint_prices(replay_session(open_session(corpus / EDITED_SESSION), OLD_RESULTS))

    assert found is not None
    assert (found.assumed.name, found.is_known) == ("claude-code", True)
    price = {each.rule: each.usd for each in found.prices}
    assert price["end"] == found.high > 4 * price["claude-code"]
    assert price[MOST.name] == found.low
    assert found.is_relevant


def test_a_session_without_edits_costs_the_same_under_every_rule() -> None:
    found = breakpoint_prices(replay_session(open_session(SAMPLES / "coding-agent.jsonl"), Plan()))

    assert found is not None
    # Reads of the recording are known, so no rule changes them.
    assert found.low == pytest.approx(found.high)
    assert not found.is_relevant


def test_an_unknown_agent_is_priced_by_the_least_caching_rule_and_the_range_is_shown() -> None:
    session = replace(open_session(SAMPLES / "coding-agent.jsonl"), agent="home-made 1", format="home-made")
    found = breakpoint_prices(replay_session(session, OLD_RESULTS))

    assert found is not None
    assert (found.assumed, found.is_known) == (LEAST, False)
    assert [each.rule for each in found.prices] == [rule.name for rule in (LEAST, RULES["end"], MOST)]


def test_a_provider_with_automatic_prefix_caching_has_no_prices_by_breakpoint() -> None:
    assert breakpoint_prices(replay_session(open_session(SAMPLES / "benchmark-trial.json"), OLD_RESULTS)) is None
