"""Vega-Lite charts of reports: over calls, by prompt content, by strategy, over sessions."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from inspector.replay.analysis.breakdown import part_label
from inspector.replay.cache.miss_causes import MissCause
from inspector.replay.quantity import quantity
from inspector.report.catalogue import CostParts
from inspector.report.layout import plain
from inspector.report.numbers import IN_TEXT
from inspector.report.tables import plan_letter, series_names
from inspector.report.text import COSTLIEST, costliest
from inspector.safe_text import clip_cells
from inspector.strategies.presets import display_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from inspector.report.cache_document import CacheMissFacts
    from inspector.report.compaction_tuning import CompactionGroup
    from inspector.report.document import Report
    from inspector.report.folder import FolderReport
    from inspector.report.tuning import CurveFacts, TunedGroupFacts, TuneReport


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


MOST_POINTS = 600
"""Maximum points of a line: more than the pixels available only add size."""

NEAR_WINDOW = 0.4
"""The window is drawn if prompts fill at least this share of it; otherwise it would flatten them."""

HEIGHT = 260

MOST_BARS = 12

MOST_CALL_BARS = 180
"""Maximum bars of cost per call; more would be too thin to point at."""

BILL = ("cache_read_usd", "cache_write_usd", "uncached_usd", "output_usd")
"""Parts of such a bar from the bottom: fields of a call's baseline."""

WORDS_HEIGHT = 16
"""Pixels of a text line above the bars."""

MOST_STRATEGIES = 30
"""Maximum strategies; a third of them are the most expensive ones."""

LEAST_CLIPPED = 20
"""Losses up to this percentage are never clipped."""

BAR, THIN_BAR, GAP = 20, 11, 12
"""Pixels."""

NAME_WIDTH = 30

PLANS_IN_BARS = 3
"""Plans shown next to the session without one; more make the bars too thin to read."""

STEPS = 20
"""Maximum bars of the histogram."""


def report_charts(report: Report, palette: Palette) -> dict[str, dict[str, Any]]:
    """Build all charts that the report has data for, as Vega-Lite specifications by page name."""
    drawn = {
        "context": context_chart(report, palette),
        "cost": cost_chart(report, palette),
        "bill": bill_chart(report, palette),
        "composition": composition_chart(report, palette),
        "comparison": comparison_chart(report, palette),
    }
    return {name: specification for name, specification in drawn.items() if specification is not None}


def folder_charts(report: FolderReport, palette: Palette) -> dict[str, dict[str, Any]]:
    """Build one histogram per plan: how many sessions save how much."""
    return {
        f"spread-{index + 1}": _histogram(report, index, palette)
        for index, plan in enumerate(report.plans)
        if plan.percent is not None
    }


def context_chart(report: Report, palette: Palette) -> dict[str, Any] | None:
    """Chart the tokens of every prompt, or the largest at a point, without a plan and under each."""
    ledger = report.ledger
    if ledger is None or not ledger.calls:
        return None
    columns = [[call.baseline.prompt_tokens for call in ledger.calls]]
    columns += [[call.plans[index].prompt_tokens for call in ledger.calls] for index in range(len(report.plans))]
    rows = [
        {"call": first + 1, "last": last, **_fields([max(column[first:last]) for column in columns])}
        for first, last in downsample(len(ledger.calls), MOST_POINTS)
    ]
    layers = [_area(palette)]
    layers += _lines(len(columns), palette, "step-after", "prompt tokens", "~s")
    peak = max(max(column) for column in columns)
    if ledger.window is not None and NEAR_WINDOW * ledger.window <= peak:
        layers += _window(ledger.window, palette)
        # Leave room for the text above its line, which would overlap the legend.
        top = max(peak, ledger.window) * HEIGHT / (HEIGHT - WORDS_HEIGHT * 1.5)
        layers[0]["encoding"]["y"]["scale"] = {"domainMax": top, "nice": False}
    compacted = [{"call": call.call} for call in ledger.calls if call.compacted]
    if compacted:
        layers.append(_compactions(compacted, palette))
    return _chart(rows, [*layers, _hover(len(columns), ",d", palette, shared=len(rows) < len(ledger.calls))], palette)


