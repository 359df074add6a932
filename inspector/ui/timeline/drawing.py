"""One row of the timeline as pieces of text, each with the name of its style. Knows no colours and no screen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from inspector.report.numbers import ON_SCREEN, elapsed
from inspector.safe_text import cell_width, clip_cells, fit_cells, one_line
from inspector.strategies.core.rendition import Action
from inspector.ui.timeline.arrangement import Order
from inspector.ui.toolkit.bars import bar, outside_bar

if TYPE_CHECKING:
    from inspector.ui.timeline.rows import Row
    from inspector.ui.timeline.tokens import BlockAmount
    from inspector.ui.timeline.view import TimelineView


GUTTER = 1
CARRIED = 7
ROLE = 3
"""The letter, with the letters of tool results set in."""


@dataclass(frozen=True, slots=True)
class Columns:
    """Widths in cells, 0 for a column that is not shown. One blank stands between shown columns.

    Attributes:
        number: The message's number.
        time: Time since the session began.
        tool: The tool's name.
        bar: The token bar.
        tokens: Tokens recorded.
        change: Tokens the plan added or took away.
        carried: Tokens sent in all prompts together.
        what: Reason or preview.
    """

    number: int
    time: int
    tool: int
    bar: int
    tokens: int
    change: int
    what: int
    carried: int = 0

    @property
    def bar_start(self) -> int:
        """The first cell of the bar."""
        before = (self.time, ROLE, self.tool + 1 if self.tool else 0)
        return GUTTER + self.number + 1 + sum(cells + 1 for cells in before if cells) - (1 if self.tool else 0)


def columns_for(width: int, largest_message: int, largest_tokens: int, *, carried: bool = False) -> Columns:
    """The columns of a timeline.

    Args:
        width: Cells there are.
        largest_message: The highest message number to be shown.
        largest_tokens: The highest number of tokens to be shown.
        carried: Rows are ordered by the tokens sent in all prompts together, which are to be seen.
    """
    number = max(len(str(largest_message)), 3)
    tokens = max(len(ON_SCREEN.whole(largest_tokens)), 6)
    change = tokens + 1
    time = 8 if width >= 150 else 0
    tool = 6 if width < 70 else 10 if width < 110 else 14
    room = width - (GUTTER + number + 1 + ROLE)
    shown = {"tokens": tokens, "tool": tool, "change": change, "time": time, "carried": CARRIED if carried else 0}
    for name in ("time", "change", "tool", "tokens", "carried"):
        taken = sum(cells + 1 for cells in shown.values() if cells)
        if room - taken >= 5:
            break
        shown[name] = 0
    room -= sum(cells + 1 for cells in shown.values() if cells)
    bar = max(min(room - 1, max(width // 5, 8)), 0)
    what = room - (bar + 1 if bar else 0) - 1
    if what < 12:
        bar, what = max(min(room - 1, 48), 0), 0
    return Columns(number=number, bar=bar, what=what, **shown)


Piece = tuple[str, str]
"""A safe text and the component class it is drawn in; an empty class for the row's own."""

CURSOR: Final = "▶"
PIN: Final = "•"
PINNED_CURSOR: Final = "◆"
FOLDED: Final = "▸"
UNFOLDED: Final = "▾"
HIT: Final = "*"
"""Stands where a matching row has no number."""
MARK_OF_HEADING: Final = range(3, 6)
"""Cells of a row that says what begins there, around the mark that folds it."""
INNER: Final = "  "
"""Before the tools of a subagent's session."""
ESTIMATED: Final = "≈"
"""Before tokens that were not counted yet."""

ROLE_CLASSES: Final = {
    "S": "timeline--system",
    "U": "timeline--user",
    "A": "timeline--assistant",
    "T": "timeline--thinking",
    "R": "timeline--result",
    "·": "timeline--other",
}
OUTSIDE: Final = "timeline--outside"


def row_pieces(
    view: TimelineView, index: int, columns: Columns, width: int, *, selected: bool, logarithmic: bool
) -> list[Piece]:
    """The pieces of one row, from left to right.

    Args:
        view: What is shown.
        index: The row.
        columns: Widths of the columns.
        width: Cells of the row.
        selected: The cursor is on it.
        logarithmic: Bars in ratios.
    """
    row = view.row(index)
    gutter = CURSOR if selected else " "
    if (label := _label(view, row)) is not None:
        return [(gutter, "timeline--boundary"), (rule(label, width - 1), "timeline--boundary")]
    if view.is_pinned(index):
        gutter = PINNED_CURSOR if selected else PIN
    amount = view.amount_at(index)
    faint = "" if amount.in_prompt or row.is_inner else OUTSIDE
    role = faint or ROLE_CLASSES[row.letter]
    pieces: list[Piece] = [
        (gutter, "timeline--mark"),
        (
            fit_cells(_number(view, row), columns.number, align_right=True),
            "timeline--hit" if view.is_hit(index) else "timeline--number",
        ),
        (_fold(view, row), "timeline--number"),
    ]
    if columns.time:
        pieces += [(fit_cells(_time(view, row), columns.time, align_right=True), "timeline--number"), (" ", "")]
    pieces.append((_role(row), role))
    if columns.tool:
        tool_style = faint or ("timeline--error" if row.is_error else "timeline--tool")
        tool = INNER * row.depth + row.tool
        pieces += [("!" if row.is_error else " ", tool_style), (fit_cells(tool, columns.tool), tool_style)]
    if columns.bar:
        pieces.append((" ", ""))
        pieces += _bar(view, amount, columns.bar, role, logarithmic=logarithmic)
    if columns.carried:
        pieces += [
            (" ", ""),
            (fit_cells(ON_SCREEN.short(view.carried_at(index)), columns.carried, align_right=True), role),
        ]
    if columns.tokens:
        number = fit_cells(_tokens(amount, columns.tokens), columns.tokens, align_right=True)
        pieces += [(" ", ""), (number, faint or "timeline--tokens")]
    if columns.change:
        pieces += [(" ", ""), _change(amount, columns.change)]
    if columns.what:
        pieces.append(("  " if columns.what > 20 else " ", ""))
        pieces += _what(view, row, amount, columns.what, faint)
    return pieces


