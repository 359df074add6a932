"""Token rates of a model on a day, and prices of many calls at once.

Tiers are cliffs, as providers bill them: a prompt longer than a tier's start pays that tier's rates for all of its
tokens and its output.

Surcharges and discounts missing from the bundled table, each with its source and the date it was read.

The table's own price for a term takes precedence, so an entry is ignored as soon as the installed table has one.

The user's price file overrides all of them: its `[terms]` has factors by term, and `web_search` and `code_execution` in
dollars.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import IntEnum
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from inspector.errors import InspectorError
from inspector.tokens.model_names import model_version, parse_model_name

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from inspector.session.model import Usage


WEB_SEARCH = "web_search"
"""Key of a price file for the price of a web search."""

WEB_SEARCHES = "web searches"

CODE_EXECUTION = "code_execution"
"""Key of a price file for the price of a code execution, which has no other source.

Anthropic bills container time, beyond 1,550 free hours a month and not at all alongside web searches, and no response
reports how long it ran (Anthropic, code execution tool, usage and pricing, 2026-09-04).
"""

CODE_RUNS = "code execution"


class Surcharge(NamedTuple):
    """A provider's factor for a billing term.

    Attributes:
        provider: As the price table names it.
        factor: Factor on every token price.
        applies: Predicate on the model's name.
        source: Source, with the date it was read.
    """

    provider: str
    term: str
    factor: float
    applies: Callable[[str], bool]
    source: str


def _is_from_4_6_on(model: str) -> bool:
    name = parse_model_name(model).name
    versions = (model_version(name, family) for family in ("opus", "sonnet", "haiku", "fable", "mythos"))
    return any(version is not None and version >= (4, 6) for version in versions)


def _is_one_of(*models: str) -> Callable[[str], bool]:
    return lambda model: parse_model_name(model).name.replace(".", "-") in models


def _is_any(model: str) -> bool:  # noqa: ARG001  the batch price does not depend on it
    return True


SURCHARGES = (
    Surcharge("anthropic", "batch", 0.5, _is_any, "Anthropic, pricing, batch processing: 50 % off (2026-09-04)"),
    Surcharge("openai", "batch", 0.5, _is_any, "OpenAI, pricing, Batch API: 50 % off (2026-09-04)"),
    Surcharge(
        "anthropic",
        "us",
        1.1,
        _is_from_4_6_on,
        "Anthropic, pricing, data residency: US-only inference, from Claude 4.6 on (2026-09-04)",
    ),
    Surcharge(
        "anthropic",
        "fast",
        6.0,
        _is_one_of("claude-opus-4-6", "claude-opus-4-7"),
        "Octavus and OpenRouter on Anthropic's fast mode: $30 and $150 for Opus 4.6 and 4.7 (2026-11-28)",
    ),
    Surcharge(
        "openai",
        "ultrafast",
        6.0,
        _is_one_of("gpt-6-astra", "gpt-6-1-sol"),
        "OpenAI, Ultrafast: 6 times the standard price of GPT-6 Astra and GPT-6.1 Sol (2026-11-28)",
    ),
)

SEARCH_PRICES = {"anthropic": 0.01}
"""Dollars per web search by provider, for models without a price in the table.

