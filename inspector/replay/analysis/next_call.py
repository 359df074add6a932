"""What the next call would cost: while the cache is warm, once it is cold, after starting afresh or compacting first.

All of it is projected from the last call of the main conversation: the next prompt as it stands, without what the user
will add, and without the response. A model switch is priced the same way, at the call it would have been made.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING

import numpy as np

from inspector.replay.analysis.miss_evidence import lifetimes
from inspector.replay.cache.cache_models import cache_model_for
from inspector.replay.figure import Figure, HowKnown
from inspector.replay.pricing.rates import RateColumn
from inspector.session.model import ContextCause

if TYPE_CHECKING:
    from inspector.replay.engine.replay import Replay
    from inspector.replay.pricing.rates import RateRow

SUMMARY_TOKENS = 2_000
"""A summary's length where the session has no compaction to take it from."""


@dataclass(frozen=True, slots=True)
class NextCallCost:
    """The next prompt, priced several ways; all projected, dollars None without a price.

    Attributes:
        prompt_tokens: Tokens of the prompt.
        cached_tokens: Of these, what the cache holds while it is warm.
        lifetime: Seconds the cache is kept after a call.
        expires_at: When it goes cold, seconds since the epoch; None where the last call has no time.
        warm_usd: The prompt while the cache is warm.
        cold_usd: The prompt once it is cold.
        fresh_tokens: What a new conversation's first prompt would be.
        fresh_usd: That prompt, nothing cached.
        compacted_tokens: What the prompt would be after a compaction.
        compact_first_usd: A cold prompt that asks for a summary, the summary, and the prompt after it.
        compact_pays_after: Calls after which that costs less than going on as it is; None where it never does.
    """

    prompt_tokens: int
    cached_tokens: int
    lifetime: float
    expires_at: float | None
    warm_usd: Figure
    cold_usd: Figure
    fresh_tokens: int
    fresh_usd: Figure
    compacted_tokens: int
    compact_first_usd: Figure
    compact_pays_after: int | None

    def seconds_left(self, now: float) -> float | None:
        """Seconds until the cache goes cold, 0 once it has; None where that is not known."""
        return None if self.expires_at is None else max(self.expires_at - now, 0.0)


def next_call_cost(replay: Replay) -> NextCallCost | None:
    """The session's next prompt, priced; None where there was no call, or no cache keeps anything."""
    inputs, ledger, session = replay.inputs, replay.ledger, replay.history.session
    last = _last_of_main(replay)
    if last < 0:
        return None
    lifetime = float(lifetimes(replay)[last])
    held = int(ledger.prompt_tokens[last] - (ledger.uncached[last] if inputs.caches.writes[last] else 0))
    if lifetime <= 0 or held < inputs.caches.minimum_prefix[last]:
        return None
    removed = int(np.rint(inputs.sizes.ratio[-1] * (replay.prompt_edits.removed[-1] - inputs.recorded_removed[-1])))
    prompt = max(round(float(inputs.sizes.whole[-1])) - removed, 0)
    cached = min(held, prompt)
    fresh = int(ledger.prompt_tokens[_first_of_main(replay)])
    compacted = _compacted_tokens(replay, fresh)
    read, other, output = _rates_at(replay, last, prompt)
    summary = max(compacted - fresh, 0) or SUMMARY_TOKENS
    compact_first = prompt * other + summary * output + compacted * other
    more, less_each = compact_first - prompt * other, (prompt - compacted) * read
    pays = ceil(more / less_each) if less_each > 0 and not np.isnan(more) else None
    time = session.calls[last].time
    return NextCallCost(
        prompt_tokens=prompt,
        cached_tokens=cached,
        lifetime=lifetime,
        expires_at=None if time is None else time + lifetime,
        warm_usd=_projected(cached * read + (prompt - cached) * other),
        cold_usd=_projected(prompt * other),
        fresh_tokens=fresh,
        fresh_usd=_projected(fresh * other),
        compacted_tokens=compacted,
        compact_first_usd=_projected(compact_first),
        compact_pays_after=pays,
    )


