"""Figure tables as values: columns, rows, cells and sorting, independent of drawing."""

from __future__ import annotations

from dataclasses import dataclass
from operator import itemgetter
from typing import TYPE_CHECKING, Final

from inspector.report.catalogue import LOWER_BOUND, legend, quantity
from inspector.report.numbers import ON_SCREEN, UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping, Sequence

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


def number_cell(text: str, short: str, figure: Figure, *, style: str = "") -> Cell:
    """Build the cell of a formatted number with its short form, adding the mark of the figure's confidence."""
    known = figure.known.value
    marked, shorter = (ON_SCREEN.qualified(each, known, is_lower_bound=figure.is_lower_bound) for each in (text, short))
    return Cell(marked, shorter, style, (known, LOWER_BOUND) if figure.is_lower_bound else (known,), figure.value)


def savings_style(savings: Savings) -> str:
    """Return the component class of a saving; losses have their own."""
    return "table--lost" if (savings.usd.value or savings.tokens.value or 0) < 0 else "table--saved"


def legend_of(table: Table) -> str:
    """Explain the marks used in a table's numbers."""
    return legend(how for row in table.rows for cell in row.cells.values() for how in cell.known)
