"""Convert counted tokens to provider tokens and cost: the ledger of a replay, one row per call.

With reported usage, the baseline is that usage to the token, including cache misses, and a plan shifts it by its own
changes. Otherwise prompts are counted locally and the cache is simulated.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from inspector.replay.cache.prompt_usage import UNCHANGED, PromptUsage, anchored_usage, simulated_usage
from inspector.replay.figure import Figure, HowKnown, lowest_confidence

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from inspector.replay.engine.edits import ModelCall
    from inspector.replay.engine.inputs import ReplayInputs
    from inspector.replay.engine.prompt_edits import PromptEdits, ReusablePrefix


@dataclass(frozen=True, eq=False)
class Ledger:
    """Figures per call, as columns in call order.

    Attributes:
        prompt_tokens: Tokens sent, int64.
        cache_read: Prompt tokens read from the prompt cache, int64.
        cache_write_5m: Prompt tokens written to a five-minute cache (or the provider's only kind), int64.
        cache_write_1h: Prompt tokens written to a one-hour cache, int64.
        uncached: Prompt tokens neither read nor written, int64.
        output: Response tokens, int64.
        cost: Dollars, including requests by strategies, NaN if the model has no price, float64.
        strategy_cost: Of these, dollars for requests by the plan's strategies, float64.
        removed_tokens: Tokens the plan removed from this prompt (negative if it added), int64.
        first_changed: First block that differs from the previous prompt before its end, -1 for none, int32.
        edits: Number of blocks with a new rendition at this call, int32.
        is_break: True if the plan made this prompt differ from the previous one before its end, bool.
    """

    prompt_tokens: NDArray[np.int64]
    cache_read: NDArray[np.int64]
    cache_write_5m: NDArray[np.int64]
    cache_write_1h: NDArray[np.int64]
    uncached: NDArray[np.int64]
    output: NDArray[np.int64]
    cost: NDArray[np.float64]
    strategy_cost: NDArray[np.float64]
    removed_tokens: NDArray[np.int64]
    first_changed: NDArray[np.int32]
    edits: NDArray[np.int32]
    is_break: NDArray[np.bool_]

    @property
    def cache_write(self) -> NDArray[np.int64]:
        """Prompt tokens written to either kind of cache, int64."""
        return self.cache_write_5m + self.cache_write_1h


def ledger_of(
    inputs: ReplayInputs, prompt_edits: PromptEdits, reusable: ReusablePrefix, model_calls: Sequence[ModelCall] = ()
) -> Ledger:
    """Compute the figures of every call from the plan's changes to the prompts."""
    ratio = inputs.sizes.ratio[:-1]
    whole = inputs.sizes.whole[:-1]
    removed = np.rint(ratio * (prompt_edits.removed - inputs.recorded_removed)[:-1])
    prompt = np.maximum(np.rint(whole) - removed, 0).astype(np.int64)
    usage = served_usage(inputs, reusable, prompt)
    cost = inputs.rates.cost(usage, inputs.output)
    first_changed = prompt_edits.first_changed[:-1]
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
        edits=prompt_edits.edited_blocks[:-1],
        is_break=(first_changed >= 0) | inputs.restarts,
    )


def _strategy_cost(inputs: ReplayInputs, model_calls: Sequence[ModelCall]) -> NDArray[np.float64]:
    """Return dollars of strategy requests per call, uncached, at the prices of the call's model."""
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
    cost = inputs.rates.cost(PromptUsage(sent, nothing, nothing, nothing), answered)
    return np.where(sent > 0, cost, 0.0)


