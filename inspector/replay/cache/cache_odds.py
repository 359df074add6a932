"""How a session's prompt caches really behave: what the rules of a provider leave to chance, learned from its reports.

Rules say what a cache may still hold; providers keep less than that, and now and then more. Of every cache that a
session's calls went to, its reports show how often a read succeeds after a pause, how much of a prompt is still read
where it does not, what other sessions had left for a first call, in which steps reads are counted, and whether writes
are counted at all. What they show little of is drawn towards what is typical of the provider, so that a session with a
handful of calls is taken to be like others, and less sure.

Every quantity is a share of counts with a few more added ("pseudo-counts"), so that it can be worked out by hand. A
read that succeeds reads what it shares with the prompt before, less what reads usually lag behind; one that fails reads
a share of that. What is expected of a call lies between the two, by its chance.

What a file shows to break a cache (another model, another thinking level) is no chance: such calls teach nothing of
pauses, and are taken to find what one finds whose cache has expired.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from inspector.replay.cache.miss_causes import MISS_SHARE, MISS_TOKENS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from inspector.replay.cache.cache_models import CacheModel

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]
    Booleans = NDArray[np.bool_]

PAUSES: Final = (60.0, 300.0, 360.0, 3600.0)
"""Seconds since the call before, up to which pauses are told apart; longer ones together.

Files tell when responses came, caches count from when requests were sent: pauses near five minutes are a class of their
own.
"""

PRIOR_CALLS: Final = 4.0
"""What is typical of a provider counts for as many calls after a pause as this."""

PRIOR_MISSES: Final = 1.0
"""What is typical of what a miss leaves counts for as many misses as this."""

_LEAST_UNREAD: Final = 3
"""Calls that could have read, and did not, after which a cache that was never seen is taken for none."""


class TypicalOdds(NamedTuple):
    """What is usual of a provider's cache before a session has shown anything.

    Attributes:
        chances: How likely a read succeeds after pauses up to each of `PAUSES`, and after longer ones.
        after_miss: What is still read where one does not that the rules allow, as a share of what is shared.
        after_expiry: The same where the rules do not allow it.
        first: What first calls read of what stands before their messages, left there by other sessions, as a share.
        sibling: The same of subagents, where another was at work while the cache lived.
        restart: What the first call after a compaction or a rewind reads of what it shares, as a share.
    """

    chances: tuple[float, float, float, float, float]
    after_miss: float
    after_expiry: float
    first: float
    sibling: float
    restart: float


TYPICAL: Final[Mapping[str, TypicalOdds]] = MappingProxyType(
    {
        "anthropic": TypicalOdds((0.995, 0.96, 0.5, 0.02, 0.01), 0.3, 0.0, 0.5, 0.9, 0.6),
        "anthropic-1h": TypicalOdds((0.995, 0.96, 0.89, 0.89, 0.01), 0.3, 0.1, 0.5, 0.9, 0.6),
        "openai": TypicalOdds((0.93, 0.6, 0.4, 0.4, 0.2), 0.5, 0.3, 0.3, 0.7, 0.8),
        "openai-30m": TypicalOdds((0.93, 0.6, 0.4, 0.4, 0.2), 0.5, 0.3, 0.3, 0.7, 0.8),
        "openai-24h": TypicalOdds((0.93, 0.6, 0.4, 0.4, 0.2), 0.5, 0.3, 0.3, 0.7, 0.8),
        "gemini": TypicalOdds((0.9, 0.8, 0.4, 0.4, 0.1), 0.4, 0.1, 0.2, 0.6, 0.5),
        "deepseek": TypicalOdds((0.95, 0.9, 0.8, 0.8, 0.5), 0.4, 0.2, 0.2, 0.7, 0.5),
    }
)
"""By cache. Anthropic's chances are those of 1,540 public coding sessions of 2026; the others of a handful each."""

OTHERS: Final = TypicalOdds((0.9, 0.8, 0.3, 0.3, 0.05), 0.4, 0.1, 0.2, 0.6, 0.5)
"""Of caches nobody counted."""


@dataclass(frozen=True, slots=True)
class CacheSeen:
    """What a session's reports show of one cache: one row a call with a report, in columns.

    Attributes:
        read: Tokens that were read, int64.
        shared: Tokens it shared with the prompt before it, as far as those can be read; of a first call, what stands
            before its messages, int64.
        most_kept: Of these, what a miss may leave: system prompt and tools, where a cache holds what it is told to,
            else all, int64.
        gap: Seconds since that prompt, NaN where unknown, float64.
        is_first: It is a thread's first call, bool.
        is_sibling: And another subagent was at work while the cache lived, bool.
        is_restart: Its prompt does not grow from the one before, bool.
        writes: Tokens that were written, int64.
    """

    read: Integers
    shared: Integers
    most_kept: Integers
    gap: Floats
    is_first: Booleans
    is_sibling: Booleans
    is_restart: Booleans
    writes: Integers

    @classmethod
    def nothing(cls) -> CacheSeen:
        """No call at all: what is known then is what is typical."""
        none, never = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.bool_)
        return cls(none, none, none, np.zeros(0), never, never, never, none)


