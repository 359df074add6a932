"""Compare a figure of two sets of sessions: the difference, its confidence interval, and the sample size it needs.

The resampling unit is the session: calls of one session are correlated, so a thousand calls of three sessions carry
little information about the next session. Each set is resampled separately a few thousand times, and the difference is
computed each time. Bootstrap samples of few sessions underestimate the variance, so each draw has one session fewer
than the set, and the interval is widened by the ratio of Student's to the normal distribution.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from math import inf, isnan
from statistics import NormalDist
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

LEAST_SESSIONS: Final = 5
"""Minimum number of sessions in each set."""

CONFIDENCE: Final = 0.95

POWER: Final = 0.8
"""Statistical power for the suggested sample size."""

DRAWS: Final = 2_000
"""Draws of each of the two streams; every pair of streams gives as many differences."""

MOST_MORE: Final = 1_000_000
"""Upper limit on the suggested sample size."""

_NEXT_TO_NOTHING: Final = 1e-6
"""Smallest resampled baseline, as a share of the baseline, for which relative changes are meaningful."""

_DRAWN_AT_ONCE: Final = 100
_SEED: Final = 20
_NORMAL: Final = NormalDist()
_OUTER: Final = _NORMAL.inv_cdf((1 + CONFIDENCE) / 2)


class Statistic(StrEnum):
    """Aggregation of one figure over sessions."""

    RATIO = "ratio"
    """Sum of one column divided by the sum of the other."""
    MEAN = "mean"
    MEDIAN = "median"


class ChangeVerdict(StrEnum):
    """Verdict on a difference."""

    LESS = "less"
    MORE = "more"
    SMALL = "small"
    """No significant difference, and a difference of the wanted size is ruled out."""
    INCONCLUSIVE = "not told"
    """No significant difference."""
    TOO_FEW = "too few"


@dataclass(frozen=True, slots=True)
class SetDifference:
    """One figure of two sets of sessions.

    Attributes:
        before: The figure of the first set; NaN if it has none.
        sessions: Number of sessions with the figure in each set.
        low: Lower bound of `change`; NaN if there are too few sessions.
        share_low: Lower bound of `share`; NaN if it is meaningless.
        more: Additional sessions needed in each set to detect a difference of the wanted size; infinite if no number
            suffices, 0 if there are enough.
        more_after: Additional sessions needed if only the second set grows.
    """

    before: float
    after: float
    sessions: tuple[int, int]
    low: float
    high: float
    share_low: float
    share_high: float
    verdict: ChangeVerdict
    more: float
    more_after: float

    @property
    def change(self) -> float:
        """After minus before."""
        return self.after - self.before

    @property
    def share(self) -> float:
        """The change relative to before, -0.18 for 18 % less; NaN unless before is positive."""
        return self.change / self.before if self.before > 0 else float("nan")


def difference(
    before: NDArray[np.float64], after: NDArray[np.float64], statistic: Statistic, wanted: float, *, is_part: bool
) -> SetDifference:
    """Compare one figure of two sets of sessions.

    Args:
        before: A row per session of the first set, with the figure as its column; for a ratio two columns, numerator
            and denominator. Rows with NaN are ignored.
        after: The same for the second set.
        wanted: Smallest relevant difference as a share of before, 0.1 for 10 %.
        is_part: The figure is already a share of 1, and `wanted` is a difference of shares.
    """
    before, after = _known(before), _known(after)
    counts = (len(before), len(after))
    middle, later = (_value(each, statistic) for each in (before, after))
    if min(counts) < LEAST_SESSIONS or isnan(middle) or isnan(later):
        lacks = float(max(LEAST_SESSIONS - min(counts), 0))
        lacks_after = inf if counts[0] < LEAST_SESSIONS else lacks
        nan = float("nan")
        return SetDifference(middle, later, counts, nan, nan, nan, nan, ChangeVerdict.TOO_FEW, lacks, lacks_after)
    drawn = [[_drawn(each, statistic, stream) for stream in range(2)] for each in (before, after)]
    # Use each stream with both sets, so that swapping the sets gives the same result.
    first, second = np.concatenate(drawn[0]), np.concatenate(drawn[1][::-1])
    spreads = (float(np.var(first)), float(np.var(second)))
    ends = _ends(spreads, counts)
    low, high = _interval(second - first, later - middle, ends)
    is_share = bool(middle > 0 and first.min() > _NEXT_TO_NOTHING * middle)
    share_low, share_high = (
        _interval(second / first - 1, later / middle - 1, ends) if is_share else (float("nan"), float("nan"))
    )
    size = wanted if is_part else wanted * middle
    more, more_after = (_more(spreads, counts, size, after_alone=alone) for alone in (False, True))
    reported = _verdict(low, high, size)
    return SetDifference(middle, later, counts, low, high, share_low, share_high, reported, more, more_after)


def _known(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    return rows[~np.isnan(rows).any(axis=1)]


def _value(rows: NDArray[np.float64], statistic: Statistic) -> float:
    if not len(rows):
        return float("nan")
    match statistic:
        case Statistic.RATIO:
            part, whole = rows.sum(axis=0)
            return float(part / whole) if whole else float("nan")
        case Statistic.MEAN:
            return float(rows[:, 0].mean())
        case Statistic.MEDIAN:
            return float(np.median(rows[:, 0]))


def _drawn(rows: NDArray[np.float64], statistic: Statistic, stream: int) -> NDArray[np.float64]:
    """Return the figure of resampled sessions, one value per draw."""
    times = _times(len(rows), stream)
    drawn = len(rows) - 1
    if statistic is Statistic.MEDIAN:
        order = np.argsort(rows[:, 0], kind="stable")
        values, reached = rows[order, 0], np.cumsum(times[:, order], axis=1, dtype=np.int32)
        lower, upper = (np.argmax(reached >= place, axis=1) for place in ((drawn + 1) // 2, drawn // 2 + 1))
        middle: NDArray[np.float64] = (values[lower] + values[upper]) / 2
        return middle
    totals: NDArray[np.float64] = times.astype(np.float64) @ rows
    return totals[:, 0] / (totals[:, 1] if statistic is Statistic.RATIO else drawn)


@lru_cache(maxsize=4)
def _times(count: int, stream: int) -> NDArray[np.uint8]:
    """Return the number of times each session is drawn, a row per draw of `count` minus one sessions."""
    random = np.random.default_rng((_SEED, stream))
    parts = []
    offsets = np.arange(_DRAWN_AT_ONCE)[:, None] * count
    for _ in range(DRAWS // _DRAWN_AT_ONCE):
        drawn = random.integers(0, count, (_DRAWN_AT_ONCE, count - 1)) + offsets
        found = np.bincount(drawn.ravel(), minlength=_DRAWN_AT_ONCE * count)
        parts.append(found.reshape(_DRAWN_AT_ONCE, count).astype(np.uint8))
    times = np.concatenate(parts)
    times.setflags(write=False)
    return times


def _ends(spreads: Sequence[float], counts: Sequence[int]) -> tuple[float, float]:
    """Return the percentiles of the interval, by Welch's degrees of freedom."""
    total = sum(spreads)
    if not total:
        return 100 * (1 - CONFIDENCE) / 2, 100 * (1 + CONFIDENCE) / 2
    parts = sum((spread / total) ** 2 / (count - 1) for spread, count in zip(spreads, counts, strict=True))
    outer = 100 * _NORMAL.cdf(-_student(1 / parts))
    return outer, 100 - outer


