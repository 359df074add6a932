"""Tables of figures for display, independent of the output format.

A `Cell` with a figure holds the figure's location in the JSON report, so that a page can be verified against it.
`FigureCells` reads figures only from there, and formats them by the catalogue.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from inspector.replay.quantity import quantities, quantity
from inspector.report.catalogue import format_figure
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
        text: Display text; foreign text is sanitized, and never markup.
        pointer: Location of the figure in the JSON report, as a JSON Pointer (RFC 6901); empty for words.
        value: The figure, for programs and for bars; None for words and unknown values.
        known: Certainty of the figure; empty for words.
        is_loss: The figure is an extra cost.
        is_code: Text to type or paste.
        is_lower_bound: The figure is a lower bound.
    """

    text: str
    pointer: str = ""
    value: float | None = None
    known: str = ""
    is_loss: bool = False
    is_code: bool = False
    is_lower_bound: bool = False

    @property
    def mark(self) -> str:
        """Mark before the number for its certainty: `~`, or nothing."""
        return self.shown.removesuffix(self.text)

    @property
    def shown(self) -> str:
        """Text with its mark."""
        return IN_TEXT.qualified(self.text, self.known, is_lower_bound=self.is_lower_bound)


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of cells.

    Attributes:
        caption: Subject of the rows.
        head: Titles of the columns.
        rows: One cell per title each; the first names the row.
        words: Number of text columns at the left.
        numbers: Number of right-aligned number columns after them; None for all.
    """

    caption: str
    head: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    words: int = 1
    numbers: int | None = None

    def is_number(self, column: int) -> bool:
        """Return True if a column holds numbers."""
        return column >= self.words and (self.numbers is None or column < self.words + self.numbers)


class FigureCells:
    """The figures of one report as cells, by their path in the report."""

    def __init__(self, report: Struct) -> None:
        self._report = report

    def value(self, *steps: Step) -> Any:
        """Return the value at a path; None if there is none."""
        found: Any = self._report
        for step in steps:
            try:
                found = getattr(found, str(step)) if isinstance(found, Struct) else found[step]
            except (AttributeError, KeyError, IndexError, TypeError):
                return None
        return found

    def cell(self, *steps: Step) -> Cell:
        """Format a figure by the catalogue, or as a plain count if it is not in the catalogue."""
        *above, name = steps
        value, holder = self.value(*steps), self.value(*above)
        entry = quantities(type(holder)).get(str(name)) if isinstance(holder, Struct) else None
        hows: Mapping[str, str] = getattr(holder, "known", {})
        text = IN_TEXT.whole(value) if entry is None else format_figure(entry, value)
        if not text:
            return Cell("")
        return Cell(
            text,
            pointer(*steps),
            value,
            hows.get(str(name), "") if value is not None else "",
            is_loss=entry is not None and entry.is_loss(value),
            is_lower_bound=str(name) in getattr(holder, "at_least", ()),
        )

    def cost_with_plan(self, before: float | None, *steps: Step) -> Cell:
        """Format a plan's cost, or a loss, so that it adds up with the remainder as written.

        Args:
            before: Dollars without it.
            steps: Path of the figure.
        """
        cell = self.cell(*steps)
        if cell.value is None:
            return cell
        return replace(cell, text=IN_TEXT.dollars(IN_TEXT.cost_with_plan(before, cell.value)))

    def parts(self, total: float | None, *places: tuple[Step, ...]) -> list[Cell]:
        """Format the parts of a total, each by its path, so that they add up as written."""
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
        """Build a table with a column per figure, titled by the catalogue.

        Args:
            caption: Subject of the rows.
            head: Titles of the text columns at the left.
            rows: Cells of these columns, and the path of the row's figures.
            kind: The type that holds the figures.
            paths: The figures, each by a path of fields such as `saved.usd`.
            titles: Titles by path that differ from the catalogue.
        """
        words, titles = tuple(head), titles or {}
        found = [(*named, *(self.cell(*steps, *path.split(".")) for path in paths)) for named, steps in rows]
        labels = (titles.get(path) or quantity(kind, path).label for path in paths)
        return Table(caption, (*words, *labels), tuple(found), len(words))


def rounding_note(total: float | None, parts: Iterable[float | None]) -> str:
    """Explain why rows of dollars do not add up to their total as written; empty if they do.

    Args:
        total: Dollars of all rows together.
        parts: Dollars of each; None if unknown and not in any total.
    """
    together = IN_TEXT.sum_of_dollars([part for part in parts if part is not None])
    if total is None or together is None or IN_TEXT.dollars(together) == IN_TEXT.dollars(total):
        return ""
    return (
        f"Amounts are rounded separately: as written they add up to {IN_TEXT.dollars(together)}, unrounded to "
        f"{IN_TEXT.dollars(total)}."
    )


def pointer(*steps: Step) -> str:
    return "".join(f"/{str(step).replace('~', '~0').replace('/', '~1')}" for step in steps)


def word(text: str) -> Cell:
    """Build a cell of sanitized words."""
    return Cell(plain(text))


def name_cell(text: str) -> Cell:
    """Build a cell of a foreign name."""
    return Cell(clip_cells(plain(text), NAME_WIDTH))
