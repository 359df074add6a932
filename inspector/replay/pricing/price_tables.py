"""Price lookup in the bundled genai-prices table with the package's overlay, by model and date; always offline.

The package takes 0.2 s to import, so it is imported at the first lookup. Its rules apply: `LookupError` means no price,
a token kind without a rate costs the next more general kind's rate (a cache write costs input), and a tier applies to
the whole call.

Prices that the bundled table lacks or dates wrongly, each with its source and the date it was read.

An entry is written in the table's own types, so names, tiers and dates resolve as in the table. It applies only while
the installed table lacks it: a newer table that has the model, the change or the date wins. Factors for billing terms
without a table entry are in `inspector.replay.pricing.rates`.

Read the user's price file: prices missing from the bundled table or overriding it, model aliases, a discount.

It is TOML, by default `prices.toml` in this platform's settings folder:

    factor = 0.5                       # everything at half price, as in a batch

    [aliases]
    "house-model" = "claude-opus-4-8"  # price this name as that one

    [models."gpt-5.3-codex-spark"]     # dollars per million tokens, for any route or date around the name
    input = 1.75
    output = 14
    cache_read = 0.175                 # default: the price of `input`
    cache_write_5m = 1.75              # default: the price of `input`
    cache_write_1h = 1.75              # default: the price of `cache_write_5m`
    window = 200000                    # context window in tokens; default: the bundled table's.
                                       # A model with only a window keeps the table's prices

    input_audio = 40                   # also output_audio, cache_read_audio, and the same for image and video.
                                       # Defaults: images cost the same as text, audio has no known price

    [[models."gpt-5.3-codex-spark".tiers]]
    above = 272000                     # prompts longer than this pay these rates for every token
    input = 3.5
    output = 21

    [[models."gpt-5.3-codex-spark".from]]
    date = 2026-12-01                  # calls from this day on (UTC) pay these rates: introductory prices end
    input = 2.5
    output = 20

    [terms]                            # surcharges, by the name that the records use
    fast = 6                           # factor on every token price
    web_search = 0.01                  # dollars per search made by the provider
    code_execution = 0.004             # dollars per code execution by the provider
"""

from __future__ import annotations

import difflib
import math
import tomllib
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

import platformdirs

from inspector.atomic_files import APPLICATION
from inspector.errors import InspectorError
from inspector.replay.pricing.rates import DatedRates, MediaRate, RateRow, Rates
from inspector.session.billing_terms import CACHE_READ, INPUT, MEDIA, OUTPUT
from inspector.session.files import is_file
from inspector.tokens.model_names import parse_model_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from genai_prices.data_snapshot import DataSnapshot
    from genai_prices.types import ConditionalPrice, ModelInfo, ModelPrice, PriceVariant, Provider, TieredPrices


class LongPrompts(NamedTuple):
    """The price cliff of prompts above a size: factors on every token of the prompt, and on the output."""

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
        window: Context window in tokens.
        input: Uncached input.
        cache_read: Input read from the cache.
        cache_write: Input written to the cache, with the shortest lifetime.
        cache_write_long: Input written to the cache with the provider's long lifetime.
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
    """A model found in the price table; its price may depend on the time of day, in addition to the date."""

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
        """Return the rates at a time, seconds since the epoch; None without an input and an output price."""
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


_RATE_KEYS = ("input", "cache_read", "cache_write_5m", "cache_write_1h", "output")
_MEDIA_KEYS = {f"{served}_{kind}": (kind, served) for kind in MEDIA for served in (INPUT, CACHE_READ, OUTPUT)}
_MODEL_KEYS = (*_RATE_KEYS, *_MEDIA_KEYS, "tiers")


class PriceFileError(InspectorError):
    """An unusable price file; the one-line message names the place, the wrong value and the valid ones."""

    advice = "fix or remove the price file"


@dataclass(frozen=True)
class PriceFile:
    """Contents of a price file.

    Attributes:
        path: The file; None if there is none.
        models: Rates by model name in lower case.
        aliases: Model name by alias, both in lower case.
        windows: Context windows in tokens by model name in lower case.
        factor: Factor on every price.
        terms: Factors by name of the term in lower case, and dollars per `web_search` and `code_execution`.
        date: Day of the file's last change, empty if there is none.
    """

    path: Path | None = None
    models: Mapping[str, DatedRates] = field(default_factory=dict)
    aliases: Mapping[str, str] = field(default_factory=dict)
    windows: Mapping[str, int] = field(default_factory=dict)
    factor: float = 1.0
    terms: Mapping[str, float] = field(default_factory=dict)
    date: str = ""


def default_price_file() -> Path:
    return platformdirs.user_config_path(APPLICATION) / "prices.toml"


def read_price_file(path: Path | None = None) -> PriceFile:
    """Read a price file, by default the user's, which need not exist; raise `PriceFileError` if it is invalid."""
    if path is None and not is_file(default_price_file()):
        return PriceFile()
    path = path or default_price_file()
    try:
        with path.open("rb") as file:
            content = tomllib.load(file)
        changed = datetime.fromtimestamp(path.stat().st_mtime, UTC).date().isoformat()
    except OSError as error:
        raise PriceFileError(f"cannot read {path}: {error.strerror or error}; name an existing price file") from None
    except (tomllib.TOMLDecodeError, RecursionError, UnicodeDecodeError) as error:
        raise PriceFileError(f"{path} is not valid TOML: {error}") from None
    return _Reader(path).price_file(content, changed)


