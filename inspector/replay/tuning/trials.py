"""Trial of one plan on one session: savings, expected re-fetches with their cost, and the evidence for its settings."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import IntEnum
from functools import cached_property
from math import nan
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from inspector.replay.analysis.best_plan import plans_to_compare
from inspector.replay.analysis.hazards import drops_text, orphaned_pairs
from inspector.replay.analysis.plan_outcome import NOTHING
from inspector.replay.analysis.recoveries import CALLS_PER_REFETCH, MOST_PER_100_CALLS, Rate, Recoveries, recoveries
from inspector.replay.analysis.reuse import ReuseEvidence, ReuseScan
from inspector.replay.engine.replay import Replay, replay
from inspector.strategies.core.operations import Action
from inspector.strategies.core.parameters import ParameterError
from inspector.strategies.plan import Plan

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from inspector.replay.engine.inputs import ReplayInputs


class Flaw(IntEnum):
    """Reason to exclude a plan on a session, regardless of its savings."""

    NONE = 0
    DROPS_TEXT = 1
    """It drops user or assistant text. No detector measures that loss."""
    TOUCHES_KEPT = 2
    """It changes results of a protected tool."""
    REJECTED = 3
    """A provider would reject one of its prompts: a tool call without its result, or a result without its call."""
    BEYOND = 4
    """It goes beyond what has been tried in public (`envelope`), and has no other flaw."""


class Trial(NamedTuple):
    """One plan on one session.

    Attributes:
        saved: Dollars saved compared with the session with nothing cut, including cache misses and the plan's own
            requests; negative if the plan costs more.
        recovery: Dollars of the expected re-fetches.
        recovery_low: Lower end of their 95 % interval.
        recovery_high: Upper end.
        refetches: Expected re-fetched results; NaN if the plan cuts no tool result, so that nothing is measured.
        refetches_low: Lower end of their 95 % interval.
        refetches_high: Upper end.
        needed: Number of calls that used text already cut: pointers to check, without a price.
        requests: Additional calls: the requests of the plan's strategies, and the calls of the expected re-fetches.
        flaw: Reason to exclude it there; the worst of several.
        beyond: Part of its settings that has not been tried in public, with the nearest tried one; empty if all have.
    """

    saved: float
    recovery: float
    recovery_low: float
    recovery_high: float
    refetches: float
    refetches_low: float
    refetches_high: float
    needed: int
    requests: float
    flaw: Flaw
    beyond: str = ""


class TrialTerms(NamedTuple):
    """Rules for plans.

    Attributes:
        keep: Tools with results that must not change.
        may_forget: True if plans may drop user or assistant text.
        beyond: True if plans may go beyond what has been tried in public.
    """

    keep: frozenset[str] = frozenset()
    may_forget: bool = False
    beyond: bool = False


@dataclass(frozen=True, eq=False)
class PreparedSession:
    """A session prepared for trials: everything independent of the plan, computed once."""

    inputs: ReplayInputs
    baseline: Replay

    @classmethod
    def of(cls, inputs: ReplayInputs) -> PreparedSession:
        return cls(inputs, replay(inputs, Plan()))

    @cached_property
    def uses(self) -> ReuseEvidence:
        return ReuseScan(self.inputs.history).run_to_the_end()

    @property
    def cost(self) -> float:
        """Dollars with nothing cut; NaN without a price."""
        cost = self.baseline.figures.cost_usd.value
        return float("nan") if cost is None else cost

    def bases(self) -> tuple[Plan, ...]:
        """Return every strategy and built-in plan, with defaults for this session's tools."""
        return plans_to_compare(self.inputs.history.session)

    def trials(self, plans: Iterable[Plan], terms: TrialTerms) -> Iterator[Trial | None]:
        """Try plans one after another; yield None for one that cannot be replayed on this session."""
        # Renditions are worth caching among similar plans, not for the whole search.
        inputs = self.inputs.isolated()
        kept = self._blocks_of(terms.keep)
        for plan in plans:
            try:
                planned = replay(inputs, plan)
            except ParameterError:
                yield None
                continue
            found = recoveries(self.baseline, planned, self.uses)
            yield _trial(planned, found, _flaw(planned, found, kept, terms))

    def _blocks_of(self, tools: Collection[str]) -> NDArray[np.bool_]:
        history = self.inputs.history
        kept = np.zeros(len(history.kind), dtype=bool)
        numbers = [number for number, name in enumerate(history.tool_names) if name in tools]
        kept[history.results] = np.isin(history.tool[history.results], numbers)
        return kept


def _trial(planned: Replay, found: Recoveries, flaw: Flaw) -> Trial:
    own = sum(each.call < planned.history.call_count for each in planned.edits.model_calls)
    unknown = Rate(nan, nan, nan)
    cost, count = found.expected.cost or unknown, found.refetched or unknown
    return Trial(
        nan if found.saved is None else found.saved,
        *cost,
        *count,
        found.needed,
        own + CALLS_PER_REFETCH * found.expected.count.rate,
        flaw,
        found.envelope.reason,
    )


