"""Search for the best plan of every group within one time limit, with fair shares of time.

Every group first gets a coarse search on a few of its sessions, and its best results are tried on all of them, so that
every group has an early answer. Groups with few calls come first. Each has an equal share of the remaining time, and
unused time is shared among later groups: a large group does not delay a small one, and many small ones take no more
than their shares from a large one.
"""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING, Final

from inspector.cli.output import ProgressLine
from inspector.cli.tuning_pool import retry_without_lost
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
"""Share of a group's time for the search on a sample of its sessions; the rest is for trying the results on all."""


class SharedSearch:
    """Search for the plans of many groups."""

    def __init__(self, pool: TuningPool, constraints: Constraints, terms: TrialTerms, plans: Sequence[Plan]) -> None:
        """Prepare the search.

        Args:
            pool: Tries plans on sessions.
            constraints: Limits on plans.
            terms: Permitted effects of plans.
            plans: The plans with limits to tune; empty for every strategy and built-in plan.
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
            until: Time limit on the monotonic clock.
            problems: Problems by session; sessions that can no longer be processed are added.

        Returns:
            The result of each in order, without groups that have no sessions left.
        """
        left = dict(enumerate(groups))
        found: dict[int, TunedGroup] = {}
        order = sorted(left, key=lambda at: sum(_calls(groups[at])))
        searched = [at for at in order if has_enough(_calls(groups[at]))]
        for search in (self._search_coarsely, self._search_fully):
            for number, at in enumerate(searched):
                now = time.monotonic()
                share = now + max(until - now, 0) / (len(searched) - number)
                text = f", group {number + 1} of {len(searched)}" if len(searched) > 1 else ""
                reported = retry_without_lost(left[at], problems, partial(search, share, text)) if at in left else None
                if reported is None:
                    left.pop(at, None)
                else:
                    found[at], left[at] = reported, reported.group
        for at in set(left) - set(searched):
            nothing = self._prepared(groups[at], ())
            found[at] = self._tuned(groups[at], nothing, nothing, nothing)
        return [found[at] for at in sorted(left)]

    def _search_coarsely(self, until: float, text: str, group: FleetGroup) -> TunedGroup:
        """Run the coarse search, and try its best results on all sessions."""
        now = time.monotonic()
        coarse = self._coarse(group, now + PART * (until - now), text)
        return self._tuned(group, self._first(group, coarse, until, text), coarse, self._prepared(group, SEARCH))

    def _search_fully(self, until: float, text: str, group: FleetGroup) -> TunedGroup:
        """Run the full search, which reuses the trials of the coarse one."""
        now = time.monotonic()
        coarse = self._coarse(group, now, text)
        first = self._first(group, coarse, now, text)
        sample = group.part()
        sampled = self._prepared(sample, SEARCH, bases=self._bases_of(group))
        self._run(sampled, sample, until if sample is group else now + PART * (until - now), text)
        if sample is group:
            sampled.take(first)
            return self._tuned(group, sampled, coarse, sampled)
        # Results on more sessions are more reliable, so they win unless they are worse.
        best = (sampled, coarse) if len(sampled.left) > len(SEARCH) - len(COARSE) else (sampled,)
        shortlist = [plan for each in reversed(best) for plan in each.shortlist()]
        chosen = self._prepared(group, CHOICE, shortlist=(*shortlist, *first.table().plans))
        self._run(chosen, group, until, text)
        return self._tuned(group, chosen, coarse, sampled)

    def _coarse(self, group: FleetGroup, until: float, text: str) -> GroupSearch:
        few = group.few()
        coarse = self._prepared(few, COARSE, bases=self._bases_of(group))
        self._run(coarse, few, until, text)
        return coarse

    def _first(self, group: FleetGroup, coarse: GroupSearch, until: float, text: str) -> GroupSearch:
        """Try the best results of the coarse search on all sessions."""
        first = self._prepared(group, (Stage.SHORTLIST,), shortlist=coarse.shortlist()[:FIRST])
        self._run(first, group, until, text)
        return first

    def _prepared(
        self, group: FleetGroup, stages: Sequence[Stage], *, bases: Sequence[Plan] = (), shortlist: Sequence[Plan] = ()
    ) -> GroupSearch:
        costs = [session.cost for session in group.sessions]
        terms, calls = self._terms, _calls(group)
        return GroupSearch(bases, self._constraints, costs, calls, terms.keep, shortlist, stages, beyond=terms.beyond)

    def _tuned(self, group: FleetGroup, search: GroupSearch, coarse: GroupSearch, sampled: GroupSearch) -> TunedGroup:
        return TunedGroup.of(group, search, coarse, sampled, beyond=self._terms.beyond)

    def _run(self, search: GroupSearch, group: FleetGroup, until: float, text: str) -> None:
        """Continue a search to its end or the time limit."""
        if self._pool.ended and not self._bases_of(group):
            return
        paths = [session.path for session in group.sessions]
        for plans in search.rounds():
            found = 0
            doing = f"trying {IN_TEXT.plural(len(plans), 'plan')} on {IN_TEXT.plural(len(paths), 'session')}{text}"
            with ProgressLine(doing, estimates=True) as progress:
                for plan, trials in self._pool.tried(plans, paths, self._terms, until, progress):
                    search.add(plan, trials)
                    found += 1
            if found < len(plans):
                return

    def _bases_of(self, group: FleetGroup) -> tuple[Plan, ...]:
        """Return the plans with limits to tune, fitted to the sessions; empty if the work ended early."""
        if self._plans:
            return self._plans
        path = group.typical.path
        if not self._bases.get(path):
            self._bases[path] = self._pool.bases(path)
        return self._bases[path]


def _calls(group: FleetGroup) -> list[int]:
    return [session.calls for session in group.sessions]
