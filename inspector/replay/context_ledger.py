"""Prompt sizes and first changes of one context, from what a plan changes in it.

Everything is in counted tokens; what the provider would report follows from it elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from inspector.replay.dominance import weight_below

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, eq=False, slots=True)
class ContextSums:
    """Per call of one context.

    Attributes:
        whole: Tokens of the prompt with every block whole, int64.
        removed: Tokens the plan left out of it (negative where it added), int64.
        first_changed: Position, in the context, of the first block that this prompt sends otherwise than the previous
            one of its thread did; -1 for none, int64.
        reusable: How many blocks at the beginning of this prompt a cache could hold: those the caller said, or those
            before the first changed one where that is fewer, int64.
        reusable_whole: Tokens of the reusable blocks, whole, int64.
        reusable_removed: Tokens the plan left out of them, int64.
        edits: Blocks whose rendition changed at this call, int64.
    """

    whole: NDArray[np.int64]
    removed: NDArray[np.int64]
    first_changed: NDArray[np.int64]
    reusable: NDArray[np.int64]
    reusable_whole: NDArray[np.int64]
    reusable_removed: NDArray[np.int64]
    edits: NDArray[np.int64]


def context_sums(
    tokens: NDArray[np.int32],
    prompt_blocks: NDArray[np.int64],
    shared: int,
    carried_removed: NDArray[np.int64],
    cached_blocks: NDArray[np.int64],
    positions: NDArray[np.int64],
    calls: NDArray[np.int64],
    removed: NDArray[np.int64],
    alike: int = 0,
    *,
    unbroken: bool = False,
) -> ContextSums:
    """Sum up one context.

    Args:
        tokens: Tokens of every block of the context, whole, in the order they are sent.
        prompt_blocks: Per call, how many of these blocks its prompt holds; never decreasing.
        shared: How many of these blocks, from the first, were also in the thread's prompt before the first of these.
        carried_removed: Per block, the tokens already left out of it when the context began.
        cached_blocks: Per call, how many blocks at its beginning a cache could hold if nothing in them changed.
        positions: Per change, the position of its block in the context.
        calls: Per change, the call it takes effect at, counted within the context; changes are sorted by it.
        removed: Per change, the tokens it leaves out (negative where it puts some back or adds).
        alike: How many blocks at the beginning of the first prompt a cache could hold because changes of both prompts
            make it begin as the one before it; 0 where it was recorded to.
        unbroken: Let a cache hold what it could though something in it changed.
    """
    call_count = len(prompt_blocks)
    whole_before = np.concatenate(([0], np.cumsum(tokens, dtype=np.int64)))
    carried_before = np.concatenate(([0], np.cumsum(carried_removed, dtype=np.int64)))
    whole = whole_before[prompt_blocks]
    changed = np.bincount(calls, weights=removed, minlength=call_count)[:call_count].astype(np.int64)
    total_removed = np.cumsum(changed) + carried_before[prompt_blocks]
    first_changed = np.full(call_count, -1, dtype=np.int64)
    reusable = cached_blocks.astype(np.int64)
    # A block that is new in this prompt cannot break what earlier prompts left in the cache.
    previous_blocks = np.concatenate(([shared], prompt_blocks[:-1])) if call_count else prompt_blocks
    retroactive = np.flatnonzero(positions < previous_blocks[calls]) if len(calls) else calls
    if len(retroactive):
        at_calls = calls[retroactive]
        starts = np.flatnonzero(np.append(True, at_calls[1:] != at_calls[:-1]))
        broken = at_calls[starts]
        first_changed[broken] = np.minimum.reduceat(positions[retroactive], starts)
        if not unbroken:
            reusable[broken] = np.minimum(reusable[broken], first_changed[broken])
    if alike:
        reusable[0] = max(int(reusable[0]), alike)
    return ContextSums(
        whole=whole,
        removed=total_removed,
        first_changed=first_changed,
        reusable=reusable,
        reusable_whole=whole_before[reusable],
        reusable_removed=carried_before[reusable] + _removed_before(positions, calls, removed, reusable),
        edits=np.bincount(calls, minlength=call_count)[:call_count].astype(np.int64),
    )


def _removed_before(
    positions: NDArray[np.int64],
    calls: NDArray[np.int64],
    removed: NDArray[np.int64],
    limits: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Per call, the tokens that changes made by then left out of the blocks before a limit."""
    made = np.searchsorted(calls, np.arange(len(limits)), side="right")
    if (positions[1:] >= positions[:-1]).all():
        # Blocks change in the order they are sent, so one running sum holds both bounds.
        running = np.concatenate(([0], np.cumsum(removed)))
        return running[np.minimum(made, np.searchsorted(positions, limits, side="left"))]
    return weight_below(positions, removed, made, limits)
