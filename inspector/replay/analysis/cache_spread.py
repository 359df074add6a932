"""How far what a session costs may be off because caches do not always keep to their rules.

Recorded reads stand as they were. What was not recorded may go otherwise: calls nobody reported on, and calls at which
a plan changes what was sent before, so that another beginning has to be found than the one that was. Each of them reads
what it is taken to, or fails with the chance that `inspector.replay.cache.cache_odds` gives, by itself; and the chance
may be off, for all of them together.
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
"""Standard deviations between the middle and either end of a band that holds nine of ten, where errors are normal."""


@dataclass(frozen=True, eq=False)
class ReadSpread:
    """Per call, dollars, float64; zero where what was read was recorded.

    Attributes:
        chance: The standard deviation that a read succeeds by chance leads to, of each call by itself.
        doubt: The one that not knowing the chance leads to, of all calls together.
    """

    chance: Floats
    doubt: Floats

    def deviation(self, calls: NDArray[np.bool_] | None = None, *, times: float = 1.0) -> float:
        """The standard deviation of the cost of some calls together, or of all, in dollars.

        Args:
            calls: Per call, whether it counts.
            times: How many times as many calls of the kind there are.
        """
        chance, doubt = (self.chance, self.doubt) if calls is None else (self.chance[calls], self.doubt[calls])
        return hypot(sqrt(times * float((chance**2).sum())), times * float(doubt.sum()))


def read_spread(replay: Replay) -> ReadSpread:
    """How far each call of a replay may cost more or less than told because its cache reads otherwise."""
    inputs, ledger, odds = replay.inputs, replay.ledger, replay.inputs.read_odds
    count = len(ledger.cost)
    if odds is None:
        return ReadSpread(np.zeros(count), np.zeros(count))
    recorded = inputs.recorded
    is_changed = (ledger.first_changed >= 0) & (ledger.cache_read != recorded.cache_read)
    open_ = ~inputs.anchored | is_changed
    # Of a call whose expected read is told, what it reads where it succeeds: a miss leaves a share of that, or of less.
    chance = np.maximum(odds.chance, 1e-9)
    high = np.maximum(ledger.cache_read - (1 - odds.chance) * odds.kept * odds.most_kept, 0.0) / chance
    if_less = ledger.cache_read / np.maximum(odds.chance + (1 - odds.chance) * odds.kept, 1e-9)
    high = np.where(if_less <= odds.most_kept, if_less, high)
    high = np.where(inputs.served_by_odds, np.minimum(high, ledger.prompt_tokens), ledger.cache_read)
    left = odds.kept * np.minimum(high, odds.most_kept)
    at_stake = np.where(open_, high - left, 0.0) * _dollars_more(replay)
    return ReadSpread(np.sqrt(odds.chance * (1 - odds.chance)) * at_stake, odds.doubt * at_stake)


def _dollars_more(replay: Replay) -> Floats:
    """Per call, what a token costs more that is not read; 0 without a price."""
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
    """A session without a plan and with it, call by call: what one of them reads by luck, the other does, too."""

    baseline: ReadSpread
    plan: ReadSpread

    @classmethod
    def between(cls, baseline: Replay, planned: Replay) -> CacheSpread:
        """The spread of two replays of the same session."""
        return cls(read_spread(baseline), read_spread(planned))

    def widen(self, costs: CostComparison, calls: int | None = None) -> CostComparison:
        """The same costs with what caches may do otherwise in their bands, which end no closer to the middle.

        Args:
            costs: Dollars, and how far they may be off by all else.
            calls: Of how many calls like the session's they are; of as many as it has where not given.
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
    """A band whose ends are further off by an error of its own, which adds to the others as independent ones do."""
    more = NINE_OF_TEN * deviation
    low, high = hypot(band.middle - band.low, more), hypot(band.high - band.middle, more)
    return Band(band.middle - low, band.middle, band.middle + high) if more else band
