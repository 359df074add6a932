"""Cache reads, writes and uncached tokens per call, as columns over the calls.

There are two methods. With reported usage, the report is the baseline and only the plan's changes are applied
(`anchored_usage`): a recorded miss is a miss in every replay, and a replay without edits equals the report. Without
reported usage, the provider's rules are simulated (`simulated_usage`).

Both follow the prefix rule: a call reads the prefix it shares with earlier prompts. Providers write entries at
breakpoints only, and agents put these at the end of every request, so the entry before an edit ends less than one
request's growth before it. That difference is ignored.

Price the cache rewrites that a plan's edits cause.

If a call's prompt departs from the previous one before its end, the cache read stops there. The rest, though sent
before, is written to the cache again or sent uncached. The same prompts are also simulated with a cache that no edit
invalidates. The difference in reads and cost is the loss from the edits.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from inspector.replay.pricing.rates import RateColumn, ServedPrompts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from inspector.replay.cache.cache_models import CacheColumns, CacheModel, ReadOdds
    from inspector.session.model import Usage

    Integers = NDArray[np.int64]


UNCHANGED = np.iinfo(np.int64).max
"""Position used where there is no change."""


@dataclass(frozen=True)
class PromptUsage:
    """Prompt tokens of every call by cache status, int64; every token is in exactly one column.

    Attributes:
        uncached: Neither read from nor written to a cache.
        cache_read: Read from a cache.
        cache_write_5m: Written to a five-minute cache, or to the provider's only kind.
        cache_write_1h: Written to a one-hour cache.
    """

    uncached: Integers
    cache_read: Integers
    cache_write_5m: Integers
    cache_write_1h: Integers

    @classmethod
    def of(cls, usages: Sequence[Usage | None]) -> PromptUsage:
        """Build the columns from reported usage; zeros where there is none."""
        table = np.array(
            [
                (0, 0, 0, 0)
                if usage is None
                else (usage.uncached, usage.cache_read, usage.cache_write_5m, usage.cache_write_1h)
                for usage in usages
            ],
            dtype=np.int64,
        ).reshape(-1, 4)
        return cls(table[:, 0], table[:, 1], table[:, 2], table[:, 3])

    @cached_property
    def prompt(self) -> Integers:
        return self.uncached + self.cache_read + self.cache_write_5m + self.cache_write_1h

    @cached_property
    def cache_write(self) -> Integers:
        return self.cache_write_5m + self.cache_write_1h

    @cached_property
    def min_cached(self) -> int:
        """Smallest nonzero cached prompt size (read, or read plus written); `UNCHANGED` if there is none."""
        held = self.cache_read + self.cache_write
        seen = np.concatenate((self.cache_read[self.cache_read > 0], held[held > 0]))
        return int(seen.min(initial=UNCHANGED))

    @cached_property
    def one_hour_share(self) -> NDArray[np.float64]:
        """Share of cache writes that went to one-hour entries, per call.

        A call without writes takes the share of the last call that wrote before it, or of the first that wrote. NaN if
        none did.
        """
        writers = np.flatnonzero(self.cache_write)
        count = len(self.cache_write)
        if not len(writers):
            return np.full(count, np.nan)
        last = writers[np.maximum(np.searchsorted(writers, np.arange(count), side="right") - 1, 0)]
        share: NDArray[np.float64] = self.cache_write_1h[last] / self.cache_write[last]
        return share

    def rows(self, calls: NDArray[np.intp]) -> PromptUsage:
        """Select calls. Properties of the whole session's caches are preserved."""
        rows = PromptUsage(
            self.uncached[calls], self.cache_read[calls], self.cache_write_5m[calls], self.cache_write_1h[calls]
        )
        vars(rows).update(min_cached=self.min_cached, one_hour_share=self.one_hour_share[calls])
        return rows

    def where(self, mine: NDArray[np.bool_], other: PromptUsage) -> PromptUsage:
        """Merge columns: these where `mine` holds, those of `other` elsewhere."""
        return PromptUsage(
            np.where(mine, self.uncached, other.uncached),
            np.where(mine, self.cache_read, other.cache_read),
            np.where(mine, self.cache_write_5m, other.cache_write_5m),
            np.where(mine, self.cache_write_1h, other.cache_write_1h),
        )


