"""What tokens cost: the rates of a model on a day, and many calls priced at once.

Tiers are cliffs, as providers bill them: a prompt longer than a tier's start pays that tier's rates for every one of
its tokens and for its output.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import IntEnum
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from inspector.errors import InspectorError
from inspector.replay.pricing.surcharges import LESS

if TYPE_CHECKING:
    from numpy.typing import NDArray

GIVEN_RATES = "given rates"
"""Names the model of rates that were given as numbers."""

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
    """What a million tokens cost that are no text.

    Attributes:
        kind: `audio`, `image`, `video`.
        served: `input`, `cache_read`, `output`.
        price: Dollars.
    """

    kind: str
    served: str
    price: float


@dataclass(frozen=True, slots=True)
class Rates:
    """The rates of one model at one time, in dollars per million tokens.

    Attributes:
        model: The model in the price table's words.
        provider: Who serves it at these prices: `anthropic`, `openai`, `aws`; empty when unknown.
        rows: One row for every length of prompt priced apart, shortest first; the first is for any prompt.
        per_call: Dollars for the call itself, whatever its length.
        media: Tokens that have a price of their own because they are no text.
        web_search: Dollars of a search the provider makes; None where nothing says.
        terms: What besides the usual these are the rates for, for people; empty for the usual.
        unpriced: What of it nothing has a price for: the rates are those without it.
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
        """The same with every price of a token so many times as high."""
        rows = tuple(RateRow(row.above, *(price * factor for price in row[1:])) for row in self.rows)
        media = tuple(each._replace(price=each.price * factor) for each in self.media)
        return replace(self, rows=rows, media=media)

    def media_price(self, kind: str, served: str) -> float | None:
        """Dollars for a million tokens of a kind; None where that is not known.

        Pictures without a price of their own cost what so many tokens of text do, as models that see have it, and so
        does reading from a cache. Sound costs several times as much: its price is not known where nothing says it.
        """
        found = {(each.kind, each.served): each.price for each in self.media}
        known = found.get((kind, served))
        if known is None and (kind == "image" or (served == "cache_read" and (kind, "input") in found)):
            known = self.text_price(served)
        return known

    def text_price(self, served: str) -> float:
        """What a million tokens of text cost in a short prompt: `input`, `cache_read` or `output`."""
        return {"input": self.input, "cache_read": self.cache_read, "output": self.output}[served]

    def at(self, prompt_tokens: float) -> RateRow:
        """The row a prompt of so many tokens, cached ones included, is billed by."""
        return next(row for row in reversed(self.rows) if row is self.rows[0] or prompt_tokens > row.above)

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
        """Input written to a cache that lives five minutes, for short prompts."""
        return self.rows[0].cache_write_5m

    @property
    def cache_write_1h(self) -> float:
        """Input written to a cache that lives an hour, for short prompts."""
        return self.rows[0].cache_write_1h

    @property
    def output(self) -> float:
        """Output, for short prompts."""
        return self.rows[0].output

    @property
    def tiers(self) -> tuple[RateRow, ...]:
        """The rows for longer prompts, shortest first; empty where length makes no difference."""
        return self.rows[1:]


class DatedRates(NamedTuple):
    """A model's rates, and others that hold from some moments on.

    Attributes:
        first: Those before all of these.
        later: A moment in seconds since the epoch and the rates from then on, earliest first.
    """

    first: Rates
    later: tuple[tuple[float, Rates], ...] = ()

    def at(self, moment: float) -> Rates:
        """The rates at a moment."""
        return next((rates for start, rates in reversed(self.later) if moment >= start), self.first)


class RateColumn(IntEnum):
    """The columns of `CallRates.of_prompts`."""

    UNCACHED = 0
    CACHE_READ = 1
    CACHE_WRITE_5M = 2
    CACHE_WRITE_1H = 3
    OUTPUT = 4
    PER_CALL = 5


class ServedPrompts(Protocol):
    """Prompt tokens of every call by how they were served, int64; every token is in exactly one column."""

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
        """Written to a cache of five minutes, or the provider's only kind."""
        ...

    @property
    def cache_write_1h(self) -> NDArray[np.int64]:
        """Written to a cache of an hour."""
        ...


