"""Cost of a plan, compared with prompts sent and compared one by one."""

import dataclasses

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from inspector.replay.cache.cache_models import CacheColumns, CacheModel
from inspector.replay.engine.inputs import ReplayInputs
from inspector.replay.engine.replay import replay
from inspector.replay.figure import HowKnown
from inspector.replay.pricing.prices import Pricing
from inspector.session.model import BlockKind, Call, Role, Usage
from inspector.strategies.history.history import History
from inspector.strategies.plan import Plan, PlanEntry
from tests.examples import examples
from tests.replay.synthetic import CharacterTable, SessionBuilder, Told, agent_sessions, orders_for, sessions
from tests.replay.test_prompt_layout import order_by_call, sent_prompts

PRICING = Pricing()
SMALL_CACHE = CacheModel("small", "for tests", minimum_prefix=1, lifetime=300.0, writes=True)


def inputs_of(session) -> ReplayInputs:
    inputs = ReplayInputs.of(History.of(session), CharacterTable(session), pricing=PRICING)
    return dataclasses.replace(inputs, caches=CacheColumns.of([SMALL_CACHE for _ in session.calls]))


usages = st.builds(
    Usage,
    uncached=st.integers(0, 50),
    cache_read=st.integers(0, 5000),
    cache_write_5m=st.integers(0, 500),
    cache_write_1h=st.integers(1, 500),
    output=st.integers(1, 300),
)


@settings(max_examples=examples(60), deadline=None)
@given(st.data())
def test_without_a_plan_the_ledger_is_what_the_provider_reported(data):
    # Also where the agent cleared results: the reported read shows where that broke the cache.
    session = data.draw(st.one_of(sessions(), agent_sessions()))
    calls = tuple(
        Call(c.response, c.context, c.prompt_messages, c.model, c.time, data.draw(usages)) for c in session.calls
    )
    session = dataclasses.replace(session, calls=calls)

    outcome = replay(inputs_of(session), Plan())

    reported = [call.usage for call in calls]
    assert outcome.ledger.prompt_tokens.tolist() == [usage.prompt for usage in reported]
    assert outcome.ledger.cache_read.tolist() == [usage.cache_read for usage in reported]
    assert outcome.ledger.cache_write_5m.tolist() == [usage.cache_write_5m for usage in reported]
    assert outcome.ledger.cache_write_1h.tolist() == [usage.cache_write_1h for usage in reported]
    assert outcome.ledger.uncached.tolist() == [usage.uncached for usage in reported]
    assert outcome.ledger.output.tolist() == [usage.output for usage in reported]
    if calls:
        assert outcome.figures.prompt_tokens.known is HowKnown.EXACT


@settings(max_examples=examples(100), deadline=None)
@given(st.data())
def test_without_reports_a_cache_without_breakpoints_reads_what_two_prompts_share(data):
    """Reads of a cache with breakpoints are compared with made requests in `test_brute_force`."""
    session = data.draw(sessions())
    orders = order_by_call(data.draw(orders_for(session)))
    inputs = inputs_of(session)
    inputs = dataclasses.replace(inputs, cache_models=dict.fromkeys(inputs.cache_models, SMALL_CACHE))
    assert inputs.breakpoints is None

    ledger = replay(inputs, Plan((PlanEntry(Told(orders)),))).ledger

    ratio, beside = inputs.sizes.ratio, inputs.scale.uncounted
    around = inputs.layout.uncounted_in_prompts
    overhead = inputs.sizes.whole - ratio * inputs.layout.whole_tokens - around
    prompts = sent_prompts(session, [orders])

    def size(prompt, call: int) -> float:
        return sum(ratio[call] * len(text) + beside[block] for block, text in prompt if text is not None)

    for call, prompt in enumerate(prompts[:-1]):
        removed = sum(text is None for _, text in prompt)
        # Tokens that go with a removed block are rounded to whole tokens of the local tokenizer.
        assert abs(ledger.prompt_tokens[call] - (overhead[call] + size(prompt, call))) <= 1 + removed
        before = int(inputs.previous_call[call])
        if before < 0:
            continue
        same = 0
        while same < min(len(prompts[before]), len(prompt)) and prompts[before][same] == prompt[same]:
            same += 1
        shared = overhead[call] + size(prompt[:same], call)
        gap = session.calls[call].time - session.calls[before].time
        expected = shared if gap <= SMALL_CACHE.lifetime else 0
        assert abs(ledger.cache_read[call] - expected) <= 1 + removed
    together = ledger.cache_read + ledger.cache_write_5m + ledger.cache_write_1h + ledger.uncached
    assert together.tolist() == ledger.prompt_tokens.tolist()


def test_a_cut_behind_a_recorded_miss_costs_nothing_extra():
    builder = SessionBuilder()
    builder.add(Role.USER, builder.block(BlockKind.USER_TEXT, "goal"))
    sizes = [100, 5000, 6000, 7000]
    for turn, size in enumerate(sizes):
        missed = turn == 2
        read = 0 if missed or not turn else sizes[turn - 1]
        usage = Usage(uncached=3, cache_read=read, cache_write_5m=size - read - 3, output=10)
        builder.respond(
            builder.block(BlockKind.TOOL_CALL, "{}", "Read", f"c{turn}"),
            usage=usage,
            model="claude-opus-4-6",
            time=turn * 30.0,
        )
        builder.add(Role.USER, builder.block(BlockKind.TOOL_RESULT, f"{turn}" + "r" * 900, "Read", f"c{turn}"))
    session = builder.session()
    inputs = inputs_of(session)

    cut_at_miss = replay(inputs, Plan((PlanEntry(Told(((2, 2, _cut()),))),)))
    cut_when_warm = replay(inputs, Plan((PlanEntry(Told(((2, 3, _cut()),))),)))
    baseline = replay(inputs, Plan())

    assert cut_at_miss.ledger.cache_read[2] == 0
    assert cut_at_miss.figures.cost_usd.value < baseline.figures.cost_usd.value
    assert cut_when_warm.ledger.cache_read[3] < baseline.ledger.cache_read[3]
    assert cut_when_warm.ledger.cost[3] > baseline.ledger.cost[3]
    assert cut_when_warm.figures.prompt_tokens.value < baseline.figures.prompt_tokens.value


def _cut():
    from inspector.strategies.core.operations import CutText
    from inspector.strategies.core.strategy import Decision

    return Decision(CutText(limit=50, head=50, tail=0, marker="~"), "stale")


@settings(max_examples=examples(60), deadline=None)
@given(st.data())
def test_a_state_adds_up_to_the_prompt_of_its_call(data):
    session = data.draw(sessions())
    orders = order_by_call(data.draw(orders_for(session)))
    outcome = replay(inputs_of(session), Plan((PlanEntry(Told(orders)),)))
    prompts = sent_prompts(session, [orders])

    for call, prompt in enumerate(prompts):
        state = outcome.state(call)
        assert np.flatnonzero(state.in_prompt).tolist() == sorted(block for block, _ in prompt)
        for block, text in prompt:
            assert state.sent[block] == len(text or "")
            if text is not None:
                assert outcome.text(block, call) == text
