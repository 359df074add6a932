"""Prompt-cache rules of each provider: the shortest prefix it caches, its time to live (TTL), and how it bills writes.

What a cached token costs is not said here; prices say it. Where a provider bills writes like uncached input, counting
them as either comes to the same.

Sources: Anthropic's and OpenAI's prompt-caching documentation, Google's on implicit caching, DeepSeek's on context
caching, all as of late 2026. Anthropic's minimum differs by model and on Amazon Bedrock; the Claude API's is used.
Google promises no lifetime for implicit caching; five minutes are assumed, as for automatic caches of other providers.
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

NO_PREFIX = 1 << 62
"""A minimum no prompt reaches: the cache is never used."""

_LEAST_UNWRITTEN = 2
"""Different reads, with no write ever, that show that writes are not counted."""

_LEAST_STEPS, _LEAST_STEP = 4, 16
"""So many different reads that are multiples of the same power of two, which is no less than this, show a step.

Providers count in powers of two; what round figures share besides is chance.
"""

_MINUTE = 60.0
_HOUR = 3600.0


@dataclass(frozen=True, slots=True)
class CacheModel:
    """How a provider's prompt cache behaves.

    Attributes:
        name: How it is chosen: `anthropic`, `anthropic-1h`, `openai`, `none`.
        title: A few words for people.
        minimum_prefix: Tokens below which nothing is written or read.
        lifetime: Seconds an entry lives after the start of the last request that wrote or read it.
        step: What is read is a multiple of so many tokens.
        writes: The provider counts tokens written to the cache apart from uncached input.
        writes_one_hour: What is written goes to entries of an hour, where a session does not say.
        lookback: How many positions (messages' blocks, runs of tool calls or of results counting as one) before the
            end of the prompt are searched for an earlier entry; None for no limit. Off unless `anthropic-20` is named:
            agents keep several breakpoints, and recorded sessions show no case that the limit decided.
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
    def takes_marks(self) -> bool:
        """Whether a request marks what is kept; others keep what they choose."""
        return self.name.startswith("anthropic")


class CacheColumns(NamedTuple):
    """Cache models of every call, as columns, for sessions that switch between models."""

    minimum_prefix: NDArray[np.int64]
    lifetime: NDArray[np.float64]
    step: NDArray[np.int64]
    writes: NDArray[np.bool_]
    writes_one_hour: NDArray[np.bool_]
    lookback: NDArray[np.int64]
    """`NO_PREFIX` where there is no limit."""

    @classmethod
    def of(cls, caches: Sequence[CacheModel]) -> CacheColumns:
        """The columns of one cache model a call."""
        return cls(
            np.array([cache.minimum_prefix for cache in caches], dtype=np.int64),
            np.array([cache.lifetime for cache in caches], dtype=np.float64),
            np.array([cache.step for cache in caches], dtype=np.int64),
            np.array([cache.writes for cache in caches], dtype=np.bool_),
            np.array([cache.writes_one_hour for cache in caches], dtype=np.bool_),
            np.array([NO_PREFIX if cache.lookback is None else cache.lookback for cache in caches], dtype=np.int64),
        )

    def rows(self, places: NDArray[np.intp]) -> CacheColumns:
        """Some of the rows, each as often as its place is given."""
        return CacheColumns(
            self.minimum_prefix[places],
            self.lifetime[places],
            self.step[places],
            self.writes[places],
            self.writes_one_hour[places],
            self.lookback[places],
        )


class CacheModelError(InspectorError, ValueError):
    """No cache model has that name; the message lists those there are."""

    advice = "choose one of the cache models that are listed"


CACHE_MODELS: Mapping[str, CacheModel] = MappingProxyType(
    {
        cache.name: cache
        for cache in (
            CacheModel("anthropic", "Anthropic, five minutes", 1024, 5 * _MINUTE, writes=True),
            CacheModel("anthropic-1h", "Anthropic, one hour", 1024, _HOUR, writes=True, writes_one_hour=True),
            CacheModel(
                "anthropic-20", "Anthropic, 20 positions looked back", 1024, 5 * _MINUTE, writes=True, lookback=20
            ),
            CacheModel("openai", "OpenAI, in memory", 1024, 10 * _MINUTE, step=128),
            CacheModel(
                "openai-30m", "OpenAI, thirty minutes, writes counted", 1024, 30 * _MINUTE, step=128, writes=True
            ),
            CacheModel("openai-24h", "OpenAI, extended to a day", 1024, 24 * _HOUR, step=128),
            CacheModel("gemini", "Gemini, implicit", 4096, 5 * _MINUTE),
            CacheModel("deepseek", "DeepSeek, on disk", 64, 24 * _HOUR, step=64),
            CacheModel("automatic", "automatic prefix cache", 1024, 5 * _MINUTE),
            CacheModel("none", "no cache", NO_PREFIX, 0.0),
        )
    }
)
"""Every cache model by name. Those of `cache_model_for` have the minimum of the model they are for."""


def cache_model_for(model: str, *, rates: Rates | None = None, named: str | None = None) -> CacheModel:
    """The prompt cache a model's provider runs.

    Args:
        model: The model's name as recorded; may be empty.
        rates: Its prices: a model of no known provider has an automatic cache if reads cost less than input.
        named: Use this cache model whatever the model, with the model's own minimum where that is known.

    Raises:
        CacheModelError: No cache model is called `named`.
    """
    reads_are_cheaper = rates is not None and rates.cache_read < rates.input
    return _cache_model(parse_model_name(model).name, named, reads_are_cheaper)


def recorded_cache(cache: CacheModel, usage: ServedPrompts) -> CacheModel:
    """The prompt cache as a session shows it, of what the provider reported for it.

    One whose every recorded write is of an hour keeps it for an hour. One that is read and never seen to be written is
    behind a gateway that does not count writes. Where every read is a multiple of the same power of two, that is its
    step.

    Args:
        cache: The cache that is usual for the model.
        usage: What was reported of calls that went to it.
    """
    hours, minutes = int(usage.cache_write_1h.sum()), int(usage.cache_write_5m.sum())
    if cache.name == "anthropic" and hours and not minutes:
        cache = dataclasses.replace(CACHE_MODELS["anthropic-1h"], minimum_prefix=cache.minimum_prefix)
    reads = np.unique(usage.cache_read[usage.cache_read > 0])
    if cache.writes and not hours and not minutes and len(reads) >= _LEAST_UNWRITTEN:
        cache = dataclasses.replace(cache, title=f"{cache.title}, writes not counted", writes=False)
    if len(reads) >= _LEAST_STEPS:
        shared = int(np.gcd.reduce(reads))
        shared &= -shared
        cache = dataclasses.replace(cache, step=shared if shared >= _LEAST_STEP else 1)
    return cache


@lru_cache(maxsize=1024)  # asked for every call of a session, which knows a few models
def _cache_model(name: str, named: str | None, reads_are_cheaper: bool) -> CacheModel:
    cache = _named(named) if named else _by_model(name, reads_are_cheaper=reads_are_cheaper)
    return dataclasses.replace(cache, minimum_prefix=_minimum_prefix(cache, name))


def _named(named: str) -> CacheModel:
    if named not in CACHE_MODELS:
        close = difflib.get_close_matches(named, CACHE_MODELS, n=1)
        meant = f"; did you mean {close[0]!r}" if close else ""
        raise CacheModelError(f"no prompt cache is called {named!r}{meant}; there are {', '.join(CACHE_MODELS)}")
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
    if cache.takes_marks:
        return _anthropic_minimum(name)
    if cache.name == "gemini":
        return 1024 if "flash" in name else 4096
    return cache.minimum_prefix


def _anthropic_minimum(name: str) -> int:
    """Shortest prefix the Claude API caches, by the table in its documentation; what it does not list gets 1,024."""
    if version := model_version(name, "opus"):
        if version == (5, 0):
            return 512
        return {(4, 5): 4096, (4, 6): 4096, (4, 7): 2048}.get(version, 1024)
    if version := model_version(name, "haiku"):
        return 4096 if version >= (4, 5) else 2048
    if model_version(name, "fable") or model_version(name, "mythos"):
        return 512
    return 1024
