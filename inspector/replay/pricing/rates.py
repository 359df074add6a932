"""What tokens cost: the rates of a model on a day, and many calls priced at once.

Tiers are cliffs, as providers bill them: a prompt longer than a tier's start pays that tier's rates for every one of
its tokens and for its output.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

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


@dataclass(frozen=True, slots=True)
class Rates:
    """The rates of one model at one time, in dollars per million tokens.

    Attributes:
        model: The model in the price table's words.
        provider: Who serves it at these prices: `anthropic`, `openai`, `aws`; empty when unknown.
        rows: One row for every length of prompt priced apart, shortest first; the first is for any prompt.
        per_call: Dollars for the call itself, whatever its length.
    """

    model: str
    provider: str
    rows: tuple[RateRow, ...]
    per_call: float = 0.0

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
                rows.append((np.nan,) * 6)
                continue
            rows.extend((*row[1:], entry.per_call * TOKENS_PER_PRICE) for row in entry.rows)
            starts[position, : len(entry.tiers)] = [row.above for row in entry.tiers]
        table = np.array(rows, dtype=np.float64).reshape(-1, 6) * (factor / TOKENS_PER_PRICE)
        return cls(rates, index, factor, table, np.array(first_row, dtype=np.int64), starts)

    def of_prompts(self, prompt: NDArray[np.int64]) -> NDArray[np.float64]:
        """Dollars a token, by the tier of each call's prompt.

        Args:
            prompt: Per call, all prompt tokens.

        Returns:
            One row a call, or one row for all where they share it: uncached, cache read, five-minute write, one-hour
            write, output, and last the dollars of the call itself.
        """
        if len(self._table) == 1:
            return self._table
        if not self._starts.shape[1]:
            return self._of_calls
        row = self._first_row_of_calls
        for starts in self._starts_of_calls:
            row = row + (prompt > starts)
        return self._table[row]

    @cached_property
    def _of_calls(self) -> NDArray[np.float64]:
        """Where no prompt's length makes a difference."""
        return self._table[self._first_row_of_calls]

    @cached_property
    def _first_row_of_calls(self) -> NDArray[np.int64]:
        return self._first_row[self.index]

    @cached_property
    def _starts_of_calls(self) -> NDArray[np.int64]:
        """Per tier, where it starts for every call."""
        return np.ascontiguousarray(self._starts[self.index].T)

    def cost(
        self,
        uncached: NDArray[np.int64],
        cache_read: NDArray[np.int64],
        cache_write_5m: NDArray[np.int64],
        cache_write_1h: NDArray[np.int64],
        output: NDArray[np.int64],
    ) -> NDArray[np.float64]:
        """Dollars of every call, float64, NaN where its model has no price.

        Args:
            uncached: Per call, prompt tokens neither read from nor written to a cache.
            cache_read: Per call, prompt tokens read from a cache.
            cache_write_5m: Per call, prompt tokens written to a five-minute cache.
            cache_write_1h: Per call, prompt tokens written to a one-hour cache.
            output: Per call, response tokens.
        """
        rate = self.of_prompts(uncached + cache_read + cache_write_5m + cache_write_1h)
        cost: NDArray[np.float64] = (
            uncached * rate[:, 0]
            + cache_read * rate[:, 1]
            + cache_write_5m * rate[:, 2]
            + cache_write_1h * rate[:, 3]
            + output * rate[:, 4]
            + rate[:, 5]
        )
        return cost
