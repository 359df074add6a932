"""The pictures of a report, described in Vega-Lite and drawn by vl-convert, which carries Vega and needs no network."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from inspector.report.charts.bars import comparison_chart, composition_chart
from inspector.report.charts.lines import context_chart, cost_chart

if TYPE_CHECKING:
    from inspector.report.charts.palette import Palette
    from inspector.report.document import Report

CHARTS = {
    "context": context_chart,
    "cost": cost_chart,
    "composition": composition_chart,
    "comparison": comparison_chart,
}
"""By the names pages use."""


def chart(name: str, report: Report, palette: Palette) -> dict[str, Any] | None:
    """One picture of a report as a Vega-Lite specification; None where the report holds nothing to draw."""
    return CHARTS[name](report, palette)
