"""Search for a group's plan in rounds; the caller tries each round's plans on all sessions.

First a few values of everything are tried. Of the strategies with the highest savings, those with one or two limits are
tried at every combination of values and triggers, an exact grid; those with more limits start with tight and wide
limits at every kind of trigger. From the best of these starts, every two limits are changed together, because limits
that block each other (such as the results to keep and the tokens to clear) have no effect one at a time. Then
coordinate search moves one dimension at a time, each time to the best such move, until none improves. Finally, lines
through the best plan are refined, which also gives the curves that show the effect of its limits.

If there are very many sessions, a sample is searched this way, and the best plans are tried on all sessions. A search
may also be coarse: on a handful of sessions, and only up to single limits. That is cheap enough to run for every group
before any full search.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final

import numpy as np

from inspector.replay.analysis.plan_outcome import NOTHING
from inspector.replay.tuning.choice import best_untried
from inspector.replay.tuning.search_space import Dimension, SearchSpace, between, spaces_of
from inspector.replay.tuning.trial import Flaw
from inspector.replay.tuning.trial_table import TrialTable, pareto_front

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from inspector.replay.analysis.sweep import TunableLimit
    from inspector.replay.tuning.trial import Trial
    from inspector.replay.tuning.trial_table import Constraints
    from inspector.strategies.plan import Plan

KEPT: Final = 5
"""Number of strategies and built-in plans that are searched further."""

MOST_MOVES: Final = 4
"""Maximum moves of a coordinate search."""

STARTS_KEPT: Final = 2
"""Beam width: best starts that continue, and best plans after each move."""

FINE: Final = 7
"""Values tried between the neighbors of the best one."""

MOST_POLISHING: Final = 3

SAMPLED: Final = 40
"""Maximum number of sessions to search."""

SHORTLISTED: Final = 60
"""Best plans of a sample that are tried on all sessions, in addition to the Pareto front."""

FIRST: Final = 5
"""Best plans of a coarse search that are tried on all sessions, for an early answer."""

UNTRIED: Final = 5
"""Maximum number of listed plans that go beyond settings tried in public."""

_FORBIDDEN: Final = -1e12


class Stage(StrEnum):
    """Stages of a search in order; the values describe incomplete stages."""

    SHORTLIST = "the best of these plans on all sessions"
    READY = "every strategy and built-in plan with its defaults"
    ENDS = "their limits set tight and wide"
    ALONE = "single limits of the best strategies"
    TOGETHER = "combinations of two limits"
    MANY = "strategies with many limits"
    FINE = "values between those tried"


SEARCH: Final = tuple(stage for stage in Stage if stage is not Stage.SHORTLIST)
"""Stages of a full search."""
COARSE: Final = (Stage.READY, Stage.ENDS, Stage.ALONE)
"""Stages of a coarse search."""
CHOICE: Final = (Stage.SHORTLIST, Stage.FINE)
"""Stages of choosing among plans found on a sample."""


class GroupSearch:
    """Proposes plans to try on one group of sessions, and stores the results.

    Plans are scored by the limits of a recommendation, so the search stays where a plan can be recommended.
    """

    def __init__(
        self,
        bases: Iterable[Plan],
        constraints: Constraints,
        cost: Sequence[float],
        calls: Sequence[int],
        keep: Collection[str] = (),
        shortlist: Sequence[Plan] = (),
        stages: Sequence[Stage] = SEARCH,
        *,
        beyond: bool = False,
    ) -> None:
        """Prepare the search.

        Args:
            bases: Plans with limits to tune.
            constraints: Upper limits for a plan.
            cost: Per session, dollars with nothing cut.
            calls: Per session, recorded calls.
            keep: Tools with results that must not change.
            shortlist: Plans to choose among, if they come from a search on a sample.
            stages: Stages to run, in order.
            beyond: True if plans may go beyond what has been tried in public.
        """
        self._shortlist = tuple(shortlist)
        self.constraints = constraints
        self._limits = constraints.defensible(beyond=beyond)
        self.left: tuple[Stage, ...] = tuple(stages)
        self._cost, self._calls = cost, calls
        self._spaces = spaces_of(bases, keep)
        self._trials: dict[Plan, Sequence[Trial | None]] = {}
        self._scores: dict[Plan, float] = {}
        self._kept: list[SearchSpace] = []

    @property
    def is_complete(self) -> bool:
        """True if the search is complete; otherwise `left` holds the remaining stages."""
        return not self.left

    @property
    def sessions(self) -> int:
        return len(self._cost)

    @property
    def tried(self) -> int:
        """Number of plans tried."""
        return len(self._trials)

    def add(self, plan: Plan, trials: Sequence[Trial | None]) -> None:
        """Store a plan's trials on every session, in their order."""
        self._trials[plan] = trials

    def take(self, other: GroupSearch) -> None:
        """Merge trials of another search on the same sessions; existing trials win."""
        self._trials |= {plan: trials for plan, trials in other._trials.items() if plan not in self._trials}

    def table(self) -> TrialTable:
        """Return all trials."""
        return TrialTable.of(self._trials, self._cost, self._calls)

    def rounds(self) -> Iterator[tuple[Plan, ...]]:
        """Yield plans to try next; `add` their trials before the next round. A search may be ended at any round."""
        stages = {
            Stage.SHORTLIST: lambda: self._untried(self._shortlist),
            Stage.READY: lambda: self._untried(space.plan for space in self._spaces),
            Stage.ENDS: self._screening,
            Stage.ALONE: lambda: self._untried(plan for space in self._grids for plan in _alone(space)),
            Stage.TOGETHER: lambda: self._untried(plan for space in self._grids for plan in space.grid()),
            Stage.MANY: lambda: self._coordinate_search([space for space in self._kept if not space.has_grid]),
            Stage.FINE: self._polishing,
        }
        while self.left:
            yield from stages[self.left[0]]()
            self.left = self.left[1:]

    def shortlist(self) -> tuple[Plan, ...]:
        """Return the best plans tried, the Pareto front of savings and re-fetches, and the best beyond the tried range.

        If no plan saves, return the closest one, because it may save on other sessions.
        """
        table = self.table()
        if not table.plans:
            return ()
        self._judge()
        ranked = sorted(table.plans, key=self._score, reverse=True)
        best = [plan for plan in ranked if self._score(plan) > 0] or ranked[:1]
        saved = np.where(table.allowed(self._limits), table.saved.sum(axis=1), np.nan)
        on_front = (table.plans[at] for at in pareto_front(saved, table.refetches_known))
        untried = (table.plans[at] for at in best_untried(table, UNTRIED))
        return tuple(dict.fromkeys((*best[:SHORTLISTED], *on_front, *untried)))

    @property
    def _grids(self) -> list[SearchSpace]:
        return [space for space in self._kept if space.has_grid]

    def _screening(self) -> Iterator[tuple[Plan, ...]]:
        possible = [space for space in self._spaces if not self._is_hopeless(space.plan)]
        screened = {at: list(space.sketch()) for at, space in enumerate(possible)}
        yield from self._untried(plan for plans in screened.values() for plan in plans)
        tried = {at: plans for at, plans in screened.items() if not all(map(self._is_untested, plans))}
        self._kept = [possible[at] for at in self._most_promising(tried)]

    def _most_promising(self, screened: dict[int, list[Plan]]) -> list[int]:
        self._judge()
        best = {at: max(map(self._score, plans)) for at, plans in screened.items()}
        return sorted(best, key=lambda at: -best[at])[:KEPT]

    def _is_hopeless(self, plan: Plan) -> bool:
        """Return True if a plan drops user or assistant text by design, at any limits."""
        return any(trial is not None and trial.flaw == Flaw.DROPS_TEXT for trial in self._trials[plan])

    def _is_untested(self, plan: Plan) -> bool:
        """Return True if a plan goes beyond what has been tried in public, on any session."""
        return any(trial is not None and trial.flaw == Flaw.BEYOND for trial in self._trials[plan])

    def _coordinate_search(self, spaces: Sequence[SearchSpace]) -> Iterator[tuple[Plan, ...]]:
        spaces = [space.without(self._is_uninformative) for space in spaces]
        places = {at: space.starts() for at, space in enumerate(spaces)}
        yield from self._untried(start for starts in places.values() for start in starts)
        self._judge()
        places = {at: self._best_few(starts) for at, starts in places.items()}
        pairs = {at: tuple(spaces[at].pairs(starts[0])) for at, starts in places.items()}
        yield from self._untried(plan for plans in pairs.values() for plan in plans)
        self._judge()
        places = {at: self._best_few(dict.fromkeys((*starts, *pairs[at]))) for at, starts in places.items()}
        for _ in range(MOST_MOVES):
            lines = [(at, plan, tuple(spaces[at].lines(plan))) for at, plans in places.items() for plan in plans]
            yield from self._untried(plan for _, _, line in lines for plan in line)
            self._judge()
            moved: dict[int, dict[Plan, None]] = {at: {} for at in places}
            for at, plan, line in lines:
                moved[at][max((plan, *line), key=self._score)] = None
            before, places = places, {at: self._best_few(found) for at, found in moved.items()}
            if all(set(places[at]) <= set(before[at]) for at in places):
                return

    def _best_few(self, plans: Iterable[Plan]) -> tuple[Plan, ...]:
        return tuple(sorted(plans, key=self._score, reverse=True)[:STARTS_KEPT])

    def _is_uninformative(self, plan: Plan, others: Collection[Plan]) -> bool:
        """Return True if the other plans that were tried have the same score as this one."""
        known = [self._scores[other] for other in others if other in self._scores]
        return bool(known) and all(abs(each - self._score(plan)) < NOTHING for each in known)

    def _polishing(self) -> Iterator[tuple[Plan, ...]]:
        best: Plan | None = None
        for _ in range(MOST_POLISHING):
            self._judge()
            before, best = best, max(self._scores, key=self._score, default=None)
            if best is None or best == before or self._score(best) <= 0:
                return
            space = SearchSpace.of(best)
            yield from self._untried((*space.lines(best), *_finer(space)))

    def _untried(self, plans: Iterable[Plan]) -> Iterator[tuple[Plan, ...]]:
        left = tuple(plan for plan in dict.fromkeys(plans) if plan not in self._trials)
        if left:
            yield left

    def _judge(self) -> None:
        """Score every plan: its net savings, or a penalty if it is not allowed."""
        table = self.table()
        net = np.where(table.counts, table.net, 0.0).sum(axis=1)
        scores = np.where(table.allowed(self._limits), net, _FORBIDDEN - table.refetches_known)
        self._scores = dict(zip(table.plans, scores.tolist(), strict=True))

    def _score(self, plan: Plan) -> float:
        return self._scores.get(plan, -np.inf)