def simulated_usage(
    cache: CacheModel | CacheColumns,
    prompt_tokens: Integers,
    common_prefix_tokens: Integers,
    gap_seconds: NDArray[np.float64],
    same_model: NDArray[np.bool_],
    *,
    positions_after_prefix: Integers | None = None,
    static_prefix_tokens: Integers | int = 0,
    odds: ReadOdds | None = None,
    recorded: PromptUsage | None = None,
) -> PromptUsage:
    """Simulate usage for prompts without reported usage.

    The "previous call" is the last earlier call that this prompt grew from: the previous one of its thread, including
    across compactions (which keep the system prompt).

    Args:
        cache: The provider's cache; columns if calls go to several.
        prompt_tokens: Per call, prompt tokens under the plan.
        common_prefix_tokens: Per call, length of the prefix shared with the previous call's prompt; 0 for a first call.
            At most the smaller of both prompts.
        gap_seconds: Per call, seconds from the start of the previous call to the start of this one; NaN where unknown,
            which counts as within the lifetime. A cache entry lives from the start of the request that last used it.
        same_model: Per call, True if the previous call went to the same model; caches are separate per model.
        positions_after_prefix: Per call, cache positions after the common prefix; needed only for a cache with a
            lookback, which finds no entry further back than that many positions.
        static_prefix_tokens: Tokens of tools and system prompt, which have their own breakpoint and are found at any
            lookback.
        odds: Observed cache behavior; the result is then an expected value, for first calls too. Without it, the rules
            alone decide.
        recorded: Reported usage of other calls of the session, which shows the lifetime of their entries.

    Returns:
        Columns with the sum `prompt_tokens`.
    """
    prompt = np.asarray(prompt_tokens, dtype=np.int64)
    alive = same_model & ~(gap_seconds > cache.lifetime)
    shared = np.minimum(common_prefix_tokens, prompt)
    if odds is None:
        shared = np.where(alive, shared, 0)
    shared = _within_lookback(cache, shared, positions_after_prefix, static_prefix_tokens)
    read = _cacheable(_multiple_below(shared, cache.step), cache.minimum_prefix)
    if odds is not None:
        read = expected_read(odds, *possible_reads(odds, read, shared))
    end = _cacheable(prompt, cache.minimum_prefix)
    writes = cache.writes if odds is None else np.asarray(cache.writes) & odds.is_used
    write = np.where(writes, end - read, 0)
    if recorded is None:
        one_hour = np.where(cache.writes_one_hour, write, 0)
    else:
        one_hour = np.rint(write * _one_hour_share(cache, recorded)).astype(np.int64)
    return PromptUsage(prompt - read - write, read, write - one_hour, one_hour)


def possible_reads(odds: ReadOdds, read: Integers, shared: Integers) -> tuple[Integers, Integers]:
    """Return the tokens a call reads on a hit and a miss, from `read` by the rules and the `shared` prefix."""
    high = np.maximum(read - np.rint(odds.lag).astype(np.int64), 0)
    left = np.rint(odds.kept * np.minimum(shared, odds.most_kept)).astype(np.int64)
    return high, np.minimum(left, high)


def expected_read(odds: ReadOdds, high: Integers, low: Integers) -> Integers:
    """Return the expected read of two possible reads, in whole tokens."""
    return np.rint(odds.chance * high + (1 - odds.chance) * low).astype(np.int64)


def anchored_usage(
    cache: CacheModel | CacheColumns,
    recorded: PromptUsage,
    prompt_tokens: Integers,
    read_boundary: Integers,
    first_change: Integers,
    *,
    positions_after_change: Integers | None = None,
    static_prefix_tokens: Integers | int = 0,
) -> PromptUsage:
    """Adjust reported usage of the recorded prompts to the plan's prompts.

    A recorded prompt is a part read, then a part written, then an uncached part. The plan's prompt is the same with
    pieces left out. The call reads up to where the provider stopped reading, unless the plan changed something before
    that since the previous call. It writes from there to where the provider stopped writing; the rest stays uncached.
    Recorded misses are thus replayed unchanged, and a cut after one costs nothing extra.

    Positions count tokens from the start of the plan's prompt of that call, on the scale of the recorded usage:
    `read_boundary[c]` is `recorded.cache_read[c]` less what the plan leaves out before it.

    Args:
        cache: The provider's cache; columns if calls went to several.
        recorded: Reported usage per call.
        prompt_tokens: Per call, prompt tokens under the plan.
        read_boundary: Per call, end of the recorded read in the plan's prompt.
        first_change: Per call, start of the first block that the plan sends differently from the previous call of the
            thread (including added and removed blocks), apart from blocks new in this call; `UNCHANGED` if there is
            none.
        positions_after_change: Per call, cache positions after `first_change`; for a cache with a lookback.
        static_prefix_tokens: Tokens of tools and system prompt, found at any lookback.

    Returns:
        Columns with the sum `prompt_tokens`; exactly the recorded ones for every call the plan does not touch.
    """
    prompt = np.asarray(prompt_tokens, dtype=np.int64)
    written = recorded.cache_write
    minimum = _minimum_seen(cache, recorded)
    breaks = first_change < read_boundary
    # A recorded read ends at a multiple of the step, at or below the shared prefix. A cut before it moves it off the
    # grid, down as much as up on average, so it is rounded to the nearest multiple; a change moves it down to the
    # multiple below.
    kept = np.where(read_boundary == recorded.cache_read, read_boundary, _nearest_multiple(read_boundary, cache.step))
    before_change = _within_lookback(
        cache, np.minimum(first_change, read_boundary), positions_after_change, static_prefix_tokens
    )
    read = np.where(breaks, _multiple_below(before_change, cache.step), kept)
    read = _cacheable(np.clip(read, 0, prompt), minimum)
    writes = (written > 0) | (np.asarray(cache.writes) & (recorded.cache_read > 0))
    end = _cacheable(np.maximum(prompt - recorded.uncached, 0), minimum)
    write = np.where(writes, np.maximum(end - read, 0), 0)
    one_hour = np.rint(write * _one_hour_share(cache, recorded)).astype(np.int64)
    planned = PromptUsage(prompt - read - write, read, write - one_hour, one_hour)
    touched = breaks | (prompt != recorded.prompt) | (read_boundary != recorded.cache_read)
    return planned.where(touched, recorded)


