"""Medians and percentiles of a few runs."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median, quantiles
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True)
class Runs:
    """Values of several runs of one measurement.

    Attributes:
        values: One a run, in the order they were made.
    """

    values: Sequence[float]

    @property
    def median(self) -> float:
        """The middle one."""
        return median(self.values)

    @property
    def p95(self) -> float:
        """95th percentile; the largest value of fewer than twenty."""
        if len(self.values) < 20:
            return max(self.values)
        return quantiles(self.values, n=20, method="inclusive")[-1]

    def milliseconds(self) -> str:
        """`12 ms (p95 31, n 40)`."""
        return f"{self.median * 1e3:.1f} ms (p95 {self.p95 * 1e3:.0f}, n {len(self.values)})"
