"""Choose a plan for a group of sessions, and validate the choice.

A plan is ranked by its net savings: dollars saved minus the cost of the expected re-fetches. A recommended plan has
been tried in public, has few expected re-fetches, saves at twice as many, costs more on at most one session in seven,
and comes from a complete search. If no plan passes, the verdict names the rule. For leave-one-out validation the choice
is repeated without each session, and its savings on the omitted session predict the savings on the next one. The regret
is the gap between the chosen plan and the best plan of each session in hindsight. A bootstrap over sessions shows how
much the result depends on a few of them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Final

import numpy as np

from inspector.replay.analysis.best_plan import WORTHWHILE
from inspector.replay.analysis.forecast import band
from inspector.replay.analysis.plan_outcome import NOTHING
from inspector.replay.figure import Band

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from inspector.replay.tuning.trial_table import Constraints, TrialTable

LEAST_SESSIONS: Final = 5
"""Minimum number of sessions for a statement about the next one."""
LEAST_CALLS: Final = 100
"""Minimum number of calls in all sessions."""

DRAWS: Final = 1_000
_DRAWN_AT_ONCE: Final = 100
SEED: Final = 20


class Verdict(StrEnum):
    """Verdict on a group of sessions."""

    RECOMMENDED = "recommended"
    """The plan saves, and is likely to on the next session."""
    UNSURE = "unsure"
    """The plan saves on these sessions, and might not on others."""
    NOTHING_SAVES = "nothing saves"
    """No allowed plan has relevant savings."""
    TOO_FEW = "too few"
    """Too few sessions or calls for a verdict."""
    UNTRIED = "untried"
    """The search ended before anything was tried."""
    INCOMPLETE = "incomplete"
    """A plan saves, but the search ended early."""
    BEYOND = "beyond"
    """Only plans save that go beyond settings tried in public."""
    REFETCHES = "re-fetches"
    """Only plans with too many expected re-fetches save."""
    THIN = "thin"
    """No plan saves at twice the expected re-fetches."""
    MIXED = "mixed"
    """Every plan that saves costs more on too many sessions."""


@dataclass(frozen=True, eq=False)
class LeaveOneOut:
    """Leave-one-out choices.

    Attributes:
        plan: Per session, index of the plan chosen from all other sessions; -1 for none, int64.
        net: Per session, that plan's net savings on it, dollars, float64.
    """

    plan: NDArray[np.int64]
    net: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class PlanChoice:
    """Plan chosen for a group of sessions.

    Attributes:
        verdict: The verdict.
        plan: Index of the plan; None if no plan saves.
        net: Its net savings in dollars over all sessions, with a bootstrap band over sessions.
        left_out: Leave-one-out choices.
        best: Per session, index of the best plan in hindsight; -1 for none, int64.
        regret: Per session, additional dollars that this plan saves, float64.
        chosen_again: Share of bootstrap draws in which the same plan is the best, 0 to 1.
    """

    verdict: Verdict
    plan: int | None
    net: Band
    left_out: LeaveOneOut
    best: NDArray[np.int64]
    regret: NDArray[np.float64]
    chosen_again: float


def has_enough(calls: Sequence[int]) -> bool:
    """Return True if there are enough sessions and calls for a statement about the next session."""
    return len(calls) >= LEAST_SESSIONS and sum(calls) >= LEAST_CALLS


def choose(
    table: TrialTable, constraints: Constraints, *, is_complete: bool = True, beyond: bool = False
) -> PlanChoice:
    """Choose a plan and validate the choice.

    Args:
        table: All trials.
        constraints: The user's limits.
        is_complete: False if the search ended early.
        beyond: True if plans may go beyond what has been tried in public.
    """
    limits = constraints.defensible(beyond=beyond)
    plan = best_of(table, limits)
    left_out = leave_one_out(table, limits)
    best, hindsight = best_of_each(table, limits)
    if plan is None:
        verdict = _verdict(table, None, left_out)
        if verdict is Verdict.NOTHING_SAVES:
            verdict = _refusal(table, constraints, limits)
        return PlanChoice(verdict, None, Band(0, 0, 0), left_out, best, hindsight, 0.0)
    net, again = _drawn(table, plan, table.allowed(limits))
    regret = hindsight - table.net[plan]
    verdict = _verdict(table, net, left_out)
    if verdict is Verdict.RECOMMENDED and not is_complete:
        verdict = Verdict.INCOMPLETE
    return PlanChoice(verdict, plan, net, left_out, best, regret, again)


def _refusal(table: TrialTable, constraints: Constraints, limits: Constraints) -> Verdict:
    """Return the first rule without which a plan has relevant savings, the least serious rule first."""
    worthwhile = WORTHWHILE * table.cost.sum()

    def saves(relaxed: Constraints) -> bool:
        plan = best_of(table, relaxed)
        return plan is not None and float(table.net[plan].sum()) >= worthwhile

    for verdict, relaxed in (
        (Verdict.MIXED, replace(limits, worse_of=None)),
        (Verdict.THIN, replace(limits, worse_of=None, is_sure_twice=False)),
        (Verdict.REFETCHES, constraints),
    ):
        if saves(relaxed):
            return verdict
    untried = np.where(table.is_beyond, table.net.sum(axis=1), -np.inf)
    return Verdict.BEYOND if (untried >= worthwhile).any() else Verdict.NOTHING_SAVES


def best_untried(table: TrialTable, count: int) -> list[int]:
    """Return the best plans beyond what has been tried in public, by net savings, one of each kind of strategy."""
    net = np.where(table.is_beyond, table.net.sum(axis=1), -np.inf)
    found: dict[tuple[str, ...], int] = {}
    for plan in np.argsort(-net, kind="stable").tolist():
        if len(found) == count or not net[plan] > NOTHING:
            break
        found.setdefault(tuple(strategy.name for strategy in table.plans[plan].strategies), plan)
    return list(found.values())


def best_of(table: TrialTable, constraints: Constraints) -> int | None:
    """Return the plan with the highest net savings over a group, the first of equal ones; None if no plan saves."""
    total = np.where(table.allowed(constraints), table.net.sum(axis=1), -np.inf)
    if not len(total):
        return None
    plan = int(np.argmax(total))
    return plan if total[plan] > NOTHING else None


def leave_one_out(table: TrialTable, constraints: Constraints) -> LeaveOneOut:
    """Choose a plan for every session from all other sessions."""
    count = len(table.cost)
    if not table.plans:
        return LeaveOneOut(np.full(count, -1, dtype=np.int64), np.zeros(count))
    total = np.where(table.allowed_without(constraints), table.net_without(), -np.inf)
    plans = np.where(total.max(axis=0) > NOTHING, np.argmax(total, axis=0), -1)
    net = np.where(plans >= 0, table.net[plans, np.arange(count)], 0.0)
    # A plan may be impossible on the omitted session and then saves nothing.
    return LeaveOneOut(plans, np.nan_to_num(net))


def best_of_each(table: TrialTable, constraints: Constraints) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the best allowed plan of each session in hindsight, -1 for none, and its net savings there."""
    net = np.where(table.allowed(constraints)[:, None], table.net, -np.inf)
    count = len(table.cost)
    if not len(net):
        return np.full(count, -1, dtype=np.int64), np.zeros(count)
    best, most = np.argmax(net, axis=0), np.max(net, axis=0)
    return np.where(most > NOTHING, best, -1), np.maximum(most, 0.0)


