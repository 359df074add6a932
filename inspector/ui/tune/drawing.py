"""Draw a limit as text: its curves over its range with a histogram of sizes, or a heat map of two limits.

Curves have a resolution of quarter cells. Each is scaled from its minimum to its maximum, and both are labeled. All
parts share the value axis, so the curve above a size shows the result for that limit. The map has one cell per pair of
values, with denser glyphs for higher costs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Final

import numpy as np

from inspector.replay.analysis.sweep import Grid, LimitSizes, TunableLimit, counts_along
from inspector.report.numbers import ON_SCREEN
from inspector.ui.chart.drawing import ChartRun

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numpy.typing import NDArray

    from inspector.strategies.core.parameters import ValueScale


FLATTEST = 0.2
"""Minimum share of the height for a curve. If the level of nothing cut would squeeze it more, it is left out."""


@dataclass(frozen=True, eq=False)
class Curve:
    """One figure over a limit's range; compared by identity.

    Attributes:
        name: Name, in one word.
        style: Component class.
        fractions: Positions of the points in the range, 0 to 1, ascending.
        amounts: Values of the points.
        level: Value with nothing cut; None if unknown.
        written: Formats a value in few cells.
    """

    name: str
    style: str
    fractions: NDArray[np.float64]
    amounts: NDArray[np.float64]
    level: float | None
    written: Callable[[float], str]

    @property
    def range(self) -> tuple[float, float]:
        """Minimum and maximum, including `level` unless that would flatten the curve."""
        low, high = float(self.amounts.min()), float(self.amounts.max())
        if self.level is None or high == low:
            return low, high
        with_level = min(low, self.level), max(high, self.level)
        return with_level if high - low >= FLATTEST * (with_level[1] - with_level[0]) else (low, high)


@dataclass(frozen=True, eq=False)
class TuneChart:
    """Data of the chart; compared by identity.

    Attributes:
        scale: Range of the limit.
        curves: Curves from top to bottom, the most important first.
        sizes: Sizes the limit is compared with; None if there is none.
        here: The selected value.
        plan: The plan's value.
        knee: Value of the knee; None if there is none.
        least: Value with the minimum; None if there is none.
        axis: The limit; None for curves without one.
    """

    scale: ValueScale
    curves: tuple[Curve, ...]
    sizes: LimitSizes | None
    here: float
    plan: float
    knee: float | None = None
    least: float | None = None
    axis: TunableLimit | None = None

    def column(self, value: float, columns: int) -> int:
        return min(int(self.scale.fraction(value) * columns), columns - 1)

    def value_at(self, column: int, columns: int) -> float:
        """Return the value of a column. The first and the last column are the ends of the range."""
        column = min(max(column, 0), columns - 1)
        if column in (0, columns - 1):
            return self.scale.value(0.0 if column == 0 else 1.0)
        return self.scale.value((column + 0.5) / columns)


def ticks(scale: ValueScale) -> list[float]:
    """Return the values to label on the axis: powers of ten or a few equal steps, and both ends of the range."""
    low, high = scale.minimum, scale.maximum
    if scale.logarithmic:
        exponents = range(math.ceil(math.log10(max(low, 1.0))), math.floor(math.log10(high)) + 1)
        inner = [10.0**exponent for exponent in exponents]
    else:
        rough = (high - low) / 5
        unit = 10.0 ** math.floor(math.log10(rough))
        unit = next(unit * factor for factor in (1, 2, 5, 10) if unit * factor >= rough)
        inner = [unit * place for place in range(math.ceil(low / unit), math.floor(high / unit) + 1)]
    return sorted({low, *(value for value in inner if low < value < high), high})


def short_value(value: float) -> str:
    """Format a limit's value in few cells: `400`, `5.3k`, `100k`, `1M`, `0.25`."""
    for size, suffix in ((1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:.4g}{suffix}"
    return f"{value:.3g}"


HERE, PLAN, KNEE, LEAST = "◆", "▲", "◇", "▾"
"""Marks on the axis: selected value, plan's value, knee, minimum."""

POINT: Final = "●"
CURSOR: Final = "│"
KNEE_LINE: Final = "┊"
LEVEL: Final = "┄"
AXIS, TICK = "─", "┴"
CUT: Final = "░"
_EIGHTHS: Final = " ▁▂▃▄▅▆▇█"
_QUARTERS: Final = " ▘▝▀▖▌▞▛▗▚▐▜▄▙▟█"
"""Indexed by the filled quarters: the upper ones count 1 and 2, the lower ones 4 and 8."""

LABELS: Final = 10
"""Cells for the labels left of the curves."""

AXIS_ROWS: Final = 2
LEAST_ROWS: Final = 2
LEGIBLE_ROWS: Final = 3
"""Minimum rows of a curve next to others. With fewer rows, distant values share a row."""
NOTHING_CUT: Final = " nothing cut "
MOST_SIZES: Final = 6

Cell = tuple[str, str]


def plot_columns(width: int) -> int:
    """Return the number of cells for the curves in a chart of this width."""
    return max(width - LABELS, 1)


def draw_tuning(chart: TuneChart, width: int, height: int) -> tuple[tuple[ChartRun, ...], ...]:
    """Draw the chart.

    Returns:
        `height` rows from the top, each exactly `width` cells.
    """
    columns = plot_columns(width)
    shown, heights, size_rows = _heights(chart, height)
    rows: list[Iterable[Cell]] = []
    for curve, count in zip(shown, heights, strict=True):
        rows += _curve_rows(chart, curve, columns, count, is_first=curve is shown[0])
    rows += _axis_rows(chart, columns)
    if chart.sizes is not None and size_rows:
        rows += _size_rows(chart, chart.sizes, columns, size_rows)
    blank = [(" ", "")] * width
    rows += [blank] * (height - len(rows))
    return tuple(_runs([*row][:width]) for row in rows[:height])


def _heights(chart: TuneChart, height: int) -> tuple[list[Curve], list[int], int]:
    """Return the curves that fit, their rows, and the rows of the histogram."""
    room = height - AXIS_ROWS
    sizes = 0 if chart.sizes is None or room < 2 * LEAST_ROWS else min(max(room // 5, LEAST_ROWS), MOST_SIZES)
    curves = [curve for curve in chart.curves if len(curve.amounts)]
    while len(curves) > 1 and len(curves) * LEGIBLE_ROWS > room - sizes:
        curves.pop()
    if curves and room - sizes < LEAST_ROWS:
        curves.pop()
    if not curves:
        return [], [], sizes
    # The last curve has half the height of the others.
    unit = (room - sizes) / max(len(curves) - 0.5, 0.5)
    heights = [max(int(unit), LEAST_ROWS)] * (len(curves) - 1)
    return curves, [*heights, max(room - sizes - sum(heights), LEAST_ROWS)], sizes


def _curve_rows(chart: TuneChart, curve: Curve, columns: int, count: int, *, is_first: bool) -> list[list[Cell]]:
    low, high = curve.range
    span = high - low or 1.0
    quarters = _quarters(curve, columns, count, low, span)
    here = chart.column(chart.here, columns)
    knee = None if chart.knee is None else chart.column(chart.knee, columns)
    level = None if curve.level is None or not low <= curve.level <= high else _row_of(curve.level, low, span, count)
    point = _row_of(_height_at(curve, chart.scale.fraction(chart.here)), low, span, count)
    rows = []
    for row in range(count):
        cells = _label_cells(_curve_label(curve, row, count, low, high))
        for column in range(columns):
            drawn = int(quarters[row, column])
            if column == here:
                cells.append((POINT, "tune--here") if row == point else (CURSOR, "tune--cursor"))
            elif drawn:
                cells.append((_QUARTERS[drawn], curve.style))
            elif column == knee:
                cells.append((KNEE_LINE, "tune--knee"))
            elif row == level:
                cells.append((LEVEL, "tune--level"))
            else:
                cells.append((" ", ""))
        if row == level and is_first:
            cells = _with_text(cells, NOTHING_CUT, "tune--level")
        rows.append(cells)
    return rows


def _with_text(cells: list[Cell], text: str, style: str) -> list[Cell]:
    """Insert a text into the line of nothing cut, at the rightmost free position."""
    reported = len(text) + 2
    for start in range(len(cells) - reported, LABELS, -1):
        if all(glyph == LEVEL for glyph, _ in cells[start : start + reported]):
            return [*cells[: start + 1], *((letter, style) for letter in text), *cells[start + 1 + len(text) :]]
    return cells


def _quarters(curve: Curve, columns: int, rows: int, low: float, span: float) -> NDArray[np.int64]:
    """Return the filled quarters of each cell."""
    across, down = columns * 2, rows * 2
    heights = np.interp((np.arange(across) + 0.5) / across, curve.fractions, curve.amounts)
    level = np.rint((1 - (heights - low) / span) * (down - 1)).astype(int)
    cells = np.zeros((rows, columns), dtype=np.int64)
    before = level[0]
    for place, now in enumerate(level.tolist()):
        # Draw a step as a vertical line from the previous level.
        first, last = (before + 1, now) if now > before else (now, before - 1) if now < before else (now, now)
        for height in range(first, last + 1):
            cells[height // 2, place // 2] |= 1 << (place % 2 + height % 2 * 2)
        before = now
    return cells


def _height_at(curve: Curve, fraction: float) -> float:
    return float(np.interp(fraction, curve.fractions, curve.amounts))


def _row_of(amount: float, low: float, span: float, rows: int) -> int:
    return round((1 - (amount - low) / span) * (rows * 2 - 1)) // 2


def _curve_label(curve: Curve, row: int, count: int, low: float, high: float) -> tuple[str, str]:
    # If both ends round to the same short number, write them in full.
    written = (
        ON_SCREEN.whole
        if low != high and curve.written is ON_SCREEN.short and ON_SCREEN.short(low) == ON_SCREEN.short(high)
        else curve.written
    )
    if row == 0:
        return written(high), "tune--number"
    if row == 1:
        return curve.name, curve.style
    return (written(low), "tune--number") if row == count - 1 else ("", "")


def _axis_rows(chart: TuneChart, columns: int) -> list[list[Cell]]:
    marks = [(chart.least, LEAST, "tune--least"), (chart.knee, KNEE, "tune--knee")]
    marks += [(chart.plan, PLAN, "tune--plan"), (chart.here, HERE, "tune--here")]
    line: list[Cell] = [(AXIS, "tune--axis")] * columns
    names = [" "] * columns
    named = ticks(chart.scale)
    for value in named:
        line[chart.column(value, columns)] = (TICK, "tune--axis")
    # The ends of the range are labeled first, other values if there is room.
    for value in dict.fromkeys((named[0], named[-1], *named)):
        label = short_value(value)
        start = min(max(chart.column(value, columns) - len(label) // 2, 0), max(columns - len(label), 0))
        if not "".join(names[max(start - 1, 0) : start + len(label) + 1]).strip():
            names[start : start + len(label)] = label
    for place, glyph, style in marks:
        if place is not None:
            line[chart.column(place, columns)] = (glyph, style)
    unlabelled = _label_cells(("", ""))
    return [[*unlabelled, *line], [*unlabelled, *((letter, "tune--number") for letter in names)]]


def _size_rows(chart: TuneChart, sizes: LimitSizes, columns: int, count: int) -> list[list[Cell]]:
    counts = counts_along(sizes.values, chart.scale, columns)
    most = int(counts.max(initial=0))
    here = chart.column(chart.here, columns)
    rows = []
    for row in range(count):
        cells = _label_cells(_size_label(sizes, row, count, most))
        for column, size in enumerate(counts.tolist()):
            eighths = math.ceil(size * count * 8 / most) if most else 0
            filled = min(max(eighths - (count - 1 - row) * 8, 0), 8)
            if column == here and not filled:
                cells.append((CURSOR, "tune--cursor"))
            elif column > here:
                cells.append((CUT if filled else " ", "tune--cut"))
            else:
                cells.append((_EIGHTHS[filled], "tune--whole"))
        rows.append(cells)
    return rows


def _size_label(sizes: LimitSizes, row: int, count: int, most: int) -> tuple[str, str]:
    if row == 0:
        return ON_SCREEN.whole(most), "tune--number"
    if row == 1:
        return f"{sizes.noun}s", "tune--label"
    return ("0", "tune--number") if row == count - 1 else ("", "")


def _label_cells(label: tuple[str, str]) -> list[Cell]:
    text, style = label
    return [(letter, style) for letter in f"{text[: LABELS - 1]:>{LABELS - 1}} "]


def _runs(cells: Iterable[Cell]) -> tuple[ChartRun, ...]:
    return tuple(
        ChartRun("".join(map(itemgetter(0), group)), style) for style, group in groupby(cells, key=itemgetter(1))
    )


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
