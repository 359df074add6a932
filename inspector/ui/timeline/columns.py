"""Timeline rows as pieces of text with style names: columns, labels and marks. Independent of colors and the screen.

To add a column, write its cell function and add it to `COLUMNS` in display order.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final, NamedTuple

from inspector.report.numbers import ABOUT, ON_SCREEN, elapsed
from inspector.safe_text import cell_width, clip_cells, fit_cells, one_line
from inspector.strategies.core.operations import Action
from inspector.ui.miss_glyphs import miss_notes
from inspector.ui.timeline.arrangement import Order
from inspector.ui.toolkit.bars import bar, outside_bar

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from inspector.ui.timeline.rows import BlockAmount, Row
    from inspector.ui.timeline.view import TimelineView


Piece = tuple[str, str]
"""Safe text and its component class; an empty class uses the row's style."""

CURSOR: Final = "▶"
PIN: Final = "•"
PINNED_CURSOR: Final = "◆"
FOLDED: Final = "▸"
UNFOLDED: Final = "▾"
HIT: Final = "*"
"""Shown in a matching row without a number."""
INNER: Final = "  "
"""Indent of tools in a subagent's session."""
ESTIMATED: Final = ABOUT
"""Prefix of token counts that are still estimated."""

ROLE_CLASSES: Final = {
    "S": "timeline--system",
    "U": "timeline--user",
    "A": "timeline--assistant",
    "T": "timeline--thinking",
    "R": "timeline--result",
    "·": "timeline--other",
}
OUTSIDE: Final = "timeline--outside"

MIN_BAR = 5
"""Minimum bar width in cells: removable columns are dropped until it fits."""
LONGEST_BAR = 48
"""Maximum bar width if no column follows."""
LEAST_WHAT = 12
LEAST_PREVIEW = 8
"""Minimum width of the preview after a reason, in cells."""
WIDE_WHAT = 20
"""Minimum column width for a gap of two blanks."""


class Space(NamedTuple):
    """Inputs of the column widths.

    Attributes:
        width: Total width in cells.
        number: Highest message number.
        tokens: Highest token count.
        token_calls: Show the token-calls by which the rows are ordered.
        changes: Show how a plan changes the tokens.
    """

    width: int
    number: int
    tokens: int
    token_calls: bool = False
    changes: bool = False


class CellOfRow(NamedTuple):
    """Inputs of a cell.

    Attributes:
        view: The view shown.
        row: The row of a block.
        amount: Its tokens.
        faint: Class of all cells if the block is not in the prompt, otherwise empty.
        selected: The cursor is on the row.
        logarithmic: Bars on a logarithmic scale.
    """

    view: TimelineView
    row: Row
    amount: BlockAmount
    faint: str
    selected: bool
    logarithmic: bool

    @property
    def role_class(self) -> str:
        return self.faint or ROLE_CLASSES[self.row.letter]


class HeadOfColumn(NamedTuple):
    """Inputs of a column header.

    Attributes:
        view: The view shown, None before there is one.
        logarithmic: Bars on a logarithmic scale.
    """

    view: TimelineView | None
    logarithmic: bool


@dataclass(frozen=True, slots=True)
class TimelineColumn:
    """One column. Its width includes the separating blank; header and cell must fill the width exactly.

    Attributes:
        name: Identifier.
        width: Width in cells, 0 to hide the column; None for the two columns that share the remaining width.
        head: Renders the header at a width.
        cell: Renders a cell at a width.
        leaves: Order in which columns are dropped if the bar gets too short; 0 for never.
        key: Data shown in addition to the row, its amount and its marks; part of the cache key of a drawn row.
    """

    name: str
    width: Callable[[Space], int] | None
    head: Callable[[HeadOfColumn, int], str]
    cell: Callable[[CellOfRow, int], list[Piece]]
    leaves: int = 0
    key: Callable[[TimelineView, int], Hashable] | None = None


@dataclass(frozen=True)
class Columns:
    """The visible columns, left to right.

    Attributes:
        shown: Columns with their widths in cells.
    """

    shown: tuple[tuple[TimelineColumn, int], ...]

    @cached_property
    def widths(self) -> dict[str, int]:
        return {column.name: width for column, width in self.shown}

    @cached_property
    def keys(self) -> tuple[Callable[[TimelineView, int], Hashable], ...]:
        """Cache key functions of the visible columns."""
        return tuple(column.key for column, _ in self.shown if column.key is not None)

    def start(self, name: str) -> int:
        """Return the first cell of a column, or the row's width if it is hidden."""
        start = 0
        for column, width in self.shown:
            if column.name == name:
                break
            start += width
        return start

    def at(self, cell: int) -> str:
        """Return the name of the column at a cell; empty to the right of all columns."""
        for column, width in self.shown:
            if 0 <= cell < width:
                return column.name
            cell -= width
        return ""


