"""A table of figures as values: columns, rows, cells, and sorting. How it is drawn is another module's."""

from __future__ import annotations

from dataclasses import dataclass
from operator import itemgetter
from typing import TYPE_CHECKING, Final

from inspector.report.catalogue import LEAST, legend, quantity
from inspector.report.numbers import ON_SCREEN, UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping

    from msgspec import Struct

    from inspector.replay.analysis.plan_outcome import Savings
    from inspector.replay.figure import Figure


@dataclass(frozen=True, slots=True)
class Column:
    """A column.

    Attributes:
        name: What it is called by, and the key of its cells.
        title: What stands over it.
        width: Cells it has at least.
        most: Cells it has at most, where there is room to spare; as `width` where not given.
        is_text: Set at the left, as texts are; numbers stand at the right.
        is_bar: Holds bars.
        short: A shorter title, where there is no room for the other.
        rank: The column of the highest rank is left out first where there is no room; 0 always stays.
        falls: Sorting by it begins with the largest.
        wide: The least width from which on it is worth having, for the whole table.
        keeps_end: Texts that do not fit are cut in their middle: where they begin alike, their ends tell them apart.
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
        """A column for a figure of the catalogue, titled as the catalogue says.

        Args:
            kind: The type the figure belongs to.
            path: The figure in it, by a path of fields; its last is the column's name.
            width: Cells it has at least.
            most: Cells it has at most.
            rank: The column of the highest rank is left out first.
        """
        entry = quantity(kind, path)
        return cls(entry.name, entry.label, width, most, short=entry.short, rank=rank)


@dataclass(frozen=True, slots=True)
class Length:
    """A bar: two lengths in one.

    Attributes:
        sent: What is there.
        recorded: What would be there; what is above `sent` was cut.
        full: What fills the column.
    """

    sent: float
    recorded: float
    full: float


@dataclass(frozen=True, slots=True)
class Cell:
    """What one row says in one column.

    Attributes:
        text: Safe, on one line.
        short: The same in fewer cells, where the column is too narrow for `text`; empty for cutting it.
        style: Component class it is drawn in; empty for the row's own.
        known: How the number is known, and `LEAST` where it is more than that; none for words. The text has the mark.
        order: What the column is sorted by; rows without it come last.
        length: The bar, in a column of bars.
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
        key: What it is known by while others come and go.
        cells: By the column's name.
        mark: One cell before the row.
        style: Component class of what has none of its own.
        is_first: Stays above all others, however they are sorted.
        words: Safe text over all columns, in place of cells; such a row stays below all others.
    """

    key: Hashable
    cells: Mapping[str, Cell]
    mark: str = " "
    style: str = ""
    is_first: bool = False
    words: str = ""


@dataclass(frozen=True, slots=True)
class Sorting:
    """How rows are sorted.

    Attributes:
        column: The column's name; empty for the order they were given in.
        falls: The largest first.
    """

    column: str = ""
    falls: bool = True


@dataclass(frozen=True, eq=False)
class Table:
    """Columns and rows; equal only to itself.

    Attributes:
        columns: From left to right.
        rows: In their own order.
    """

    columns: tuple[Column, ...] = ()
    rows: tuple[FigureRow, ...] = ()

    def sorted(self, sorting: Sorting) -> Table:
        """The table with its rows sorted; rows that are equal keep their order, rows without a value come last."""
        if not sorting.column:
            return self
        below = tuple(row for row in self.rows if row.words)
        known: list[tuple[tuple[str, float], FigureRow]] = []
        first: list[FigureRow] = []
        last: list[FigureRow] = []
        for row in self.rows:
            order = row.cells.get(sorting.column, EMPTY).order
            if row.words:
                continue
            if row.is_first:
                first.append(row)
            elif order is None:
                last.append(row)
            else:
                known.append(((order.casefold(), 0.0) if isinstance(order, str) else ("", order), row))
        known.sort(key=itemgetter(0), reverse=sorting.falls)
        return Table(self.columns, (*first, *(row for _, row in known), *last, *below))


def figure_cell(
    figure: Figure,
    written: Callable[[float], str],
    shorter: Callable[[float], str] | None = None,
    *,
    style: str = "",
) -> Cell:
    """A figure as a cell.

    Args:
        figure: The figure.
        written: How it is written.
        shorter: How it is written where that is too long.
        style: Component class.
    """
    if figure.value is None:
        return Cell(UNKNOWN, "?", "table--faint")
    short = shorter(figure.value) if shorter is not None else ""
    return number_cell(written(figure.value), short, figure, style=style)


def number_cell(text: str, short: str, figure: Figure, *, style: str = "") -> Cell:
    """A number that is written already, with the mark for how it is known.

    Args:
        text: The number.
        short: The same in fewer cells; empty for none.
        figure: What it is, and what the column is sorted by.
        style: Component class.
    """
    known = figure.known.value
    marked, shorter = (ON_SCREEN.marked(each, known, is_least=figure.is_least) for each in (text, short))
    return Cell(marked, shorter, style, (known, LEAST) if figure.is_least else (known,), figure.value)


def savings_style(savings: Savings) -> str:
    """The component class of a saving: a loss looks like one."""
    return "table--lost" if (savings.usd.value or savings.tokens.value or 0) < 0 else "table--saved"


def legend_of(table: Table) -> str:
    """What the marks before a table's numbers mean, those that are used."""
    return legend(how for row in table.rows for cell in row.cells.values() for how in cell.known)
