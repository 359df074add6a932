"""Tables of figures for people, whatever they are written in: text, Markdown or HTML.

A `Cell` that shows a figure knows where that figure stands in the JSON report, so that a page can be held against
it. `FigureCells` looks it up there and nowhere else, and writes it as the catalogue says.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from inspector.report.catalogue import quantities, quantity
from inspector.report.layout import plain
from inspector.report.numbers import IN_TEXT
from inspector.safe_text import clip_cells

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

NAME_WIDTH = 48
"""Cells of a foreign name in a table."""

Step = str | int


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
        is_least: The figure is more than that: nothing tells the rest.
    """

    text: str
    pointer: str = ""
    value: float | None = None
    known: str = ""
    is_loss: bool = False
    is_code: bool = False
    is_least: bool = False

    @property
    def mark(self) -> str:
        """What stands before the number for how it is known: `~`, or nothing."""
        return self.shown.removesuffix(self.text)

    @property
    def shown(self) -> str:
        """The text with that mark."""
        return IN_TEXT.marked(self.text, self.known, is_least=self.is_least)


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of cells.

    Attributes:
        caption: What the rows are of.
        head: Titles of the columns.
        rows: As many cells each as there are titles; the first names the row.
        words: How many columns at the left hold words.
        numbers: How many behind these hold numbers, which stand at the right; None for all.
    """

    caption: str
    head: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    words: int = 1
    numbers: int | None = None

    def is_number(self, column: int) -> bool:
        """Whether a column holds numbers."""
        return column >= self.words and (self.numbers is None or column < self.words + self.numbers)


class FigureCells:
    """The figures of one report as cells, by the names and numbers that lead to them."""

    def __init__(self, report: Struct) -> None:
        self._report = report

    def value(self, *steps: Step) -> Any:
        """What the report holds there; None where there is nothing."""
        found: Any = self._report
        for step in steps:
            try:
                found = getattr(found, str(step)) if isinstance(found, Struct) else found[step]
            except (AttributeError, KeyError, IndexError, TypeError):
                return None
        return found

    def cell(self, *steps: Step) -> Cell:
        """One figure, written as the catalogue says; a plain count where it is none of the catalogue."""
        *above, name = steps
        value, holder = self.value(*steps), self.value(*above)
        entry = quantities(type(holder)).get(str(name)) if isinstance(holder, Struct) else None
        hows: Mapping[str, str] = getattr(holder, "known", {})
        text = IN_TEXT.whole(value) if entry is None else entry.written(value)
        if not text:
            return Cell("")
        return Cell(
            text,
            pointer(*steps),
            value,
            hows.get(str(name), "") if value is not None else "",
            is_loss=entry is not None and entry.is_loss(value),
            is_least=str(name) in getattr(holder, "at_least", ()),
        )

    def cost_with_plan(self, before: float | None, *steps: Step) -> Cell:
        """What a plan costs, or part of a saving is lost to, so that the rest and it add up as they are written.

        Args:
            before: Dollars without it.
            steps: Where the figure stands.
        """
        cell = self.cell(*steps)
        if cell.value is None:
            return cell
        return replace(cell, text=IN_TEXT.dollars(IN_TEXT.cost_with_plan(before, cell.value)))

    def parts(self, total: float | None, *places: tuple[Step, ...]) -> list[Cell]:
        """Dollars that make up a total, each by the steps to it, written so that they add up to it."""
        cells = [self.cell(*steps) for steps in places]
        written = IN_TEXT.dollars_of_parts(total, [cell.value for cell in cells])
        return [replace(cell, text=text) for cell, text in zip(cells, written, strict=True)]

    def table(
        self,
        caption: str,
        head: Iterable[str],
        rows: Iterable[tuple[tuple[Cell, ...], tuple[Step, ...]]],
        kind: type[Struct],
        *paths: str,
        titles: Mapping[str, str] | None = None,
    ) -> Table:
        """A table with a column a figure, titled as the catalogue says.

        Args:
            caption: What the rows are of.
            head: Titles of the columns at the left, which hold words.
            rows: What stands in these, and where the row's figures are.
            kind: The type of what is there.
            paths: The figures, each by a path of fields, as in `saved.usd`.
            titles: By path, titles for where another word is meant.
        """
        words, titles = tuple(head), titles or {}
        found = [(*named, *(self.cell(*steps, *path.split(".")) for path in paths)) for named, steps in rows]
        labels = (titles.get(path) or quantity(kind, path).label for path in paths)
        return Table(caption, (*words, *labels), tuple(found), len(words))


def rounding_note(total: float | None, parts: Iterable[float | None]) -> str:
    """Why rows of dollars do not add up to their total as they are written; empty where they do.

    Args:
        total: Dollars of all rows together.
        parts: Dollars of each; None where they are not known, and in no total.
    """
    together = IN_TEXT.sum_of_dollars([part for part in parts if part is not None])
    if total is None or together is None or IN_TEXT.dollars(together) == IN_TEXT.dollars(total):
        return ""
    return (
        f"Each amount is rounded by itself: as written they add up to {IN_TEXT.dollars(together)}, and unrounded to "
        f"{IN_TEXT.dollars(total)}."
    )


def pointer(*steps: Step) -> str:
    """A JSON Pointer."""
    return "".join(f"/{str(step).replace('~', '~0').replace('/', '~1')}" for step in steps)


def word(text: str) -> Cell:
    """Foreign or own words, made safe."""
    return Cell(plain(text))


def name_cell(text: str) -> Cell:
    """A foreign name in a table."""
    return Cell(clip_cells(plain(text), NAME_WIDTH))
