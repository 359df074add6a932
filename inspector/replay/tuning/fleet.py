"""Sessions that are tuned together: of one kind of agent and one model, or of several models where each has too few."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from inspector.replay.figure import HowKnown, weakest
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
    """What has to be known of a session to tune it with others.

    Attributes:
        path: What opens it.
        agent: The kind of agent: the name of the session's format, and whether another session started it.
        model: The model of most of its calls.
        calls: How many were recorded.
        cost: Dollars with nothing cut; NaN without a price.
        known: How savings on it are known.
        tools: How many different tools it used.
    """

    path: Path
    agent: str
    model: str
    calls: int
    cost: float
    known: HowKnown
    tools: int

    @classmethod
    def of(cls, path: Path, prepared: PreparedSession) -> FleetSession:
        """What a session is among others."""
        history = prepared.inputs.history
        session = history.session
        models = [call.model for call in session.calls]
        started = ", started by another session" if parent_of(session) is not None else ""
        return cls(
            path=path,
            agent=f"{session.format}{started}",
            model=max(dict.fromkeys(models), key=models.count, default=""),
            calls=history.call_count,
            cost=prepared.cost,
            known=prepared.inputs.scale.known,
            tools=len(history.tool_names),
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
        """The session whose tools plans are fitted to: the one with most of them, and of these with most calls."""
        return max(self.sessions, key=lambda session: (session.tools, session.calls))

    def sample(self, count: int) -> FleetGroup:
        """At most so many of its sessions, dear and cheap ones alike; the typical one is among them."""
        if len(self.sessions) <= count:
            return self
        order = sorted(self.sessions, key=lambda session: session.cost)
        spread = [order[round(at * (len(order) - 1) / (count - 1))] for at in range(count)]
        if self.typical not in spread:
            spread[count // 2] = self.typical
        return replace(self, sessions=tuple(session for session in self.sessions if session in spread))

    def part(self) -> FleetGroup:
        """Those of its sessions that are searched."""
        return self.sample(SAMPLED)

    def few(self) -> FleetGroup:
        """Those that are searched coarsely: of the others, as many as tell anything, of all costs but the extremes."""
        sample = self.part()
        order = sorted(sample.sessions, key=lambda session: session.cost)
        count = min(LEAST_SESSIONS, len(order))
        spread = [order[(2 * at + 1) * len(order) // (2 * count)] for at in range(count)]
        return replace(self, sessions=tuple(session for session in sample.sessions if session in spread))

    @property
    def known(self) -> HowKnown:
        """How savings on all of them are known."""
        return weakest(*(session.known for session in self.sessions))


@dataclass(frozen=True, eq=False)
class TunedGroup:
    """What came of tuning a group.

    Attributes:
        group: The sessions.
        table: Everything that was tried.
        choice: What to make of it.
        left: What the search did not come to before it was ended, in words; empty where it went to its end.
        searched: How many plans were tried to find those of the table.
        sampled: On how many of the sessions.
    """

    group: FleetGroup
    table: TrialTable
    choice: PlanChoice
    left: tuple[str, ...]
    searched: int
    sampled: int

    @property
    def is_complete(self) -> bool:
        """Whether the search went to its end."""
        return not self.left

    @classmethod
    def of(cls, group: FleetGroup, search: GroupSearch, coarse: GroupSearch, sampled: GroupSearch) -> TunedGroup:
        """Choose among what was tried.

        Args:
            group: The sessions.
            search: What was tried on all of them.
            coarse: The coarse search on a few of them.
            sampled: The search on a part of them, where there was one; else the same as on all.
        """
        table = search.table()
        choice = choose(table, search.constraints)
        most = max((sampled, coarse), key=lambda each: each.tried)
        return cls(group, table, choice, _left(search, coarse, sampled), most.tried, most.sessions)


def _left(search: GroupSearch, coarse: GroupSearch, sampled: GroupSearch) -> tuple[str, ...]:
    """What was not come to, in words."""
    found: list[str] = [*coarse.left]
    if not coarse.left and set(sampled.left) & set(COARSE):
        found.append(f"the rest of it on more than {coarse.sessions:,} sessions")
    found += [stage for stage in sampled.left if stage not in COARSE]
    if search is not sampled:
        found += [stage for stage in search.left if stage not in found]
    return tuple(dict.fromkeys(str(each) for each in found))


def grouped(sessions: Iterable[FleetSession]) -> tuple[FleetGroup, ...]:
    """Sessions by kind of agent and model; of an agent's models that have too few of them, all together.

    The groups that cost most come first.
    """
    apart: defaultdict[tuple[str, str], list[FleetSession]] = defaultdict(list)
    for session in sessions:
        apart[session.agent, session.model].append(session)
    together: defaultdict[tuple[str, tuple[str, ...]], list[FleetSession]] = defaultdict(list)
    small = {key for key, found in apart.items() if len(found) < LEAST_SESSIONS}
    for (agent, model), found in apart.items():
        models = tuple(sorted(name for of, name in small if of == agent)) if (agent, model) in small else (model,)
        together[agent, models] += found
    groups = [
        FleetGroup(agent, models, tuple(sorted(found, key=lambda session: session.path)))
        for (agent, models), found in together.items()
    ]
    return tuple(sorted(groups, key=lambda group: -sum(session.cost for session in group.sessions)))
