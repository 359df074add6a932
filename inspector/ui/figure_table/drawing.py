"""Figure tables as pieces of text: optional columns, aligned numbers, and bars."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from inspector.safe_text import cell_width, cut_middle, fit_cells
from inspector.ui.figure_table.table import EMPTY
from inspector.ui.toolkit.bars import bar

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from inspector.ui.figure_table.table import Cell, Column, FigureRow, Sorting

Piece = tuple[str, str]
"""Safe text and its component class; an empty class uses the row's style."""

CURSOR: Final = "▶"
GUTTER: Final = 2
"""Cells at the left: the cursor and the row's mark."""

GAP: Final = 1

DESCENDING, ASCENDING = "▾", "▴"

HEADER, SORTED, MARK = "table--header", "table--sorted", "table--mark"
SENT, CUT = "table--sent", "table--cut"


def widths_for(columns: Sequence[Column], width: int) -> dict[str, int]:
    """Choose the visible columns and their widths in cells, by name, left to right.

    The least important columns are dropped until the rest fits `width`, which includes the gutter; the remaining width
    is distributed cell by cell to the columns that can use it.
    """
    shown = [column for column in columns if column.wide <= width]
    while len(shown) > 1 and _needed(shown) > width:
        place = max(range(len(shown)), key=lambda index: (shown[index].rank, index))
        if not shown[place].rank:
            break
        del shown[place]
    widths = {column.name: column.width for column in shown}
    room = width - _needed(shown)
    growing = [column for column in shown if column.most > column.width]
    while room > 0 and growing:
        for column in growing[:room]:
            widths[column.name] += 1
        room -= len(growing[:room])
        growing = [column for column in growing if widths[column.name] < column.most]
    if room < 0 and shown:
        widest = max(widths, key=lambda name: widths[name])
        widths[widest] = max(widths[widest] + room, 1)
    return widths


def _needed(columns: Sequence[Column]) -> int:
    return GUTTER + sum(column.width for column in columns) + GAP * max(len(columns) - 1, 0)


def header_pieces(columns: Sequence[Column], widths: Mapping[str, int], sorting: Sorting) -> list[Piece]:
    """Render the titles, with a mark on the sorted column."""
    pieces: list[Piece] = [(" " * GUTTER, HEADER)]
    for column in columns:
        cells = widths.get(column.name)
        if cells is None:
            continue
        if len(pieces) > 1:
            pieces.append((" " * GAP, HEADER))
        is_sorted = column.name == sorting.column
        title = column.short if column.short and cell_width(column.title) + is_sorted > cells else column.title
        if is_sorted:
            mark = DESCENDING if sorting.falls else ASCENDING
            title = f"{mark}{title}" if _is_right(column) else f"{title}{mark}"
        text = fit_cells(title, cells, align_right=_is_right(column))
        pieces.append((text, SORTED if is_sorted else HEADER))
    return pieces


def column_at(columns: Sequence[Column], widths: Mapping[str, int], x: int) -> Column | None:
    """Return the column at a cell; None between and outside columns."""
    left = GUTTER
    for column in columns:
        cells = widths.get(column.name)
        if cells is None:
            continue
        if left <= x < left + cells:
            return column
        left += cells + GAP
    return None


def shortened(columns: Sequence[Column], widths: Mapping[str, int], rows: Iterable[FigureRow]) -> frozenset[str]:
    """Return the number columns with a value too long for full length; all their values are shown short."""
    by_name = {column.name: widths[column.name] for column in columns if column.name in widths and _is_right(column)}
    found: set[str] = set()
    for row in rows:
        for name, cell in row.cells.items():
            if name in by_name and name not in found and cell.short and cell_width(cell.text) > by_name[name]:
                found.add(name)
    return frozenset(found)


def row_pieces(
    columns: Sequence[Column],
    widths: Mapping[str, int],
    row: FigureRow,
    *,
    selected: bool,
    logarithmic: bool = False,
    short: Collection[str] = (),
) -> list[Piece]:
    """Render one row, left to right; `widths` are from `widths_for`, `short` from `shortened`."""
    pieces: list[Piece] = [(CURSOR if selected else " ", MARK), (row.mark, MARK)]
    if row.words:
        room = sum(widths.values()) + GAP * max(len(widths) - 1, 0)
        return [*pieces, (fit_cells(row.words, room), row.style)]
    for column in columns:
        cells = widths.get(column.name)
        if cells is None:
            continue
        if len(pieces) > GUTTER:
            pieces.append((" " * GAP, row.style))
        cell = row.cells.get(column.name, EMPTY)
        if column.is_bar:
            pieces += _bar(cell, cells, row.style, logarithmic=logarithmic)
        else:
            pieces += _text(column, cell, cells, row.style, is_short=column.name in short)
    return pieces


def _text(column: Column, cell: Cell, width: int, row_style: str, *, is_short: bool) -> list[Piece]:
    style = cell.style or row_style
    text = cell.short if cell.short and (is_short or cell_width(cell.text) > width) else cell.text
    if column.keeps_end:
        text = cut_middle(text, width)
    return [(fit_cells(text, width, align_right=not column.is_text), style)]


def _bar(cell: Cell, width: int, row_style: str, *, logarithmic: bool) -> list[Piece]:
    length = cell.length
    if length is None:
        return [(" " * width, row_style)]
    sent, rest = bar(
        round(length.sent), round(length.recorded), max(round(length.full), 1), width, logarithmic=logarithmic
    )
    return [(sent, cell.style or SENT), (rest, CUT), (" " * (width - len(sent) - len(rest)), row_style)]


def _is_right(column: Column) -> bool:
    return not column.is_text and not column.is_bar
