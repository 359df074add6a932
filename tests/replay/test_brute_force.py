"""Replays against sending every prompt again, token by token, under every strategy and for every prompt cache."""

import dataclasses

import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st
from msgspec import structs

from inspector.replay.cache.agent_breakpoints import RULES
from inspector.replay.cache.cache_models import CACHE_MODELS, CacheColumns, CacheModel, cache_model_for
from inspector.replay.engine.inputs import ReplayInputs
from inspector.replay.engine.replay import replay
from inspector.replay.figure import HowKnown
from inspector.replay.pricing.prices import Pricing
from inspector.session.model import BlockKind, Call, Role, Usage
from inspector.strategies.history.history import History
from inspector.strategies.plan import Plan, PlanEntry
from tests.examples import examples
from tests.replay.cache_by_hand import Served, common_prefix
from tests.replay.requests_by_hand import AGENTS, served_with_breakpoints
from tests.replay.resending import AROUND_BLOCK, Resent, served_anew, served_with_misses
from tests.replay.synthetic import COUNTED_BY_CHARACTERS, CharacterTable, SessionBuilder, agent_sessions
from tests.strategies.test_every_strategy import EAGER, for_every

PRICING = Pricing()


def inputs_of(session, cache: str | None = None) -> ReplayInputs:
    inputs = ReplayInputs.of(History.of(session), CharacterTable(session), pricing=PRICING, cache=cache)
    assert set(inputs.sizes.ratio.tolist()) == {1.0}
    assert set(inputs.layout.envelopes.tolist()) <= {AROUND_BLOCK}
    return inputs


def check_prompts(outcome, resent: Resent) -> None:
    session, ledger = outcome.history.session, outcome.ledger
    for call, prompt in enumerate(resent.prompts):
        assert outcome.history.prompt(call).tolist() == [sent.block for sent in prompt]
        for sent in prompt:
            rendition = outcome.rendition(sent.block, call)
            assert (call, rendition.text(session.text(session.blocks[sent.block]))) == (call, sent.text)
            assert rendition.action is sent.rendition.action
    for call in range(len(ledger.cost)):
        prompt, previous = resent.prompts[call], resent.previous[call]
        assert (call, int(ledger.prompt_tokens[call])) == (call, sum(sent.tokens for sent in prompt))
        before = resent.prompts[previous] if previous >= 0 else []
        shared = 0
        while shared < min(len(before), len(prompt)) and before[shared].block == prompt[shared].block:
            shared += 1
        changed = next((sent.block for at, sent in enumerate(prompt[:shared]) if not sent.is_sent_like(before[at])), -1)
        assert (call, int(ledger.first_changed[call])) == (call, changed)


def check_usage(ledger, served: list[Served], within: int = 0) -> None:
    columns = (ledger.uncached, ledger.cache_read, ledger.cache_write_5m, ledger.cache_write_1h)
    for call, expected in enumerate(served):
        found = tuple(int(column[call]) for column in columns)
        assert (call, sum(found)) == (call, sum(expected))
        near = all(abs(mine - other) <= within for mine, other in zip(found, expected, strict=True))
        assert near, (call, found, expected)


@given(agent_sessions(), st.sampled_from(sorted(CACHE_MODELS)))
@settings(max_examples=examples(12), deadline=None)
@for_every(EAGER)
def test_a_simulated_replay_equals_sending_every_prompt(strategy, session, cache: str):
    outcome = replay(inputs_of(session, cache), Plan((PlanEntry(strategy),)))
    resent = Resent(session, [strategy])

    check_prompts(outcome, resent)
    model = cache_model_for(COUNTED_BY_CHARACTERS, named=cache)
    if not model.uses_breakpoints:
        check_usage(outcome.ledger, served_anew(resent, model))


SHORT_PREFIXES = dataclasses.replace(CACHE_MODELS["anthropic"], minimum_prefix=1)
"""Short enough for the prompts of a test."""


