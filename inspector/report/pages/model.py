"""What a page is made of, whatever it is written in: sections of tables, sentences, code and charts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from inspector.report.tables import Cell, Table, rounding_note

if TYPE_CHECKING:
    from collections.abc import Iterable


@dataclass(frozen=True, slots=True)
class PageContent:
    """All of it.

    Attributes:
        title: The page's heading.
        about: What the page is of, in a sentence or two.
        lead: What matters most, in a sentence or two.
        tiles: The figures to show large.
        sections: In order.
        is_sheet: It is to be printed on one sheet of paper.
        identity: Which session it is of, where it is of one.
        legend: What the marks before the numbers at the top mean; empty where there are none.
    """

    title: str
    about: str
    lead: tuple[Line, ...]
    tiles: tuple[Tile, ...]
    sections: tuple[Section, ...]
    is_sheet: bool = False
    identity: str = ""
    legend: str = ""


@dataclass(frozen=True, slots=True)
class Tile:
    """A figure that is shown large.

    Attributes:
        title: What it is.
        cell: The figure.
        unit: What it is counted in; empty where the figure says so itself, as dollars and shares do.
        note: What else has to be known of it, in small letters below.
    """

    title: str
    cell: Cell
    unit: str = ""
    note: tuple[Cell, ...] = ()


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the page under a heading.

    Attributes:
        name: For links to it: letters and hyphens.
        title: The heading.
        parts: What stands under it, in order.
        level: 2 for a section of the page, 3 for one within it.
        folded: It is there to look things up; a page that can fold it away does.
    """

    name: str
    title: str
    parts: tuple[Part, ...]
    level: int = 2
    folded: bool = False


@dataclass(frozen=True, slots=True)
class Line:
    """A sentence, or an item of a list, made of cells that follow one another."""

    cells: tuple[Cell, ...]
    is_item: bool = False


@dataclass(frozen=True, slots=True)
class Code:
    """Something to paste elsewhere."""

    text: str
    language: str


@dataclass(frozen=True, slots=True)
class Chart:
    """A place for a picture; `Table`s that follow it say the same.

    Attributes:
        name: Which chart of `inspector.report.charts`.
        alternative: What it shows, in a sentence, for whoever does not see it.
    """

    name: str
    alternative: str


Part = Table | Line | Code | Chart


def note_line(total: float | None, parts: Iterable[float | None]) -> list[Line]:
    """Why the rows of a table do not add up to their total as they are written, where they do not.

    Args:
        total: Dollars of all rows together.
        parts: Dollars of each; None where they are not known, and in no total.
    """
    note = rounding_note(total, parts)
    return [Line((Cell(note),))] if note else []