def _cacheable(tokens: Integers, minimum: Integers | int) -> Integers:
    """Return the tokens, or 0 where there are fewer than the minimum prefix."""
    return np.where(tokens >= minimum, tokens, 0)


def _nearest_multiple(tokens: Integers, step: Integers | int) -> Integers:
    return _multiple_below(tokens + np.asarray(step) // 2, step)


def _multiple_below(tokens: Integers, step: Integers | int) -> Integers:
    """Round the tokens down to a multiple of the step."""
    if not np.any(np.not_equal(step, 1)):
        # Most caches have no step, and the division takes as long as all other work on a read.
        return tokens
    multiple: Integers = tokens // step * step
    return multiple


def _minimum_seen(cache: CacheModel | CacheColumns, recorded: PromptUsage) -> Integers:
    """Return the provider's minimum prefix, or the smallest one the session shows to be cached."""
    minimum: Integers = np.minimum(np.asarray(cache.minimum_prefix, dtype=np.int64), recorded.min_cached)
    return minimum


def _one_hour_share(cache: CacheModel | CacheColumns, recorded: PromptUsage) -> NDArray[np.float64]:
    """Return the share of writes to one-hour entries per call: as recorded, otherwise by the provider's rule."""
    share = recorded.one_hour_share
    if len(share) and np.isnan(share[0]):
        return np.broadcast_to(np.asarray(cache.writes_one_hour, dtype=np.float64), (len(share),))
    return share


def _within_lookback(
    cache: CacheModel | CacheColumns, shared: Integers, positions: Integers | None, static: Integers | int
) -> Integers:
    """Return the readable part of a shared prefix that ends `positions` before the end of the prompt."""
    if cache.lookback is None or positions is None:
        return shared
    return np.where(positions < cache.lookback, shared, np.minimum(shared, static))


@dataclass(frozen=True, eq=False)
class CacheRewriteCosts:
    """Cost of cache rewrites per recorded call.

    Attributes:
        resent: Cached prompt tokens that an edit evicted and the call sent again, int64.
        rebuild_cost: Dollars for sending them again, NaN without a price, float64.
        extra_cost: Of these, the part above the price of a cache read, float64.
    """

    resent: NDArray[np.int64]
    rebuild_cost: NDArray[np.float64]
    extra_cost: NDArray[np.float64]


def price_cache_rewrites(
    served: ServedPrompts, unbroken: ServedPrompts, calls: NDArray[np.intp], rates: NDArray[np.float64]
) -> CacheRewriteCosts:
    """Price the cache invalidated by edits.

    Args:
        served: Served prompts of all calls.
        unbroken: Served prompts of `calls` if no edit invalidated the cache.
        calls: Indices of the calls at which the two may differ.
        rates: Dollars per token, a row for each call, as in `CallRates.of_prompts`.
    """
    rates = np.take(rates.T, calls, axis=1).T
    resent = np.maximum(unbroken.cache_read - served.cache_read[calls], 0)
    more = (
        (served.uncached[calls] - unbroken.uncached) * rates[:, RateColumn.UNCACHED]
        + (served.cache_read[calls] - unbroken.cache_read) * rates[:, RateColumn.CACHE_READ]
        + (served.cache_write_5m[calls] - unbroken.cache_write_5m) * rates[:, RateColumn.CACHE_WRITE_5M]
        + (served.cache_write_1h[calls] - unbroken.cache_write_1h) * rates[:, RateColumn.CACHE_WRITE_1H]
    )
    extra = np.where(resent > 0, more, 0.0)
    rebuild = extra + np.where(resent > 0, resent * rates[:, RateColumn.CACHE_READ], 0.0)
    count = len(served.cache_read)
    return CacheRewriteCosts(*(_over_all_calls(each, calls, count) for each in (resent, rebuild, extra)))


def _over_all_calls(figures: NDArray[Any], calls: NDArray[np.intp], count: int) -> NDArray[Any]:
    """Scatter figures of some calls into a column over all calls, zero elsewhere."""
    column = np.zeros(count, dtype=figures.dtype)
    column[calls] = figures
    return column
