"""Cost of the next call: with a warm cache, with a cold one, in a new conversation, or after a compaction.

All figures are projected from the last call of the main conversation: the current next prompt, without the user's next
message and without the response. The hit rate of a warm cache and the tokens left in a cold one are observed in the
session, blended with typical values.

Project the cost with a prompt-cache lifetime of one hour instead of five minutes, or the reverse.

A longer lifetime makes every write more expensive and turns misses after the pauses it covers into reads. A shorter one
makes writes cheaper and turns reads after pauses it does not cover into writes. Reads after such pauses succeed with
the observed or typical probability for that lifetime, and the result is an expected value. Everything else is
unchanged: prompts, responses, and all other misses.

Project the cost if the main conversation had switched to another model at some call.

Prompts and responses keep their token counts. The first call of the other model finds an empty cache; every later one
reads as recorded. After recorded switches that follow, and if there was no cache, the read is an expected value: the
readable tokens times the observed or typical hit rate after such a pause.

Idle compaction of Claude Code: it compacts a large session that waits for its user, while the cache is still warm.

On by default since version 2.1.299: about 54 minutes (90 % of an hour) after the last reply, if the prompt has 200,000
tokens or more. `"idleCompaction": false` in the settings turns it off, `CLAUDE_CODE_IDLE_COMPACT_MIN_TOKENS` in the
environment changes the size. Source: changelog of Claude Code 2.1.286 and 2.1.299.

Price a plan under the cache breakpoints that different agents set.

An edit costs more where requests set fewer breakpoints (`agent_breakpoints`). If they change a plan's cost by more than
a tenth, the cost is shown with its range.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from math import ceil, isnan
from typing import TYPE_CHECKING, Annotated, Final, NamedTuple

import numpy as np
from msgspec import field

from inspector.replay.analysis.cache_misses import (
    FIVE_MINUTES,
    HOUR,
    caches_at_all,
    is_miss,
    lifetimes,
    readable_tokens,
)
from inspector.replay.cache.agent_breakpoints import LEAST, MOST, RULES, AgentRule
from inspector.replay.cache.cache_models import CACHE_MODELS, cache_model_for
from inspector.replay.cache.miss_causes import MissCause
from inspector.replay.cache.prompt_usage import PromptUsage
from inspector.replay.engine.replay import Replay, replay
from inspector.replay.figure import Figure, HowKnown
from inspector.replay.pricing.context_window import (
    AFTER_SECONDS,
    AGENT,
    FIRST_VERSION,
    MIN_TOKENS,
    SLACK_SECONDS,
    SUMMARY_TOKENS,
    agent_version,
)
from inspector.replay.pricing.price_tables import models_of_provider
from inspector.replay.pricing.rates import RateColumn
from inspector.replay.quantity import Count, FigureResult, How, Known, Unit, about, figure, utc_time
from inspector.session.model import ContextCause, Session
from inspector.tokens.model_names import Categorical, parse_model_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from inspector.replay.analysis.cache_misses import CacheMisses, Evidence


class ModelSwitch(FigureResult, frozen=True, kw_only=True):
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
    """Project a switch of the main conversation at a call of it to another model; None if it has no price."""
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
    """Return prompts with unread tokens written at the recorded lifetime; uncached ones stay if writes were counted."""
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


class IdleRule(NamedTuple):
    """Conditions for compacting an idle session: smallest prompt in tokens, and seconds since the last reply."""

    min_tokens: int = MIN_TOKENS
    after_seconds: float = AFTER_SECONDS


def is_idle_compaction(session: Session, compaction: int) -> bool:
    """Return True if a recorded compaction was not requested and began 49 minutes or more after the last reply."""
    each = session.compactions[compaction]
    if session.format != AGENT or each.is_partial or each.trigger == "manual" or each.time is None:
        return False
    before = (message.time for message in reversed(session.messages[: each.message]) if message.time is not None)
    last = next((time for time in before if time < each.time), None)
    return last is not None and each.time - last >= AFTER_SECONDS - SLACK_SECONDS


def idle_rule(replay: Replay) -> IdleRule | None:
    """Return a session's rule for idle compaction, None without. A long pause at a sufficient size shows it is off."""
    session = replay.history.session
    if session.format != AGENT or agent_version(session.agent) < FIRST_VERSION:
        return None
    sizes = [
        each.tokens_before
        for index, each in enumerate(session.compactions)
        if each.tokens_before and is_idle_compaction(session, index)
    ]
    rule = IdleRule(min(MIN_TOKENS, *sizes)) if sizes else IdleRule()
    if not has_hour_cache(replay) or (not sizes and bool(idle_calls(replay, rule).any())):
        return None
    return rule


