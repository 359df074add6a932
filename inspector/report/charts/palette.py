"""Colours and type of the charts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

SERIES = 6
"""Lines that are told apart by colour and dash; further ones begin again."""

DASHES: tuple[tuple[int, ...], ...] = ((1, 0), (7, 3), (2, 2), (9, 3, 2, 3), (5, 5), (12, 3))
"""A line is known by its dash where colours cannot be told apart, or are not printed."""


@dataclass(frozen=True, slots=True)
class Palette:
    """Colours by what they are for, in any form CSS knows.

    Attributes:
        ink: Axis titles and labels.
        rule: Grid lines.
        recorded: What was recorded, without a plan.
        plans: Plans in order.
        loss: Bars of what costs more.
        paper: Behind the chart; None for nothing.
    """

    ink: str
    rule: str
    recorded: str
    plans: tuple[str, ...]
    loss: str
    paper: str | None = None


PAGE = Palette(
    ink="var(--soft)",
    rule="var(--rule)",
    recorded="var(--recorded)",
    plans=tuple(f"var(--series-{index + 1})" for index in range(SERIES)),
    loss="var(--loss)",
)
"""Colours of the page around the chart: they follow it into the dark and onto paper."""

LIGHT = Palette(
    ink="#4b5563",
    rule="#d1d5db",
    recorded="#6b7280",
    plans=("#0b63ce", "#b3500a", "#0f7b4f", "#9b2fae", "#8a6d00", "#be185d"),
    loss="#b91c1c",
    paper="#ffffff",
)
"""For a picture that stands alone. Each has a contrast of at least 4.5 to the paper."""


def config(palette: Palette) -> dict[str, Any]:
    """Vega-Lite's configuration in these colours."""
    text = {"labelColor": palette.ink, "titleColor": palette.ink, "labelFontSize": 12, "titleFontSize": 12}
    font = "system-ui, -apple-system, 'Segoe UI', Roboto, Helvetica, Arial, sans-serif"
    return {
        "background": palette.paper,
        "font": font,
        "view": {"stroke": None},
        "axis": {
            **text,
            "gridColor": palette.rule,
            "domainColor": palette.rule,
            "tickColor": palette.rule,
            "titleFontWeight": "normal",
            "titlePadding": 12,
        },
        "legend": {
            **text,
            "orient": "top",
            "columnPadding": 24,
            "title": None,
            "symbolStrokeWidth": 3,
            "symbolSize": 300,
            "labelLimit": 400,
        },
    }
