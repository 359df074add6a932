"""Price a session as if another model had answered every call.

Prompts, responses and the calibration stay as they are; rates, minimum prefix and cache rules are the other model's. A
provider with the same kind of cache reads what was recorded, including misses. Another provider's cache is simulated by
its own rules and the typical chance that a read succeeds. Rates are today's, because the session did not run there.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from inspector.replay.cache.cache_models import CacheColumns, cache_model_for, recorded_cache
from inspector.replay.cache.prompt_usage import PromptUsage
from inspector.replay.engine.prompt_edits import PromptEdits
from inspector.replay.engine.recorded_calls import recorded_calls
from inspector.tokens.model_names import parse_model_name

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from inspector.replay.cache.cache_models import CacheModel
    from inspector.replay.engine.inputs import ReplayInputs


def as_other_model(inputs: ReplayInputs, model: str) -> ReplayInputs:
    """Return the inputs of a session with every call priced as another model.

    The same model under another name, such as a provider's route, keeps the recorded usage and the day of each call.
    So do calls that name no model.

    Args:
        inputs: The session at its recorded models.
        model: Name of the other model.
    """
    pricing = inputs.pricing if inputs.pricing.model == model else inputs.pricing.as_model(model)
    facts, rates = recorded_calls(inputs.history), pricing.rates(model)
    other = np.array([_is_other(name, model) for name in facts.models.names], dtype=np.bool_)[facts.models.code]
    times = np.where(other, np.nan, inputs.history.call_time[:-1])
    priced = replace(inputs, pricing=pricing, rates=pricing.call_rates(facts.models, times, facts.terms))
    if rates is None or not other.any():
        return priced
    caches: dict[str, CacheModel] = {}
    is_alike = np.ones(len(facts.models.names), dtype=np.bool_)
    for number, name in enumerate(facts.models.names):
        caches[name] = recorded = inputs.cache_models[name]
        if _is_other(name, model):
            caches[name] = cache_model_for(model, rates=rates, named=inputs.cache)
            is_alike[number] = _kind(recorded) == _kind(caches[name])
        if _is_other(name, model) and is_alike[number] and inputs.cache is None:
            usage = inputs.recorded.rows(np.flatnonzero(facts.models.code == number))
            shown = recorded_cache(caches[name], usage)
            # A session shows that a gateway counts no writes only if its own provider would have counted them.
            counts = cache_model_for(name).writes
            caches[name] = shown if counts else replace(shown, writes=caches[name].writes, title=caches[name].title)
    columns = CacheColumns.of([caches[name] for name in facts.models.names]).rows(facts.models.code)
    kept = is_alike[facts.models.code]
    anchored = inputs.anchored & kept
    cached = inputs.cached_blocks.copy()
    cached[:-1] = np.where(kept, cached[:-1], inputs.layout.previous_blocks[:-1])
    return replace(
        priced,
        other_model=model,
        recorded=_served(inputs, columns, kept, other & anchored),
        anchored=anchored,
        cached_blocks=cached,
        recorded_reusable=PromptEdits.of(inputs.layout, inputs.recorded_edits).reusable(cached),
        same_model=inputs.same_model | (inputs.previous_call >= 0),
        caches=columns,
        cache_models=caches,
    )


def _served(
    inputs: ReplayInputs, caches: CacheColumns, kept: NDArray[np.bool_], other: NDArray[np.bool_]
) -> PromptUsage:
    """Return the recorded usage as the other model's provider would report it.

    Prompts and reads below its minimum prefix are not cached. A provider that counts writes writes everything unread,
    except what was recorded as neither read nor written.
    """
    recorded, none = inputs.recorded, np.zeros(len(other), dtype=np.int64)
    prompt, is_cached = recorded.prompt, recorded.prompt >= caches.minimum_prefix
    read = np.where(is_cached & (recorded.cache_read >= caches.minimum_prefix), recorded.cache_read, 0)
    plain = np.where(inputs.caches.writes, recorded.uncached, 0)
    written = np.where(is_cached & caches.writes, np.maximum(prompt - read - plain, 0), 0)
    share = np.nan_to_num(recorded.one_hour_share, nan=0.0)
    for_hour = np.rint(written * share).astype(np.int64)
    served = PromptUsage(prompt - read - written, read, written - for_hour, for_hour)
    unread = PromptUsage(prompt, none, none, none)
    return served.where(other, recorded.where(kept, unread))


def _is_other(recorded: str, model: str) -> bool:
    """Return True if a call named a model other than the given one."""
    names = [parse_model_name(name).name.replace(".", "-") for name in (recorded, model)]
    return bool(names[0]) and names[0] != names[1]


def _kind(cache: CacheModel) -> str:
    """Return the provider's kind of cache: `anthropic` for `anthropic-1h`."""
    return cache.name.partition("-")[0]
