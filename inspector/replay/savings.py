"""What one replay saves against another, and when it pays off."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from inspector.replay.figure import Figure, HowKnown, weakest

if TYPE_CHECKING:
    from inspector.replay.ledger import Figures, Ledger

NOTHING = 1e-9
"""Dollars below which a difference is rounding."""


@dataclass(frozen=True, slots=True)
class Savings:
    """What a plan saves; negative where it costs more.

    Attributes:
        tokens: Prompt tokens.
        usd: Dollars, cache rebuilds included; None without a price.
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
