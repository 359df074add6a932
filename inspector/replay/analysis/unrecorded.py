"""What is sent and no text of a session stands for: its system prompt and tools, and what goes around texts.

How long the system prompt and the tools are is known from the fit to reported usage: what a model's prompts hold beside
what the file shows, when their context began. What is left of a prompt when these, every text and the thinking are
taken away is the envelopes of blocks, reasoning that no block stands for, and by how much the fit misses that prompt.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from inspector.replay.engine.inputs import ReplayInputs
    from inspector.replay.engine.replay import Replay

SYSTEM_AND_TOOLS = "system prompt and tools"
"""Names the first of them in data."""

NOT_RECORDED = "system prompt and tools (not recorded)"
"""What people read for it."""

NOT_RECORDED_SHORT = "system and tools"
"""The same where there is less room."""

_ROUNDING = 1e-6
"""What a rest that is a whole number may be short of it."""

EARLIER = "earlier conversation (not recorded)"
"""The same where the file begins in the middle: a prompt was reported of which it shows nothing."""

AROUND_TEXTS = "framing and signatures"
"""Names the rest, in data and for people."""

UNRECORDED = (SYSTEM_AND_TOOLS, AROUND_TEXTS)


def system_tokens(inputs: ReplayInputs) -> int:
    """Tokens of the system prompt and the tools in the newest prompt, where the file does not hold them."""
    return round(float(system_by_call(inputs)[-1]))


def system_by_call(inputs: ReplayInputs) -> NDArray[np.float64]:
    """The same in the prompt of every call, the next one included, whole numbers, float64. No plan changes it.

    Never more than what blocks and all that goes with them leave of the prompt, so that a plan that cuts all of these
    leaves the system prompt as it is.
    """
    sizes, layout = inputs.sizes, inputs.layout
    rest = sizes.whole - sizes.ratio * (layout.with_envelopes - inputs.recorded_removed)
    overhead = np.maximum(np.rint(inputs.scale.calibration.call_overhead), 0)
    system: NDArray[np.float64] = np.minimum(overhead, np.floor(np.maximum(rest, 0) + _ROUNDING))
    return system


def blank_prompts(inputs: ReplayInputs) -> NDArray[np.bool_]:
    """Per recorded call, whether its prompt was reported and the file shows no block of it.

    What such a prompt held is unknown: the file begins in the middle of a conversation, or a compaction left nothing
    that it shows.
    """
    blank: NDArray[np.bool_] = inputs.reported & (inputs.history.call_prompt_messages[:-1] == 0)
    return blank


def lacks_beginning(inputs: ReplayInputs, call: int) -> bool:
    """Whether a call, the next one included, belongs to a context that began with such a prompt."""
    history, contexts = inputs.history, inputs.layout.contexts
    if not contexts:  # a file without a message
        return False
    context = contexts[int(history.call_context[call])]
    first = int(context.calls[0]) if len(context.calls) else call
    return first < history.call_count and bool(blank_prompts(inputs)[first])


def system_cost(replay: Replay) -> float:
    """Dollars of them over all calls, NaN without a price. What a cache reads of a prompt, it reads of them first."""
    tokens = system_by_call(replay.inputs)[:-1]
    read_rate, other_rate = replay.inputs.rates.read_and_other(replay.ledger)
    read = np.minimum(tokens, replay.ledger.cache_read)
    return float((read * read_rate + (tokens - read) * other_rate).sum())
