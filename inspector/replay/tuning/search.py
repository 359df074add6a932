"""The search for a group's plan, in rounds: whoever holds the sessions tries each round's plans on all of them.

First a few values of everything are tried. Of what saves most then, strategies with one or two limits are tried at
every combination of their values and kinds of trigger, an exact grid; those with more start with limits tight and wide
at every kind of trigger. From the best start of those with few limits every two of these are changed together, because
limits that hold each other up, as what is kept and how much has to be cleared, bring nothing one at a time. Then one
thing at a time is moved, each to the best of all such moves, until none is better. Last, lines through the best plan
are tried more finely, which also is the curve that shows what its limits decide.

Of very many sessions a part is searched like that, and what did best there is tried on all of them: plans are many, and
a few dozen sessions tell which of them are worth a trial on the rest. A search may also be coarse: on a handful of
sessions, and only as far as each limit alone. That takes so little that every group can have it before any has more.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final

import numpy as np

from inspector.replay.analysis.plan_outcome import NOTHING
from inspector.replay.tuning.search_space import Dimension, SearchSpace, between, spaces_of
from inspector.replay.tuning.trial import Flaw
from inspector.replay.tuning.trial_table import TrialTable, front

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from inspector.replay.analysis.tunable_limits import TunableLimit
    from inspector.replay.tuning.trial import Trial
    from inspector.replay.tuning.trial_table import Constraints
    from inspector.strategies.plan import Plan

KEPT: Final = 5
"""Strategies and ready plans that are searched further."""

MOST_MOVES: Final = 4
"""How often a coordinate search moves."""

STARTS_KEPT: Final = 2
"""Of each plan's starts, and after each move, those that go on."""

FINE: Final = 7
"""Values tried between the neighbours of the best one."""

MOST_POLISHING: Final = 3

SAMPLED: Final = 40
"""Sessions that are searched; of more, so many."""

SHORTLISTED: Final = 60
"""Plans that did best there and are tried on all sessions, beside those of the front."""

FIRST: Final = 5
"""Plans that did best in a coarse search and are tried on all sessions, so that there is an answer early."""

_FORBIDDEN: Final = -1e12


class Stage(StrEnum):
    """Parts of a search in their order, in words that say what is missing where it was ended before."""

    SHORTLIST = "the best plans of those, on all of the sessions"
    READY = "every strategy and ready plan as it is"
    ENDS = "their limits tight and wide"
    ALONE = "each limit of the best strategies alone"
    TOGETHER = "every combination of two limits"
    MANY = "limits of strategies that have many"
    FINE = "values between those tried"


SEARCH: Final = tuple(stage for stage in Stage if stage is not Stage.SHORTLIST)
"""Of a whole search."""
COARSE: Final = (Stage.READY, Stage.ENDS, Stage.ALONE)
"""Of a coarse one."""
CHOICE: Final = (Stage.SHORTLIST, Stage.FINE)
"""Of one that chooses among plans that were found on a part of the sessions."""


