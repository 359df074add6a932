"""Block-bootstrap intervals for projections, from resampling the session's own calls.

Runs of about √n consecutive calls are drawn with replacement from the session's n calls, because costs of consecutive
calls are correlated. The draws are deterministic.
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
    """Dollars without a plan, with it, and saved; savings can be negative.

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
        """Savings as a share of the baseline, 0.37 for 37 %; NaN if the baseline costs nothing."""
        return self.saving.middle / self.baseline.middle if self.baseline.middle else float("nan")

    def widened(self) -> CostComparison:
        """Widen the bands, because a model may answer differently under the plan."""
        plan, turns = self.plan, TURNS_OF_A_MODEL
        more = Band(plan.low + turns.low * plan.middle, plan.middle, plan.high + turns.high * plan.middle)
        return CostComparison(self.baseline, more, widened(self.saving, plan.middle))

    def times(self, factor: float) -> CostComparison:
        """Multiply everything by a non-negative factor."""
        return CostComparison(self.baseline.times(factor), self.plan.times(factor), self.saving.times(factor))


def band(middle: float, draws: NDArray[np.float64]) -> Band:
    """Return the projected value with the 5th and 95th percentiles of the draws."""
    low, high = np.percentile(draws, (_LOW, _HIGH))
    # A total is outside the resamples of its own parts only by rounding.
    return Band(min(float(low), float(middle)), float(middle), max(float(high), float(middle)))


def resampled_totals(costs: NDArray[np.float64], draws: int) -> NDArray[np.float64]:
    """Return totals of resampled sessions.

    Args:
        costs: A row per kind of cost, a column per call; a draw takes the same calls of every row.
        draws: Number of draws.

    Returns:
        A row for each row of `costs`, a column per draw.
    """
    count = costs.shape[1]
    length = _stretch_length(count)
    whole, rest = divmod(count, length)
    # Running sums over two laps, so that a run is drawn by its start.
    around = np.concatenate((np.zeros((len(costs), 1)), np.cumsum(np.tile(costs, 2), axis=1)), axis=1)
    starts = np.random.default_rng(_SEED).integers(0, count, (draws, whole + 1))
    stretches = around[:, starts[:, :whole] + length] - around[:, starts[:, :whole]]
    remainder = around[:, starts[:, whole] + rest] - around[:, starts[:, whole]]
    totals: NDArray[np.float64] = stretches.sum(axis=2) + remainder
    return totals


def resampled_calls(count: int, calls: int, draws: int) -> NDArray[np.int64]:
    """Return indices below `count`, a row per draw, with `calls` columns made of runs of consecutive indices."""
    length = _stretch_length(count)
    starts = np.random.default_rng(_SEED).integers(0, count, (draws, -(-calls // length)))
    indices = (starts[:, :, None] + np.arange(length)) % count
    return indices.reshape(draws, -1)[:, :calls]


def _stretch_length(count: int) -> int:
    return max(math.isqrt(count), 1)
