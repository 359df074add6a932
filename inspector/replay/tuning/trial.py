"""One plan on one session: what it saves, what it cuts that was needed, and what getting that back would cost."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from inspector.replay.analysis.comparison import plans_to_compare
from inspector.replay.analysis.hazards import leaves_out_words, orphaned_pairs
from inspector.replay.analysis.recoveries import recoveries
from inspector.replay.analysis.reuse import ReuseScan
from inspector.replay.engine.replay import replay
from inspector.strategies.core.parameters import ParameterError
from inspector.strategies.core.rendition import Action
from inspector.strategies.plan import Plan

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from numpy.typing import NDArray

    from inspector.replay.analysis.reuse import ReuseEvidence
    from inspector.replay.engine.inputs import ReplayInputs
    from inspector.replay.engine.replay import Replay


class Flaw(IntEnum):
    """Why a plan is not to be had on a session, whatever it saves."""

    NONE = 0
    FORGETS = 1
    """It leaves out what was said, a person's words or the model's. Nothing tells what that loses."""
    TOUCHES_KEPT = 2
    """It touches results of a tool that are to stay as they are."""
    REJECTED = 3
    """A provider would reject a prompt of it: a tool call without its result, or a result without its call."""


class Trial(NamedTuple):
    """One plan on one session.

    Attributes:
        saved: Dollars saved against the session with nothing cut, cache misses and own requests included; negative
            where the plan costs more.
        recovery: Dollars that getting back what was needed would cost.
        needed: How often a later call needed something the plan had cut by then.
        requests: Calls that were not recorded: those the plan's strategies make, and one for every time it was needed.
        flaw: Why it is not to be had there; the worst of several.
    """

    saved: float
    recovery: float
    needed: int
    requests: int
    flaw: Flaw


class TrialTerms(NamedTuple):
    """What plans may do.

    Attributes:
        keep: Tools whose results are to stay as they are.
        may_forget: They may leave out what was said.
    """

    keep: frozenset[str] = frozenset()
    may_forget: bool = False


@dataclass(frozen=True, eq=False)
class PreparedSession:
    """A session as trials start from it: everything that no plan changes, worked out once.

    Attributes:
        inputs: What replays start from.
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
        """Where it used again what its tool results said."""
        return ReuseScan(self.inputs.history).run_to_the_end()

    @property
    def cost(self) -> float:
        """Dollars with nothing cut; NaN without a price."""
        cost = self.baseline.figures.cost_usd.value
        return float("nan") if cost is None else cost

    def bases(self) -> tuple[Plan, ...]:
        """Every strategy and ready plan, with the defaults that fit this session's tools."""
        return plans_to_compare(self.inputs.history.session)

    def trials(self, plans: Iterable[Plan], terms: TrialTerms) -> Iterator[Trial | None]:
        """Try plans one after another.

        Args:
            plans: The plans.
            terms: What they may do.

        Yields:
            One a plan; None where the plan cannot be replayed on this session.
        """
        # What plans make of blocks is worth remembering among plans alike, not for the whole search.
        inputs = self.inputs.isolated()
        kept = self._blocks_of(terms.keep)
        for plan in plans:
            try:
                planned = replay(inputs, plan)
            except ParameterError:
                yield None
                continue
            yield self._trial(planned, _flaw(planned, kept, terms))

    def _trial(self, planned: Replay, flaw: Flaw) -> Trial:
        found = recoveries(self.baseline, planned, self.uses)
        own = sum(each.call < planned.history.call_count for each in planned.edits.model_calls)
        saved, cost = (float("nan") if usd is None else usd for usd in (found.saved, found.cost))
        return Trial(saved, cost, found.needed, found.needed + own, flaw)

    def _blocks_of(self, tools: Collection[str]) -> NDArray[np.bool_]:
        """Per block, whether it is a result of one of the tools, bool."""
        history = self.inputs.history
        kept = np.zeros(len(history.kind), dtype=bool)
        numbers = [number for number, name in enumerate(history.tool_names) if name in tools]
        kept[history.results] = np.isin(history.tool[history.results], numbers)
        return kept


def _flaw(planned: Replay, kept: NDArray[np.bool_], terms: TrialTerms) -> Flaw:
    """The worst flaw of a plan.

    Args:
        planned: The plan on a session.
        kept: Per block, whether it is to stay as it is, bool.
        terms: What plans may do.
    """
    edits = planned.edits
    if next(orphaned_pairs(planned), None) is not None:
        return Flaw.REJECTED
    if kept[edits.block[(edits.action != Action.WHOLE) & edits.by_plan]].any():
        return Flaw.TOUCHES_KEPT
    return Flaw.FORGETS if not terms.may_forget and leaves_out_words(planned) else Flaw.NONE
