"""Prompt-cache rules of each provider: minimum prefix, time to live (TTL) and billing of writes.

Token prices are in the pricing package. Where a provider bills cache writes as uncached input, counting them as either
gives the same cost.

Sources: the prompt-caching documentation of Anthropic and OpenAI, Google's on implicit caching, DeepSeek's on context
caching, all as of late 2026. Anthropic's minimum differs by model and on Amazon Bedrock; the Claude API's is used.
Google documents no lifetime for implicit caching; five minutes are assumed, as for other automatic caches.
"""

from __future__ import annotations

import dataclasses
import difflib
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from inspector.errors import InspectorError
from inspector.tokens.model_names import model_version, parse_model_name

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from inspector.replay.pricing.rates import Rates, ServedPrompts
    from inspector.session.model import Usage

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
        """Build the columns from one cache model per call."""
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