Anthropic, pricing, web search tool: $10 for 1,000 searches (2026-09-04).
"""

DISCOUNTED = frozenset({"batch", "flex"})
"""Discounted terms: without a known price, the standard price is an upper bound."""


def surcharge(provider: str, model: str, term: str) -> float | None:
    """Return the factor of a term, or None if there is no entry."""
    found = (each for each in SURCHARGES if (each.provider, each.term) == (provider, term) and each.applies(model))
    return next((each.factor for each in found), None)


GIVEN_RATES = "given rates"
"""Model name of rates given as numbers."""

TOKENS_PER_PRICE = 1_000_000
_NO_TIER = np.iinfo(np.int64).max


class RateRow(NamedTuple):
    """Dollars per million tokens of each kind, for prompts longer than `above` tokens."""

    above: int
    input: float
    cache_read: float
    cache_write_5m: float
    cache_write_1h: float
    output: float


class MediaRate(NamedTuple):
    """Dollars per million media tokens, by `kind` and by place: `input`, `cache_read` or `output`."""

    kind: str
    served: str
    price: float


@dataclass(frozen=True, slots=True)
class Rates:
    """The rates of one model at one time, in dollars per million tokens.

    Attributes:
        model: The model in the price table's terms.
        provider: Provider at these prices: `anthropic`, `openai`, `aws`; empty if unknown.
        rows: A row per tier of prompt length, shortest first; the first applies to any prompt.
        per_call: Dollars for the call itself, at any length.
        media: Prices of media tokens that differ from text.
        web_search: Dollars per search made by the provider; None if unknown.
        terms: Label of the billing terms; empty for standard terms.
        unpriced: Billed items without a known price; the rates exclude them.
    """

    model: str
    provider: str
    rows: tuple[RateRow, ...]
    per_call: float = 0.0
    media: tuple[MediaRate, ...] = ()
    web_search: float | None = None
    terms: str = ""
    unpriced: tuple[str, ...] = ()

    def times(self, factor: float) -> Rates:
        rows = tuple(RateRow(row.above, *(price * factor for price in row[1:])) for row in self.rows)
        media = tuple(each._replace(price=each.price * factor) for each in self.media)
        return replace(self, rows=rows, media=media)

    def media_price(self, kind: str, served: str) -> float | None:
        """Return dollars per million tokens of a media kind; None if unknown.

        Images without a separate price cost the same as text, as vision models bill them, and so do cache reads of
        media. Audio costs several times as much, so without a listed price it is unknown.
        """
        found = {(each.kind, each.served): each.price for each in self.media}
        known = found.get((kind, served))
        if known is None and (kind == "image" or (served == "cache_read" and (kind, "input") in found)):
            known = self.text_price(served)
        return known

    def text_price(self, served: str) -> float:
        """Return dollars per million text tokens in a short prompt: `input`, `cache_read` or `output`."""
        return {"input": self.input, "cache_read": self.cache_read, "output": self.output}[served]

    @property
    def read_share(self) -> float | None:
        """Price of cache reads as a share of input; None if input is free."""
        return round(self.cache_read / self.input, 4) if self.input else None

    def at(self, prompt_tokens: float) -> RateRow:
        """Return the row that bills a prompt of this length, including cached tokens."""
        return next(row for row in reversed(self.rows) if row is self.rows[0] or prompt_tokens > row.above)

    def call_cost(self, usage: Usage) -> float:
        """Return dollars of one call, without the factor on every price."""
        row = self.at(usage.prompt)
        dollars = (
            usage.uncached * row.input
            + usage.cache_read * row.cache_read
            + usage.cache_write_5m * row.cache_write_5m
            + usage.cache_write_1h * row.cache_write_1h
            + usage.output * row.output
        )
        return dollars / TOKENS_PER_PRICE + self.per_call

    @property
    def input(self) -> float:
        """Uncached input, for short prompts."""
        return self.rows[0].input

    @property
    def cache_read(self) -> float:
        """Input read from a cache, for short prompts."""
        return self.rows[0].cache_read

    @property
    def cache_write_5m(self) -> float:
        """Input written to a five-minute cache, for short prompts."""
        return self.rows[0].cache_write_5m

    @property
    def cache_write_1h(self) -> float:
        """Input written to a one-hour cache, for short prompts."""
        return self.rows[0].cache_write_1h

    @property
    def output(self) -> float:
        """Output, for short prompts."""
        return self.rows[0].output

    @property
    def tiers(self) -> tuple[RateRow, ...]:
        """Rows for longer prompts, shortest first; empty if length makes no difference."""
        return self.rows[1:]


class DatedRates(NamedTuple):
    """A model's rates, with later price changes by time in seconds since the epoch, earliest first."""

    first: Rates
    later: tuple[tuple[float, Rates], ...] = ()

    def at(self, time: float) -> Rates:
        return next((rates for start, rates in reversed(self.later) if time >= start), self.first)


class RateColumn(IntEnum):
    """Columns of `CallRates.of_prompts`."""

    UNCACHED = 0
    CACHE_READ = 1
    CACHE_WRITE_5M = 2
    CACHE_WRITE_1H = 3
    OUTPUT = 4
    PER_CALL = 5


class ServedPrompts(Protocol):
    """Prompt tokens of every call by cache status, int64; every token is in exactly one column."""

    @property
    def uncached(self) -> NDArray[np.int64]:
        """Neither read from nor written to a cache."""
        ...

    @property
    def cache_read(self) -> NDArray[np.int64]:
        """Read from a cache."""
        ...

    @property
    def cache_write_5m(self) -> NDArray[np.int64]:
        """Written to a five-minute cache, or to the provider's only kind."""
        ...

    @property
    def cache_write_1h(self) -> NDArray[np.int64]:
        """Written to a one-hour cache."""
        ...