def cost_chart(report: Report, palette: Palette) -> dict[str, Any] | None:
    """Chart the cumulative cost over calls, without a plan and under each; None if calls have no price."""
    ledger = report.ledger
    if ledger is None or not ledger.calls or report.baseline.cost_usd is None:
        return None
    columns = [list(accumulate(call.baseline.cost_usd or 0 for call in ledger.calls))]
    columns += [
        list(accumulate(call.plans[index].cost_usd or 0 for call in ledger.calls)) for index in range(len(report.plans))
    ]
    rows = [
        {"call": last, **_fields([round(column[last - 1], 4) for column in columns])}
        for _, last in downsample(len(ledger.calls), MOST_POINTS)
    ]
    layers = _lines(len(columns), palette, "linear", "cumulative cost in dollars", "$~f")
    return _chart(rows, [*layers, _hover(len(columns), "$,.4~f", palette)], palette)


def bill_chart(report: Report, palette: Palette) -> dict[str, Any] | None:
    """Chart every call's cost by kind of token, with the costliest cache misses named; None without prices."""
    ledger = report.ledger
    if ledger is None or not ledger.calls or report.baseline.cost_usd is None:
        return None
    rows = []
    for first, last in downsample(len(ledger.calls), MOST_CALL_BARS):
        calls = [call.baseline for call in ledger.calls[first:last]]
        tops = list(accumulate((sum(getattr(call, name) or 0.0 for call in calls) for name in BILL), initial=0.0))
        dollars = {f"d{at}": round(tops[at + 1] - tops[at], 6) for at in range(len(BILL))}
        edges = {f"y{at}": round(top, 6) for at, top in enumerate(tops)}
        rows.append({"call": first + 1, "last": last, "from": first + 0.5, "to": last + 0.5, **dollars, **edges})
    layers = _stacked([quantity(CostParts, name).label for name in BILL], palette)
    named = [] if report.cache_misses is None else costliest(report.cache_misses, COSTLIEST)
    if named:
        # Leave a text line per miss above the bars.
        top = max(row[f"y{len(BILL)}"] for row in rows) * HEIGHT / (HEIGHT - WORDS_HEIGHT * (len(named) + 1))
        layers[0]["encoding"]["y"]["scale"] = {"domainMax": top, "nice": False}
        for place, miss in enumerate(named):
            layers += _named_miss(miss, place, len(ledger.calls), rows, palette)
    return _chart(rows, layers, palette)


def _stacked(labels: Sequence[str], palette: Palette) -> list[dict[str, Any]]:
    """Return one layer per kind of token; the tooltip of each lists all of them."""
    tooltip = [
        {"field": "call", "title": "from call", "type": "quantitative", "format": ",d"},
        {"field": "last", "title": "to call", "type": "quantitative", "format": ",d"},
        *(
            {"field": f"d{at}", "title": label, "type": "quantitative", "format": "$,.4~f"}
            for at, label in enumerate(labels)
        ),
    ]
    scale = {"domain": list(labels), "range": [palette.recorded, *palette.plans[: len(labels) - 1]]}
    return [
        {
            # The chart as a whole has a description; one per shape would be most of its size.
            "mark": {"type": "rect", "aria": False},
            "encoding": {
                "x": {**_x(), "field": "from"},
                "x2": {"field": "to"},
                "y": _y(f"y{at}", "dollars", "$~f"),
                "y2": {"field": f"y{at + 1}"},
                "color": {
                    "datum": label,
                    "type": "nominal",
                    "scale": scale,
                    "legend": {"symbolType": "square", "columns": 2},
                },
                "tooltip": tooltip,
            },
        }
        for at, label in enumerate(labels)
    ]


