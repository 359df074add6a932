"""The context chart as text: sent area over recorded area, axis, marks and legend.

Both areas start at the axis. A column shows the sent amount up to the lower of the two and the difference between them:
recorded and not sent, or sent and not recorded. If both end within one cell, its three parts would need a third color,
so the end that is nearer to its cell border is moved there: the upper one to the top or the lower one to the bottom.
"""

from __future__ import annotations

import math
from functools import cache
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

import numpy as np

from inspector.report.numbers import elapsed, window_size
from inspector.ui.chart.view import ChartColumns, ChartSeries, columns_of
from inspector.ui.miss_glyphs import COMPACTED, MARKS, WITH_PLAN, MissGlyph, mark_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray


Cell: TypeAlias = tuple[str, str]
"""A glyph and its component class, empty for none."""

PLANNED: Final = "█"
RECORDED: Final = "░"
"""Recorded and not sent. With colors it has its background's color and is visible only in text copies."""
GROWN: Final = "+"
"""Sent and not recorded; colored like `RECORDED`."""

EIGHTHS: Final = " ▁▂▃▄▅▆▇█"
_RECORDED_EIGHTHS: Final = " ..:::░░░"

_RECORDED: Final = (RECORDED, "chart--recorded", "chart--edge")
_GROWN: Final = (GROWN, "chart--grown", "chart--grown-edge")
"""Glyph of a difference, its class, and the class of a cell that also contains sent tokens."""

_MAX_SHIFT: Final = 3
"""Maximum error of an area's height in eighths, accepted to show a difference within a cell."""

_PARTS: Final = 9
"""Number of heights within a cell: none to eight eighths."""
_KIND: Final = _PARTS * _PARTS
_KINDS: Final = 4
"""Kinds of cells: recorded or sent is larger, each in the lowest row or another one."""

_CURSOR: Final = {
    "": "chart--cursor",
    "chart--planned": "chart--cursor",
    "chart--edge": "chart--cursor-edge",
    "chart--grown-edge": "chart--cursor-grown",
    "chart--recorded-whole": "chart--cursor-edge",
    "chart--grown-whole": "chart--cursor-grown",
}
"""Classes in the selected call's column, if different."""
_LINE_ON: Final = {
    f"chart--{whole}{later}": f"chart--{edge}{later}"
    for whole, edge in (("recorded-whole", "edge"), ("grown-whole", "grown-edge"))
    for later in ("", "-later")
}
"""Classes of a line through cells without a visible glyph."""


def outlined(planned: NDArray[np.int64], recorded: NDArray[np.int64], rows: int) -> NDArray[np.int64]:
    """Raise the recorded height to the row above if the glyph of its cell is needed for the sent height.

    Heights are per column, in eighths of a row.
    """
    row = planned // 8
    low, high = planned - row * 8, recorded - row * 8
    has_no_glyph = (low > 0) & (high > low) & (high <= 8) & ((row == 0) | (2 * low >= high))
    above = np.minimum(row * 8 + 9, rows * 8)
    return np.where(has_no_glyph & (high >= 8 - _MAX_SHIFT), above, recorded)


def places_in_table(planned: NDArray[np.int64], recorded: NDArray[np.int64], rows: int) -> NDArray[np.int64]:
    """Return the index into a cell table for every cell of a plot, rows from the top.

    Heights are per column, in eighths of a row.
    """
    bottoms = np.arange(rows - 1, -1, -1, dtype=np.int64)[:, None] * 8
    low = np.clip(np.minimum(planned, recorded) - bottoms, 0, 8)
    high = np.clip(np.maximum(planned, recorded) - bottoms, 0, 8)
    places = low * _PARTS + high + (planned > recorded) * _KIND
    places[-1:] += 2 * _KIND
    return places


@cache
def cells(*, by_glyph: bool) -> tuple[Cell, ...]:
    """Return the table of all possible cells; `by_glyph` distinguishes the areas without colors."""
    draw = _glyph_cell if by_glyph else _color_cell
    return tuple(
        draw(low, max(low, high), is_grown=kind % 2 == 1, is_lowest=kind >= 2)
        for kind in range(_KINDS)
        for low in range(_PARTS)
        for high in range(_PARTS)
    )


@cache
def cells_after_cursor(*, by_glyph: bool) -> tuple[Cell, ...]:
    """Return the cell table for calls after the selected one."""
    return tuple((glyph, f"{style}-later" if style else "") for glyph, style in cells(by_glyph=by_glyph))


