"""What if the main conversation had gone to another model from some call on: a projection.

Prompts and responses keep their tokens. The first call of the other model finds nothing in its cache; every later one
reads what it read. At switches that were recorded after it, and where there was no cache, it reads what is expected of
what it could have: as often as such a cache is read after such a pause, by what the session shows of it or is typical.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import isnan
from typing import TYPE_CHECKING

import numpy as np

from inspector.replay.analysis.cache_reads import caches_at_all
from inspector.replay.cache.cache_models import cache_model_for
from inspector.replay.cache.miss_causes import MissCause
from inspector.replay.cache.prompt_usage import PromptUsage
from inspector.replay.figure import Figure, HowKnown
from inspector.replay.pricing.bundled_prices import models_of_provider
from inspector.tokens.model_names import Categorical, parse_model_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from inspector.replay.analysis.cache_misses import CacheMisses
    from inspector.replay.analysis.miss_evidence import Evidence
    from inspector.replay.engine.replay import Replay


@dataclass(frozen=True, slots=True)
class ModelSwitch:
    """A session whose main conversation had gone to another model from some call on; all projected.

    Attributes:
        call: The first call of the other model.
        model: Its name.
        calls: How many calls it would have answered.
        recache_tokens: Tokens that the first of them read from the cache, and that the other model's does not hold.
        recache_usd: What sending these costs the other model beyond reading them.
        recorded_usd: What its calls cost as they were.
        usd: What they would have cost.
        pays_after: After how many calls it has cost less than going on, for good; None where it does not.
        window: Tokens the other model's window holds; None where nobody says.
        beyond_window: How many of these prompts are longer.
    """

    call: int
    model: str
    calls: int
    recache_tokens: int
    recache_usd: Figure
    recorded_usd: Figure
    usd: Figure
    pays_after: int | None
    window: int | None
    beyond_window: int

    @property
    def saved_usd(self) -> Figure:
        """Dollars saved; negative where it would have cost more."""
        recorded, changed = self.recorded_usd.value, self.usd.value
        return Figure(None if recorded is None or changed is None else recorded - changed, HowKnown.PROJECTED)


def model_switch(found: CacheMisses, call: int, model: str) -> ModelSwitch | None:
    """What switching the main conversation to another model at a call would have come to.

    None where the call is not the main conversation's, or the model has no price.

    Args:
        found: The misses of the session.
        call: The first call of the other model.
        model: Its name.
    """
    replay = found.replay
    inputs, ledger, session = replay.inputs, replay.ledger, replay.history.session
    main = main_calls(replay)
    mine = main[main >= call]
    if not len(mine) or mine[0] != call:
        return None
    name = Categorical((model,), np.zeros(len(mine), dtype=np.intp))
    prices = inputs.pricing.call_rates(name, replay.history.call_time[mine])
    first = prices.rates[0]
    if first is None or None in prices.rates:
        return None
    recorded = PromptUsage(
        ledger.uncached[mine], ledger.cache_read[mine], ledger.cache_write_5m[mine], ledger.cache_write_1h[mine]
    )
    prompt, read = ledger.prompt_tokens[mine], recorded.cache_read.copy()
    cache, gaps = cache_model_for(model, rates=first), inputs.gap_seconds[mine]
    odds = inputs.odds_of(cache)
    chance = np.ones(len(mine)) if odds is None else odds.chance_after(gaps)
    for miss in found.all:
        if miss.cause is MissCause.MODEL_CHANGED and _is_in_time(miss.evidence):
            here = mine == miss.call
            expected = np.rint(chance[here] * miss.could_read).astype(np.int64)
            read[here] = np.maximum(read[here], expected)
    before = session.calls[main[main < call][-1]].model if (main < call).any() else ""
    if _is_same(session.calls[call].model, model):
        read[0] = recorded.cache_read[0]
    elif not _is_same(before, model):
        read[0] = 0
    previous = inputs.previous_call[mine]
    grows = (previous >= 0) & ~inputs.restarts[mine] & ~(gaps > cache.lifetime)
    kept = np.where(grows, np.minimum(ledger.prompt_tokens[previous], prompt), 0)
    kept = np.rint(chance * kept).astype(np.int64)
    kept[0] = 0
    read = np.where(caches_at_all(replay)[mine], read, kept) if cache.lifetime else np.zeros_like(read)
    if cache.writes:
        changed = _written(prompt - read, read, recorded, is_counted=inputs.caches.writes[mine])
    else:
        none = np.zeros(len(prompt), dtype=np.int64)
        changed = PromptUsage(prompt - read, read, none, none)
    costs = prices.cost(changed, ledger.output[mine])
    row = prices.of_prompts(prompt)[0]
    lost = max(int(recorded.cache_read[0] - read[0]), 0)
    unread = int(changed.uncached[0] + changed.cache_write_5m[0] + changed.cache_write_1h[0])
    sent = float(changed.uncached[0] * row[0] + changed.cache_write_5m[0] * row[2] + changed.cache_write_1h[0] * row[3])
    each = sent / unread if unread else float(row[0])
    behind = np.flatnonzero(np.cumsum(ledger.cost[mine] - costs) < 0)
    pays = 1 if not len(behind) else int(behind[-1]) + 2
    window = inputs.pricing.own_window(model) or inputs.pricing.listed_window(model)
    return ModelSwitch(
        call=call,
        model=model,
        calls=len(mine),
        recache_tokens=lost,
        recache_usd=_projected(lost * (each - float(row[1]))),
        recorded_usd=Figure.of(float(ledger.cost[mine].sum()), replay.figures.cost_usd.known),
        usd=_projected(float(costs.sum())),
        pays_after=pays if pays <= len(mine) and not isnan(float(ledger.cost[mine].sum())) else None,
        window=window,
        beyond_window=int((prompt > window).sum()) if window else 0,
    )


def main_calls(replay: Replay) -> NDArray[np.int64]:
    """The calls of the main conversation, rising."""
    count = replay.history.call_count
    threads = [context.calls for context in replay.inputs.layout.contexts if context.thread == 0]
    calls = np.sort(np.concatenate([np.zeros(0, dtype=np.int64), *threads]).astype(np.int64))
    return calls[calls < count]


def _written(
    unread: NDArray[np.int64], read: NDArray[np.int64], recorded: PromptUsage, *, is_counted: NDArray[np.bool_]
) -> PromptUsage:
    """Prompts whose unread tokens are written to the cache, for as long as they were.

    What was neither read nor written is neither again where writes were counted.
    """
    written = recorded.cache_write
    uncached = np.where(is_counted, np.minimum(recorded.uncached, unread), 0)
    share = np.where(written > 0, recorded.cache_write_1h / np.maximum(written, 1), recorded.cache_write_1h.any())
    for_hour = np.rint((unread - uncached) * share).astype(np.int64)
    return PromptUsage(uncached, read, unread - uncached - for_hour, for_hour)


def _is_in_time(shown: Evidence) -> bool:
    """Whether a call came while the cache of the one before it lived: another model is all that it missed for."""
    return shown.gap_seconds is None or not 0 < shown.lifetime < shown.gap_seconds


def _is_same(one: str, other: str) -> bool:
    return bool(one) and plain_name(one) == plain_name(other)


def plain_name(model: str) -> str:
    """A model's name as it is compared: `claude-opus-4-8` of `anthropic/claude-opus-4.8`."""
    return parse_model_name(model).name.replace(".", "-")


