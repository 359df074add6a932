from hypothesis import given, settings
from hypothesis import strategies as st

from inspector.replay.analysis.breakdown import resend_cost
from inspector.replay.engine.replay import replay
from inspector.strategies.plan import Plan, PlanEntry
from tests.examples import examples
from tests.replay.synthetic import Told, orders_for, sessions
from tests.replay.test_ledger import inputs_of
from tests.replay.test_prompt_layout import order_by_call, sent_prompts


@settings(max_examples=examples(100), deadline=None)
@given(st.data())
def test_what_blocks_carried_equals_going_through_every_prompt(data):
    session = data.draw(sessions())
    orders = order_by_call(data.draw(orders_for(session)))
    outcome = replay(inputs_of(session), Plan((PlanEntry(Told(orders)),)))
    ratio, ledger = outcome.inputs.sizes.ratio, outcome.ledger
    rates = outcome.inputs.rates.of_prompts(ledger.prompt_tokens)
    prompts = sent_prompts(session, [orders])[:-1]

    calls = [0] * len(session.blocks)
    tokens = [0.0] * len(session.blocks)
    cost = [0.0] * len(session.blocks)
    for call, prompt in enumerate(prompts):
        rate = rates[call % len(rates)]
        written = ledger.cache_write_5m[call] * rate[2] + ledger.cache_write_1h[call] * rate[3]
        plain = ledger.uncached[call] * rate[0]
        other = int(ledger.prompt_tokens[call] - ledger.cache_read[call])
        other_rate = (written + plain) / other if other else rate[0]
        for place, (block, text) in enumerate(prompt):
            calls[block] += 1
            size = ratio[call] * len(text or "")
            tokens[block] += size
            was_read = ledger.cache_read[call] > 0 and place < outcome.reusable_blocks[call]
            cost[block] += size * (rate[1] if was_read else other_rate)

    carried = resend_cost(outcome)

    assert carried.calls.tolist() == calls
    assert all(abs(found - expected) < 1e-6 for found, expected in zip(carried.tokens.tolist(), tokens, strict=True))
    assert all(abs(found - expected) < 1e-9 for found, expected in zip(carried.cost.tolist(), cost, strict=True))