@cache
def cells_at_cursor(cursor: str, *, by_glyph: bool) -> tuple[Cell, ...]:
    """Return the cell table for the selected call's column, with a line through cells without a visible glyph."""
    return tuple(
        (cursor if not style or style in _LINE_ON else glyph, _CURSOR.get(style, style))
        for glyph, style in cells(by_glyph=by_glyph)
    )


def with_line(table: tuple[Cell, ...], line: Cell, *, within: Cell | None) -> tuple[Cell, ...]:
    """Return a cell table for a row with a line; `within` is used in sent cells, None for a line behind the areas."""
    changed = list(table)
    for first in range(0, len(table), _KIND):
        changed[first] = line
        if within is not None:
            changed[first + _KIND - 1] = within
            _, style = table[first + 8]
            if style in _LINE_ON:
                changed[first + 8] = (line[0], _LINE_ON[style])
    return tuple(changed)


def _color_cell(low: int, high: int, *, is_grown: bool, is_lowest: bool) -> Cell:
    glyph, alone, edge = _GROWN if is_grown else _RECORDED
    if 0 < low < high < 8:
        up, down = 8 - high, low
        if is_lowest or up <= down:
            low, high = (low, 8) if up <= _MAX_SHIFT else _as_sent(low, high, is_grown=is_grown)
        else:
            low = 0
    if high == 0:
        return " ", ""
    if low == high:
        return EIGHTHS[high], "chart--planned"
    if high == 8:
        return (EIGHTHS[low], edge) if low else (glyph, f"{alone}-whole")
    return EIGHTHS[high], alone


def _glyph_cell(low: int, high: int, *, is_grown: bool, is_lowest: bool) -> Cell:
    """Return one glyph: the difference if it is larger than the part below it, but never for a whole column."""
    if high == 0:
        return " ", ""
    if low == high or (low and (is_lowest or 2 * low >= high)):
        sent, _ = _as_sent(low, high, is_grown=is_grown)
        return EIGHTHS[sent], "chart--planned"
    return (GROWN, "chart--grown") if is_grown else (_RECORDED_EIGHTHS[high], "chart--recorded")


def _as_sent(low: int, high: int, *, is_grown: bool) -> tuple[int, int]:
    sent = high if is_grown else low
    return sent, sent


WINDOW: Final = "┄"
LEVEL: Final = "╌"
COMPACTION: Final = COMPACTED.glyph
FIRING: Final = "△"
MISSES: Final = ("cache misses:",)
MISSES_WITH_PLAN: Final = (f"cache misses {WITH_PLAN}:", "plan misses:")
"""Headings of the miss causes; the longest that fits is used."""
CURSOR: Final = "│"
CURSOR_FOOT: Final = "◆"
HERE: Final = "◇"
"""Marks the call of the row under the timeline's cursor."""
HERE_IN_WORDS: Final = "this row's call"
AXIS: Final = "─"

LEGEND_HEIGHT: Final = 5
"""Minimum height in rows for a legend."""

_ROUND: Final = (1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0)


class ChartRun(NamedTuple):
    """A piece of a row and its component class."""

    text: str
    style: str


class ChartLayout(NamedTuple):
    """Layout of a chart.

    Attributes:
        labels: Width of the labels at the left, including the blank after them, in cells.
        columns: Width of the plot in cells.
        rows: Height of the plot, without marks and legend.
        top: Tokens at the top of the plot.
    """

    labels: int
    columns: int
    rows: int
    top: int


class ChartLine(NamedTuple):
    """A horizontal line in the plot.

    Attributes:
        glyph: Glyph of the line.
        style: Component class.
        tokens: Its height in tokens.
        name: Its label.
    """

    glyph: str
    style: str
    tokens: int
    name: str


