"""Bar charts: what takes up the prompts, and what every strategy would save."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from inspector.report.charts.lines import WITHOUT
from inspector.report.charts.palette import SERIES, config
from inspector.report.figures_table import plan_letter
from inspector.report.layout import plain
from inspector.safe_text import clip_cells

if TYPE_CHECKING:
    from inspector.report.charts.palette import Palette
    from inspector.report.document import Report

MOST_BARS = 12
MOST_STRATEGIES = 30
"""Of those, a third are the ones that cost most."""

BAR, THIN_BAR, GAP = 20, 11, 12
"""Pixels."""

NAME_WIDTH = 30
PLANS_IN_BARS = 3
"""Plans shown beside the session without one; more make bars too thin to read."""


def composition_chart(report: Report, palette: Palette) -> dict[str, Any] | None:
    """Tokens of all prompts by kind of block and tool, without a plan and under the first plans."""
    rows: list[dict[str, Any]] = []
    largest = [row for row in report.carried if row.sent_tokens][:MOST_BARS]
    if not largest:
        return None
    names = [WITHOUT]
    sent = [{(row.kind, row.tool): row.sent_tokens for row in report.carried}]
    for index, plan in enumerate(report.plans[:PLANS_IN_BARS]):
        names.append(f"plan {plan_letter(index)}")
        sent.append({(row.kind, row.tool): row.sent_tokens for row in plan.carried})
    order = []
    for index, row in enumerate(largest):
        # Names that differ only behind where they are clipped still are two bars.
        label = clip_cells(plain(f"{row.kind} {row.tool}".rstrip()), NAME_WIDTH)
        order.append(label if label not in order else f"{label} ({index + 1})")
        rows += [
            {"what": order[-1], "plan": name, "tokens": tokens.get((row.kind, row.tool)) or 0}
            for name, tokens in zip(names, sent, strict=True)
        ]
    colors = [palette.recorded, *(palette.plans[index % SERIES] for index in range(len(names) - 1))]
    return {
        "data": {"values": rows},
        "width": 720,
        "height": len(largest) * (BAR if len(names) == 1 else THIN_BAR * len(names) + GAP),
        "mark": {"type": "bar", "height": {"band": 0.85}},
        "encoding": {
            "y": {"field": "what", "type": "nominal", "sort": order, "title": None, "axis": {"labelLimit": 170}},
            "yOffset": {"field": "plan", "type": "nominal", "sort": names},
            "x": {
                "field": "tokens",
                "type": "quantitative",
                "title": "tokens in all prompts together",
                "axis": {"format": "~s", "tickCount": 5},
            },
            "color": {
                "field": "plan",
                "type": "nominal",
                "sort": names,
                "scale": {"domain": names, "range": colors},
                "legend": None if len(names) == 1 else {"columns": 2},
            },
            "tooltip": [
                {"field": "what", "title": "what", "type": "nominal"},
                {"field": "plan", "title": "plan", "type": "nominal"},
                {"field": "tokens", "title": "tokens", "type": "quantitative", "format": ",d"},
            ],
        },
        "config": config(palette),
    }


def comparison_chart(report: Report, palette: Palette) -> dict[str, Any] | None:
    """What every strategy would save alone, in percent; those that change nothing are left out."""
    found = [plan for plan in report.comparison if plan.saved.percent]
    found.sort(key=lambda plan: -(plan.saved.percent or 0))
    if len(found) > MOST_STRATEGIES:
        found = [*found[: 2 * MOST_STRATEGIES // 3], *found[-(MOST_STRATEGIES // 3) :]]
    if not found:
        return None
    rows = [
        {
            "strategy": plain(plan.name),
            "percent": plan.saved.percent,
            "tokens": plan.saved.tokens,
            "usd": plan.saved.usd,
        }
        for plan in found
    ]
    tooltip = [
        {"field": "strategy", "type": "nominal"},
        {"field": "percent", "title": "saves percent", "type": "quantitative", "format": ",.1f"},
        {"field": "tokens", "title": "tokens less", "type": "quantitative", "format": ",d"},
    ]
    if found[0].saved.usd is not None:
        tooltip.append({"field": "usd", "title": "dollars less", "type": "quantitative", "format": "$,.4~f"})
    return {
        "data": {"values": rows},
        "width": 720,
        "height": len(rows) * BAR,
        "mark": {"type": "bar"},
        "encoding": {
            "y": {
                "field": "strategy",
                "type": "nominal",
                "sort": [row["strategy"] for row in rows],
                "title": None,
                "axis": {"labelLimit": 170},
            },
            "x": {"field": "percent", "type": "quantitative", "title": "percent saved; left of zero it costs more"},
            "color": {
                "condition": {"test": "datum.percent < 0", "value": palette.loss},
                "value": palette.plans[0],
            },
            "tooltip": tooltip,
        },
        "config": config(palette),
    }
