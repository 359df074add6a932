"""Table rows of the cache breakpoint screen: the rules, and one rule's breakpoints in a prompt."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from inspector.replay.analysis.cache_breakpoints import NOWHERE
from inspector.replay.analysis.prompt_overhead import NOT_RECORDED_SHORT, SYSTEM_AND_TOOLS
from inspector.replay.figure import Figure, HowKnown
from inspector.report.numbers import ON_SCREEN
from inspector.ui.figure_table.table import Cell, Column, FigureRow, Table, figure_cell, number_cell

if TYPE_CHECKING:
    from inspector.replay.analysis.cache_breakpoints import BreakpointUsage, CacheBreakpoint, CacheBreakpoints
    from inspector.ui.timeline.rows import Rows

REPLAYED: Final = "replayed"
"""Row key of the replay's own result, independent of any rule."""

ENTRY: Final = "entry"
"""Row key of the cache entry a call reads, if the call has no breakpoint there."""

RULE_COLUMNS: Final = (
    Column("rule", "rule", 25, is_text=True, falls=False),
    Column("read", "read", 11),
    Column("written", "written", 10),
    Column("uncached", "uncached", 9, rank=2),
    Column("cost", "prompt cost", 12),
    Column("about", "breakpoints after", 20, 60, is_text=True, falls=False, rank=3),
)

MARK_COLUMNS: Final = (
    Column("mark", "", 15, 17, is_text=True, falls=False),
    Column("tokens", "tokens before", 10, 13, short="before"),
    Column("kept", "entry", 14, 24, is_text=True, falls=False),
    Column("number", "#", 6, falls=False, rank=3),
    Column("who", "who", 3, is_text=True, falls=False, rank=4),
    Column("tool", "tool", 8, 14, is_text=True, falls=False, rank=5),
    Column("what", "after", 12, 200, is_text=True, falls=False, rank=1),
)


def rule_table(found: CacheBreakpoints) -> Table:
    """Build the table with the result of the replay, followed by the rules."""
    return Table(RULE_COLUMNS, (_replayed(found), *(_rule(found, each) for each in found.rules)))


def _replayed(found: CacheBreakpoints) -> FigureRow:
    ledger, takes = found.replay.ledger, found.uses_breakpoints
    known = found.replay.figures.cache_read_tokens.known
    is_planned = found.replay.edits.by_plan.any()
    columns = {"read": ledger.cache_read, "written": ledger.cache_write, "uncached": ledger.uncached}
    name = "with the plan" if is_planned else "recorded"
    cells = {
        "rule": Cell(name, style="table--name", order=""),
        **{key: _tokens(int(column[takes].sum()), known) for key, column in columns.items()},
        "cost": figure_cell(found.replayed_usd, ON_SCREEN.dollars),
        "about": Cell("reported or expected", style="table--faint", order=""),
    }
    return FigureRow(REPLAYED, cells, is_first=True)


def _rule(marks: CacheBreakpoints, found: BreakpointUsage) -> FigureRow:
    columns = {"read": found.read, "written": found.written, "uncached": found.uncached}
    covered, calls = int(found.covers.sum()), int(marks.uses_breakpoints.sum())
    about = found.rule.about
    if covered < calls:
        about += f" ({ON_SCREEN.whole(covered)} of {ON_SCREEN.plural(calls, 'call')})"
    cells = {
        "rule": Cell(found.rule.label, order=found.rule.label),
        **{key: _tokens(int(column.sum()), HowKnown.PROJECTED) for key, column in columns.items()},
        "cost": figure_cell(found.usd, ON_SCREEN.dollars),
        "about": Cell(about, style="table--faint", order=about),
    }
    return FigureRow(found.rule, cells)


