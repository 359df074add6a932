import subprocess
import sys
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest
from genai_prices import Usage, calc_price
from genai_prices.data_snapshot import get_snapshot
from hypothesis import given, settings
from hypothesis import strategies as st

from inspector.replay.cache.prompt_usage import PromptUsage
from inspector.replay.pricing.price_tables import PriceFile, PriceFileError, default_price_file, read_price_file
from inspector.replay.pricing.prices import Pricing
from inspector.replay.pricing.rates import RateRow, Rates
from inspector.tokens.model_names import model_version, parse_model_name
from tests.examples import examples

NOW = datetime(2026, 11, 1, 12, tzinfo=UTC).timestamp()
CENT = 0.005

MODELS = [
    "claude-opus-4-5-20251101",
    "claude-opus-4-6",
    "claude-opus-4-8[1m]",
    "claude-opus-5",
    "claude-opus-5-5",
    "claude-sonnet-4-5",
    "claude-haiku-5-5",
    "claude-fable-5-1",
    "gpt-5.4",
    "gpt-5.6-sol",
    "gemini-2.5-pro",
    "gemini-3.8-flash",
    "deepseek-v4-pro",
    "grok-4",
    "kimi-k2",
]


def by_genai_prices(model: str, time: float, counts: tuple[int, ...], provider: str | None = None) -> float:
    uncached, read, write_5m, write_1h, output = counts
    usage = Usage(
        input_tokens=uncached + read + write_5m + write_1h,
        cache_read_tokens=read,
        cache_write_tokens=write_5m + write_1h,
        cache_write_5m_tokens=write_5m,
        cache_write_1h_tokens=write_1h,
        output_tokens=output,
    )
    moment = datetime.fromtimestamp(time, UTC)
    return float(calc_price(usage, model, provider_id=provider, genai_request_timestamp=moment).total_price)


def cost_of(pricing: Pricing, models: list[str], times: np.ndarray, rows: list[tuple[int, ...]]) -> np.ndarray:
    *served, output = (np.array(column, dtype=np.int64) for column in zip(*rows, strict=True))
    return pricing.call_rates(models, times).cost(PromptUsage(*served), output)


tokens = st.integers(0, 400_000)
counts = st.tuples(tokens, tokens, tokens, tokens, tokens)
times = st.floats(datetime(2025, 1, 1, tzinfo=UTC).timestamp(), datetime(2027, 6, 1, tzinfo=UTC).timestamp())
calls = st.lists(st.tuples(st.sampled_from(MODELS), times, counts), min_size=1, max_size=12)


@settings(max_examples=examples(60), deadline=None)
@given(calls)
def test_calls_of_any_models_and_days_cost_what_genai_prices_says(sample: list[tuple[str, float, tuple[int, ...]]]):
    models, moments, rows = (list(part) for part in zip(*sample, strict=True))
    cost = cost_of(Pricing(today=NOW), models, np.array(moments), rows)
    expected = [by_genai_prices(model, moment, row) for model, moment, row in sample]
    assert cost == pytest.approx(expected, abs=1e-9)


