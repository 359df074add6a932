"""Group sessions for tuning: one kind of agent and one model, or several models if each has too few sessions."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from inspector.replay.figure import HowKnown, lowest_confidence
from inspector.replay.sessions import NONE_STARTED, StartedTotals
from inspector.replay.tuning.choice import LEAST_SESSIONS, PlanChoice, choose
from inspector.replay.tuning.search import COARSE, SAMPLED
from inspector.session.related import parent_of

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from inspector.replay.tuning.search import GroupSearch
    from inspector.replay.tuning.trial import PreparedSession
    from inspector.replay.tuning.trial_table import TrialTable


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
    """Sessions that are tuned together.

    Attributes:
        agent: Their kind of agent.
        models: Their models, by name.
        sessions: The sessions, by path.
    """

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
        """Confidence of savings on all of them."""
        return lowest_confidence(*(session.known for session in self.sessions))


@dataclass(frozen=True, eq=False)
class TunedGroup:
    """Result of tuning a group.

    Attributes:
        group: The sessions.
        table: All trials.
        choice: The choice.
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
        """Choose among the plans tried.

        Args:
            group: The sessions.
            search: Trials on all of them.
            coarse: The coarse search on a few of them.
            sampled: The search on a sample, if there was one; otherwise `search`.
            beyond: True if plans may go beyond what has been tried in public.
        """
        table, left = search.table(), _left(search, coarse, sampled)
        choice = choose(table, search.constraints, is_complete=not left, beyond=beyond)
        most = max((sampled, coarse), key=lambda each: each.tried)
        return cls(group, table, choice, left, most.tried, most.sessions)


def _left(search: GroupSearch, coarse: GroupSearch, sampled: GroupSearch) -> tuple[str, ...]:
    """Return the incomplete stages, in words."""
    found: list[str] = [*coarse.left]
    if not coarse.left and set(sampled.left) & set(COARSE):
        found.append(f"the same on more than {coarse.sessions:,} sessions")
    found += [stage for stage in sampled.left if stage not in COARSE]
    if search is not sampled:
        found += [stage for stage in search.left if stage not in found]
    return tuple(dict.fromkeys(str(each) for each in found))


def grouped(sessions: Iterable[FleetSession]) -> tuple[FleetGroup, ...]:
    """Group sessions by kind of agent and model, and pool models with too few sessions.

    The most expensive groups come first.
    """
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
