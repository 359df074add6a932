"""What comes of a plan on a session: every total a report or a screen shows of it, each with how it is known.

This is the one place where they are worked out; whoever shows them only writes them down.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from inspector.replay.cache.edit_recaching import RecachingCosts, price_recaching
from inspector.replay.figure import Figure, HowKnown, weakest

if TYPE_CHECKING:
    from inspector.replay.engine.ledger import Figures, Ledger
    from inspector.replay.engine.replay import Replay


NOTHING = 1e-9
"""Dollars below which a difference is rounding."""


@dataclass(frozen=True, slots=True)
class Savings:
    """What a plan saves; negative where it costs more.

    Attributes:
        tokens: Prompt tokens.
        usd: Dollars, cache misses included; None without a price.
        share: The saving as a share of what `share_of` names, 0.25 for a quarter.
        share_of: The cost, or the prompt tokens where there is no price.
    """

    tokens: Figure
    usd: Figure
    share: Figure
    share_of: Literal["cost_usd", "prompt_tokens"]


def savings_of(baseline: Figures, planned: Figures) -> Savings:
    """What `planned` saves against `baseline`."""
    tokens = _difference(baseline.prompt_tokens, planned.prompt_tokens)
    usd = _difference(baseline.cost_usd, planned.cost_usd)
    if planned.cost_usd.known is not HowKnown.PROJECTED:
        # Responses cost the same with and without the plan, so the saving is known as well as the prompts are.
        usd = Figure(usd.value, tokens.known)
    if usd.value is None:
        return Savings(tokens, usd, _share(tokens, baseline.prompt_tokens), "prompt_tokens")
    return Savings(tokens, usd, _share(usd, baseline.cost_usd), "cost_usd")


def break_even_call(baseline: Ledger, planned: Ledger) -> int | None:
    """The call, counted from 1, from which on the plan has cost less in all, to the end of the session.

    None where it never gets there, changes nothing, or has no price.
    """
    ahead = np.cumsum(baseline.cost - planned.cost) > NOTHING
    if not len(ahead) or not ahead[-1]:
        return None
    behind = np.flatnonzero(~ahead)
    return int(behind[-1]) + 2 if len(behind) else 1


def _share(part: Figure, whole: Figure) -> Figure:
    return Figure(None if part.value is None or not whole.value else part.value / whole.value, part.known)


def _difference(before: Figure, after: Figure) -> Figure:
    known = weakest(before.known, after.known)
    return Figure(None if before.value is None or after.value is None else before.value - after.value, known)


@dataclass(frozen=True, eq=False)
class PlanOutcome:
    """One plan on one session, beside the session with nothing cut.

    Attributes:
        figures: Totals under the plan: tokens sent, the largest prompt, cache use, cost.
        cache_read_share: Prompt tokens read from the cache, as a share of all; None where nothing is sent.
        breaks: Calls whose prompt the plan changes before its end. Few of them are cache misses where little stands
            behind the change.
        resent_tokens: Tokens that were cached and, because of those changes, re-cached.
        rebuild_usd: Dollars of re-caching them; None without a price.
        break_usd: Of these, what is more than reading them from the cache would have cost: the cost of changes.
        savings: Tokens and dollars saved; negative where the plan costs more.
        break_even_call: The call, counted from 1, from which on the plan has cost less in all; None where that is
            never in this session, or without a price.
        recaching: What each call lost by them.
    """

    figures: Figures
    cache_read_share: Figure
    breaks: Figure
    resent_tokens: Figure
    rebuild_usd: Figure
    break_usd: Figure
    savings: Savings
    break_even_call: Figure
    recaching: RecachingCosts


def plan_outcome(baseline: Replay, planned: Replay) -> PlanOutcome:
    """The totals of a replay.

    Args:
        baseline: The session with nothing cut.
        planned: The session under the plan.
    """
    figures = planned.figures
    recaching = recaching_costs(planned)
    tokens = figures.prompt_tokens.known
    savings = savings_of(baseline.figures, figures)
    return PlanOutcome(
        figures=figures,
        cache_read_share=cache_read_share(figures),
        breaks=Figure(int((planned.ledger.is_break & ~baseline.ledger.is_break).sum()), tokens),
        resent_tokens=Figure(int(recaching.resent.sum()), tokens),
        rebuild_usd=Figure.of(float(recaching.rebuild_cost.sum()), tokens),
        break_usd=Figure.of(float(recaching.extra_cost.sum()), tokens),
        savings=savings,
        break_even_call=Figure(break_even_call(baseline.ledger, planned.ledger), savings.usd.known),
        recaching=recaching,
    )


def recaching_costs(replay: Replay) -> RecachingCosts:
    """What the edits of a replay's plan put out of the cache, call by call."""
    ledger, calls = replay.ledger, replay.recached_calls
    rates = replay.inputs.rates.of_prompts(ledger.prompt_tokens)
    return price_recaching(ledger, replay.served_unbroken, calls, rates)


def cache_read_share(figures: Figures) -> Figure:
    """Prompt tokens read from the cache, as a share of all prompt tokens; None where nothing was sent."""
    read, prompts = figures.cache_read_tokens, figures.prompt_tokens
    share = None if read.value is None or not prompts.value else read.value / prompts.value
    return Figure(share, weakest(read.known, prompts.known))