@dataclass(frozen=True)
class CallRates:
    """The rates of every call of a session, looked up once, to price any number of replays.

    Attributes:
        rates: The distinct rates; None for a model without a price.
        index: Per call, index into `rates`, int32.
        factor: Factor on every price.
    """

    rates: tuple[Rates | None, ...]
    index: NDArray[np.int32]
    factor: float
    _table: NDArray[np.float64]
    _first_row: NDArray[np.int64]
    _starts: NDArray[np.int64]

    @classmethod
    def of(cls, rates: tuple[Rates | None, ...], index: NDArray[np.int32], factor: float = 1.0) -> CallRates:
        """Build the rates of calls; call `i` has `rates[index[i]]`."""
        tiers = max((len(entry.tiers) for entry in rates if entry), default=0)
        starts = np.full((len(rates), tiers), _NO_TIER, dtype=np.int64)
        rows: list[tuple[float, ...]] = []
        first_row = []
        for position, entry in enumerate(rates):
            first_row.append(len(rows))
            if entry is None:
                rows.append((np.nan,) * len(RateColumn))
                continue
            rows.extend((*row[1:], entry.per_call * TOKENS_PER_PRICE) for row in entry.rows)
            starts[position, : len(entry.tiers)] = [row.above for row in entry.tiers]
        table = np.array(rows, dtype=np.float64).reshape(-1, len(RateColumn)) * (factor / TOKENS_PER_PRICE)
        return cls(rates, index, factor, table, np.array(first_row, dtype=np.int64), starts)

    def of_prompts(self, prompt: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return dollars per token by each call's prompt tier: a row per call, columns as in `RateColumn`."""
        if len(self._table) == 1:
            return np.broadcast_to(self._table, (len(prompt), self._table.shape[1]))
        if not self._starts.shape[1]:
            return self._of_calls
        row = self._first_row_of_calls
        for starts in self._starts_of_calls:
            row = row + (prompt > starts)
        return self._rows(row)

    @cached_property
    def is_lower_bound(self) -> NDArray[np.bool_]:
        """True for calls with a billed item of unknown price: their cost is a lower bound."""
        more = np.array(
            [entry is not None and not DISCOUNTED.issuperset(entry.unpriced) for entry in self.rates], dtype=np.bool_
        )
        return more[self.index] if len(more) else np.zeros(len(self.index), dtype=np.bool_)

    @cached_property
    def _of_calls(self) -> NDArray[np.float64]:
        """Rates if prompt length makes no difference."""
        return self._rows(self._first_row_of_calls)

    def _rows(self, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return rows of the table with contiguous columns, because pricing reads column by column."""
        return np.take(self._table.T, rows, axis=1).T

    @cached_property
    def _first_row_of_calls(self) -> NDArray[np.int64]:
        return self._first_row[self.index]

    @cached_property
    def _starts_of_calls(self) -> NDArray[np.int64]:
        """Start of each tier, a row per tier with a value for every call."""
        return np.ascontiguousarray(self._starts[self.index].T)

    def cost(
        self,
        served: ServedPrompts,
        output: NDArray[np.int64] | None = None,
        requests: NDArray[np.int64] | None = None,
    ) -> NDArray[np.float64]:
        """Return dollars of every call, float64, NaN where its model has no price.

        Args:
            served: Per call, prompt tokens by cache status.
            output: Per call, response tokens; None to price the prompts alone.
            requests: Per call, the number of requests in its usage, 0 if unknown; one each by default. Several have
                equally long prompts, and an unknown number short ones.
        """
        uncached, read, write_5m, write_1h = (
            served.uncached,
            served.cache_read,
            served.cache_write_5m,
            served.cache_write_1h,
        )
        prompt = uncached + read + write_5m + write_1h
        if requests is not None:
            prompt = np.where(requests > 0, prompt // np.maximum(requests, 1), 0)
        rate = self.of_prompts(prompt)
        cost: NDArray[np.float64] = (
            uncached * rate[:, RateColumn.UNCACHED]
            + read * rate[:, RateColumn.CACHE_READ]
            + write_5m * rate[:, RateColumn.CACHE_WRITE_5M]
            + write_1h * rate[:, RateColumn.CACHE_WRITE_1H]
        )
        if output is not None:
            cost += output * rate[:, RateColumn.OUTPUT]
        cost += rate[:, RateColumn.PER_CALL]
        return cost

    def read_and_other(self, served: ServedPrompts) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return dollars per cache-read token, and per other prompt token on average, for each call."""
        uncached, write_5m, write_1h = served.uncached, served.cache_write_5m, served.cache_write_1h
        other = uncached + write_5m + write_1h
        rate = self.of_prompts(other + served.cache_read)
        dollars = (
            uncached * rate[:, RateColumn.UNCACHED]
            + write_5m * rate[:, RateColumn.CACHE_WRITE_5M]
            + write_1h * rate[:, RateColumn.CACHE_WRITE_1H]
        )
        each = np.where(other > 0, dollars / np.maximum(other, 1), rate[:, RateColumn.UNCACHED])
        return rate[:, RateColumn.CACHE_READ], each


class RatesError(InspectorError, ValueError):
    """Rates that `parse_rates` cannot parse; the message explains the format."""

    advice = "write dollars per million tokens: input/output"


def parse_rates(text: str) -> Rates:
    """Parse dollars per million, `input/output[/cache read/cache write]`; raise `RatesError` for others."""
    try:
        given = [float(part.strip().removeprefix("$")) for part in text.split("/")]
    except ValueError:
        given = []
    if len(given) not in (2, 3, 4) or not all(0 <= value < float("inf") for value in given):
        raise RatesError(
            f"invalid rates {text!r}; give dollars per million tokens as INPUT/OUTPUT[/READ[/WRITE]], e.g. 3/15/0.3"
        )
    plain, output = given[:2]
    read = given[2] if len(given) > 2 else plain
    write = given[3] if len(given) > 3 else plain
    return Rates(GIVEN_RATES, "", (RateRow(0, plain, read, write, write, output),))


def format_rates(rates: Rates) -> str:
    """Format rates for `parse_rates`."""
    return "/".join(f"{value:g}" for value in (rates.input, rates.output, rates.cache_read, rates.cache_write_5m))
