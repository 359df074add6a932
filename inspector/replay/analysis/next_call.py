"""Cost of the next call: with a warm cache, with a cold one, in a new conversation, or after a compaction.

All figures are projected from the last call of the main conversation: the current next prompt, without the user's next
message and without the response. The hit rate of a warm cache and the tokens left in a cold one are observed in the
session, blended with typical values.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING

import numpy as np

from inspector.replay.analysis.cache_misses import FIVE_MINUTES, lifetimes
from inspector.replay.analysis.idle_compaction import idle_rule
from inspector.replay.analysis.model_switch import main_calls
from inspector.replay.figure import Figure, HowKnown
from inspector.replay.pricing.rates import RateColumn
from inspector.session.model import ContextCause

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from inspector.replay.engine.replay import Replay

SUMMARY_TOKENS = 2_000
"""Assumed length of a summary if the session has no compaction."""


@dataclass(frozen=True, slots=True)
class IdleCost:
    """Cost of leaving the session alone until its agent compacts it; all projected.

    Attributes:
        at: Time of the compaction, seconds since the epoch; None if the last call has no time.
        request_usd: The summary request: the prompt with a cache hit, and the summary.
        next_usd: The next call's prompt after it, nothing cached.
    """

    at: float | None
    request_usd: Figure
    next_usd: Figure


@dataclass(frozen=True, slots=True)
class NextCallCost:
    """The next prompt with several prices; all projected, dollars None without a price.

    Attributes:
        prompt_tokens: Tokens of the prompt.
        cached_tokens: The part in a warm cache.
        lifetime: Cache lifetime in seconds.
        expires_at: Time at which it goes cold, seconds since the epoch; None if the last call has no time.
        warm_usd: The prompt with a cache hit.
        warm_chance: Hit rate of a call within five minutes, 0 to 1.
        cold_usd: The prompt with a cold cache.
        fresh_tokens: Size of a new conversation's first prompt.
        fresh_usd: That prompt, nothing cached.
        compacted_tokens: Size of the prompt after a compaction.
        compact_first_usd: A cold prompt that requests a summary, the summary, and the prompt after it.
        compact_pays_after: Calls after which that is expected to be cheaper than continuing; None if it never is.
        idle: Cost after an idle compaction, which replaces `cold_usd`; None if the agent will make none.
    """

    prompt_tokens: int
    cached_tokens: int
    lifetime: float
    expires_at: float | None
    warm_usd: Figure
    warm_chance: float
    cold_usd: Figure
    fresh_tokens: int
    fresh_usd: Figure
    compacted_tokens: int
    compact_first_usd: Figure
    compact_pays_after: int | None
    idle: IdleCost | None = None

    @property
    def after_pause_usd(self) -> Figure:
        """The next prompt after a pause longer than the cache's lifetime."""
        return self.cold_usd if self.idle is None else self.idle.next_usd


def next_call_cost(replay: Replay) -> NextCallCost | None:
    """Price the session's next prompt for its main model; None if there was no call, or nothing is cached."""
    inputs, ledger, session = replay.inputs, replay.ledger, replay.history.session
    main = main_calls(replay)
    if not len(main):
        return None
    first, last = int(main[0]), _last_of_main_model(replay, main)
    lifetime = float(lifetimes(replay)[last])
    held = int(ledger.prompt_tokens[last] - (ledger.uncached[last] if inputs.caches.writes[last] else 0))
    if lifetime <= 0 or held < inputs.caches.minimum_prefix[last]:
        return None
    removed = int(np.rint(inputs.sizes.ratio[-1] * (replay.prompt_edits.removed[-1] - inputs.recorded_removed[-1])))
    prompt = max(round(float(inputs.sizes.whole[-1])) - removed, 0)
    cached = min(held, prompt)
    fresh = int(ledger.prompt_tokens[first])
    compacted = compacted_tokens(replay, fresh)
    read, other, output = _rates_at(replay, last, prompt)
    summary = max(compacted - fresh, 0) or SUMMARY_TOKENS
    odds = inputs.odds_of(inputs.cache_models[session.calls[last].model])
    chance = 1.0 if odds is None else float(odds.chance_after(np.array([FIVE_MINUTES]))[0])
    most = int(inputs.start_tokens[last]) if inputs.caches.writes[last] else prompt
    left = 0 if odds is None else min(round(odds.after_expiry * min(most, prompt)), prompt)
    cold = left * read + (prompt - left) * other
    each = chance * read + (1 - chance) * other
    compact_first = cold + summary * output + compacted * other
    more, less_each = compact_first - cold, (prompt - compacted) * each
    pays = ceil(more / less_each) if less_each > 0 and not np.isnan(more) else None
    time = session.calls[last].time
    rule = idle_rule(replay)
    idle = None
    if rule is not None and prompt >= rule.min_tokens:
        request = cached * read + (prompt - cached) * other + summary * output
        at = None if time is None else time + rule.after_seconds
        idle = IdleCost(at, _projected(request), _projected(compacted * other))
    return NextCallCost(
        prompt_tokens=prompt,
        cached_tokens=cached,
        lifetime=lifetime,
        expires_at=None if time is None else time + lifetime,
        warm_usd=_projected(cached * read + (prompt - cached) * other),
        warm_chance=chance,
        cold_usd=_projected(cold),
        fresh_tokens=fresh,
        fresh_usd=_projected(fresh * other),
        compacted_tokens=compacted,
        compact_first_usd=_projected(compact_first),
        compact_pays_after=pays,
        idle=idle,
    )


def compacted_tokens(replay: Replay, fresh: int) -> int:
    """Return the prompt size after a compaction: the median of recorded ones, otherwise a new start and a summary."""
    session, layout = replay.history.session, replay.inputs.layout
    count = replay.history.call_count
    after = [
        int(replay.ledger.prompt_tokens[int(each.calls[0])])
        for context, each in zip(session.contexts, layout.contexts, strict=True)
        if context.cause is ContextCause.COMPACTION and len(each.calls) and int(each.calls[0]) < count
    ]
    return int(np.median(after)) if after else fresh + SUMMARY_TOKENS


def _rates_at(replay: Replay, call: int, prompt: int) -> tuple[float, float, float]:
    """Return dollars per token that is read, not read, and output, for a prompt of the given size."""
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


def _last_of_main_model(replay: Replay, main: NDArray[np.int64]) -> int:
    session = replay.history.session
    mine = (call for call in reversed(main.tolist()) if session.calls[call].model == session.main_model)
    return next(mine, int(main[-1]))


def _projected(dollars: float) -> Figure:
    return Figure.of(dollars, HowKnown.PROJECTED)
