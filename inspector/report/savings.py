"""What a plan saves, as a report writes it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from inspector.report.document import Saving
from inspector.report.numbers import DOLLAR_DIGITS, PERCENT_DIGITS, rounded

if TYPE_CHECKING:
    from inspector.replay.analysis.plan_outcome import Savings


def saving(saved: Savings) -> Saving:
    """The figures with as many digits as anybody needs; percentages instead of shares."""
    percent = None if saved.share.value is None else 100 * saved.share.value
    return Saving(
        tokens=None if saved.tokens.value is None else int(saved.tokens.value),
        usd=rounded(saved.usd.value, DOLLAR_DIGITS),
        percent=rounded(percent, PERCENT_DIGITS),
        percent_of=saved.share_of,
        known={
            name: figure.known.value
            for name, figure in (("tokens", saved.tokens), ("usd", saved.usd), ("percent", saved.share))
            if figure.value is not None
        },
    )
