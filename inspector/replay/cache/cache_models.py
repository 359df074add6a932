"""Prompt-cache rules of each provider: minimum prefix, time to live (TTL) and billing of writes.

Token prices are in the pricing package. Where a provider bills cache writes as uncached input, counting them as either
gives the same cost.

Sources: the prompt-caching documentation of Anthropic and OpenAI, Google's on implicit caching, DeepSeek's on context
caching, all as of late 2026. Anthropic's minimum differs by model and on Amazon Bedrock; the Claude API's is used.
Google documents no lifetime for implicit caching; five minutes are assumed, as for other automatic caches.

Estimate how a session's prompt caches really behave, from the usage its provider reported.

A provider's rules are an upper bound: caches hold less, and now and then more. Reported usage of each cache gives the
hit rate by pause, the share of a prompt still read after a miss, the share of a first call's prefix that other sessions
left in the cache, the step of reads, and whether writes are counted. Estimates with few observations shrink to the
provider's typical values, so a session with a handful of calls gets values close to typical and a larger standard
deviation.

Every quantity is a ratio of counts with pseudo-counts added, so it can be checked by hand. A successful read covers the
prefix shared with the previous prompt, less a typical lag; a failed read covers a share of it. The expected read lies
between the two, weighted by the probability.

If the file shows why a cache missed (another model, another thinking level), the call is not evidence about pauses and
is treated like one after expiry.
"""

from __future__ import annotations

import dataclasses
import difflib
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from inspector.errors import InspectorError
from inspector.replay.cache.miss_causes import MISS_SHARE, MISS_TOKENS
from inspector.tokens.model_names import model_version, parse_model_name

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from inspector.replay.pricing.rates import Rates, ServedPrompts
    from inspector.session.model import Usage

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]
    Booleans = NDArray[np.bool_]


NO_PREFIX = 1 << 62
"""Minimum prefix longer than any prompt: the cache is never used."""

_LEAST_UNWRITTEN = 2
"""Distinct read sizes, without any write, after which writes are taken as uncounted."""

_LEAST_STEPS, _LEAST_STEP = 4, 16
"""Distinct read sizes needed to infer a step, and the smallest step.

Providers count in powers of two; any other common divisor is chance.
"""

_MINUTE = 60.0
_HOUR = 3600.0


@dataclass(frozen=True, slots=True)
class CacheModel:
    """Behavior of a provider's prompt cache.

    Attributes:
        name: Identifier: `anthropic`, `anthropic-1h`, `openai`, `none`.
        title: Short label for users.
        minimum_prefix: Minimum prefix length in tokens; shorter ones are neither written nor read.
        lifetime: Seconds an entry lives after the start of the last request that wrote or read it.
        step: Read sizes are multiples of this many tokens.
        writes: True if the provider counts cache writes separately from uncached input.
        writes_one_hour: True if writes go to entries of the longer lifetime (one hour, OpenAI 12 hours) by default.
        lookback: Positions searched backward from the end of the prompt for an earlier entry (a block is one position,
            so is a run of tool calls or of results); None for no limit. Only `anthropic-20` sets it: agents keep
            several breakpoints, and no recorded session shows a case that the limit decided.
    """

    name: str
    title: str
    minimum_prefix: int
    lifetime: float
    step: int = 1
    writes: bool = False
    writes_one_hour: bool = False
    lookback: int | None = None

    @property
    def uses_breakpoints(self) -> bool:
        """True if requests mark what to cache (`cache_control`); other providers cache automatically."""
        return self.name.startswith("anthropic")


class CacheColumns(NamedTuple):
    """Cache models as columns over the calls, for sessions that switch between models."""

    minimum_prefix: NDArray[np.int64]
    lifetime: NDArray[np.float64]
    step: NDArray[np.int64]
    writes: NDArray[np.bool_]
    writes_one_hour: NDArray[np.bool_]
    lookback: NDArray[np.int64]
    """`NO_PREFIX` where there is no limit."""

    @classmethod
    def of(cls, caches: Sequence[CacheModel]) -> CacheColumns:
        return cls(
            np.array([cache.minimum_prefix for cache in caches], dtype=np.int64),
            np.array([cache.lifetime for cache in caches], dtype=np.float64),
            np.array([cache.step for cache in caches], dtype=np.int64),
            np.array([cache.writes for cache in caches], dtype=np.bool_),
            np.array([cache.writes_one_hour for cache in caches], dtype=np.bool_),
            np.array([NO_PREFIX if cache.lookback is None else cache.lookback for cache in caches], dtype=np.int64),
        )

    def rows(self, places: NDArray[np.intp]) -> CacheColumns:
        """Select rows by index; indices may repeat."""
        return CacheColumns(
            self.minimum_prefix[places],
            self.lifetime[places],
            self.step[places],
            self.writes[places],
            self.writes_one_hour[places],
            self.lookback[places],
        )