@dataclass(frozen=True)
class CallRates:
    """The rates of every call of a session, looked up once, to price any number of replays of it.

    Attributes:
        rates: The distinct rates; None stands for a model without a price.
        index: Per call, index into `rates`, int32.
        factor: What every price is multiplied by.
    """

    rates: tuple[Rates | None, ...]
    index: NDArray[np.int32]
    factor: float
    _table: NDArray[np.float64]
    _first_row: NDArray[np.int64]
    _starts: NDArray[np.int64]

    @classmethod
    def of(cls, rates: tuple[Rates | None, ...], index: NDArray[np.int32], factor: float = 1.0) -> CallRates:
        """Rates of calls, call i having `rates[index[i]]`."""
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
        """Dollars a token, by the tier of each call's prompt; one row a call, its columns as `RateColumn` has them.

        Args:
            prompt: Per call, all prompt tokens.
        """
        if len(self._table) == 1:
            return np.broadcast_to(self._table, (len(prompt), self._table.shape[1]))
        if not self._starts.shape[1]:
            return self._of_calls
        row = self._first_row_of_calls
        for starts in self._starts_of_calls:
            row = row + (prompt > starts)
        return self._rows(row)

    @cached_property
    def is_least(self) -> NDArray[np.bool_]:
        """Per call, whether it cost more than these rates say: something was asked for that has no known price."""
        more = np.array(
            [entry is not None and not LESS.issuperset(entry.unpriced) for entry in self.rates], dtype=np.bool_
        )
        return more[self.index] if len(more) else np.zeros(len(self.index), dtype=np.bool_)

    @cached_property
    def _of_calls(self) -> NDArray[np.float64]:
        """Where no prompt's length makes a difference."""
        return self._rows(self._first_row_of_calls)

    def _rows(self, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """Rows of the table, each column of them in one piece: whoever prices goes through one after the other."""
        return np.take(self._table.T, rows, axis=1).T

    @cached_property
    def _first_row_of_calls(self) -> NDArray[np.int64]:
        return self._first_row[self.index]

    @cached_property
    def _starts_of_calls(self) -> NDArray[np.int64]:
        """Per tier, where it starts for every call."""
        return np.ascontiguousarray(self._starts[self.index].T)

    def cost(self, served: ServedPrompts, output: NDArray[np.int64] | None = None) -> NDArray[np.float64]:
        """Dollars of every call, float64, NaN where its model has no price.

        Args:
            served: Per call, the tokens of its prompt by how they were served.
            output: Per call, response tokens; left out for what the prompts alone cost.
        """
        uncached, read, write_5m, write_1h = (
            served.uncached,
            served.cache_read,
            served.cache_write_5m,
            served.cache_write_1h,
        )
        rate = self.of_prompts(uncached + read + write_5m + write_1h)
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
        """Per call, dollars of a token that was read from the cache, and of one that was not, on average."""
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
    """Rates are written otherwise than `parse_rates` takes them; the message says how they are written."""

    advice = "write dollars per million tokens: input/output"


def parse_rates(text: str) -> Rates:
    """Rates written as dollars per million tokens: `input/output`, or `input/output/cache read/cache write`.

    What is left out costs what input costs.

    Raises:
        RatesError: The text is none.
    """
    try:
        given = [float(part.strip().removeprefix("$")) for part in text.split("/")]
    except ValueError:
        given = []
    if len(given) not in (2, 3, 4) or not all(0 <= value < float("inf") for value in given):
        raise RatesError(
            f"{text!r} are no rates; give dollars per million tokens as INPUT/OUTPUT[/READ[/WRITE]], as in 3/15/0.3"
        )
    plain, output = given[:2]
    read = given[2] if len(given) > 2 else plain
    write = given[3] if len(given) > 3 else plain
    return Rates(GIVEN_RATES, "", (RateRow(0, plain, read, write, write, output),))


def format_rates(rates: Rates) -> str:
    """Rates as `parse_rates` reads them."""
    return "/".join(f"{value:g}" for value in (rates.input, rates.output, rates.cache_read, rates.cache_write_5m))
