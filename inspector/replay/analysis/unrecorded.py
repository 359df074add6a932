"""What is sent and no text of a session stands for: its system prompt and tools, and what goes around texts.

How long the system prompt and the tools are is known from the fit to reported usage, the same for every prompt. What is
left of a prompt when these and every text are taken away is the envelopes of blocks, reasoning that is kept as a
signature, and by how much the fit misses that prompt.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from inspector.replay.analysis.resend_cost import prompt_rates

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from inspector.replay.engine.inputs import ReplayInputs
    from inspector.replay.engine.replay import Replay

SYSTEM_AND_TOOLS = "system prompt and tools"
"""Names the first of them in data."""

NOT_RECORDED = "system prompt and tools (not recorded)"
"""What people read for it."""

NOT_RECORDED_SHORT = "system, tools (not recorded)"
"""The same where there is less room."""

AROUND_TEXTS = "framing and signatures"
"""Names the rest, in data and for people."""

UNRECORDED = (SYSTEM_AND_TOOLS, AROUND_TEXTS)


def system_tokens(inputs: ReplayInputs) -> int:
    """Tokens of the system prompt and the tools in every prompt, where the file does not hold them."""
    return round(inputs.scale.calibration.overhead)


def system_within(inputs: ReplayInputs, rest: float) -> float:
    """The same in one prompt, in which no text stands for so many tokens: there are never more than these."""
    return float(min(max(system_tokens(inputs), 0), max(rest, 0.0)))


def system_by_call(inputs: ReplayInputs) -> NDArray[np.float64]:
    """The same in the prompt of every call, float64. No plan changes it."""
    rest = np.maximum(inputs.before_blocks + inputs.layout.beside_prompts[:-1], 0)
    return np.minimum(max(system_tokens(inputs), 0), rest)


def system_cost(replay: Replay) -> float:
    """Dollars of them over all calls, NaN without a price. What a cache reads of a prompt, it reads of them first."""
    tokens = system_by_call(replay.inputs)
    read_rate, other_rate = prompt_rates(replay)
    read = np.minimum(tokens, replay.ledger.cache_read)
    return float((read * read_rate + (tokens - read) * other_rate).sum())
