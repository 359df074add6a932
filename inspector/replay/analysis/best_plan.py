"""The plan that saves most on a session if all it cut and was needed is fetched again: found by trying all.

Every plan is judged by the lower end of what it saves: its saving less the price of recoveries (`recoveries`). Without
a price nobody knows what a recovery costs, and only plans that cut nothing needed are considered. What a person or the
model said has no detector at all: a plan that leaves out some of it (windows, summaries) is not the best one, whatever
it saves.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from threading import Lock
from time import thread_time
from typing import TYPE_CHECKING, Final

from inspector.replay.analysis.comparison import plans_to_compare
from inspector.replay.analysis.hazards import leaves_out_words, orphaned_pairs
from inspector.replay.analysis.plan_outcome import savings_of
from inspector.replay.analysis.recoveries import recoveries, share_at_least
from inspector.replay.engine.renderer import ReplayCancelledError
from inspector.replay.engine.replay import replay

if TYPE_CHECKING:
    from collections.abc import Callable

    from inspector.replay.analysis.plan_outcome import Savings
    from inspector.replay.analysis.recoveries import Recoveries
    from inspector.replay.analysis.reuse import ReuseEvidence, ReuseScan
    from inspector.replay.engine.inputs import ReplayInputs
    from inspector.replay.engine.replay import Replay
    from inspector.strategies.plan import Plan

MOST_SECONDS: Final = 20.0
"""Of the processor's time: a session on which it would take longer is not searched."""
MOST_BLOCKS: Final = 30_000
"""A session of more is not searched either."""
WORTHWHILE: Final = 0.01
"""A plan that saves a smaller share saves nothing."""

_TRIED_FIRST = 12
"""Plans that are tried before it is told how long all of them will take."""
_GROWTH = 0.1
_SECONDS_OF_WAIT = 0.1


@dataclass(frozen=True, slots=True)
class SavingPlan:
    """A plan that saves.

    Attributes:
        plan: The plan.
        savings: What it saves.
        recoveries: What it cut that was needed later, priced.
    """

    plan: Plan
    savings: Savings
    recoveries: Recoveries

    @property
    def needed(self) -> int:
        """Calls that used something it had cut by then."""
        return self.recoveries.needed

    @property
    def share_at_least(self) -> float | None:
        """What it is judged by (`recoveries.share_at_least`)."""
        return share_at_least(self.savings, self.recoveries)


@dataclass(frozen=True, slots=True)
class BestPlan:
    """What came of trying all plans.

    Attributes:
        best: The plan that saves most if all it cut and was needed is recovered, of those that send no prompt that a
            provider would reject; None where none of them saves.
        most: The plan that saves most whatever it cuts; None where none saves.
        tried: How many were tried.
        is_complete: All of them were; otherwise it would have taken too long.
    """

    best: SavingPlan | None
    most: SavingPlan | None
    tried: int
    is_complete: bool


class BestPlanSearch:
    """Tries one plan after another. Called off, it goes on where it was; threads that share it take turns."""

    def __init__(self, baseline: Replay, uses: ReuseScan) -> None:
        """Prepare to search.

        Args:
            baseline: The session with nothing cut.
            uses: Finds where the session used what its tool results said.
        """
        self._baseline = baseline
        self._uses = uses
        self._turn = Lock()
        self._plans = plans_to_compare(baseline.history.session)
        self._tried = 0
        self._spent = 0.0
        self._best: SavingPlan | None = None
        self._most: SavingPlan | None = None
        self._result: BestPlan | None = None

    def serves(self, baseline: Replay) -> bool:
        """Whether what is found holds for another state of the session: on the same terms, and grown by little."""
        mine, other = self._baseline.inputs, baseline.inputs
        same_terms = mine.pricing is other.pricing and mine.cache == other.cache and mine.window == other.window
        count = self._baseline.history.call_count
        return same_terms and count <= baseline.history.call_count <= count * (1 + _GROWTH)

    @property
    def count(self) -> int:
        """How many plans there are to try."""
        return len(self._plans)

    @property
    def tried(self) -> int:
        """How many were tried by now."""
        return self._tried

    def run(self, is_cancelled: Callable[[], bool], give_way: Callable[[float], object]) -> BestPlan | None:
        """Try what has not been tried.

        Args:
            is_cancelled: Asked again and again; True ends the search for now.
            give_way: Called after each plan with the seconds it took; may wait, for others to go first. Called with 0
                again and again while another thread tries plans.

        Returns:
            What was found; None where it was called off.
        """
        while not self._turn.acquire(timeout=_SECONDS_OF_WAIT):
            if is_cancelled():
                return None
            give_way(0.0)
        try:
            if self._result is None:
                self._result = self._search(is_cancelled, give_way)
            return self._result
        finally:
            self._turn.release()

    def _search(self, is_cancelled: Callable[[], bool], give_way: Callable[[float], object]) -> BestPlan | None:
        if len(self._baseline.history.kind) > MOST_BLOCKS:
            return self._found(is_complete=False)
        uses = self._uses.run(is_cancelled)
        if uses is None:
            return None
        began = thread_time()

        def stops() -> bool:
            return is_cancelled() or self._spent + thread_time() - began > MOST_SECONDS

        inputs = self._baseline.inputs.isolated(stops)
        try:
            while self._tried < len(self._plans) and not is_cancelled():
                if self._is_too_long:
                    return self._found(is_complete=False)
                began = thread_time()
                self._try(self._plans[self._tried], inputs, uses)
                self._tried += 1
                took = thread_time() - began
                self._spent += took
                began = thread_time()
                give_way(took)
        except ReplayCancelledError:
            return None if is_cancelled() else self._found(is_complete=False)
        return None if self._tried < len(self._plans) else self._found(is_complete=True)

    @property
    def _is_too_long(self) -> bool:
        return self._tried >= _TRIED_FIRST and self._spent / self._tried * len(self._plans) > MOST_SECONDS

    def _try(self, plan: Plan, inputs: ReplayInputs, uses: ReuseEvidence) -> None:
        try:
            planned = replay(inputs, plan)
        except ReplayCancelledError:
            raise
        except Exception:  # noqa: BLE001  a plan that fails is not the best one; comparing plans tells why it failed
            return
        savings = savings_of(self._baseline.figures, planned.figures)
        share = savings.share.value
        if share is None or share < WORTHWHILE or not (share > _judged(self._best) or share > _saved(self._most)):
            return
        found = SavingPlan(plan, savings, recoveries(self._baseline, planned, uses))
        if share > _saved(self._most):
            self._most = found
        judged = _judged(found)
        if judged >= WORTHWHILE and judged > _judged(self._best) and is_sound(planned):
            self._best = found

    def _found(self, *, is_complete: bool) -> BestPlan:
        return BestPlan(self._best, self._most, self._tried, is_complete)


def is_sound(planned: Replay) -> bool:
    """Whether a plan can be recommended, if it saves: no provider rejects a prompt of it, and no words are left out."""
    return not any(orphaned_pairs(planned)) and not leaves_out_words(planned)


def _saved(found: SavingPlan | None) -> float:
    return -inf if found is None or found.savings.share.value is None else found.savings.share.value


def _judged(found: SavingPlan | None) -> float:
    share = None if found is None else found.share_at_least
    return -inf if share is None else share
