"""The search for every group's plan within one time, shared so that no group is starved by another.

Before any group is searched further, each has a coarse search on a few of its sessions, and what did best there is
tried on all of them: an answer for every group comes early. Groups with few calls come first. Each has an equal share
of the time that is left, and what it does not need is shared among those after it, so that a large group keeps no small
one waiting, and many small ones take no more than their shares from a large one.
"""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING, Final

from inspector.cli.output import ProgressLine
from inspector.cli.tuning_pool import without_lost
from inspector.replay.tuning.choice import has_enough
from inspector.replay.tuning.fleet import TunedGroup
from inspector.replay.tuning.search import CHOICE, COARSE, FIRST, SEARCH, GroupSearch, Stage
from inspector.report.numbers import IN_TEXT

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from inspector.cli.tuning_pool import TuningPool
    from inspector.replay.tuning.fleet import FleetGroup
    from inspector.replay.tuning.trial import TrialTerms
    from inspector.replay.tuning.trial_table import Constraints
    from inspector.strategies.plan import Plan

PART: Final = 0.7
"""Of a group's time, for the search on a part of its sessions; the rest is for trying what it found on all of them."""


class SharedSearch:
    """Searches for the plans of many groups."""

    def __init__(self, pool: TuningPool, constraints: Constraints, terms: TrialTerms, plans: Sequence[Plan]) -> None:
        """Prepare.

        Args:
            pool: What tries plans on sessions.
            constraints: What a plan may not exceed.
            terms: What plans may do.
            plans: The plans whose limits are tuned; none for every strategy and ready plan.
        """
        self._pool = pool
        self._constraints = constraints
        self._terms = terms
        self._plans = tuple(plans)
        self._bases: dict[Path, tuple[Plan, ...]] = {}

    def tuned(self, groups: Sequence[FleetGroup], until: float, problems: dict[Path, str]) -> list[TunedGroup]:
        """Search for every group's plan.

        Args:
            groups: The groups.
            until: When to stop, on the monotonic clock.
            problems: What was wrong with sessions; those that cannot be worked on any more are added.

        Returns:
            What came of each, in their order, without those of which no session is left.
        """
        left = dict(enumerate(groups))
        found: dict[int, TunedGroup] = {}
        order = sorted(left, key=lambda at: sum(_calls(groups[at])))
        searched = [at for at in order if has_enough(_calls(groups[at]))]
        for search in (self._coarsely, self._further):
            for number, at in enumerate(searched):
                now = time.monotonic()
                share = now + max(until - now, 0) / (len(searched) - number)
                said = f", group {number + 1} of {len(searched)}" if len(searched) > 1 else ""
                told = without_lost(left[at], problems, partial(search, share, said)) if at in left else None
                if told is None:
                    left.pop(at, None)
                else:
                    found[at], left[at] = told, told.group
        for at in set(left) - set(searched):
            nothing = self._prepared(groups[at], ())
            found[at] = TunedGroup.of(groups[at], nothing, nothing, nothing)
        return [found[at] for at in sorted(left)]

    def _coarsely(self, until: float, said: str, group: FleetGroup) -> TunedGroup:
        """The coarse search, and what did best there on all sessions."""
        now = time.monotonic()
        coarse = self._coarse(group, now + PART * (until - now), said)
        return TunedGroup.of(group, self._first(group, coarse, until, said), coarse, self._prepared(group, SEARCH))

    def _further(self, until: float, said: str, group: FleetGroup) -> TunedGroup:
        """The whole search, after the coarse one, of which what was tried is known."""
        now = time.monotonic()
        coarse = self._coarse(group, now, said)
        first = self._first(group, coarse, now, said)
        sample = group.part()
        sampled = self._prepared(sample, SEARCH, bases=self._bases_of(group))
        self._run(sampled, sample, until if sample is group else now + PART * (until - now), said)
        if sample is group:
            sampled.take(first)
            return TunedGroup.of(group, sampled, coarse, sampled)
        # What was come to on more sessions is known better, as long as it is no less.
        best = (sampled, coarse) if len(sampled.left) > len(SEARCH) - len(COARSE) else (sampled,)
        shortlist = [plan for each in reversed(best) for plan in each.shortlist()]
        chosen = self._prepared(group, CHOICE, shortlist=(*shortlist, *first.table().plans))
        self._run(chosen, group, until, said)
        return TunedGroup.of(group, chosen, coarse, sampled)

    def _coarse(self, group: FleetGroup, until: float, said: str) -> GroupSearch:
        few = group.few()
        coarse = self._prepared(few, COARSE, bases=self._bases_of(group))
        self._run(coarse, few, until, said)
        return coarse

    def _first(self, group: FleetGroup, coarse: GroupSearch, until: float, said: str) -> GroupSearch:
        """What did best in the coarse search, tried on all sessions."""
        first = self._prepared(group, (Stage.SHORTLIST,), shortlist=coarse.shortlist()[:FIRST])
        self._run(first, group, until, said)
        return first

    def _prepared(
        self, group: FleetGroup, stages: Sequence[Stage], *, bases: Sequence[Plan] = (), shortlist: Sequence[Plan] = ()
    ) -> GroupSearch:
        costs = [session.cost for session in group.sessions]
        return GroupSearch(bases, self._constraints, costs, _calls(group), self._terms.keep, shortlist, stages)

    def _run(self, search: GroupSearch, group: FleetGroup, until: float, said: str) -> None:
        """Go on with a search until it is at its end, or time is up."""
        if self._pool.ended and not self._bases_of(group):
            return
        paths = [session.path for session in group.sessions]
        for plans in search.rounds():
            found = 0
            doing = f"trying {IN_TEXT.plural(len(plans), 'plan')} on {IN_TEXT.plural(len(paths), 'session')}{said}"
            with ProgressLine(doing, estimates=True) as progress:
                for plan, trials in self._pool.tried(plans, paths, self._terms, until, progress):
                    search.add(plan, trials)
                    found += 1
            if found < len(plans):
                return

    def _bases_of(self, group: FleetGroup) -> tuple[Plan, ...]:
        """The plans whose limits are tuned, as they fit the sessions; none where the work ended before that."""
        if self._plans:
            return self._plans
        path = group.typical.path
        if not self._bases.get(path):
            self._bases[path] = self._pool.bases(path)
        return self._bases[path]


def _calls(group: FleetGroup) -> list[int]:
    return [session.calls for session in group.sessions]