def has_hour_cache(replay: Replay) -> bool:
    """Return True if the main conversation's cache lives for an hour, so that it is warm after 54 minutes."""
    main = main_calls(replay)
    return bool(len(main)) and float(lifetimes(replay)[int(main[-1])]) >= HOUR


def idle_calls(replay: Replay, rule: IdleRule) -> NDArray[np.bool_]:
    """Return True per call if the prompt before it was large enough and the pause long enough for a compaction."""
    inputs = replay.inputs
    previous = inputs.previous_call[: replay.history.call_count]
    sizes = np.where(previous >= 0, replay.ledger.prompt_tokens[previous], 0)
    found: NDArray[np.bool_] = (sizes >= rule.min_tokens) & (inputs.gap_seconds >= rule.after_seconds)
    return found


class NextCallCost(FigureResult, frozen=True, kw_only=True):
    """Projected cost of the main conversation's next prompt, in several cases, without the text to be added."""

    prompt_tokens: Annotated[int | None, figure("next prompt", Unit.TOKENS, "Tokens of the prompt.")]
    cached_tokens: Annotated[int | None, figure("cached", Unit.TOKENS, "The part of it that a warm cache holds.")]
    lifetime_seconds: Annotated[float, about("Cache lifetime after a call, in seconds.")]
    expires: Annotated[str, about("Time the cache goes cold, ISO 8601 in UTC; empty if the last call has no time.")]
    warm_usd: Annotated[float | None, figure("warm", Unit.DOLLARS, "Cost of the prompt with a warm cache.")]
    warm_chance: Annotated[
        float | None,
        figure("hit rate", Unit.SHARE, "Share of calls within five minutes that read the cache, 0 to 1."),
    ]
    cold_usd: Annotated[float | None, figure("cold", Unit.DOLLARS, "Cost of the prompt with a cold cache.")]
    fresh_tokens: Annotated[int | None, figure("new conversation", Unit.TOKENS, "First prompt of a new conversation.")]
    fresh_usd: Annotated[float | None, figure("new conversation", Unit.DOLLARS, "Cost of that prompt without a cache.")]
    compacted_tokens: Annotated[int | None, figure("compacted prompt", Unit.TOKENS, "Prompt after a compaction.")]
    compact_first_usd: Annotated[
        float | None,
        figure(
            "compact first",
            Unit.DOLLARS,
            "Cost of a cold summary request, the summary, and the compacted prompt.",
        ),
    ]
    compact_pays_after: Annotated[
        int | None, figure("pays off after", Unit.CALLS, "Calls after which compacting first has cost less.")
    ]
    idle_at: Annotated[
        str, about("Time at which the agent compacts the idle session, ISO 8601 in UTC; empty if it does not.")
    ] = ""
    idle_request_usd: Annotated[
        float | None, figure("idle compaction", Unit.DOLLARS, "Cost of that summary request; null if there is none.")
    ] = None
    idle_next_usd: Annotated[
        float | None, figure("after idle compaction", Unit.DOLLARS, "Cost of the next prompt after it.")
    ] = None
    known: Annotated[dict[str, How], about("Certainty of every non-null number above.")] = field(default_factory=dict)

    @property
    def expires_at(self) -> float | None:
        """Time the cache goes cold, in seconds since the epoch; None if the last call has no time."""
        return datetime.fromisoformat(self.expires).timestamp() if self.expires else None

    @property
    def after_pause(self) -> Figure:
        """Dollars of the next prompt after a pause longer than the cache's lifetime."""
        return self.figure("cold_usd" if self.idle_next_usd is None else "idle_next_usd")


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
    idle: dict[str, str | Figure] = {}
    if rule is not None and prompt >= rule.min_tokens:
        request = cached * read + (prompt - cached) * other + summary * output
        idle = {
            "idle_at": utc_time(None if time is None else time + rule.after_seconds),
            "idle_request_usd": _projected(request),
            "idle_next_usd": _projected(compacted * other),
        }
    return NextCallCost.of(
        prompt_tokens=_projected(prompt),
        cached_tokens=_projected(cached),
        lifetime_seconds=lifetime,
        expires=utc_time(None if time is None else time + lifetime),
        warm_usd=_projected(cached * read + (prompt - cached) * other),
        warm_chance=_projected(chance),
        cold_usd=_projected(cold),
        fresh_tokens=_projected(fresh),
        fresh_usd=_projected(fresh * other),
        compacted_tokens=_projected(compacted),
        compact_first_usd=_projected(compact_first),
        compact_pays_after=Figure(pays, HowKnown.PROJECTED),
        **idle,
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


WRITES_COST_MORE = figure(
    "writes cost more",
    Unit.DOLLARS,
    "Extra cost of cache writes; negative if lower.",
    opposite="writes cost less",
)
FEWER_MISSES = figure(
    "fewer misses",
    Unit.CALLS,
    "Avoided misses; negative if there are more.",
    opposite="more misses",
)
MISSES_COST_LESS = figure(
    "misses cost less",
    Unit.DOLLARS,
    "Extra cost of misses saved; negative if higher.",
    opposite="misses cost more",
)


class LifetimeChange(FigureResult, frozen=True, kw_only=True):
    """Projection: the session with a 1-hour cache in place of a 5-minute cache, or the reverse."""

    seconds: Annotated[int, about("Cache lifetime of everything in seconds: 300 or 3600.")]
    recorded_usd: Annotated[
        float | None, figure("recorded cost", Unit.DOLLARS, "Cost of the session's calls as recorded.")
    ]
    usd: Annotated[float | None, figure("with the other lifetime", Unit.DOLLARS, "Projected cost.")]
    saved_usd: Annotated[
        float | None,
        figure(
            "saved",
            Unit.DOLLARS,
            "Difference; negative if the other lifetime costs more.",
            saves=True,
            opposite="costs more",
        ),
    ]
    write_usd: Annotated[float | None, WRITES_COST_MORE]
    misses: Annotated[int | None, FEWER_MISSES]
    miss_usd: Annotated[float | None, MISSES_COST_LESS]
    break_even: Annotated[
        int | None,
        figure(
            "break-even pauses",
            Unit.COUNT,
            "Number of such pauses for equal cost of both lifetimes; null if unknown.",
        ),
    ]
    known: Known


def lifetime_change(found: CacheMisses, counted: NDArray[np.bool_] | None = None) -> LifetimeChange | None:
    """Project the session with the other lifetime of one hour or five minutes; None without a choice or writes."""
    replay = found.replay
    inputs, ledger = replay.inputs, replay.ledger
    # Only Anthropic offers two lifetimes at two prices.
    counts = np.ones(len(ledger.cost), dtype=np.bool_) if counted is None else counted
    mine = np.isin(inputs.caches.lifetime, (FIVE_MINUTES, HOUR)) & inputs.caches.writes & counts
    short, long = (np.where(mine, each, 0) for each in (ledger.cache_write_5m, ledger.cache_write_1h))
    if not (short.sum() or long.sum()):
        return None
    to_hour = bool(short.sum() >= long.sum())
    lifetime = HOUR if to_hour else FIVE_MINUTES
    odds = inputs.odds_of(CACHE_MODELS["anthropic-1h" if to_hour else "anthropic"])
    certain = np.full(len(ledger.cost), 1.0 if to_hour else 0.0)
    chance = certain if odds is None else odds.chance_after(inputs.entry_gap)
    could_read = readable_tokens(replay)
    read = ledger.cache_read
    if to_hour:
        moved = np.zeros(len(read), dtype=np.int64)
        for miss in found.all:
            gap = miss.evidence.gap_seconds
            if miss.cause is MissCause.TTL_EXPIRED_5M and gap is not None and gap <= HOUR and mine[miss.call]:
                moved[miss.call] = round(float(chance[miss.call]) * miss.tokens)
    else:
        paused = (inputs.entry_gap > FIVE_MINUTES) & (inputs.entry_gap <= HOUR)
        kept = mine & paused & inputs.same_model & ~inputs.restarts & (could_read > 0) & ~is_miss(could_read, read)
        moved = -np.rint(np.where(kept, (1 - chance) * read, 0)).astype(np.int64)
    written = ledger.cache_write
    from_writes = np.where(moved > 0, np.minimum(moved, written), moved)
    now_written = written - from_writes
    changed = PromptUsage(
        ledger.uncached - (moved - from_writes),
        read + moved,
        np.where(mine, 0 if to_hour else now_written, ledger.cache_write_5m),
        np.where(mine, now_written if to_hour else 0, ledger.cache_write_1h),
    )
    # Misses are priced with the short lifetime, at which they occur; the remaining difference is from writes.
    if to_hour:
        from_short = np.minimum(from_writes, ledger.cache_write_5m)
        between = PromptUsage(
            changed.uncached,
            changed.cache_read,
            ledger.cache_write_5m - from_short,
            ledger.cache_write_1h - (from_writes - from_short),
        )
    else:
        between = PromptUsage(
            ledger.uncached,
            read,
            np.where(mine, written, ledger.cache_write_5m),
            np.where(mine, 0, ledger.cache_write_1h),
        )
    costs = (float(inputs.rates.cost(usage).sum()) for usage in (_usage_of(found), between, changed))
    recorded, partly, then = costs
    miss_usd, write_usd = (recorded - partly, then - partly) if to_hour else (partly - then, partly - recorded)
    count = int((moved != 0).sum()) * (1 if to_hour else -1)
    per_miss = miss_usd / count if count else float("nan")
    break_even = ceil(abs(write_usd) / per_miss) if count and per_miss > 0 else None
    total = float(ledger.cost[counts].sum())
    return LifetimeChange.of(
        seconds=round(lifetime),
        recorded_usd=Figure.of(total, replay.figures.cost_usd.known),
        usd=Figure.of(total + then - recorded, HowKnown.PROJECTED),
        saved_usd=Figure.of(recorded - then, HowKnown.PROJECTED),
        write_usd=Figure.of(write_usd, HowKnown.PROJECTED),
        misses=Figure(count, HowKnown.PROJECTED),
        miss_usd=Figure.of(miss_usd, HowKnown.PROJECTED),
        break_even=Figure(break_even, HowKnown.PROJECTED),
    )


def _usage_of(found: CacheMisses) -> PromptUsage:
    ledger = found.replay.ledger
    return PromptUsage(ledger.uncached, ledger.cache_read, ledger.cache_write_5m, ledger.cache_write_1h)


RELEVANT: Final = 0.1
"""Smallest spread, as a share of the cost, for a note about breakpoints."""


class BreakpointPrice(FigureResult, frozen=True, kw_only=True):
    """Cost of a session under a plan with the cache breakpoints of one rule."""

    rule: Annotated[str, about("Name of the rule: `end`, `claude-code`, `cline` …")]
    label: Annotated[str, about("Display name of the rule.")]
    places: Annotated[str, about("Positions of the breakpoints, in a few words.")]
    is_assumed: Annotated[bool, about("True for the rule that all other figures assume.")]
    is_of_agent: Annotated[bool, about("True if it is the rule of the session's agent.")]
    usd: Annotated[float | None, figure("cost", Unit.DOLLARS, "Projected cost of the session.")]
    known: Known


@dataclass(frozen=True, slots=True)
class BreakpointPrices:
    """Cost of a plan by breakpoint rule.

    Attributes:
        assumed: The rule that its figures assume.
        is_known: True if that is the rule of the session's agent, False if the agent is unknown.
        prices: The assumed rule, one breakpoint at the end, and the known rule with the most breakpoints.
    """

    assumed: AgentRule
    is_known: bool
    prices: tuple[BreakpointPrice, ...]

    @property
    def low(self) -> float:
        return min(each.usd or 0.0 for each in self.prices)

    @property
    def high(self) -> float:
        return max(each.usd or 0.0 for each in self.prices)

    @property
    def is_relevant(self) -> bool:
        """True if the rules change the cost by more than a tenth."""
        return self.high - self.low > RELEVANT * (self.prices[0].usd or 0.0)


def breakpoint_prices(planned: Replay) -> BreakpointPrices | None:
    """Return the cost of a plan by rule; None without a price, or if no provider of the session uses breakpoints."""
    inputs = planned.inputs
    if inputs.breakpoints is None or planned.figures.cost_usd.value is None:
        return None
    assumed, is_known = inputs.breakpoint_rule, inputs.known_rule is not None

    def price(rule: AgentRule, usd: float) -> BreakpointPrice:
        return BreakpointPrice.of(
            rule=rule.name,
            label=rule.label,
            places=rule.about,
            is_assumed=rule == assumed,
            is_of_agent=rule == assumed and is_known,
            usd=Figure(usd, HowKnown.PROJECTED),
        )

    prices = [price(assumed, planned.figures.cost_usd.value)]
    for rule in dict.fromkeys((RULES["end"], LEAST, MOST)):
        if rule != assumed and (rule is not LEAST or inputs.known_rule is None):
            cost = replay(inputs.with_rule(rule), planned.plan).figures.cost_usd.value
            if cost is not None:
                prices.append(price(rule, cost))
    return BreakpointPrices(assumed, is_known, tuple(prices))
