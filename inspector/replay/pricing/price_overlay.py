"""Prices that the bundled table lacks or dates wrongly, each with its source and the date it was read.

An entry is written in the table's own types, so names, tiers and dates resolve as in the table. It applies only while
the installed table lacks it: a newer table that has the model, the change or the date wins. Factors for billing terms
without a table entry are in `inspector.replay.pricing.surcharges`.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

    from genai_prices.types import ConditionalPrice, ModelInfo, ModelPrice, PriceVariant, Provider, TieredPrices


class LongPrompts(NamedTuple):
    """The price cliff of long prompts: every token of the request costs a multiple.

    Attributes:
        above: Tokens in the prompt.
        prompt: Factor on input, cache reads and cache writes.
        output: Factor on output.
    """

    above: int
    prompt: Decimal
    output: Decimal


class TierFactor(NamedTuple):
    """Factor of a service tier on every price, from its start day; None if it has always applied."""

    tier: str
    factor: Decimal
    start: date | None = None


class AddedModel(NamedTuple):
    """A model that the table lacks, in dollars per million tokens.

    Attributes:
        provider: The provider's id in the table.
        model: The model's id.
        window: Context window in tokens.
        input: Uncached input.
        cache_read: Input read from the cache.
        cache_write: Input written to the cache, with the shortest lifetime.
        cache_write_long: Input written to the cache with the provider's long lifetime.
        output: Output.
        long_prompts: The cliff; None if the price does not depend on length.
        tiers: Service tiers. Two entries for the same tier are ordered by start, the later one first.
        source: Source, with the date it was read.
    """

    provider: str
    model: str
    window: int
    input: Decimal
    cache_read: Decimal
    cache_write: Decimal
    cache_write_long: Decimal
    output: Decimal
    long_prompts: LongPrompts | None
    tiers: tuple[TierFactor, ...]
    source: str


class EarlierPrice(NamedTuple):
    """A price that the table lists without the date it began.

    Attributes:
        provider: The provider's id in the table.
        model: The model's id.
        key: The price in the table's terms.
        before: Dollars per million tokens before `day`.
        after: Dollars per million tokens from `day` on, as in the table.
        day: Day of the change.
        source: Source, with the date it was read.
    """

    provider: str
    model: str
    key: str
    before: Decimal
    after: Decimal
    day: date
    source: str


ADDED_MODELS = (
    AddedModel(
        "openai",
        "gpt-6.2-sol",
        1_050_000,
        input=Decimal(2),
        cache_read=Decimal("0.1"),
        cache_write=Decimal("2.5"),
        cache_write_long=Decimal(5),
        output=Decimal(10),
        long_prompts=LongPrompts(272_000, Decimal(2), Decimal("1.5")),
        tiers=(
            TierFactor("fast", Decimal(2)),
            TierFactor("priority", Decimal(2)),
            TierFactor("ultrafast", Decimal(6), date(2027, 3, 1)),
            TierFactor("ultrafast", Decimal(3)),
        ),
        source="OpenAI, model page of GPT-6.2 Sol: writes for 30 minutes and for 12 hours (2026-11-28)",
    ),
)

EARLIER_PRICES = (
    EarlierPrice(
        "anthropic",
        "claude-sonnet-5-5",
        "cache_read_mtok",
        before=Decimal("0.2"),
        after=Decimal("0.1"),
        day=date(2026, 10, 7),
        source="Anthropic, pricing: reads of Sonnet 5.5 cost 0.05 x input since 7 October, 0.1 x before (2026-11-28)",
    ),
)

TIERS_LISTED_FROM = date(2026, 10, 12)
"""First day for which the table lists OpenAI's service tiers.

The tiers are older, at the same multiples of the standard price (OpenAI, API priority processing and API fast mode,
2026-11-28), so calls before that day are priced the same way.
"""


def with_overlay(providers: list[Provider]) -> list[Provider]:
    """Return the table's providers with the missing entries added; the arguments are not changed."""
    return [replace(provider, models=list(_models_of(provider))) for provider in providers]


def _models_of(provider: Provider) -> Iterator[ModelInfo]:
    for info in provider.models:
        for earlier in EARLIER_PRICES:
            if (earlier.provider, earlier.model) == (provider.id, info.id):
                info = _with_earlier_price(info, earlier)
        yield _with_older_tiers(info) if provider.id == "openai" else info
    for added in ADDED_MODELS:
        if added.provider == provider.id and provider.find_model(added.model) is None:
            yield _added(added)


