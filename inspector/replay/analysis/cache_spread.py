"""Uncertainty of a session's cost because caches do not always follow their rules.

Recorded reads are certain. Two kinds of calls are not: calls without reported usage, and calls at which a plan changes
text that was sent before, so that a different prefix must be found. Each of them reads the assumed prefix, or fails
independently with the probability from `inspector.replay.cache.cache_odds`. That probability may itself be off, for all
calls together.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import hypot, sqrt
from typing import TYPE_CHECKING

import numpy as np

from inspector.replay.figure import Band
from inspector.replay.pricing.rates import RateColumn

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from inspector.replay.analysis.bootstrap import CostComparison
    from inspector.replay.engine.replay import Replay

    Floats = NDArray[np.float64]

NINE_OF_TEN = 1.645
"""Standard deviations from the middle to either end of a 90 % band, for normal errors."""


@dataclass(frozen=True, eq=False)
class ReadSpread:
    """Standard deviations per call in dollars, float64; zero for recorded reads.

    Attributes:
        chance: From random failures of reads, independent between calls.
        doubt: From the uncertain probability, shared by all calls.
    """

    chance: Floats
    doubt: Floats

    def deviation(self, calls: NDArray[np.bool_] | None = None, *, times: float = 1.0) -> float:
        """Return the standard deviation of the total cost of some calls in dollars.

        Args:
            calls: Mask of the calls; all by default.
            times: Factor on the number of calls of this kind.
        """
        chance, doubt = (self.chance, self.doubt) if calls is None else (self.chance[calls], self.doubt[calls])
        return hypot(sqrt(times * float((chance**2).sum())), times * float(doubt.sum()))


def read_spread(replay: Replay) -> ReadSpread:
    """Return the cost uncertainty of each call of a replay from its cache reads."""
    inputs, ledger, odds = replay.inputs, replay.ledger, replay.inputs.read_odds
    count = len(ledger.cost)
    if odds is None:
        return ReadSpread(np.zeros(count), np.zeros(count))
    recorded = inputs.recorded
    is_changed = (ledger.first_changed >= 0) & (ledger.cache_read != recorded.cache_read)
    open_ = ~inputs.anchored | is_changed
    # Compute the read on success from the expected read: a miss leaves a share of it, or less.
    chance = np.maximum(odds.chance, 1e-9)
    high = np.maximum(ledger.cache_read - (1 - odds.chance) * odds.kept * odds.most_kept, 0.0) / chance
    if_less = ledger.cache_read / np.maximum(odds.chance + (1 - odds.chance) * odds.kept, 1e-9)
    high = np.where(if_less <= odds.most_kept, if_less, high)
    high = np.where(inputs.uses_expected_reads, np.minimum(high, ledger.prompt_tokens), ledger.cache_read)
    left = odds.kept * np.minimum(high, odds.most_kept)
    at_stake = np.where(open_, high - left, 0.0) * _dollars_more(replay)
    return ReadSpread(np.sqrt(odds.chance * (1 - odds.chance)) * at_stake, odds.doubt * at_stake)


def _dollars_more(replay: Replay) -> Floats:
    """Return the additional dollars per token that is not read, per call; 0 without a price."""
    inputs = replay.inputs
    rates = inputs.rates.of_prompts(replay.ledger.prompt_tokens)
    share = inputs.recorded.one_hour_share
    hour = np.where(np.isnan(share), inputs.caches.writes_one_hour, share)
    written = hour * rates[:, RateColumn.CACHE_WRITE_1H] + (1 - hour) * rates[:, RateColumn.CACHE_WRITE_5M]
    other = np.where(inputs.caches.writes, written, rates[:, RateColumn.UNCACHED])
    more: Floats = np.nan_to_num(np.maximum(other - rates[:, RateColumn.CACHE_READ], 0.0))
    return more


@dataclass(frozen=True, eq=False)
class CacheSpread:
    """Paired replays of a session without and with a plan: random cache behavior affects both."""

    baseline: ReadSpread
    plan: ReadSpread

    @classmethod
    def between(cls, baseline: Replay, planned: Replay) -> CacheSpread:
        """Create the spread of two replays of the same session."""
        return cls(read_spread(baseline), read_spread(planned))

    def widen(self, costs: CostComparison, calls: int | None = None) -> CostComparison:
        """Widen the bands of costs by the uncertainty of the cache; no end moves closer to the middle.

        Args:
            costs: Dollars with bands for all other uncertainty.
            calls: Number of calls they represent; the session's by default.
        """
        difference = ReadSpread(self.baseline.chance - self.plan.chance, self.baseline.doubt - self.plan.doubt)
        share = 1.0 if calls is None else calls / max(len(self.plan.chance), 1)
        return replace(
            costs,
            baseline=_wider(costs.baseline, self.baseline.deviation(times=share)),
            plan=_wider(costs.plan, self.plan.deviation(times=share)),
            saving=_wider(costs.saving, difference.deviation(times=share)),
        )


def _wider(band: Band, deviation: float) -> Band:
    """Widen a band by an independent error."""
    more = NINE_OF_TEN * deviation
    low, high = hypot(band.middle - band.low, more), hypot(band.high - band.middle, more)
    return Band(band.middle - low, band.middle, band.middle + high) if more else band
