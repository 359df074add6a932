"""Result of a replay worker: the replay with the plan, the one without it, and the context at one call."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from inspector.replay.analysis.plan_outcome import PlanOutcome
    from inspector.replay.assumptions import Assumptions
    from inspector.replay.engine.inputs import ReplayInputs
    from inspector.replay.engine.replay import ContextState, Replay
    from inspector.replay.figure import Figure
    from inspector.strategies.plan import Plan


def level_of(fill: float | None) -> str:
    """Return the level of a fill: `calm`, `warning` or `alarm`."""
    if fill is None:
        return "calm"
    # Deferred because the first paint shows no fill.
    from inspector.live.status import FILL_ALARM, FILL_WARNING

    return "alarm" if fill >= FILL_ALARM else "warning" if fill >= FILL_WARNING else "calm"


@dataclass(frozen=True)
class Outcome:
    """Result of one plan on one state of a session.

    Attributes:
        plan: The plan, including disabled strategies.
        baseline: Replay with nothing cut.
        replay: Replay with the plan.
        totals: Totals of the plan.
        first_change: First call that the plan changes; None if it changes none.
        state: State of every block at the selected call.
        terms: Assumptions about prices and the service of calls; None for those recorded.
        missed_without_plan: Per call, True if it missed the cache with nothing cut, bool; None if no plan was replayed
            yet on this state of the session.
        missed_by_edits: Calls that miss the cache because of the plan's edits, ascending.
        as_recorded: Cost at the recorded models, if another model prices every call; otherwise None.
    """

    plan: Plan
    baseline: Replay
    replay: Replay
    totals: PlanOutcome
    first_change: int | None
    state: ContextState
    terms: Assumptions | None = None
    missed_without_plan: NDArray[np.bool_] | None = None
    missed_by_edits: tuple[int, ...] = ()
    as_recorded: Figure | None = None

    @property
    def inputs(self) -> ReplayInputs:
        """The inputs of both replays, reused for the next plan."""
        return self.replay.inputs

    @cached_property
    def shown(self) -> ContextState:
        """The state with every block's tokens as all screens show them: on the provider's scale."""
        # Deferred because the first paint has no outcome.
        from inspector.replay.analysis.context_blocks import shown_state

        return shown_state(self.replay, self.state)

    @property
    def tokens_known(self) -> str:
        """Confidence of the blocks' tokens."""
        return self.inputs.scale.known.value

    def block_tokens(self, counted: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return the tokens of whole blocks as all screens show them; the same array for the replayed session.

        Args:
            counted: Local counts. Blocks after the replayed ones have the scale of the newest prompt.
        """
        known = self.inputs.block_tokens
        if len(known) == len(counted):
            return known
        import numpy as np  # deferred because the first paint needs this module without an outcome

        newer = float(self.inputs.sizes.ratio[-1]) * counted[len(known) :]
        return np.concatenate((known[: len(counted)], np.rint(newer).astype(np.int32)))

    @property
    def is_planned(self) -> bool:
        """True if a strategy is on, so the figures are simulated and not recorded."""
        return self.replay is not self.baseline

    @property
    def largest_call(self) -> int | None:
        """The first call with the largest prompt under the plan; None if there are no calls."""
        prompts = self.replay.ledger.prompt_tokens
        return int(prompts.argmax()) if len(prompts) else None

    def at(self, call: int | None) -> Outcome:
        """Return the outcome at another call; None for the next one, not yet made."""
        count = self.replay.history.call_count
        return replace(self, state=self.replay.state(count if call is None else min(call, count)))