def _flaw(planned: Replay, found: Recoveries, kept: NDArray[np.bool_], terms: TrialTerms) -> Flaw:
    """Return the worst flaw of a plan; blocks in `kept` must not change."""
    edits = planned.edits
    if next(orphaned_pairs(planned), None) is not None:
        return Flaw.REJECTED
    if kept[edits.block[(edits.action != Action.WHOLE) & edits.by_plan]].any():
        return Flaw.TOUCHES_KEPT
    if not terms.may_forget and drops_text(planned):
        return Flaw.DROPS_TEXT
    return Flaw.NONE if terms.beyond or found.envelope.is_tried else Flaw.BEYOND


PER = 100
"""Number of calls that re-fetches and requests are counted by."""

WORSE_OF = 7
"""At most one session in this many may cost more under a recommended plan."""

_NAN = float("nan")
_MISSING = Trial(_NAN, 0.0, 0.0, 0.0, _NAN, _NAN, _NAN, 0, 0.0, Flaw.REJECTED)
_NUMBERS = len(_MISSING) - 1


@dataclass(frozen=True, slots=True)
class Constraints:
    """Upper limits for a plan over all sessions of a group; None for no limit.

    Attributes:
        max_needed: Expected re-fetches per 100 calls, in calls.
        max_risk: Cost of expected re-fetches in percent of the plan's savings.
        budget_calls: Additional calls per 100 calls: its own requests, and those of expected re-fetches.
        is_sure_twice: True if a plan must save even at twice the expected re-fetches.
        worse_of: At most one session in this many may cost more.
    """

    max_needed: float | None = None
    max_risk: float | None = None
    budget_calls: float | None = None
    is_sure_twice: bool = False
    worse_of: int | None = None

    def defensible(self, *, beyond: bool = False) -> Constraints:
        """Return constraints for a recommendation; `beyond` allows more re-fetches than public experiments."""
        limits = [self.max_needed, None if beyond else MOST_PER_100_CALLS]
        most = min((each for each in limits if each is not None), default=None)
        return replace(self, max_needed=most, is_sure_twice=True, worse_of=WORSE_OF)


