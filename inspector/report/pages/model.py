"""Elements of a page, independent of its format: sections of tables, sentences, code and charts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from inspector.report.tables import Cell, Table, rounding_note

if TYPE_CHECKING:
    from collections.abc import Iterable


@dataclass(frozen=True, slots=True)
class PageContent:
    """All content of a page.

    Attributes:
        title: The page's heading: the finding of a session's page.
        about: Subject of the page, in a sentence or two.
        lead: Main results, in a sentence or two.
        tiles: Figures in large type.
        chart: The chart above the tiles; its section has only the table.
        folds: Fold the results in sentences and all sections.
        is_sheet: Print it on one sheet of paper.
        identity: The session, if it is about a single one.
        legend: Explanation of the marks before the numbers at the top; empty if there are none.
    """

    title: str
    about: str
    lead: tuple[Line, ...]
    tiles: tuple[Tile, ...]
    sections: tuple[Section, ...]
    chart: Chart | None = None
    folds: bool = False
    is_sheet: bool = False
    identity: str = ""
    legend: str = ""


@dataclass(frozen=True, slots=True)
class Tile:
    """A figure in large type.

    Attributes:
        unit: Its unit; empty if the figure includes it, like dollars and shares.
        note: Small print below.
        most: The upper end of a range that starts at `cell`; None for a single figure.
    """

    title: str
    cell: Cell
    unit: str = ""
    note: tuple[Cell, ...] = ()
    most: Cell | None = None

    @property
    def text(self) -> str:
        """The figure or the range, with its marks."""
        return self.cell.shown if self.most is None else f"{self.cell.shown} to {self.most.shown}"


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the page under a heading.

    Attributes:
        name: Anchor: letters and hyphens.
        level: 2 for a section of the page, 3 for a subsection.
        folded: Reference material, folded where the format supports it.
    """

    name: str
    title: str
    parts: tuple[Part, ...]
    level: int = 2
    folded: bool = False


@dataclass(frozen=True, slots=True)
class Line:
    """A sentence, or an item of a list, made of consecutive cells."""

    cells: tuple[Cell, ...]
    is_item: bool = False

    @classmethod
    def of(cls, *parts: Cell | str, is_item: bool = False) -> Line:
        """Create a line from cells and texts."""
        return cls(tuple(Cell(part) if isinstance(part, str) else part for part in parts), is_item)


@dataclass(frozen=True, slots=True)
class Code:
    """Text to paste elsewhere."""

    text: str
    language: str


@dataclass(frozen=True, slots=True)
class Chart:
    """A placeholder for a named chart, with a sentence for readers who cannot see it; `Table`s follow."""

    name: str
    alternative: str


Part = Table | Line | Code | Chart


def note_line(total: float | None, parts: Iterable[float | None]) -> list[Line]:
    """Explain why dollars, None if unknown, do not add up to their total as written; empty if they do."""
    note = rounding_note(total, parts)
    return [Line.of(note)] if note else []
