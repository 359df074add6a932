"""What a plan saves, as a report writes it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from inspector.replay.savings import savings_of
from inspector.report.document import Saving
from inspector.report.numbers import DOLLAR_DIGITS, PERCENT_DIGITS, rounded

if TYPE_CHECKING:
    from inspector.replay.ledger import Figures


def saving(baseline: Figures, planned: Figures) -> Saving:
    """What `planned` saves: negative where it costs more."""
    saved = savings_of(baseline, planned)
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
