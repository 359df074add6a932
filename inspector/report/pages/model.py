"""What a page is made of, whatever it is written in.

A `Cell` that shows a figure knows where that figure stands in the JSON report, so that a page can be held against it.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Cell:
    """A piece of text in a page.

    Attributes:
        text: As it is shown; foreign text is safe already, and never markup.
        pointer: Where the figure it shows stands in the JSON report, as a JSON Pointer (RFC 6901); empty for words.
        value: That figure, for programs and for bars; None for words and for what is not known.
        known: How it is known; empty for words.
        is_loss: It says that something costs more.
        is_code: It is something to type or to paste.
    """

    text: str
    pointer: str = ""
    value: float | None = None
    known: str = ""
    is_loss: bool = False
    is_code: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of cells.

    Attributes:
        caption: What the rows are of.
        head: Titles of the columns.
        rows: As many cells each as there are titles; the first names the row.
        right: Columns whose cells stand at the right: numbers.
    """

    caption: str
    head: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    right: frozenset[int]


@dataclass(frozen=True, slots=True)
class Line:
    """A sentence, or an item of a list, made of cells that follow one another."""

    cells: tuple[Cell, ...]
    is_item: bool = False

    @property
    def known(self) -> str:
        """How its figures are known, where not exactly and the words do not say so already; else empty."""
        known = [cell.known for cell in self.cells if cell.known not in ("", "exact")]
        said = "".join(cell.text for cell in self.cells)
        return known[0] if known and known[0] not in said else ""


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
class PageContent:
    """All of it.

    Attributes:
        title: The page's heading.
        about: What the page is, in a sentence.
        lead: What matters most, in a sentence or two.
        figures: The figures to show large, each with what it is of.
        sections: In order.
    """

    title: str
    about: str
    lead: tuple[Line, ...]
    figures: tuple[tuple[str, Cell], ...]
    sections: tuple[Section, ...]
