"""A session and its plans at another model's prices: hand-worked costs, cache rules, and plans that stop paying."""

import json
from datetime import UTC, datetime

import numpy as np
import pytest

from inspector.replay.analysis.best_plan import AsModel, PlanAsModel
from inspector.replay.engine.inputs import ReplayInputs, as_other_model
from inspector.replay.engine.replay import Replay, replay
from inspector.replay.figure import HowKnown
from inspector.replay.pricing.price_tables import nearest_names
from inspector.replay.pricing.prices import Pricing
from inspector.report.as_model import plans_words
from inspector.session.model import BlockKind, Role, Session, Usage
from inspector.strategies.history.history import History
from inspector.strategies.plan import Plan
from tests.conftest import ROOT
from tests.program import run_here
from tests.replay.synthetic import CharacterTable, SessionBuilder
from tests.replay.test_cache_misses import GPT, OPUS, READS_ALL, STEP, Call, Script

SAMPLE = ROOT / "sample_sessions" / "security-agent.jsonl"
pytestmark = pytest.mark.usefixtures("searched_once")
TODAY = datetime(2026, 11, 28, tzinfo=UTC).timestamp()


def inputs_of(session: Session) -> ReplayInputs:
    return ReplayInputs.of(History.of(session), CharacterTable(session), pricing=Pricing(today=TODAY))


def priced(session: Session, model: str, plan: Plan | None = None) -> Replay:
    return replay(as_other_model(inputs_of(session), model), plan or Plan())


def growing(calls: int, model: str = OPUS) -> Session:
    """Make prompts of 10,000, 20,000, … tokens; every call reads the previous prompt and writes 10,000."""
    return Script().play(*(Call(number * STEP, 20.0 * number, model) for number in range(calls)))


def test_recorded_reads_and_writes_cost_the_other_models_rates() -> None:
    found = priced(growing(3), "claude-opus-5-5").figures

    # Opus 5.5: $4 in, $20 out, reads 0.05 x = $0.20, five-minute writes 1.25 x = $5.
    # Reads 0 + 10,000 + 20,000; writes 3 x 10,000; responses 3 x 10.
    assert found.cost_usd.value == pytest.approx((30_000 * 0.2 + 30_000 * 5 + 30 * 20) / 1e6)
    assert found.cost_usd.known is HowKnown.PROJECTED
    assert found.prompt_tokens.known is HowKnown.EXACT


def test_a_request_above_a_cliff_costs_more_for_all_of_its_tokens() -> None:
    found = priced(growing(11), "claude-haiku-5-5")

    assert found.ledger.prompt_tokens[-2:].tolist() == [100_000, 110_000]
    # Haiku 5.5: $0.10 in, reads $0.01, writes $0.125, $0.50 out; five times that above 100,000 tokens.
    below = 450_000 * 0.01 + 100_000 * 0.125 + 100 * 0.5
    above = 100_000 * 0.05 + 10_000 * 0.625 + 10 * 2.5
    assert found.figures.cost_usd.value == pytest.approx((below + above) / 1e6)


def test_prompts_below_the_other_models_minimum_are_not_cached() -> None:
    script = SessionBuilder()
    script.add(Role.USER, script.block(BlockKind.USER_TEXT, "u" * 2_000))
    for number in range(3):
        usage = Usage(0, 2_000 * number, 2_000, 0, 10)
        answer = script.block(BlockKind.ASSISTANT_TEXT, f"{number}a" * 500)
        script.respond(answer, usage=usage, model=OPUS, time=20.0 * number)
        script.add(Role.USER, script.block(BlockKind.USER_TEXT, f"{number}u" * 500))
    found = priced(script.session(), "claude-haiku-4-5")

    # Haiku 4.5 caches from 4,096 tokens on: prompts of 2,000 and 4,000 stay uncached, and the third call finds no entry
    # to read, because the second prompt wrote none. $1 in, $1.25 written, $5 out.
    assert found.ledger.uncached.tolist() == [2_000, 4_000, 0]
    assert found.ledger.cache_write_5m.tolist() == [0, 0, 6_000]
    assert found.figures.cost_usd.value == pytest.approx((6_000 * 1 + 6_000 * 1.25 + 30 * 5) / 1e6)


