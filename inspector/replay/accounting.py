"""Counted tokens turned into what the provider measures and charges, call by call.

Where the session recorded usage, the baseline is that usage to the token, its cache misses included, and a plan moves
it by what the plan changes. Where it did not, prompts are our own count and the cache is simulated.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from inspector.replay.cache_positions import positions_after
from inspector.replay.ledger import Ledger
from inspector.replay.prompt_usage import UNCHANGED, anchored_usage, simulated_usage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from inspector.replay.changes import ModelCall
    from inspector.replay.inputs import ReplayInputs
    from inspector.replay.placed_changes import PlacedChanges, ReusablePrefix
    from inspector.replay.prompt_usage import PromptUsage


def ledger_of(
    inputs: ReplayInputs, placed: PlacedChanges, reusable: ReusablePrefix, model_calls: Sequence[ModelCall] = ()
) -> Ledger:
    """One row of figures a call, from what a plan changes in the prompts.

    Args:
        inputs: The session.
        placed: What the plan changes in its prompts.
        reusable: What a cache could hold of them.
        model_calls: Requests the plan's strategies make.
    """
    ratio = inputs.sizes.ratio[:-1]
    whole = inputs.sizes.whole[:-1]
    removed = np.rint(ratio * (placed.removed - inputs.recorded_removed)[:-1])
    prompt = np.maximum(np.rint(whole) - removed, 0).astype(np.int64)
    usage = usage_of(inputs, reusable, prompt)
    cost = inputs.rates.cost(
        usage.uncached, usage.cache_read, usage.cache_write_5m, usage.cache_write_1h, inputs.output
    )
    first_changed = placed.first_changed[:-1]
    strategy_cost = _strategy_cost(inputs, model_calls)
    return Ledger(
        prompt_tokens=prompt,
        cache_read=usage.cache_read,
        cache_write_5m=usage.cache_write_5m,
        cache_write_1h=usage.cache_write_1h,
        uncached=usage.uncached,
        output=inputs.output,
        cost=cost + strategy_cost,
        strategy_cost=strategy_cost,
        removed_tokens=removed.astype(np.int64),
        first_changed=first_changed,
        edits=placed.edits[:-1],
        is_break=(first_changed >= 0) | inputs.restarts,
    )


def _strategy_cost(inputs: ReplayInputs, model_calls: Sequence[ModelCall]) -> NDArray[np.float64]:
    """Per call, dollars of the requests strategies make before it, nothing cached, at the prices of its model."""
    count = inputs.history.call_count
    made = [each for each in model_calls if each.call < count]
    if not made:
        return np.zeros(count)
    calls = [each.call for each in made]
    ratio = inputs.sizes.ratio[calls]
    prompt, output = np.zeros(count), np.zeros(count)
    np.add.at(prompt, calls, ratio * [each.prompt_tokens for each in made])
    np.add.at(output, calls, ratio * [each.output_tokens for each in made])
    nothing = np.zeros(count, dtype=np.int64)
    sent, answered = (np.rint(column).astype(np.int64) for column in (prompt, output))
    cost = inputs.rates.cost(sent, nothing, nothing, nothing, answered)
    return np.where(sent > 0, cost, 0.0)


def usage_of(
    inputs: ReplayInputs, prefix: ReusablePrefix, prompt: NDArray[np.int64], calls: NDArray[np.intp] | None = None
) -> PromptUsage:
    """How the prompts of a plan are served.

    Args:
        inputs: The session.
        prefix: What a cache could hold of them.
        prompt: Per call, tokens of its prompt under the plan.
        calls: The calls asked about; every one where not given.
    """
    if not len(prompt):
        return inputs.recorded
    caches, recorded = inputs.caches, inputs.recorded
    if calls is not None:
        caches, recorded, prompt = caches.rows(calls), recorded.rows(calls), prompt[calls]
    asked = slice(len(inputs.anchored)) if calls is None else calls
    ratio = inputs.sizes.ratio[asked]
    before_blocks = inputs.before_blocks[asked]
    reusable_removed = ratio * prefix.removed[asked]
    reusable = np.rint(before_blocks + ratio * prefix.whole[asked] + prefix.beside[asked] - reusable_removed)
    read = recorded.cache_read
    shortened = prefix.shortened[asked]
    lengthened = prefix.lengthened[asked] & inputs.served_all[asked]
    removed_before_read = np.rint(reusable_removed - ratio * inputs.recorded_reusable_removed[asked])
    # Where the provider read none of the blocks, nothing that was left out of them stood before what it read.
    removed_before_read = np.where(prefix.lengthened[asked], 0, removed_before_read)
    reusable = np.maximum(reusable, 0).astype(np.int64)
    moved = shortened | lengthened
    # What the plan adds before a change can make that begin later than the recorded read ended.
    beyond_change = np.maximum(read, np.minimum(reusable + 1, prompt))
    anchored = anchored_usage(
        caches,
        recorded,
        prompt,
        read_boundary=np.where(moved, beyond_change, read - removed_before_read).astype(np.int64),
        first_change=np.where(moved, reusable, UNCHANGED),
    )
    is_anchored = inputs.anchored[asked]
    if bool(is_anchored.all()):
        return anchored
    simulated = simulated_usage(
        caches,
        prompt,
        common_prefix_tokens=np.where(inputs.previous_call[asked] >= 0, reusable, 0),
        gap_seconds=inputs.gap_seconds[asked],
        same_model=inputs.same_model[asked],
        positions_after_prefix=positions_after(inputs.layout, prefix.blocks)[asked] if inputs.looks_back else None,
        static_prefix_tokens=np.maximum(np.rint(before_blocks), 0).astype(np.int64),
    )
    return anchored.where(is_anchored, simulated)
