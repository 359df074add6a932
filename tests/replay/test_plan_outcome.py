"""Cost of cache rewrites and the composition of prompts, compared with prompts sent one by one."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inspector.replay.analysis.breakdown import Breakdown
from inspector.replay.analysis.context_blocks import AROUND_TEXTS, SYSTEM_AND_TOOLS, UNRECORDED
from inspector.replay.analysis.plan_outcome import cache_rewrite_costs, plan_outcome
from inspector.replay.cache.cache_models import CacheColumns, CacheModel
from inspector.replay.engine.inputs import ReplayInputs
from inspector.replay.engine.replay import replay
from inspector.replay.figure import HowKnown
from inspector.replay.pricing.prices import Pricing
from inspector.session.model import BlockKind, Role
from inspector.strategies.core.operations import Action, CutText, ReplaceText
from inspector.strategies.core.strategy import Decision
from inspector.strategies.history.history import History
from inspector.strategies.plan import Plan, PlanEntry
from tests.examples import examples
from tests.replay.resending import AROUND_BLOCK, Resent
from tests.replay.synthetic import (
    COUNTED_BY_CHARACTERS,
    CharacterTable,
    SessionBuilder,
    Told,
    agent_sessions,
    orders_for,
)
from tests.strategies.test_every_strategy import EAGER

PRICING = Pricing()
CACHE = CacheModel("small", "for tests", minimum_prefix=1, lifetime=300.0, writes=True)


def inputs_of(session) -> ReplayInputs:
    inputs = ReplayInputs.of(History.of(session), CharacterTable(session), pricing=PRICING)
    return dataclasses.replace(inputs, caches=CacheColumns.of([CACHE for _ in session.calls]))


@given(agent_sessions(), st.sampled_from(EAGER))
@settings(max_examples=examples(60), deadline=None)
def test_a_break_resends_what_stood_behind_the_change_and_could_have_been_read(session, strategy):
    outcome = replay(inputs_of(session), Plan((PlanEntry(strategy),)))
    resent = Resent(session, [strategy])

    found = cache_rewrite_costs(outcome)

    for call, made in enumerate(session.calls):
        prompt, previous = resent.prompts[call], resent.previous[call]
        if previous < 0 or made.time - session.calls[previous].time > CACHE.lifetime:
            assert found.resent[call] == 0
            continue
        before = resent.prompts[previous]
        shared = 0
        while shared < min(len(before), len(prompt)) and before[shared].block == prompt[shared].block:
            shared += 1
        changed = next((at for at in range(shared) if prompt[at] != before[at]), shared)
        assert found.resent[call] == sum(sent.tokens for sent in prompt[changed:shared])


def test_a_break_costs_writing_less_reading_behind_the_last_entry_before_the_change():
    """The extra cost is (write rate - read rate) times the tokens behind that entry, the formula for breaks."""
    builder = SessionBuilder()
    builder.add(Role.USER, builder.block(BlockKind.USER_TEXT, "goal"))
    for turn in range(4):
        builder.respond(
            builder.block(BlockKind.TOOL_CALL, "{}", "Read", f"c{turn}"), model="claude-opus-4-8", time=30.0 * turn
        )
        builder.add(Role.USER, builder.block(BlockKind.TOOL_RESULT, f"{turn}" + "r" * 999, "Read", f"c{turn}"))
    inputs = inputs_of(builder.session())
    cut = Decision(CutText(limit=50, head=50, tail=0, marker="~"), "stale")
    baseline, planned = replay(inputs, Plan()), replay(inputs, Plan((PlanEntry(Told(((2, 3, cut),))),)))

    outcome = plan_outcome(baseline, planned)

    ratio, around = inputs.sizes.ratio[3], inputs.scale.uncounted[0]
    # The agent is unknown, so each request marks its last block. The entry before the result is that of the first
    # request, the goal alone: the call of the changed result is written again too.
    behind = ratio * (2 + 51 + 2 + 1000) + 4 * around
    assert outcome.cache.plan_breaks == 1
    assert outcome.cache.resent_tokens == pytest.approx(behind, abs=2)
    rates = PRICING.rates("claude-opus-4-8", 90.0)
    assert outcome.cache.rebuild_usd == pytest.approx(behind * rates.cache_write_5m / 1e6, rel=0.002)
    assert outcome.cache.break_usd == pytest.approx(behind * (rates.cache_write_5m - rates.cache_read) / 1e6, rel=0.002)
    assert outcome.break_even_call.value is None
    assert outcome.savings.usd.value < 0 < outcome.savings.tokens.value
    assert outcome.cache.figure("break_usd").known is HowKnown.ESTIMATED


@given(agent_sessions(), st.data())
@settings(max_examples=examples(40), deadline=None)
def test_rows_add_up_to_the_prompts_and_their_dollars(session, data):
    inputs = inputs_of(session)
    baseline = replay(inputs, Plan())
    planned = replay(inputs, Plan((PlanEntry(data.draw(st.sampled_from(EAGER))),)))
    tallies = Breakdown(baseline, planned)

    rows = tallies.by_kind()

    def total(column: str) -> float:
        return sum(getattr(row, column) for row in rows)

    assert rows[-1].kind == AROUND_TEXTS
    assert [row.kind for row in rows[:-1] if row.kind in UNRECORDED] in ([], [SYSTEM_AND_TOOLS])
    slack = len(rows)
    assert abs(total("sent_tokens") - planned.figures.prompt_tokens.value) <= slack
    assert abs(total("cut_tokens") - (baseline.ledger.prompt_tokens - planned.ledger.prompt_tokens).sum()) <= slack
    assert total("share") == pytest.approx(1)
    output = sum(inputs.output * inputs.rates.of_prompts(planned.ledger.prompt_tokens)[:, 4])
    spent = planned.figures.cost_usd.value - planned.ledger.strategy_cost.sum() - output
    assert total("usd") == pytest.approx(spent, rel=1e-6, abs=1e-9)
    saved = baseline.figures.cost_usd.value - planned.figures.cost_usd.value + planned.ledger.strategy_cost.sum()
    assert total("saved_usd") == pytest.approx(saved, rel=1e-6, abs=1e-9)


@given(agent_sessions(), st.sampled_from(EAGER))
@settings(max_examples=examples(40), deadline=None)
def test_a_tools_tokens_are_those_of_its_results_in_every_prompt(session, strategy):
    inputs = inputs_of(session)
    tallies = Breakdown(replay(inputs, Plan()), replay(inputs, Plan((PlanEntry(strategy),))))
    plain, resent = Resent(session, []), Resent(session, [strategy])

    def texts(prompts, tool: str) -> int:
        return sum(
            sent.tokens - AROUND_BLOCK
            for prompt in prompts
            for sent in prompt
            if sent.rendition.action is not Action.REMOVED
            and session.blocks[sent.block].kind is BlockKind.TOOL_RESULT
            and session.blocks[sent.block].tool_name == tool
        )

    for row in tallies.by_kind():
        if row.kind == BlockKind.TOOL_RESULT.label:
            sent = texts(resent.prompts[:-1], row.tool)
            assert row.sent_tokens == sent
            assert row.cut_tokens == texts(plain.prompts[:-1], row.tool) - sent
            assert row.carried_tokens == texts(resent.prompts[-1:], row.tool)


@given(agent_sessions(cleared=False), st.data())
@settings(max_examples=examples(40), deadline=None)
def test_tiers_hold_the_blocks_they_changed_and_what_that_cut(session, data):
    inputs = inputs_of(session)
    orders = data.draw(orders_for(session))
    baseline, planned = replay(inputs, Plan()), replay(inputs, Plan((PlanEntry(Told(orders)),)))

    tiers = Breakdown(baseline, planned).by_tier().values()

    state = planned.edits.in_force(inputs.history.call_count)
    touched = int((planned.edits.action[state] != Action.WHOLE).sum())
    assert sum(tier.blocks for tier in tiers) == touched
    assert {tier.kind for tier in tiers} <= {"told"}


def test_a_result_that_stays_is_paid_for_at_every_call():
    """Written once and read at every call after that: so many tokens times so many prompts."""
    builder = SessionBuilder()
    builder.add(Role.USER, builder.block(BlockKind.USER_TEXT, "goal"))
    for turn in range(6):
        builder.respond(
            builder.block(BlockKind.TOOL_CALL, "{}", "Read", f"c{turn}"), model=COUNTED_BY_CHARACTERS, time=30.0 * turn
        )
        text = "r" * 4000 if turn == 0 else "ok"
        builder.add(Role.USER, builder.block(BlockKind.TOOL_RESULT, f"{turn}{text}", "Read", f"c{turn}"))
    inputs = inputs_of(builder.session())
    baseline = replay(inputs, Plan())

    ((block, heaviest),) = Breakdown(baseline, baseline).heaviest(1).items()

    rates = PRICING.rates(COUNTED_BY_CHARACTERS, 0.0)
    assert (block, heaviest.tokens, heaviest.calls, heaviest.sent_tokens) == (2, 4001, 5, 5 * 4001)
    expected = 4001 * (rates.cache_write_5m + 4 * rates.cache_read) / 1e6
    assert heaviest.usd == pytest.approx(expected)


def test_without_a_cache_every_token_costs_what_plain_input_costs():
    builder = SessionBuilder()
    builder.add(Role.USER, builder.block(BlockKind.USER_TEXT, "goal"))
    for turn in range(4):
        call = builder.block(BlockKind.TOOL_CALL, "{}", "Read", f"c{turn}")
        builder.respond(call, model=COUNTED_BY_CHARACTERS, time=30.0 * turn)
        builder.add(Role.USER, builder.block(BlockKind.TOOL_RESULT, f"{turn}" + "r" * 99, "Read", f"c{turn}"))
    session = builder.session()
    inputs = ReplayInputs.of(History.of(session), CharacterTable(session), pricing=PRICING, cache="none")
    baseline = replay(inputs, Plan())

    rate = PRICING.rates(COUNTED_BY_CHARACTERS, 0.0).input / 1e6
    for row in Breakdown(baseline, baseline).by_kind():
        assert row.usd == pytest.approx(row.sent_tokens * rate)


def test_without_a_price_there_are_tokens_and_no_dollars():
    builder = SessionBuilder()
    builder.add(Role.USER, builder.block(BlockKind.USER_TEXT, "goal"))
    builder.respond(builder.block(BlockKind.TOOL_CALL, "{}", "Read", "c"), model="nobody-knows-it", time=1.0)
    builder.add(Role.USER, builder.block(BlockKind.TOOL_RESULT, "r" * 300, "Read", "c"))
    for turn in range(2):
        builder.respond(builder.block(BlockKind.ASSISTANT_TEXT, "done"), model="nobody-knows-it", time=2.0 + turn)
        builder.add(Role.USER, builder.block(BlockKind.USER_TEXT, "go on"))
    inputs = inputs_of(builder.session())
    gone = Decision(ReplaceText("-"), "for the test")
    baseline, planned = replay(inputs, Plan()), replay(inputs, Plan((PlanEntry(Told(((2, 2, gone),))),)))

    outcome = plan_outcome(baseline, planned)

    assert outcome.savings.tokens.value > 0
    assert [outcome.savings.usd.value, outcome.cache.rebuild_usd, outcome.cache.break_usd] == [None, None, None]
    assert outcome.break_even_call.value is None
    assert all(row.usd is None for row in Breakdown(baseline, planned).by_kind())
    assert np.isnan(planned.ledger.cost).all()
