"""Vega-Lite charts of tuning: the front of saving against expected re-fetches, and the curve of each limit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from inspector.report.charts.palette import DASHES, config
from inspector.report.layout import plain

if TYPE_CHECKING:
    from inspector.report.charts.palette import Palette
    from inspector.report.compaction_tuning import CompactionGroup
    from inspector.report.tuning import CurveFacts, TunedGroupFacts, TuneReport

WIDTH, HEIGHT = 720, 240

BEFORE, AFTER = "before re-fetches", "after re-fetches"

WIDE = 50
"""The axis is logarithmic if a limit's largest value is at least this many times its smallest."""


def tuning_charts(report: TuneReport, palette: Palette) -> dict[str, dict[str, Any]]:
    """Build the front of every group, and the curve of every limit of its plan, by page name."""
    drawn = {}
    for at, group in enumerate(report.groups, start=1):
        if group.front:
            drawn[f"front-{at}"] = _front(group, palette)
        for index, curve in enumerate(group.curves, start=1):
            drawn[f"curve-{at}-{index}"] = _curve(curve, palette)
    for at, compacted in enumerate(report.compaction, start=1):
        if compacted.curve:
            drawn[f"threshold-{at}"] = _thresholds(compacted, palette)
    return drawn


def _thresholds(group: CompactionGroup, palette: Palette) -> dict[str, Any]:
    points = [point for point in group.curve if point.cost_usd is not None]
    rows = [{"tokens": each.tokens, "usd": each.cost_usd, "compactions": each.compactions} for each in points]
    x = {
        "field": "tokens",
        "type": "quantitative",
        "title": "compaction threshold in tokens",
        "scale": {"zero": False},
        "axis": {"format": ",.3~r", "grid": False, "labelOverlap": True},
    }
    y = {
        "field": "usd",
        "type": "quantitative",
        "title": "dollars over all sessions",
        "scale": {"zero": False},
        "axis": {"format": "$~f", "tickCount": 5},
    }
    tooltip = [
        {"field": "tokens", "title": "compact at", "type": "quantitative", "format": ",d"},
        {"field": "usd", "title": "cost", "type": "quantitative", "format": "$,.2f"},
        {"field": "compactions", "title": "compactions", "type": "quantitative", "format": ",d"},
    ]
    rules = [
        {
            "data": {"values": [{"tokens": each.tokens}]},
            "mark": {"type": "rule", "color": palette.ink, "strokeDash": [2, 4] if each.is_chosen else [1, 0]},
            "encoding": {"x": x},
        }
        for each in points
        if each.is_chosen or each.is_effective
    ]
    line = {"type": "line", "point": True, "strokeWidth": 2, "color": palette.plans[0]}
    return {
        "data": {"values": rows},
        "width": WIDTH,
        "height": HEIGHT,
        "layer": [{"mark": line, "encoding": {"x": x, "y": y, "tooltip": tooltip}}, *rules],
        "config": config(palette),
    }


def _front(group: TunedGroupFacts, palette: Palette) -> dict[str, Any]:
    rows = [
        {
            "refetches": point.refetches or 0.0,
            "saved": point.saved_usd,
            "net": point.net_usd,
            "plan": plain(" + ".join(point.strategies)),
            "chosen": point.is_chosen,
        }
        for point in group.front
    ]
    x = {"field": "refetches", "type": "quantitative", "title": "expected re-fetches"}
    y = {
        "field": "saved",
        "type": "quantitative",
        "title": "dollars saved before re-fetches",
        "axis": {"format": "$~f"},
    }
    tooltip = [
        {"field": "plan", "title": "plan", "type": "nominal"},
        {"field": "refetches", "title": "re-fetches", "type": "quantitative", "format": ",.1f"},
        {"field": "saved", "title": "saved", "type": "quantitative", "format": "$,.2f"},
        {"field": "net", "title": AFTER, "type": "quantitative", "format": "$,.2f"},
    ]
    line = {"type": "line", "interpolate": "step-after", "color": palette.recorded, "strokeDash": list(DASHES[1])}
    chosen = {"test": "datum.chosen", "value": palette.plans[0]}
    return {
        "data": {"values": rows},
        "width": WIDTH,
        "height": HEIGHT,
        "layer": [
            {"mark": line, "encoding": {"x": x, "y": y}},
            {
                "mark": {"type": "point", "filled": True, "opacity": 1},
                "encoding": {
                    "x": x,
                    "y": y,
                    "color": {"condition": chosen, "value": palette.recorded},
                    "size": {"condition": {"test": "datum.chosen", "value": 220}, "value": 60},
                    "tooltip": tooltip,
                },
            },
        ],
        "config": config(palette),
    }


def _curve(curve: CurveFacts, palette: Palette) -> dict[str, Any]:
    rows = [
        {"value": point.value, "usd": usd, "refetches": point.refetches or 0.0, "what": what}
        for point in curve.points
        for what, usd in ((BEFORE, point.saved_usd), (AFTER, point.net_usd))
    ]
    least = min((point.value for point in curve.points if point.value > 0), default=1.0)
    most = max(point.value for point in curve.points)
    scale: dict[str, Any] = {"type": "symlog", "constant": least} if most >= WIDE * least else {"zero": False}
    unit = f" ({curve.unit})" if curve.unit else ""
    x = {
        "field": "value",
        "type": "quantitative",
        "title": plain(f"{curve.strategy}: {curve.limit}{unit}"),
        "scale": scale,
        "axis": {"format": ",.3~r", "grid": False, "labelOverlap": True},
    }
    y = {"field": "usd", "type": "quantitative", "title": "dollars saved", "axis": {"format": "$~f", "tickCount": 5}}
    names = [BEFORE, AFTER]
    color = {"domain": names, "range": [palette.recorded, palette.plans[0]]}
    dashes = {"domain": names, "range": [list(DASHES[1]), list(DASHES[0])]}
    tooltip = [
        {"field": "value", "title": plain(curve.limit), "type": "quantitative", "format": ",~f"},
        {"field": "usd", "title": "saved", "type": "quantitative", "format": "$,.2f"},
        {"field": "refetches", "title": "re-fetches", "type": "quantitative", "format": ",.1f"},
    ]
    return {
        "data": {"values": rows},
        "width": WIDTH,
        "height": HEIGHT,
        "layer": [
            {
                "mark": {"type": "line", "point": True, "strokeWidth": 2},
                "encoding": {
                    "x": x,
                    "y": y,
                    "color": {"field": "what", "type": "nominal", "scale": color},
                    "strokeDash": {"field": "what", "type": "nominal", "scale": dashes},
                    "tooltip": tooltip,
                },
            },
            {
                "data": {"values": [{"value": curve.value}]},
                "mark": {"type": "rule", "color": palette.ink, "strokeDash": [2, 4]},
                "encoding": {"x": {**x, "title": x["title"]}},
            },
        ],
        "config": config(palette),
    }