def _named_miss(
    miss: CacheMissFacts, place: int, calls: int, rows: Sequence[dict[str, Any]], palette: Palette
) -> list[dict[str, Any]]:
    """Draw a line from a call's bar up to the label of its miss, each label at its own height."""
    bar = next(row for row in rows if row["call"] <= miss.call <= row["last"])
    cost = "" if miss.extra_usd is None else f", {IN_TEXT.dollars(miss.extra_usd)}"
    text = f"call {miss.call:,}: {MissCause(miss.cause).short}{cost}"
    is_late = miss.call > calls / 2
    at = WORDS_HEIGHT * (place + 0.5)
    x = {"field": "call", "type": "quantitative"}
    data = {"values": [{"call": miss.call, "top": bar[f"y{len(BILL)}"]}]}
    words = {"type": "text", "text": text, "align": "right" if is_late else "left", "dx": -4 if is_late else 4}
    return [
        {
            "data": data,
            "mark": {"type": "rule", "color": palette.loss, "strokeDash": [2, 2]},
            "encoding": {"x": x, "y": {"field": "top", "type": "quantitative"}, "y2": {"value": at}},
        },
        {
            "data": data,
            "mark": {**words, "fontSize": 12, "color": palette.loss},
            "encoding": {"x": x, "y": {"value": at}},
        },
    ]


