"""Answers to the first questions about a session: its spending, its cache misses, and the plan that saves most.

Computed in threads: most after a replay settles, the best plan when the program is idle.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from time import monotonic
from typing import TYPE_CHECKING, Protocol

from inspector.ui.controller.host import Change, ChangeListeners, Host, IsCancelled, Post, Stoppable, YieldingTask

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from inspector.replay.analysis.alternatives import LifetimeChange, NextCallCost
    from inspector.replay.analysis.best_plan import BestPlan, BestPlanSearch
    from inspector.replay.analysis.cache_misses import CacheMiss, CacheMisses
    from inspector.replay.analysis.reuse import ReuseScan
    from inspector.replay.engine.replay import Replay
    from inspector.replay.explain.cost_sheet import Spending
    from inspector.report.cache_document import CacheSetting
    from inspector.report.sentences import SessionTrims, StoreStamp
    from inspector.session.model import Session
    from inspector.strategies.history.history import History
    from inspector.ui.outcome import Outcome


SECONDS_TO_REST = 0.2
"""Seconds without growth before the spending of a growing session is recomputed."""
SECONDS_UNCOUNTED = 2.0
"""Delay of the answers while tokens are counted; they would be computed twice otherwise."""
SECONDS_TO_IDLE = 1.0
"""Seconds without a replay before plans are tried."""
LONGEST_WAIT = 3.0
"""Seconds after which an answer for a growing session no longer waits for a pause."""
SECONDS_BETWEEN_REPLAYS = 0.02
"""Delay of an overdue search; the next replay cancels it and it continues afterwards."""


@dataclass(frozen=True, eq=False)
class CacheAnswers:
    """Cache misses of one replay and alternatives to them.

    Attributes:
        outcome: The replay.
        misses: Every call that read less than it could have.
        lifetime: Effect of a longer or shorter cache lifetime; None if there is no choice.
        next_call: Cost of the next call; None without a prompt cache.
        recorded_next_call: Cost of the next call without a plan, as the session continues.
        settings: Settings of the agent that would have prevented misses.
    """

    outcome: Outcome
    misses: CacheMisses
    lifetime: LifetimeChange | None
    next_call: NextCallCost | None
    recorded_next_call: NextCallCost | None
    settings: Sequence[CacheSetting] = ()

    @cached_property
    def by_block(self) -> Mapping[int, CacheMiss]:
        """Avoidable misses, by the block of the call's row."""
        from inspector.ui.timeline.jumps import place_of_call

        history = self.outcome.replay.history
        return {place_of_call(history, miss.call): miss for miss in self.misses.misses}

    def applies_to(self, outcome: Outcome) -> bool:
        """Return True if the answers apply to a replay: the same, or the same plan on a session that has grown."""
        known = self.outcome
        if known.replay is outcome.replay:
            return True
        return (known.plan.strategies, known.terms) == (outcome.plan.strategies, outcome.terms)


def explain_cache(outcome: Outcome) -> CacheAnswers:
    from inspector.replay.analysis.alternatives import lifetime_change, next_call_cost
    from inspector.replay.analysis.cache_misses import cache_misses
    from inspector.report.cache_document import cache_settings

    misses = cache_misses(outcome.replay, outcome.missed_without_plan)
    next_call = next_call_cost(outcome.replay)
    recorded = next_call if outcome.replay is outcome.baseline else next_call_cost(outcome.baseline)
    change = lifetime_change(misses)
    found = CacheAnswers(outcome, misses, change, next_call, recorded, cache_settings(misses, change))
    # Fill the caches here instead of while drawing.
    _ = found.by_block, misses.dearest, misses.causes, misses.total, misses.has_cache
    return found


