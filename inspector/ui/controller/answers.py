"""What a session is asked first: where its money went, why it missed the prompt cache, what a plan could save.

All is worked out in threads: most as soon as a replay stands still, the best plan when nothing else is to be done.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from time import monotonic
from typing import TYPE_CHECKING

from inspector.ui.controller.changes import Change
from inspector.ui.controller.courtesy import Courtesy

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from inspector.replay.analysis.best_plan import BestPlan, BestPlanSearch
    from inspector.replay.analysis.cache_lifetime import LifetimeChange
    from inspector.replay.analysis.cache_misses import CacheMiss, CacheMisses
    from inspector.replay.analysis.next_call import NextCallCost
    from inspector.replay.analysis.reuse import ReuseScan
    from inspector.replay.engine.replay import Replay
    from inspector.replay.explain.spending import Spending
    from inspector.strategies.history.history import History
    from inspector.ui.controller.changes import ChangeListeners
    from inspector.ui.controller.host_protocols import Host, IsCancelled, Post, Stoppable
    from inspector.ui.outcome import Outcome

SECONDS_TO_REST = 0.2
"""A session that grows is added up anew once it has not for so long."""
SECONDS_UNCOUNTED = 2.0
"""While tokens are counted, nothing is added up for so long: mostly they are by then, and it would be done twice."""
SECONDS_TO_IDLE = 1.0
"""Plans are tried once nothing was replayed for so long."""
LONGEST_WAIT = 3.0
"""What waits for longer, as a session grows and grows, is begun between two replays."""
SECONDS_BETWEEN_REPLAYS = 0.02
"""The replay that comes next calls the search off, which goes on after it."""


@dataclass(frozen=True, eq=False)
class CacheAnswers:
    """What became of the prompt cache in one replay, and what else could have.

    Attributes:
        outcome: The replay.
        misses: Every call that read less than it could have.
        lifetime: What if the cache had been kept for longer, or shorter; None where there is no such choice.
        next_call: What the next call would cost; None where no cache keeps anything.
        recorded_next_call: The same of the session with nothing cut, which is what goes on.
    """

    outcome: Outcome
    misses: CacheMisses
    lifetime: LifetimeChange | None
    next_call: NextCallCost | None
    recorded_next_call: NextCallCost | None

    @cached_property
    def by_block(self) -> Mapping[int, CacheMiss]:
        """The misses that did not have to be, by the block at which their calls are shown."""
        from inspector.ui.timeline.jumps import place_of_call

        history = self.outcome.replay.history
        return {place_of_call(history, miss.call): miss for miss in self.misses.misses}

    def tells_of(self, outcome: Outcome) -> bool:
        """Whether it holds for another replay too: the same one, or one of the same plan and a session that grew."""
        known = self.outcome
        if known.replay is outcome.replay:
            return True
        return (known.plan.strategies, known.terms) == (outcome.plan.strategies, outcome.terms)


def explain_cache(outcome: Outcome) -> CacheAnswers:
    """Explain what became of the prompt cache."""
    from inspector.replay.analysis.cache_lifetime import lifetime_change
    from inspector.replay.analysis.cache_misses import cache_misses
    from inspector.replay.analysis.next_call import next_call_cost

    misses = cache_misses(outcome.replay, outcome.missed_anyway)
    next_call = next_call_cost(outcome.replay)
    recorded = next_call if outcome.replay is outcome.baseline else next_call_cost(outcome.baseline)
    found = CacheAnswers(outcome, misses, lifetime_change(misses), next_call, recorded)
    # Worked out here, and not while something is drawn.
    _ = found.by_block, misses.dearest, misses.causes, misses.total, misses.has_cache
    return found


class SpendingAnswers:
    """Where the money of the session with nothing cut went, why the prompt cache was missed, and the best plan.

    Of a session that grew the best plan is replayed anew at once; whether another one is better now is looked for when
    it grew by much.

    Attributes:
        spending: Where it went, as of the newest state of the session that was added up; None while unknown.
        cache: What became of the prompt cache in the newest replay that was looked through; None while unknown.
        recorded_cache: The same as of the newest one with nothing cut.
        best: What came of trying plans, so far while others are tried; None while unknown.
        is_searching: Plans are being tried, or will be.
    """

    def __init__(self, host: Host, changes: ChangeListeners, uses_of: Callable[[History], ReuseScan]) -> None:
        """Know nothing yet.

        Args:
            host: Where the work runs.
            changes: Who is told.
            uses_of: What finds where a session used what its tool results said.
        """
        self._host = host
        self._changes = changes
        self._uses_of = uses_of
        self._know_nothing()

    def _know_nothing(self) -> None:
        self.spending: Spending | None = None
        self.cache: CacheAnswers | None = None
        self.recorded_cache: CacheAnswers | None = None
        self.best: BestPlan | None = None
        self.is_searching = False
        self._timers: list[Stoppable] = []
        self._search: BestPlanSearch | None = None
        self._spent_at = 0.0
        self._searching_since: float | None = None
        self._best_of: Replay | None = None
        """The session with nothing cut, in the state that `best` is of."""

    def forget(self) -> None:
        """The session is another one."""
        self.give_way()
        self._host.stop("spending")
        self._know_nothing()

    def cache_of(self, outcome: Outcome | None) -> CacheAnswers | None:
        """What became of the prompt cache in a replay; None while unknown."""
        known = self.cache
        return known if known is not None and outcome is not None and known.tells_of(outcome) else None

    def give_way(self) -> None:
        """Work on nothing: something else is to be replayed, after which there is `take`."""
        for timer in self._timers:
            timer.stop()
        self._timers = []
        self._host.stop("best plan")
        self._host.stop("renew best plan")
        self._host.stop("cache misses")

    def recall(self, outcome: Outcome) -> None:
        """Before a replay is shown: what became of the cache in it is told with it, where that is known already."""
        if (recorded := self.recorded_cache) is not None and recorded.outcome.replay is outcome.replay:
            self.cache = recorded

    def take(self, outcome: Outcome, *, is_counted: bool) -> None:
        """There is a newer replay. What it is not asked about any more, with a strategy on, is called off.

        Args:
            outcome: The replay.
            is_counted: No better token counts are to be expected.
        """
        self.give_way()
        rest = SECONDS_TO_REST if is_counted else SECONDS_UNCOUNTED
        recorded = self.recorded_cache
        if recorded is not None and recorded.outcome.replay is outcome.replay:
            self._take_cache(recorded)
        elif self.cache is None and is_counted:
            self._explain_cache(outcome)
        elif self.cache is None or self.cache.outcome.replay is not outcome.replay:
            self._timers.append(self._host.later(rest, partial(self._explain_cache, outcome)))
        if outcome.plan.strategies:
            return
        if self.spending is None and is_counted:
            self._add_up(outcome)
        elif self.spending is None or self.spending.replay is not outcome.baseline:
            if is_counted and monotonic() - self._spent_at > LONGEST_WAIT:
                rest = SECONDS_BETWEEN_REPLAYS
            self._timers.append(self._host.later(rest, partial(self._add_up, outcome)))
        if outcome.replay.history.call_count:
            self._ask_for_best(outcome, is_counted=is_counted)

    def _ask_for_best(self, outcome: Outcome, *, is_counted: bool) -> None:
        """Have the best plan looked for where it is not known, and replayed where it is of another state."""
        if self._search is not None and not self._search.serves(outcome.baseline):
            self._search, self.is_searching = None, True
        self.is_searching = self.is_searching or self.best is None
        if not is_counted:
            return
        if self.best is not None and self._best_of is not outcome.baseline:
            self._timers.append(self._host.later(SECONDS_TO_REST, partial(self._renew_best, outcome)))
        if self.is_searching:
            if self._searching_since is None:
                self._searching_since = monotonic()
            is_late = monotonic() - self._searching_since > LONGEST_WAIT
            wait = SECONDS_BETWEEN_REPLAYS if is_late else SECONDS_TO_IDLE
            self._timers.append(self._host.later(wait, partial(self._look_for_best, outcome)))

    def search_on(self, outcome: Outcome) -> BestPlanSearch:
        """The search for the best plan of a session, as far as it came: for who wants what it finds."""
        if self._search is None or not self._search.serves(outcome.baseline):
            self._search = _search_on(outcome.baseline, self._uses_of(outcome.replay.history))
        return self._search

    @property
    def tried(self) -> tuple[int, int] | None:
        """How many plans the search has tried, and of how many; None before it began."""
        return None if self._search is None else (self._search.tried, self._search.count)

    def _add_up(self, outcome: Outcome) -> None:
        def work(post: Post[Spending], is_cancelled: IsCancelled) -> None:  # noqa: ARG001  done in a moment
            from inspector.replay.explain.spending import spending_of

            post(spending_of(outcome.baseline))

        self._host.run(work, self._take_spending, group="spending", description="add up what the session cost")

    def _take_spending(self, spending: Spending) -> None:
        self.spending, self._spent_at = spending, monotonic()
        self._changes.publish(Change.ANSWERS)

    def _explain_cache(self, outcome: Outcome) -> None:
        def work(post: Post[CacheAnswers], is_cancelled: IsCancelled) -> None:  # noqa: ARG001  done in a moment
            post(explain_cache(outcome))

        self._host.run(work, self._take_cache, group="cache misses", description="explain cache misses")

    def _take_cache(self, found: CacheAnswers) -> None:
        self.cache = found
        if found.outcome.replay is found.outcome.baseline:
            self.recorded_cache = found
        self._changes.publish(Change.ANSWERS)

    def _renew_best(self, outcome: Outcome) -> None:
        """Say of the best plan what it comes to in another state of the session."""
        known, uses = self.best, self._uses_of(outcome.replay.history)
        if known is None:
            return

        def work(post: Post[_Found], is_cancelled: IsCancelled) -> None:
            found = _in_state(known, outcome.baseline, uses, Courtesy(is_cancelled))
            if found is not None:
                post(found)

        self._host.run(work, self._take_best, group="renew best plan", description="replay the best plan")

    def _look_for_best(self, outcome: Outcome) -> None:
        known, search, uses = self.best, self._search, self._uses_of(outcome.replay.history)

        def work(post: Post[BestPlanSearch | _Found], is_cancelled: IsCancelled) -> None:
            own = search
            if own is None:
                own = _search_on(outcome.baseline, uses, known)
                post(own)
            searched, courtesy = own, Courtesy(is_cancelled)

            def tell(so_far: BestPlan) -> None:
                post(_Found(so_far, searched.baseline))

            found = searched.run(courtesy.is_cancelled, courtesy.pause, tell)
            newest = None if found is None else _Found(found, searched.baseline, is_last=True)
            if newest is not None and newest.baseline is not outcome.baseline:
                newest = _in_state(newest.best, outcome.baseline, uses, courtesy, is_last=True)
            if newest is not None:
                post(newest)

        self._host.run(
            work, self._take_best, group="best plan", description="look for the best plan", failed=self._stop_searching
        )

    def _take_best(self, found: BestPlanSearch | _Found) -> None:
        if not isinstance(found, _Found):
            self._search = found
            return
        self.best, self._best_of = found.best, found.baseline
        if found.is_last:
            self._stop_searching()
        else:
            self._changes.publish(Change.ANSWERS)

    def _stop_searching(self) -> None:
        self.is_searching, self._searching_since = False, None
        self._changes.publish(Change.ANSWERS)


@dataclass(frozen=True, eq=False)
class _Found:
    """What came of trying plans.

    Attributes:
        best: What was found.
        baseline: The session with nothing cut, in the state that it is of.
        is_last: The search is over.
    """

    best: BestPlan
    baseline: Replay
    is_last: bool = False


def _search_on(baseline: Replay, uses: ReuseScan, known: BestPlan | None = None) -> BestPlanSearch:
    from inspector.replay.analysis.best_plan import BestPlanSearch
    from inspector.report.export import part_of

    return BestPlanSearch(baseline, uses, known, partial(part_of, baseline.history.session.format))


def _in_state(
    known: BestPlan, baseline: Replay, uses: ReuseScan, courtesy: Courtesy, *, is_last: bool = False
) -> _Found | None:
    """What was found, as of another state of the session; None where it was called off."""
    from inspector.replay.analysis.best_plan import renewed
    from inspector.replay.engine.renderer import ReplayCancelledError

    found = uses.run(courtesy.is_cancelled)
    if found is None:
        return None
    try:
        return _Found(renewed(known, baseline, found, courtesy.is_cancelled), baseline, is_last)
    except ReplayCancelledError:
        return None