def served_usage(
    inputs: ReplayInputs, prefix: ReusablePrefix, prompt: NDArray[np.int64], calls: NDArray[np.intp] | None = None
) -> PromptUsage:
    """Compute the cache reads and writes of prompts, given their tokens under a plan, by default of all calls."""
    if not len(prompt):
        return inputs.recorded
    caches, recorded, every_prompt = inputs.caches, inputs.recorded, prompt
    if calls is not None:
        caches, recorded, prompt = caches.rows(calls), recorded.rows(calls), prompt[calls]
    asked = slice(len(inputs.anchored)) if calls is None else calls
    ratio = inputs.sizes.ratio[asked]
    before_blocks = inputs.before_blocks[asked]
    reusable_removed = ratio * prefix.removed[asked]
    reusable = np.rint(before_blocks + ratio * prefix.whole[asked] + prefix.uncounted[asked] - reusable_removed)
    read = recorded.cache_read
    # The recorded read shows where the agent's own clearing broke the cache, to the token.
    shortened = prefix.shortened[asked] & (prefix.blocks[asked] != inputs.recorded_reusable.blocks[asked])
    lengthened = prefix.lengthened[asked] & inputs.may_read_all[asked]
    removed_before_read = np.rint(reusable_removed - ratio * inputs.recorded_reusable.removed[asked])
    # If the provider read none of the blocks, no removed tokens precede the end of the recorded read.
    removed_before_read = np.where(prefix.lengthened[asked], 0, removed_before_read)
    reusable = np.where(prefix.unread[asked], 0, np.maximum(reusable, 0)).astype(np.int64)
    moved = shortened | lengthened
    # Tokens that the plan adds before a change can move it past the end of the recorded read.
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
    odds = inputs.read_odds if inputs.uses_expected_reads.any() else None
    static = np.maximum(np.rint(before_blocks), 0).astype(np.int64)
    if odds is not None:
        reusable = _held(inputs, prefix, every_prompt)[asked]
    simulated = simulated_usage(
        caches,
        prompt,
        common_prefix_tokens=np.where(
            inputs.previous_call[asked] >= 0, reusable, 0 if odds is None else inputs.start_tokens[asked]
        ),
        gap_seconds=inputs.entry_gap[asked],
        same_model=inputs.same_model[asked],
        positions_after_prefix=inputs.layout.positions_after(prefix.blocks)[asked] if inputs.has_lookback else None,
        static_prefix_tokens=static,
        odds=odds if odds is None or calls is None else odds.rows(calls),
        recorded=None if odds is None else recorded,
    )
    return anchored.where(is_anchored, simulated)


def _held(inputs: ReplayInputs, prefix: ReusablePrefix, prompt: NDArray[np.int64]) -> NDArray[np.int64]:
    tokens = inputs.sizes.ratio[:-1] * (prefix.whole - prefix.removed)[:-1] + prefix.uncounted[:-1]
    held = inputs.cacheable_tokens(inputs.before_blocks + tokens, prompt.astype(np.float64))
    held = np.where(prefix.unread[:-1], 0.0, held)
    return np.maximum(np.rint(held), 0).astype(np.int64)


@dataclass(frozen=True, slots=True)
class Figures:
    """Totals over all calls of one replay, or of the reported usage."""

    calls: Figure
    prompt_tokens: Figure
    peak_prompt_tokens: Figure
    cache_read_tokens: Figure
    cache_write_tokens: Figure
    uncached_tokens: Figure
    output_tokens: Figure
    cache_breaks: Figure
    cost_usd: Figure


def figures_of(
    ledger: Ledger,
    tokens: HowKnown,
    output: HowKnown,
    served: HowKnown,
    single: HowKnown,
    *,
    prices: HowKnown = HowKnown.EXACT,
    lacks_output: bool = False,
    lacks_prices: bool = False,
    lacks_usage: bool = False,
) -> Figures:
    """Compute the totals of a ledger.

    Args:
        tokens: Confidence of the sum of the prompt sizes.
        output: Confidence of the output column.
        served: Confidence of the cache columns.
        single: Confidence of a single prompt.
        prices: Confidence of the prices of the calls.
        lacks_output: Some response was longer than its row shows.
        lacks_prices: Some call was billed for an item without a known price.
        lacks_usage: Some report of usage has a number that no column includes.
    """
    costs = ledger.cost
    is_least = lacks_output or lacks_prices or lacks_usage
    cost = None if len(costs) and bool(np.isnan(costs).any()) else float(costs.sum())
    return Figures(
        calls=Figure(len(costs), HowKnown.EXACT),
        prompt_tokens=Figure(int(ledger.prompt_tokens.sum()), tokens, lacks_usage),
        peak_prompt_tokens=Figure(int(ledger.prompt_tokens.max(initial=0)), single),
        cache_read_tokens=Figure(int(ledger.cache_read.sum()), served),
        cache_write_tokens=Figure(int(ledger.cache_write.sum()), served),
        uncached_tokens=Figure(int(ledger.uncached.sum()), served),
        output_tokens=Figure(int(ledger.output.sum()), output, lacks_output or lacks_usage),
        cache_breaks=Figure(int(ledger.is_break.sum()), single),
        cost_usd=Figure(cost, lowest_confidence(tokens, output, served, prices), is_least),
    )


def how_known(inputs: ReplayInputs, *, untouched: bool) -> tuple[HowKnown, HowKnown, HowKnown, HowKnown]:
    """Return the confidence of sums of prompts, responses and cache usage, and of a single prompt."""
    tokens = inputs.recorded_known if inputs.sums_are_recorded and untouched else inputs.scale.known
    output = inputs.recorded_known if inputs.sums_are_recorded and inputs.output_known else HowKnown.ESTIMATED
    elsewhere = bool(inputs.other_model) or bool(((inputs.reported | inputs.apportioned) & ~inputs.anchored).any())
    single = lowest_confidence(tokens, HowKnown.CALIBRATED) if inputs.apportioned.any() else tokens
    return tokens, output, HowKnown.PROJECTED if elsewhere else tokens, single
