"""Tables of the composition screen: parts of the window, and the blocks of one part."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from inspector.replay.analysis.context_blocks import AROUND_TEXTS, EARLIER, NOT_RECORDED, NOT_RECORDED_SHORT
from inspector.replay.analysis.context_breakdown import ALL_PROMPTS, Grouping, Scope
from inspector.replay.figure import Figure, HowKnown
from inspector.report.numbers import ON_SCREEN
from inspector.safe_text import one_line
from inspector.session.files import relative_path
from inspector.ui.figure_table.table import Cell, Column, FigureRow, Length, Sorting, Table, number_cell

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from inspector.replay.analysis.context_breakdown import Consumer, ContextBreakdown, ContextPart
    from inspector.ui.timeline.rows import Rows

EVERYTHING: Final = "everything"
"""Row key of the total."""

COST_SO_FAR: Final = "cost, all calls"
"""Title of the cost column: a block's cost covers all calls that send it, not only the selected one."""

PART_COLUMNS: Final = (
    Column("name", "", 18, 70, is_text=True, falls=False),
    Column("blocks", "blocks", 7, rank=4),
    Column("tokens", "in prompt", 10),
    Column("share", "share", 7, rank=1),
    Column("bar", "█ sent ░ cut", 8, 40, is_bar=True, short="█ sent", rank=2),
    Column("cut", "cut", 8, rank=6, falls=False),
    Column("carried", "token-calls", 12, rank=5),
    Column("cost", COST_SO_FAR, 15, rank=3),
)

BLOCK_COLUMNS: Final = (
    Column("number", "#", 6, falls=False),
    Column("who", "who", 3, is_text=True, falls=False, rank=6),
    Column("tool", "tool", 8, 14, is_text=True, falls=False, rank=5),
    Column("tokens", "in prompt", 10),
    Column("bar", "█ sent ░ cut", 6, 24, is_bar=True, short="█ sent", rank=4),
    Column("calls", "calls", 6, rank=3),
    Column("carried", "token-calls", 11, rank=7),
    Column("cost", COST_SO_FAR, 9, 15, short="cost", rank=2),
    Column("what", "what", 12, 200, is_text=True, falls=False, rank=1),
)

_OF_WINDOW: Final = ("tokens", "cut")
"""Columns about one prompt, hidden when all prompts are shown."""

_TOKEN_CALLS: Final = "█ token-calls"  # noqa: S105  a title

MOST_BLOCKS: Final = 300

_ABOUT: Final = {
    NOT_RECORDED: (
        "content that was reported for this prompt but is not in the session's file: the system prompt, tool "
        "definitions, and text that an agent restored after a compaction without recording it. Its size differs "
        "between prompts."
    ),
    AROUND_TEXTS: "message framing (roles, names, ids, thinking signatures), and the calibration error of this prompt.",
}
NO_BLOCK: Final = "it has no blocks in the file"


def _columns(columns: tuple[Column, ...], composition: ContextBreakdown) -> tuple[Column, ...]:
    """Return the columns of a scope; without a price, no cost."""
    if not _is_priced(composition):
        columns = tuple(column for column in columns if column.name != "cost")
    if composition.scope is Scope.WINDOW:
        return columns
    return tuple(_of_all(column) for column in columns if column.name not in _OF_WINDOW)


def _of_all(column: Column) -> Column:
    if column.name == "cost":
        return replace(column, title="cost", short="", width=9, most=0)
    if column.name == "share":
        return replace(column, title="share")
    return replace(column, title=_TOKEN_CALLS, short="█") if column.is_bar else column


def default_sorting(composition: ContextBreakdown) -> Sorting:
    """Return the initial sorting of the parts: descending, except ages, which are in order of age."""
    if composition.grouping is Grouping.AGE:
        return Sorting()
    of_all = "cost" if _is_priced(composition) else "carried"
    return Sorting("tokens" if composition.scope is Scope.WINDOW else of_all)


def _is_priced(composition: ContextBreakdown) -> bool:
    return not all(math.isnan(each.cost) for each in (composition.everything, *composition.parts))


def part_table(composition: ContextBreakdown) -> Table:
    whole = composition.everything
    is_window = composition.scope is Scope.WINDOW
    total = whole.tokens if is_window else whole.token_calls
    full = max((each.recorded if is_window else each.token_calls for each in composition.parts), default=1.0)
    rows = [_part(EVERYTHING, whole, composition, total, full)]
    rows += [_part((each.name,), each, composition, total, full) for each in composition.parts]
    return Table(_columns(PART_COLUMNS, composition), tuple(rows))


def part_of(composition: ContextBreakdown, key: Hashable) -> ContextPart:
    """Return the part of a row; the total if there is no such part."""
    return next((part for part in composition.parts if (part.name,) == key), composition.everything)


def about_no_block(part: ContextPart) -> str:
    return _ABOUT.get(part.name, "")


