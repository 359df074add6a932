"""Recorded compactions that a plan might have made needless, against sessions in which they never happened."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inspector.replay.analysis.compaction_forecast import compaction_forecasts, first_call_after, without_compaction
from inspector.replay.cache.cache_models import cache_model_for
from inspector.replay.engine.inputs import ReplayInputs
from inspector.replay.engine.replay import replay
from inspector.replay.figure import HowKnown
from inspector.replay.pricing.prices import Pricing
from inspector.session.model import BlockKind, ContextCause, Role
from inspector.session.open import open_session
from inspector.strategies.history.history import History
from inspector.strategies.plan import Plan, PlanEntry
from inspector.strategies.registry import strategy
from inspector.tokens.counter import load_counter
from inspector.tokens.token_table import count_session
from tests.examples import examples
from tests.replay.resending import Resent, served_anew
from tests.replay.synthetic import COUNTED_BY_CHARACTERS, CharacterTable, SessionBuilder

PRICING = Pricing()


def inputs_of(session) -> ReplayInputs:
    return ReplayInputs.of(History.of(session), CharacterTable(session), pricing=PRICING)


@st.composite
def compacted_sessions(draw):
    builder = SessionBuilder()
    builder.add(Role.USER, builder.block(BlockKind.USER_TEXT, "task"))
    for turn in range(draw(st.integers(2, 10))):
        call = builder.block(BlockKind.TOOL_CALL, "{}", "Read", f"c{turn}")
        builder.respond(call, model=COUNTED_BY_CHARACTERS, time=1000.0 + 20 * turn)
        text = f"{turn}:" + "r" * draw(st.integers(0, 900))
        builder.add(Role.USER, builder.block(BlockKind.TOOL_RESULT, text, "Read", f"c{turn}"))
        event = draw(st.integers(0, 5))
        if event <= 1:
            size = draw(st.one_of(st.none(), st.integers(1, 6000)))
            builder.compact(draw(st.integers(0, 2)), draw(st.sampled_from(["auto", "auto", "manual"])), size)
            summary = builder.block(BlockKind.USER_TEXT, f"summary {turn}")
            builder.add(Role.USER, summary, is_summary=True)
        elif event == 2:
            builder.rewind(draw(st.integers(1, len(builder.members))))
            builder.add(Role.USER, builder.block(BlockKind.USER_TEXT, f"again {turn}"))
    return builder.session()


def automatic(session) -> list[int]:
    return [at for at, compaction in enumerate(session.compactions) if compaction.trigger == "auto"]


@given(compacted_sessions())
@settings(max_examples=examples(150), deadline=None)
def test_without_a_compaction_a_prompt_holds_what_was_stated_since_the_context_before_it_began(session):
    for index in automatic(session):
        without = without_compaction(session, index)
        if without is None:
            assert first_call_after(session, index) is None
            continue
        history, recorded = History.of(without.session), History.of(session)
        first = without.calls[0]
        before = session.contexts[session.calls[first - 1].context].members
        for call in range(len(session.calls)):
            prompt = history.prompt_messages(call).tolist()
            if call not in without.calls:
                assert prompt == recorded.prompt_messages(call).tolist()
                continue
            response = session.calls[call].response
            said = [at for at in range(before[-1] + 1, response) if not session.messages[at].is_summary]
            assert prompt == [*before, *said]
        assert without.session.messages is session.messages


@given(compacted_sessions())
@settings(max_examples=examples(100), deadline=None)
def test_what_is_left_out_ends_before_a_rewind_and_a_compaction_that_was_asked_for(session):
    contexts = session.contexts
    asked = {first_call_after(session, at) for at, one in enumerate(session.compactions) if one.trigger == "manual"}
    begins = {session.calls[call].context for call in asked if call is not None}
    for index in automatic(session):
        without = without_compaction(session, index)
        if without is None:
            continue
        left_out = sorted({session.calls[call].context for call in without.calls})
        assert all(contexts[at].cause is ContextCause.COMPACTION and at not in begins for at in left_out)
        after = without.calls[-1] + 1
        assert without.until == (after if after < len(session.calls) else None)
        if without.until is not None:
            ended_by = contexts[session.calls[after].context]
            assert ended_by.cause is ContextCause.REWIND or session.calls[after].context in begins


@given(
    compacted_sessions(), st.sampled_from([None, strategy("tiered-stale", data=20), strategy("keep-recent", keep=2)])
)
@settings(max_examples=examples(120), deadline=None)
def test_a_forecast_equals_sending_the_session_without_the_compaction(session, made):
    plan = Plan() if made is None else Plan((PlanEntry(made),))
    strategies = [] if made is None else [made]
    planned = replay(inputs_of(session), plan)
    honoured = Resent(session, strategies)
    model = cache_model_for(COUNTED_BY_CHARACTERS)
    rates = PRICING.rates(COUNTED_BY_CHARACTERS)

    def dollars(served) -> float:
        return (served.uncached * rates.input + served.read * rates.cache_read) / 1e6

    found = dict(compaction_forecasts(planned))
    assert {at for at in found if not found[at].asked_for} == {
        at for at in automatic(session) if without_compaction(session, at) is not None
    }
    for index, forecast in found.items():
        if forecast.asked_for:
            assert session.compactions[index].trigger == "manual"
            assert not forecast.is_avoided
            continue
        without = without_compaction(session, index)
        alone = Resent(without.session, strategies)
        last = honoured.history.session.calls[forecast.call - 2]
        size = session.compactions[index].tokens_before or len(Resent(session, []).tokens(forecast.call - 2))
        assert forecast.trigger_tokens == size
        assert last.context != session.calls[forecast.call - 1].context
        reached = next((call for call in without.calls if len(alone.tokens(call)) >= size), None)
        assert forecast.reached_call == (None if reached is None else reached + 1)
        assert forecast.prompt_tokens == len(alone.tokens(forecast.call - 1))
        spared = [call for call in without.calls if reached is None or call < reached]
        saved = sum(len(honoured.tokens(call)) - len(alone.tokens(call)) for call in spared)
        assert forecast.saved_tokens == saved
        with_it, without_it = served_anew(honoured, model), served_anew(alone, model)
        expected = sum(dollars(with_it[call]) - dollars(without_it[call]) for call in spared)
        assert forecast.calls_usd == pytest.approx(expected, abs=1e-9)
        assert forecast.is_avoided == bool(spared)
        assert bool(forecast.requests_usd) == bool(spared)


AUTOMATIC = ["0cf3db51", "8ecab05f"]


@pytest.mark.parametrize("name", AUTOMATIC)
def test_without_a_plan_prompts_reach_the_recorded_trigger_where_the_agent_compacted(name: str, corpus: Path):
    """The calls after are predicted on the calibrated scale; the agent's own figure is met within two percent."""
    (path,) = (corpus / "claude-code").glob(f"{name}*.jsonl")
    session = open_session(path)
    *_, table = count_session(session, load_counter())
    planned = replay(ReplayInputs.of(History.of(session), table, pricing=PRICING), Plan())

    forecasts = {index: each for index, each in compaction_forecasts(planned) if not each.asked_for}

    assert len(forecasts) == sum(compaction.trigger == "auto" for compaction in session.compactions)
    for index, forecast in forecasts.items():
        reported = session.compactions[index].tokens_before
        assert forecast.trigger_tokens == reported
        assert forecast.known["trigger_tokens"] == HowKnown.EXACT
        assert forecast.prompt_tokens == pytest.approx(reported, rel=0.02)
        assert forecast.known["prompt_tokens"] == HowKnown.PROJECTED
        assert forecast.reached_call == forecast.call


def test_a_compaction_at_the_beginning_of_a_file_is_left_alone():
    builder = SessionBuilder()
    builder.contexts, builder.cause = [], ContextCause.COMPACTION
    builder.compactions = []
    builder.add(Role.USER, builder.block(BlockKind.USER_TEXT, "summary"), is_summary=True)
    builder.respond(builder.block(BlockKind.ASSISTANT_TEXT, "on"), model=COUNTED_BY_CHARACTERS, time=1.0)
    builder.compact(0)
    session = builder.session()

    assert list(compaction_forecasts(replay(inputs_of(session), Plan()))) == []
