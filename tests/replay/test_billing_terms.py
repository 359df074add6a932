"""Billing terms besides model and tokens: read from records, priced if possible, reported otherwise."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import genai_prices
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.replay.engine.inputs import ReplayInputs
from inspector.replay.engine.replay import replay
from inspector.replay.pricing.price_tables import PriceFileError, read_price_file
from inspector.replay.pricing.prices import Pricing
from inspector.replay.pricing.rates import Rates
from inspector.report.session_report import caveats
from inspector.session.billing_terms import BillingTerms, MediaTokens, parse_billing_terms
from inspector.session.open import open_session
from inspector.strategies.history.history import History
from inspector.strategies.plan import Plan
from inspector.tokens.token_table import TokenTable
from tests.session.claude_lines import Script
from tests.session.run_files import inspect_log, inspect_sample, mini_run

NOON = 1_795_176_000.0
OPUS, OLD = "claude-opus-4-8", "claude-opus-4-5"
USAGE = {"input_tokens": 1_000, "cache_read_input_tokens": 50_000, "output_tokens": 200}


def rates(model: str, pricing: Pricing | None = None, **terms: Any) -> Rates:
    found = (pricing or Pricing(today=NOON)).rates(model, NOON, BillingTerms(**terms).code)
    assert found is not None
    return found


def inputs_of(path: Path, usages: list[dict[str, Any]]) -> ReplayInputs:
    script = Script()
    for number, usage in enumerate(usages):
        script.prompt(f"question {number}")
        script.block(f"m{number}", {"type": "text", "text": "An answer."}, usage={**USAGE, **usage})
    session = open_session(script.write(path / "session.jsonl"))
    return ReplayInputs.of(History.of(session), TokenTable.estimated(session), pricing=Pricing(today=NOON))


def test_fast_calls_and_batches_cost_what_the_table_has_for_them() -> None:
    usual = rates(OPUS)
    fast, batch = rates(OPUS, speed="fast"), rates(OPUS, tier="batch")
    assert fast.input > usual.input
    assert fast.output > usual.output
    assert batch.input == pytest.approx(usual.input / 2)
    assert (fast.terms, fast.unpriced) == ("fast", ())
    assert rates("gpt-5", tier="priority").input > rates("gpt-5").input > rates("gpt-5", tier="flex").input


def test_fast_mode_that_a_gateway_writes_behind_a_models_name_costs_as_much_as_when_it_is_asked_for() -> None:
    named = rates("anthropic/claude-opus-4.8-fast")
    assert named.rows == rates(OPUS, speed="fast").rows
    assert named.unpriced == ()
    assert rates("openrouter/anthropic/claude-opus-4.8-fast").input == named.input
    assert rates("claude-opus-4-5-fast").unpriced == ("fast",)
    assert rates("grok-4-fast").terms == ""


def test_inference_in_the_us_alone_costs_a_tenth_more_from_4_6_on() -> None:
    usual, there = rates(OPUS), rates(OPUS, region="us")
    for column in ("input", "cache_read", "cache_write_5m", "cache_write_1h", "output"):
        assert getattr(there, column) == pytest.approx(getattr(usual, column) * 1.1)
    assert rates(OPUS, region="us", speed="fast").input == pytest.approx(rates(OPUS, speed="fast").input * 1.1)
    assert rates(OLD, region="us").unpriced == ("us",)


def test_searches_are_paid_for_one_by_one() -> None:
    assert rates(OPUS, web_searches=3).per_call == pytest.approx(0.03)
    assert rates("gpt-5", web_searches=3).per_call == pytest.approx(0.03)
    assert rates("gemini-2.5-flash", web_searches=2).per_call == pytest.approx(0.07)
    assert rates("deepseek/deepseek-chat", web_searches=3).unpriced == ("web searches",)


def test_code_that_a_provider_runs_costs_what_no_response_says(tmp_path: Path) -> None:
    said = parse_billing_terms({"server_tool_use": {"web_search_requests": 0, "code_execution_requests": 2}})
    assert said.label == "2 code executions"
    assert rates(OPUS, code_runs=2).unpriced == ("code execution",)
    path = tmp_path / "prices.toml"
    path.write_text("[terms]\ncode_execution = 0.004\n", encoding="utf-8")
    mine = Pricing(own=read_price_file(path), today=NOON)
    assert rates(OPUS, mine, code_runs=2).per_call == pytest.approx(0.008)


DETAILS = [
    (
        {
            "prompt_tokens": 900,
            "prompt_tokens_details": {"cached_tokens": 0, "audio_tokens": 500, "image_tokens": 100},
            "completion_tokens_details": {"reasoning_tokens": 0, "audio_tokens": 80},
        },
        (("audio", "input", 500), ("audio", "output", 80), ("image", "input", 100)),
    ),
    (
        {
            "input_tokens": 900,
            "input_token_details": {
                "text_tokens": 300,
                "audio_tokens": 600,
                "cached_tokens_details": {"text_tokens": 0, "audio_tokens": 128},
            },
            "output_token_details": {"text_tokens": 10, "audio_tokens": 40},
        },
        (("audio", "input", 472), ("audio", "cache_read", 128), ("audio", "output", 40)),
    ),
    (
        {
            "promptTokenCount": 900,
            "promptTokensDetails": [
                {"modality": "TEXT", "tokenCount": 300},
                {"modality": "AUDIO", "tokenCount": 400},
                {"modality": "AUDIO", "tokenCount": 200},
            ],
            "cacheTokensDetails": [{"modality": "AUDIO", "tokenCount": 100}],
            "candidatesTokensDetails": [{"modality": "IMAGE", "tokenCount": 1290}],
        },
        (("audio", "input", 500), ("audio", "cache_read", 100), ("image", "output", 1290)),
    ),
    ({"prompt_tokens": 9, "prompt_tokens_details": {"audio_tokens": 0, "text_tokens": 9}}, ()),
    ({"prompt_tokens": 9, "prompt_tokens_details": {"audio_tokens": -3}, "completion_tokens_details": None}, ()),
]


@pytest.mark.parametrize(("usage", "expected"), DETAILS)
def test_tokens_that_are_no_text_are_distinguished_as_providers_tell_them(usage: dict[str, Any], expected: Any) -> None:
    terms = parse_billing_terms(usage)
    assert terms.media == expected
    assert BillingTerms.of_code(terms.code) == terms


@given(
    st.integers(0, 100_000),
    st.integers(0, 100_000),
    st.integers(0, 100_000),
    st.integers(0, 100_000),
    st.sampled_from(["gemini-2.5-flash", "gemini-2.0-flash", "gemini-2.5-flash-lite"]),
)
def test_sound_is_priced_as_the_tables_own_calculation_prices_it(
    text: int, audio: int, cached: int, output: int, model: str
) -> None:
    listed = genai_prices.calc_price(
        genai_prices.Usage(
            input_tokens=text + audio + cached,
            input_audio_tokens=audio + cached,
            cache_read_tokens=cached,
            cache_audio_read_tokens=cached,
            output_tokens=output,
        ),
        model_ref=model,
        genai_request_timestamp=datetime.fromtimestamp(NOON, UTC),
    )
    media = (MediaTokens("audio", "input", audio), MediaTokens("audio", "cache_read", cached))
    found = rates(model, media=tuple(each for each in media if each.tokens))
    dollars = ((text + audio) * found.input + cached * found.cache_read + output * found.output) / 1e6 + found.per_call
    assert dollars == pytest.approx(float(listed.total_price), abs=1e-9)


def test_pictures_cost_what_text_does_and_sound_what_no_one_knows_where_neither_has_a_price() -> None:
    picture = rates("gpt-4o", media=(MediaTokens("image", "input", 1_000),))
    assert (picture.per_call, picture.unpriced) == (0, ())
    assert rates("gpt-4o-audio-preview", media=(MediaTokens("audio", "input", 9),)).unpriced == ("audio tokens",)


def test_a_price_file_prices_sound(tmp_path: Path) -> None:
    path = tmp_path / "prices.toml"
    text = "[models.talker]\ninput = 2.5\noutput = 10\ninput_audio = 40\noutput_audio = 80\n"
    path.write_text(text, encoding="utf-8")
    mine = Pricing(own=read_price_file(path), today=NOON)
    heard, said = MediaTokens("audio", "input", 1_000), MediaTokens("audio", "output", 100)
    found = rates("talker", mine, media=(heard, said))
    assert found.per_call == pytest.approx((1_000 * 37.5 + 100 * 70) / 1e6)
    assert found.unpriced == ()


def test_what_has_no_price_is_named_and_a_price_file_gives_it_one(tmp_path: Path) -> None:
    assert rates(OLD, speed="fast").unpriced == ("fast",)
    assert rates(OLD, speed="fast").input == rates(OLD).input
    path = tmp_path / "prices.toml"
    path.write_text("[terms]\nfast = 6\nus = 1.2\nweb_search = 0.02\n", encoding="utf-8")
    mine = Pricing(own=read_price_file(path), today=NOON)
    assert rates(OLD, mine, speed="fast").input == pytest.approx(6 * rates(OLD).input)
    assert rates(OPUS, mine, region="us").input == pytest.approx(1.2 * rates(OPUS).input)
    assert rates("gpt-5", mine, web_searches=2).per_call == pytest.approx(0.04)
    path.write_text('[terms]\nfast = "six"\n', encoding="utf-8")
    with pytest.raises(PriceFileError, match=r"terms\.fast"):
        read_price_file(path)


def test_rates_that_are_given_hold_under_all_terms() -> None:
    given_rates = rates(OPUS)
    pricing = Pricing(given=given_rates)
    assert pricing.rates(OPUS, NOON, BillingTerms("fast", web_searches=2).code) == given_rates


def test_every_call_of_a_session_is_priced_under_its_own_terms(tmp_path: Path) -> None:
    said = [
        {"speed": "standard", "service_tier": "standard", "inference_geo": "not_available"},
        {"speed": "fast"},
        {"speed": "fast", "server_tool_use": {"web_search_requests": 2, "web_fetch_requests": 9}},
        {"speed": None, "service_tier": None, "server_tool_use": None},
    ]
    inputs = inputs_of(tmp_path, said)
    cost = replay(inputs, Plan()).ledger.cost
    usual, fast = cost[0], cost[1]
    codes = ("", BillingTerms("fast").code)
    rate, quick = (inputs.pricing.rates(OPUS, inputs.history.session.calls[0].time, code) for code in codes)
    assert rate is not None
    assert quick is not None
    assert usual == pytest.approx((1_000 * rate.input + 50_000 * rate.cache_read + 200 * rate.output) / 1e6)
    assert fast == pytest.approx((1_000 * quick.input + 50_000 * quick.cache_read + 200 * quick.output) / 1e6)
    assert cost[2] == pytest.approx(fast + 0.02)
    assert cost[3] == pytest.approx(usual)
    assert not inputs.lacks_prices


def test_a_cost_with_a_part_no_one_has_a_price_for_is_at_least_so_much_and_a_report_says_what(tmp_path: Path) -> None:
    inputs = inputs_of(tmp_path, [{}, {"speed": "turbo"}])
    figure = replay(inputs, Plan()).figures.cost_usd
    assert figure.is_lower_bound
    notes = " ".join(caveats(inputs))
    assert "1 call: turbo" in notes
    assert "no price is available for turbo" in notes
    (less := tmp_path / "less").mkdir()
    assert not replay(inputs_of(less, [{"service_tier": "flex"}]), Plan()).figures.cost_usd.is_lower_bound


def test_the_tier_an_openai_response_names_counts_and_not_the_one_its_request_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    lines = [
        {
            "request": {"model": "gpt-5", "service_tier": "auto", "messages": [{"role": "user", "content": "go"}]},
            "response": {
                "id": "r1",
                "model": "gpt-5",
                "service_tier": "priority",
                "choices": [{"message": {"role": "assistant", "content": "done"}}],
                "usage": {"prompt_tokens": 100, "completion_tokens": 5},
            },
        }
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    (call,) = open_session(path).calls
    assert BillingTerms.of_code(call.terms).label == "priority"


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
        max_leaves=5,
    ),
    st.sampled_from(["speed", "service_tier", "inference_geo", "server_tool_use"]),
)
def test_whatever_is_there_is_terms_or_nothing(value: object, name: str) -> None:
    for usage in (value, {name: value}, {"server_tool_use": {"web_search_requests": value}}):
        found = parse_billing_terms(usage, value)
        assert BillingTerms.of_code(found.code) == found
        pricing = Pricing(today=NOON)
        priced = pricing.call_rates([OPUS, OPUS], np.array([NOON, NOON]), ["", found.code])
        assert len(priced.index) == 2


def tiers_of(path: Path, content: Any) -> list[str]:
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return [BillingTerms.of_code(call.terms).tier for call in open_session(path).calls]


def test_a_tier_of_a_chat_request_applies_if_the_response_names_none(tmp_path: Path) -> None:
    log = []
    for number, (requested, served) in enumerate((("flex", None), ("auto", "priority"), ("priority", "default"))):
        question = {"role": "user", "content": f"question {number}"}
        answer = {"choices": [{"message": {"role": "assistant", "content": "yes"}}], "usage": {"prompt_tokens": 9}}
        request = {"model": "gpt-5.5", "messages": [question], "service_tier": requested}
        log.append({"request": request, "response": {**answer, **({"service_tier": served} if served else {})}})
    assert tiers_of(tmp_path / "log.json", log) == ["flex", "priority", ""]


@pytest.mark.parametrize("kwargs", [{"service_tier": "flex"}, {"extra_body": {"service_tier": "flex"}}])
def test_a_tier_in_the_configuration_of_a_mini_swe_agent_run_applies_to_its_calls(
    tmp_path: Path, kwargs: dict[str, Any]
) -> None:
    run = mini_run(2)
    run["info"]["config"] = {"model": {"model_name": "openai/gpt-5.5", "model_kwargs": kwargs}}
    run["messages"][-2]["extra"]["response"]["service_tier"] = "default"
    assert tiers_of(tmp_path / "run.traj.json", run) == ["flex", ""]


def test_a_tier_or_batch_mode_of_an_evaluation_applies_to_its_model(tmp_path: Path) -> None:
    sample = inspect_sample(4)
    events = [event for event in sample["events"] if event["event"] == "model"]
    events[1]["config"] = {"batch": True}
    events[2]["model"] = "provider/grader"
    events[3]["call"] = {"request": {"service_tier": "auto"}, "response": {"service_tier": "priority"}}
    log = inspect_log([sample])
    log["eval"]["model_args"] = {"service_tier": "flex"}
    assert tiers_of(tmp_path / "log.json", log) == ["flex", "batch", "", "priority"]
