"""Cost of a session with another model from a given call on, and the models to choose from."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inspector.replay.analysis.alternatives import ModelSwitch, main_calls, model_switch, other_models
from inspector.replay.analysis.cache_misses import cache_misses
from inspector.replay.cache.cache_models import CACHE_MODELS, PAUSES, cache_model_for
from inspector.replay.figure import HowKnown
from inspector.replay.pricing.prices import Pricing
from inspector.replay.sessions import replay_session
from inspector.session.model import Session
from inspector.session.open import open_session
from inspector.strategies.plan import Plan
from tests.conftest import ROOT
from tests.examples import examples
from tests.replay.test_cache_misses import GPT, OPUS, READS_ALL, SONNET, STEP, Call, Script, misses_of, replayed

HAIKU = "claude-haiku-4-5"
LIFETIMES = {OPUS: 300.0, SONNET: 300.0, GPT: CACHE_MODELS["openai"].lifetime}


def switched(session: Session, call: int, model: str) -> ModelSwitch:
    found = model_switch(misses_of(session), call, model)
    assert found is not None
    return found


def test_a_switch_of_models_writes_the_prompt_again_and_pays_the_others_prices_from_there_on() -> None:
    session = Script().play(*READS_ALL, Call(20_000, 90.0))
    found = switched(session, 1, SONNET)
    rates = Pricing().rates(SONNET, 60.0)
    assert rates is not None

    first = 20_000 * rates.cache_write_5m + 10 * rates.output
    second = 20_000 * rates.cache_read + 10_000 * rates.cache_write_5m + 10 * rates.output
    assert found.usd == pytest.approx((first + second) / 1e6)
    assert (found.calls, found.recache_tokens) == (2, STEP)
    assert found.recache_usd == pytest.approx(STEP * (rates.cache_write_5m - rates.cache_read) / 1e6)
    assert found.recorded_usd == pytest.approx(float(replayed(session).ledger.cost[1:].sum()))
    assert {found.known[name] for name in ("usd", "saved_usd", "recache_usd")} == {HowKnown.PROJECTED}


def test_what_costs_more_saves_less_than_nothing_and_never_pays() -> None:
    found = switched(Script().play(*READS_ALL), 1, "claude-opus-4-1")

    assert found.saved_usd is not None
    assert found.saved_usd < 0
    assert found.pays_after is None


def test_the_first_calls_after_a_switch_pay_for_the_cache_that_is_lost() -> None:
    calls = [Call(number * STEP, 20.0 * number) for number in range(14)]
    found = switched(Script().play(*calls), 8, HAIKU)
    saved = [switched(Script().play(*calls[: 9 + more]), 8, HAIKU).saved_usd or 0.0 for more in range(5)]

    assert saved[0] < 0 < saved[-1]
    assert found.pays_after == next(at for at, each in enumerate(saved, 1) if each >= 0)


def test_prompts_that_do_not_fit_the_other_models_window_are_counted() -> None:
    calls = [Call(number * STEP, 20.0 * number) for number in range(22)]
    session = Script().play(*calls)
    found = switched(session, 0, HAIKU)

    assert found.window == 200_000
    assert found.beyond_window == int((replayed(session).ledger.prompt_tokens > 200_000).sum()) > 0


def test_there_is_no_switch_without_a_price_or_at_a_call_that_is_not_there() -> None:
    found = misses_of(Script().play(*READS_ALL))

    assert model_switch(found, 1, "a model nobody sells") is None
    assert model_switch(found, 7, SONNET) is None


def test_where_nothing_was_cached_the_other_model_reads_what_the_call_before_sent() -> None:
    session = Script().play(*(Call(0, 20.0 * number, GPT) for number in range(3)))
    rates = Pricing().rates(OPUS, 0.0)
    assert rates is not None

    found = switched(session, 0, OPUS)

    # Of ten thousand reads of Anthropic's caches after so short a pause 9,950 succeed.
    read = round(0.995 * 10_000) + round(0.995 * 20_000)
    written = 60_000 - read
    whole = read * rates.cache_read + written * rates.cache_write_5m + 30 * rates.output
    assert found.usd == pytest.approx(whole / 1e6)


def by_hand(session: Session, at: int, model: str) -> float:
    total = 0.0
    rates = Pricing().rates(model, session.calls[0].time)
    odds = replayed(session).inputs.odds_of(cache_model_for(model, rates=rates))
    assert odds is not None
    hours = any(call.usage is not None and call.usage.cache_write_1h for call in session.calls[at:])
    for number in range(at, len(session.calls)):
        call, before = session.calls[number], session.calls[number - 1] if number else None
        usage = call.usage
        assert usage is not None
        read = usage.cache_read
        if before is not None and before.usage is not None:
            held = min(before.usage.prompt, usage.prompt)
            kept = 3600.0 if before.usage.cache_write_1h else LIFETIMES[before.model]
            in_time = (call.time or 0.0) - (before.time or 0.0) <= kept
            if before.model != call.model and in_time and held - read >= max(2_000, 0.05 * held):
                pause = (call.time or 0.0) - (before.time or 0.0)
                read = max(read, round(odds.chances[sum(pause > end for end in PAUSES)] * held))
        if number == at and call.model == model:
            read = usage.cache_read
        elif number == at and (before is None or before.model != model):
            read = 0
        rates = Pricing().rates(model, call.time)
        assert rates is not None
        row = rates.at(usage.prompt)
        is_written = usage.cache_write_5m + usage.cache_write_1h > 0
        for_hour = usage.cache_write_1h > 0 if is_written else hours
        price = row.input if model == GPT else row.cache_write_1h if for_hour else row.cache_write_5m
        total += (usage.prompt - read) * price + read * row.cache_read + usage.output * row.output
    return total / 1e6


@settings(max_examples=examples(80), deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from([0.0, 0.5, 0.97, 1.0]),
            st.sampled_from([10.0, 200.0, 400.0, 4_000.0]),
            st.sampled_from([OPUS, OPUS, SONNET, GPT]),
            st.booleans(),
        ),
        min_size=1,
        max_size=10,
    ),
    st.integers(0, 9),
    st.sampled_from([OPUS, SONNET, GPT]),
)
def test_another_model_costs_what_it_does_worked_out_call_by_call(drawn, at: int, model: str) -> None:
    calls, time = [Call(0, 0.0)], 0.0
    for number, (share, gap, name, hour) in enumerate(drawn, 1):
        time += gap
        calls.append(Call(int(share * number * STEP), time, name, hour=hour and name != GPT))
    session = Script().play(*calls)
    at = min(at, len(drawn))

    found = switched(session, at, model)

    assert found.usd == pytest.approx(by_hand(session, at, model))
    assert found.recorded_usd == pytest.approx(float(replayed(session).ledger.cost[at:].sum()))


@pytest.mark.parametrize("name", ["coding-agent.jsonl", "terminal-agent.jsonl", "trading-desk.json"])
def test_the_model_that_answered_costs_what_it_cost(name: str) -> None:
    plain = replay_session(open_session(ROOT / "sample_sessions" / name), Plan())
    found = cache_misses(plain)

    for call in main_calls(plain).tolist():
        same = model_switch(found, call, plain.history.session.models[0])
        assert same is not None
        assert same.usd == pytest.approx(same.recorded_usd)
        assert same.recache_tokens == 0


@pytest.mark.parametrize(
    ("models", "others"),
    [
        (("claude-opus-4-8",), {"claude-sonnet-4-6", "claude-haiku-4-5"}),
        (("anthropic/claude-opus-4.8", SONNET), {"anthropic/claude-opus-4.8", SONNET, "claude-haiku-4-5"}),
        (("gemini-3-pro-preview",), {"gemini-3-flash-preview", "gemini-3.1-flash-lite"}),
        (("a model nobody sells",), set()),
    ],
)
def test_models_of_the_family_and_those_the_session_knows_are_offered(models, others: set[str]) -> None:
    session = Script().play(*(Call(0, 20.0 * at, model) for at, model in enumerate(models)))

    assert set(other_models(replayed(session))) == others
