"""Cells that show figures of a report, each looked up where it stands in the JSON report and nowhere else."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from inspector.report.layout import plain
from inspector.report.numbers import NOTHING, dollars, percent, whole
from inspector.report.pages.model import Cell
from inspector.safe_text import clip_cells

if TYPE_CHECKING:
    from collections.abc import Callable

NAME_WIDTH = 48
"""Cells of a foreign name in a table."""

Step = str | int


class Figures:
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