def header_pieces(view: TimelineView | None, columns: Columns, *, logarithmic: bool) -> list[Piece]:
    """The pieces of the header, over the columns they name."""
    planned = view is not None and view.state is not None
    tokens_label = "~tokens" if view is not None and view.known == "estimated" and columns.tokens > 6 else "tokens"
    text = " " + "#".rjust(columns.number) + " "
    if columns.time:
        text += "time".rjust(columns.time) + " "
    text += "who"
    if columns.tool:
        text += " " + "tool".ljust(columns.tool)
    if columns.bar:
        text += " " + fit_cells(_bar_label(columns, planned=planned, logarithmic=logarithmic), columns.bar, ellipsis="")
    if columns.carried:
        text += " " + "carried".rjust(columns.carried)
    if columns.tokens:
        text += " " + tokens_label.rjust(columns.tokens)
    if columns.change:
        text += " " + "change".rjust(columns.change)
    if columns.what:
        text += ("  " if columns.what > 20 else " ") + "what"
    return [(text, "timeline--header")]


def _bar_label(columns: Columns, *, planned: bool, logarithmic: bool) -> str:
    names = ("█ sent ░ cut ╌ out", "█ sent ░ cut", "sent") if planned else ("█ size", "size")
    label = next((name for name in names if cell_width(name) <= columns.bar), names[-1])
    return f"{label} log" if logarithmic and cell_width(label) + 4 <= columns.bar else label


def rule(label: str, width: int) -> str:
    """A line across the row that says what begins here."""
    text = clip_cells(label, max(width - 6, 0))
    line = f"── {text} " if text else ""
    return line + "─" * max(width - cell_width(line), 0)


def _label(view: TimelineView, row: Row) -> str | None:
    """What a row says that has no block: what begins there, and whether it can be folded; None for any other."""
    if row.heading:
        return f"{'┆ ' * row.depth}{UNFOLDED if row.is_unfolded else FOLDED} {row.heading}"
    if row.boundary is None:
        return None
    if row.is_inner:
        return f"{'┆ ' * row.depth}{row.boundary.label}"
    if row.thread:
        return f"{FOLDED if row.thread in view.folded_threads else UNFOLDED} {row.boundary.label}"
    return row.boundary.label


def _role(row: Row) -> str:
    indented = row.letter == "R"
    thread = "┆" if row.thread else " "
    text = f"{thread} {row.letter}" if indented else f"{thread}{row.letter} " if row.thread else f"{row.letter}  "
    return text.ljust(ROLE)


def _number(view: TimelineView, row: Row) -> str:
    if row.starts_message or view.order is not Order.RECORDED:
        return str(row.message)
    return HIT if view.is_hit(row.index) else ""


def _fold(view: TimelineView, row: Row) -> str:
    if view.is_folded(row.index):
        return FOLDED
    return UNFOLDED if row.starts_message and view.order is Order.RECORDED and view.can_fold(row.index) else " "


def _bar(view: TimelineView, amount: BlockAmount, width: int, role: str, *, logarithmic: bool) -> list[Piece]:
    if amount.in_prompt:
        sent, rest = bar(amount.sent, amount.recorded, view.full_bar, width, logarithmic=logarithmic)
        rest_style = "timeline--cut"
    else:
        sent, rest = outside_bar(amount.recorded, view.full_bar, width, logarithmic=logarithmic)
        rest_style = OUTSIDE
    blank = " " * (width - len(sent) - len(rest))
    return [(sent, role), (rest, rest_style), (blank, "")]


def _tokens(amount: BlockAmount, width: int) -> str:
    if not amount.is_estimated:
        return ON_SCREEN.whole(amount.recorded)
    text = f"{ESTIMATED}{ON_SCREEN.whole(amount.recorded)}"
    return text if cell_width(text) <= width else f"{ESTIMATED}{ON_SCREEN.short(amount.recorded)}"


def _change(amount: BlockAmount, width: int) -> Piece:
    change = amount.change
    if not change:
        return (" " * width, "")
    text = ON_SCREEN.whole(change) if change < 0 else f"+{ON_SCREEN.whole(change)}"
    return (fit_cells(text, width, align_right=True), "timeline--cut" if change < 0 else "timeline--grown")


def _what(view: TimelineView, row: Row, amount: BlockAmount, width: int, faint: str) -> list[Piece]:
    width -= 2 if width > 20 else 1
    preview = view.preview(row.index)
    preview_style = faint or ("timeline--error" if row.is_error else "timeline--preview")
    if amount.action is Action.WHOLE:
        return [(fit_cells(preview, width), preview_style)]
    reason = one_line(view.reason_at(row.index), 200) or amount.action.label
    reason = clip_cells(reason, width)
    left = width - cell_width(reason) - 3
    if left < 8 or not preview:
        return [(fit_cells(reason, width), "timeline--reason")]
    return [(reason, "timeline--reason"), (" · ", preview_style), (fit_cells(preview, left), preview_style)]


def _time(view: TimelineView, row: Row) -> str:
    if row.time is None or view.rows.start_time is None:
        return ""
    return elapsed(row.time - view.rows.start_time)
