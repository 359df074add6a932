"""Dialog that compares two plans: their figures, and the settings that differ."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from rich.cells import cell_len
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Static

from inspector.safe_text import clip_cells
from inspector.ui.actions.action import bindings
from inspector.ui.actions.screens import DIFFERENCE
from inspector.ui.dialogs.dialog import Dialog, key_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.app import ComposeResult
    from textual.binding import BindingType

    from inspector.ui.plan.difference import DifferenceRow

WIDEST_CELL = 24
GAP = 2


class DifferenceScreen(Dialog[None]):
    """Comparison over the main screen."""

    BINDINGS: ClassVar[list[BindingType]] = bindings(DIFFERENCE)

    def __init__(
        self, here: str, there: str, figures: Sequence[DifferenceRow], settings: Sequence[DifferenceRow]
    ) -> None:
        """Create the screen.

        Args:
            here: Name of the plan on the screen.
            there: Name of the other plan.
            figures: Their figures.
            settings: Settings that differ.
        """
        super().__init__()
        self._names = here, there
        self._figures = figures
        self._settings = settings

    def compose(self) -> ComposeResult:
        here, there = self._names
        with VerticalScroll(classes="dialog section", id="difference") as box:
            box.border_title = Content(f"Plan {here} and plan {there}")
            box.border_subtitle = key_words(("esc closes", "dismiss"), (f"a switches to {there}", "swap"))
            yield Static(self._text(), markup=False)

    def _text(self) -> Content:
        here, there = self._names
        head = ("", f"plan {here}", f"plan {there}", f"change to {there}")
        lines = [*_table(head, self._figures), Content("")]
        if self._settings:
            lines += _table(("settings", f"plan {here}", f"plan {there}", ""), self._settings)
        else:
            lines.append(Content("Both have the same strategies and settings."))
        return Content("\n").join(lines)

    def action_swap(self) -> None:
        """Switch to the other plan."""
        self.dismiss(None)
        self.app.call_later(self.app.run_action, "screen.do('plan.swap')")


def _table(head: tuple[str, ...], rows: Sequence[DifferenceRow]) -> list[Content]:
    texts = [tuple(clip_cells(cell, WIDEST_CELL + 10 * (place == 0)) for place, cell in enumerate(row)) for row in rows]
    widths = [max(cell_len(cell) for cell in column) for column in zip(head, *texts, strict=True)]
    lines = [Content.styled(_line(head, widths), "bold")]
    return lines + [Content(_line(cells, widths)) for cells in texts]


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    """Format a row: the name on the left, values right-aligned in their columns."""
    padded = []
    for place, (cell, width) in enumerate(zip(cells, widths, strict=True)):
        blank = " " * (width - cell_len(cell))
        padded.append(cell + blank if place == 0 else blank + cell)
    return (" " * GAP).join(padded).rstrip()