def mark_table(found: CacheBreakpoints, rule: BreakpointUsage, call: int, rows: Rows) -> Table:
    """Build the table of a rule's breakpoints in one call's prompt and the entry it reads, in prompt order."""
    marks = found.breakpoints_at(rule, call)
    minimum = int(found.replay.inputs.caches.minimum_prefix[call])
    entry, read = int(rule.found[call]), int(rule.read[call])
    known = found.replay.inputs.scale.known
    shown = [
        (mark.blocks, _mark(number, mark, entry, minimum, known, rows)) for number, mark in enumerate(marks, start=1)
    ]
    if entry != NOWHERE and all(mark.blocks != entry for mark in marks):
        prompt = found.replay.history.prompt(call)
        block = int(prompt[entry - 1]) if entry else NOWHERE
        cells = {
            "mark": Cell("earlier entry", style="table--faint", order=float(entry)),
            "tokens": _tokens(read, known),
            "kept": Cell("read from here", "read", "table--saved", order="read"),
            **_place(block, rows),
        }
        shown.append((entry, FigureRow(ENTRY, cells)))
    return Table(MARK_COLUMNS, tuple(row for _, row in sorted(shown, key=lambda each: each[0])))


def block_of(found: CacheBreakpoints, rule: BreakpointUsage, call: int, key: object) -> int:
    """Return the block before a breakpoint or before the end of the entry read; -1 if it is not in the file."""
    marks = found.breakpoints_at(rule, call)
    if key == ENTRY:
        entry = int(rule.found[call])
        return int(found.replay.history.prompt(call)[entry - 1]) if entry > 0 else NOWHERE
    return marks[key - 1].block if isinstance(key, int) and 0 < key <= len(marks) else NOWHERE


def _mark(number: int, mark: CacheBreakpoint, entry: int, minimum: int, known: HowKnown, rows: Rows) -> FigureRow:
    if not mark.is_kept:
        kept = Cell(f"none below {ON_SCREEN.whole(minimum)}", style="table--lost", order="none")
    elif mark.blocks == entry:
        kept = Cell("read from here", "read", "table--saved", order="read")
    else:
        is_held = mark.blocks < entry
        kept = Cell("held" if is_held else "written", order="held" if is_held else "written")
    cells = {
        "mark": Cell(" ".join(filter(None, (f"breakpoint {number}", mark.lifetime))), order=float(number)),
        "tokens": _tokens(mark.tokens, known),
        "kept": kept,
        **_place(mark.block, rows),
    }
    return FigureRow(number, cells)


def _place(block: int, rows: Rows) -> dict[str, Cell]:
    if block == NOWHERE:
        return {"what": Cell(SYSTEM_AND_TOOLS, NOT_RECORDED_SHORT, "table--faint", order="")}
    row = rows.row(rows.index_of(block))
    return {
        "number": Cell(str(row.message), order=float(row.message), style="table--faint"),
        "who": Cell(row.letter, order=row.letter),
        "tool": Cell(row.tool, order=row.tool),
        "what": Cell(rows.preview(row.index), order=rows.preview(row.index), style="table--faint"),
    }


def told_of_call(found: CacheBreakpoints, rule: BreakpointUsage, call: int) -> str:
    """Describe in one line the tokens a call would read and write under a rule."""
    count = len(found.uses_breakpoints)
    read, written, uncached = (int(column[call]) for column in (rule.read, rule.written, rule.uncached))
    said = [f"reads {ON_SCREEN.short(read)}", f"writes {ON_SCREEN.short(written)}"]
    if uncached:
        said.append(f"uncached {ON_SCREEN.short(uncached)}")
    at = f"at call {ON_SCREEN.whole(call + 1)} of {ON_SCREEN.whole(count)}"
    return f"{rule.rule.label} {at}: {', '.join(said)} of {ON_SCREEN.short(read + written + uncached)}"


def _tokens(tokens: int, known: HowKnown) -> Cell:
    return number_cell(ON_SCREEN.whole(tokens), ON_SCREEN.short(tokens), Figure(tokens, known))