class CacheModelError(InspectorError, ValueError):
    """An unknown cache model name; the message lists the valid ones."""

    advice = "choose one of the listed cache models"


CACHE_MODELS: Mapping[str, CacheModel] = MappingProxyType(
    {
        cache.name: cache
        for cache in (
            CacheModel("anthropic", "Anthropic, five minutes", 1024, 5 * _MINUTE, writes=True),
            CacheModel("anthropic-1h", "Anthropic, one hour", 1024, _HOUR, writes=True, writes_one_hour=True),
            CacheModel("anthropic-20", "Anthropic, 20-position lookback", 1024, 5 * _MINUTE, writes=True, lookback=20),
            CacheModel("openai", "OpenAI, in memory", 1024, 10 * _MINUTE, step=128),
            CacheModel("openai-30m", "OpenAI, 30 minutes, writes counted", 1024, 30 * _MINUTE, step=128, writes=True),
            CacheModel(
                "openai-12h",
                "OpenAI, 12 hours, writes counted",
                1024,
                12 * _HOUR,
                128,
                writes=True,
                writes_one_hour=True,
            ),
            CacheModel("openai-24h", "OpenAI, extended to 24 hours", 1024, 24 * _HOUR, step=128),
            CacheModel("gemini", "Gemini, implicit", 4096, 5 * _MINUTE),
            CacheModel("deepseek", "DeepSeek, on disk", 64, 24 * _HOUR, step=64),
            CacheModel("automatic", "automatic prefix cache", 1024, 5 * _MINUTE),
            CacheModel("none", "no cache", NO_PREFIX, 0.0),
        )
    }
)
"""All cache models by name. `cache_model_for` adjusts the minimum to the model."""


def cache_model_for(model: str, *, rates: Rates | None = None, named: str | None = None) -> CacheModel:
    """Return the prompt cache that a model's provider runs.

    Args:
        model: The model's name as recorded; may be empty.
        rates: Its prices: a model of an unknown provider has an automatic cache if reads cost less than input.
        named: Use this cache model for any model, with the model's own minimum if there is one.

    Raises:
        CacheModelError: No cache model is called `named`.
    """
    reads_are_cheaper = rates is not None and rates.cache_read < rates.input
    return _cache_model(parse_model_name(model).name, named, reads_are_cheaper)


def recorded_cache(cache: CacheModel, usage: ServedPrompts) -> CacheModel:
    """Adjust a cache model to the usage that a session's provider reported.

    If every recorded write has the longer lifetime, the cache is one of that lifetime. If there are reads and never a
    write, a gateway does not count writes. If every read is a multiple of the same power of two, that is the step.

    Args:
        cache: The model's default cache.
        usage: Reported usage of the calls that went to it.
    """
    hours, minutes = int(usage.cache_write_1h.sum()), int(usage.cache_write_5m.sum())
    if cache.name in _LONGER and hours and not minutes:
        cache = dataclasses.replace(CACHE_MODELS[_LONGER[cache.name]], minimum_prefix=cache.minimum_prefix)
    reads = np.unique(usage.cache_read[usage.cache_read > 0])
    if cache.writes and not hours and not minutes and len(reads) >= _LEAST_UNWRITTEN:
        cache = dataclasses.replace(cache, title=f"{cache.title}, writes not counted", writes=False)
    if len(reads) >= _LEAST_STEPS:
        shared = int(np.gcd.reduce(reads))
        shared &= -shared
        cache = dataclasses.replace(cache, step=shared if shared >= _LEAST_STEP else 1)
    return cache


_LONGER = {"anthropic": "anthropic-1h", "openai-30m": "openai-12h"}
"""Cache models of the longer lifetime that requests may choose."""


def with_lifetime_of(cache: CacheModel, usage: Usage) -> CacheModel:
    """Return the cache model with the longer lifetime if a call wrote most of its tokens for that."""
    if cache.name not in _LONGER or usage.cache_write_1h <= usage.cache_write_5m:
        return cache
    return dataclasses.replace(CACHE_MODELS[_LONGER[cache.name]], minimum_prefix=cache.minimum_prefix)


@lru_cache(maxsize=1024)  # called for every call of a session; sessions use a few models
def _cache_model(name: str, named: str | None, reads_are_cheaper: bool) -> CacheModel:
    cache = _named(named) if named else _by_model(name, reads_are_cheaper=reads_are_cheaper)
    return dataclasses.replace(cache, minimum_prefix=_minimum_prefix(cache, name))