def layout_of(series: ChartSeries, width: int, height: int) -> ChartLayout:
    top = upper_end(series.peak, series.window, *(level.tokens for level in series.levels))
    values = (top, top // 2, series.window or 0, *(level.tokens for level in series.levels))
    labels = max(len(short_size(value)) for value in values if value <= top) + 1
    if width < 4 * labels:
        labels = 0
    rows = height - 2 if height >= LEGEND_HEIGHT else height - 1
    return ChartLayout(labels, max(width - labels, 0), max(rows, 0), top)


def upper_end(peak: int, window: int | None, *levels: int) -> int:
    """Choose the tokens at the top: the window if the session comes near it, or a round number above the peak.

    A level that the session comes near is included.
    """
    if window and 0.4 * window <= peak <= window:
        return window
    highest = max((level for level in levels if 0.5 * level <= peak), default=0)
    highest = max(peak, highest, 1)
    unit = 10.0 ** math.floor(math.log10(highest))
    return max(round(next(unit * factor for factor in _ROUND if unit * factor >= highest)), 10)


def draw_chart(
    series: ChartSeries, width: int, height: int, *, by_glyph: bool = False
) -> tuple[tuple[ChartRun, ...], ...]:
    """Draw the chart as `height` rows from the top, each exactly `width` cells; `by_glyph` does without colors."""
    layout = layout_of(series, width, height)
    columns = columns_of(series, layout.columns)
    lines = lines_of(series, layout)
    drawn: list[Iterable[Cell]] = []
    is_grown = False
    if layout.rows:
        planned, recorded = areas_of(columns, layout)
        is_grown = bool((planned > recorded).any())
        if by_glyph:
            recorded = outlined(planned, recorded, layout.rows)
        for row, places in enumerate(places_in_table(planned, recorded, layout.rows).tolist()):
            line = lines.get(row)
            label = _label(row, layout, lines)
            plot = _named(_plot_row(places, columns.cursor, line, by_glyph=by_glyph), line)
            drawn.append([*_cells(label.rjust(layout.labels - 1) + " ", "chart--label", layout.labels), *plot])
    if height > layout.rows:
        label = "0".rjust(layout.labels - 1) + " "
        drawn.append([*_cells(label, "chart--label", layout.labels), *_marks(columns)])
    if height > layout.rows + 1:
        drawn.append(_legend(series, layout, width, by_glyph=by_glyph, is_grown=is_grown))
    return tuple(_runs(row) for row in drawn[:height])


def areas_of(columns: ChartColumns, layout: ChartLayout) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return sent and recorded heights in eighths of a row; equal if they differ by less than an eighth."""
    recorded = _eighths(columns.recorded, layout)
    if columns.planned is None:
        return recorded, recorded
    planned = _eighths(columns.planned, layout)
    is_seen = np.abs(columns.planned - columns.recorded) * (layout.rows * 8) >= layout.top
    return planned, np.where(is_seen, recorded, planned)


def _eighths(values: NDArray[np.int64], layout: ChartLayout) -> NDArray[np.int64]:
    """Scale heights to eighths of a row; non-zero values get at least one."""
    heights = values * (layout.rows * 8) // max(layout.top, 1)
    return np.minimum(np.maximum(heights, values > 0), layout.rows * 8)


def lines_of(series: ChartSeries, layout: ChartLayout) -> dict[int, ChartLine]:
    """Return the horizontal lines by row: levels of the plan, and the window, which takes precedence."""
    lines: dict[int, ChartLine] = {}
    for level in series.levels:
        row = _row_of(level.tokens, layout)
        if row is not None:
            same = lines.get(row)
            name = level.name if same is None or same.name == level.name else f"{same.name}, {level.name}"
            lines[row] = ChartLine(LEVEL, "chart--level", level.tokens, name)
    row = _row_of(series.window, layout)
    if row is not None and series.window:
        lines[row] = ChartLine(WINDOW, "chart--window", series.window, "window")
    return lines


def _row_of(tokens: int | None, layout: ChartLayout) -> int | None:
    if not tokens or tokens > layout.top or not layout.rows:
        return None
    return min(layout.rows - 1, layout.rows - math.ceil(tokens * layout.rows / layout.top))


def short_size(tokens: int) -> str:
    """Format an axis label: `0`, `40`, `7.5k`, `200k`."""
    return window_size(tokens) if tokens >= 1000 else str(tokens)


def _label(row: int, layout: ChartLayout, lines: dict[int, ChartLine]) -> str:
    if row in lines:
        return short_size(lines[row].tokens)
    if row == 0:
        return short_size(layout.top)
    if row * 2 == layout.rows and row - 1 not in lines and row + 1 not in lines:
        return short_size(layout.top // 2)
    return ""


def _plot_row(places: list[int], cursor: int | None, line: ChartLine | None, *, by_glyph: bool) -> list[Cell]:
    """Build a plot row from indices into the cell tables."""
    table, later = cells(by_glyph=by_glyph), cells_after_cursor(by_glyph=by_glyph)
    if line is not None:
        is_level = line.glyph == LEVEL
        drawn = (line.glyph, line.style)
        table = with_line(table, drawn, within=(LEVEL, "chart--level-within") if is_level else None)
        later = with_line(later, drawn, within=(LEVEL, "chart--planned-later") if is_level else None)
    if cursor is None:
        return [table[place] for place in places]
    return [
        *[table[place] for place in places[:cursor]],
        cells_at_cursor(CURSOR, by_glyph=by_glyph)[places[cursor]],
        *[later[place] for place in places[cursor + 1 :]],
    ]


def _named(cells: list[Cell], line: ChartLine | None) -> list[Cell]:
    """Add the name of a row's line at the right end, if nothing else is drawn there."""
    if line is None:
        return cells
    text = f" {line.name}"
    place = len(cells) - len(text)
    if place < len(text) or any(style != line.style for _, style in cells[place:]):
        return cells
    return [*cells[:place], *_cells(text, line.style, len(text))]


def _marks(columns: ChartColumns) -> Iterable[Cell]:
    for column in range(len(columns.recorded)):
        if columns.compaction[column]:
            glyph, style = COMPACTION, "chart--compaction"
        elif columns.fires[column]:
            glyph, style = FIRING, "chart--firing"
        elif columns.miss[column] >= 0:
            glyph, style = MARKS[int(columns.miss[column])].glyph, "chart--miss"
        else:
            glyph, style = AXIS, "chart--axis"
        if column == columns.cursor:
            yield (CURSOR_FOOT if glyph == AXIS else glyph), "chart--cursor"
        else:
            yield glyph, style


def _legend(series: ChartSeries, layout: ChartLayout, width: int, *, by_glyph: bool, is_grown: bool) -> Iterable[Cell]:
    """Build the legend: first and last call, and the glyphs that fit."""
    first = "call 1" if series.call_count else "no calls"
    last = f"{series.call_count:,}" if series.call_count > 1 else ""
    if series.span:
        first, last = elapsed(0), elapsed(series.span)
    entries = []
    if series.planned is not None:
        entries.append((PLANNED, "chart--planned", "with the plan"))
        whole = "" if by_glyph else "-whole"
        recorded = "recorded (: . partial row)" if by_glyph else "recorded"
        entries.append((RECORDED, f"chart--recorded{whole}", recorded))
        if is_grown:
            entries.append((GROWN, f"chart--grown{whole}", "added by the plan"))
    else:
        entries.append((PLANNED, "chart--planned", "recorded"))
    if len(series.compactions):
        entries.append((COMPACTION, "chart--compaction", "compaction"))
    if len(series.firings):
        entries.append((FIRING, "chart--firing", "plan acts"))
    misses = [(mark.glyph, "chart--miss", label) for mark, label in _misses_in_words(series)]
    room = width - layout.labels - len(first) - len(last) - 4
    shown: list[Cell] = []
    needed = sum(len(label) + 4 for _, _, label in (*entries, *misses)) + 1
    named = MISSES if series.planned is None else MISSES_WITH_PLAN
    heading = next((name for name in named if needed + len(name) <= room), "")
    for glyph, style, label in (*entries, *misses):
        before = f"{heading} " if heading and (glyph, style, label) in misses[:1] else ""
        if len(shown) + 4 + len(before) + len(label) > room:
            break
        shown += [*_cells(before, "chart--label", len(before)), (glyph, style)]
        shown += [(letter, "chart--label") for letter in f" {label}  "]
    if series.call_count > 1 and len(shown) + len(HERE_IN_WORDS) + 4 <= room:
        shown += [(HERE, "chart--cursor"), *((letter, "chart--label") for letter in f" {HERE_IN_WORDS}  ")]
    blank = max(width - layout.labels - len(first) - len(last) - len(shown), 0)
    left = blank // 2
    text = [*((letter, "chart--label") for letter in " " * layout.labels + first + " " * left), *shown]
    text += [(letter, "chart--label") for letter in " " * (blank - left) + last]
    return text[:width]


def legend_words(series: ChartSeries) -> tuple[str, ...]:
    """Explain the marks of a chart without a legend: `▲ compaction`, `○ expired (5 min)`."""
    found = [f"{COMPACTION} compaction"] if len(series.compactions) else []
    found += [f"{FIRING} plan acts"] if len(series.firings) else []
    return (*found, *(f"{mark.glyph} {label}" for mark, label in _misses_in_words(series)))


def _misses_in_words(series: ChartSeries) -> list[tuple[MissGlyph, str]]:
    """Return the marks of the miss causes in the chart with their labels."""
    parts = []
    for mark in MARKS:
        causes = {miss.cause for miss in series.misses if mark_of(miss.cause) is mark}
        if causes:
            parts.append((mark, causes.pop().short if len(causes) == 1 else mark.label))
    return parts


def _cells(text: str, style: str, width: int) -> Iterable[Cell]:
    return [(letter, style) for letter in text[:width]]


def _runs(cells: Iterable[Cell]) -> tuple[ChartRun, ...]:
    return tuple(
        ChartRun("".join(map(itemgetter(0), group)), style) for style, group in groupby(cells, key=itemgetter(1))
    )
