"""Results of a plan on a session: every total shown in a report or on a screen, with its confidence.

They are computed only here; reports and screens just format them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np

from inspector.replay.cache.prompt_usage import CacheRewriteCosts, price_cache_rewrites
from inspector.replay.figure import Figure, HowKnown, lowest_confidence
from inspector.replay.quantity import FigureResult, Known, Unit, figure

if TYPE_CHECKING:
    from inspector.replay.engine.ledger import Figures, Ledger
    from inspector.replay.engine.replay import Replay


NOTHING = 1e-9
"""Dollars below which a difference is rounding."""


@dataclass(frozen=True, slots=True)
class Savings:
    """Savings of a plan; negative if it costs more.

    Attributes:
        tokens: Prompt tokens.
        usd: Dollars, including cache misses; None without a price.
        share: Savings as a share of the quantity in `share_of`, 0.25 for a quarter.
        share_of: The cost, or the prompt tokens if there is no price.
    """

    tokens: Figure
    usd: Figure
    share: Figure
    share_of: Literal["cost_usd", "prompt_tokens"]


def savings_of(baseline: Figures, planned: Figures) -> Savings:
    tokens = _difference(baseline.prompt_tokens, planned.prompt_tokens)
    usd = _difference(baseline.cost_usd, planned.cost_usd)
    if planned.cost_usd.known is not HowKnown.PROJECTED:
        # Responses cost the same with and without the plan, so savings have the confidence of the prompts.
        usd = Figure(usd.value, tokens.known)
    if usd.value is None:
        return Savings(tokens, usd, _share(tokens, baseline.prompt_tokens), "prompt_tokens")
    return Savings(tokens, usd, _share(usd, baseline.cost_usd), "cost_usd")


def break_even_call(baseline: Ledger, planned: Ledger) -> int | None:
    """Return the first call, from 1, after which the plan's cumulative cost stays lower; None if none, or unpriced."""
    ahead = np.cumsum(baseline.cost - planned.cost) > NOTHING
    if not len(ahead) or not ahead[-1]:
        return None
    behind = np.flatnonzero(~ahead)
    return int(behind[-1]) + 2 if len(behind) else 1


def _share(part: Figure, whole: Figure) -> Figure:
    return Figure(None if part.value is None or not whole.value else part.value / whole.value, part.known)


def _difference(before: Figure, after: Figure) -> Figure:
    known = lowest_confidence(before.known, after.known)
    return Figure(None if before.value is None or after.value is None else before.value - after.value, known)


class CacheEffects(FigureResult, frozen=True, kw_only=True):
    """Effects of a plan on the prompt cache."""

    cache_read_share: Annotated[
        float | None,
        figure(
            "cache reads, share of prompts",
            Unit.SHARE,
            "Prompt tokens read from the cache, as a share of all prompt tokens.",
            part_of="cache_read_tokens",
            as_part="share of prompts",
        ),
    ]
    plan_breaks: Annotated[
        int | None,
        figure(
            "prompts changed by the plan",
            Unit.CALLS,
            "Calls with a prompt that the plan changes before its end, so that the cache is not read from there on.",
            explained="breaks",
        ),
    ]
    resent_tokens: Annotated[
        int | None,
        figure(
            "tokens rewritten",
            Unit.TOKENS,
            "Cached tokens that had to be sent as new ones because of the change.",
            part_of="plan_breaks",
        ),
    ]
    rebuild_usd: Annotated[
        float | None,
        figure(
            "cost of rewrites",
            Unit.DOLLARS,
            "Dollars of these tokens, at the price of new ones.",
            part_of="plan_breaks",
        ),
    ]
    break_usd: Annotated[
        float | None,
        figure(
            "cost of changes",
            Unit.DOLLARS,
            "The part of it above the price of cache reads.",
            part_of="plan_breaks",
        ),
    ]
    known: Known


@dataclass(frozen=True, eq=False)
class PlanOutcome:
    """One plan on one session, compared with the session with nothing cut.

    Attributes:
        figures: Totals under the plan: tokens sent, the largest prompt, cache use, cost.
        cache: Its effects on the prompt cache.
        savings: Tokens and dollars saved; negative if the plan costs more.
        break_even_call: First call, counted from 1, after which its cumulative cost stays lower; None if there is none
            in this session, or without a price.
    """

    figures: Figures
    cache: CacheEffects
    savings: Savings
    break_even_call: Figure


def plan_outcome(baseline: Replay, planned: Replay) -> PlanOutcome:
    """Compute the totals of a replay."""
    figures, recaching = planned.figures, cache_rewrite_costs(planned)
    tokens, savings = figures.prompt_tokens.known, savings_of(baseline.figures, figures)
    cache = CacheEffects.of(
        cache_read_share=cache_read_share(figures),
        plan_breaks=Figure(int((planned.ledger.is_break & ~baseline.ledger.is_break).sum()), tokens),
        resent_tokens=Figure(int(recaching.resent.sum()), tokens),
        rebuild_usd=Figure.of(float(recaching.rebuild_cost.sum()), tokens),
        break_usd=Figure.of(float(recaching.extra_cost.sum()), tokens),
    )
    call = Figure(break_even_call(baseline.ledger, planned.ledger), savings.usd.known)
    return PlanOutcome(figures, cache, savings, call)


def cache_rewrite_costs(replay: Replay) -> CacheRewriteCosts:
    ledger, calls = replay.ledger, replay.invalidated_calls
    rates = replay.inputs.rates.of_prompts(ledger.prompt_tokens)
    return price_cache_rewrites(ledger, replay.usage_without_edits, calls, rates)


def cache_read_share(figures: Figures) -> Figure:
    """Return prompt tokens read from the cache, as a share of all prompt tokens; None if nothing was sent."""
    read, prompts = figures.cache_read_tokens, figures.prompt_tokens
    share = None if read.value is None or not prompts.value else read.value / prompts.value
    return Figure(share, lowest_confidence(read.known, prompts.known))