def _named(named: str) -> CacheModel:
    if named not in CACHE_MODELS:
        close = difflib.get_close_matches(named, CACHE_MODELS, n=1)
        meant = f"; did you mean {close[0]!r}" if close else ""
        raise CacheModelError(f"unknown prompt cache {named!r}{meant}; choose from {', '.join(CACHE_MODELS)}")
    return CACHE_MODELS[named]


def _by_model(name: str, *, reads_are_cheaper: bool) -> CacheModel:
    if "claude" in name:
        return CACHE_MODELS["anthropic"]
    if version := model_version(name, "gpt"):
        return CACHE_MODELS["openai-30m" if version >= (5, 6) else "openai-24h" if version >= (5, 5) else "openai"]
    if name.startswith(("gpt-", "codex", "o1", "o3", "o4", "chatgpt")):
        return CACHE_MODELS["openai"]
    if "gemini" in name:
        return CACHE_MODELS["gemini"]
    if "deepseek" in name:
        return CACHE_MODELS["deepseek"]
    if reads_are_cheaper:
        return CACHE_MODELS["automatic"]
    return CACHE_MODELS["none"]


def _minimum_prefix(cache: CacheModel, name: str) -> int:
    if cache.uses_breakpoints:
        return _anthropic_minimum(name)
    if cache.name == "gemini":
        return 1024 if "flash" in name else 4096
    return cache.minimum_prefix


def _anthropic_minimum(name: str) -> int:
    """Return the shortest prefix the Claude API caches, from its documentation; 1,024 for models it does not list."""
    if version := model_version(name, "opus"):
        if version == (5, 0):
            return 512
        return {(4, 5): 4096, (4, 6): 4096, (4, 7): 2048}.get(version, 1024)
    if version := model_version(name, "haiku"):
        return 4096 if version >= (4, 5) else 2048
    if model_version(name, "fable") or model_version(name, "mythos"):
        return 512
    return 1024


PAUSES: Final = (60.0, 300.0, 360.0, 3600.0)
"""Upper bounds in seconds of the pause classes; longer pauses are one class.

Files record when responses arrived, caches count from when requests were sent, so pauses near five minutes are a class.
"""

PRIOR_CALLS: Final = 4.0
"""Pseudo-count of calls per pause class, at the provider's typical hit rate."""

PRIOR_MISSES: Final = 1.0
"""Pseudo-count of misses, at the provider's typical share left by a miss."""

_LEAST_UNREAD: Final = 3
"""Calls that could have read and did not, after which a cache never seen counts as absent."""


class TypicalOdds(NamedTuple):
    """Typical behavior of a provider's cache, the prior before a session has shown anything.

    Attributes:
        chances: Hit rate after pauses up to each of `PAUSES`, and after longer ones.
        after_miss: Share of the shared prefix still read by a miss within the lifetime.
        after_expiry: The same share after the lifetime.
        first: Share read by first calls of the prefix before their messages, left by other sessions.
        sibling: The same share for subagents, if another subagent ran within the cache's lifetime.
        restart: Share of the common prefix read by the first call after a compaction or a rewind.
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
        "openai-12h": TypicalOdds((0.93, 0.6, 0.4, 0.4, 0.2), 0.5, 0.3, 0.3, 0.7, 0.8),
        "openai-24h": TypicalOdds((0.93, 0.6, 0.4, 0.4, 0.2), 0.5, 0.3, 0.3, 0.7, 0.8),
        "gemini": TypicalOdds((0.9, 0.8, 0.4, 0.4, 0.1), 0.4, 0.1, 0.2, 0.6, 0.5),
        "deepseek": TypicalOdds((0.95, 0.9, 0.8, 0.8, 0.5), 0.4, 0.2, 0.2, 0.7, 0.5),
    }
)
"""Typical odds by cache, Anthropic's from 1,540 public coding sessions of 2026, the others from a handful each."""

OTHERS: Final = TypicalOdds((0.9, 0.8, 0.3, 0.3, 0.05), 0.4, 0.1, 0.2, 0.6, 0.5)
"""Assumed odds of caches without data."""


