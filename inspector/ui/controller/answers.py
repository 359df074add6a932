"""What a session with no strategy on is asked first: where its money went, and what a plan could save of it.

Both are worked out in threads: the first as soon as a replay stands still, the second when nothing else is to be done.
"""

from __future__ import annotations

from functools import partial
from time import monotonic, sleep
from typing import TYPE_CHECKING

from inspector.ui.controller.changes import Change

if TYPE_CHECKING:
    from collections.abc import Callable

    from inspector.replay.analysis.best_plan import BestPlan, BestPlanSearch
    from inspector.replay.analysis.reuse import ReuseScan
    from inspector.replay.explain.spending import Spending
    from inspector.strategies.history.history import History
    from inspector.ui.controller.changes import ChangeListeners
    from inspector.ui.controller.host_protocols import Host, IsCancelled, Post, Stoppable
    from inspector.ui.outcome import Outcome

SECONDS_TO_REST = 0.2
"""A session that grows is added up anew once it has not for so long."""
SECONDS_TO_IDLE = 1.0
"""Plans are tried once nothing was replayed for so long."""
LONGEST_PAUSE = 0.25
"""Between two plans, as long as the first of them took, and no longer."""
SECONDS_AT_WORK, SECONDS_TO_YIELD = 0.004, 0.002
"""How long it works at a stretch, and how long it lets other threads go first then."""


class SpendingAnswers:
    """Where the money of the session with nothing cut went, and the plan that would save most of it.

    Attributes:
        spending: Where it went, as of the newest state of the session that was added up; None while unknown.
        best: What came of trying all plans; None while unknown.
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
        self.best: BestPlan | None = None
        self.is_searching = False
        self._timers: list[Stoppable] = []
        self._search: BestPlanSearch | None = None

    def forget(self) -> None:
        """The session is another one."""
        self.give_way()
        self._host.stop("spending")
        self._know_nothing()

    def give_way(self) -> None:
        """Work on nothing: something else is to be replayed, after which there is `take`."""
        for timer in self._timers:
            timer.stop()
        self._timers = []
        self._host.stop("best plan")

    def take(self, outcome: Outcome, *, is_counted: bool) -> None:
        """There is a newer replay. What it is not asked about any more, with a strategy on, is called off.

        Args:
            outcome: The replay.
            is_counted: No better token counts are to be expected.
        """
        self.give_way()
        if outcome.plan.strategies:
            return
        if self.spending is None:
            self._add_up(outcome)
        elif self.spending.replay is not outcome.baseline:
            self._timers.append(self._host.later(SECONDS_TO_REST, partial(self._add_up, outcome)))
        if not outcome.replay.history.call_count:
            return
        if self._search is not None and not self._search.serves(outcome.baseline):
            self._search = self.best = None
        self.is_searching = self.best is None
        if is_counted and self.is_searching:
            self._timers.append(self._host.later(SECONDS_TO_IDLE, partial(self._look_for_best, outcome)))

    def _add_up(self, outcome: Outcome) -> None:
        def work(post: Post[Spending], is_cancelled: IsCancelled) -> None:  # noqa: ARG001  done in a moment
            from inspector.replay.explain.spending import spending_of

            post(spending_of(outcome.baseline))

        self._host.run(work, self._take_spending, group="spending", description="add up what the session cost")

    def _take_spending(self, spending: Spending) -> None:
        self.spending = spending
        self._changes.publish(Change.ANSWERS)

    def _look_for_best(self, outcome: Outcome) -> None:
        known, uses = self._search, self._uses_of(outcome.replay.history)

        def work(post: Post[BestPlanSearch | BestPlan], is_cancelled: IsCancelled) -> None:
            from inspector.replay.analysis.best_plan import BestPlanSearch

            search = known
            if search is None:
                search = BestPlanSearch(outcome.baseline, uses)
                post(search)
            courtesy = _Courtesy(is_cancelled)
            found = search.run(courtesy.is_cancelled, courtesy.pause)
            if found is not None:
                post(found)

        self._host.run(
            work, self._take_best, group="best plan", description="look for the best plan", failed=self._stop_searching
        )

    def _take_best(self, found: BestPlanSearch | BestPlan) -> None:
        from inspector.replay.analysis.best_plan import BestPlan

        if isinstance(found, BestPlan):
            self.best = found
            self._stop_searching()
        else:
            self._search = found

    def _stop_searching(self) -> None:
        self.is_searching = False
        self._changes.publish(Change.ANSWERS)


class _Courtesy:
    """Lets other threads go first: a search nobody asked for should hold up nothing."""

    def __init__(self, is_cancelled: IsCancelled) -> None:
        self._is_cancelled = is_cancelled
        self._yielded = monotonic()

    def is_cancelled(self) -> bool:
        """Whether the search is called off; other threads get their turn now and then."""
        if monotonic() - self._yielded > SECONDS_AT_WORK:
            sleep(SECONDS_TO_YIELD)
            self._yielded = monotonic()
        return self._is_cancelled()

    def pause(self, took: float) -> None:
        """Rest as long as a plan took to replay, for a while at most."""
        if not self._is_cancelled():
            sleep(min(took, LONGEST_PAUSE))
