"""Counted tokens turned into what the provider measures and charges, call by call.

Where the session recorded usage, the baseline is that usage to the token, its cache misses included, and a plan moves
it by what the plan changes. Where it did not, prompts are our own count and the cache is simulated.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from inspector.replay.ledger import Ledger
from inspector.replay.prompt_usage import UNCHANGED, anchored_usage, simulated_usage

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from inspector.replay.inputs import ReplayInputs
    from inspector.replay.layout import PromptSums
    from inspector.replay.prompt_usage import PromptUsage


def ledger_of(inputs: ReplayInputs, sums: PromptSums) -> Ledger:
    """One row of figures a call, from what a plan changes in the prompts."""
    ratio = inputs.sizes.ratio[:-1]
    whole = inputs.sizes.whole[:-1]
    removed = np.rint(ratio * (sums.removed - inputs.recorded_removed)[:-1])
    prompt = np.maximum(np.rint(whole) - removed, 0).astype(np.int64)
    usage = _usage(inputs, sums, prompt)
    cost = inputs.rates.cost(
        usage.uncached, usage.cache_read, usage.cache_write_5m, usage.cache_write_1h, inputs.output
    )
    first_changed = sums.first_changed[:-1]
    return Ledger(
        prompt_tokens=prompt,
        cache_read=usage.cache_read,
        cache_write_5m=usage.cache_write_5m,
        cache_write_1h=usage.cache_write_1h,
        uncached=usage.uncached,
        output=inputs.output,
        cost=cost,
        removed_tokens=removed.astype(np.int64),
        first_changed=first_changed,
        edits=sums.edits[:-1],
        is_break=(first_changed >= 0) | inputs.restarts,
    )


def _usage(inputs: ReplayInputs, sums: PromptSums, prompt: NDArray[np.int64]) -> PromptUsage:
    if not len(prompt):
        return inputs.recorded
    ratio = inputs.sizes.ratio[:-1]
    # Everything before the first block the session shows, as this call's own report has it: system prompt and tools.
    before_blocks = inputs.sizes.whole[:-1] - ratio * (sums.whole - inputs.recorded_removed)[:-1]
    reusable_removed = ratio * sums.reusable_removed[:-1]
    reusable = np.rint(before_blocks + ratio * sums.reusable_whole[:-1] - reusable_removed)
    read = inputs.recorded.cache_read
    shortened = sums.shortened[:-1]
    removed_before_read = np.rint(reusable_removed - ratio * inputs.recorded_reusable_removed[:-1])
    anchored = anchored_usage(
        inputs.caches,
        inputs.recorded,
        prompt,
        read_boundary=np.where(shortened, read, read - removed_before_read).astype(np.int64),
        first_change=np.where(shortened, np.clip(reusable.astype(np.int64), 0, np.maximum(read - 1, 0)), UNCHANGED),
    )
    if bool(inputs.reported.all()):
        return anchored
    simulated = simulated_usage(
        inputs.caches,
        prompt,
        common_prefix_tokens=np.where(inputs.previous_call >= 0, np.maximum(reusable, 0), 0).astype(np.int64),
        gap_seconds=inputs.gap_seconds,
        same_model=inputs.same_model,
    )
    return anchored.where(inputs.reported, simulated)