def _projected(dollars: float) -> Figure:
    return Figure.of(dollars, HowKnown.PROJECTED)


MOST_OFFERED = 4

_NOT_FOR_CONVERSATIONS = frozenset(
    (
        *("audio", "cyber", "embedding", "image", "live", "moderation", "ocr", "realtime", "robotics", "search"),
        *("transcribe", "translate", "tts", "vision"),
    )
)
"""Words of names of models that no agent is run with."""

_VERSION = re.compile(r"(?<![a-z\d])(\d{1,2})(?:[-.](\d{1,2}))?(?!\d)")


def other_models(replay: Replay) -> tuple[str, ...]:
    """Models a session could have been switched to: those it knows, then the nearest of its newest one's family.

    Of a family there is one of every kind: of `claude-opus-4-8` a Sonnet and a Haiku whose version is nearest. Dearest
    first, at most `MOST_OFFERED`.
    """
    session, pricing = replay.history.session, replay.inputs.pricing
    newest = next((call.model for call in reversed(session.calls) if call.model), "")
    rates = pricing.rates(newest)
    if rates is None or pricing.given is not None or pricing.model is not None:
        return ()
    names = list(session.models) if len(session.models) > 1 else []
    kinds = {_kind_and_version(plain_name(name))[0] for name in session.models}
    siblings = _siblings(plain_name(newest), models_of_provider(rates.provider))
    names += [name for name in siblings if _kind_and_version(plain_name(name))[0] not in kinds]
    found: dict[str, float] = {}
    known: set[str] = set() if len(session.models) > 1 else {plain_name(newest), plain_name(rates.model)}
    for name in names:
        priced = pricing.rates(name)
        if priced is not None and plain_name(name) not in known and len(found) < MOST_OFFERED:
            known.add(plain_name(name))
            found[name] = priced.output
    return tuple(sorted(found, key=lambda name: -found[name]))


def _siblings(model: str, names: Sequence[str]) -> Iterator[str]:
    """Of every other kind of the family the name whose version is nearest, of the same major version."""
    mine = _kind_and_version(model)
    nearest: dict[tuple[str, ...], tuple[float, str]] = {}
    for name in names:
        kind, version = _kind_and_version(plain_name(name))
        if version is None or mine[1] is None or kind == mine[0] or kind[0] != mine[0][0] or version[0] != mine[1][0]:
            continue
        if not _NOT_FOR_CONVERSATIONS.intersection(kind):
            far = abs(version[1] - mine[1][1])
            nearest[kind] = min(nearest.get(kind, (far, name)), (far, name))
    for _, name in nearest.values():
        yield name


def _kind_and_version(name: str) -> tuple[tuple[str, ...], tuple[int, int] | None]:
    """The words of a name, `preview` left out, and its version: `(claude, opus)` and (4, 8)."""
    found = _VERSION.search(name)
    words = tuple(word for word in re.findall(r"[a-z]+", name) if word != "preview")
    return words or ("",), (int(found[1]), int(found[2] or 0)) if found else None
