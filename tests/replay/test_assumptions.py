"""User-defined assumptions: prices, context windows and months."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from inspector.replay.analysis.alternatives import next_call_cost
from inspector.replay.analysis.forecast import project_runs
from inspector.replay.assumptions import Assumptions, RunsPerDay
from inspector.replay.engine.inputs import ReplayInputs
from inspector.replay.engine.replay import replay
from inspector.replay.figure import HowKnown
from inspector.replay.pricing.context_window import CLAUDE_USUAL, context_window
from inspector.replay.pricing.prices import Pricing
from inspector.replay.pricing.rates import RatesError, format_rates, parse_rates
from inspector.replay.sessions import replay_session
from inspector.report.session_report import report_of
from inspector.session.model import BlockKind, Role, Usage
from inspector.session.open import open_session
from inspector.strategies.history.history import History
from inspector.strategies.plan import Plan
from tests.replay.synthetic import CharacterTable, SessionBuilder


def session_of(model: str, usage: Usage, window: int | None = None):
    builder = SessionBuilder()
    builder.add(Role.USER, builder.block(BlockKind.USER_TEXT, "question"))
    builder.respond(builder.block(BlockKind.ASSISTANT_TEXT, "answer"), model=model, usage=usage)
    return dataclasses.replace(builder.session(), window=window)


def session_of_models(models: list[str]):
    builder = SessionBuilder()
    for model in models:
        builder.add(Role.USER, builder.block(BlockKind.USER_TEXT, "question"))
        builder.respond(builder.block(BlockKind.ASSISTANT_TEXT, "answer"), model=model)
    return builder.session()


def window_of(session, pricing: Pricing | None = None, given: int | None = None):
    longest = max((call.usage.prompt for call in session.calls if call.usage is not None), default=0)
    return context_window(session, pricing or Pricing(), longest, given)


def test_given_rates_price_every_call_whatever_its_model():
    usage = Usage(1_000_000, 2_000_000, 3_000_000, 0, output=4_000_000)
    session = session_of("a model nobody knows", usage)
    terms = Assumptions(rates=parse_rates("3/15/0.3/3.75"), factor=0.5)

    inputs = ReplayInputs.of(History.of(session), CharacterTable(session), pricing=terms.pricing())

    assert replay(inputs, Plan()).ledger.cost.tolist() == [pytest.approx(0.5 * (3 + 2 * 0.3 + 3 * 3.75 + 4 * 15))]


@pytest.mark.parametrize("text", ["3/15/3/3", "3/15/0.3/3", "0.25/2/0.025/0.3125"])
def test_rates_are_written_as_they_are_read(text: str):
    assert format_rates(parse_rates(text)) == text


def test_rates_left_out_are_those_of_input():
    rates = parse_rates("$3 / 15")
    assert (rates.input, rates.output, rates.cache_read, rates.cache_write_5m, rates.cache_write_1h) == (3, 15, 3, 3, 3)


@pytest.mark.parametrize("text", ["", "3", "3/15/1/1/1", "a/b", "-1/2", "nan/2", "inf/1"])
def test_what_is_no_rates_is_refused_saying_how_they_are_written(text: str):
    with pytest.raises(RatesError, match="INPUT/OUTPUT"):
        parse_rates(text)


def test_the_files_own_window_comes_before_the_models_and_what_is_given_before_both():
    session = session_of("claude-opus-4-5", Usage(10, 0, 0, 0, output=1), window=123_456)
    assert (window_of(session).size, window_of(session).tokens.known) == (123_456, HowKnown.EXACT)
    assert window_of(session, given=50_000).size == 50_000


@pytest.mark.parametrize(
    ("model", "prompt", "window"),
    [
        ("claude-opus-4-5-20251101", 10, 200_000),
        ("claude-opus-4-8", 10, CLAUDE_USUAL),
        ("claude-opus-4-8[1m]", 10, 1_000_000),
        ("claude-opus-4-8", 300_000, 1_000_000),
        ("gpt-5-codex", 10, 400_000),
        ("openrouter/openai/gpt-4o", 10, 128_000),
        ("a model nobody knows", 10, None),
        ("", 10, None),
    ],
)
def test_a_window_the_file_does_not_name_is_the_models_and_estimated(model: str, prompt: int, window: int | None):
    found = window_of(session_of(model, Usage(prompt, 0, 0, 0, output=1)))
    assert (found.size, found.tokens.known) == (window, HowKnown.ESTIMATED)
    assert found.source


def test_a_window_smaller_than_a_sent_prompt_is_unknown():
    found = window_of(session_of("gpt-4o", Usage(150_000, 0, 0, 0, output=1)))
    assert found.size is None
    assert found.source == "a prompt exceeds the price table's 128,000 tokens"


@pytest.mark.parametrize(
    ("models", "main"),
    [
        (["a"] * 15 + ["b"], "a"),
        (["a"] * 15 + ["b", "b"], "b"),
        (["a", "b"], "b"),
        (["a", "b", "a", "b"], "b"),
        (["a", "a", "", "b", ""], "a"),
        ([""], ""),
        ([], ""),
    ],
)
def test_one_call_of_another_model_does_not_change_the_sessions_model(models: list[str], main: str):
    assert session_of_models(models).main_model == main


def test_the_window_and_its_lower_bound_are_those_of_the_main_model(corpus: Path):
    """In a real session a last `hello` went to a model with a window of 32,768 tokens; prompts had up to 51,852."""
    session = open_session(corpus / "cline" / "session.json")
    inputs = replay_session(session, Plan()).inputs
    assert session.calls[-1].model == "mistralai/voxtral-small-24b-2507"
    assert (session.main_model, inputs.window.size) == ("anthropic/claude-opus-4.8-fast", 200_000)
    report = report_of(inputs)
    assert report.session.model == "anthropic/claude-opus-4.8-fast"
    found = next_call_cost(replay(inputs, Plan()))
    assert found is not None
    assert found.cold_usd is not None
    assert found.cold_usd > found.prompt_tokens * 2e-6, "voxtral-small costs $0.10 per million tokens"


def test_a_price_file_may_give_a_window_and_leave_the_prices_alone(tmp_path: Path):
    file = tmp_path / "prices.toml"
    file.write_text('[models."gpt-4o"]\nwindow = 64000\n')
    pricing = Pricing.load(file)

    assert window_of(session_of("gpt-4o", Usage(10, 0, 0, 0, output=1)), pricing).size == 64_000
    assert pricing.rates("gpt-4o") == Pricing().rates("gpt-4o")


def test_a_month_has_as_many_days_as_asked_for():
    half = project_runs(np.full(20, 2.0), np.full(20, 1.5), RunsPerDay(10), days_per_month=20)
    assert half is not None
    assert half.per_month.saving.middle == pytest.approx(20 * 10 * 20 * 0.5)


def test_strategies_count_in_fractions_of_the_window_that_is_given():
    builder = SessionBuilder()
    builder.add(Role.USER, builder.block(BlockKind.USER_TEXT, "task"))
    for turn in range(12):
        builder.respond(builder.block(BlockKind.TOOL_CALL, "{}", "Read", f"c{turn}"))
        builder.add(Role.USER, builder.block(BlockKind.TOOL_RESULT, "r" * 2_000, "Read", f"c{turn}"))
    builder.respond(builder.block(BlockKind.ASSISTANT_TEXT, "done"))
    history = History.of(builder.session())

    def prompts(spec: str, window: int | None) -> list[int]:
        inputs = ReplayInputs.of(history, CharacterTable(history.session), window=window)
        return replay(inputs, Plan.from_specs([spec])).ledger.prompt_tokens.tolist()

    whole = prompts("roo-truncate", None)
    assert prompts("roo-truncate", 20_000) != whole
    assert prompts("roo-truncate", 20_000) == prompts("roo-truncate:window=20000", None)
    assert prompts("roo-truncate:window=200000", 20_000) == whole
