"""All trials of one group of sessions as columns, with sums over the group and constraints on plans."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from inspector.replay.tuning.trial import Flaw, Trial

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from inspector.strategies.plan import Plan

PER = 100
"""Number of calls that needs and requests are counted by."""

_MISSING = Trial(float("nan"), 0.0, 0, 0, Flaw.REJECTED)


@dataclass(frozen=True, slots=True)
class Constraints:
    """Upper limits for a plan over all sessions of a group; None for no limit.

    Attributes:
        max_needed: Needs per 100 calls.
        max_risk: Cost of recoveries in percent of the plan's savings.
        budget_calls: Additional calls per 100 calls: its own requests, and one per need.
    """

    max_needed: float | None = None
    max_risk: float | None = None
    budget_calls: float | None = None


@dataclass(frozen=True, eq=False)
class TrialTable:
    """Trials with a row per plan and a column per session.

    Attributes:
        plans: The plans.
        cost: Per session, dollars with nothing cut, float64.
        calls: Per session, recorded calls, int64.
        saved: Dollars saved, NaN if a plan could not be replayed, float64.
        recovery: Dollars of recovering everything needed, float64.
        needed: Number of needs, int64.
        requests: Additional calls, int64.
        flaw: Reason to exclude a plan on a session, `Flaw`, uint8.
    """

    plans: tuple[Plan, ...]
    cost: NDArray[np.float64]
    calls: NDArray[np.int64]
    saved: NDArray[np.float64]
    recovery: NDArray[np.float64]
    needed: NDArray[np.int64]
    requests: NDArray[np.int64]
    flaw: NDArray[np.uint8]

    @classmethod
    def of(
        cls, trials: Mapping[Plan, Sequence[Trial | None]], cost: Sequence[float], calls: Sequence[int]
    ) -> TrialTable:
        """Build the table.

        Args:
            trials: By plan, a trial for every session; None if the plan could not be replayed.
            cost: Per session, dollars with nothing cut.
            calls: Per session, recorded calls.
        """
        rows = np.array([[trial or _MISSING for trial in row] for row in trials.values()], dtype=np.float64)
        saved, recovery, needed, requests, flaw = np.moveaxis(rows.reshape(len(trials), len(cost), len(_MISSING)), 2, 0)
        return cls(
            plans=tuple(trials),
            cost=np.array(cost, dtype=np.float64),
            calls=np.array(calls, dtype=np.int64),
            saved=saved,
            recovery=recovery,
            needed=needed.astype(np.int64),
            requests=requests.astype(np.int64),
            flaw=flaw.astype(np.uint8),
        )

    @cached_property
    def net(self) -> NDArray[np.float64]:
        """Net savings: dollars saved minus the cost of recovering everything needed, float64."""
        return self.saved - self.recovery

    @cached_property
    def counts(self) -> NDArray[np.bool_]:
        """True if a plan was replayed on a session and has no flaw there, bool."""
        counts: NDArray[np.bool_] = np.isfinite(self.saved) & (self.flaw == Flaw.NONE)
        return counts

    def allowed(self, constraints: Constraints) -> NDArray[np.bool_]:
        """Return True per plan if it counts on every session and satisfies the constraints over all of them, bool."""
        return self._allowed(constraints, self._columns.sum(axis=2), self.calls.sum())

    def allowed_without(self, constraints: Constraints) -> NDArray[np.bool_]:
        """Return `allowed` over all sessions but one: a row per plan, a column per omitted session, bool."""
        others = self._columns.sum(axis=2, keepdims=True) - self._columns
        return self._allowed(constraints, others, self.calls.sum() - self.calls)

    def net_without(self) -> NDArray[np.float64]:
        """Return the net savings over all sessions but one, 0 where a plan does not count, float64."""
        net = np.where(self.counts, self.net, 0.0)
        without: NDArray[np.float64] = net.sum(axis=1, keepdims=True) - net
        return without

    @cached_property
    def _columns(self) -> NDArray[np.float64]:
        """Quantities of the constraints, one layer each, float64."""
        saved = np.where(self.counts, self.saved, 0.0)
        return np.stack((~self.counts, saved, self.recovery, self.needed, self.requests)).astype(np.float64)

    @staticmethod
    def _allowed(
        constraints: Constraints, sums: NDArray[np.float64], calls: np.int64 | NDArray[np.int64]
    ) -> NDArray[np.bool_]:
        flawed, saved, recovery, needed, requests = sums
        allowed: NDArray[np.bool_] = flawed == 0
        if constraints.max_needed is not None:
            allowed &= needed * PER <= constraints.max_needed * calls
        if constraints.budget_calls is not None:
            allowed &= requests * PER <= constraints.budget_calls * calls
        if constraints.max_risk is not None:
            allowed &= recovery * 100 <= constraints.max_risk * np.maximum(saved, 0.0)
        return allowed


def pareto_front(saved: NDArray[np.float64], needed: NDArray[np.int64]) -> list[int]:
    """Return the Pareto front of plans with high savings and few needs.

    Args:
        saved: Per plan, dollars over all sessions; NaN if it does not count, float64.
        needed: Per plan, number of needs, int64.

    Returns:
        Indices by ascending needs, and therefore ascending savings, only of plans that save; the first of equal ones.
    """
    order = np.lexsort((np.arange(len(saved)), -np.nan_to_num(saved, nan=-np.inf), needed))
    found: list[int] = []
    most = 0.0
    for plan in order.tolist():
        if saved[plan] > most:
            found.append(plan)
            most = float(saved[plan])
    return found
