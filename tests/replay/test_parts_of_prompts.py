"""The parts of a prompt add up to it, none is negative, and a plan cuts no more of one than there is."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inspector.replay.analysis.breakdown import Breakdown, resend_cost
from inspector.replay.analysis.context_blocks import (
    AROUND_TEXTS,
    SYSTEM_AND_TOOLS,
    context_at,
    prompt_at,
    shown_state,
    system_by_call,
    system_tokens,
)
from inspector.replay.analysis.context_breakdown import Grouping, Scope, context_breakdown
from inspector.replay.engine.replay import replay
from inspector.replay.explain.explanation import overhead_explanation, row_explanation
from inspector.replay.sessions import replay_session
from inspector.session.model import BlockKind, Role, Usage
from inspector.session.open import open_session
from inspector.strategies.core.operations import Action, ReplaceText
from inspector.strategies.core.strategy import Decision
from inspector.strategies.plan import Plan, PlanEntry
from tests.conftest import ROOT
from tests.examples import examples
from tests.replay.synthetic import SessionBuilder, Told
from tests.replay.test_ledger import inputs_of

PLANS = (["anthropic-clear-thinking:keep=1,turn=response"], ["clear-old"], ["keep-recent:keep=2"])


@st.composite
def thinking_sessions(draw):
    builder = SessionBuilder()
    builder.add(Role.USER, builder.block(BlockKind.USER_TEXT, "task"))
    unseen = draw(st.sampled_from([0, 50, 5_000]))
    shown = 4
    for turn in range(draw(st.integers(1, 24))):
        signed = draw(st.booleans())
        said = "t" * draw(st.sampled_from([0, 40]))
        thinking = builder.block(
            BlockKind.THINKING, said, signature_characters=draw(st.integers(1, 900)) if signed else 0
        )
        answer = builder.block(BlockKind.ASSISTANT_TEXT, f"turn {turn}" + "x" * draw(st.integers(0, 40)))
        output = draw(st.sampled_from([1, 30, 300]))
        prompt = round((unseen + shown) * draw(st.sampled_from([0.4, 1.0, 1.0, 1.0, 1.6])))
        model = "claude-opus-4-8" if turn < draw(st.sampled_from([0, 12, 24])) else "claude-opus-4-6"
        builder.respond(thinking, answer, usage=Usage(uncached=prompt, output=output), model=model, time=1_000.0 + turn)
        asked = f"question {turn}" + "y" * draw(st.integers(0, 300))
        builder.add(Role.USER, builder.block(BlockKind.USER_TEXT, asked))
        shown += answer.characters + output + len(asked)
    return builder.session()


@settings(max_examples=examples(60), deadline=None)
@given(thinking_sessions(), st.sampled_from(PLANS))
def test_parts_of_every_prompt_add_up_and_none_is_negative(session, specs):
    inputs = inputs_of(session)
    baseline, planned = replay(inputs, Plan()), replay(inputs, Plan.from_specs(specs))
    system = system_by_call(inputs)
    for call in range(len(session.calls) + 1):
        before, after = (context_at(each, each.state(call)) for each in (baseline, planned))
        assert [prompt_at(each, call) for each in (baseline, planned)] == [before.prompt, after.prompt]
        for context in (before, after):
            assert context.sent.sum() + context.rest == pytest.approx(context.prompt.value)
            assert context.sent.min(initial=0) >= -1e-9
            # A prompt is whole tokens, and so is the part that is cut.
            assert context.rest - context.system >= -1.5
        assert before.system == pytest.approx(system[call])
        assert 0 <= before.system <= before.prompt.value
        assert after.system == pytest.approx(before.system, abs=1)
        assert np.all(after.recorded == pytest.approx(before.recorded))


@pytest.mark.parametrize("spec", [None, "tiered-stale", "keep-recent:keep=2", "clear-old", "prune-old", "token-budget"])
@pytest.mark.parametrize("name", ["coding-agent.jsonl", "terminal-agent.jsonl", "trading-desk.json"])
def test_prompts_are_as_large_as_their_blocks_say_without_looking_at_them(name, spec):
    inputs = inputs_of(open_session(ROOT / "sample_sessions" / name))
    found = replay(inputs, Plan() if spec is None else Plan.from_specs([spec]))
    for call in range(found.history.call_count + 1):
        assert prompt_at(found, call) == context_at(found, found.state(call)).prompt


@settings(max_examples=examples(30), deadline=None)
@given(thinking_sessions(), st.sampled_from(PLANS))
def test_what_parts_and_tiers_cut_and_save_adds_up_to_what_the_plan_does(session, specs):
    inputs = inputs_of(session)
    baseline, planned = replay(inputs, Plan()), replay(inputs, Plan.from_specs(specs))
    breakdown = Breakdown(baseline, planned)
    rows = {(row.kind, row.tool): row for row in breakdown.by_kind()}
    assert sum(row.cut_tokens for row in rows.values()) == planned.ledger.removed_tokens.sum()
    if planned.figures.cost_usd.value is not None:
        saved = baseline.figures.cost_usd.value - planned.figures.cost_usd.value
        assert sum(row.saved_usd for row in rows.values()) == pytest.approx(saved)
    whole = {(row.kind, row.tool): row.sent_tokens for row in Breakdown(baseline, baseline).by_kind()}
    for key, row in rows.items():
        assert row.cut_tokens + len(session.calls) * 2 >= 0
        assert row.cut_tokens <= whole.get(key, 0) + len(session.calls) * 2
        assert row.carried_tokens >= -len(rows)


@st.composite
def small_reports(draw):
    """Sessions whose reported prompts and responses can be smaller than their texts, with cache reads in them."""
    builder = SessionBuilder()
    builder.add(Role.USER, builder.block(BlockKind.USER_TEXT, "t" * draw(st.integers(1, 400))))
    unseen, per_message = draw(st.sampled_from([0, 30, 5_000])), draw(st.sampled_from([-8, 0, 8]))
    ratio, previous = draw(st.sampled_from([0.6, 1.0, 1.5])), 0
    for turn in range(draw(st.integers(2, 24))):
        shown = sum(block.characters for at in builder.members for block in builder.messages[at].blocks)
        estimate = unseen + ratio * shown + per_message * len(builder.members)
        prompt = max(round(estimate * draw(st.sampled_from([0.2, 0.9, 1.0, 1.0]))), 1)
        read = min(round(previous * draw(st.sampled_from([0, 0.5, 1, 1]))), prompt)
        answer = builder.block(BlockKind.ASSISTANT_TEXT, f"turn {turn}" + "x" * draw(st.integers(0, 400)))
        output = max(round(answer.characters * draw(st.sampled_from([0.3, 1.0, 5.0]))), 1)
        usage = Usage(cache_write_5m=prompt - read, cache_read=read, output=output)
        builder.respond(answer, usage=usage, model="claude-opus-4-8", time=1_000.0 + 60 * turn)
        builder.add(Role.USER, builder.block(BlockKind.USER_TEXT, f"{turn}" + "y" * draw(st.integers(0, 200))))
        previous = prompt
    return builder.session()


@settings(max_examples=examples(150), deadline=None)
@given(small_reports())
def test_no_part_of_all_prompts_is_below_zero_where_reports_are_smaller_than_the_texts(session):
    baseline = replay(inputs_of(session), Plan())
    resend, state = resend_cost(baseline), baseline.state(len(session.calls))
    prompts = int(baseline.ledger.prompt_tokens.sum())
    for scope in Scope:
        parts = context_breakdown(baseline, state, resend, Grouping.ROLE, scope).parts
        assert min(min(part.tokens, part.token_calls, part.cost * 1e6) for part in parts) >= -0.001
        assert sum(part.token_calls for part in parts) == pytest.approx(prompts)
    rows = Breakdown(baseline, baseline).by_kind()
    assert min(min(row.sent_tokens, row.carried_tokens, row.usd) for row in rows) >= -1e-9
    assert sum(row.usd for row in rows) == pytest.approx(float(baseline.ledger.cost.sum() - output_of(baseline)))


def output_of(replayed):
    rates, nothing = replayed.inputs.rates, np.zeros_like(replayed.ledger.output)
    return (rates.cost(replayed.ledger, replayed.ledger.output) - rates.cost(replayed.ledger, nothing)).sum()


def test_a_prompt_that_is_reported_smaller_than_its_texts_is_divided_by_their_lengths():
    builder = SessionBuilder()
    builder.add(Role.USER, builder.block(BlockKind.USER_TEXT, "u" * 600))
    builder.respond(
        builder.block(BlockKind.ASSISTANT_TEXT, "a" * 300), usage=Usage(uncached=600, output=300), model="gpt-5.4"
    )
    builder.add(Role.USER, builder.block(BlockKind.USER_TEXT, "v" * 100))
    # 1,000 characters in the file; half of them were billed.
    builder.respond(
        builder.block(BlockKind.ASSISTANT_TEXT, "b" * 10), usage=Usage(uncached=500, output=10), model="gpt-5.4"
    )
    rows = {row.kind: row for row in Breakdown(*[replay(inputs_of(builder.session()), Plan())] * 2).by_kind()}

    # Six tokens of framing are assumed per message: 606 counted tokens, then 1,018.
    assert rows["user text"].sent_tokens == round(600 * 600 / 606 + 700 * 500 / 1_018)
    assert rows["assistant text"].sent_tokens == round(300 * 500 / 1_018)
    assert rows[AROUND_TEXTS].sent_tokens == round(6 * 600 / 606 + 18 * 500 / 1_018)


def cleared_by_the_agent():
    builder = SessionBuilder()
    builder.add(Role.USER, builder.block(BlockKind.USER_TEXT, "task"))
    for turn in range(3):
        call = builder.block(BlockKind.TOOL_CALL, '{"command": "ls"}', "bash", f"c{turn}")
        builder.respond(call, usage=Usage(), model="gpt-5.4")
        builder.add(Role.USER, builder.block(BlockKind.TOOL_RESULT, f"{turn}" * 500, "bash", f"c{turn}"))
    builder.clear("c0", "c1")
    builder.respond(builder.block(BlockKind.ASSISTANT_TEXT, "done"), usage=Usage(), model="gpt-5.4")
    return builder.session()


def test_what_the_agent_cleared_is_not_cut_without_a_plan():
    inputs = inputs_of(cleared_by_the_agent())
    assert inputs.recorded_removed.tolist()[2:] == [0, *[2 * (500 - 33)] * 2]
    baseline, planned = (
        replay(inputs, Plan()),
        replay(inputs, Plan((PlanEntry(Told(((6, 3, Decision(ReplaceText(""), "old")),))),))),
    )

    def cut(replayed, call):
        found = context_breakdown(replayed, replayed.state(call), resend_cost(replayed), Grouping.ROLE)
        parts = {part.name: part for part in (*found.parts, found.everything)}
        return {name: round(part.recorded - part.tokens) for name, part in parts.items()}

    for call in range(5):
        assert set(cut(baseline, call).values()) == {0}
    # The plan clears the third result, and cuts nothing else.
    changed = cut(planned, 3)
    assert changed.pop("tool results") == changed.pop("this window") > 400
    assert set(changed.values()) == {0}


def test_the_system_prompt_is_that_of_the_model_that_is_called():
    builder = SessionBuilder()
    builder.add(Role.USER, builder.block(BlockKind.USER_TEXT, "task"))
    for turn in range(40):
        model, unseen = ("claude-opus-4-5", 9_000) if turn < 20 else ("claude-opus-4-6", 6_000)
        shown = sum(builder.messages[at].blocks[0].characters for at in builder.members)
        usage = Usage(uncached=unseen + shown, output=1)
        builder.respond(builder.block(BlockKind.ASSISTANT_TEXT, "a" * 10), usage=usage, model=model)
        builder.add(Role.USER, builder.block(BlockKind.USER_TEXT, "q" * (100 + 170 * (turn * 7 % 5))))
    inputs = inputs_of(builder.session())

    system = system_by_call(inputs)

    assert system[:20] == pytest.approx(9_000, rel=0.1)
    assert system[20:] == pytest.approx(6_000, rel=0.1)
    assert system_tokens(inputs) == system[-1]


def test_the_system_prompt_is_at_most_what_a_prompt_has_beyond_its_blocks():
    # Every token a character, two of the provider's; 1,000 more in every prompt but the last.
    builder = SessionBuilder()
    builder.add(Role.USER, builder.block(BlockKind.USER_TEXT, "t" * 100))
    for turn in range(13):
        shown = sum(builder.messages[at].blocks[0].characters for at in builder.members)
        builder.respond(builder.block(BlockKind.ASSISTANT_TEXT, "a" * 50), usage=Usage(uncached=1_000 + 2 * shown))
        builder.add(Role.USER, builder.block(BlockKind.USER_TEXT, "q" * (100 + 50 * (turn * 7 % 5))))
    builder.compact(keep=0)
    builder.add(Role.USER, builder.block(BlockKind.USER_TEXT, "s" * 20))
    builder.respond(builder.block(BlockKind.ASSISTANT_TEXT, "a" * 50), usage=Usage(uncached=900))
    baseline = replay(inputs_of(builder.session()), Plan())

    first, last = (context_at(baseline, baseline.state(call)) for call in (0, 13))
    assert (first.prompt.value, first.sent.sum(), first.system) == pytest.approx((1_200, 2 * 100, 1_000), abs=1)
    assert (last.prompt.value, last.sent.sum(), last.system) == pytest.approx((900, 2 * 20, 900 - 2 * 20), abs=1)
    fitted = dataclasses.replace(baseline.inputs.scale.calibration, call_overhead=np.full(15, 1_000.0))
    scale = dataclasses.replace(baseline.inputs.scale, calibration=fitted)
    assert system_by_call(dataclasses.replace(baseline.inputs, scale=scale))[13] == pytest.approx(860, abs=1)


@pytest.mark.parametrize("spec", [None, "tiered-stale", "keep-recent:keep=2"])
@pytest.mark.parametrize("name", ["coding-agent.jsonl", "terminal-agent.jsonl", "trading-desk.json"])
def test_rows_the_window_and_the_explanations_share_one_count_of_every_block_and_of_the_system_prompt(name, spec):
    baseline = replay_session(open_session(ROOT / "sample_sessions" / name), Plan())
    found = replay(baseline.inputs, Plan() if spec is None else Plan.from_specs([spec]))
    for call in range(found.history.call_count + 1):
        context, state = context_at(found, found.state(call)), shown_state(found, found.state(call))
        blocks = context.blocks
        assert np.abs(state.sent[blocks] - context.sent).max(initial=0) <= 0.5
        assert not np.delete(state.sent, blocks).any()
        is_whole = state.action[blocks] == Action.WHOLE
        assert (state.sent[blocks] == state.recorded[blocks])[is_whole].all()
        assert context.sent.sum() + context.rest == pytest.approx(context.prompt.value)
        assert 0 <= context.system <= context.rest + 1e-6
        assert overhead_explanation(found.inputs, call).value == pytest.approx(context.system)
    last = int(state.recorded[blocks].argmax()) if len(blocks) else 0
    block = int(blocks[last])
    # One model, and no prompt is too small for its blocks: a block has one count in all prompts and reports.
    assert state.recorded[block] == found.inputs.block_tokens[block]
    row = row_explanation(found, found.state(found.history.call_count), block)
    assert row.value == Breakdown(baseline, found).block(block).tokens == state.recorded[block]


def test_where_an_agent_left_out_blocks_the_system_prompt_keeps_its_room():
    builder = SessionBuilder()
    builder.add(Role.USER, builder.block(BlockKind.USER_TEXT, "task"))
    for turn in range(40):
        shown = sum(builder.messages[at].blocks[0].characters for at in builder.members)
        # From here on, 5,000 tokens fewer were sent than the file shows, without a record of it.
        left_out = 5_000 if turn >= 30 else 0
        usage = Usage(uncached=3_000 + shown - left_out, output=1)
        builder.respond(builder.block(BlockKind.ASSISTANT_TEXT, "a" * 10), usage=usage, model="claude-opus-4-5")
        builder.add(Role.USER, builder.block(BlockKind.USER_TEXT, "q" * (300 + 170 * (turn * 7 % 5))))
    inputs = inputs_of(builder.session())

    system = system_by_call(inputs)

    assert system[:30] == pytest.approx(3_000, rel=0.1)
    assert system[30:] == pytest.approx(3_000, rel=0.1)
    state = replay(inputs, Plan()).state(39)
    context = context_at(replay(inputs, Plan()), state)
    assert context.sent.sum() + context.rest == inputs.sizes.whole[39]


def test_no_plan_cuts_more_of_a_prompt_than_was_sent_where_the_file_shows_more_than_that():
    builder = SessionBuilder()
    builder.add(Role.USER, builder.block(BlockKind.USER_TEXT, "task"))
    for turn in range(20):
        # From the tenth call on, nine tenths of the recorded content was not sent, without a record of it.
        sent = 4 + 1_010 * turn
        usage = Usage(uncached=500 + (sent if turn < 10 else sent // 10), output=1)
        builder.respond(builder.block(BlockKind.ASSISTANT_TEXT, "a" * 10), usage=usage, model="claude-opus-4-6")
        builder.add(Role.USER, builder.block(BlockKind.USER_TEXT, "q" * 1_000))
    inputs = inputs_of(builder.session())
    planned = replay(inputs, Plan.from_specs(["keep-recent:keep=1"]))

    assert (planned.ledger.removed_tokens <= inputs.recorded.prompt).all()
    assert planned.ledger.prompt_tokens.min() > 0


@pytest.mark.parametrize("name", ["corpus/claude-code/e92f5a0b-*.jsonl", "sample_sessions/coding-agent.jsonl"])
def test_a_cleared_thinking_is_one_figure_in_tiers_parts_totals_and_window(request, name):
    place = request.getfixturevalue("shared") if name.startswith("corpus/") else ROOT
    path = next(place.glob(name), None)
    if path is None:
        pytest.skip("the session is not at hand")
    baseline = replay_session(open_session(path), Plan())
    planned = replay(baseline.inputs, Plan.from_specs(["anthropic-clear-thinking"]))
    rows = {row.kind: row for row in Breakdown(baseline, planned).by_kind() if not row.tool}
    (group,) = planned.groups
    (tier,) = Breakdown(baseline, planned).by_tier().values()

    assert tier.cut_tokens == rows["thinking"].cut_tokens
    # Thinking that the plan leaves alone is read from the cache, or not, as before, to a cent.
    assert tier.saved_usd == pytest.approx(rows["thinking"].saved_usd, abs=0.01)
    assert rows[SYSTEM_AND_TOOLS].carried_tokens == system_tokens(planned.inputs)
    state = planned.state(planned.history.call_count)
    for scope in Scope:
        found = context_breakdown(planned, state, resend_cost(planned), Grouping.ROLE, scope)
        parts = {part.name: part for part in found.parts}
        if scope is Scope.SESSION or len(planned.inputs.layout.contexts) == 1:
            assert parts["thinking"].cost == pytest.approx(rows["thinking"].usd)
        assert parts[AROUND_TEXTS].cost == pytest.approx(rows[AROUND_TEXTS].usd)
        assert sum(part.cost for part in found.parts) == pytest.approx(found.everything.cost)
    if len(planned.inputs.layout.contexts) == 1:
        # One context, so the final cut is a cut of the newest prompt.
        assert parts["thinking"].recorded - parts["thinking"].tokens == pytest.approx(group.tokens_cut, abs=1)


def test_thinking_counts_by_what_represents_it_in_prompts():
    builder = SessionBuilder()
    builder.add(Role.USER, builder.block(BlockKind.USER_TEXT, "task"))
    for turn in range(30):
        thinking = builder.block(BlockKind.THINKING, "", signature_characters=400 + 40 * (turn % 7))
        answer = builder.block(BlockKind.ASSISTANT_TEXT, "a" * 10)
        usage = Usage(uncached=7_000 + turn * 400, output=1)
        builder.respond(thinking, answer, usage=usage, model="claude-opus-4-6", time=1_000.0 + turn)
        builder.add(Role.USER, builder.block(BlockKind.USER_TEXT, "q" * 100))
    session = builder.session()
    inputs = inputs_of(dataclasses.replace(session))
    found = replay(inputs, Plan())
    context = context_at(found, found.state(len(session.calls)))
    is_thinking = found.history.kind[context.blocks] == BlockKind.THINKING

    measured = inputs.sizes.ratio[-1] * inputs.table.tokens + inputs.scale.uncounted
    assert context.sent[is_thinking] == pytest.approx(measured[context.blocks][is_thinking], abs=1)
