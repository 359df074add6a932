"""Draw the cost per call as text: a stacked column per call by kind of token, and the cache misses below.

Kinds differ by glyph before color. If several calls share a column, it shows the costliest one.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from inspector.replay.analysis.costs import side_requests
from inspector.report.build_report import call_dollars
from inspector.report.numbers import ON_SCREEN
from inspector.ui.chart.view import first_calls_after_compactions
from inspector.ui.miss_glyphs import COMPACTED, MARKS, dollars, mark_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from inspector.replay.analysis.cache_misses import CacheMiss, CacheMisses


class BillKind(NamedTuple):
    """A kind of token in the chart.

    Attributes:
        field: Field name in the dollars of a call.
        glyph: Glyph of its cells.
        style: Component class of its cells.
        label: Label in the legend.
    """

    field: str
    glyph: str
    style: str
    label: str


KINDS: Final = (
    BillKind("cache_read_usd", "░", "bill--reads", "reads"),
    BillKind("cache_write_usd", "▓", "bill--writes", "writes"),
    BillKind("uncached_usd", "▒", "bill--uncached", "uncached"),
    BillKind("output_usd", "█", "bill--output", "output"),
)
"""Ordered from the bottom of a column to the top."""

AXIS: Final = "─"
SIDE_REQUEST_GLYPH: Final = "+"
"""Marks calls that were preceded by side requests."""
HERE: Final = "◆"
"""Marks the selected call."""

NAMED: Final = 3
"""Number of misses labeled above the columns."""


SEEN: Final = 0.002
"""Minimum share of the total for a kind to appear in the legend."""


class BillRun(NamedTuple):
    """Part of a row with its component class."""

    text: str
    style: str


@dataclass(frozen=True, eq=False)
class CostSeries:
    """Cost of every call; compared by identity.

    Attributes:
        dollars: Per kind of `KINDS` and call, float64.
        misses: Avoidable misses, the costliest first.
        compactions: First calls after a recorded compaction.
        call: The selected call; None if there is none.
        side_requests: Calls that were preceded by side requests.
        side_requests_usd: Cost of the side requests.
    """

    dollars: NDArray[np.float64]
    misses: tuple[CacheMiss, ...]
    compactions: tuple[int, ...] = ()
    call: int | None = None
    side_requests: tuple[int, ...] = ()
    side_requests_usd: float = 0.0

    @property
    def call_count(self) -> int:
        return len(self.dollars[0])


def bill_of(found: CacheMisses) -> CostSeries | None:
    """Build the chart data of a replay; None if no call has a price."""
    by_kind = call_dollars(found.replay)
    table = np.nan_to_num(np.array([by_kind[kind.field] for kind in KINDS], dtype=np.float64))
    compactions = first_calls_after_compactions(found.replay.history)
    session = found.replay.inputs.history.session
    requests = side_requests(session, found.replay.inputs.pricing)
    places = {min(each.before, table.shape[1] - 1) for each in requests if each.before is not None}
    usd = sum(each.cost or 0.0 for each in requests)
    return CostSeries(table, found.dearest, compactions, None, tuple(sorted(places)), usd) if table.sum() > 0 else None


def chart_title(series: CostSeries) -> str:
    """Name the costliest call, whose cost is the top of the chart: `Cost per call, most at call 132: $2.48`."""
    costs = series.dollars.sum(axis=0)
    call = int(costs.argmax())
    return f"Cost per call, most at call {ON_SCREEN.whole(call + 1)}: {ON_SCREEN.dollars(float(costs[call]))}"


def call_summary(series: CostSeries) -> str:
    """Describe the cost of the selected call by kind: `call 132: $2.48, writes $2.31, output $0.12`."""
    call = series.call
    if call is None or not 0 <= call < series.call_count:
        return ""
    mine = series.dollars[:, call].tolist()
    parts = [f"{kind.label} {ON_SCREEN.dollars(each)}" for kind, each in zip(KINDS, mine, strict=True) if each]
    return ", ".join([f"call {ON_SCREEN.whole(call + 1)}: {ON_SCREEN.dollars(sum(mine))}", *parts])


def draw_bill(series: CostSeries, width: int, height: int) -> tuple[tuple[BillRun, ...], ...]:
    """Draw the chart as `height` rows from the top, each exactly `width` cells: labels, columns, axis, legend.

    Args:
        series: The data.
        width: Cells of a row.
        height: Rows.
    """
    rows = max(height - 3, 0)
    if not rows or width <= 0:
        return tuple((BillRun(" " * width, ""),) for _ in range(height))
    labels = _label_width(series, width)
    places, costs = _columns(series, width - labels)
    top = float(costs.sum(axis=0).max(initial=0.0)) or 1.0
    label = ON_SCREEN.dollars(top)[: max(labels - 1, 0)]
    heights = np.cumsum(costs, axis=0) * (rows / top)
    blank = " " * labels
    drawn: list[list[tuple[str, str]]] = [_cells(blank, "bill--label") + _names(series, places, width - labels)]
    for row in range(rows):
        text = label.rjust(labels - 1) + " " if labels and not row else blank
        drawn.append(_cells(text, "bill--label") + _row(heights, rows - 1 - row))
    zero = "$0".rjust(labels - 1) + " " if labels else ""
    drawn.append(_cells(zero, "bill--label") + _axis(series, places, width - labels))
    drawn.append(_legend(series, width))
    return tuple(_runs(cells) for cells in drawn)


def call_at(series: CostSeries, x: int, width: int) -> int | None:
    """Return the costliest call drawn at a column of the widget; None outside the columns."""
    labels = _label_width(series, width)
    if not labels <= x < width:
        return None
    places, _ = _columns(series, width - labels)
    first = int(places[places <= x - labels].max(initial=0))
    calls = np.flatnonzero(places == first)
    return int(calls[series.dollars[:, calls].sum(axis=0).argmax()])


def _label_width(series: CostSeries, width: int) -> int:
    """Return the width of the y-axis labels in cells, including the blank after them."""
    _, costs = _columns(series, max(width, 1))
    longest = len(ON_SCREEN.dollars(float(costs.sum(axis=0).max(initial=0.0)))) + 2
    return longest if width >= 4 * longest else 0


def _columns(series: CostSeries, width: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the first column of every call, and the costliest call's dollars per kind and column.

    If calls share columns, their costs are not added up: sums would depend on the number of calls in a column and on
    the width of the screen.
    """
    count = series.call_count
    calls = np.arange(count, dtype=np.int64)
    places = calls * width // count if count > width else -(-calls * width // count)
    by_cost = np.lexsort((series.dollars.sum(axis=0), places))
    costliest = by_cost[np.flatnonzero(np.diff(places, append=width))]
    shown = np.maximum(np.searchsorted(places[costliest], np.arange(width), side="right") - 1, 0)
    return places, series.dollars[:, costliest[shown]]


