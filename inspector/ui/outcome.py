"""What a replay worker brings back: the plan replayed, the same session without it, and how it stands at one call."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from inspector.replay.analysis.plan_outcome import PlanOutcome
    from inspector.replay.assumptions import Assumptions
    from inspector.replay.engine.inputs import ReplayInputs
    from inspector.replay.engine.replay import ContextState, Replay
    from inspector.strategies.plan import Plan


@dataclass(frozen=True)
class Outcome:
    """One plan on one state of a session.

    Attributes:
        plan: The plan, those of its strategies that are switched off included.
        baseline: The session with nothing cut.
        replay: The session under the plan.
        totals: What comes of the plan, each figure with how it is known.
        first_change: The first call the plan changes something at; None where it changes nothing.
        state: How every block stands at the call looked at.
        terms: What calls are priced and served as; None for as they were recorded.
        missed_anyway: Per call, whether it missed the prompt cache with nothing cut, bool; None where no plan of this
            state of the session was replayed yet.
        missed_by_edits: The calls that miss it because of what the plan edits, rising.
    """

    plan: Plan
    baseline: Replay
    replay: Replay
    totals: PlanOutcome
    first_change: int | None
    state: ContextState
    terms: Assumptions | None = None
    missed_anyway: NDArray[np.bool_] | None = None
    missed_by_edits: tuple[int, ...] = ()

    @property
    def inputs(self) -> ReplayInputs:
        """What both were worked out from; the next plan starts here again."""
        return self.replay.inputs

    @property
    def is_planned(self) -> bool:
        """Whether a strategy is on, so that what is told is not of the session as it was recorded."""
        return self.replay is not self.baseline

    @property
    def largest_call(self) -> int | None:
        """The call that sends the largest prompt under the plan, the first of several; None without a call."""
        prompts = self.replay.ledger.prompt_tokens
        return int(prompts.argmax()) if len(prompts) else None

    def at(self, call: int | None) -> Outcome:
        """The same at another call; None for the next one, not yet made."""
        count = self.replay.history.call_count
        return replace(self, state=self.replay.state(count if call is None else min(call, count)))