def columns_for(space: Space, columns: tuple[TimelineColumn, ...] | None = None) -> Columns:
    """Choose the visible columns and their widths."""
    columns = COLUMNS if columns is None else columns
    widths = {column.name: column.width(space) for column in columns if column.width is not None}
    left = space.width - sum(widths.values())
    for column in sorted((column for column in columns if column.leaves), key=lambda column: column.leaves):
        if left >= MIN_BAR:
            break
        left += widths[column.name]
        widths[column.name] = 0
    room = max(min(left - 1, max(space.width // 5, 8)), 0)
    what = left - (room + 1 if room else 0) - 1
    if what < LEAST_WHAT:
        room, what = max(min(left - 1, LONGEST_BAR), 0), 0
    widths |= {"bar": room + 1 if room else 0, "what": what}
    return Columns(tuple((column, widths[column.name]) for column in columns if widths[column.name]))


def _right(text: str, width: int) -> str:
    return " " + fit_cells(text, width - 1, align_right=True)


def _mark(cell: CellOfRow, _width: int) -> list[Piece]:
    if cell.view.is_pinned(cell.row.index):
        return [(PINNED_CURSOR if cell.selected else PIN, "timeline--mark")]
    return [(CURSOR if cell.selected else " ", "timeline--mark")]


def _number(cell: CellOfRow, width: int) -> list[Piece]:
    view, row = cell.view, cell.row
    is_hit = view.is_hit(row.index)
    number = str(row.message) if row.starts_message or view.order is not Order.RECORDED else HIT if is_hit else ""
    return [
        (fit_cells(number, width, align_right=True), "timeline--hit" if is_hit else "timeline--number"),
    ]


def _fold(cell: CellOfRow, _width: int) -> list[Piece]:
    view, row = cell.view, cell.row
    mark = " "
    if view.is_folded(row.index):
        mark = FOLDED
    elif row.starts_message and view.order is Order.RECORDED and view.can_fold(row.index):
        mark = UNFOLDED
    return [(mark, "timeline--number")]


def _time(cell: CellOfRow, width: int) -> list[Piece]:
    row, start = cell.row, cell.view.rows.start_time
    text = "" if row.time is None or start is None else elapsed(row.time - start)
    return [(fit_cells(text, width - 1, align_right=True) + " ", "timeline--number")]


def _who(cell: CellOfRow, width: int) -> list[Piece]:
    row = cell.row
    thread = "┆" if row.thread else " "
    text = f"{thread} {row.letter}" if row.letter == "R" else f"{thread}{row.letter}" if row.thread else row.letter
    return [(text.ljust(width), cell.role_class)]


def _tool(cell: CellOfRow, width: int) -> list[Piece]:
    row = cell.row
    style = cell.faint or ("timeline--error" if row.is_error else "timeline--tool")
    return [("!" if row.is_error else " ", style), (fit_cells(INNER * row.depth + row.tool, width - 1), style)]


def _bar(cell: CellOfRow, width: int) -> list[Piece]:
    amount, full = cell.amount, cell.view.full_bar
    if amount.in_prompt:
        sent, rest = bar(amount.sent, amount.recorded, full, width - 1, logarithmic=cell.logarithmic)
        rest_class = "timeline--cut"
    else:
        sent, rest = outside_bar(amount.recorded, full, width - 1, logarithmic=cell.logarithmic)
        rest_class = OUTSIDE
    return [(" ", ""), (sent, cell.role_class), (rest, rest_class), (" " * (width - 1 - len(sent) - len(rest)), "")]


def _bar_head(head: HeadOfColumn, width: int) -> str:
    names: tuple[str, ...]
    if head.view is not None and head.view.shows_changes:
        names = ("█ sent ░ cut ╌ out", "█ sent ░ cut", "sent")
    elif head.view is not None and head.view.state is not None:
        names = ("█ size ╌ out", "█ size", "size")
    else:
        names = ("█ size", "size")
    # Logarithmic bars are always labeled, even if that replaces other text.
    scale = " log" if head.logarithmic else ""
    label = next((name for name in names if cell_width(name + scale) < width), names[-1]) + scale
    return " " + fit_cells(label, width - 1, ellipsis="")


def _token_calls(cell: CellOfRow, width: int) -> list[Piece]:
    return [(_right(ON_SCREEN.short(cell.view.token_calls_at(cell.row.index)), width), cell.role_class)]


def _tokens(cell: CellOfRow, width: int) -> list[Piece]:
    amount = cell.amount
    text = ON_SCREEN.whole(amount.recorded)
    if amount.is_estimated:
        text = ESTIMATED + text
        if cell_width(text) >= width:
            text = ESTIMATED + ON_SCREEN.short(amount.recorded)
    return [(_right(text, width), cell.faint or "timeline--tokens")]


def _tokens_head(head: HeadOfColumn, width: int) -> str:
    is_estimated = head.view is not None and head.view.known == "estimated"
    return ("~tokens" if is_estimated and width > 7 else "tokens").rjust(width)


def _change(cell: CellOfRow, width: int) -> list[Piece]:
    change = cell.amount.change
    if not change:
        return [(" " * width, "")]
    text = ON_SCREEN.whole(change) if change < 0 else f"+{ON_SCREEN.whole(change)}"
    return [(_right(text, width), "timeline--cut" if change < 0 else "timeline--grown")]


def _what(cell: CellOfRow, width: int) -> list[Piece]:
    """Render the reason of a cache miss, the reason of a cut and the preview, as space allows."""
    blanks = "  " if width > WIDE_WHAT else " "
    width -= len(blanks)
    view, row = cell.view, cell.row
    preview = view.preview(row.index)
    preview_class = cell.faint or ("timeline--error" if row.is_error else "timeline--preview")
    pieces: list[Piece] = [(blanks, "")]
    parts = [(_miss_note(view, row.index, width), "timeline--miss")]
    if cell.amount.action is not Action.WHOLE:
        parts.append((one_line(view.reason_at(row.index), 200) or cell.amount.action.label, "timeline--reason"))
    for text, style in parts:
        if text:
            if style == "timeline--reason":
                text = _shorten_reason(text, cell.amount.action.label, preview, width)
            text = clip_cells(text, width)
            left = width - cell_width(text) - 3
            if left < LEAST_PREVIEW or not preview:
                return [*pieces, (fit_cells(text, width), style)]
            pieces += [(text, style), (" · ", preview_class)]
            width = left
    return [*pieces, (fit_cells(preview, width), preview_class)]


def _shorten_reason(reason: str, action: str, preview: str, width: int) -> str:
    """Return the longest form of a reason that leaves room for the preview.

    Drops the strategy's name first, then everything except the action.
    """
    most = max(width - 3 - LEAST_PREVIEW, LEAST_PREVIEW)
    if not preview:
        return reason
    return next(
        (
            reported
            for reported in (reason, reason.partition(": ")[2], action)
            if reported and cell_width(reported) <= most
        ),
        action,
    )


def _miss_note(view: TimelineView, row: int, width: int) -> str:
    """Return the longest note on the row's cache miss that leaves room for a preview, or else that fits."""
    notes = _notes(view, row)
    roomy = [note for note in notes[:-1] if cell_width(note) + 3 + LEAST_PREVIEW <= width]
    return next(iter(roomy or [note for note in notes if cell_width(note) <= width] or notes[-1:]), "")


def _notes(view: TimelineView, row: int) -> tuple[str, ...]:
    miss = view.miss_at(row)
    return () if miss is None else miss_notes(miss)


def _named(name: str, *, right: bool = False) -> Callable[[HeadOfColumn, int], str]:
    def head(_head: HeadOfColumn, width: int) -> str:
        return name.rjust(width) if right else name.ljust(width)

    return head


def _number_width(space: Space) -> int:
    return max(len(str(space.number)), 3)


def _tokens_width(space: Space) -> int:
    return 1 + max(len(ON_SCREEN.whole(space.tokens)), 6)


COLUMNS: Final[tuple[TimelineColumn, ...]] = (
    TimelineColumn("mark", lambda _: 1, _named(""), _mark),
    TimelineColumn("number", _number_width, _named("#", right=True), _number),
    TimelineColumn("fold", lambda _: 1, _named(""), _fold),
    TimelineColumn(
        "time",
        lambda space: 9 if space.width >= 150 else 0,
        lambda _, width: "time".rjust(width - 1) + " ",
        _time,
        leaves=1,
    ),
    TimelineColumn("who", lambda _: 3, _named("who"), _who),
    TimelineColumn(
        "tool",
        lambda space: 7 if space.width < 70 else 11 if space.width < 110 else 15,
        _named(" tool"),
        _tool,
        leaves=3,
    ),
    TimelineColumn("bar", None, _bar_head, _bar),
    TimelineColumn(
        "carried",
        lambda space: 12 if space.token_calls else 0,
        _named("token-calls", right=True),
        _token_calls,
        leaves=5,
        key=lambda view, row: view.token_calls_at(row),
    ),
    TimelineColumn("tokens", _tokens_width, _tokens_head, _tokens, leaves=4),
    TimelineColumn(
        "change",
        lambda space: _tokens_width(space) + 1 if space.changes else 0,
        _named("change", right=True),
        _change,
        leaves=2,
    ),
    TimelineColumn("what", None, lambda _, width: ("  " if width > WIDE_WHAT else " ") + "what", _what, key=_notes),
)
"""All columns, left to right. `bar` and `what` share the width left by the others."""


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
