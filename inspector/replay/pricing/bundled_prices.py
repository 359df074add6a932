"""Price lookup in the bundled genai-prices table with the package's overlay, by model and date; always offline.

The package takes 0.2 s to import, so it is imported at the first lookup. Its rules apply: `LookupError` means no price,
a token kind without a rate costs the next more general kind's rate (a cache write costs input), and a tier applies to
the whole call.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import cache
from typing import TYPE_CHECKING

from inspector.replay.pricing.price_overlay import with_overlay
from inspector.replay.pricing.rates import MediaRate, RateRow, Rates
from inspector.session.billing_terms import CACHE_READ, INPUT, MEDIA, OUTPUT
from inspector.tokens.model_names import parse_model_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from decimal import Decimal

    from genai_prices.data_snapshot import DataSnapshot
    from genai_prices.types import ModelInfo, ModelPrice, Provider, TieredPrices

_ROUTES = {
    "anthropic": "anthropic",
    "aws": "aws",
    "azure": "azure",
    "azure_ai": "azure",
    "bedrock": "aws",
    "copilot": "github-copilot",
    "gemini": "google",
    "google": "google",
    "google-vertex": "google",
    "models": "google",
    "vertex": "google",
    "vertex_ai": "google",
    "xai": "x-ai",
    "z-ai": "zai",
}
"""Route prefixes before a model's name that differ from the provider ids of the price table."""

FAST = "fast"
"""The speed that gateways append to a model's name: `anthropic/claude-opus-4.8-fast`, `gpt-5.5-fast`."""


@dataclass(frozen=True)
class ListedModel:
    """A model found in the price table.

    Attributes:
        provider: The provider's id.
        model: The model's id.
        changes_within_day: True if the price depends on the time of day, in addition to the date.
    """

    provider: str
    model: str
    changes_within_day: bool
    _info: ModelInfo

    @property
    def window(self) -> int | None:
        """The context window in tokens, None if not listed."""
        return self._info.context_window

    def has_price_for(self, key: str, value: str, time: float) -> bool:
        """Return True if the table has a separate price for a context such as `speed` `fast`, at a time."""
        timestamp = datetime.fromtimestamp(time, UTC)
        return any(
            variant.when.get(key) == value and (variant.constraint is None or variant.constraint.active(timestamp))
            for variant in self._info.price_variants or ()
        )

    def rates(self, time: float, context: Mapping[str, str] | None = None) -> Rates | None:
        """Return the rates at a time, or None if the table has neither an input nor an output price.

        Args:
            time: Seconds since the epoch.
            context: Non-default request settings, in the table's terms.
        """
        price = self._info.get_prices(datetime.fromtimestamp(time, UTC), dict(context) if context else None)
        if price.input_mtok is None and price.output_mtok is None:
            return None
        searches = price.web_searches_kcount
        return Rates(
            self.model,
            self.provider,
            tuple(_rows(price)),
            _per_call(price),
            media=tuple(_media(price)),
            web_search=None if searches is None else _at(searches, None) / 1000,
        )


@cache
def listed_model(model: str) -> ListedModel | None:
    """Find the model of a recorded name, ignoring provider, region, date and context window in the name."""
    from genai_prices.types import TimeOfDateConstraint

    snapshot = _snapshot()
    for provider_id, reference in _candidates(model):
        try:
            provider, info = snapshot.find_provider_model(reference, None, provider_id, None)
        except LookupError:
            continue
        conditions = info.prices if isinstance(info.prices, list) else []
        within_day = any(isinstance(condition.constraint, TimeOfDateConstraint) for condition in conditions)
        return ListedModel(provider.id, info.id, within_day, info)
    return None


def closest_known(model: str, most: int = 3) -> str:
    """Return `closest known: claude-opus-5, claude-opus-5-5`; empty if no name in the table is close."""
    names = nearest_names(model, most)
    return f"closest known: {', '.join(names)}" if names else ""


def nearest_names(model: str, most: int = 3) -> tuple[str, ...]:
    """Return the closest names in the table, the closest first, in a form that `listed_model` finds."""
    name = parse_model_name(model).name
    if not name:
        return ()
    names = _names()
    longer = sorted((other for other in names if other.startswith(name)), key=len)
    shorter = sorted((other for other in names if name.startswith(other + "-")), key=len, reverse=True)
    close = longer or shorter or difflib.get_close_matches(name, names, n=most)
    return tuple(names[each] for each in close[:most])