def _part(key: Hashable, part: ContextPart, composition: ContextBreakdown, total: float, full: float) -> FigureRow:
    is_window, is_first = composition.scope is Scope.WINDOW, key == EVERYTHING
    known = composition.context.known.value
    amount = part.tokens if is_window else part.token_calls
    name = one_line(part.name)
    exact = composition.context.prompt.known.value if is_first else known
    cells = {
        "name": Cell(name, _short_name(name), style="table--name" if is_first else "", order=name),
        "tokens": tokens_cell(part.tokens, exact),
        "share": _number(ON_SCREEN.share(amount / total), known, amount)
        if total and not math.isnan(amount)
        else Cell(),
        "cut": _cut(part.recorded - part.tokens, known),
        "carried": _token_calls(part.token_calls, known),
        "cost": _dollars(part.cost, known),
    }
    if len(part.blocks):
        cells["blocks"] = Cell(ON_SCREEN.whole(len(part.blocks)), order=float(len(part.blocks)))
    if not is_first and not math.isnan(amount):
        recorded = part.recorded if is_window else amount
        cells["bar"] = Cell(order=amount, length=Length(amount, recorded, full))
    is_faint = not len(part.blocks) and part.name in (EARLIER, NOT_RECORDED, AROUND_TEXTS)
    return FigureRow(key, cells, style="table--faint" if is_faint else "", is_first=is_first)


def block_table(composition: ContextBreakdown, consumers: Sequence[Consumer], rows: Rows) -> Table:
    known = composition.context.known.value
    is_window = composition.scope is Scope.WINDOW
    full = max((each.recorded if is_window else each.token_calls for each in consumers), default=1.0)
    return Table(
        _columns(BLOCK_COLUMNS, composition),
        tuple(_block(each, composition, rows, known, full) for each in consumers),
    )


def _block(each: Consumer, composition: ContextBreakdown, rows: Rows, known: str, full: float) -> FigureRow:
    row = rows.row(rows.index_of(each.block))
    is_window = composition.scope is Scope.WINDOW
    length = Length(each.tokens, each.recorded, full) if is_window else Length(each.token_calls, each.token_calls, full)
    is_outside = each.recorded == 0
    cells = {
        "number": Cell(str(row.message), order=float(row.message), style="table--faint"),
        "who": Cell(row.letter, order=row.letter),
        "tool": Cell(row.tool, order=row.tool, style="table--lost" if row.is_error else ""),
        "tokens": Cell("·", style="table--faint") if is_outside else tokens_cell(each.tokens, known),
        "bar": Cell(order=length.sent, length=length),
        "calls": Cell(ON_SCREEN.whole(each.calls), order=float(each.calls)),
        "carried": _token_calls(each.token_calls, known),
        "cost": _dollars(each.cost, known),
        "what": Cell(_what(each.block, composition, rows), order=rows.preview(row.index), style="table--faint"),
    }
    return FigureRow(each.block, cells)


def _what(block: int, composition: ContextBreakdown, rows: Rows) -> str:
    """Describe a block's content; for a repeat, first the reference in its place."""
    preview = rows.preview(rows.index_of(block))
    repeat = composition.repeats.get(block)
    if repeat is None:
        return preview
    later = rows.row(rows.index_of(repeat.later)).message
    path = relative_path(rows.history.session.working_directory, repeat.path)
    return f"see #{later} · {one_line(path) or preview}"


def _short_name(part: str) -> str:
    """Shorten a part's name: the end of a path; otherwise empty."""
    if part == ALL_PROMPTS:
        return "all, no output"
    if part == NOT_RECORDED:
        return NOT_RECORDED_SHORT
    if part == EARLIER:
        return "earlier, unseen"
    if part == AROUND_TEXTS:
        return "framing"
    _, slash, name = part.rpartition("/")
    return f"…/{name}" if slash and name else ""


def _number(text: str, known: str, order: float, *, short: str = "", style: str = "") -> Cell:
    return number_cell(text, short, Figure(order, HowKnown(known)), style=style)


def tokens_cell(tokens: float, known: str) -> Cell:
    return _number(ON_SCREEN.whole(tokens), known, tokens, short=ON_SCREEN.short(tokens))


def _cut(tokens: float, known: str) -> Cell:
    if round(tokens) == 0:
        return Cell("·", style="table--faint", order=0.0)
    style = "table--cut" if tokens > 0 else "table--lost"
    text = ON_SCREEN.short(-tokens) if tokens > 0 else f"+{ON_SCREEN.short(-tokens)}"
    return _number(text, known, -tokens, style=style)


def _token_calls(tokens: float, known: str) -> Cell:
    if math.isnan(tokens):
        return Cell("·", style="table--faint")
    return _number(ON_SCREEN.short(tokens), known, tokens)


def _dollars(cost: float, known: str) -> Cell:
    if math.isnan(cost):
        return Cell("·", style="table--faint")
    return _number(ON_SCREEN.dollars(cost), known, cost)
