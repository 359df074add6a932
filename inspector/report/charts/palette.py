"""Colors and typefaces of the charts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

SERIES = 6
"""Number of lines distinguished by color and dash; further ones start over."""

DASHES: tuple[tuple[int, ...], ...] = ((1, 0), (7, 3), (2, 2), (9, 3, 2, 3), (5, 5), (12, 3))
"""Dashes identify lines where colors look alike or are not printed."""


@dataclass(frozen=True, slots=True)
class Palette:
    """Colors by purpose, in any CSS form.

    Attributes:
        ink: Axis titles and labels.
        rule: Grid lines.
        recorded: Recorded figures, without a plan.
        plans: Plans in order.
        loss: Bars of an extra cost.
        paper: Background; None for transparent.
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
"""Colors of the page around the chart; they adapt to dark mode and print."""

LIGHT = Palette(
    ink="#4b5563",
    rule="#d1d5db",
    recorded="#6b7280",
    plans=("#0b63ce", "#b3500a", "#0f7b4f", "#9b2fae", "#8a6d00", "#be185d"),
    loss="#b91c1c",
    paper="#ffffff",
)
"""Colors of a standalone picture. Each color has a contrast of at least 4.5 to the paper."""


def config(palette: Palette) -> dict[str, Any]:
    """Return the Vega-Lite configuration in these colors."""
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
