"""Re-caching, priced: what it costs that a plan changes what a prompt cache holds.

A call whose prompt departs from the one before it, before that one's end, reads no further than there: what follows,
though it was sent before, is written to the cache again, or sent plain. The same prompts are served a second time by a
cache that no edit reaches; what the two read, and what they cost, differs by what the edits lose.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from inspector.replay.pricing.rates import RateColumn

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from inspector.replay.pricing.rates import ServedPrompts


@dataclass(frozen=True, eq=False)
class RecachingCosts:
    """Per recorded call.

    Attributes:
        resent: Tokens of its prompt that were cached and are re-cached because of an edit, int64.
        rebuild_cost: Dollars of re-caching them, NaN without a price, float64.
        extra_cost: Of these, what is more than reading them from the cache would have cost, float64.
    """

    resent: NDArray[np.int64]
    rebuild_cost: NDArray[np.float64]
    extra_cost: NDArray[np.float64]


def price_recaching(
    served: ServedPrompts, unbroken: ServedPrompts, calls: NDArray[np.intp], rates: NDArray[np.float64]
) -> RecachingCosts:
    """What edits lose that put something out of the cache.

    Args:
        served: How the prompts of all calls are served.
        unbroken: How those of `calls` would be if no edit broke the cache.
        calls: The calls at which the two may differ.
        rates: Dollars a token, a row for each call, as `CallRates.of_prompts` has them.
    """
    rates = np.take(rates.T, calls, axis=1).T
    resent = np.maximum(unbroken.cache_read - served.cache_read[calls], 0)
    more = (
        (served.uncached[calls] - unbroken.uncached) * rates[:, RateColumn.UNCACHED]
        + (served.cache_read[calls] - unbroken.cache_read) * rates[:, RateColumn.CACHE_READ]
        + (served.cache_write_5m[calls] - unbroken.cache_write_5m) * rates[:, RateColumn.CACHE_WRITE_5M]
        + (served.cache_write_1h[calls] - unbroken.cache_write_1h) * rates[:, RateColumn.CACHE_WRITE_1H]
    )
    extra = np.where(resent > 0, more, 0.0)
    rebuild = extra + np.where(resent > 0, resent * rates[:, RateColumn.CACHE_READ], 0.0)
    count = len(served.cache_read)
    return RecachingCosts(*(_over_all_calls(each, calls, count) for each in (resent, rebuild, extra)))


def _over_all_calls(figures: NDArray[Any], calls: NDArray[np.intp], count: int) -> NDArray[Any]:
    """A column over all calls with the figures of some, zeros elsewhere."""
    column = np.zeros(count, dtype=figures.dtype)
    column[calls] = figures
    return column