def _alone(space: SearchSpace) -> Iterator[Plan]:
    """Yield the whole grid for a single limit, otherwise plans with one change."""
    lines = set(space.lines(space.plan)) if len(space.limits) > 1 else None
    yield from (plan for plan in space.grid() if lines is None or plan in lines)


def _finer(space: SearchSpace) -> Iterator[Plan]:
    for dimension in space.limits:
        limit = dimension.limit
        if limit is not None:
            values = between(limit, limit.value_in(space.plan), dimension.values, FINE)
            yield from SearchSpace(space.plan, (Dimension.of_limit(limit, values),), ()).lines(space.plan)


@dataclass(frozen=True, slots=True)
class LimitCurve:
    """Effect of one limit of a plan, with the others fixed.

    Attributes:
        limit: The limit.
        values: The values tried, ascending.
        plans: Index in the table of the plan at each value.
    """

    limit: TunableLimit
    values: tuple[float, ...]
    plans: tuple[int, ...]


def curves_through(table: TrialTable, plan: int) -> tuple[LimitCurve, ...]:
    """Return the curves of a plan's limits that made a difference in the trials, largest effect first."""
    chosen = table.plans[plan]
    found = []
    for dimension in SearchSpace.of(chosen).limits:
        limit = dimension.limit
        if limit is None:
            continue
        here = limit.value_in(chosen)
        same = [
            (limit.value_in(other), at)
            for at, other in enumerate(table.plans)
            if _is_like(other, chosen, limit.entry) and limit.moved(other, here) == chosen
        ]
        if len({round(float(np.nan_to_num(table.net[at]).sum()), 9) for _, at in same}) > 1:
            same.sort()
            found.append(LimitCurve(limit, tuple(value for value, _ in same), tuple(at for _, at in same)))
    net = np.nan_to_num(table.net.sum(axis=1))
    return tuple(sorted(found, key=lambda curve: -float(np.ptp(net[list(curve.plans)]))))


def _is_like(other: Plan, chosen: Plan, entry: int) -> bool:
    """Return True if two plans consist of the same kinds of strategies, so that their limits correspond."""
    kinds = [[type(each.strategy) for each in plan.entries] for plan in (other, chosen)]
    return kinds[0] == kinds[1] and entry < len(other.entries)
