"""Price the cache rewrites that a plan's edits cause.

If a call's prompt departs from the previous one before its end, the cache read stops there. The rest, though sent
before, is written to the cache again or sent uncached. The same prompts are also simulated with a cache that no edit
invalidates. The difference in reads and cost is the loss from the edits.
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
class CacheRewriteCosts:
    """Cost of cache rewrites per recorded call.

    Attributes:
        resent: Cached prompt tokens that an edit evicted and the call sent again, int64.
        rebuild_cost: Dollars for sending them again, NaN without a price, float64.
        extra_cost: Of these, the part above the price of a cache read, float64.
    """

    resent: NDArray[np.int64]
    rebuild_cost: NDArray[np.float64]
    extra_cost: NDArray[np.float64]


def price_cache_rewrites(
    served: ServedPrompts, unbroken: ServedPrompts, calls: NDArray[np.intp], rates: NDArray[np.float64]
) -> CacheRewriteCosts:
    """Price the cache invalidated by edits.

    Args:
        served: Served prompts of all calls.
        unbroken: Served prompts of `calls` if no edit invalidated the cache.
        calls: Indices of the calls at which the two may differ.
        rates: Dollars per token, a row for each call, as in `CallRates.of_prompts`.
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
    return CacheRewriteCosts(*(_over_all_calls(each, calls, count) for each in (resent, rebuild, extra)))


def _over_all_calls(figures: NDArray[Any], calls: NDArray[np.intp], count: int) -> NDArray[Any]:
    """Scatter figures of some calls into a column over all calls, zero elsewhere."""
    column = np.zeros(count, dtype=figures.dtype)
    column[calls] = figures
    return column
