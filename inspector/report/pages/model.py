"""What a page is made of, whatever it is written in, and the cells that show figures of a report.

A `Cell` that shows a figure knows where that figure stands in the JSON report, so that a page can be held against it.
`FigureCells` looks it up there and nowhere else.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec

from inspector.report.layout import plain
from inspector.report.numbers import NOTHING, dollars, percent, whole
from inspector.safe_text import clip_cells

if TYPE_CHECKING:
    from collections.abc import Callable

NAME_WIDTH = 48
"""Cells of a foreign name in a table."""

Step = str | int


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


class FigureCells:
    """The figures of one report, by the names and numbers that lead to them."""

    def __init__(self, report: msgspec.Struct) -> None:
        """Take the report as the JSON would hold it."""
        self._data = msgspec.to_builtins(report)

    def value(self, *steps: Step) -> Any:
        """What the JSON report holds there; None where there is nothing."""
        found = self._data
        for step in steps:
            try:
                found = found[step]
            except (KeyError, IndexError, TypeError):
                return None
        return found

    def cell(self, written: Callable[[float | None], str], *steps: Step, marks_loss: bool = False) -> Cell:
        """One figure.

        Args:
            written: How it is written.
            steps: Where it stands.
            marks_loss: A negative one is a loss.
        """
        value = self.value(*steps)
        *above, name = steps
        known = (self.value(*above, "known") or {}).get(name, "") if value is not None else ""
        loss = marks_loss and value is not None and value < 0
        return Cell(written(value), pointer(*steps), value, known, is_loss=loss)

    def count(self, *steps: Step) -> Cell:
        """A whole number."""
        return self.cell(whole, *steps)

    def money(self, *steps: Step) -> Cell:
        """Dollars; `-` where there is no price."""
        return self.cell(lambda value: NOTHING if value is None else dollars(value), *steps)

    def saved_money(self, *steps: Step) -> Cell:
        """Dollars saved."""
        return self.cell(lambda value: NOTHING if value is None else dollars(value), *steps, marks_loss=True)

    def saved_count(self, *steps: Step) -> Cell:
        """Tokens saved."""
        return self.cell(whole, *steps, marks_loss=True)

    def percentage(self, *steps: Step) -> Cell:
        """A saving that is given as a percentage."""
        return self.cell(percent, *steps, marks_loss=True)

    def share(self, *steps: Step) -> Cell:
        """A part of 1, as a percentage."""
        return self.cell(lambda value: percent(None if value is None else 100 * value), *steps)


def pointer(*steps: Step) -> str:
    """A JSON Pointer."""
    return "".join(f"/{str(step).replace('~', '~0').replace('/', '~1')}" for step in steps)


def word(text: str) -> Cell:
    """Foreign or own words, made safe."""
    return Cell(plain(text))


def name_cell(text: str) -> Cell:
    """A foreign name in a table."""
    return Cell(clip_cells(plain(text), NAME_WIDTH))
