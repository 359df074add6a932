"""What a prompt cache makes of every call's prompt: how much is read, written and neither, in columns over the calls.

Two ways to know it. Where the provider reported usage, the report is kept and only what the plan changes is changed
(`anchored_usage`): a miss the provider had is a miss in every replay, and a replay without edits is the report itself.
Where nothing was reported, the cache is simulated from the provider's rules (`simulated_usage`).

Both follow the prefix rule: a call reads what it shares, from the first token on, with what was sent before. Entries
are really written at breakpoints only; agents put them at the end of every request, so that the entry before an edit
ends less than one request's growth before it. That difference is left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from inspector.replay.cache.cache_models import CacheColumns, CacheModel
    from inspector.replay.cache.cache_odds import ReadOdds
    from inspector.session.model import Usage

    Integers = NDArray[np.int64]

UNCHANGED = np.iinfo(np.int64).max
"""Stands for the position of a change that is not there."""


@dataclass(frozen=True)
class PromptUsage:
    """Prompt tokens of every call by how they were served, int64; every token is in exactly one column.

    Attributes:
        uncached: Neither read from nor written to a cache.
        cache_read: Read from a cache.
        cache_write_5m: Written to a cache of five minutes, or the provider's only kind.
        cache_write_1h: Written to a cache of an hour.
    """

    uncached: Integers
    cache_read: Integers
    cache_write_5m: Integers
    cache_write_1h: Integers

    @classmethod
    def of(cls, usages: Sequence[Usage | None]) -> PromptUsage:
        """The columns of what was reported; zeros where nothing was."""
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
        """All prompt tokens of every call."""
        return self.uncached + self.cache_read + self.cache_write_5m + self.cache_write_1h

    @cached_property
    def cache_write(self) -> Integers:
        """What was written to a cache of either kind."""
        return self.cache_write_5m + self.cache_write_1h

    @cached_property
    def least_cached(self) -> int:
        """The fewest tokens that a cache read, or held, of a prompt; `UNCHANGED` where none did."""
        held = self.cache_read + self.cache_write
        seen = np.concatenate((self.cache_read[self.cache_read > 0], held[held > 0]))
        return int(seen.min(initial=UNCHANGED))

    @cached_property
    def one_hour_share(self) -> NDArray[np.float64]:
        """Per call, the share of its writes that went to one-hour entries; of the last that wrote, where it did not.

        Of the first that wrote, before it; NaN where none did.
        """
        writers = np.flatnonzero(self.cache_write)
        count = len(self.cache_write)
        if not len(writers):
            return np.full(count, np.nan)
        last = writers[np.maximum(np.searchsorted(writers, np.arange(count), side="right") - 1, 0)]
        share: NDArray[np.float64] = self.cache_write_1h[last] / self.cache_write[last]
        return share

    def rows(self, calls: NDArray[np.intp]) -> PromptUsage:
        """The columns of some calls. What the whole session shows of its caches is known of them, too."""
        rows = PromptUsage(
            self.uncached[calls], self.cache_read[calls], self.cache_write_5m[calls], self.cache_write_1h[calls]
        )
        vars(rows).update(least_cached=self.least_cached, one_hour_share=self.one_hour_share[calls])
        return rows

    def where(self, mine: NDArray[np.bool_], other: PromptUsage) -> PromptUsage:
        """These columns where `mine` holds, those of `other` elsewhere."""
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
    """What the provider would have reported for prompts nobody reported on.

    "Previous call" is the last earlier call whose prompt this one grew from: the previous one of its thread, across
    compactions (which share the system prompt with what was before).

    Args:
        cache: The provider's cache; columns where calls go to several.
        prompt_tokens: Per call, tokens of its prompt as the plan sends it.
        common_prefix_tokens: Per call, how many tokens from the beginning on equal the previous call's prompt; 0 for a
            first call. At most the smaller of both prompts.
        gap_seconds: Per call, seconds from the start of the previous call to the start of this one; NaN where unknown,
            which counts as soon enough. A cache entry lives from the start of the request that last used it.
        same_model: Per call, whether the previous call went to the same model; caches are kept by model.
        positions_after_prefix: Per call, cache positions after the common prefix; needed only for a cache with a
            lookback, which finds no entry further back than that many positions.
        static_prefix_tokens: Tokens of tools and system prompt, which have a breakpoint of their own and are found
            whatever the lookback.
        odds: How the caches really behave: then what is expected is told, of a first call too. By the rules alone,
            without chance, where not given.
        recorded: What was reported of other calls of the session, which says for how long entries were asked for.

    Returns:
        Columns whose sum is `prompt_tokens`.
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
    """What a call reads where its read succeeds, and where it does not; the former is never less.

    Args:
        odds: How its cache behaves.
        read: What it may read by the rules.
        shared: What it shares with the prompt before.
    """
    high = np.maximum(read - np.rint(odds.lag).astype(np.int64), 0)
    left = np.rint(odds.kept * np.minimum(shared, odds.most_kept)).astype(np.int64)
    return high, np.minimum(left, high)


