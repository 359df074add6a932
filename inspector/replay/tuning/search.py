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

Choose a plan for a group of sessions, and validate the choice.

A plan is ranked by its net savings: dollars saved minus the cost of the expected re-fetches. A recommended plan has
been tried in public, has few expected re-fetches, saves at twice as many, costs more on at most one session in seven,
and comes from a complete search. If no plan passes, the verdict names the rule. For leave-one-out validation the choice
is repeated without each session, and its savings on the omitted session predict the savings on the next one. The regret
is the gap between the chosen plan and the best plan of each session in hindsight. A bootstrap over sessions shows how
much the result depends on a few of them.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Final

import numpy as np

from inspector.replay.analysis.best_plan import WORTHWHILE
from inspector.replay.analysis.forecast import band
from inspector.replay.analysis.plan_outcome import NOTHING
from inspector.replay.figure import Band, HowKnown, lowest_confidence
from inspector.replay.sessions import NONE_STARTED, StartedTotals
from inspector.replay.tuning.search_space import Dimension, SearchSpace, between, spaces_of
from inspector.replay.tuning.trials import Constraints, Flaw, PreparedSession, Trial, TrialTable, pareto_front
from inspector.session.related import parent_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from inspector.replay.analysis.sweep import TunableLimit
    from inspector.strategies.plan import Plan


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
    """Per session, the plan chosen from all other sessions (-1 for none, int64) and its net savings, dollars."""

    plan: NDArray[np.int64]
    net: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class PlanChoice:
    """Plan chosen for a group of sessions.

    Attributes:
        plan: Index of the plan; None if no plan saves.
        net: Its net savings in dollars over all sessions, with a bootstrap band over sessions.
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
    """Choose a plan and validate the choice; `beyond` permits plans beyond what has been tried in public."""
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
            cost: Per session, dollars with nothing cut.
            calls: Per session, recorded calls.
            keep: Tools with results that must not change.
            shortlist: Plans to choose among, if they come from a search on a sample.
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
        return len(self._trials)

    def add(self, plan: Plan, trials: Sequence[Trial | None]) -> None:
        """Store a plan's trials on every session, in their order."""
        self._trials[plan] = trials

    def take(self, other: GroupSearch) -> None:
        """Merge trials of another search on the same sessions; existing trials win."""
        self._trials |= {plan: trials for plan, trials in other._trials.items() if plan not in self._trials}

    def table(self) -> TrialTable:
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
        """Return the best plans, the Pareto front, and the best beyond the tried range; the closest if none saves."""
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
    """Effect of one limit of a plan, others fixed: ascending values, and the plan's index in the table at each."""

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


@dataclass(frozen=True, slots=True)
class FleetSession:
    """Properties of a session needed to tune it with others.

    Attributes:
        path: Path that opens it.
        agent: Kind of agent: name of the session's format, and whether another session started it.
        model: The model of most of its calls.
        calls: Number of recorded calls.
        cost: Dollars with nothing cut; NaN without a price.
        known: Confidence of savings on it.
        tools: Number of distinct tools it used.
        started: Calls and cost of the sessions that it started, which are in no other figure.
    """

    path: Path
    agent: str
    model: str
    calls: int
    cost: float
    known: HowKnown
    tools: int
    started: StartedTotals = NONE_STARTED

    @classmethod
    def of(cls, path: Path, prepared: PreparedSession, started: StartedTotals) -> FleetSession:
        history = prepared.inputs.history
        session = history.session
        models = [call.model for call in session.calls]
        kind = ", subagent" if parent_of(session) is not None else ""
        return cls(
            path=path,
            agent=f"{session.format}{kind}",
            model=max(dict.fromkeys(models), key=models.count, default=""),
            calls=history.call_count,
            cost=prepared.cost,
            known=prepared.inputs.scale.known,
            tools=len(history.tool_names),
            started=started,
        )