class GroupSearch:
    """Says which plans to try next on one group of sessions, and keeps what came of those that were."""

    def __init__(
        self,
        bases: Iterable[Plan],
        constraints: Constraints,
        cost: Sequence[float],
        calls: Sequence[int],
        keep: Collection[str] = (),
        shortlist: Sequence[Plan] = (),
        stages: Sequence[Stage] = SEARCH,
    ) -> None:
        """Prepare to search.

        Args:
            bases: Plans whose limits are tuned.
            constraints: What a plan may not exceed.
            cost: Per session, dollars with nothing cut.
            calls: Per session, recorded calls.
            keep: Tools whose results are to stay as they are.
            shortlist: Plans to choose among, where they were searched for on a part of the sessions.
            stages: What is searched, in this order.
        """
        self._shortlist = tuple(shortlist)
        self.constraints = constraints
        self.left: tuple[Stage, ...] = tuple(stages)
        self._cost, self._calls = cost, calls
        self._spaces = spaces_of(bases, keep)
        self._trials: dict[Plan, Sequence[Trial | None]] = {}
        self._scores: dict[Plan, float] = {}
        self._kept: list[SearchSpace] = []

    @property
    def is_complete(self) -> bool:
        """Whether it went to its end: `left` holds the stages it did not come to the end of."""
        return not self.left

    @property
    def sessions(self) -> int:
        """How many sessions it is on."""
        return len(self._cost)

    @property
    def tried(self) -> int:
        """How many plans were tried."""
        return len(self._trials)

    def add(self, plan: Plan, trials: Sequence[Trial | None]) -> None:
        """Take what came of a plan on every session, in their order."""
        self._trials[plan] = trials

    def take(self, other: GroupSearch) -> None:
        """Take what came of plans that another search tried on the same sessions, behind what is known here."""
        self._trials |= {plan: trials for plan, trials in other._trials.items() if plan not in self._trials}

    def table(self) -> TrialTable:
        """Everything that was tried."""
        return TrialTable.of(self._trials, self._cost, self._calls)

    def rounds(self) -> Iterator[tuple[Plan, ...]]:
        """Plans to try next: `add` what comes of each before asking for more. A search may be left at any round."""
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
        """What did best of all that was tried, and the front of saving against needed later.

        Where nothing saves, the plan that comes nearest to it: whether it saves on other sessions is worth a trial.
        """
        table = self.table()
        if not table.plans:
            return ()
        self._judge()
        ranked = sorted(table.plans, key=self._score, reverse=True)
        best = [plan for plan in ranked if self._score(plan) > 0] or ranked[:1]
        saved = np.where(table.allowed(self.constraints), table.saved.sum(axis=1), np.nan)
        on_front = (table.plans[at] for at in front(saved, table.needed.sum(axis=1)))
        return tuple(dict.fromkeys((*best[:SHORTLISTED], *on_front)))

    @property
    def _grids(self) -> list[SearchSpace]:
        return [space for space in self._kept if space.has_grid]

    def _screening(self) -> Iterator[tuple[Plan, ...]]:
        possible = [space for space in self._spaces if not self._is_hopeless(space.plan)]
        screened = {at: list(space.sketch()) for at, space in enumerate(possible)}
        yield from self._untried(plan for plans in screened.values() for plan in plans)
        self._kept = [possible[at] for at in self._most_promising(screened)]

    def _most_promising(self, screened: dict[int, list[Plan]]) -> list[int]:
        self._judge()
        best = {at: max(map(self._score, plans)) for at, plans in screened.items()}
        return sorted(best, key=lambda at: -best[at])[:KEPT]

    def _is_hopeless(self, plan: Plan) -> bool:
        """Whether a plan leaves out what was said, as its strategies are there to do, whatever their limits are."""
        return any(trial is not None and trial.flaw == Flaw.FORGETS for trial in self._trials[plan])

    def _coordinate_search(self, spaces: Sequence[SearchSpace]) -> Iterator[tuple[Plan, ...]]:
        spaces = [space.without(self._tells_nothing) for space in spaces]
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

    def _tells_nothing(self, plan: Plan, others: Collection[Plan]) -> bool:
        """Whether other plans come to the same as one of them, as far as they were tried."""
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
        """Score every plan: what it saves at worst, or how far what is not allowed is from being so."""
        table = self.table()
        net = np.where(table.counts, table.net, 0.0).sum(axis=1)
        scores = np.where(table.allowed(self.constraints), net, _FORBIDDEN - table.needed.sum(axis=1))
        self._scores = dict(zip(table.plans, scores.tolist(), strict=True))

    def _score(self, plan: Plan) -> float:
        return self._scores.get(plan, -np.inf)


def _alone(space: SearchSpace) -> Iterator[Plan]:
    """Of a grid the whole where it is one limit's, else what changes one thing of the plan."""
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
    """What one limit of a plan decides, all others as they are.

    Attributes:
        limit: The limit.
        values: Its values that were tried, rising.
        plans: The plan at each, an index of the table.
    """

    limit: TunableLimit
    values: tuple[float, ...]
    plans: tuple[int, ...]


def curves_through(table: TrialTable, plan: int) -> tuple[LimitCurve, ...]:
    """The curve of every limit of a plan that makes a difference at the values it was tried at, the largest first."""
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
    """Whether two plans are made of the same kinds of strategies, so that a limit of the one is one of the other."""
    kinds = [[type(each.strategy) for each in plan.entries] for plan in (other, chosen)]
    return kinds[0] == kinds[1] and entry < len(other.entries)