@dataclass(frozen=True, slots=True)
class CacheObservations:
    """Reported usage of one cache, as columns with a row per call that has a report.

    Attributes:
        read: Tokens read, int64.
        shared: Tokens of the readable prefix shared with the previous prompt; for a first call, of the prefix before
            its messages, int64.
        most_kept: Of these, the most a miss can leave: system prompt and tools if requests mark what to cache,
            otherwise all, int64.
        gap: Seconds since the previous prompt, NaN where unknown, float64.
        is_first: First call of a thread, bool.
        is_sibling: First call while another subagent ran within the cache's lifetime, bool.
        is_restart: The prompt does not grow from the previous one, bool.
        writes: Tokens written, int64.
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
    def nothing(cls) -> CacheObservations:
        """Return empty columns; odds built from them are the typical ones."""
        none, never = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.bool_)
        return cls(none, none, none, np.zeros(0), never, never, never, none)


@dataclass(frozen=True, slots=True)
class CacheOdds:
    """Behavior of one cache of a session.

    Attributes:
        chances: Hit rate after pauses up to each of `PAUSES`, and after longer ones; never rising.
        doubts: Their standard deviations.
        after_miss: Share still read by a miss within the lifetime, of the most a miss can leave.
        after_expiry: The same share after the lifetime.
        first: Share read by a first call of the prefix before its messages.
        first_doubt: Its standard deviation.
        sibling: Share of that prefix read by a subagent's first call, if another ran within the cache's lifetime.
        sibling_doubt: Its standard deviation.
        restart: Share of the common prefix read by the first call after a compaction or a rewind.
        lag: Tokens by which a successful read usually falls short of the shared prefix, beyond the step.
        is_used: True if the session's route caches at all.
        calls: Number of calls observed.
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
    def of(cls, cache: CacheModel, seen: CacheObservations) -> CacheOdds:
        """Estimate a cache's odds from reported usage, which may be empty, and the typical values."""
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
        """Return the hit rate after pauses of this many seconds; unknown pauses count as zero."""
        found: Floats = np.array(self.chances)[np.searchsorted(PAUSES, np.nan_to_num(seconds, nan=0.0))]
        return found


def never_rising(values: Sequence[float], weights: Sequence[float]) -> tuple[float, ...]:
    """Return the closest non-increasing values, weighted (pool adjacent violators)."""
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
    """Return the standard deviation of a share of `count` observations."""
    return float(np.sqrt(share * (1 - share) / (count + 1)))


def _is_miss(shared: Integers, read: Integers) -> Booleans:
    lost = shared - read
    missed: Booleans = (lost >= MISS_TOKENS) & (lost >= MISS_SHARE * shared)
    return missed


def _kept_share(read: Integers, most: Integers, mine: Booleans, typical: float) -> tuple[float, float]:
    """Return the share of readable tokens that the selected calls read, and their number, with the prior's."""
    could, did = most[mine], np.minimum(read, most)[mine]
    count = len(could) + PRIOR_MISSES
    if not len(could):
        return typical, count
    prior = PRIOR_MISSES * float(could.mean())
    return (float(did.sum()) + typical * prior) / max(float(could.sum()) + prior, 1.0), count


class ReadOdds(NamedTuple):
    """Cache behavior at each call of a session, as columns over the calls.

    Attributes:
        chance: Probability that the call reads the prefix shared with the previous prompt, float64.
        kept: Share read otherwise, of the most a miss can leave, float64.
        most_kept: Tokens that a miss can leave at most, float64.
        lag: Tokens by which a successful read usually falls short, float64.
        doubt: Standard deviation of the probability, float64.
        is_used: True if the session's route caches at all, bool.
    """

    chance: Floats
    kept: Floats
    most_kept: Floats
    lag: Floats
    doubt: Floats
    is_used: Booleans

    @classmethod
    def of(cls, odds: Sequence[CacheOdds], code: NDArray[np.integer], calls: CallFeatures) -> ReadOdds:
        """Build the columns of calls; `code` is the index of each call's cache in `odds`."""
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
        return ReadOdds(
            self.chance[places],
            self.kept[places],
            self.most_kept[places],
            self.lag[places],
            self.doubt[places],
            self.is_used[places],
        )


class CallFeatures(NamedTuple):
    """Properties of each call that its hit rate depends on.

    Attributes:
        gap: Seconds since the previous call in its thread, NaN where unknown, float64.
        most_kept: Tokens that a miss can leave at most, int64.
        is_expired: The gap exceeds the cache's lifetime, bool.
        is_changed: A request setting changed that is part of the cache key, bool.
        is_first: First call of a thread, bool.
        is_sibling: First call while another subagent ran within the cache's lifetime, bool.
        is_restart: The prompt does not grow from the previous one, bool.
        same_model: The previous call went to the same model, bool.
    """

    gap: Floats
    most_kept: Integers
    is_expired: Booleans
    is_changed: Booleans
    is_first: Booleans
    is_sibling: Booleans
    is_restart: Booleans
    same_model: Booleans