def _student(freedom: float) -> float:
    """Return the outer percentile of Student's distribution by the Cornish-Fisher series; 0.3 % off at 4."""
    z = _OUTER
    return (
        z
        + (z**3 + z) / (4 * freedom)
        + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2)
        + (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * freedom**3)
    )


def _interval(drawn: NDArray[np.float64], middle: float, ends: tuple[float, float]) -> tuple[float, float]:
    low, high = (float(each) for each in np.percentile(drawn, ends))
    # The observed value is outside its own resamples only by rounding, or if few sessions decide a median.
    return min(low, middle), max(high, middle)


def _verdict(low: float, high: float, size: float) -> ChangeVerdict:
    if high < 0:
        return ChangeVerdict.LESS
    if low > 0:
        return ChangeVerdict.MORE
    return ChangeVerdict.SMALL if low == high or -size < low <= high < size else ChangeVerdict.INCONCLUSIVE


def _more(spreads: Sequence[float], counts: Sequence[int], size: float, *, after_alone: bool) -> float:
    """Estimate the additional sessions needed to detect a difference at the current variance, possibly infinite."""
    allowed = (size / (_OUTER + _NORMAL.inv_cdf(POWER))) ** 2

    def is_enough(more: int) -> bool:
        grown = (counts[0] + (0 if after_alone else more), counts[1] + more)
        left = sum(spread * old / new for spread, old, new in zip(spreads, counts, grown, strict=True))
        return left <= allowed

    if not is_enough(MOST_MORE):
        return inf
    few, many = -1, MOST_MORE
    while many - few > 1:
        between = (few + many) // 2
        few, many = (few, between) if is_enough(between) else (between, many)
    return float(many)