@dataclass(frozen=True, slots=True)
class FleetGroup:
    """Sessions that are tuned together, by path, and their models, by name."""

    agent: str
    models: tuple[str, ...]
    sessions: tuple[FleetSession, ...]

    @property
    def typical(self) -> FleetSession:
        """Session with the most tools, then calls; plans are fitted to its tools."""
        return max(self.sessions, key=lambda session: (session.tools, session.calls))

    def sample(self, count: int) -> FleetGroup:
        """Return at most `count` of its sessions over the whole range of costs, including the typical one."""
        if len(self.sessions) <= count:
            return self
        order = sorted(self.sessions, key=lambda session: session.cost)
        spread = [order[round(at * (len(order) - 1) / (count - 1))] for at in range(count)]
        if self.typical not in spread:
            spread[count // 2] = self.typical
        return replace(self, sessions=tuple(session for session in self.sessions if session in spread))

    def part(self) -> FleetGroup:
        """Return the sample of sessions to search."""
        return self.sample(SAMPLED)

    def few(self) -> FleetGroup:
        """Return a few sessions for a coarse search, of medium costs, just enough for a verdict."""
        sample = self.part()
        order = sorted(sample.sessions, key=lambda session: session.cost)
        count = min(LEAST_SESSIONS, len(order))
        spread = [order[(2 * at + 1) * len(order) // (2 * count)] for at in range(count)]
        return replace(self, sessions=tuple(session for session in sample.sessions if session in spread))

    @property
    def known(self) -> HowKnown:
        return lowest_confidence(*(session.known for session in self.sessions))


@dataclass(frozen=True, eq=False)
class TunedGroup:
    """Result of tuning a group.

    Attributes:
        left: Stages the search did not complete, in words; empty if it is complete.
        searched: Number of plans tried to find the ones in the table.
        sampled: Number of sessions they were tried on.
    """

    group: FleetGroup
    table: TrialTable
    choice: PlanChoice
    left: tuple[str, ...]
    searched: int
    sampled: int

    @property
    def is_complete(self) -> bool:
        return not self.left

    @classmethod
    def of(
        cls,
        group: FleetGroup,
        search: GroupSearch,
        coarse: GroupSearch,
        sampled: GroupSearch,
        *,
        beyond: bool = False,
    ) -> TunedGroup:
        """Choose among the plans tried; `sampled` is `search` if there was no search on a sample."""
        table, left = search.table(), _left(search, coarse, sampled)
        choice = choose(table, search.constraints, is_complete=not left, beyond=beyond)
        most = max((sampled, coarse), key=lambda each: each.tried)
        return cls(group, table, choice, left, most.tried, most.sessions)


def _left(search: GroupSearch, coarse: GroupSearch, sampled: GroupSearch) -> tuple[str, ...]:
    found: list[str] = [*coarse.left]
    if not coarse.left and set(sampled.left) & set(COARSE):
        found.append(f"the same on more than {coarse.sessions:,} sessions")
    found += [stage for stage in sampled.left if stage not in COARSE]
    if search is not sampled:
        found += [stage for stage in search.left if stage not in found]
    return tuple(dict.fromkeys(str(each) for each in found))


def grouped(sessions: Iterable[FleetSession]) -> tuple[FleetGroup, ...]:
    """Group sessions by kind of agent and model, most expensive first, pooling models with too few sessions."""
    separate: defaultdict[tuple[str, str], list[FleetSession]] = defaultdict(list)
    for session in sessions:
        separate[session.agent, session.model].append(session)
    together: defaultdict[tuple[str, tuple[str, ...]], list[FleetSession]] = defaultdict(list)
    small = {key for key, found in separate.items() if len(found) < LEAST_SESSIONS}
    for (agent, model), found in separate.items():
        models = tuple(sorted(name for of, name in small if of == agent)) if (agent, model) in small else (model,)
        together[agent, models] += found
    groups = [
        FleetGroup(agent, models, tuple(sorted(found, key=lambda session: session.path)))
        for (agent, models), found in together.items()
    ]
    return tuple(sorted(groups, key=lambda group: -sum(session.cost for session in group.sessions)))