def _added(added: AddedModel) -> ModelInfo:
    from genai_prices.types import ClauseRegex, ModelInfo, ModelPrice, PriceVariant, StartDateConstraint

    prices = {
        "input_mtok": added.input,
        "cache_read_mtok": added.cache_read,
        "cache_write_mtok": added.cache_write,
        "cache_write_1h_mtok": added.cache_write_long,
        "output_mtok": added.output,
    }
    variants = [
        PriceVariant(
            {"service_tier": tier.tier},
            ModelPrice(**{key: _tiered(key, price * tier.factor, added.long_prompts) for key, price in prices.items()}),
            None if tier.start is None else StartDateConstraint(tier.start),
        )
        for tier in added.tiers
    ]
    standard = ModelPrice(**{key: _tiered(key, price, added.long_prompts) for key, price in prices.items()})
    match = ClauseRegex(rf"^{added.model.replace('.', '[.-]')}(-\d{{4}}-\d{{2}}-\d{{2}})?$")
    return ModelInfo(added.model, match, context_window=added.window, prices=standard, price_variants=variants)


def _tiered(key: str, price: Decimal, cliff: LongPrompts | None) -> Decimal | TieredPrices:
    from genai_prices.types import Tier, TieredPrices

    if cliff is None:
        return price
    factor = cliff.output if key == "output_mtok" else cliff.prompt
    return TieredPrices(price, [Tier(cliff.above, price * factor)])


def _with_earlier_price(info: ModelInfo, earlier: EarlierPrice) -> ModelInfo:
    """Add the price before a change, unless the table has the change or another price."""
    from genai_prices.types import ConditionalPrice, ModelPrice, StartDateConstraint

    day = datetime.combine(earlier.day, datetime.min.time(), UTC)
    listed = [info.get_prices(timestamp) for timestamp in (day - timedelta(days=1), day)]
    if not isinstance(info.prices, ModelPrice) or any(getattr(each, earlier.key) != earlier.after for each in listed):
        return info
    before = ModelPrice(**{**info.prices.__dict__, earlier.key: earlier.before})
    dated = [ConditionalPrice(prices=before), ConditionalPrice(StartDateConstraint(earlier.day), prices=info.prices)]
    return replace(info, prices=dated)


def _with_older_tiers(info: ModelInfo) -> ModelInfo:
    """Extend service tiers to the days before the table lists them, at the same multiples of the standard price."""
    variants = info.price_variants or []
    if not any(_is_listed_late(variant) for variant in variants):
        return info
    extended: list[PriceVariant] = []
    for variant in variants:
        extended.extend(_older(variant, info) if _is_listed_late(variant) else (variant,))
    return replace(info, price_variants=extended)


def _is_listed_late(variant: PriceVariant) -> bool:
    start = getattr(variant.constraint, "start_date", None)
    return "service_tier" in variant.when and start == TIERS_LISTED_FROM


def _older(variant: PriceVariant, info: ModelInfo) -> Iterator[PriceVariant]:
    """Yield a tier's prices for each period of the standard price, the latest first, as the table resolves them."""
    from genai_prices.types import ModelPrice

    if isinstance(info.prices, ModelPrice):
        yield replace(variant, constraint=None)
        return
    yield variant
    reference = info.get_prices(datetime.combine(TIERS_LISTED_FROM, datetime.min.time(), UTC))
    for period in reversed(info.prices):
        if _begins_before_tiers(period):
            yield replace(
                variant, prices=_scaled(variant.prices, period.prices, reference), constraint=period.constraint
            )


def _begins_before_tiers(period: ConditionalPrice) -> bool:
    start = getattr(period.constraint, "start_date", None)
    return period.constraint is None or (start is not None and start < TIERS_LISTED_FROM)


def _scaled(tier: ModelPrice, standard: ModelPrice, reference: ModelPrice) -> ModelPrice:
    """Scale a tier's prices to another standard price; kinds of tokens without that price are omitted."""
    from genai_prices.types import ModelPrice, Tier, TieredPrices

    prices: dict[str, Decimal | TieredPrices | None] = {}
    for key, price in tier.__dict__.items():
        ours, theirs = (_base(getattr(each, key)) for each in (standard, reference))
        if price is None or ours is None or not theirs:
            continue
        factor = ours / theirs
        if isinstance(price, TieredPrices):
            tiers = [Tier(each.start, each.price * factor) for each in price.tiers]
            prices[key] = TieredPrices(price.base * factor, tiers)
        else:
            prices[key] = price * factor
    return ModelPrice(**prices)


def _base(price: Decimal | TieredPrices | None) -> Decimal | None:
    from genai_prices.types import TieredPrices

    return price.base if isinstance(price, TieredPrices) else price