@pytest.mark.parametrize("agent", AGENTS)
@given(agent_sessions(cleared=False), st.sampled_from(EAGER))
@settings(max_examples=examples(40), deadline=None)
def test_a_replay_reads_what_requests_with_the_breakpoints_of_an_agent_would(agent: str, session, strategy):
    inputs = inputs_of(session, "anthropic").with_rule(RULES[agent])
    models = dict.fromkeys(inputs.cache_models, SHORT_PREFIXES)
    columns = CacheColumns.of([SHORT_PREFIXES for _ in session.calls])
    inputs = dataclasses.replace(inputs, cache_models=models, caches=columns)

    outcome = replay(inputs, Plan((PlanEntry(strategy),)))

    served = served_with_breakpoints(Resent(session, [strategy]), agent, SHORT_PREFIXES)
    if outcome.edits.removes_blocks:
        # A compaction may keep what the plan had left: counted conservatively.
        assert all(int(outcome.ledger.cache_read[call]) <= each.read for call, each in enumerate(served))
    else:
        check_usage(outcome.ledger, served)


@given(agent_sessions(), st.sampled_from(EAGER), st.integers(1, 6))
@settings(max_examples=examples(60), deadline=None)
def test_a_cache_that_looks_back_a_few_positions_finds_nothing_further_back(session, strategy, lookback: int):
    """With so few positions that the small sessions of a test reach them."""
    near = dataclasses.replace(CACHE_MODELS["anthropic-20"], minimum_prefix=1, lookback=lookback)
    inputs = inputs_of(session, "anthropic-20")
    models = dict.fromkeys(inputs.cache_models, near)
    inputs = dataclasses.replace(inputs, cache_models=models, caches=CacheColumns.of([near for _ in session.calls]))

    outcome = replay(inputs, Plan((PlanEntry(strategy),)))

    check_usage(outcome.ledger, served_anew(Resent(session, [strategy]), near))


@given(agent_sessions(), st.lists(st.sampled_from(EAGER), min_size=2, max_size=3))
@settings(max_examples=examples(60), deadline=None)
def test_strategies_in_a_row_equal_sending_every_prompt(session, strategies):
    outcome = replay(inputs_of(session, "openai"), Plan(tuple(PlanEntry(strategy) for strategy in strategies)))

    check_prompts(outcome, Resent(session, strategies))


def test_what_a_compaction_took_away_is_part_of_no_later_prompt_whatever_is_decided_about_it():
    """Results go stale with the first call after the compaction: cut, with a marker longer than they are."""
    builder = SessionBuilder()
    builder.add(Role.USER, builder.block(BlockKind.USER_TEXT, "task"))
    for turn in range(2):
        identifiers = [f"c{turn}.{at}" for at in range(3)]
        builder.respond(
            *(builder.block(BlockKind.TOOL_CALL, '{"path": "a.py"}', "Read", each) for each in identifiers),
            model=COUNTED_BY_CHARACTERS,
        )
        builder.add(
            Role.USER,
            *(builder.block(BlockKind.TOOL_RESULT, f"{each}:line 1\n", "Read", each) for each in identifiers),
        )
    for turn in (2, 3):
        builder.respond(builder.block(BlockKind.ASSISTANT_TEXT, f"turn {turn}"), model=COUNTED_BY_CHARACTERS)
        if turn == 2:
            builder.compact(0)
            builder.add(Role.USER, builder.block(BlockKind.USER_TEXT, "summary 2"))
        builder.add(Role.USER, builder.block(BlockKind.USER_TEXT, f"question {turn}"))
    session = builder.session()
    cutting = next(each for each in EAGER if each.name == "tiered-stale" and each.data < 10)
    measuring = next(each for each in EAGER if each.name == "gemini-compress" and each.window == 100)
    strategies = [cutting, measuring]

    outcome = replay(inputs_of(session, "openai"), Plan(tuple(PlanEntry(strategy) for strategy in strategies)))

    check_prompts(outcome, Resent(session, strategies))


UNCACHED = 3
"""At most so many tokens at the end of a prompt are sent uncached, as providers report a few."""

REPORTING = CacheModel("reporting", "for tests", minimum_prefix=1, lifetime=1e9, writes=True)