def test_every_text_model_of_every_provider_costs_what_genai_prices_says():
    """Below, at and above every start of a tier, with every kind of token."""
    pricing = Pricing(today=NOW)
    compared = 0
    for provider in get_snapshot().providers:
        for info in provider.models:
            name = f"{provider.id}/{info.id}"
            rates = pricing.rates(name)
            if rates is None or rates.model != info.id or rates.provider != provider.id:
                continue
            prompts = {10_000, *(row.above + more for row in rates.tiers for more in (0, 1))}
            rows = [(prompt - 3 * (prompt // 5), *[prompt // 5] * 3, 777) for prompt in sorted(prompts)]
            cost = cost_of(pricing, [name] * len(rows), np.full(len(rows), NOW), rows)
            expected = [by_genai_prices(info.id, NOW, row, provider.id) for row in rows]
            assert cost == pytest.approx(expected, abs=1e-9), name
            compared += 1
    assert compared > 1000


def test_a_prompt_at_the_start_of_a_tier_pays_the_lower_rate_and_one_token_more_pays_the_higher_for_all():
    pricing = Pricing(today=NOW)
    start = pricing.rates("claude-sonnet-4-5").tiers[0].above
    below, above = cost_of(
        pricing, ["claude-sonnet-4-5"] * 2, np.full(2, NOW), [(start, 0, 0, 0, 0), (start + 1, 0, 0, 0, 0)]
    )
    base, tier = pricing.rates("claude-sonnet-4-5").rows
    assert below == pytest.approx(start * base.input / 1e6)
    assert above == pytest.approx((start + 1) * tier.input / 1e6)
    assert tier.input > base.input


def test_prices_are_those_of_the_day_of_the_call():
    pricing = Pricing(today=NOW)
    change = datetime(2026, 3, 13, tzinfo=UTC).timestamp()
    assert pricing.rates("claude-opus-4-6", change - 1).tiers
    assert not pricing.rates("claude-opus-4-6", change).tiers


def test_a_call_without_a_time_is_priced_today():
    change = datetime(2026, 3, 13, tzinfo=UTC).timestamp()
    assert Pricing(today=change - 1).rates("claude-opus-4-6").tiers
    assert not Pricing(today=change).rates("claude-opus-4-6", float("nan")).tiers


@pytest.mark.parametrize(
    ("written", "model", "provider"),
    [
        ("claude-opus-4-8[1m]", "claude-opus-4-8", "anthropic"),
        ("claude-opus-5[1m]", "claude-opus-5", "anthropic"),
        ("anthropic/claude-opus-4-5", "claude-opus-4-5", "anthropic"),
        ("Claude-Opus-4.8", "claude-opus-4-8", "anthropic"),
        ("claude-sonnet-5-thinking", "claude-sonnet-5", "anthropic"),
        ("claude-haiku-4-5-20251001", "claude-haiku-4-5", "anthropic"),
        ("litellm_proxy/anthropic/claude-sonnet-4-20250514", "claude-sonnet-4-0", "anthropic"),
        ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", "regional.anthropic.claude-sonnet-4-5-20250929-v1:0", "aws"),
        ("bedrock/us.anthropic.claude-opus-4-5-20251101-v1:0", "regional.anthropic.claude-opus-4-5-v1:0", "aws"),
        ("vertex_ai/claude-opus-4-5@20251101", "claude-opus-4-5", "google"),
        ("openrouter/anthropic/claude-sonnet-4.5", "anthropic/claude-sonnet-4.5", "openrouter"),
        ("github-copilot/claude-sonnet-4.5", "claude-sonnet-4-5", "anthropic"),
        ("openai/gpt-5", "gpt-5", "openai"),
        ("azure/gpt-5", "gpt-5", "azure"),
        ("gpt-5-high", "gpt-5", "openai"),
        ("google/gemini-2.5-pro", "gemini-2.5-pro", "google"),
        ("models/gemini-2.5-flash", "gemini-2.5-flash", "google"),
    ],
)
def test_a_model_is_found_however_it_is_written(written: str, model: str, provider: str):
    rates = Pricing(today=NOW).rates(written)
    assert (rates.model, rates.provider) == (model, provider)


def test_a_model_nothing_knows_has_no_rates_and_costs_nan_next_to_others_that_have():
    pricing = Pricing(today=NOW)
    assert pricing.rates("house-model-9") is None
    assert pricing.rates("") is None
    cost = cost_of(pricing, ["house-model-9", "gpt-5", ""], np.full(3, NOW), [(1000, 0, 0, 0, 10)] * 3)
    assert np.isnan(cost).tolist() == [True, False, True]


def test_advice_names_the_model_the_nearest_known_and_what_to_do():
    pricing = Pricing(today=NOW)
    advice = pricing.advice(["gpt-5", "gpt-5.3-codex-spark", "gpt-5.3-codex-spark"])
    assert "\n" not in advice
    assert "gpt-5.3-codex-spark (closest known: gpt-5.3-codex)" in advice
    assert "--model" in advice
    assert str(default_price_file()) in advice
    assert pricing.advice(["gpt-5", "claude-opus-5"]) == ""
    assert "does not name its model" in pricing.advice([""])


def test_the_nearest_name_is_one_that_has_a_price():
    pricing = Pricing(today=NOW)
    for unknown in ("gemini-3.1-pro", "qwen3-coder", "glm-4.6", "gpt-5.3-codex-spark"):
        nearest = pricing.advice([unknown]).partition("closest known: ")[2].partition(")")[0]
        assert pricing.rates(nearest) is not None, nearest


def test_every_call_can_be_priced_as_another_model():
    pricing = Pricing(model="claude-haiku-4-5", today=NOW)
    assert pricing.rates("house-model-9").model == "claude-haiku-4-5"
    assert pricing.provider("gpt-5") == "anthropic"
    assert "claude-haiku-4-5" in pricing.source


def test_a_factor_multiplies_every_price():
    sample = (
        ["gpt-5", "claude-sonnet-4-5"],
        np.full(2, NOW),
        [(1000, 2000, 30, 40, 500), (300_000, 1, 2, 3, 4)],
    )
    assert cost_of(Pricing(factor=0.5, today=NOW), *sample) == pytest.approx(cost_of(Pricing(today=NOW), *sample) / 2)


def test_no_calls_cost_nothing():
    cost = Pricing(today=NOW).call_rates([], np.zeros(0)).cost(PromptUsage.of([]), np.zeros(0, dtype=np.int64))
    assert len(cost) == 0


def test_where_prices_come_from_is_stated_with_a_version():
    assert Pricing(today=NOW).source.startswith("genai-prices 0.")


def test_prices_load_without_importing_the_price_table_until_the_first_price():
    check = (
        "import sys, inspector.replay.pricing.prices as p; p.Pricing.load(); sys.exit('genai_prices' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", check], check=False).returncode == 0


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


OWN = """
factor = 0.5

[aliases]
"our-gateway/opus" = "claude-opus-4-8"
"mine-latest" = "Mine"

[models.Mine]
input = 2
output = 8
cache_read = 0.5
provider = "House"

[[models.Mine.tiers]]
above = 1000
input = 4

[models."gpt-5"]
input = 1
output = 1
"""


def test_the_users_prices_come_before_the_tables():
    write(default_price_file(), OWN)
    pricing = Pricing.load()
    assert pricing.factor == 0.5
    mine = pricing.rates("mine-latest")
    assert mine == Rates(
        model="Mine", provider="house", rows=(RateRow(0, 2, 0.5, 2, 2, 8), RateRow(1000, 4, 4, 4, 4, 8))
    )
    assert mine.at(1000).input == 2
    assert mine.at(1001).input == 4
    assert pricing.rates("our-gateway/opus").model == "claude-opus-4-8"
    assert pricing.rates("gpt-5").output == 1
    assert pricing.rates("openai/GPT-5-2025-08-07").output == 1
    assert pricing.rates("mine[1m]") == mine
    assert str(default_price_file()) in pricing.source
    cost = cost_of(pricing, ["mine"] * 2, np.full(2, NOW), [(500, 500, 0, 0, 100), (500, 501, 0, 0, 100)])
    assert cost * 1e6 == pytest.approx([0.5 * (1000 + 250 + 800), 0.5 * (2000 + 2004 + 800)])


def test_prices_of_a_models_introduction_end_on_their_day(tmp_path: Path):
    text = """
[models.mine]
input = 1
output = 4

[[models.mine.from]]
date = 2026-09-01
input = 2
output = 8

[[models.mine.from]]
date = 2026-10-01
input = 3
output = 12
"""
    pricing = Pricing.load(write(tmp_path / "p.toml", text))
    days = ["2026-08-31T23:59:59", "2026-09-01T00:00:00", "2026-09-30T12:00:00", "2027-01-01T00:00:00"]
    times = np.array([datetime.fromisoformat(day).replace(tzinfo=UTC).timestamp() for day in days])
    assert [pricing.rates("mine", time).input for time in times] == [1, 2, 2, 3]
    cost = cost_of(pricing, ["mine"] * 4, times, [(1_000_000, 0, 0, 0, 1_000_000)] * 4)
    assert cost == pytest.approx([5, 10, 10, 15])


def test_the_tables_prices_by_date_and_by_length_are_those_of_the_day_of_the_call():
    """Long prompts of Claude Opus 4.6 cost twice as much as short ones until 13 March 2026, and no more since."""
    before, after = (datetime(2026, 3, day, 12, tzinfo=UTC).timestamp() for day in (12, 13))
    pricing = Pricing(today=NOW)
    rates = pricing.rates("claude-opus-4-6", before)
    assert (rates.at(200_000).input, rates.at(200_001).input, rates.at(200_001).output) == (5, 10, 37.5)
    assert pricing.rates("claude-opus-4-6", after).tiers == ()
    rows = [(0, 200_001, 0, 0, 1_000)] * 2
    cost = cost_of(pricing, ["claude-opus-4-6"] * 2, np.array([before, after]), rows)
    assert cost * 1e6 == pytest.approx([200_001 * 1 + 37_500, 200_001 * 0.5 + 25_000])


def test_a_factor_asked_for_multiplies_the_files_own(tmp_path: Path):
    assert Pricing.load(write(tmp_path / "p.toml", "factor = 0.5"), factor=0.5).factor == 0.25


def test_aliases_in_a_circle_end(tmp_path: Path):
    pricing = Pricing.load(write(tmp_path / "p.toml", '[aliases]\nours = "theirs"\ntheirs = "ours"'))
    assert pricing.rates("ours") is None


def test_no_price_file_is_no_error_unless_one_was_named(tmp_path: Path):
    assert read_price_file() == PriceFile()
    with pytest.raises(PriceFileError, match="name an existing price file"):
        read_price_file(tmp_path / "absent.toml")


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("models = [", "not valid TOML"),
        ("factor = -1", "factor = -1 is not allowed; expected a number of at least 0"),
        ("factor = nan", "factor = nan is not allowed"),
        ("[model.x]\ninput = 1", "has no `model`; valid keys: factor, aliases, models"),
        ("[models.x]\ninput = 1", "models.x: `output` is missing"),
        ("[models.x]\ninput = 1\noutput = '2'", "models.x.output = '2' is not allowed"),
        ("[models.x]\ninput = true\noutput = 2", "models.x.input = True is not allowed"),
        ("[models.x]\ninput = 1\noutput = 2\ncached = 3", "models.x has no `cached`"),
        ("[models.x]\ninput = 1\noutput = 2\n[[models.x.tiers]]\nabove = 0", "tiers[0].above = 0 is not allowed"),
        ("[models.x]\ninput = 1\noutput = 2\ntiers = 3", "models.x.tiers = 3 is not allowed"),
        ("models = 3", "models = 3 is not allowed; expected a table"),
        ("[aliases]\nx = 3", "aliases.x = 3 is not allowed"),
        ("[models.x]\ninput = 1\noutput = 2\nfrom = 3", "models.x.from = 3 is not allowed"),
        ("[models.x]\ninput = 1\noutput = 2\n[[models.x.from]]\ninput = 2", "models.x.from[0].date = None is not"),
        ("[models.x]\ninput = 1\noutput = 2\ninput_audio = '2'", "models.x.input_audio = '2' is not allowed"),
    ],
)
def test_a_wrong_price_file_is_refused_in_one_line_that_says_what_is_wrong(tmp_path: Path, text: str, part: str):
    path = write(tmp_path / "p.toml", text)
    with pytest.raises(PriceFileError) as caught:
        read_price_file(path)
    assert part in caught.value.message
    assert str(path) in caught.value.message
    assert "\n" not in caught.value.message


