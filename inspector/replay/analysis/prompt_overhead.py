"""Unrecorded parts of prompts: system prompt and tools, and framing around texts.

The size of the system prompt and the tools comes from the fit to reported usage: it is the constant part of a model's
prompts beyond the recorded text, at the start of their context. The remainder of a prompt after these, all texts and
the thinking consists of block envelopes, unrecorded reasoning, and the fit's error.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from inspector.replay.engine.inputs import ReplayInputs
    from inspector.replay.engine.replay import Replay

SYSTEM_AND_TOOLS = "system prompt and tools"
"""Name of system prompt and tools in data."""

NOT_RECORDED = "system prompt and tools (not recorded)"
"""Label for users."""

NOT_RECORDED_SHORT = "system and tools"
"""Shorter label for users."""

_ROUNDING = 1e-6
"""Tolerance when rounding down a remainder that is a whole number."""

EARLIER = "earlier conversation (not recorded)"
"""Label for a file that begins mid-conversation: a prompt was reported, but none of its contents are recorded."""

AROUND_TEXTS = "framing and signatures"
"""Name of the remainder, in data and for users."""

UNRECORDED = (SYSTEM_AND_TOOLS, AROUND_TEXTS)


def system_tokens(inputs: ReplayInputs) -> int:
    """Return tokens of the unrecorded system prompt and tools in the newest prompt."""
    return round(float(system_by_call(inputs)[-1]))


def system_by_call(inputs: ReplayInputs) -> NDArray[np.float64]:
    """Return tokens of the unrecorded system prompt and tools per call including the next one: whole numbers, float64.

    They do not depend on the plan. They never exceed the part of the prompt outside blocks and envelopes, so a plan
    that cuts all blocks leaves them unchanged.
    """
    sizes, layout = inputs.sizes, inputs.layout
    rest = sizes.whole - sizes.ratio * (layout.with_envelopes - inputs.recorded_removed)
    overhead = np.maximum(np.rint(inputs.scale.calibration.call_overhead), 0)
    system: NDArray[np.float64] = np.minimum(overhead, np.floor(np.maximum(rest, 0) + _ROUNDING))
    return system


def blank_prompts(inputs: ReplayInputs) -> NDArray[np.bool_]:
    """Return True per recorded call if its prompt was reported and the file records no block of it.

    The contents of such a prompt are unknown: the file begins mid-conversation, or a compaction left no recorded text.
    """
    blank: NDArray[np.bool_] = inputs.reported & (inputs.history.call_prompt_messages[:-1] == 0)
    return blank


def lacks_beginning(inputs: ReplayInputs, call: int) -> bool:
    """Return True if a call, or the next one, is in a context that began with such a prompt."""
    history, contexts = inputs.history, inputs.layout.contexts
    if not contexts:  # a file without a message
        return False
    context = contexts[int(history.call_context[call])]
    first = int(context.calls[0]) if len(context.calls) else call
    return first < history.call_count and bool(blank_prompts(inputs)[first])


def system_sent(replay: Replay, texts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return `system_by_call` for the recorded calls, at most the part of each prompt outside its texts. float64.

    Args:
        replay: A replay.
        texts: Per call, tokens of its blocks, from `resend_cost`.
    """
    return np.minimum(system_by_call(replay.inputs)[:-1], np.maximum(replay.ledger.prompt_tokens - texts, 0))


def system_cost(replay: Replay, tokens: NDArray[np.float64]) -> float:
    """Return dollars of the unrecorded system prompt and tools over all calls, NaN without a price.

    Cache reads cover them first.

    Args:
        replay: A replay.
        tokens: Per call, their tokens, from `system_sent`.
    """
    read_rate, other_rate = replay.inputs.rates.read_and_other(replay.ledger)
    read = np.minimum(tokens, replay.ledger.cache_read)
    return float((read * read_rate + (tokens - read) * other_rate).sum())
