"""Block-bootstrap intervals for projections: how far they may be off, from drawing a session's own calls again.

Stretches of about √n consecutive calls are drawn from the session's n calls, with replacement, because the costs of
consecutive calls are alike. The draws are the same every time.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from inspector.replay.analysis.model_uncertainty import TURNS_OF_A_MODEL, widened
from inspector.replay.figure import Band, HowKnown

if TYPE_CHECKING:
    from numpy.typing import NDArray

_LOW, _HIGH = 5, 95
_SEED = 20


@dataclass(frozen=True, slots=True)
class CostComparison:
    """Dollars without a plan, with it, and what it saves; a saving can be negative.

    Attributes:
        baseline: Without the plan.
        plan: With it.
        saving: Their difference.
        known: Always projected.
    """

    baseline: Band
    plan: Band
    saving: Band
    known: HowKnown = HowKnown.PROJECTED

    @property
    def saved_share(self) -> float:
        """The saving as a share of the baseline, 0.37 for 37 %; NaN where the baseline costs nothing."""
        return self.saving.middle / self.baseline.middle if self.baseline.middle else float("nan")

    def widened(self) -> CostComparison:
        """The same where a model may answer otherwise under the plan than it was recorded."""
        plan, turns = self.plan, TURNS_OF_A_MODEL
        more = Band(plan.low + turns.low * plan.middle, plan.middle, plan.high + turns.high * plan.middle)
        return CostComparison(self.baseline, more, widened(self.saving, plan.middle))

    def times(self, factor: float) -> CostComparison:
        """Everything multiplied by a factor that is not negative."""
        return CostComparison(self.baseline.times(factor), self.plan.times(factor), self.saving.times(factor))


def band(middle: float, draws: NDArray[np.float64]) -> Band:
    """What is projected, between the 5th and the 95th percentile of what was drawn."""
    low, high = np.percentile(draws, (_LOW, _HIGH))
    # A total outside what was drawn from its own parts is possible only by rounding.
    return Band(min(float(low), float(middle)), float(middle), max(float(high), float(middle)))


def resampled_totals(costs: NDArray[np.float64], draws: int) -> NDArray[np.float64]:
    """Totals of runs put together from stretches of the recorded one.

    Args:
        costs: One row for each kind of cost, one column a call; a draw takes the same calls of every row.
        draws: How many runs.

    Returns:
        One row for each row of `costs`, one column a draw.
    """
    count = costs.shape[1]
    length = _stretch_length(count)
    whole, rest = divmod(count, length)
    # Sums up to every call, twice around, so that drawing a stretch is drawing where it starts.
    around = np.concatenate((np.zeros((len(costs), 1)), np.cumsum(np.tile(costs, 2), axis=1)), axis=1)
    starts = np.random.default_rng(_SEED).integers(0, count, (draws, whole + 1))
    stretches = around[:, starts[:, :whole] + length] - around[:, starts[:, :whole]]
    remainder = around[:, starts[:, whole] + rest] - around[:, starts[:, whole]]
    totals: NDArray[np.float64] = stretches.sum(axis=2) + remainder
    return totals


def resampled_calls(count: int, calls: int, draws: int) -> NDArray[np.int64]:
    """Indices below `count`, one row a draw, `calls` columns made of stretches of consecutive indices."""
    length = _stretch_length(count)
    starts = np.random.default_rng(_SEED).integers(0, count, (draws, -(-calls // length)))
    indices = (starts[:, :, None] + np.arange(length)) % count
    return indices.reshape(draws, -1)[:, :calls]


def _stretch_length(count: int) -> int:
    return max(math.isqrt(count), 1)