@given(agent_sessions(cleared=False), st.data())
@settings(max_examples=examples(12), deadline=None)
def test_a_replay_of_reported_usage_equals_sending_every_prompt_to_a_cache_that_misses_alike(session, data):
    recorded = Resent(session, [])
    calls = session.calls
    misses = [data.draw(st.one_of(st.none(), st.integers(0, len(recorded.prompts[at])))) for at in range(len(calls))]
    misses = [miss if is_clear_miss(recorded, at, miss) else None for at, miss in enumerate(misses)]
    uncached = [data.draw(st.integers(0, UNCACHED)) for _ in calls]
    reported = served_with_misses(recorded, REPORTING, misses, uncached)
    session = dataclasses.replace(session, calls=tuple(map(with_usage, calls, reported)))
    caches = CacheColumns.of([REPORTING for _ in calls])
    inputs = dataclasses.replace(inputs_of(session), caches=caches)

    check_usage(replay(inputs, Plan()).ledger, reported)
    for strategy in EAGER:
        note(strategy)
        planned = Resent(session, [strategy])
        outcome = replay(inputs, Plan((PlanEntry(strategy),)))
        check_prompts(outcome, planned)
        # Nothing is left over where the cache held all of the prompt.
        expected = served_with_misses(planned, REPORTING, misses, [served.uncached for served in reported])
        # A read that was held to fewer blocks ends within the few tokens the call before left uncached.
        check_usage(outcome.ledger, expected, within=UNCACHED)


def with_usage(call: Call, served) -> Call:
    usage = Usage(served.uncached, served.read, served.write_5m, served.write_1h, output=1)
    return Call(call.response, call.context, call.prompt_messages, call.model, call.time, usage)


def is_clear_miss(recorded: Resent, call: int, miss: int | None) -> bool:
    previous = recorded.previous[call]
    if miss is None or previous < 0:
        return False
    held = common_prefix(recorded.tokens(previous), recorded.tokens(call))
    return sum(sent.tokens for sent in recorded.prompts[call][:miss]) < held - max(held // 100, 64) - UNCACHED


@given(agent_sessions(cleared=False), st.sampled_from(sorted(CACHE_MODELS)), st.sampled_from(EAGER))
@settings(max_examples=examples(30), deadline=None)
def test_a_cache_that_is_named_serves_prompts_whatever_was_reported(session, cache: str, strategy):
    none: list[int | None] = [None for _ in session.calls]
    reported = served_with_misses(Resent(session, []), REPORTING, none, [0 for _ in session.calls])
    session = dataclasses.replace(session, calls=tuple(map(with_usage, session.calls, reported)))

    outcome = replay(inputs_of(session, cache), Plan((PlanEntry(strategy),)))

    model = cache_model_for(COUNTED_BY_CHARACTERS, named=cache)
    check_usage(outcome.ledger, served_anew(Resent(session, [strategy]), model))
    assert outcome.figures.cost_usd.known is HowKnown.PROJECTED
    assert outcome.figures.prompt_tokens.known in (HowKnown.ESTIMATED, HowKnown.EXACT)


def call_of_same_model(session, previous: int, call: int) -> int:
    """The call whose cache entry a call can read: each model has its own cache."""
    now = session.calls[call]
    if previous < 0 or session.calls[previous].model == now.model:
        return previous
    own = [
        number
        for number, each in enumerate(session.calls[:call])
        if each.model == now.model and each.context == now.context
    ]
    return own[-1] if own and session.calls[previous].context == now.context else previous


@given(agent_sessions(), st.sampled_from(EAGER), st.lists(st.booleans(), min_size=9, max_size=9))
@settings(max_examples=examples(120), deadline=None)
def test_models_that_take_turns_have_a_cache_each(session, strategy, others: list[bool]):
    names = (COUNTED_BY_CHARACTERS, "gpt-4o-mini")
    calls = [structs.replace(call, model=names[others[at % 9]]) for at, call in enumerate(session.calls)]
    session = dataclasses.replace(session, calls=calls)
    resent = Resent(session, [strategy])

    outcome = replay(inputs_of(session, "openai"), Plan((PlanEntry(strategy),)))

    resent.previous[: len(calls)] = [
        call_of_same_model(session, before, call) for call, before in enumerate(resent.previous[: len(calls)])
    ]
    check_prompts(outcome, resent)
    check_usage(outcome.ledger, served_anew(resent, cache_model_for(COUNTED_BY_CHARACTERS, named="openai")))
