"""What one prompt is made of: its blocks with their tokens on the provider's scale, and what no block holds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from inspector.replay.figure import Figure, HowKnown
from inspector.strategies.core.rendition import Action

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from inspector.replay.replay import ContextState, Replay


@dataclass(frozen=True, eq=False)
class ContextBlocks:
    """One call's prompt under a plan; equal only to itself.

    The blocks' tokens and the rest add up to the prompt.

    Attributes:
        call: The call; the number of recorded calls is the next one, not yet made.
        blocks: Block indices in the order they are sent, those the plan removed included, int32.
        sent: Tokens sent of each, what goes with it (its envelope) included, float64.
        recorded: The same with it whole, float64.
        rest: Tokens of what the session does not show: system prompt and tool definitions, for most agents.
        prompt: Tokens of all of it.
        known: How the blocks' tokens and the rest are known.
    """

    call: int
    blocks: NDArray[np.int32]
    sent: NDArray[np.float64]
    recorded: NDArray[np.float64]
    rest: float
    prompt: Figure
    known: HowKnown


def context_at(replay: Replay, state: ContextState) -> ContextBlocks:
    """What a call's prompt is made of.

    Args:
        replay: The plan on the session.
        state: How every block stands at the call, of `replay.state`.
    """
    inputs, call = replay.inputs, state.call
    ratio = float(inputs.sizes.ratio[call])
    blocks = replay.history.prompt(call)
    envelopes = inputs.layout.envelopes[blocks]
    is_removed = state.action[blocks] == Action.REMOVED
    recorded = state.recorded[blocks] + envelopes
    sent = state.sent[blocks] + np.where(is_removed, 0, envelopes)
    # Counted tokens are summed as they are and scaled once, as the ledger does: the other way round, rounding differs.
    counted = int(recorded.sum()) - int(sent.sum()) - int(inputs.recorded_removed[call])
    removed = round(ratio * counted)
    tokens = max(round(float(inputs.sizes.whole[call])) - removed, 0)
    is_reported = call < replay.history.call_count and bool(inputs.reported[call]) and removed == 0
    known = inputs.scale.known
    prompt = Figure(tokens, HowKnown.EXACT if is_reported else known)
    sent_scaled, recorded_scaled = ratio * sent.astype(np.float64), ratio * recorded.astype(np.float64)
    return ContextBlocks(call, blocks, sent_scaled, recorded_scaled, tokens - float(sent_scaled.sum()), prompt, known)
