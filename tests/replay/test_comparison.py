from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from inspector.replay.analysis.best_plan import compared, plans_to_compare, replays_of
from inspector.replay.engine.replay import replay
from inspector.session.model import BlockKind, Compaction, Role
from inspector.strategies.plan import Plan, PlanEntry
from inspector.strategies.registry import STRATEGIES, strategy_for
from tests.examples import examples
from tests.replay.synthetic import SessionBuilder, Told, orders_for, sessions
from tests.replay.test_ledger import inputs_of
from tests.replay.test_prompt_layout import order_by_call, sent_prompts


@settings(max_examples=examples(100), deadline=None)
@given(st.data())
def test_a_plan_fires_first_where_a_prompt_is_first_another_than_without_it(data):
    session = data.draw(sessions())
    orders = order_by_call(data.draw(orders_for(session)))
    inputs = inputs_of(session)
    found = compared(replay(inputs, Plan()), replay(inputs, Plan((PlanEntry(Told(orders)),))))

    plain, planned = sent_prompts(session, []), sent_prompts(session, [orders])
    differs = [call for call, (before, after) in enumerate(zip(plain, planned, strict=True)) if before != after]

    assert found.first_firing == (differs[0] if differs else None)


def test_what_the_agent_cleared_itself_is_no_firing_of_the_plan():
    builder = SessionBuilder()
    builder.add(Role.USER, builder.block(BlockKind.USER_TEXT, "task"))
    for turn in range(4):
        call = builder.block(BlockKind.TOOL_CALL, "{}", "Read", f"c{turn}")
        builder.respond(call)
        builder.add(Role.USER, builder.block(BlockKind.TOOL_RESULT, "r" * 50, "Read", f"c{turn}"))
    cleared = Compaction(len(builder.messages), "auto", cleared_tool_call_ids=("c0",))
    builder.respond(builder.block(BlockKind.ASSISTANT_TEXT, "done"))
    inputs = inputs_of(replace(builder.session(), compactions=(cleared,)))
    nothing = replay(inputs, Plan())

    assert compared(nothing, nothing).first_firing is None
    assert compared(nothing, replay(inputs, Plan.from_specs(["keep-recent:keep=1000"]))).first_firing is None


@settings(max_examples=examples(10), deadline=None)
@given(sessions())
def test_every_strategy_is_compared_as_a_plan_of_its_own_that_fits_the_session(session):
    plans = plans_to_compare(session)
    inputs = inputs_of(session)

    alone, presets = plans[: len(STRATEGIES)], plans[len(STRATEGIES) :]
    assert [plan.name for plan in alone] == list(STRATEGIES)
    assert [plan.strategies for plan in alone] == [(strategy_for(name, session),) for name in STRATEGIES]
    assert {"careful", "aggressive", "micro-x"} <= {plan.name for plan in presets}
    assert len({plan.strategies for plan in plans}) == len(plans)
    baseline = replay(inputs, Plan())
    for found in (compared(baseline, planned) for planned in replays_of(inputs, plans)):
        assert found.savings.tokens.value == baseline.figures.prompt_tokens.value - found.figures.prompt_tokens.value
