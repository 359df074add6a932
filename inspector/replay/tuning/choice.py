"""Which plan to recommend to a group of sessions, and how far that choice can be believed.

A plan is judged by what it saves at worst: dollars saved less those of getting back what later calls needed. The same
choice is made once for every session without looking at it: what those choices save on the sessions they did not see
says what the plan may save on the next one. How far the chosen plan lies behind the best of each session, known only in
hindsight, is the regret. Sessions drawn anew, many times, say how much of it all hangs on a few of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final

import numpy as np

from inspector.replay.analysis.best_plan import WORTHWHILE
from inspector.replay.analysis.bootstrap import band
from inspector.replay.analysis.plan_outcome import NOTHING
from inspector.replay.figure import Band

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from inspector.replay.tuning.trial_table import Constraints, TrialTable

LEAST_SESSIONS: Final = 5
"""With fewer sessions nothing can be said of the next one."""
LEAST_CALLS: Final = 100
"""With fewer calls in all neither."""

DRAWS: Final = 1_000
_DRAWN_AT_ONCE: Final = 100
SEED: Final = 20


class Verdict(StrEnum):
    """What can be said to a group of sessions."""

    RECOMMENDED = "recommended"
    """The plan saves, and is likely to on the next session."""
    UNSURE = "unsure"
    """The plan saves on these sessions, and might not on others."""
    NOTHING_SAVES = "nothing saves"
    """No plan that is allowed saves anything worth having."""
    TOO_FEW = "too few"
    """Too few sessions, or calls, to say anything."""
    UNTRIED = "untried"
    """Nothing was tried before the search was ended."""


@dataclass(frozen=True, eq=False)
class LeftOut:
    """What would have been chosen without each session.

    Attributes:
        plan: Per session, the plan chosen by all others, an index; -1 for none, int64.
        net: Per session, what that plan saves on it at worst, dollars, float64.
    """

    plan: NDArray[np.int64]
    net: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class PlanChoice:
    """The plan of a group of sessions.

    Attributes:
        verdict: What can be said.
        plan: Index of the plan; None where none saves anything.
        net: What it saves at worst, dollars over all sessions, with what other sessions of the kind might make of it.
        left_out: The same choice made without each session.
        best: Per session, the best plan in hindsight, an index; -1 for none, int64.
        regret: Per session, how many dollars more that one saves than the plan, float64.
        chosen_again: In what share of the draws of sessions the same plan was the best, 0 to 1.
    """

    verdict: Verdict
    plan: int | None
    net: Band
    left_out: LeftOut
    best: NDArray[np.int64]
    regret: NDArray[np.float64]
    chosen_again: float


def has_enough(calls: Sequence[int]) -> bool:
    """Whether sessions of so many calls each tell anything of the next one."""
    return len(calls) >= LEAST_SESSIONS and sum(calls) >= LEAST_CALLS


def choose(table: TrialTable, constraints: Constraints) -> PlanChoice:
    """Choose a plan, and try the choice."""
    plan = best_of(table, constraints)
    left_out = leave_one_out(table, constraints)
    best, hindsight = best_of_each(table, constraints)
    if plan is None:
        return PlanChoice(_verdict(table, None, left_out), None, Band(0, 0, 0), left_out, best, hindsight, 0.0)
    net, again = _drawn(table, plan, table.allowed(constraints))
    regret = hindsight - table.net[plan]
    return PlanChoice(_verdict(table, net, left_out), plan, net, left_out, best, regret, again)


def best_of(table: TrialTable, constraints: Constraints) -> int | None:
    """The plan that saves most at worst over a group's sessions, the first of equal ones; None where none saves."""
    total = np.where(table.allowed(constraints), table.net.sum(axis=1), -np.inf)
    if not len(total):
        return None
    plan = int(np.argmax(total))
    return plan if total[plan] > NOTHING else None


def leave_one_out(table: TrialTable, constraints: Constraints) -> LeftOut:
    """Choose once for every session by all others alone."""
    count = len(table.cost)
    if not table.plans:
        return LeftOut(np.full(count, -1, dtype=np.int64), np.zeros(count))
    total = np.where(table.allowed_without(constraints), table.net_without(), -np.inf)
    plans = np.where(total.max(axis=0) > NOTHING, np.argmax(total, axis=0), -1)
    net = np.where(plans >= 0, table.net[plans, np.arange(count)], 0.0)
    # On the session that was not looked at the plan may fail altogether: nothing is saved then.
    return LeftOut(plans, np.nan_to_num(net))


def best_of_each(table: TrialTable, constraints: Constraints) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Per session, the best of the allowed plans in hindsight, -1 for none, and what it saves at worst there."""
    net = np.where(table.allowed(constraints)[:, None], table.net, -np.inf)
    count = len(table.cost)
    if not len(net):
        return np.full(count, -1, dtype=np.int64), np.zeros(count)
    best, most = np.argmax(net, axis=0), np.max(net, axis=0)
    return np.where(most > NOTHING, best, -1), np.maximum(most, 0.0)


def _drawn(table: TrialTable, plan: int, allowed: NDArray[np.bool_]) -> tuple[Band, float]:
    """What the plan saves on sessions drawn anew, and how often it is the best of them."""
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


def _verdict(table: TrialTable, net: Band | None, left_out: LeftOut) -> Verdict:
    if not has_enough(table.calls.tolist()):
        return Verdict.TOO_FEW
    if not table.plans:
        return Verdict.UNTRIED
    if net is None or net.middle < WORTHWHILE * table.cost.sum():
        return Verdict.NOTHING_SAVES
    return Verdict.RECOMMENDED if net.low > 0 and left_out.net.sum() > 0 else Verdict.UNSURE