def composition_chart(report: Report, palette: Palette) -> dict[str, Any] | None:
    """Chart the tokens of all prompts by kind of block and tool, without a plan and under the first plans."""
    rows: list[dict[str, Any]] = []
    largest = [row for row in report.carried if row.sent_tokens][:MOST_BARS]
    if not largest:
        return None
    names = series_names(min(len(report.plans), PLANS_IN_BARS))
    shown = (report.carried, *(plan.carried for plan in report.plans[:PLANS_IN_BARS]))
    sent = [{(row.kind, row.tool): row.sent_tokens for row in rows_of} for rows_of in shown]
    order = []
    for index, row in enumerate(largest):
        # Names that differ only after the clipped part still get two bars.
        label = clip_cells(plain(part_label(row.kind, row.tool, NAME_WIDTH)), NAME_WIDTH)
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
                "title": "token-calls",
                "axis": {"format": "~s", "tickCount": 5, "titleAnchor": "end", "titleAlign": "right"},
            },
            "color": {
                "field": "plan",
                "type": "nominal",
                "sort": names,
                "scale": {"domain": names, "range": colors},
                "legend": None if len(names) == 1 else {"columns": 1},
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
    """Chart the saving of every strategy alone, and of the page's plans, without no-ops; large losses are clipped."""
    found = [plan for plan in report.comparison if plan.saved.percent]
    found.sort(key=lambda plan: -(plan.saved.percent or 0))
    if len(found) > MOST_STRATEGIES:
        found = [*found[: 2 * MOST_STRATEGIES // 3], *found[-(MOST_STRATEGIES // 3) :]]
    if not found:
        return None
    own = {f"plan {plan_letter(index)}": plan for index, plan in enumerate(report.plans) if plan.saved.percent}
    bars = [*own.items(), *((plain(display_name(plan.name)), plan) for plan in found)]
    bars.sort(key=lambda bar: -(bar[1].saved.percent or 0))
    floor = _floor([plan.saved.percent or 0 for _, plan in bars])
    rows = [
        {
            "strategy": name,
            "own": name in own,
            "percent": plan.saved.percent,
            "shown": max(plan.saved.percent or 0, floor),
            "cut": f"◂ {IN_TEXT.percent(plan.saved.percent)}" if (plan.saved.percent or 0) < floor else "",
            "tokens": plan.saved.tokens,
            "usd": plan.saved.usd,
        }
        for name, plan in bars
    ]
    tooltip = [
        {"field": "strategy", "type": "nominal"},
        {"field": "percent", "title": "saves percent", "type": "quantitative", "format": ",.1f"},
        {"field": "tokens", "title": "tokens saved", "type": "quantitative", "format": ",d"},
    ]
    if found[0].saved.usd is not None:
        tooltip.append({"field": "usd", "title": "dollars saved", "type": "quantitative", "format": "$,.4~f"})
    names = [row["strategy"] for row in rows]
    y = {"field": "strategy", "type": "nominal", "sort": names, "title": None, "axis": {"labelLimit": 170}}
    least = max(floor, min(plan.saved.percent or 0 for _, plan in bars))
    x = {
        "field": "shown",
        "type": "quantitative",
        "title": "percent saved (negative: costs more)",
        "axis": {"titleAnchor": "end", "titleAlign": "right"},
        "scale": {"domainMin": min(least, 0), "nice": least != floor},
    }
    colors = [
        {"test": "datum.own", "value": palette.plans[0]},
        {"test": "datum.percent < 0", "value": palette.loss},
    ]
    bars_layer = {
        "mark": {"type": "bar"},
        "encoding": {"y": y, "x": x, "color": {"condition": colors, "value": palette.recorded}, "tooltip": tooltip},
    }
    cut = {
        "transform": [{"filter": "datum.cut != ''"}],
        "mark": {"type": "text", "align": "left", "dx": 4, "fontSize": 12, "color": palette.ink},
        "encoding": {"y": y, "x": {"datum": 0, "type": "quantitative"}, "text": {"field": "cut", "type": "nominal"}},
    }
    return {
        "data": {"values": rows},
        "width": 720,
        "height": len(rows) * BAR,
        "layer": [bars_layer, cut],
        "config": config(palette),
    }


def _floor(percents: Sequence[float]) -> float:
    """Return the percentage at which bars of losses are clipped: the largest gain, negated, if a loss is longer."""
    floor = -10.0 * math.ceil(max(*percents, LEAST_CLIPPED) / 10)
    return floor if min(percents) < 1.5 * floor else min(percents)


def _histogram(report: FolderReport, index: int, palette: Palette) -> dict[str, Any]:
    values = [
        {"percent": row.plans[index].saved.percent}
        for row in report.sessions
        if row.plans[index].saved.percent is not None
    ]
    field = {"field": "percent", "bin": {"maxbins": STEPS}, "type": "quantitative"}
    return {
        "data": {"values": values},
        "width": 720,
        "height": 200,
        "mark": {"type": "bar"},
        "encoding": {
            "x": {**field, "title": "percent saved (negative: costs more)"},
            "y": {
                "aggregate": "count",
                "title": "sessions",
                "axis": {"format": ",~f", "labelExpr": "datum.value % 1 ? '' : datum.label"},
            },
            "color": {
                "condition": {"test": "datum.bin_maxbins_20_percent < 0", "value": palette.loss},
                "value": palette.plans[0],
            },
            "tooltip": [{**field, "title": "percent saved"}, {"aggregate": "count", "title": "sessions"}],
        },
        "config": config(palette),
    }


def downsample(count: int, most: int) -> list[tuple[int, int]]:
    """Split `count` items into at most `most` ranges of nearly equal length, each as first and end."""
    parts = min(count, most)
    return [(count * part // parts, count * (part + 1) // parts) for part in range(parts)]


def _fields(values: Sequence[float]) -> dict[str, float]:
    return {f"v{index}": value for index, value in enumerate(values)}


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
    names = series_names(count - 1)
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
        {
            "data": {"values": [{}]},
            "mark": {"type": "rule", "color": palette.ink, "strokeDash": [2, 4]},
            "encoding": at,
        },
        # Separate data: with the chart's own data it would be drawn once per call.
        {
            "data": {"values": [{}]},
            "mark": {**text, "text": "the model's window"},
            "encoding": {**at, "x": {"value": 0}},
        },
    ]


def _compactions(calls: list[dict[str, int]], palette: Palette) -> dict[str, Any]:
    mark = {"type": "point", "shape": "triangle-up", "filled": True, "size": 60, "color": palette.ink, "opacity": 1}
    return {
        "data": {"values": calls},
        "mark": {**mark, "tooltip": {"expr": "'the agent compacted before call ' + datum.call"}},
        "encoding": {"x": _x(), "y": {"datum": 0, "type": "quantitative"}},
    }


def _hover(count: int, form: str, palette: Palette, *, shared: bool = False) -> dict[str, Any]:
    """Add a rule at the nearest call, with every series' value in its tooltip."""
    tooltip = [{"field": "call", "title": "from call" if shared else "call", "type": "quantitative", "format": ",d"}]
    if shared:
        tooltip.append({"field": "last", "title": "to call", "type": "quantitative", "format": ",d"})
    tooltip += [
        {"field": f"v{index}", "title": name, "type": "quantitative", "format": form}
        for index, name in enumerate(series_names(count - 1))
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


WIDTH, TUNING_HEIGHT = 720, 240

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
        "height": TUNING_HEIGHT,
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
        "height": TUNING_HEIGHT,
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
        "height": TUNING_HEIGHT,
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