@dataclass(frozen=True, slots=True)
class ModelSwitch:
    """A session whose main conversation had gone to another model from some call on; all projected.

    Attributes:
        call: The first call of the other model.
        model: Its name.
        recache_tokens: Tokens of that call's prompt, none of which the other model's cache holds.
        recache_usd: What writing them costs beyond reading them from that cache.
        recorded_usd: What the calls from there on cost as they were.
        usd: What they would have cost.
    """

    call: int
    model: str
    recache_tokens: int
    recache_usd: Figure
    recorded_usd: Figure
    usd: Figure


def model_switch(replay: Replay, call: int, model: str) -> ModelSwitch | None:
    """What switching the main conversation to another model at a call would have come to.

    Prompts and responses keep their tokens, and every later call reads and writes as it did. None where the call is
    not the main conversation's, or the model has no price.

    Args:
        replay: The session.
        call: The first call of the other model.
        model: Its name.
    """
    inputs, ledger, session = replay.inputs, replay.ledger, replay.history.session
    rates = inputs.pricing.rates(model, session.calls[call].time)
    mine = [at for at in _main_calls(replay) if at >= call]
    if rates is None or not mine or mine[0] != call:
        return None
    writes = cache_model_for(model, rates=rates).writes

    def cost(at: int, read: int) -> float:
        row: RateRow = rates.at(float(ledger.prompt_tokens[at]))
        unread = int(ledger.prompt_tokens[at]) - read
        dollars = read * row.cache_read + unread * (row.cache_write_5m if writes else row.input)
        return (dollars + int(ledger.output[at]) * row.output) / 1e6 * inputs.rates.factor

    prompt = int(ledger.prompt_tokens[call])
    usd = cost(call, 0) + sum(cost(at, int(ledger.cache_read[at])) for at in mine[1:])
    return ModelSwitch(
        call=call,
        model=model,
        recache_tokens=prompt,
        recache_usd=_projected(cost(call, 0) - cost(call, prompt)),
        recorded_usd=Figure.of(float(ledger.cost[mine].sum()), replay.figures.cost_usd.known),
        usd=_projected(usd),
    )


def _main_calls(replay: Replay) -> list[int]:
    """The calls of the main conversation, in order."""
    layout = replay.inputs.layout
    count = replay.history.call_count
    return sorted(int(at) for each in layout.contexts if each.thread == 0 for at in each.calls if at < count)


def _last_of_main(replay: Replay) -> int:
    return max(_main_calls(replay), default=-1)


def _first_of_main(replay: Replay) -> int:
    return min(_main_calls(replay), default=-1)


def _compacted_tokens(replay: Replay, fresh: int) -> int:
    """Tokens of a prompt after a compaction: the median of those there were, else a new start and a summary."""
    session, layout = replay.history.session, replay.inputs.layout
    count = replay.history.call_count
    after = [
        int(replay.ledger.prompt_tokens[int(each.calls[0])])
        for context, each in zip(session.contexts, layout.contexts, strict=True)
        if context.cause is ContextCause.COMPACTION and len(each.calls) and int(each.calls[0]) < count
    ]
    return int(np.median(after)) if after else fresh + SUMMARY_TOKENS


def _rates_at(replay: Replay, call: int, prompt: int) -> tuple[float, float, float]:
    """Dollars of a token read, of one neither read nor held, and of one answered, for a prompt like the given one."""
    inputs, ledger = replay.inputs, replay.ledger
    prompts = ledger.prompt_tokens.copy()
    prompts[call] = prompt
    row = inputs.rates.of_prompts(prompts)[call]
    if not inputs.caches.writes[call]:
        other = row[RateColumn.UNCACHED]
    else:
        share = inputs.recorded.one_hour_share[call]
        hour = float(inputs.caches.writes_one_hour[call]) if np.isnan(share) else float(share)
        other = (1 - hour) * row[RateColumn.CACHE_WRITE_5M] + hour * row[RateColumn.CACHE_WRITE_1H]
    return float(row[RateColumn.CACHE_READ]), float(other), float(row[RateColumn.OUTPUT])


def _projected(dollars: float) -> Figure:
    return Figure.of(dollars, HowKnown.PROJECTED)