def _drawn(table: TrialTable, plan: int, allowed: NDArray[np.bool_]) -> tuple[Band, float]:
    """Return the plan's savings on resampled sessions as a band, and the share of draws in which it is the best."""
    count = len(table.cost)
    net = np.where(allowed[:, None], table.net, -np.inf)[allowed]
    mine = int(allowed[:plan].sum())
    random = np.random.default_rng(SEED)
    totals, again = [], 0
    for _ in range(DRAWS // _DRAWN_AT_ONCE):
        drawn = random.multinomial(count, np.full(count, 1 / count), _DRAWN_AT_ONCE)
        each = net @ drawn.T
        totals.append(each[mine])
        again += int((each[mine] >= each.max(axis=0)).sum())
    return band(float(table.net[plan].sum()), np.concatenate(totals)), again / DRAWS


def _verdict(table: TrialTable, net: Band | None, left_out: LeaveOneOut) -> Verdict:
    if not has_enough(table.calls.tolist()):
        return Verdict.TOO_FEW
    if not table.plans:
        return Verdict.UNTRIED
    if net is None or net.middle < WORTHWHILE * table.cost.sum():
        return Verdict.NOTHING_SAVES
    return Verdict.RECOMMENDED if net.low > 0 and left_out.net.sum() > 0 else Verdict.UNSURE