def test_a_model_name_is_taken_apart():
    parts = parse_model_name("OpenRouter/Anthropic/Claude-Opus-4.8-20260401:thinking [1m]")
    assert parts.route == ("openrouter", "anthropic")
    assert parts.name == "claude-opus-4.8"
    assert parse_model_name("") == ((), "", "", False)


@pytest.mark.parametrize(
    ("name", "family", "version"),
    [
        ("claude-opus-4-8", "opus", (4, 8)),
        ("claude-opus-4.8", "opus", (4, 8)),
        ("claude-4-8-opus", "opus", (4, 8)),
        ("claude-opus-5", "opus", (5, 0)),
        ("claude-opus-4-20250514", "opus", (4, 0)),
        ("gpt-5.6-sol", "gpt", (5, 6)),
        ("gpt-4o", "gpt", (4, 0)),
        ("claude-opus", "opus", None),
        ("corpus-5", "opus", None),
    ],
)
def test_a_version_is_read_from_a_name(name: str, family: str, version: tuple[int, int] | None):
    assert model_version(name, family) == version


def test_money_is_exact_to_the_cent_over_many_calls():
    """Floats instead of decimals: fifty thousand calls stay far below a cent of the exact sum."""
    generator = np.random.default_rng(7)
    rows = generator.integers(0, 90_000, (50_000, 5))
    cost = cost_of(Pricing(today=NOW), ["claude-opus-4-8"] * len(rows), np.full(len(rows), NOW), rows)
    rate = Pricing(today=NOW).rates("claude-opus-4-8").rows[0]
    exact = sum(
        Decimal(int(total)) * Decimal(str(price)) for total, price in zip(rows.sum(axis=0), rate[1:], strict=True)
    )
    assert abs(float(cost.sum()) - float(exact / 1_000_000)) < CENT
