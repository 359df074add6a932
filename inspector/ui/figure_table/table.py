"""Figure tables as values: columns, rows, cells and sorting, independent of drawing."""

from __future__ import annotations

from dataclasses import dataclass
from operator import itemgetter
from typing import TYPE_CHECKING, Final

from inspector.replay.quantity import FigureResult, Unit, quantities, quantity
from inspector.report.catalogue import LOWER_BOUND, legend
from inspector.report.numbers import ON_SCREEN, UNKNOWN
from inspector.safe_text import cell_width, cut_middle, fit_cells
from inspector.ui.toolkit.bars import bar

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence

    from msgspec import Struct

    from inspector.replay.analysis.plan_outcome import Savings
    from inspector.replay.figure import Figure


@dataclass(frozen=True, slots=True)
class Column:
    """A column.

    Attributes:
        name: Identifier and key of its cells.
        title: Title above the column.
        width: Minimum width in cells.
        most: Maximum width in cells if space remains; `width` by default.
        is_text: Aligned to the left like text; numbers are aligned to the right.
        is_bar: Contains bars.
        short: Shorter title for narrow columns.
        rank: The highest rank is dropped first if space is short; 0 is never dropped.
        falls: Sort descending at first.
        wide: Minimum table width at which the column is shown.
        keeps_end: Cut long texts in the middle, because their ends distinguish them.
    """

    name: str
    title: str
    width: int
    most: int = 0
    is_text: bool = False
    is_bar: bool = False
    short: str = ""
    rank: int = 0
    falls: bool = True
    wide: int = 0
    keeps_end: bool = False

    @classmethod
    def of(cls, kind: type[Struct], path: str, width: int, most: int = 0, *, rank: int = 0) -> Column:
        """Build a column for a figure of the catalog with its label; the path's last field is the column's name."""
        entry = quantity(kind, path)
        return cls(entry.name, entry.label, width, most, short=entry.short, rank=rank)


@dataclass(frozen=True, slots=True)
class Length:
    """A bar with two lengths.

    Attributes:
        sent: The sent amount.
        recorded: The full amount; the excess over `sent` was cut.
        full: The amount that fills the column.
    """

    sent: float
    recorded: float
    full: float


@dataclass(frozen=True, slots=True)
class Cell:
    """Content of one row in one column.

    Attributes:
        text: One safe line.
        short: Shorter form for narrow columns; if empty, `text` is cut.
        style: Component class; empty for the row's style.
        known: Confidence of the number, and `LEAST` for a lower bound; empty for words. The text includes the mark.
        order: Sort key; rows without it come last.
        length: The bar in a bar column.
    """

    text: str = ""
    short: str = ""
    style: str = ""
    known: tuple[str, ...] = ()
    order: float | str | None = None
    length: Length | None = None


EMPTY: Final = Cell()


@dataclass(frozen=True, slots=True)
class FigureRow:
    """A row.

    Attributes:
        key: Stable identity across updates.
        cells: Cells by column name.
        mark: One-cell mark before the row.
        style: Component class of cells without their own.
        is_first: Always above the other rows of its group.
        words: Safe text across all columns instead of cells; such rows are last in their group unless `is_first`.
        group: Rows of a higher group are below, regardless of the sort order.
    """

    key: Hashable
    cells: Mapping[str, Cell]
    mark: str = " "
    style: str = ""
    is_first: bool = False
    words: str = ""
    group: int = 0


@dataclass(frozen=True, slots=True)
class Sorting:
    """Sort order of the rows.

    Attributes:
        column: The column's name; empty for the original order.
        falls: Descending.
    """

    column: str = ""
    falls: bool = True


@dataclass(frozen=True, eq=False)
class Table:
    """Columns and rows; compared by identity.

    Attributes:
        columns: Left to right.
        rows: In original order.
    """

    columns: tuple[Column, ...] = ()
    rows: tuple[FigureRow, ...] = ()

    def sorted(self, sorting: Sorting) -> Table:
        """Return the table sorted stably by group, then by a column; rows without a value come last in their group."""
        if not sorting.column:
            return self
        groups = sorted({row.group for row in self.rows})
        found = [_sorted([row for row in self.rows if row.group == group], sorting) for group in groups]
        return Table(self.columns, tuple(row for rows in found for row in rows))


def _sorted(rows: Sequence[FigureRow], sorting: Sorting) -> list[FigureRow]:
    """Sort the rows of one group."""
    known: list[tuple[tuple[str, float], FigureRow]] = []
    first: list[FigureRow] = []
    last: list[FigureRow] = []
    below: list[FigureRow] = []
    for row in rows:
        order = row.cells.get(sorting.column, EMPTY).order
        if row.is_first:
            first.append(row)
        elif row.words:
            below.append(row)
        elif order is None:
            last.append(row)
        else:
            known.append(((order.casefold(), 0.0) if isinstance(order, str) else ("", order), row))
    known.sort(key=itemgetter(0), reverse=sorting.falls)
    return [*first, *(row for _, row in known), *last, *below]


def figure_cell(
    figure: Figure,
    written: Callable[[float], str],
    shorter: Callable[[float], str] | None = None,
    *,
    style: str = "",
) -> Cell:
    """Build the cell of a figure; `shorter` formats it for narrow columns."""
    if figure.value is None:
        return Cell(UNKNOWN, "?", "table--faint")
    short = shorter(figure.value) if shorter is not None else ""
    return number_cell(written(figure.value), short, figure, style=style)


def result_cells(row: FigureResult, *names: str, **styles: str) -> dict[str, Cell]:
    """Build the cells of a result's figures, by name, formatted by the catalogue; `styles` are classes by name."""
    cells = {}
    for name in names:
        figure, style = row.figure(name), styles.get(name, "")
        match quantities(type(row))[name].unit:
            case Unit.DOLLARS:
                cells[name] = figure_cell(figure, ON_SCREEN.dollars, style=style)
            case Unit.SHARE:
                cells[name] = figure_cell(figure, ON_SCREEN.share, style=style)
            case _:
                cells[name] = figure_cell(figure, ON_SCREEN.whole, ON_SCREEN.short, style=style)
    return cells


def number_cell(text: str, short: str, figure: Figure, *, style: str = "") -> Cell:
    """Build the cell of a formatted number with its short form, adding the mark of the figure's confidence."""
    known = figure.known.value
    marked, shorter = (ON_SCREEN.qualified(each, known, is_lower_bound=figure.is_lower_bound) for each in (text, short))
    return Cell(marked, shorter, style, (known, LOWER_BOUND) if figure.is_lower_bound else (known,), figure.value)


def savings_style(savings: Savings, *, is_sure: bool) -> str:
    """Return the component class of a saving: green only if its whole net range is positive, red for a loss."""
    if (savings.usd.value or savings.tokens.value or 0) < 0:
        return "table--lost"
    return "table--saved" if is_sure else ""


def legend_of(table: Table) -> str:
    """Explain the marks used in a table's numbers."""
    return legend(how for row in table.rows for cell in row.cells.values() for how in cell.known)


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
