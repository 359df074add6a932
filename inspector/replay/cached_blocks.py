"""What the recorded prompt caches held, in blocks: where the reads that providers reported end among what was sent."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from inspector.replay.placed_changes import PlacedChanges

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from inspector.replay.changes import Changes
    from inspector.replay.layout import Layout
    from inspector.replay.placed_changes import ReusablePrefix
    from inspector.replay.prompt_usage import PromptUsage


def cached_blocks(
    layout: Layout,
    ratio: NDArray[np.float64],
    recorded: PromptUsage,
    anchored: NDArray[np.bool_],
    cleared: Changes,
) -> NDArray[np.int64]:
    """How many blocks at its beginning every prompt's cache held: where the reported read ends, or the previous prompt.

    Args:
        layout: The session.
        ratio: Per call, the next one included, the provider's tokens for one counted token.
        recorded: Per call, the prompt tokens that were reported.
        anchored: Per call, whether what was read is taken from that report.
        cleared: What the agent itself left out while it was recorded.

    Returns:
        One number a call, the next one included, int64.
    """
    previous_blocks = layout.previous_blocks
    if not anchored.any():
        return previous_blocks
    tail = np.zeros(len(previous_blocks))
    tail[:-1] = recorded.prompt - recorded.cache_read
    ends = np.minimum(_blocks_before(layout, tail, ratio, cleared), previous_blocks)
    # A read that ends where the previous prompt ended, but for what that one left uncached, read all of it.
    previous = layout.previous_call[:-1]
    expected = np.where(previous >= 0, (recorded.prompt - recorded.uncached)[previous], 0)
    everything = (previous >= 0) & (recorded.cache_read >= expected - np.maximum(expected // 100, 64))
    blocks = previous_blocks.copy()
    blocks[:-1] = np.where(anchored & ~everything, ends[:-1], previous_blocks[:-1])
    return blocks


def _blocks_before(
    layout: Layout, tail: NDArray[np.float64], ratio: NDArray[np.float64], changes: Changes
) -> NDArray[np.int64]:
    """Per call, how many blocks of its prompt come before its last so many tokens, to the nearest block. int64.

    Args:
        layout: The session.
        tail: Per call, the provider's tokens at the end of its prompt.
        ratio: Per call, the provider's tokens for one counted token.
        changes: How its blocks are sent.
    """
    if len(changes.block):
        return _blocks_before_changed(layout, tail, ratio, changes)
    blocks = np.zeros(layout.history.call_count + 1, dtype=np.int64)
    for context in layout.contexts:
        if not len(context.calls) or not len(context.blocks):
            continue
        counted = np.concatenate(([0], np.cumsum(context.tokens, dtype=np.int64)))
        for each in np.unique(ratio[context.calls]).tolist():
            calls = context.calls[ratio[context.calls] == each]
            prompt_blocks = context.prompt_blocks[ratio[context.calls] == each]
            ends = np.maximum.accumulate(each * counted + context.beside)
            middles = (ends[1:] + ends[:-1]) / 2
            found = np.searchsorted(middles, ends[prompt_blocks] - tail[calls])
            blocks[calls] = np.minimum(found, prompt_blocks)
    return blocks


def _blocks_before_changed(
    layout: Layout, tail: NDArray[np.float64], ratio: NDArray[np.float64], changes: Changes
) -> NDArray[np.int64]:
    """The same where blocks are not sent whole: their sizes differ from call to call, so ends are searched for."""
    everything = np.full(layout.history.call_count + 1, len(layout.tokens), dtype=np.int64)
    placed = PlacedChanges.of(layout, changes)
    whole = placed.reusable(everything, unbroken=True)
    target = _tokens(whole, ratio) - tail
    # The fewest blocks that take so many tokens lie above `low` and no higher than `high`.
    low, high = np.full_like(everything, -1), whole.blocks
    while bool((high - low > 1).any()):
        middle = (low + high) // 2
        enough = _tokens(placed.reusable(np.maximum(middle, 0), unbroken=True), ratio) >= target
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
    low = np.maximum(low, 0)
    below, above = (_tokens(placed.reusable(each, unbroken=True), ratio) for each in (low, high))
    return np.where(target - below < above - target, low, high)


def _tokens(prefix: ReusablePrefix, ratio: NDArray[np.float64]) -> NDArray[np.float64]:
    """Per call, the provider's tokens of a prompt's beginning."""
    tokens: NDArray[np.float64] = ratio * (prefix.whole - prefix.removed) + prefix.beside
    return tokens
