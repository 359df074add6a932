"""What one replay saves against another, and when it pays off."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from inspector.replay.ledger import Figure, weakest
from inspector.report.document import Saving
from inspector.report.numbers import DOLLAR_DIGITS, PERCENT_DIGITS, rounded

if TYPE_CHECKING:
    from inspector.replay.ledger import Figures, Ledger

NOTHING = 1e-9
"""Dollars below which a difference is rounding."""


def saving(baseline: Figures, planned: Figures) -> Saving:
    """What `planned` saves: negative where it costs more."""
    tokens = _difference(baseline.prompt_tokens, planned.prompt_tokens)
    dollars = _difference(baseline.cost_usd, planned.cost_usd)
    whole, part = (baseline.prompt_tokens, tokens) if dollars.value is None else (baseline.cost_usd, dollars)
    percent = Figure(None if part.value is None or not whole.value else 100 * part.value / whole.value, part.known)
    return Saving(
        tokens=None if tokens.value is None else int(tokens.value),
        usd=rounded(dollars.value, DOLLAR_DIGITS),
        percent=rounded(percent.value, PERCENT_DIGITS),
        percent_of="prompt_tokens" if dollars.value is None else "cost_usd",
        known={
            name: figure.known.value
            for name, figure in (("tokens", tokens), ("usd", dollars), ("percent", percent))
            if figure.value is not None
        },
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


def _difference(before: Figure, after: Figure) -> Figure:
    known = weakest(before.known, after.known)
    return Figure(None if before.value is None or after.value is None else before.value - after.value, known)