def test_a_provider_that_counts_writes_bills_what_the_recorded_one_did_not_count() -> None:
    found = priced(growing(3, GPT), "gpt-6.1-sol")

    # GPT-5.1 reports 10,000 uncached tokens per call. GPT-6.1 Sol writes them: $2.50, reads $0.10, $10 out.
    assert found.ledger.cache_write_5m.tolist() == [10_000] * 3
    assert found.figures.cost_usd.value == pytest.approx((30_000 * 0.1 + 30_000 * 2.5 + 30 * 10) / 1e6)


def test_another_providers_cache_follows_its_own_rules_and_typical_reads() -> None:
    # After 20 minutes, Anthropic's five-minute entry is gone; OpenAI keeps entries for 30 minutes.
    session = Script().play(Call(0, 0.0), Call(0, 1_200.0))
    found = priced(session, "gpt-6.1-sol").ledger

    prompt = found.cache_read + found.cache_write + found.uncached
    assert prompt.tolist() == [10_000, 20_000]
    # A read is a multiple of 128 tokens of the previous prompt, times a chance below one.
    assert 0 < found.cache_read[1] < 10_000 // 128 * 128
    by_hand = found.cache_read * 0.1 + found.cache_write_5m * 2.5 + found.uncached * 2 + found.output * 10
    assert found.cost == pytest.approx(by_hand / 1e6)


def test_a_route_to_the_same_model_keeps_recorded_figures() -> None:
    inputs = inputs_of(growing(3))
    found = as_other_model(inputs, "anthropic/claude-opus-4.8")

    assert not found.other_model
    assert replay(found, Plan()).figures == replay(inputs, Plan()).figures


def test_another_model_has_todays_rates_whenever_the_session_ran() -> None:
    inputs = as_other_model(inputs_of(growing(3)), "claude-sonnet-5-5")
    rates = inputs.rates.rates[0]

    # Reads of Sonnet 5.5 cost $0.20 until 7 October 2026 and $0.10 since; the session ran in 1970.
    assert rates is not None
    assert rates.cache_read == 0.1


def test_a_plan_sends_the_same_prompts_at_another_model() -> None:
    plan = Plan.from_specs(["last-observations:keep=3"])
    session = growing(6)
    recorded, other = replay(inputs_of(session), plan), priced(session, "gpt-6.1-sol", plan)

    assert np.array_equal(recorded.ledger.prompt_tokens, other.ledger.prompt_tokens)
    assert np.array_equal(recorded.edits.block, other.edits.block)


def test_naming_the_model_of_unnamed_calls_keeps_their_usage_exact() -> None:
    session = Script().play(*(call._replace(model="") for call in READS_ALL))
    pricing = Pricing(model="claude-opus-5-5", today=TODAY)
    found = ReplayInputs.of(History.of(session), CharacterTable(session), pricing=pricing)

    assert not found.other_model
    assert replay(found, Plan()).figures.cost_usd.known is HowKnown.EXACT


def test_model_option_and_as_model_price_alike() -> None:
    session = growing(4)
    named = ReplayInputs.of(
        History.of(session), CharacterTable(session), pricing=Pricing(model="claude-fable-5-2", today=TODAY)
    )

    assert replay(named, Plan()).figures == priced(session, "claude-fable-5-2").figures


def test_the_report_says_which_plans_still_pay(capsys) -> None:
    def reported(model: str) -> dict:
        return json.loads(run_here(capsys, "report", SAMPLE, "--as-model", model, "--format", "json").out)["as_model"]

    opus, fable = reported("claude-opus-5-5"), reported("claude-fable-5-2")

    # 11,301,229 tokens read, 334,619 written, 514 uncached and 70,574 of output.
    by_hand = (11_301_229 * 0.2 + 334_619 * 5 + 514 * 4 + 70_574 * 20) / 1e6
    assert opus["usd"] == pytest.approx(by_hand, abs=1e-5)
    assert opus["recorded_usd"] == pytest.approx(9.508903)
    assert (opus["cache_read_share"], fable["cache_read_share"]) == (0.05, 0.025)
    (still,), (no_more,) = opus["plans"], fable["plans"]
    assert still["name"] == no_more["name"] == "newest-twenty-messages"
    assert still["pays"]
    assert 0 < still["saved_at_least_usd"] < still["saved_at_most_usd"] < still["recorded_at_least_usd"]
    assert not no_more["pays"]
    assert no_more["saved_at_most_usd"] < 0 < no_more["recorded_at_least_usd"]
    assert fable["is_searched"]
    assert fable["best"] is None