def _row(heights: NDArray[np.float64], row: int) -> list[tuple[str, str]]:
    """Build row `row`, counted from the bottom, with the dominant kind per cell. Any cost gets at least one cell."""
    lower = np.vstack([np.zeros(heights.shape[1]), heights[:-1]])
    most = (np.minimum(heights, row + 1) - np.maximum(lower, row)).argmax(axis=0).tolist()
    is_there = (heights[-1] > row + 0.5) | ((row == 0) & (heights[-1] > 0))
    return [
        (KINDS[kind].glyph, KINDS[kind].style) if there else (" ", "")
        for kind, there in zip(most, is_there.tolist(), strict=True)
    ]


def _names(series: CostSeries, places: NDArray[np.int64], width: int) -> list[tuple[str, str]]:
    """Label the costliest misses with call and extra cost above their columns. Labels without room are left out."""
    cells = [(" ", "")] * width
    for miss in series.misses[:NAMED]:
        glyph = mark_of(miss.cause).glyph
        text = " ".join(filter(None, (glyph, ON_SCREEN.whole(miss.call + 1), dollars(miss.extra_usd))))
        column = int(places[miss.call])
        first = min(column, width - len(text))
        # Move left of an existing label as long as the miss stays below its own label.
        for start in range(first, max(column - len(text), -1), -1):
            room = cells[max(start - 1, 0) : start + len(text) + 1]
            if all(letter == " " for letter, _ in room):
                cells[start : start + len(text)] = _cells(text, "bill--miss")
                break
    return cells


def _axis(series: CostSeries, places: NDArray[np.int64], width: int) -> list[tuple[str, str]]:
    cells = [(AXIS, "bill--axis")] * width
    for call in series.side_requests:
        cells[int(places[call])] = (SIDE_REQUEST_GLYPH, "bill--label")
    for call in series.compactions:
        cells[int(places[call])] = (COMPACTED.glyph, "bill--compaction")
    for miss in reversed(series.misses):
        cells[int(places[miss.call])] = (mark_of(miss.cause).glyph, "bill--miss")
    if series.call is not None and 0 <= series.call < series.call_count:
        # Overrides the call's other marks, because its row and its label show them too.
        cells[int(places[series.call])] = (HERE, "bill--here")
    return cells


def _legend(series: CostSeries, width: int) -> list[tuple[str, str]]:
    """Build the legend: the kinds of tokens with a cost, then the glyphs of the misses present."""
    totals = series.dollars.sum(axis=1).tolist()
    least = SEEN * sum(totals)
    entries = [(kind.glyph, kind.style, kind.label) for kind, total in zip(KINDS, totals, strict=True) if total > least]
    for mark in MARKS:
        causes = {miss.cause for miss in series.misses if mark_of(miss.cause) is mark}
        if causes:
            entries.append((mark.glyph, "bill--miss", causes.pop().short if len(causes) == 1 else mark.label))
    if series.compactions:
        entries.append((COMPACTED.glyph, "bill--compaction", COMPACTED.label))
    if series.side_requests_usd:
        entries.append(
            (SIDE_REQUEST_GLYPH, "bill--label", f"side requests {ON_SCREEN.dollars(series.side_requests_usd)}")
        )
    if series.call is not None:
        entries.append((HERE, "bill--here", f"call {ON_SCREEN.whole(series.call + 1)}"))
    cells: list[tuple[str, str]] = []
    for glyph, style, label in entries:
        if len(cells) + len(label) + 4 > width:
            break
        cells += [(glyph, style), *_cells(f" {label}  ", "bill--label")]
    return cells + [(" ", "")] * (width - len(cells))


def _cells(text: str, style: str) -> list[tuple[str, str]]:
    return [(letter, style) for letter in text]


def _runs(cells: Iterable[tuple[str, str]]) -> tuple[BillRun, ...]:
    return tuple(
        BillRun("".join(map(itemgetter(0), group)), style) for style, group in groupby(cells, key=itemgetter(1))
    )
