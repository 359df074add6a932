"""Recorded compactions on the cost screen: one row each, and the details of one."""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING, Final

from inspector.replay.figure import Figure, HowKnown
from inspector.report.build_report import compaction_totals_facts
from inspector.report.compaction_words import compactions_in_short, compactions_words
from inspector.report.numbers import ON_SCREEN
from inspector.ui.figure_table.table import Cell, FigureRow, figure_cell, number_cell
from inspector.ui.timeline.boundaries import cleared_line, effect_lines

if TYPE_CHECKING:
    from collections.abc import Hashable

    from inspector.replay.analysis.compaction_forecast import CompactionForecast
    from inspector.replay.explain.cost_sheet import CostSheet
    from inspector.session.model import Compaction
    from inspector.ui.timeline.boundaries import Boundary
    from inspector.ui.timeline.rows import Rows


TOGETHER: Final = "compactions"
"""Row key of the sum of all compactions."""


def boundary_at(key: Hashable, sheet: CostSheet, rows: Rows) -> Boundary | None:
    """Return the compaction of a row; None for any other row."""
    match key:
        case ("compaction", int(index)):
            compaction = sheet.planned.history.session.compactions[index]
            return next((each for each in rows.boundaries if each.compaction == compaction), None)
        case ("cleared", int(block), int()):
            return next((each for each in rows.boundaries if each.block == block), None)
    return None


def compaction_text(key: Hashable, sheet: CostSheet, rows: Rows) -> str:
    """Describe one compaction or all of them as safe lines; empty for any other row."""
    compacted = compaction_totals_facts(sheet.compacted)
    if key == TOGETHER and compacted is not None:
        return compactions_words(compacted, ON_SCREEN)
    boundary = boundary_at(key, sheet, rows)
    if boundary is None:
        return ""
    cleared = [cleared_line(each) for each in boundary.cleared]
    if isinstance(key, tuple) and key[0] == "cleared" and cleared:
        return cleared[key[2]]
    return "\n".join([*effect_lines(boundary, sheet.planned.inputs.table, sheet.baseline), *cleared]) or boundary.label


def compaction_rows(sheet: CostSheet, rows: Rows) -> list[FigureRow]:
    """Build rows of compactions, each after the results cleared immediately before it, and a total at the end."""
    found: list[tuple[int, FigureRow]] = []
    for boundary in rows.boundaries:
        own = boundary.compaction
        cleared = (own,) if own is not None and own.is_partial else boundary.cleared
        call = min(int(rows.history.enters[boundary.block]), rows.history.call_count)
        found += [(call, _cleared((boundary.block, place), call, each)) for place, each in enumerate(cleared)]
    for forecast in sheet.compactions:
        boundary_of = boundary_at(("compaction", forecast.compaction), sheet, rows)
        found.append((forecast.call, _compaction(forecast, boundary_of)))
    made = [row for _, row in sorted(found, key=itemgetter(0))]
    compacted = compaction_totals_facts(sheet.compacted)
    parts = () if compacted is None else compactions_in_short(compacted, ON_SCREEN)
    return [*made, FigureRow(TOGETHER, {}, words=" · ".join(parts), style="table--name")] if parts else made


def _cleared(key: tuple[int, int], call: int, each: Compaction) -> FigureRow:
    results = ON_SCREEN.plural(len(each.cleared_tool_call_ids), "result")
    cells = {
        "name": Cell(f"before call {call + 1:,}", style="table--faint", order=call - 0.5),
        "removed": Cell(results, order=float(len(each.cleared_tool_call_ids))),
        "kept": Cell("the rest", style="table--faint"),
    }
    return FigureRow(("cleared", *key), cells, style="table--faint")


def _compaction(each: CompactionForecast, boundary: Boundary | None) -> FigureRow:
    effect = None if boundary is None else boundary.effect
    sizes = {} if effect is None else {"removed": len(effect.removed), "kept": len(effect.kept)}
    reached = "as recorded" if each.reached_at == each.call else ""
    if each.asked_for:
        reached = "requested"
    elif each.reached_at is None:
        reached = "never" if each.until is None else f"not before {each.until + 1}"
    elif not reached:
        reached = ON_SCREEN.whole(each.reached_at + 1)
    saved = each.saved_usd
    style = "table--lost" if (saved.value or 0) < 0 else "table--saved"
    return FigureRow(
        ("compaction", each.compaction),
        {
            "name": Cell(f"at call {each.call + 1:,}", style="table--name", order=float(each.call)),
            **{
                name: Cell(ON_SCREEN.plural(count, "block"), ON_SCREEN.whole(count), order=float(count))
                for name, count in sizes.items()
            },
            "trigger": _trigger(each),
            "prompt": Cell("·")
            if each.asked_for
            else figure_cell(each.prompt_tokens, ON_SCREEN.whole, ON_SCREEN.short),
            "reached": _projected_count(reached) if reached.replace(",", "").isdigit() else Cell(reached),
            "avoided": Cell("·") if each.asked_for else _projected_count(str(each.avoided)),
            "saved": Cell("·")
            if each.asked_for or not each.is_avoided
            else figure_cell(saved, ON_SCREEN.dollars, style=style),
        },
    )


def _trigger(each: CompactionForecast) -> Cell:
    """Build the trigger cell. A size recorded by the agent is its own count, not the size of the prompt before it."""
    if not each.is_agent_count:
        return figure_cell(each.trigger_tokens, ON_SCREEN.whole, ON_SCREEN.short)
    return figure_cell(
        each.trigger_tokens,
        lambda tokens: f"logged {ON_SCREEN.whole(tokens)}",
        lambda tokens: f"logged {ON_SCREEN.short(tokens)}",
    )


def _projected_count(text: str) -> Cell:
    return number_cell(text, "", Figure(float(text.replace(",", "")), HowKnown.PROJECTED))
