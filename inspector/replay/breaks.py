"""What it costs that a plan changes what a prompt cache holds.

A call whose prompt departs from the one before it, before that one's end, reads no further than there: what follows,
though it was sent before, is written to the cache again, or sent plain. The same prompts are served a second time here
by a cache that no change reaches; what the two read, and what they cost, differs by what the breaks lose.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from inspector.replay.accounting import usage_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from inspector.replay.replay import Replay


@dataclass(frozen=True, eq=False)
class Breaks:
    """Per recorded call.

    Attributes:
        resent: Tokens of its prompt that were sent before and are taken again because of a change, int64.
        rebuild_cost: Dollars of taking them, NaN without a price, float64.
        extra_cost: Of these, what is more than reading them from the cache would have cost, float64.
    """

    resent: NDArray[np.int64]
    rebuild_cost: NDArray[np.float64]
    extra_cost: NDArray[np.float64]


def breaks_of(replay: Replay) -> Breaks:
    """What the changes of a replay's plan put out of the cache, call by call."""
    inputs, ledger = replay.inputs, replay.ledger
    held = usage_of(inputs, replay.placed.reusable(inputs.cached_blocks, unbroken=True), ledger.prompt_tokens)
    resent = np.maximum(held.cache_read - ledger.cache_read, 0)
    rates = inputs.rates.of_prompts(ledger.prompt_tokens)
    more = (
        (ledger.uncached - held.uncached) * rates[:, 0]
        + (ledger.cache_read - held.cache_read) * rates[:, 1]
        + (ledger.cache_write_5m - held.cache_write_5m) * rates[:, 2]
        + (ledger.cache_write_1h - held.cache_write_1h) * rates[:, 3]
    )
    extra = np.where(resent > 0, more, 0.0)
    return Breaks(resent, extra + np.where(resent > 0, resent * rates[:, 1], 0.0), extra)
