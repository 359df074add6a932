"""Project the cost if the main conversation had switched to another model at some call.

Prompts and responses keep their token counts. The first call of the other model finds an empty cache; every later one
reads as recorded. After recorded switches that follow, and if there was no cache, the read is an expected value: the
readable tokens times the observed or typical hit rate after such a pause.
"""

from __future__ import annotations

import re
from math import isnan
from typing import TYPE_CHECKING, Annotated

import numpy as np

from inspector.replay.analysis.cache_misses import caches_at_all, is_miss, lifetimes, readable_tokens
from inspector.replay.cache.cache_models import cache_model_for
from inspector.replay.cache.miss_causes import MissCause
from inspector.replay.cache.prompt_usage import PromptUsage
from inspector.replay.figure import Figure, HowKnown
from inspector.replay.pricing.bundled_prices import models_of_provider
from inspector.replay.quantity import Count, Known, Result, Unit, about, figure
from inspector.tokens.model_names import Categorical, parse_model_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from inspector.replay.analysis.cache_misses import CacheMisses, Evidence
    from inspector.replay.engine.replay import Replay


class ModelSwitch(Result, frozen=True, kw_only=True):
    """Projected cost of the main conversation on another model from some call on."""

    model: Annotated[str, about("The other model.")]
    call: Annotated[Count, figure("first call", Unit.CALL, "First call on the other model, counted from 1.")]
    calls: Annotated[Count, figure("calls", Unit.CALLS, "Calls on the other model.")]
    recorded_usd: Annotated[float | None, figure("recorded cost", Unit.DOLLARS, "Cost of these calls as recorded.")]
    usd: Annotated[float | None, figure("with the other model", Unit.DOLLARS, "Projected cost on the other model.")]
    saved_usd: Annotated[
        float | None, figure("saved", Unit.DOLLARS, "Difference; negative if the other model costs more.", saves=True)
    ]
    recache_tokens: Annotated[
        int | None,
        figure(
            "tokens rewritten",
            Unit.TOKENS,
            "Tokens that the first call read from the cache, which the other model's cache would not have held.",
        ),
    ]
    recache_usd: Annotated[
        float | None, figure("extra cost", Unit.DOLLARS, "Cost of sending them above the price of cache reads.")
    ]
    pays_after: Annotated[
        int | None,
        figure(
            "pays off after",
            Unit.CALLS,
            "Calls after which the switch has cost less for the rest of the session; null if never.",
        ),
    ]
    window: Annotated[int | None, about("Context window of the other model in tokens; null if unknown.")]
    beyond_window: Annotated[Count, figure("prompts beyond its window", Unit.CALLS, "Prompts that exceed it.")]
    known: Known


def model_switch(found: CacheMisses, call: int, model: str) -> ModelSwitch | None:
    """Project a switch of the main conversation to another model at a call.

    Returns None if the call is not in the main conversation, or the model has no price.

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
    # Other models in between did not end this model's entry, but with one model, the newest prompt could be read.
    could = readable_tokens(replay, mine, after=inputs.previous_call)
    newer = (inputs.previous_call != inputs.entry_call)[mine] & is_miss(could, recorded.cache_read)
    lasting = lifetimes(replay)[inputs.previous_call[mine]]
    newer &= ~((lasting > 0) & (lasting < gaps))
    read = np.where(newer, np.maximum(read, np.rint(chance * could).astype(np.int64)), read)
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
    cost = float(ledger.cost[mine].sum())
    return ModelSwitch.of(
        model=model,
        call=call + 1,
        calls=Figure(len(mine), HowKnown.EXACT),
        recorded_usd=Figure.of(cost, replay.figures.cost_usd.known),
        usd=_projected(float(costs.sum())),
        saved_usd=_projected(cost - float(costs.sum())),
        recache_tokens=Figure(lost, HowKnown.PROJECTED),
        recache_usd=_projected(lost * (each - float(row[1]))),
        pays_after=Figure(pays if pays <= len(mine) and not isnan(cost) else None, HowKnown.PROJECTED),
        window=window,
        beyond_window=Figure(int((prompt > window).sum()) if window else 0, HowKnown.PROJECTED),
    )


def main_calls(replay: Replay) -> NDArray[np.int64]:
    """Return the calls of the main conversation, ascending."""
    count = replay.history.call_count
    threads = [context.calls for context in replay.inputs.layout.contexts if context.thread == 0]
    calls = np.sort(np.concatenate([np.zeros(0, dtype=np.int64), *threads]).astype(np.int64))
    return calls[calls < count]


def _written(
    unread: NDArray[np.int64], read: NDArray[np.int64], recorded: PromptUsage, *, is_counted: NDArray[np.bool_]
) -> PromptUsage:
    """Return prompts with unread tokens written to the cache, at the recorded lifetime.

    Tokens that were uncached stay uncached if writes were counted.
    """
    written = recorded.cache_write
    uncached = np.where(is_counted, np.minimum(recorded.uncached, unread), 0)
    share = np.where(written > 0, recorded.cache_write_1h / np.maximum(written, 1), recorded.cache_write_1h.any())
    for_hour = np.rint((unread - uncached) * share).astype(np.int64)
    return PromptUsage(uncached, read, unread - uncached - for_hour, for_hour)


def _is_in_time(shown: Evidence) -> bool:
    """Return True if a call came within the previous cache's lifetime, so only the other model explains its miss."""
    return shown.gap_seconds is None or not 0 < shown.lifetime < shown.gap_seconds


def _is_same(one: str, other: str) -> bool:
    return bool(one) and plain_name(one) == plain_name(other)


def plain_name(model: str) -> str:
    """Return a model's name in normal form: `claude-opus-4-8` for `anthropic/claude-opus-4.8`."""
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
"""Words in names of models that agents do not use."""

_VERSION = re.compile(r"(?<![a-z\d])(\d{1,2})(?:[-.](\d{1,2}))?(?!\d)")


def other_models(replay: Replay) -> tuple[str, ...]:
    """Return models to switch a session to: its own, then the closest ones in the family of its main model.

    Each kind of the family appears once: for `claude-opus-4-8`, the Sonnet and the Haiku with the closest versions.
    Most expensive first, at most `MOST_OFFERED`.
    """
    session, pricing = replay.history.session, replay.inputs.pricing
    newest = session.main_model
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
    """Yield the closest version of every other kind of the family, with the same major version."""
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
    """Return the words of a name without `preview`, and its version: `(claude, opus)` and (4, 8)."""
    found = _VERSION.search(name)
    words = tuple(word for word in re.findall(r"[a-z]+", name) if word != "preview")
    return words or ("",), (int(found[1]), int(found[2] or 0)) if found else None
