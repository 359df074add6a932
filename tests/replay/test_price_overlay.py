"""Prices that the installed table lacks: their values, and that a newer table's own entry replaces each of them."""

from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest
from genai_prices.data_snapshot import get_snapshot
from genai_prices.types import (
    ClauseEquals,
    ConditionalPrice,
    ModelInfo,
    ModelPrice,
    PriceVariant,
    Provider,
    StartDateConstraint,
)

from inspector.replay.cache.prompt_usage import PromptUsage
from inspector.replay.engine.inputs import ReplayInputs
from inspector.replay.engine.replay import replay
from inspector.replay.pricing import prices
from inspector.replay.pricing.price_tables import (
    ADDED_MODELS,
    EARLIER_PRICES,
    TIERS_LISTED_FROM,
    AddedModel,
    EarlierPrice,
    ListedModel,
    with_overlay,
)
from inspector.replay.pricing.prices import Pricing
from inspector.replay.pricing.rates import SURCHARGES, Rates
from inspector.session.billing_terms import BillingTerms
from inspector.session.open import open_session
from inspector.strategies.history.history import History
from inspector.strategies.plan import Plan
from inspector.tokens.token_table import TokenTable


def day(year: int, month: int, day_of_month: int) -> float:
    return datetime(year, month, day_of_month, 12, tzinfo=UTC).timestamp()


NOW = day(2026, 11, 28)


def rates(model: str, time: float = NOW, speed: str = "", tier: str = "") -> Rates:
    found = Pricing(today=NOW).rates(model, time, BillingTerms(speed=speed, tier=tier).code)
    assert found is not None
    return found


def prices_of(model: str, time: float = NOW, speed: str = "", tier: str = "") -> tuple[float, ...]:
    """Return input, reads, short writes, long writes and output in dollars per million tokens."""
    return tuple(round(price, 9) for price in rates(model, time, speed, tier).rows[0][1:])


def table() -> dict[str, Provider]:
    return {provider.id: provider for provider in get_snapshot().providers}


def found_in(providers: list[Provider], provider: str, model: str) -> ModelInfo:
    (mine,) = (each for each in providers if each.id == provider)
    found = mine.find_model(model)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        ("claude-fable-5-2", (8, 0.2, 10, 16, 40)),
        ("claude-mythos-5-2", (8, 0.2, 10, 16, 40)),
        ("claude-opus-5-5", (4, 0.2, 5, 8, 20)),
        ("claude-sonnet-5-5", (2, 0.1, 2.5, 4, 10)),
        ("claude-haiku-5-5", (0.1, 0.01, 0.125, 0.2, 0.5)),
        ("gpt-6.1-sol", (2, 0.1, 2.5, 2.5, 10)),
        ("gpt-6.2-sol", (2, 0.1, 2.5, 5, 10)),
    ],
)
def test_the_models_of_this_autumn_cost_their_list_price(model: str, expected: tuple[float, ...]) -> None:
    assert prices_of(model) == pytest.approx(expected)


def test_a_long_request_pays_the_higher_price_for_every_token() -> None:
    """Haiku 5.5 costs five times as much over 100,000; GPT-6.1 and 6.2 Sol twice in and 1.5 times out over 272,000."""
    cost = {
        model: Pricing(today=NOW)
        .call_rates([model] * 2, np.full(2, NOW))
        .cost(
            PromptUsage(
                np.array([start - 60_000, start - 60_000 + 1]),
                np.full(2, 50_000),
                np.full(2, 10_000),
                np.zeros(2, dtype=np.int64),
            ),
            np.full(2, 1_000),
        )
        for model, start in (("claude-haiku-5-5", 100_000), ("gpt-6.1-sol", 272_000), ("gpt-6.2-sol", 272_000))
    }
    haiku = [
        40_000 * 0.1 + 50_000 * 0.01 + 10_000 * 0.125 + 1_000 * 0.5,
        40_001 * 0.5 + 50_000 * 0.05 + 10_000 * 0.625 + 1_000 * 2.5,
    ]
    sol = [
        212_000 * 2 + 50_000 * 0.1 + 10_000 * 2.5 + 1_000 * 10,
        212_001 * 4 + 50_000 * 0.2 + 10_000 * 5 + 1_000 * 15,
    ]
    assert cost["claude-haiku-5-5"] * 1e6 == pytest.approx(haiku)
    assert cost["gpt-6.1-sol"] * 1e6 == pytest.approx(sol)
    assert cost["gpt-6.2-sol"] * 1e6 == pytest.approx(sol)


def test_a_twelve_hour_write_of_gpt_6_2_sol_costs_twice_a_thirty_minute_write() -> None:
    assert (rates("gpt-6.2-sol").cache_write_5m, rates("gpt-6.2-sol").cache_write_1h) == (2.5, 5)
    assert rates("gpt-6.2-sol").tiers[0].cache_write_1h == 10


