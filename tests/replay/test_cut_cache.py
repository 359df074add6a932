"""A replay with cached cuts returns the same results as one without a cache."""

from hypothesis import given, settings
from hypothesis import strategies as st

from inspector.replay.engine.inputs import ReplayInputs
from inspector.replay.engine.replay import replay
from inspector.replay.pricing.prices import Pricing
from inspector.strategies.history.history import History
from inspector.strategies.library.old_results import TieredStale
from inspector.strategies.plan import Plan, PlanEntry
from tests.examples import examples
from tests.replay.synthetic import CharacterTable, agent_sessions

PRICING = Pricing()

PLANS = st.builds(
    TieredStale,
    default=st.integers(0, 12),
    data=st.integers(0, 12),
    marker=st.sampled_from(["", "…", "[cut]"]),
    variant=st.sampled_from(["document", "shipped"]),
    lists=st.booleans(),
    never_longer=st.booleans(),
)


@settings(max_examples=examples(100), deadline=None)
@given(agent_sessions(), st.lists(PLANS, min_size=2, max_size=5))
def test_a_plan_replays_as_if_no_other_had_been_replayed_before_it(session, strategies):
    history, table = History.of(session), CharacterTable(session)
    inputs = ReplayInputs.of(history, table, pricing=PRICING)
    for strategy in strategies:
        plan = Plan((PlanEntry(strategy),))
        after_others = replay(inputs, plan)
        alone = replay(ReplayInputs.of(History.of(session), table, pricing=PRICING), plan)
        assert after_others.figures == alone.figures
        assert after_others.groups == alone.groups
        for column in ("block", "call", "tokens", "previous_tokens", "action"):
            assert getattr(after_others.edits, column).tolist() == getattr(alone.edits, column).tolist()