@pytest.mark.parametrize("command", ["why", "report", "compare"])
def test_every_command_has_the_net_range_at_both_models(command: str, capsys) -> None:
    said = " ".join(run_here(capsys, command, SAMPLE, "--as-model", "claude-opus-5-5").out.split())

    assert "as claude-opus-5-5 ~$5.35 instead of $9.51 at today's rates ($4 in, $20 out, cache reads 0.05 x)" in said
    assert "newest twenty messages still pays: net $0.22 to $0.42, as recorded net $1.22 to $1.62" in said


def test_a_session_without_a_price_gets_one(capsys) -> None:
    path = SAMPLE.parent / "local-agent.json"
    said = " ".join(run_here(capsys, "why", path, "--as-model", "claude-opus-5-5").out.split())

    assert "as claude-opus-5-5 ~$0.17 at today's rates ($4 in" in said
    assert "unknown at today's" not in said


def test_a_page_has_a_section_and_the_command_that_repeats_it(capsys) -> None:
    page = run_here(
        capsys, "report", SAMPLE, "--as-model", "claude-fable-5-2", "--strategy", "last-observations", "--format", "md"
    ).out

    assert "At another model" in page
    assert "--as-model claude-fable-5-2" in page


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--as-model", "claude-opus-9"), "no price for claude-opus-9; closest known: claude-opus-"),
        (("--as-model", "claude-opus-5-5", "--model", "gpt-5"), "remove one of them"),
    ],
)
def test_an_unknown_model_is_refused_with_the_nearest_names(words: tuple[str, ...], said: str, capsys) -> None:
    for command in ("report", "why", "compare"):
        outcome = run_here(capsys, command, SAMPLE, *words)

        assert (outcome.code, outcome.out) == (2, "")
        assert said in outcome.err


@pytest.mark.parametrize(
    ("at_least_usd", "words"),
    [
        ((0.5, 0.2), "1 of 2 tried plans that pay as recorded also pay there"),
        ((0.5, None), "the only tried plan that pays as recorded also pays there"),
        ((-0.5, None), "the only tried plan that pays as recorded does not pay there"),
    ],
)
def test_the_plans_that_pay_at_both_models_are_counted(at_least_usd: tuple[float, float | None], words: str) -> None:
    first, second = at_least_usd
    plans = [
        PlanAsModel(
            name=name,
            strategies=[name],
            pays=usd == 0.5,
            evidence="tried",
            recorded_at_least_usd=recorded,
            recorded_at_most_usd=1.0,
            saved_at_least_usd=usd,
            saved_at_most_usd=usd,
            known={},
        )
        for name, usd, recorded in (("first", first, 0.8), ("second", second, -0.1 if second is None else 0.8))
    ]
    found = AsModel(
        model="claude-opus-5-5",
        input_usd=4.0,
        output_usd=20.0,
        cache_read_share=0.05,
        dearer_above=[],
        recorded_usd=9.51,
        usd=5.35,
        window=None,
        beyond_window=0,
        plans=plans,
    )

    assert plans_words(found) == words


def test_a_folder_is_not_priced_as_another_model(capsys) -> None:
    outcome = run_here(capsys, "report", SAMPLE.parent, "--as-model", "claude-opus-5-5")

    assert outcome.code == 2
    assert "--as-model needs one: pass its file" in outcome.err


def test_nearest_names_begin_with_what_was_written() -> None:
    assert nearest_names("claude-opus-5")[0] == "claude-opus-5"
    assert len(nearest_names("gpt-6")) == 3
    assert all(name.startswith("gpt-6") for name in nearest_names("gpt-6"))
