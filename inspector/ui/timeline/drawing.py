"""Timeline rows as pieces of text with style names. Independent of colors and the screen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from inspector.safe_text import cell_width, clip_cells
from inspector.ui.timeline.columns import CURSOR, FOLDED, OUTSIDE, UNFOLDED, CellOfRow, HeadOfColumn

if TYPE_CHECKING:
    from inspector.ui.timeline.columns import Columns, Piece
    from inspector.ui.timeline.rows import Row
    from inspector.ui.timeline.view import TimelineView

MARK_OF_HEADING: Final = range(3, 6)
"""Cells around the fold mark in a heading row."""


def row_pieces(
    view: TimelineView, index: int, columns: Columns, width: int, *, selected: bool, logarithmic: bool
) -> list[Piece]:
    """Render one row, left to right."""
    row = view.row(index)
    if (label := _label(view, row)) is not None:
        return [(CURSOR if selected else " ", "timeline--boundary"), (rule(label, width - 1), "timeline--boundary")]
    amount = view.amount_at(index)
    faint = "" if amount.in_prompt or row.is_inner else OUTSIDE
    cell = CellOfRow(view, row, amount, faint, selected, logarithmic)
    pieces: list[Piece] = []
    for column, cells in columns.shown:
        pieces += column.cell(cell, cells)
    return pieces


def header_pieces(view: TimelineView | None, columns: Columns, *, logarithmic: bool) -> list[Piece]:
    head = HeadOfColumn(view, logarithmic)
    return [("".join(column.head(head, cells) for column, cells in columns.shown), "timeline--header")]


def rule(label: str, width: int) -> str:
    """Return a horizontal rule with a label; a label that is too long is cut at a comma."""
    room = max(width - 6, 0)
    text = label
    while cell_width(text) > room and ", " in text:
        text = text.rpartition(", ")[0]
    text = clip_cells(text, room)
    line = f"── {text} " if text else ""
    return line + "─" * max(width - cell_width(line), 0)


def _label(view: TimelineView, row: Row) -> str | None:
    """Return the label of a row without a block, including its fold mark; None for other rows."""
    if row.heading:
        return f"{'┆ ' * row.depth}{UNFOLDED if row.is_unfolded else FOLDED} {row.heading}"
    if row.boundary is None:
        return None
    if row.is_inner:
        return f"{'┆ ' * row.depth}{row.boundary.label}"
    if row.thread:
        return f"{FOLDED if row.thread in view.folded_threads else UNFOLDED} {row.boundary.label}"
    return row.boundary.label