@dataclass(frozen=True, slots=True)
class CacheOdds:
    """How one cache of a session behaves.

    Attributes:
        chances: How likely a read succeeds after pauses up to each of `PAUSES`, and after longer ones; never rising.
        doubts: How far each of them may be off: its standard deviation.
        after_miss: What a read that fails still reads, as a share of what a miss may leave.
        after_expiry: The same after a pause that the cache does not outlive by its rules.
        first: What a first call reads of what stands before its messages, as a share.
        first_doubt: How far that may be off: its standard deviation.
        sibling: What a subagent's first call reads of it where another was at work while the cache lived, as a share.
        sibling_doubt: How far that may be off: its standard deviation.
        restart: What the first call after a compaction or a rewind reads of what it shares, as a share.
        lag: Tokens that a read which succeeds usually stays behind what is shared, beyond the step.
        is_used: The session's route caches at all.
        calls: How many calls showed it.
    """

    chances: tuple[float, ...]
    doubts: tuple[float, ...]
    after_miss: float
    after_expiry: float
    first: float
    first_doubt: float
    sibling: float
    sibling_doubt: float
    restart: float
    lag: float
    is_used: bool
    calls: int

    @classmethod
    def of(cls, cache: CacheModel, seen: CacheSeen) -> CacheOdds:
        """What reports show of a cache, with what is typical of it.

        Args:
            cache: Its rules.
            seen: What was reported of it; may be nothing.
        """
        typical = TYPICAL.get(cache.name, OTHERS)
        later = ~seen.is_first & (seen.shared >= cache.minimum_prefix)
        grown, restarted = later & ~seen.is_restart, later & seen.is_restart
        succeeds = ~_is_miss(seen.shared, seen.read)
        pause = np.searchsorted(PAUSES, np.nan_to_num(seen.gap, nan=0.0))
        usual = max(float(seen.shared[grown].mean()) if grown.any() else 1.0, 1.0)
        weight = seen.shared / usual
        kinds = len(PAUSES) + 1
        asked = PRIOR_CALLS + np.bincount(pause[grown], weight[grown], kinds)
        answered = PRIOR_CALLS * np.array(typical.chances) + np.bincount(
            pause[grown & succeeds], weight[grown & succeeds], kinds
        )
        chances = never_rising((answered / asked).tolist(), asked.tolist())
        failed, expired = grown & ~succeeds, seen.gap > cache.lifetime
        lags = (seen.shared // cache.step * cache.step - seen.read)[grown & succeeds]
        first = seen.is_first & (seen.shared >= cache.minimum_prefix)
        share_first, count_first = _kept_share(seen.read, seen.shared, first & ~seen.is_sibling, typical.first)
        share_sibling, count_sibling = _kept_share(seen.read, seen.shared, first & seen.is_sibling, typical.sibling)
        could = int(later.sum())
        seen_used = bool(seen.read.any() or seen.writes.any())
        return cls(
            chances=chances,
            doubts=tuple(_doubt(chance, count) for chance, count in zip(chances, asked.tolist(), strict=True)),
            after_miss=_kept_share(seen.read, seen.most_kept, failed & ~expired, typical.after_miss)[0],
            after_expiry=_kept_share(seen.read, seen.most_kept, failed & expired, typical.after_expiry)[0],
            first=share_first,
            first_doubt=_doubt(share_first, count_first),
            sibling=share_sibling,
            sibling_doubt=_doubt(share_sibling, count_sibling),
            restart=_kept_share(seen.read, seen.shared, restarted, typical.restart)[0],
            lag=max(float(lags.sum() / (len(lags) + PRIOR_CALLS)), 0.0) if len(lags) else 0.0,
            is_used=seen_used or could < _LEAST_UNREAD,
            calls=len(seen.read),
        )

    def chance_after(self, seconds: Floats) -> Floats:
        """How likely reads succeed so long after the call before; unknown pauses count as none."""
        found: Floats = np.array(self.chances)[np.searchsorted(PAUSES, np.nan_to_num(seconds, nan=0.0))]
        return found


def never_rising(values: Sequence[float], weights: Sequence[float]) -> tuple[float, ...]:
    """The nearest values that never rise, neighbours that do averaged by their weights (pool adjacent violators)."""
    pools: list[tuple[float, float, int]] = []
    for value, weight in zip(values, weights, strict=True):
        pool = (value, weight, 1)
        while pools and pools[-1][0] < pool[0]:
            before = pools.pop()
            total = before[1] + pool[1]
            pool = ((before[0] * before[1] + pool[0] * pool[1]) / total, total, before[2] + pool[2])
        pools.append(pool)
    return tuple(value for value, _, count in pools for _ in range(count))


def _doubt(share: float, count: float) -> float:
    """The standard deviation of a share of so many."""
    return float(np.sqrt(share * (1 - share) / (count + 1)))


def _is_miss(shared: Integers, read: Integers) -> Booleans:
    lost = shared - read
    missed: Booleans = (lost >= MISS_TOKENS) & (lost >= MISS_SHARE * shared)
    return missed


def _kept_share(read: Integers, most: Integers, mine: Booleans, typical: float) -> tuple[float, float]:
    """What some calls read of what they could have, as a share, and how many they are, those of what is typical added.

    What is typical is of calls that could have read as much as these on average.
    """
    could, did = most[mine], np.minimum(read, most)[mine]
    count = len(could) + PRIOR_MISSES
    if not len(could):
        return typical, count
    prior = PRIOR_MISSES * float(could.mean())
    return (float(did.sum()) + typical * prior) / max(float(could.sum()) + prior, 1.0), count


class ReadOdds(NamedTuple):
    """How the caches of a session's calls behave at each of them, in columns over the calls.

    Attributes:
        chance: How likely it reads what it shares with the prompt before, float64.
        kept: What it reads otherwise, as a share of what a miss may leave, float64.
        most_kept: Tokens that a miss may leave at most, float64.
        lag: Tokens that it usually stays behind that though it reads it, float64.
        doubt: How far the chance may be off: its standard deviation, float64.
        is_used: The session's route caches at all, bool.
    """

    chance: Floats
    kept: Floats
    most_kept: Floats
    lag: Floats
    doubt: Floats
    is_used: Booleans

    @classmethod
    def of(cls, odds: Sequence[CacheOdds], code: NDArray[np.integer], calls: CallsAsked) -> ReadOdds:
        """The columns of calls.

        Args:
            odds: Every cache.
            code: Per call, the place of its cache among them.
            calls: The calls.
        """
        pause = np.searchsorted(PAUSES, np.nan_to_num(calls.gap, nan=0.0))
        table = np.array([each.chances for each in odds]).reshape(-1, len(PAUSES) + 1)
        doubts = np.array([each.doubts for each in odds]).reshape(-1, len(PAUSES) + 1)

        def column(values: list[float]) -> Floats:
            of_calls: Floats = np.array(values, dtype=np.float64)[code]
            return of_calls

        expired = column([each.after_expiry for each in odds])
        alive = np.where(calls.is_expired, 0.0, column([each.restart for each in odds]))
        restart = np.where(calls.is_expired, expired, alive)
        first = np.where(calls.is_sibling, column([e.sibling for e in odds]), column([e.first for e in odds]))
        unsure_first = np.where(
            calls.is_sibling, column([e.sibling_doubt for e in odds]), column([e.first_doubt for e in odds])
        )
        grown = ~calls.is_first & ~calls.is_restart
        chance = np.where(grown, table[code, pause], np.where(calls.is_first, first, restart))
        chance = np.where(grown & calls.is_changed, 0.0, chance)
        kept = np.where(calls.is_expired | calls.is_changed, expired, column([each.after_miss for each in odds]))
        doubt = np.where(grown, doubts[code, pause], np.where(calls.is_first, unsure_first, 0))
        doubt = np.where(grown & calls.is_changed, 0.0, doubt)
        is_used = column([float(each.is_used) for each in odds]) > 0
        can_read = is_used & (calls.is_first | calls.same_model)
        return cls(
            np.where(can_read, chance, 0.0),
            np.where(can_read & grown, kept, 0.0),
            calls.most_kept.astype(np.float64),
            np.where(grown, column([each.lag for each in odds]), 0.0),
            np.where(can_read, doubt, 0.0),
            is_used,
        )

    def rows(self, places: NDArray[np.intp]) -> ReadOdds:
        """Some of the rows."""
        return ReadOdds(
            self.chance[places],
            self.kept[places],
            self.most_kept[places],
            self.lag[places],
            self.doubt[places],
            self.is_used[places],
        )


class CallsAsked(NamedTuple):
    """What the chance of a read depends on, per call.

    Attributes:
        gap: Seconds since the call before in its thread, NaN where unknown, float64.
        most_kept: Tokens that a miss may leave at most, int64.
        is_expired: The gap is more than the cache lives by its rules, bool.
        is_changed: It asks for something beside its prompt that its cache tells apart, bool.
        is_first: It is a thread's first call, bool.
        is_sibling: And another subagent was at work while the cache lived, bool.
        is_restart: Its prompt does not grow from the one before, bool.
        same_model: That one went to the same model, bool.
    """

    gap: Floats
    most_kept: Integers
    is_expired: Booleans
    is_changed: Booleans
    is_first: Booleans
    is_sibling: Booleans
    is_restart: Booleans
    same_model: Booleans
