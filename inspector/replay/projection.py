"""What a plan would save on more runs like this session.

One recorded session is one run. Its totals are multiplied to a day and to a month, of thirty days unless told
otherwise. How far they may be off is taken from the session itself: a run of as many calls is put together from drawn
stretches of its own, a thousand times over, and the band is from the 5th to the 95th percentile of their totals. The
band is multiplied like the total: runs of one agent err in the same direction, so many runs do not narrow it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from inspector.replay.bands import Comparison, band, drawn_totals

if TYPE_CHECKING:
    from numpy.typing import NDArray

DAYS_PER_MONTH = 30
"""A month, in projections."""

_DRAWS = 1000


@dataclass(frozen=True, slots=True)
class RunProjection:
    """A session as one of many runs.

    Attributes:
        per_run: Dollars for one run.
        runs_per_day: How many runs a day.
        days_per_month: How many days a month.
    """

    per_run: Comparison
    runs_per_day: float
    days_per_month: float = DAYS_PER_MONTH

    @property
    def per_day(self) -> Comparison:
        """Dollars a day."""
        return self.per_run.times(self.runs_per_day)

    @property
    def per_month(self) -> Comparison:
        """Dollars for as many days as a month has."""
        return self.per_day.times(self.days_per_month)


def project_runs(
    baseline_cost: NDArray[np.float64],
    plan_cost: NDArray[np.float64],
    runs_per_day: float,
    days_per_month: float = DAYS_PER_MONTH,
) -> RunProjection | None:
    """Project runs like this session.

    Args:
        baseline_cost: Dollars of every call without the plan.
        plan_cost: Dollars of every call with it.
        runs_per_day: How many such runs there are a day; not negative.
        days_per_month: On how many days of a month there are; not negative.

    Returns:
        None where there are no calls, or one has no price.
    """
    costs = np.stack((baseline_cost, plan_cost, baseline_cost - plan_cost)).astype(np.float64)
    if not costs.shape[1] or not np.isfinite(costs).all():
        return None
    without, with_plan, saved = zip(costs.sum(axis=1), drawn_totals(costs, _DRAWS), strict=True)
    return RunProjection(Comparison(band(*without), band(*with_plan), band(*saved)), runs_per_day, days_per_month)
