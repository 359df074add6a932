"""Totals as a report writes them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from inspector.report.document import FigureSet
from inspector.report.numbers import DOLLAR_DIGITS, rounded

if TYPE_CHECKING:
    from inspector.replay.engine.ledger import Figures
    from inspector.replay.figure import Figure
    from inspector.report.details import How


def figure_set(figures: Figures) -> FigureSet:
    """Figures as the report writes them: values, and apart from them how each is known."""
    known: dict[str, How] = {}

    def tokens(name: str) -> int | None:
        value = amount(name)
        return None if value is None else int(value)

    def amount(name: str) -> float | None:
        figure: Figure = getattr(figures, name)
        if figure.value is not None:
            known[name] = figure.known.value
        return figure.value

    return FigureSet(
        calls=tokens("calls"),
        prompt_tokens=tokens("prompt_tokens"),
        peak_prompt_tokens=tokens("peak_prompt_tokens"),
        cache_read_tokens=tokens("cache_read_tokens"),
        cache_write_tokens=tokens("cache_write_tokens"),
        uncached_tokens=tokens("uncached_tokens"),
        output_tokens=tokens("output_tokens"),
        cache_breaks=tokens("cache_breaks"),
        cost_usd=rounded(amount("cost_usd"), DOLLAR_DIGITS),
        known=known,
    )
