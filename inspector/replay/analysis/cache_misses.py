"""What it costs that a plan changes what a prompt cache holds.

A call whose prompt departs from the one before it, before that one's end, reads no further than there: what follows,
though it was sent before, is written to the cache again, or sent plain. The same prompts are served a second time here
by a cache that no change reaches; what the two read, and what they cost, differs by what the breaks lose.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from inspector.replay.engine.ledger import usage_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from inspector.replay.engine.replay import Replay


@dataclass(frozen=True, eq=False)
class CacheMisses:
    """Per recorded call.

    Attributes:
        resent: Tokens of its prompt that were sent before and are taken again because of a change, int64.
        rebuild_cost: Dollars of taking them, NaN without a price, float64.
        extra_cost: Of these, what is more than reading them from the cache would have cost, float64.
    """

    resent: NDArray[np.int64]
    rebuild_cost: NDArray[np.float64]
    extra_cost: NDArray[np.float64]


def cache_misses(replay: Replay) -> CacheMisses:
    """What the changes of a replay's plan put out of the cache, call by call."""
    inputs, ledger = replay.inputs, replay.ledger
    prompt = ledger.prompt_tokens
    prefix = replay.prompt_edits.reusable(inputs.cached_blocks, unbroken=True)
    # Every other call is served what it would be if nothing broke.
    calls = np.flatnonzero(prefix.blocks[:-1] != replay.reusable_blocks[:-1])
    held = usage_of(inputs, prefix, prompt, calls)
    rates = inputs.rates.of_prompts(prompt)
    rates = np.broadcast_to(rates, (len(prompt), rates.shape[1]))[calls]
    resent = np.maximum(held.cache_read - ledger.cache_read[calls], 0)
    more = (
        (ledger.uncached[calls] - held.uncached) * rates[:, 0]
        + (ledger.cache_read[calls] - held.cache_read) * rates[:, 1]
        + (ledger.cache_write_5m[calls] - held.cache_write_5m) * rates[:, 2]
        + (ledger.cache_write_1h[calls] - held.cache_write_1h) * rates[:, 3]
    )
    extra = np.where(resent > 0, more, 0.0)
    rebuild = extra + np.where(resent > 0, resent * rates[:, 1], 0.0)
    return CacheMisses(*(_of_all(each, calls, len(prompt)) for each in (resent, rebuild, extra)))


def _of_all(figures: NDArray[Any], calls: NDArray[np.intp], count: int) -> NDArray[Any]:
    """A column over all calls with the figures of some, zeros elsewhere."""
    column = np.zeros(count, dtype=figures.dtype)
    column[calls] = figures
    return column
