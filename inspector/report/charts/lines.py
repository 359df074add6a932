"""Charts over calls: how large prompts are, and what was spent so far."""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING, Any

from inspector.report.charts.palette import DASHES, SERIES, config
from inspector.report.figures_table import plan_letter
from inspector.report.thinning import stretches

if TYPE_CHECKING:
    from collections.abc import Sequence

    from inspector.report.charts.palette import Palette
    from inspector.report.document import Report

MOST_POINTS = 600
"""Points of a line: more than there are pixels for add size and no sight."""

NEAR_WINDOW = 0.4
"""The window is drawn where prompts fill at least so much of it: else it would press them flat."""

HEIGHT = 260
WITHOUT = "without a plan"


def context_chart(report: Report, palette: Palette) -> dict[str, Any] | None:
    """Tokens of every prompt, without a plan and under each; the largest of a stretch where calls share a point."""
    ledger = report.ledger
    if ledger is None or not ledger.calls:
        return None
    columns = [[call.baseline.prompt_tokens for call in ledger.calls]]
    columns += [[call.plans[index].prompt_tokens for call in ledger.calls] for index in range(len(report.plans))]
    rows = [
        {"call": first + 1, "last": last, **_fields([max(column[first:last]) for column in columns])}
        for first, last in stretches(len(ledger.calls), MOST_POINTS)
    ]
    layers = [_area(palette)]
    layers += _lines(len(columns), palette, "step-after", "prompt tokens", "~s")
    peak = max(max(column) for column in columns)
    if ledger.window is not None and NEAR_WINDOW * ledger.window <= peak:
        layers += _window(ledger.window, palette)
    compacted = [{"call": call.call} for call in ledger.calls if call.compacted]
    if compacted:
        layers.append(_compactions(compacted, palette))
    return _chart(rows, [*layers, _hover(len(columns), ",d", palette, shared=len(rows) < len(ledger.calls))], palette)


def cost_chart(report: Report, palette: Palette) -> dict[str, Any] | None:
    """Dollars spent by every call, without a plan and under each; None where calls have no price."""
    ledger = report.ledger
    if ledger is None or not ledger.calls or report.baseline.cost_usd is None:
        return None
    columns = [list(accumulate(call.baseline.cost_usd or 0 for call in ledger.calls))]
    columns += [
        list(accumulate(call.plans[index].cost_usd or 0 for call in ledger.calls)) for index in range(len(report.plans))
    ]
    rows = [
        {"call": last, **_fields([round(column[last - 1], 4) for column in columns])}
        for _, last in stretches(len(ledger.calls), MOST_POINTS)
    ]
    layers = _lines(len(columns), palette, "linear", "dollars spent so far", "$~f")
    return _chart(rows, [*layers, _hover(len(columns), "$,.4~f", palette)], palette)


def _fields(values: Sequence[float]) -> dict[str, float]:
    return {f"v{index}": value for index, value in enumerate(values)}


def _names(count: int) -> list[str]:
    return [WITHOUT, *(f"plan {plan_letter(index)}" for index in range(count - 1))]


def _x() -> dict[str, Any]:
    axis = {"tickMinStep": 1, "format": ",d", "grid": False}
    return {
        "field": "call",
        "type": "quantitative",
        "title": "call",
        "axis": axis,
        "scale": {"zero": False, "nice": False},
    }


def _y(field: str, title: str, form: str) -> dict[str, Any]:
    return {"field": field, "type": "quantitative", "title": title, "axis": {"format": form, "tickCount": 5}}


def _area(palette: Palette) -> dict[str, Any]:
    mark = {"type": "area", "color": palette.recorded, "opacity": 0.14, "interpolate": "step-after"}
    return {"mark": mark, "encoding": {"x": _x(), "y": {**_y("v0", "prompt tokens", "~s"), "stack": None}}}


def _lines(count: int, palette: Palette, interpolate: str, title: str, form: str) -> list[dict[str, Any]]:
    names = _names(count)
    scale = {
        "domain": names,
        "range": [palette.recorded, *(palette.plans[index % SERIES] for index in range(count - 1))],
    }
    dashes = {"domain": names, "range": [[3, 3], *(list(DASHES[index % SERIES]) for index in range(count - 1))]}
    return [
        {
            "mark": {"type": "line", "strokeWidth": 2, "interpolate": interpolate},
            "encoding": {
                "x": _x(),
                "y": _y(f"v{index}", title, form),
                "color": {"datum": name, "type": "nominal", "scale": scale},
                "strokeDash": {"datum": name, "type": "nominal", "scale": dashes},
            },
        }
        for index, name in enumerate(names)
    ]


def _window(window: int, palette: Palette) -> list[dict[str, Any]]:
    at = {"y": {"datum": window, "type": "quantitative"}}
    text = {"type": "text", "align": "left", "dx": 4, "dy": -6, "fontSize": 12, "color": palette.ink}
    return [
        {"mark": {"type": "rule", "color": palette.ink, "strokeDash": [2, 4]}, "encoding": at},
        {"mark": {**text, "text": "the model's window"}, "encoding": {**at, "x": {"value": 0}}},
    ]


def _compactions(calls: list[dict[str, int]], palette: Palette) -> dict[str, Any]:
    mark = {"type": "point", "shape": "triangle-up", "filled": True, "size": 60, "color": palette.ink, "opacity": 1}
    return {
        "data": {"values": calls},
        "mark": {**mark, "tooltip": {"expr": "'the agent compacted before call ' + datum.call"}},
        "encoding": {"x": _x(), "y": {"datum": 0, "type": "quantitative"}},
    }


def _hover(count: int, form: str, palette: Palette, *, shared: bool = False) -> dict[str, Any]:
    """A line at the nearest call, with every series' value there."""
    tooltip = [{"field": "call", "title": "from call" if shared else "call", "type": "quantitative", "format": ",d"}]
    if shared:
        tooltip.append({"field": "last", "title": "to call", "type": "quantitative", "format": ",d"})
    tooltip += [
        {"field": f"v{index}", "title": name, "type": "quantitative", "format": form}
        for index, name in enumerate(_names(count))
    ]
    select = {"type": "point", "fields": ["call"], "nearest": True, "on": "pointerover", "clear": "pointerout"}
    return {
        "mark": {"type": "rule", "color": palette.ink},
        "params": [{"name": "hover", "select": select}],
        "encoding": {
            "x": _x(),
            "opacity": {"condition": {"param": "hover", "empty": False, "value": 0.5}, "value": 0},
            "tooltip": tooltip,
        },
    }


def _chart(rows: list[dict[str, Any]], layers: list[dict[str, Any]], palette: Palette) -> dict[str, Any]:
    return {"data": {"values": rows}, "height": HEIGHT, "width": 720, "layer": layers, "config": config(palette)}