@cache
def models_of_provider(provider: str) -> tuple[str, ...]:
    """Return the ids of a provider's models in the table; empty for an unknown provider."""
    return tuple(info.id for each in _providers() if each.id == provider for info in each.models)


@cache
def table_source() -> str:
    """Describe the table: package, version and the newest price change that has taken effect."""
    from importlib.metadata import version

    today = datetime.now(UTC).date()
    newest = max((day for day in _change_dates() if day <= today), default=None)
    known = f", latest price change {newest.isoformat()}" if newest else ""
    return f"genai-prices {version('genai-prices')}{known}"


def _candidates(model: str) -> Iterator[tuple[str | None, str]]:
    """Yield provider and reference pairs to look up, closest to the recorded name first."""
    parts = parse_model_name(model)
    yield None, model
    segments = (*parts.route, parts.as_served)
    for position, segment in enumerate(parts.route):
        rest = segments[position + 1 :]
        for reference in dict.fromkeys(("/".join(rest), "/".join((*rest[:-1], parts.name)))):
            yield _ROUTES.get(segment, segment), reference
    if parts.on_bedrock:
        yield "aws", parts.as_served
    yield None, parts.as_served
    yield None, parts.name
    if parts.name.startswith(("claude-", "gpt-")):
        yield None, parts.name.removesuffix(f"-{FAST}")


def _rows(price: ModelPrice) -> Iterator[RateRow]:
    """Yield a row for every prompt length at which a price changes."""
    from genai_prices.types import TieredPrices

    input_price = price.input_mtok
    general_write = price.cache_write_mtok if price.cache_write_mtok is not None else input_price
    columns = (
        input_price,
        price.cache_read_mtok if price.cache_read_mtok is not None else input_price,
        price.cache_write_5m_mtok if price.cache_write_5m_mtok is not None else general_write,
        price.cache_write_1h_mtok if price.cache_write_1h_mtok is not None else general_write,
        price.output_mtok,
    )
    starts = sorted({tier.start for column in columns if isinstance(column, TieredPrices) for tier in column.tiers})
    yield RateRow(0, *(_at(column, None) for column in columns))
    for above in starts:
        yield RateRow(above, *(_at(column, above) for column in columns))


def _media(price: ModelPrice) -> Iterator[MediaRate]:
    """Yield the prices of media tokens that differ from text, for short prompts."""
    for kind in MEDIA:
        for served, key in ((INPUT, f"input_{kind}"), (CACHE_READ, f"cache_{kind}_read"), (OUTPUT, f"output_{kind}")):
            found: Decimal | TieredPrices | None = getattr(price, f"{key}_mtok", None)
            if found is not None:
                yield MediaRate(kind, served, _at(found, None))


def _at(price: Decimal | TieredPrices | None, above: int | None) -> float:
    """Return dollars per million tokens for prompts just longer than `above` tokens, or below every tier."""
    if price is None:
        return 0.0
    from genai_prices.types import TieredPrices

    if not isinstance(price, TieredPrices):
        return float(price)
    reached = [tier.price for tier in price.tiers if above is not None and above >= tier.start]
    return float(reached[-1] if reached else price.base)


def _per_call(price: ModelPrice) -> float:
    value = price.requests_kcount
    return 0.0 if value is None else _at(value, None) / 1000


@cache
def _names() -> dict[str, str]:
    """Map every model id without route to a name that `listed_model` finds."""
    names: dict[str, str] = {}
    for provider in _providers():
        for info in provider.models:
            short = info.id.lower().rsplit("/", 1)[-1]
            if short not in names:
                names[short] = short if listed_model(short) else f"{provider.id}/{info.id}"
    return names


@cache
def _change_dates() -> frozenset[date]:
    from genai_prices.types import StartDateConstraint

    return frozenset(
        condition.constraint.start_date
        for provider in _providers()
        for info in provider.models
        if isinstance(info.prices, list)
        for condition in info.prices
        if isinstance(condition.constraint, StartDateConstraint)
    )


def _providers() -> list[Provider]:
    return _snapshot().providers


@cache
def _snapshot() -> DataSnapshot:
    from genai_prices.data_snapshot import DataSnapshot, get_snapshot

    return DataSnapshot(with_overlay(get_snapshot().providers), from_auto_update=False)
