"""What one replay saves against another, and when it pays off."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from inspector.report.document import Saving

if TYPE_CHECKING:
    from inspector.replay.ledger import Figures, Ledger

NOTHING = 1e-9
"""Dollars below which a difference is rounding."""


def saving(baseline: Figures, planned: Figures) -> Saving:
    """What `planned` saves: negative where it costs more."""
    tokens = _difference(baseline.prompt_tokens.value, planned.prompt_tokens.value)
    dollars = _difference(baseline.cost_usd.value, planned.cost_usd.value)
    whole = int(tokens) if tokens is not None else None
    if dollars is not None:
        return Saving(
            tokens=whole, usd=dollars, percent=_percent(dollars, baseline.cost_usd.value), percent_of="cost_usd"
        )
    return Saving(
        tokens=whole, usd=None, percent=_percent(tokens, baseline.prompt_tokens.value), percent_of="prompt_tokens"
    )


def break_even_call(baseline: Ledger, planned: Ledger) -> int | None:
    """The call, counted from 1, from which on the plan has cost less in all, to the end of the session.

    None where it never gets there, changes nothing, or has no price.
    """
    ahead = np.cumsum(baseline.cost - planned.cost) > NOTHING
    if not len(ahead) or not ahead[-1]:
        return None
    behind = np.flatnonzero(~ahead)
    return int(behind[-1]) + 2 if len(behind) else 1


def _difference(before: float | None, after: float | None) -> float | None:
    return None if before is None or after is None else before - after


def _percent(part: float | None, whole: float | None) -> float | None:
    return None if part is None or not whole else 100 * part / whole