def test_service_tiers_of_gpt_6_2_sol_are_multiples_and_ultrafast_doubles_in_march() -> None:
    assert prices_of("gpt-6.2-sol", tier="fast") == (4, 0.2, 5, 10, 20)
    assert prices_of("gpt-6.2-sol", tier="priority") == prices_of("gpt-6.2-sol", tier="fast")
    assert prices_of("gpt-6.2-sol", tier="batch") == (1, 0.05, 1.25, 2.5, 5)
    assert prices_of("gpt-6.2-sol", day(2027, 2, 28), tier="ultrafast") == (6, 0.3, 7.5, 15, 30)
    assert prices_of("gpt-6.2-sol", day(2027, 3, 1), tier="ultrafast") == (12, 0.6, 15, 30, 60)
    assert prices_of("gpt-6-astra", tier="ultrafast")[0] == 60


@pytest.mark.parametrize(
    "written",
    [
        "gpt-6-2-sol",
        "openai/gpt-6.2-sol",
        "openrouter/openai/gpt-6.2-sol",
        "gpt-6.2-sol-2026-11-17",
        "gpt-6.2-sol-high",
    ],
)
def test_an_added_model_is_found_under_every_name(written: str) -> None:
    assert (rates(written).model, rates(written).provider) == ("gpt-6.2-sol", "openai")


def test_an_added_model_has_a_window() -> None:
    assert Pricing(today=NOW).listed_window("gpt-6.2-sol") == 1_050_000


def test_reads_of_sonnet_5_5_cost_twice_as_much_before_7_october() -> None:
    assert prices_of("claude-sonnet-5-5", day(2026, 10, 6)) == (2, 0.2, 2.5, 4, 10)
    assert prices_of("claude-sonnet-5-5", day(2026, 10, 7)) == (2, 0.1, 2.5, 4, 10)


def test_fast_mode_of_opus_4_6_and_4_7_costs_six_times_the_price_of_the_day() -> None:
    assert prices_of("claude-opus-4-6", speed="fast") == (30, 3, 37.5, 60, 150)
    assert prices_of("anthropic/claude-opus-4.7-fast") == (30, 3, 37.5, 60, 150)
    long = rates("claude-opus-4-6", day(2026, 3, 1), speed="fast").at(200_001)
    assert (long.input, long.output) == (60, 225)
    assert rates("claude-opus-4-6", speed="fast").unpriced == ()


def test_a_tier_of_openai_costs_the_same_multiple_before_the_table_lists_it() -> None:
    """GPT-5.6 Sol cost 5 in and 30 out until 21 August, then 4 and 20; priority costs twice as much."""
    for time, input_price, output in ((day(2026, 8, 1), 10, 60), (day(2026, 9, 1), 8, 40), (day(2026, 11, 1), 8, 40)):
        found = prices_of("gpt-5.6-sol", time, tier="priority")
        assert (found[0], found[-1]) == (input_price, output)
    assert prices_of("gpt-5.5", day(2026, 10, 5), tier="priority")[0] == 12.5


def test_fast_mode_behind_the_name_of_an_openai_model_costs_its_fast_tier() -> None:
    assert prices_of("gpt-5.5-fast", day(2026, 10, 5)) == prices_of("gpt-5.5", day(2026, 10, 5), tier="fast")
    assert rates("gpt-5.5-fast").terms == "fast"


def test_every_entry_names_its_source_and_the_day_it_was_read() -> None:
    for each in (*ADDED_MODELS, *EARLIER_PRICES, *SURCHARGES):
        date.fromisoformat(each.source.rpartition("(")[2].removesuffix(")"))


@pytest.mark.parametrize("added", ADDED_MODELS, ids=lambda added: added.model)
def test_an_added_model_is_ignored_once_the_table_has_it(added: AddedModel) -> None:
    lacking = table()[added.provider]
    assert lacking.find_model(added.model) is None, "the installed table has it: remove the entry"
    theirs = ModelInfo(added.model, ClauseEquals(added.model), prices=ModelPrice(input_mtok=Decimal(99)))
    having = replace(lacking, models=[*lacking.models, theirs])
    assert found_in(with_overlay([lacking]), added.provider, added.model).context_window == added.window
    assert found_in(with_overlay([having]), added.provider, added.model) is theirs


@pytest.mark.parametrize("earlier", EARLIER_PRICES, ids=lambda earlier: earlier.model)
def test_an_earlier_price_is_ignored_once_the_table_has_a_date_or_another_price(earlier: EarlierPrice) -> None:
    provider = table()[earlier.provider]
    undated = provider.find_model(earlier.model)
    assert undated is not None
    assert isinstance(undated.prices, ModelPrice), "the installed table has the change: remove the entry"
    patched = found_in(with_overlay([provider]), earlier.provider, earlier.model)
    before = datetime(2026, 10, 6, 23, 59, tzinfo=UTC)
    assert getattr(patched.get_prices(before), earlier.key) == earlier.before
    theirs = [
        ConditionalPrice(prices=ModelPrice(cache_read_mtok=Decimal("0.3"))),
        ConditionalPrice(StartDateConstraint(earlier.day), prices=undated.prices),
    ]
    other = ModelPrice(cache_read_mtok=Decimal("0.05"))
    for newer in (theirs, other):
        models = [replace(each, prices=newer) if each.id == earlier.model else each for each in provider.models]
        found = found_in(with_overlay([replace(provider, models=models)]), earlier.provider, earlier.model)
        assert found.prices is newer


