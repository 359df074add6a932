"""Full explanation of a figure (formula, inputs, source), with neighboring figures one key away."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from rich.cells import cell_len
from textual import on
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Static

from inspector.report.monthly_saving import explained_value
from inspector.report.numbers import ON_SCREEN
from inspector.report.uncertainty import REPLAY_CAVEAT
from inspector.safe_text import one_line
from inspector.ui.actions.action import bindings
from inspector.ui.actions.screens import EXPLAIN
from inspector.ui.dialogs.dialog import Dialog, framed
from inspector.ui.figure_table.table import Cell, Column, FigureRow, Table
from inspector.ui.figure_table.widget import FigureTable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.app import ComposeResult
    from textual.binding import BindingType

    from inspector.replay.explain.explanation import Explanation


FAINT = "$text-muted"

MEANINGS = {
    "exact": "exact: reported by the provider, or counted in the file",
    "calibrated": "calibrated: fitted to reported usage",
    "estimated": "estimated: local estimate or default",
    "projected": "projected: for calls that did not happen",
}
"""Explanation of each confidence, as a full line."""


@dataclass(frozen=True, slots=True)
class Explained:
    """A figure and its explanation.

    Attributes:
        name: Name of the figure; may hold session text.
        explanation: How it is calculated.
        shown: The figure as displayed on the screen; empty for the default format.
    """

    name: str
    explanation: Explanation
    shown: str = ""


def explanation_content(explanation: Explanation, *, in_lines: bool) -> Content:
    """Render the formula, the confidence, the inputs and the sources of a figure.

    Args:
        explanation: The explanation.
        in_lines: Put every input on its own line instead of in one paragraph.
    """
    numbered = [
        Content.assemble((f"{one_line(given.label).strip()} ", FAINT), written)
        for given, written in zip(explanation.inputs, _written(explanation), strict=True)
    ]
    if in_lines:
        given = Content("\n").join([Content.assemble("  ", each) for each in numbered])
    else:
        given = Content.styled(" · ", FAINT).join(numbered)
    parts = [
        Content.styled(f"{explanation.formula[:1].upper()}{explanation.formula[1:]}.", "bold"),
        Content.styled(f"{MEANINGS[explanation.known.value]}.", ""),
        *([given] if numbered else []),
        Content.styled(f"Source: {one_line(explanation.source)}.", FAINT),
        *([Content.styled(f"{REPLAY_CAVEAT}.", FAINT)] if in_lines else []),
    ]
    return Content("\n").join(parts)


def _written(explanation: Explanation) -> list[str]:
    """Format the inputs. Dollars that add up to the figure are rounded as in the cost table."""
    amounts = [given.value for given in explanation.inputs if given.is_part]
    parts = iter(ON_SCREEN.dollars_of_parts(explanation.value, [each for each in amounts if not isinstance(each, str)]))
    return [
        next(parts) if given.is_part else ON_SCREEN.quantity(given.value, given.unit) for given in explanation.inputs
    ]


LONGEST_VALUE = 24

LEAST_ROWS = 6


class ExplainedFigures(FigureTable):
    """Table of the explained figures."""

    HELP = "Figures from the screen. Below is the calculation of the one under the cursor."


class ExplainScreen(Dialog[None]):
    """Dialog over the screen with the explained figures."""

    DEFAULT_CSS = """
    ExplainScreen {
        align: center middle;
        & > .dialog { width: 90%; max-width: 110; height: auto; max-height: 95%; }
        & ExplainedFigures { height: auto; margin-bottom: 1; }
        & VerticalScroll { height: auto; max-height: 24; scrollbar-size-vertical: 1; }
    }
    """

    BINDINGS: ClassVar[list[BindingType]] = bindings(EXPLAIN)

    def __init__(self, figures: Sequence[Explained], first: int = 0) -> None:
        """Create the screen.

        Args:
            figures: Figures to explain; at least one.
            first: Index of the initial one.
        """
        super().__init__()
        self._figures = figures
        self._first = first

    def compose(self) -> ComposeResult:
        with framed(
            "Calculation",
            *([("↑↓ another figure", "")] if len(self._figures) > 1 else []),
            ("esc closes", "dismiss"),
        ):
            yield ExplainedFigures(id="explained")
            with VerticalScroll(can_focus=len(self._figures) == 1):
                yield Static(id="explanation", markup=False)

    def on_mount(self) -> None:
        table = self.query_one(ExplainedFigures)
        table.styles.height = min(len(self._figures), max(LEAST_ROWS, self.app.size.height // 2 - 5)) + 1
        table.table = _table(self._figures)
        table.focus()
        table.move_to(self._first)

    @on(FigureTable.Highlighted)
    def _explain(self, event: FigureTable.Highlighted) -> None:
        if not isinstance(event.key, int):
            return
        explanation = self._figures[event.key].explanation
        self.query_one("#explanation", Static).update(explanation_content(explanation, in_lines=True))
        self.query_one(VerticalScroll).scroll_home(animate=False)


def _table(figures: Sequence[Explained]) -> Table:
    """Build a row per figure. Value columns are as narrow as possible, to leave room for the names."""
    rows = tuple(_row(at, each) for at, each in enumerate(figures))
    longest = min(max(cell_len(row.cells["value"].text) for row in rows), LONGEST_VALUE)
    columns = (
        Column("name", "figure", 24, 60, is_text=True, falls=False),
        Column("value", "", longest),
        Column("known", "known", 10, is_text=True, rank=1, falls=False),
    )
    return Table(columns, rows)


def _row(place: int, each: Explained) -> FigureRow:
    explanation = each.explanation
    known, shown = explanation.known.value, each.shown or explained_value(explanation, ON_SCREEN)
    return FigureRow(
        place,
        {
            "name": Cell(one_line(each.name), style="table--name", order=each.name),
            "value": Cell(shown, shown.partition(",")[0] if explanation.band else "", order=explanation.value),
            "known": Cell(known, style="table--known", order=known),
        },
    )