@dataclass(frozen=True)
class _Reader:
    """Converts decoded TOML to rates; errors name the file."""

    path: Path

    def price_file(self, content: dict[str, object], changed: str) -> PriceFile:
        self._only(content, ("factor", "aliases", "models", "terms"), "the file")
        models = {
            name.lower(): self._dated(name, table)
            for name, table in self._table(content.get("models", {}), "models").items()
            if not isinstance(table, dict) or set(table) != {"window"}
        }
        aliases = self._table(content.get("aliases", {}), "aliases")
        for name, target in aliases.items():
            if not isinstance(target, str):
                raise self._error(f"aliases.{name}", target, "a model's name in quotes")
        factor = self._number(content.get("factor", 1.0), "factor")
        terms = self._table(content.get("terms", {}), "terms")
        return PriceFile(
            path=self.path,
            models=models,
            windows=self._windows(self._table(content.get("models", {}), "models")),
            aliases={name.lower(): str(target).lower() for name, target in aliases.items()},
            factor=factor,
            terms={word.lower(): self._number(value, f"terms.{word}") for word, value in terms.items()},
            date=changed,
        )

    def _dated(self, name: str, value: object) -> DatedRates:
        place = f"models.{name}"
        table = self._table(value, place)
        self._only(table, (*_MODEL_KEYS, "provider", "window", "from"), place)
        provider = table.get("provider", "")
        if not isinstance(provider, str):
            raise self._error(f"{place}.provider", provider, "a provider's name in quotes")
        changes = table.get("from", [])
        if not isinstance(changes, list):
            raise self._error(f"{place}.from", changes, "a list of tables, each with `date` and rates")
        later: list[tuple[float, Rates]] = []
        for index, change in enumerate(changes):
            change_place = f"{place}.from[{index}]"
            change_table = self._table(change, change_place)
            self._only(change_table, (*_MODEL_KEYS, "date"), change_place)
            day = change_table.get("date")
            start = datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp() if isinstance(day, date) else None
            if start is None or (later and start <= later[-1][0]):
                raise self._error(f"{change_place}.date", day, "a date such as 2026-12-01, after the previous one")
            later.append((start, self._rates(name, change_table, change_place, provider)))
        return DatedRates(self._rates(name, table, place, provider), tuple(later))

    def _rates(self, name: str, table: Mapping[str, object], place: str, provider: str) -> Rates:
        tiers = table.get("tiers", [])
        if not isinstance(tiers, list):
            raise self._error(f"{place}.tiers", tiers, "a list of tables, each with `above` and rates")
        base = self._row(table, place, above=0, lower=None)
        rows = [base]
        for index, tier in enumerate(tiers):
            tier_place = f"{place}.tiers[{index}]"
            tier_table = self._table(tier, tier_place)
            self._only(tier_table, (*_RATE_KEYS, "above"), tier_place)
            above = tier_table.get("above")
            if isinstance(above, bool) or not isinstance(above, int) or above <= rows[-1].above:
                raise self._error(f"{tier_place}.above", above, f"a whole number of tokens above {rows[-1].above:,}")
            rows.append(self._row(tier_table, tier_place, above=above, lower=base))
        media = tuple(
            MediaRate(*served, self._number(table[key], f"{place}.{key}"))
            for key, served in _MEDIA_KEYS.items()
            if key in table
        )
        return Rates(model=name, provider=provider.lower(), rows=tuple(rows), media=media)

    def _windows(self, models: Mapping[str, object]) -> dict[str, int]:
        windows = {}
        for name, value in models.items():
            window = self._table(value, f"models.{name}").get("window")
            if window is None:
                continue
            if isinstance(window, bool) or not isinstance(window, int) or window < 1:
                raise self._error(f"models.{name}.window", window, "a positive whole number of tokens")
            windows[name.lower()] = window
        return windows

    def _row(self, table: Mapping[str, object], place: str, above: int, lower: RateRow | None) -> RateRow:
        given = {key: self._number(table[key], f"{place}.{key}") for key in _RATE_KEYS if key in table}
        for key in ("input", "output"):
            if key not in given:
                if lower is None:
                    raise PriceFileError(
                        f"{self.path}: {place}: `{key}` is missing; add it in dollars per million tokens"
                    )
                given[key] = lower.input if key == "input" else lower.output
        write = given.get("cache_write_5m", given["input"])
        return RateRow(
            above=above,
            input=given["input"],
            cache_read=given.get("cache_read", given["input"]),
            cache_write_5m=write,
            cache_write_1h=given.get("cache_write_1h", write),
            output=given["output"],
        )

    def _table(self, value: object, place: str) -> dict[str, object]:
        if not isinstance(value, dict):
            raise self._error(place, value, "a table")
        return value

    def _only(self, table: Mapping[str, object], allowed: tuple[str, ...], place: str) -> None:
        for key in table:
            if key not in allowed:
                raise PriceFileError(f"{self.path}: {place} has no `{key}`; valid keys: {', '.join(allowed)}")

    def _number(self, value: object, place: str) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or value < 0:
            raise self._error(place, value, "a number of at least 0")
        return float(value)

    def _error(self, place: str, value: object, wanted: str) -> PriceFileError:
        return PriceFileError(f"{self.path}: {place} = {value!r} is not allowed; expected {wanted}")