def test_tiers_keep_the_tables_dates_once_it_lists_them_from_another_day() -> None:
    openai = table()["openai"]
    info = openai.find_model("gpt-5.5")
    assert info is not None
    assert info.price_variants
    assert any(each.constraint == StartDateConstraint(TIERS_LISTED_FROM) for each in info.price_variants)
    newer = [
        PriceVariant(
            {"service_tier": "priority"}, ModelPrice(input_mtok=Decimal(7)), StartDateConstraint(date(2026, 5, 1))
        )
    ]
    models = [replace(each, price_variants=newer) if each is info else each for each in openai.models]
    assert found_in(with_overlay([replace(openai, models=models)]), "openai", "gpt-5.5").price_variants is newer


def test_a_factor_is_ignored_once_the_table_lists_the_term(monkeypatch: pytest.MonkeyPatch) -> None:
    assert prices_of("claude-opus-4-6", speed="fast")[0] == 30
    info = table()["anthropic"].find_model("claude-opus-4-6")
    assert info is not None
    newer = replace(
        info,
        price_variants=[PriceVariant({"speed": "fast"}, ModelPrice(input_mtok=Decimal(7), output_mtok=Decimal(8)))],
    )
    monkeypatch.setattr(prices, "listed_model", lambda _: ListedModel("anthropic", "claude-opus-4-6", False, newer))
    assert prices_of("claude-opus-4-6", speed="fast")[0] == 7


def test_the_overlay_leaves_the_librarys_own_table_alone() -> None:
    before = [(provider.id, [id(info) for info in provider.models]) for provider in get_snapshot().providers]
    with_overlay(get_snapshot().providers)
    assert before == [(provider.id, [id(info) for info in provider.models]) for provider in get_snapshot().providers]


@pytest.mark.parametrize(
    "model", ["anthropic/claude-haiku-4.5:free", "qwen/qwen3-coder:free", "openrouter/x/unknown:free"]
)
def test_a_name_that_ends_in_free_costs_nothing(model: str) -> None:
    assert prices_of(model) == (0, 0, 0, 0, 0)
    assert rates(model).unpriced == ()
    assert Pricing(today=NOW).lacking([model]) == ""


@pytest.mark.parametrize(
    ("model", "as_much_as"),
    [
        ("anthropic/claude-sonnet-5.5:nitro", "claude-sonnet-5-5"),
        ("anthropic/claude-sonnet-5.5:floor", "claude-sonnet-5-5"),
        ("openai/gpt-5.5:exacto", "gpt-5.5"),
        ("openai/gpt-5.5:max", "gpt-5.5"),
    ],
)
def test_an_ending_that_selects_a_route_or_an_effort_leaves_the_price(model: str, as_much_as: str) -> None:
    assert rates(model).rows == rates(as_much_as).rows
    assert Pricing(today=NOW).priced_as(model) == ""


def test_endings_that_change_the_bill_are_priced_or_named() -> None:
    assert prices_of("anthropic/claude-sonnet-5.5:batch") == (1, 0.05, 1.25, 2, 5)
    assert rates("openrouter/anthropic/claude-sonnet-5.5:batch").input == 1
    assert rates("anthropic/claude-sonnet-5.5:online").unpriced == ("online",)


@pytest.mark.parametrize("name", ["09", "10"])
def test_a_session_of_a_free_model_costs_nothing_and_says_so_exactly(shared: Path, name: str) -> None:
    session = open_session(shared / "cases" / "26b-name-endings" / f"{name}.jsonl")
    inputs = ReplayInputs.of(History.of(session), TokenTable.estimated(session), pricing=Pricing(today=NOW))
    figure = replay(inputs, Plan()).figures.cost_usd
    assert figure.value == 0
    assert not figure.is_lower_bound
    assert not inputs.lacks_prices


@pytest.mark.parametrize(
    ("name", "dollars"),
    [("00", 50_000 * 10 + 500 * 50), ("02", 50_000 * 12.5 + 500 * 75), ("04", 50_000 * 5 + 500 * 30)],
)
def test_a_session_of_a_name_with_an_ending_costs_what_the_ending_selects(
    shared: Path, name: str, dollars: float
) -> None:
    session = open_session(shared / "cases" / "26b-name-endings" / f"{name}.jsonl")
    call = session.calls[0]
    found = Pricing(today=NOW).rates(call.model, call.time, call.terms)
    assert found is not None
    assert call.usage is not None
    assert call.usage.uncached * found.input + call.usage.output * found.output == pytest.approx(dollars)