@dataclass(frozen=True, eq=False)
class TrialTable:
    """Trials with a row per plan and a column per session.

    Attributes:
        cost: Per session, dollars with nothing cut, float64.
        calls: Per session, recorded calls, int64.
        saved: Dollars saved, NaN if a plan could not be replayed, float64.
        recovery: Dollars of the expected re-fetches, float64.
        recovery_low: Lower end of their 95 % interval, float64.
        recovery_high: Upper end, float64.
        refetches: Expected re-fetched results, NaN if not measured, float64.
        refetches_low: Lower end of their 95 % interval, float64.
        refetches_high: Upper end, float64.
        needed: Number of calls that used cut text, int64.
        requests: Additional calls, float64.
        flaw: Reason to exclude a plan on a session, `Flaw`, uint8.
        beyond: Settings that have not been tried in public, by plan and session; empty for tried ones.
    """

    plans: tuple[Plan, ...]
    cost: NDArray[np.float64]
    calls: NDArray[np.int64]
    saved: NDArray[np.float64]
    recovery: NDArray[np.float64]
    recovery_low: NDArray[np.float64]
    recovery_high: NDArray[np.float64]
    refetches: NDArray[np.float64]
    refetches_low: NDArray[np.float64]
    refetches_high: NDArray[np.float64]
    needed: NDArray[np.int64]
    requests: NDArray[np.float64]
    flaw: NDArray[np.uint8]
    beyond: tuple[tuple[str, ...], ...]

    @classmethod
    def of(
        cls, trials: Mapping[Plan, Sequence[Trial | None]], cost: Sequence[float], calls: Sequence[int]
    ) -> TrialTable:
        """Build the table; trials are None for a plan that could not be replayed, cost and calls are per session."""
        rows = [[trial or _MISSING for trial in row] for row in trials.values()]
        numbers = np.array([[trial[:_NUMBERS] for trial in row] for row in rows], dtype=np.float64)
        layers = np.moveaxis(numbers.reshape(len(trials), len(cost), _NUMBERS), 2, 0)
        columns = dict(zip(Trial._fields[:_NUMBERS], layers, strict=True))
        needed, flaw = columns.pop("needed").astype(np.int64), columns.pop("flaw").astype(np.uint8)
        return cls(
            plans=tuple(trials),
            cost=np.array(cost, dtype=np.float64),
            calls=np.array(calls, dtype=np.int64),
            needed=needed,
            flaw=flaw,
            beyond=tuple(tuple(trial.beyond for trial in row) for row in rows),
            **columns,
        )

    @cached_property
    def net(self) -> NDArray[np.float64]:
        """Net savings: dollars saved minus the cost of the expected re-fetches, float64."""
        return self.saved - self.recovery

    def net_range(self, plan: int) -> tuple[float, float]:
        """Return a plan's net savings over all sessions at the upper and the lower end of the expected re-fetches.

        Ends are added: an error of a rate is the same in every session.
        """
        saved, low, high = (float(each[plan].sum()) for each in (self.saved, self.recovery_low, self.recovery_high))
        return saved - high, saved - low

    def refetched(self, plan: int) -> Rate | None:
        """Return a plan's expected re-fetches over all sessions; None if nothing is measured on any of them."""
        columns = (self.refetches[plan], self.refetches_low[plan], self.refetches_high[plan])
        is_measured = np.isfinite(columns[0]).any()
        return Rate(*(float(np.nansum(each)) for each in columns)) if is_measured else None

    def evidence_reason(self, plan: int) -> str:
        """Describe how far a plan goes beyond what has been tried in public; empty if it does not."""
        reasons = [reason for reason in self.beyond[plan] if reason]
        count = len(self.cost)
        return f"in {len(reasons):,} of {count:,} session{'' if count == 1 else 's'}: {reasons[0]}" if reasons else ""

    @cached_property
    def refetches_known(self) -> NDArray[np.float64]:
        """Expected re-fetches over all sessions per plan, 0 where not measured, float64."""
        total: NDArray[np.float64] = np.nan_to_num(self.refetches).sum(axis=1)
        return total

    @cached_property
    def is_beyond(self) -> NDArray[np.bool_]:
        """True per plan without any other flaw that goes beyond what has been tried in public, bool."""
        is_other = ~np.isin(self.flaw, (Flaw.NONE, Flaw.BEYOND)) | ~np.isfinite(self.saved)
        beyond: NDArray[np.bool_] = ~is_other.any(axis=1) & (self.flaw == Flaw.BEYOND).any(axis=1)
        return beyond

    @cached_property
    def counts(self) -> NDArray[np.bool_]:
        """True if a plan was replayed on a session and has no flaw there, bool."""
        counts: NDArray[np.bool_] = np.isfinite(self.saved) & (self.flaw == Flaw.NONE)
        return counts

    def allowed(self, constraints: Constraints) -> NDArray[np.bool_]:
        """Return True per plan if it counts on every session and satisfies the constraints over all of them, bool."""
        return self._allowed(constraints, self._columns.sum(axis=2), self.calls.sum(), len(self.calls))

    def allowed_without(self, constraints: Constraints) -> NDArray[np.bool_]:
        """Return `allowed` over all sessions but one: a row per plan, a column per omitted session, bool."""
        others = self._columns.sum(axis=2, keepdims=True) - self._columns
        return self._allowed(constraints, others, self.calls.sum() - self.calls, len(self.calls) - 1)

    def net_without(self) -> NDArray[np.float64]:
        """Return the net savings over all sessions but one, 0 where a plan does not count, float64."""
        net = np.where(self.counts, self.net, 0.0)
        without: NDArray[np.float64] = net.sum(axis=1, keepdims=True) - net
        return without

    @cached_property
    def _columns(self) -> NDArray[np.float64]:
        """Quantities of the constraints, one layer each, float64."""
        saved = np.where(self.counts, self.saved, 0.0)
        calls = CALLS_PER_REFETCH * np.nan_to_num(self.refetches)
        worse = self.counts & (self.net < 0)
        return np.stack((~self.counts, saved, self.recovery, calls, self.requests, worse)).astype(np.float64)

    @staticmethod
    def _allowed(
        constraints: Constraints, sums: NDArray[np.float64], calls: np.int64 | NDArray[np.int64], sessions: int
    ) -> NDArray[np.bool_]:
        flawed, saved, recovery, refetches, requests, worse = sums
        allowed: NDArray[np.bool_] = flawed == 0
        if constraints.max_needed is not None:
            allowed &= refetches * PER <= constraints.max_needed * calls + NOTHING
        if constraints.budget_calls is not None:
            allowed &= requests * PER <= constraints.budget_calls * calls + NOTHING
        if constraints.max_risk is not None:
            allowed &= recovery * 100 <= constraints.max_risk * np.maximum(saved, 0.0) + NOTHING
        if constraints.is_sure_twice:
            allowed &= (recovery <= NOTHING) | (2 * recovery + NOTHING < saved)
        if constraints.worse_of is not None:
            allowed &= worse * constraints.worse_of <= sessions
        return allowed


def pareto_front(saved: NDArray[np.float64], needed: NDArray[np.int64] | NDArray[np.float64]) -> list[int]:
    """Return the front of plans that save (NaN: not counted), by re-fetches and savings, the first of equals."""
    order = np.lexsort((np.arange(len(saved)), -np.nan_to_num(saved, nan=-np.inf), needed))
    found: list[int] = []
    most = 0.0
    for plan in order.tolist():
        if saved[plan] > most:
            found.append(plan)
            most = float(saved[plan])
    return found
