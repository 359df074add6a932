"""Trial of one plan on one session: savings, expected re-fetches with their cost, and the evidence for its settings."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from math import nan
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from inspector.replay.analysis.comparison import plans_to_compare
from inspector.replay.analysis.hazards import drops_text, orphaned_pairs
from inspector.replay.analysis.recoveries import CALLS_PER_REFETCH, Rate, recoveries
from inspector.replay.analysis.reuse import ReuseScan
from inspector.replay.engine.replay import replay
from inspector.strategies.core.parameters import ParameterError
from inspector.strategies.core.rendition import Action
from inspector.strategies.plan import Plan

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from numpy.typing import NDArray

    from inspector.replay.analysis.recoveries import Recoveries
    from inspector.replay.analysis.reuse import ReuseEvidence
    from inspector.replay.engine.inputs import ReplayInputs
    from inspector.replay.engine.replay import Replay


class Flaw(IntEnum):
    """Reason to exclude a plan on a session, regardless of its savings."""

    NONE = 0
    DROPS_TEXT = 1
    """It drops user or assistant text. No detector measures that loss."""
    TOUCHES_KEPT = 2
    """It changes results of a protected tool."""
    REJECTED = 3
    """A provider would reject one of its prompts: a tool call without its result, or a result without its call."""
    BEYOND = 4
    """It goes beyond what has been tried in public (`envelope`), and has no other flaw."""


class Trial(NamedTuple):
    """One plan on one session.

    Attributes:
        saved: Dollars saved compared with the session with nothing cut, including cache misses and the plan's own
            requests; negative if the plan costs more.
        recovery: Dollars of the expected re-fetches.
        recovery_low: Lower end of their 95 % interval.
        recovery_high: Upper end.
        refetches: Expected re-fetched results; NaN if the plan cuts no tool result, so that nothing is measured.
        refetches_low: Lower end of their 95 % interval.
        refetches_high: Upper end.
        needed: Number of calls that used text already cut: pointers to check, without a price.
        requests: Additional calls: the requests of the plan's strategies, and the calls of the expected re-fetches.
        flaw: Reason to exclude it there; the worst of several.
        beyond: Part of its settings that has not been tried in public, with the nearest tried one; empty if all have.
    """

    saved: float
    recovery: float
    recovery_low: float
    recovery_high: float
    refetches: float
    refetches_low: float
    refetches_high: float
    needed: int
    requests: float
    flaw: Flaw
    beyond: str = ""


class TrialTerms(NamedTuple):
    """Rules for plans.

    Attributes:
        keep: Tools with results that must not change.
        may_forget: True if plans may drop user or assistant text.
        beyond: True if plans may go beyond what has been tried in public.
    """

    keep: frozenset[str] = frozenset()
    may_forget: bool = False
    beyond: bool = False


@dataclass(frozen=True, eq=False)
class PreparedSession:
    """A session prepared for trials: everything independent of the plan, computed once.

    Attributes:
        inputs: Inputs of replays.
        baseline: The session with nothing cut.
    """

    inputs: ReplayInputs
    baseline: Replay

    @classmethod
    def of(cls, inputs: ReplayInputs) -> PreparedSession:
        """Replay a session with nothing cut."""
        return cls(inputs, replay(inputs, Plan()))

    @cached_property
    def uses(self) -> ReuseEvidence:
        """Later uses of its tool results."""
        return ReuseScan(self.inputs.history).run_to_the_end()

    @property
    def cost(self) -> float:
        """Dollars with nothing cut; NaN without a price."""
        cost = self.baseline.figures.cost_usd.value
        return float("nan") if cost is None else cost

    def bases(self) -> tuple[Plan, ...]:
        """Return every strategy and built-in plan, with defaults for this session's tools."""
        return plans_to_compare(self.inputs.history.session)

    def trials(self, plans: Iterable[Plan], terms: TrialTerms) -> Iterator[Trial | None]:
        """Try plans one after another.

        Args:
            plans: The plans.
            terms: Rules for them.

        Yields:
            One trial per plan; None if the plan cannot be replayed on this session.
        """
        # Renditions are worth caching among similar plans, not for the whole search.
        inputs = self.inputs.isolated()
        kept = self._blocks_of(terms.keep)
        for plan in plans:
            try:
                planned = replay(inputs, plan)
            except ParameterError:
                yield None
                continue
            found = recoveries(self.baseline, planned, self.uses)
            yield _trial(planned, found, _flaw(planned, found, kept, terms))

    def _blocks_of(self, tools: Collection[str]) -> NDArray[np.bool_]:
        """Return True per block for results of the tools, bool."""
        history = self.inputs.history
        kept = np.zeros(len(history.kind), dtype=bool)
        numbers = [number for number, name in enumerate(history.tool_names) if name in tools]
        kept[history.results] = np.isin(history.tool[history.results], numbers)
        return kept


def _trial(planned: Replay, found: Recoveries, flaw: Flaw) -> Trial:
    own = sum(each.call < planned.history.call_count for each in planned.edits.model_calls)
    unknown = Rate(nan, nan, nan)
    cost, count = found.expected.cost or unknown, found.refetched or unknown
    return Trial(
        nan if found.saved is None else found.saved,
        *cost,
        *count,
        found.needed,
        own + CALLS_PER_REFETCH * found.expected.count.rate,
        flaw,
        found.envelope.reason,
    )


def _flaw(planned: Replay, found: Recoveries, kept: NDArray[np.bool_], terms: TrialTerms) -> Flaw:
    """Return the worst flaw of a plan.

    Args:
        planned: The plan on a session.
        found: Its expected re-fetches and its evidence.
        kept: Per block, True if it must not change, bool.
        terms: Rules for plans.
    """
    edits = planned.edits
    if next(orphaned_pairs(planned), None) is not None:
        return Flaw.REJECTED
    if kept[edits.block[(edits.action != Action.WHOLE) & edits.by_plan]].any():
        return Flaw.TOUCHES_KEPT
    if not terms.may_forget and drops_text(planned):
        return Flaw.DROPS_TEXT
    return Flaw.NONE if terms.beyond or found.envelope.is_tried else Flaw.BEYOND