class SpendingAnswers:
    """Spending of the session without a plan, its cache misses, and the best plan.

    After the session has grown, the best plan is replayed immediately, but the search for a better one starts only
    after substantial growth.

    Attributes:
        spending: Spending in the latest computed state of the session; None while unknown.
        cache: Cache misses of the latest analyzed replay; None while unknown.
        recorded_cache: Cache misses of the latest replay without a plan.
        best: Result of the search for the best plan; None while unknown.
        is_searching: Plans are being tried, or will be.
    """

    def __init__(self, host: Host, changes: ChangeListeners, use_count: Callable[[History], ReuseScan]) -> None:
        """Start without answers; `use_count` returns the scan for later uses of tool results."""
        self._host = host
        self._changes = changes
        self._uses_of = use_count
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
        """Replay without a plan that `best` refers to."""

    def forget(self) -> None:
        self.pause()
        self._host.stop("spending")
        self._know_nothing()

    def cache_of(self, outcome: Outcome | None) -> CacheAnswers | None:
        """Return the cache misses of a replay; None while unknown."""
        known = self.cache
        return known if known is not None and outcome is not None and known.applies_to(outcome) else None

    def pause(self) -> None:
        """Cancel running work for the next replay; `take` is called after it."""
        for timer in self._timers:
            timer.stop()
        self._timers = []
        self._host.stop("best plan")
        self._host.stop("renew best plan")
        self._host.stop("cache misses")

    def recall(self, outcome: Outcome) -> None:
        """Restore known cache answers of a replay before it is shown."""
        if (recorded := self.recorded_cache) is not None and recorded.outcome.replay is outcome.replay:
            self.cache = recorded

    def take(self, outcome: Outcome, *, is_counted: bool) -> None:
        """Start computing answers for a newer replay; with a strategy on, skip those about the recorded session.

        `is_counted` is True once token counts are final.
        """
        self.pause()
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
        """Schedule the search for the best plan, or its replay if the session has changed."""
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
        """Return the search for the best plan with its progress so far, to be shared with other users."""
        if self._search is None or not self._search.serves(outcome.baseline):
            self._search = _search_on(outcome.baseline, self._uses_of(outcome.replay.history))
        return self._search

    @property
    def tried(self) -> tuple[int, int] | None:
        """Number of plans tried and to try; None before the search."""
        return None if self._search is None else (self._search.tried, self._search.count)

    def _add_up(self, outcome: Outcome) -> None:
        def work(post: Post[Spending], is_cancelled: IsCancelled) -> None:  # noqa: ARG001  short
            from inspector.replay.explain.cost_sheet import spending_of

            post(spending_of(outcome.baseline))

        self._host.run(work, self._take_spending, group="spending", description="add up the session's cost")

    def _take_spending(self, spending: Spending) -> None:
        self.spending, self._spent_at = spending, monotonic()
        self._changes.publish(Change.ANSWERS)

    def _explain_cache(self, outcome: Outcome) -> None:
        def work(post: Post[CacheAnswers], is_cancelled: IsCancelled) -> None:  # noqa: ARG001  short
            post(explain_cache(outcome))

        self._host.run(work, self._take_cache, group="cache misses", description="explain cache misses")

    def _take_cache(self, found: CacheAnswers) -> None:
        self.cache = found
        if found.outcome.replay is found.outcome.baseline:
            self.recorded_cache = found
        self._changes.publish(Change.ANSWERS)

    def _renew_best(self, outcome: Outcome) -> None:
        """Replay the best plan on another state of the session."""
        known, uses = self.best, self._uses_of(outcome.replay.history)
        if known is None:
            return

        def work(post: Post[_Found], is_cancelled: IsCancelled) -> None:
            found = _in_state(known, outcome.baseline, uses, YieldingTask(is_cancelled))
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
            searched, task = own, YieldingTask(is_cancelled)

            found = searched.run(task.is_cancelled, task.pause, with_most=False)
            newest = None if found is None else _Found(found, searched.baseline, is_last=True)
            if newest is not None and newest.baseline is not outcome.baseline:
                newest = _in_state(newest.best, outcome.baseline, uses, task, is_last=True)
            if newest is not None:
                post(newest)

        self._host.run(
            work,
            self._take_best,
            group="best plan",
            description="search for the best plan",
            failed=self._stop_searching,
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
    """Result of trying plans.

    Attributes:
        best: The best plan.
        baseline: Replay without a plan that `best` refers to.
        is_last: The search is complete.
    """

    best: BestPlan
    baseline: Replay
    is_last: bool = False


def _search_on(baseline: Replay, uses: ReuseScan, known: BestPlan | None = None) -> BestPlanSearch:
    from inspector.replay.analysis.best_plan import BestPlanSearch
    from inspector.report.export import part_of

    return BestPlanSearch(baseline, uses, known, partial(part_of, baseline.history.session.format))


def _in_state(
    known: BestPlan, baseline: Replay, uses: ReuseScan, task: YieldingTask, *, is_last: bool = False
) -> _Found | None:
    """Recompute a result on another state of the session; None if cancelled."""
    from inspector.replay.analysis.best_plan import refreshed
    from inspector.replay.engine.renderer import ReplayCancelledError

    found = uses.run(task.is_cancelled)
    if found is None:
        return None
    try:
        return _Found(refreshed(known, baseline, found, task.is_cancelled), baseline, is_last)
    except ReplayCancelledError:
        return None


class RunsJobs(Protocol):
    """Runs work in threads, one run per group."""

    def run(
        self,
        work: Callable[[Post[SessionTrims | None], IsCancelled], None],
        take: Callable[[SessionTrims | None], object],
        *,
        group: str,
        description: str,
    ) -> object: ...


class HookTrims:
    """Reads the hook's trims of a session.

    Attributes:
        found: The trims; None if there are none, and until they are read.
    """

    def __init__(self, jobs: RunsJobs, on_change: Callable[[], object]) -> None:
        """Start without trims; `on_change` is called when they change."""
        self.found: SessionTrims | None = None
        self._jobs = jobs
        self._on_change = on_change
        self._asked: tuple[str, StoreStamp | None] = ("", None)

    def ask(self, session: Session | None) -> None:
        """Read the session's trims if they may have changed."""
        from inspector.report.sentences import session_trims, store_stamp

        identifier = "" if session is None else session.identifier
        asked = identifier, store_stamp() if identifier else None
        if asked == self._asked:
            return
        self._asked = asked
        if session is None or asked[1] is None:
            self._take(None)
            return

        def work(post: Post[SessionTrims | None], is_cancelled: IsCancelled) -> None:  # noqa: ARG001  short
            post(session_trims(session))

        self._jobs.run(work, self._take, group="hook trims", description="read the hook's trims")

    def _take(self, found: SessionTrims | None) -> None:
        if found != self.found:
            self.found = found
            self._on_change()
