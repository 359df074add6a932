"""Draw two limits as a heat map: one cell per pair of values, with denser glyphs for higher costs."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Final

import numpy as np

from inspector.ui.chart.drawing import ChartRun
from inspector.ui.tune.drawing import HERE, LEAST, PLAN, short_value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from inspector.replay.analysis.sweep import Grid

SHADES: Final = "·░▒▓█"
"""Glyphs from the minimum to the maximum: density before color."""

BELOW: Final = 2
"""Rows below the map: the horizontal values and the legend."""

NARROWEST, WIDEST = 3, 9
LOWEST, HIGHEST = 1, 4
MOST_COLUMNS, MOST_ROWS = 20, 16

Place = tuple[int, int]
"""Row and column of a pair."""


@dataclass(frozen=True, eq=False)
class HeatChart:
    """Data of the map; compared by identity.

    Attributes:
        grid: Results so far.
        here: The selected pair.
        plan: The plan's pair.
        written: Formats an amount.
        amount: Kind of the amounts: `cost`, `tokens`.
    """

    grid: Grid
    here: Place
    plan: Place
    written: Callable[[float], str]
    amount: str


@dataclass(frozen=True, slots=True)
class HeatLayout:
    """Layout of the map.

    Attributes:
        labels: Cells for the vertical values on the left.
        width: Cells of a pair.
        height: Rows of a pair.
    """

    labels: int
    width: int
    height: int


def fitting(width: int, height: int) -> tuple[int, int]:
    """Return the columns and rows of pairs that fill a map of this size and remain legible."""
    room = max(height - BELOW, 1)
    return max(min((width - 8) // 6, MOST_COLUMNS), 3), max(room // -(-room // MOST_ROWS), 3)


def layout_of(chart: HeatChart, width: int, height: int) -> HeatLayout:
    """Lay out the map on `width` by `height` cells."""
    rows, columns = chart.grid.cost.shape
    labels = max(len(short_value(value)) for value in chart.grid.rows.tolist()) + 1
    cell = min(max((width - labels) // columns, NARROWEST), WIDEST)
    return HeatLayout(labels, cell, min(max((height - BELOW) // rows, LOWEST), HIGHEST))


def place_at(chart: HeatChart, width: int, height: int, x: int, y: int) -> Place:
    """Return the pair nearest to a cell of the map."""
    layout = layout_of(chart, width, height)
    rows, columns = chart.grid.cost.shape
    return min(max(y // layout.height, 0), rows - 1), min(max((x - layout.labels) // layout.width, 0), columns - 1)


def shade_levels(chart: HeatChart) -> list[list[int]]:
    """Return the shade index of each pair, in equal steps from the minimum to the maximum."""
    amounts = chart.grid.shown
    low, high = float(np.nanmin(amounts)), float(np.nanmax(amounts))
    span = high - low
    levels = np.zeros_like(amounts) if span <= 0 else (amounts - low) / span * len(SHADES)
    return [[min(int(level), len(SHADES) - 1) for level in row] for row in np.nan_to_num(levels).tolist()]


def draw_heat(chart: HeatChart, width: int, height: int) -> tuple[tuple[ChartRun, ...], ...]:
    """Draw the map.

    Returns:
        `height` rows from the top, each exactly `width` cells.
    """
    if np.isnan(chart.grid.amounts).all():
        return tuple((ChartRun(" " * width, ""),) for _ in range(height))
    layout, levels = layout_of(chart, width, height), shade_levels(chart)
    rows: list[list[tuple[str, str]]] = []
    for row, value in enumerate(chart.grid.rows.tolist()):
        for line in range(layout.height):
            label = short_value(value) if line == 0 else ""
            cells = _styled(f"{label:>{layout.labels - 1}} ", "heat--label")
            for column, level in enumerate(levels[row]):
                is_middle = line == (layout.height - 1) // 2
                cells += _pair(chart, (row, column), level, layout.width, is_marked=is_middle)
            rows.append(cells)
    rows += [_values_across(chart, layout), _legend(chart, layout)]
    return tuple(_runs(_fitted(cells, width)) for cells in [*rows, *[[]] * height][:height])


def _pair(chart: HeatChart, place: Place, level: int, width: int, *, is_marked: bool) -> list[tuple[str, str]]:
    glyph, style = SHADES[level], f"heat--{level}"
    if np.isnan(chart.grid.amounts[place]):
        style = "heat--waiting"
    marks = {
        chart.grid.least: (LEAST, "heat--mark"),
        chart.plan: (PLAN, "heat--mark"),
        chart.here: (HERE, "heat--here"),
    }
    mark = marks.get(place) if is_marked else None
    # A blank separates neighboring pairs.
    if mark is None:
        return [*_styled(glyph * (width - 1), style), (" ", "")]
    left = (width - 2) // 2
    text = f"{glyph * (left - 1)} " if left > 0 else ""
    rest = width - 2 - len(text)
    return [
        *_styled(text, style),
        mark,
        *_styled(f" {glyph * (rest - 1)}" if rest > 0 else "", style),
        (" ", ""),
    ]


def _values_across(chart: HeatChart, layout: HeatLayout) -> list[tuple[str, str]]:
    text = " " * layout.labels
    for value in chart.grid.columns.tolist():
        label = short_value(value)
        text += f"{label[: layout.width - 1]:^{layout.width - 1}} " if len(label) < layout.width else " " * layout.width
    return _styled(text, "heat--label")


def _legend(chart: HeatChart, layout: HeatLayout) -> list[tuple[str, str]]:
    amounts = chart.grid.amounts
    low, high = float(np.nanmin(amounts)), float(np.nanmax(amounts))
    cells = _styled(f"{' ' * layout.labels}{chart.amount} {chart.written(low)} ", "heat--label")
    for level, glyph in enumerate(SHADES):
        cells += _styled(glyph * 2, f"heat--{level}")
    across, down = chart.grid.across.parameter.name, chart.grid.down.parameter.name
    return [*cells, *_styled(f" {chart.written(high)}   → {across}   ↓ {down}", "heat--label")]


def _styled(text: str, style: str) -> list[tuple[str, str]]:
    return [(letter, style) for letter in text]


def _fitted(cells: list[tuple[str, str]], width: int) -> list[tuple[str, str]]:
    return [*cells, *[(" ", "")] * (width - len(cells))][:width]


def _runs(cells: Iterable[tuple[str, str]]) -> tuple[ChartRun, ...]:
    return tuple(
        ChartRun("".join(map(itemgetter(0), group)), style) for style, group in groupby(cells, key=itemgetter(1))
    )