def expected_read(odds: ReadOdds, high: Integers, low: Integers) -> Integers:
    """What is expected to be read of two possible reads, in whole tokens."""
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
    """What the provider would have reported for the plan's prompts, given what it reported for the recorded ones.

    A call's recorded prompt is what was read, then what was written, then what was neither. The plan's is the same with
    pieces left out. The call reads up to where the provider stopped reading, unless the plan changed something before
    that since the previous call; it writes from there to where the provider stopped writing; what came after stays
    uncached. So recorded misses are replayed as they were, and a cut that falls behind one costs nothing extra.

    Positions are counted in tokens of the plan's prompt of the call itself, from its beginning, on the scale of the
    recorded usage: `read_boundary[c]` is `recorded.cache_read[c]` less what the plan leaves out before it.

    Args:
        cache: The provider's cache; columns where calls went to several.
        recorded: Per call, what was reported.
        prompt_tokens: Per call, tokens of its prompt as the plan sends it.
        read_boundary: Per call, where the recorded read ends in the plan's prompt.
        first_change: Per call, where the first block begins that the plan sends otherwise than it did in the previous
            call of the thread (or did not send then, or sends no more), blocks that are new in this call apart;
            `UNCHANGED` where there is none.
        positions_after_change: Per call, cache positions after `first_change`; for a cache with a lookback.
        static_prefix_tokens: Tokens of tools and system prompt, found whatever the lookback.

    Returns:
        Columns whose sum is `prompt_tokens`; the recorded ones, exactly, for every call the plan does not touch.
    """
    prompt = np.asarray(prompt_tokens, dtype=np.int64)
    written = recorded.cache_write
    minimum = _minimum_seen(cache, recorded)
    breaks = first_change < read_boundary
    # A recorded read ends at a multiple of the step below what was shared. Cutting before it moves it off the grid,
    # down as much as up on average, so it goes to the nearest multiple; a change moves it down to the multiple below.
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
    """The tokens, or 0 where they are fewer than a cache takes."""
    return np.where(tokens >= minimum, tokens, 0)


def _nearest_multiple(tokens: Integers, step: Integers | int) -> Integers:
    return _multiple_below(tokens + np.asarray(step) // 2, step)


def _multiple_below(tokens: Integers, step: Integers | int) -> Integers:
    """The tokens, rounded down to a whole number of steps."""
    if not np.any(np.not_equal(step, 1)):
        # Most caches have no step, and to divide takes as long as all else that is done with a read.
        return tokens
    multiple: Integers = tokens // step * step
    return multiple


def _minimum_seen(cache: CacheModel | CacheColumns, recorded: PromptUsage) -> Integers:
    """The provider's minimum, or what the session shows to be cached with less."""
    minimum: Integers = np.minimum(np.asarray(cache.minimum_prefix, dtype=np.int64), recorded.least_cached)
    return minimum


def _one_hour_share(cache: CacheModel | CacheColumns, recorded: PromptUsage) -> NDArray[np.float64]:
    """Per call, the share of its writes that goes to one-hour entries: as recorded, or by the provider's rule."""
    share = recorded.one_hour_share
    if len(share) and np.isnan(share[0]):
        return np.broadcast_to(np.asarray(cache.writes_one_hour, dtype=np.float64), (len(share),))
    return share


def _within_lookback(
    cache: CacheModel | CacheColumns, shared: Integers, positions: Integers | None, static: Integers | int
) -> Integers:
    """What is found of a shared prefix that ends `positions` before the end of the prompt."""
    if cache.lookback is None or positions is None:
        return shared
    return np.where(positions < cache.lookback, shared, np.minimum(shared, static))
