"""Project the cost with a prompt-cache lifetime of one hour instead of five minutes, or the reverse.

A longer lifetime makes every write more expensive and turns misses after the pauses it covers into reads. A shorter one
makes writes cheaper and turns reads after pauses it does not cover into writes. Reads after such pauses succeed with
the observed or typical probability for that lifetime, and the result is an expected value. Everything else is
unchanged: prompts, responses, and all other misses.
"""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING, Annotated

import numpy as np

from inspector.replay.analysis.cache_misses import FIVE_MINUTES, HOUR, is_miss, readable_tokens
from inspector.replay.cache.cache_models import CACHE_MODELS
from inspector.replay.cache.miss_causes import MissCause
from inspector.replay.cache.prompt_usage import PromptUsage
from inspector.replay.figure import Figure, HowKnown
from inspector.replay.quantity import Known, Result, Unit, about, figure

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from inspector.replay.analysis.cache_misses import CacheMisses


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
"""Figures of another cache lifetime, for one session and for many."""


class LifetimeChange(Result, frozen=True, kw_only=True):
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
    """Project the session with the other lifetime: one hour if most writes were for five minutes, and vice versa.

    Returns None if the provider offers no such choice, or nothing was written.

    Args:
        found: The misses of the session.
        counted: Calls to include, bool; all by default.
    """
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
