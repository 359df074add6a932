"""Table rows of the cost screen: the figures of a plan in sections.

Every row key has an explanation, except for parts the plan did not change and results the agent cleared itself.

Each section is a table with its own columns: totals, parts of prompts, tiers, single results, recorded compactions,
projections, and assumptions.
"""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum
from functools import partial
from operator import itemgetter
from typing import TYPE_CHECKING, Final

from inspector.replay.analysis.breakdown import BreakdownRow, ResentBlock, part_label
from inspector.replay.analysis.costs import ModelCost, cost_with_side_requests
from inspector.replay.analysis.plan_outcome import CacheEffects
from inspector.replay.explain.cost_sheet import NET, OVERHEAD, WITH_SIDE_REQUESTS, CostSheet
from inspector.replay.explain.explanation import COST_PARTS, Explanation
from inspector.replay.figure import Band, Figure, HowKnown, lowest_confidence
from inspector.replay.quantity import Output, Quantity, quantities, quantity
from inspector.report.catalogue import CostParts, PlanFacts, Saving, TierFacts, parts_of, totals_shown
from inspector.report.numbers import ON_SCREEN
from inspector.report.sentences import (
    about,
    adding_up,
    between,
    compactions_in_short,
    compactions_words,
    count_words,
    unread_words,
)
from inspector.safe_text import one_line
from inspector.ui.figure_table.table import (
    Cell,
    Column,
    FigureRow,
    Sorting,
    Table,
    figure_cell,
    number_cell,
    result_cells,
)
from inspector.ui.timeline.boundaries import Boundary, cleared_line, effect_lines

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Mapping, Sequence

    from inspector.replay.analysis.compaction_forecast import CompactionForecast
    from inspector.replay.analysis.forecast import CostComparison, RunProjection
    from inspector.replay.sessions import SubagentCosts
    from inspector.report.sentences import SessionTrims
    from inspector.session.model import Compaction
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
    if key == TOGETHER and sheet.compacted is not None:
        return compactions_words(sheet.compacted, ON_SCREEN)
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
    for index, forecast in sheet.compactions.items():
        key = ("compaction", index)
        found.append((forecast.call - 1, _compaction(key, forecast, boundary_at(key, sheet, rows))))
    made = [row for _, row in sorted(found, key=itemgetter(0))]
    parts = () if sheet.compacted is None else compactions_in_short(sheet.compacted, ON_SCREEN)
    return [*made, FigureRow(TOGETHER, {}, words=" · ".join(parts), style="table--name")] if parts else made


def _cleared(key: tuple[int, int], call: int, each: Compaction) -> FigureRow:
    results = ON_SCREEN.plural(len(each.cleared_tool_call_ids), "result")
    cells = {
        "name": Cell(f"before call {call + 1:,}", style="table--faint", order=call - 0.5),
        "removed": Cell(results, order=float(len(each.cleared_tool_call_ids))),
        "kept": Cell("the rest", style="table--faint"),
    }
    return FigureRow(("cleared", *key), cells, style="table--faint")


def _compaction(key: Hashable, each: CompactionForecast, boundary: Boundary | None) -> FigureRow:
    effect = None if boundary is None else boundary.effect
    sizes = {} if effect is None else {"removed": len(effect.removed), "kept": len(effect.kept)}
    reached = "as recorded" if each.reached_call == each.call else ""
    if each.asked_for:
        reached = "requested"
    elif each.reached_call is None:
        reached = "never" if each.until_call is None else f"not before {each.until_call}"
    elif not reached:
        reached = ON_SCREEN.whole(each.reached_call)
    style = "table--lost" if (each.saved_usd or 0) < 0 else "table--saved"
    return FigureRow(
        key,
        {
            "name": Cell(f"at call {each.call:,}", style="table--name", order=float(each.call - 1)),
            **{
                name: Cell(ON_SCREEN.plural(count, "block"), ON_SCREEN.whole(count), order=float(count))
                for name, count in sizes.items()
            },
            "trigger": _trigger(each),
            "prompt": Cell("·")
            if each.asked_for
            else figure_cell(each.figure("prompt_tokens"), ON_SCREEN.whole, ON_SCREEN.short),
            "reached": _projected_count(reached) if reached.replace(",", "").isdigit() else Cell(reached),
            "avoided": Cell("·") if each.asked_for else _projected_count(str(each.avoided)),
            "saved": Cell("·")
            if each.asked_for or not each.is_avoided
            else figure_cell(each.figure("saved_usd"), ON_SCREEN.dollars, style=style),
        },
    )


def _trigger(each: CompactionForecast) -> Cell:
    """Build the trigger cell. A size recorded by the agent is its own count, not the size of the prompt before it."""
    size = each.figure("trigger_tokens")
    if not each.noted_by_agent:
        return figure_cell(size, ON_SCREEN.whole, ON_SCREEN.short)
    return figure_cell(
        size,
        lambda tokens: f"logged {ON_SCREEN.whole(tokens)}",
        lambda tokens: f"logged {ON_SCREEN.short(tokens)}",
    )


def _projected_count(text: str) -> Cell:
    return number_cell(text, "", Figure(float(text.replace(",", "")), HowKnown.PROJECTED))


class CostSection(StrEnum):
    """Section of the screen."""

    TOTALS = "totals"
    PARTS = "parts"
    TIERS = "tiers"
    RESULTS = "results"
    COMPACTIONS = "compactions"
    FORECAST = "forecast"
    ASSUMPTIONS = "assumptions"


FIRST_TOTALS: Final = ("cost_usd", "peak_prompt_tokens")
"""Totals that come first, followed by their parts. System prompt and tools of the newest prompt are not a part."""

SUBAGENTS, WITH_SUBAGENTS = ("subagents", "cost"), ("subagents", "with the session")

HOOK: Final = "hook"
"""Row key of the hook's trims."""
ABOUT_HOOK: Final = (
    "Text that `inspector hook` cut from results before the agent received them, estimated from characters, each "
    "result counted once. It is not part of the figures above, because the session was recorded with the trimmed "
    "results. `inspector hook stats` lists every trim."
)

_TOTAL_COLUMNS: Final = (
    Column("name", "", 26, 40, is_text=True, falls=False),
    Column("before", "nothing cut", 14, 18),
    Column("after", "with the plan", 14, 18, short="with plan"),
    Column("change", "change", 12, 16, falls=False, rank=1),
)

_PART_COLUMNS: Final = (
    Column("name", "", 18, 44, is_text=True, falls=False),
    Column.of(BreakdownRow, "blocks", 7, rank=5),
    Column.of(BreakdownRow, "carried_tokens", 9, rank=4),
    Column.of(BreakdownRow, "sent_tokens", 12, 14),
    Column.of(BreakdownRow, "cut_tokens", 11, rank=3),
    Column.of(BreakdownRow, "share", 7, rank=6),
    Column.of(BreakdownRow, "usd", 9),
    Column.of(BreakdownRow, "saved_usd", 9, rank=2),
)

_TIER_COLUMNS: Final = (
    Column("name", "", 24, 44, is_text=True, falls=False),
    Column.of(TierFacts, "touched", 9, 12, rank=3),
    *(column for column in _PART_COLUMNS if column.name not in ("name", "blocks")),
)

_RESULT_COLUMNS: Final = (
    Column("number", "#", 6, falls=False),
    Column("tool", "tool", 10, 16, is_text=True, falls=False),
    Column.of(ResentBlock, "tokens", 8),
    Column.of(ResentBlock, "calls", 11),
    Column.of(ResentBlock, "sent_tokens", 12),
    Column.of(ResentBlock, "usd", 9),
    Column("what", "what", 14, 200, is_text=True, falls=False, rank=1),
)

_COMPACTION_COLUMNS: Final = (
    Column("name", "", 14, 20, is_text=True, falls=False),
    Column("removed", "removed", 14, rank=3),
    Column("kept", "kept", 10, rank=2),
    Column("trigger", "triggered at", 13),
    Column("prompt", "with the plan", 13, short="with plan"),
    Column("reached", "reached at call", 15, 18, short="reached"),
    Column("avoided", "avoided", 8, rank=1),
    Column("saved", "saves", 10),
)

_BAND_COLUMNS: Final = (
    Column("name", "", 20, 40, is_text=True, falls=False),
    Column("before", "nothing cut", 12, 16),
    Column("after", "with the plan", 12, 16, short="with plan"),
    Column("saved", "saved", 10, 14),
    Column("band", "range", 17, 26, rank=1),
)

_TERM_COLUMNS: Final = (
    Column("name", "", 20, 28, is_text=True, falls=False),
    Column("value", "", 30, 160, is_text=True, falls=False),
    Column("hint", "", 13, is_text=True, falls=False, rank=1),
)


_OF_PLAN: Final[Mapping[CostSection, tuple[str, ...]]] = {
    CostSection.TOTALS: ("after", "change"),
    CostSection.PARTS: ("cut_tokens", "saved_usd"),
    CostSection.TIERS: (),
    CostSection.RESULTS: (),
    CostSection.COMPACTIONS: ("prompt", "reached", "avoided", "saved"),
    CostSection.FORECAST: ("after", "saved"),
}
"""Columns about the plan, hidden while no strategy is on."""


def section_title(section: CostSection, sheet: CostSheet | None) -> str:
    """Return the title of a section. It does not mention a plan until there are figures."""
    is_plan = sheet is not None and not sheet.is_recorded
    match section:
        case CostSection.TOTALS:
            return "Totals over all calls" + ("" if is_plan else ", nothing cut")
        case CostSection.PARTS:
            return "Content of the prompts" + (", with the plan" if is_plan else ", nothing cut")
        case CostSection.TIERS:
            return "Effect of each part of the plan"
        case CostSection.RESULTS:
            return "Results with the highest resend cost"
        case CostSection.COMPACTIONS:
            text = " with the plan, not in the totals" if is_plan else ""
            return f"Recorded compactions{text} · ⏎ goes to its row" + ("" if is_plan else ", then g c to the next")
        case CostSection.FORECAST:
            return "Forecast" + ("" if is_plan else ", nothing cut")
        case CostSection.ASSUMPTIONS:
            return "Assumptions and sources"


def default_sorting(section: CostSection) -> Sorting:
    return Sorting("usd") if section in (CostSection.PARTS, CostSection.RESULTS) else Sorting()


def section_table(section: CostSection, sheet: CostSheet, rows: Rows, terms: Table) -> Table:
    """Build the table of a section.

    Args:
        section: The section.
        sheet: The figures.
        rows: The session's rows, for previews of results.
        terms: Table of assumptions, built by the screen.
    """
    table = _section_table(section, sheet, rows, terms)
    if not sheet.is_recorded or section is CostSection.ASSUMPTIONS:
        return table
    made = table.rows
    if section is CostSection.COMPACTIONS:
        shown = {each.name for each in table.columns}.difference(_OF_PLAN[section])
        made = tuple(replace(row, cells={name: row.cells[name] for name in shown & row.cells.keys()}) for row in made)
    return replace(
        table, columns=tuple(each for each in table.columns if each.name not in _OF_PLAN[section]), rows=made
    )


def _section_table(section: CostSection, sheet: CostSheet, rows: Rows, terms: Table) -> Table:
    match section:
        case CostSection.TOTALS:
            return Table(_TOTAL_COLUMNS, (*_totals(sheet), *_plan_totals(sheet), *_side_requests(sheet)))
        case CostSection.PARTS:
            return Table(_PART_COLUMNS, tuple(_tally(("kind", at), row) for at, row in enumerate(sheet.kinds)))
        case CostSection.TIERS:
            return Table(_TIER_COLUMNS, tuple(_tiers(sheet)))
        case CostSection.RESULTS:
            return Table(_RESULT_COLUMNS, tuple(_result(block, row, rows) for block, row in sheet.results.items()))
        case CostSection.COMPACTIONS:
            return Table(_COMPACTION_COLUMNS, tuple(compaction_rows(sheet, rows)))
        case CostSection.FORECAST:
            return Table(_BAND_COLUMNS, tuple(_ahead(sheet)))
        case CostSection.ASSUMPTIONS:
            return terms


def empty_section_text(section: CostSection, sheet: CostSheet) -> tuple[str, str]:
    """Return the text for an empty section and its explanation, which may be empty."""
    touched = "the plan changes nothing yet" if sheet.is_recorded else "the plan changes no result"
    words = {
        CostSection.TIERS: (touched, "shows cuts and savings of each part of the plan"),
        CostSection.RESULTS: ("no tool result was sent", ""),
        CostSection.COMPACTIONS: ("no compaction was recorded", "shows removed and kept blocks of each compaction"),
        CostSection.FORECAST: ("no projection without a price", "set a model or rates in the assumptions"),
    }
    return words.get(section, ("no figures here", ""))


def term_table(terms: tuple[tuple[Hashable, str, str, str], ...]) -> Table:
    """Build the table of assumptions and sources from key, name, value and the effect of enter."""
    return Table(
        _TERM_COLUMNS,
        tuple(
            FigureRow(
                key,
                {
                    "name": Cell(name, style="table--name" if hint else "table--faint"),
                    "value": Cell(one_line(value)),
                    "hint": Cell(hint, style="table--faint"),
                },
            )
            for key, name, value, hint in terms
        ),
    )


def hook_row(trims: SessionTrims) -> FigureRow:
    """Build the row of the hook's trims, which are not part of the totals above it."""
    return FigureRow(HOOK, {}, words=trims.in_words, style="table--saved")


def subagent_rows(found: SubagentCosts, sheet: CostSheet) -> Iterator[FigureRow]:
    """Yield the row of subagents, which no plan changes, and of the cost including them and side requests."""
    words = ", ".join(filter(None, (count_words(found, ON_SCREEN), unread_words(found, ON_SCREEN))))
    price = Figure(found.cost_usd, found.known, found.is_lower_bound)
    cells = {"name": Cell(f"subagents: {one_line(words)}", "subagents", style="table--name")}
    yield FigureRow(SUBAGENTS, {**cells, "before": _cell(price, "$"), "after": _cell(price, "$")})
    if price.value is not None:
        cells = {"name": Cell("cost with subagents", style="table--name")}
        for side, cost in (("before", sheet.baseline.figures.cost_usd), ("after", sheet.planned.figures.cost_usd)):
            together = found.with_session(cost.value, sheet.side_requests)
            known = lowest_confidence(cost.known, price.known)
            is_least = cost.is_lower_bound or price.is_lower_bound
            cells[side] = _cell(Figure(together, known, is_least), "$")
        yield FigureRow(WITH_SUBAGENTS, cells)


def _totals(sheet: CostSheet) -> list[FigureRow]:
    """Build the rows of the catalogue's totals, with nothing cut and with the plan."""
    totals = [each for each in totals_shown(Output.SCREEN) if not each.part_of]
    totals.sort(key=lambda each: FIRST_TOTALS.index(each.name) if each.name in FIRST_TOTALS else len(FIRST_TOTALS))
    parts = _cost_parts_written(sheet)
    rows = []
    for total in totals:
        is_unknown = total.name == "cost_usd" and sheet.baseline.figures.cost_usd.value is None
        rows += [_total(sheet, each, parts) for each in (total, *(() if is_unknown else parts_of(total.name)))]
        rows += _models(sheet) if total.name == "cost_usd" else ()
        rows += [_total(sheet, quantity(CostParts, OVERHEAD), parts)] if total.name == "peak_prompt_tokens" else ()
    return [row for row in rows if len(row.cells) > 1]


def _models(sheet: CostSheet) -> Iterator[FigureRow]:
    """Yield a row per model with the cost of its calls, to the precision of the cost; none for a single model."""
    sides: list[dict[str, tuple[ModelCost, str]]] = []
    for replay, found in zip((sheet.baseline, sheet.planned), sheet.models, strict=True):
        total = ON_SCREEN.cost_with_plan(sheet.baseline.figures.cost_usd.value, replay.figures.cost_usd.value)
        amounts = ON_SCREEN.dollars_of_parts(total, [each.usd for each in found])
        sides.append({each.model: (each, text) for each, text in zip(found, amounts, strict=True)})
    for model, (before, written) in sides[0].items():
        after, text = sides[1][model]
        name = f"  {one_line(model) or 'unnamed model'}"
        cells = {
            "name": Cell(f"{name}, {ON_SCREEN.plural(before.calls, 'call')}", name, style="table--name"),
            "before": number_cell(written, "", before.figure("usd")),
            "after": number_cell(text, "", after.figure("usd")),
        }
        if before.usd is not None and after.usd is not None and after.usd != before.usd:
            cells["change"] = _cell(Figure(after.usd - before.usd, sheet.outcome.savings.usd.known), "$")
        yield FigureRow(("model", model), cells)


def _side_requests(sheet: CostSheet) -> Iterator[FigureRow]:
    """Yield the rows of side requests, which no plan changes, and of the cost including them."""
    for each in sheet.side_requests:
        name = f"{one_line(each.purpose)}, {ON_SCREEN.plural(each.calls, 'request')}"
        price = _cell(Figure(each.cost_usd, HowKnown.EXACT), "$")
        cells = {"name": Cell(f"side: {name}", f"side: {one_line(each.purpose)}", style="table--name")}
        yield FigureRow(("beside", each.purpose), {**cells, "before": price, "after": price})
    if sheet.side_requests:
        cells = {"name": Cell("cost with side requests", style="table--name")}
        for side, cost in (("before", sheet.baseline.figures.cost_usd), ("after", sheet.planned.figures.cost_usd)):
            together = cost_with_side_requests(cost.value, sheet.side_requests)
            cells[side] = _cell(Figure(together, cost.known, cost.is_lower_bound), "$")
        yield FigureRow(WITH_SIDE_REQUESTS, cells)
    for number, recorded in enumerate(sheet.recorded_costs):
        cells = {"name": Cell(f"recorded by the agent ({one_line(recorded.source)})", style="table--name")}
        cells["before"] = _cell(Figure(recorded.recorded_usd, HowKnown.EXACT), "$")
        yield FigureRow(("recorded", number), cells)


def _cost_parts_written(sheet: CostSheet) -> list[dict[str, str]]:
    """Format the parts of the cost before, after and of the change so that each column adds up as displayed."""
    found = sheet.explained
    old, new = (replay.figures.cost_usd.value for replay in (sheet.baseline, sheet.planned))
    before = {name: found["before", name].value or 0.0 for name in COST_PARTS if ("before", name) in found}
    after = {name: found[name].value or 0.0 for name in COST_PARTS if name in found}
    new = ON_SCREEN.cost_with_plan(old, new)
    changes = {name: after[name] - value for name, value in before.items() if name in after}
    change = None if sheet.outcome.savings.usd.value is None else -sheet.outcome.savings.usd.value
    sums = ((old, before), (new, after), (change, changes))
    return [dict(zip(each, ON_SCREEN.dollars_of_parts(total, [*each.values()]), strict=True)) for total, each in sums]


def _total(sheet: CostSheet, entry: Quantity, parts: Sequence[Mapping[str, str]]) -> FigureRow:
    name, after = entry.name, _total_of(sheet, entry)
    # The overhead of every prompt that is not in the file is the same with and without the plan.
    before = after if name == OVERHEAD else _total_of(sheet, entry, before=True)
    cells = {"name": Cell(_label(entry), style="table--name")}
    for side, found, written in (("before", before, parts[0]), ("after", after, parts[1])):
        if found is not None:
            is_part = name in written and found.value is not None
            cells[side] = number_cell(written[name], "", found) if is_part else _cell(found, entry.unit)
    if name == "cost_usd" and after is not None:
        cells["after"] = figure_cell(after, partial(_next_to_saving, sheet))
    if before and after and before.value is not None and after.value is not None and after.value != before.value:
        # Responses cost the same in both, so the change has the confidence of the saving.
        known = sheet.outcome.savings.usd.known if name == "cost_usd" else after.known
        change = Figure(after.value - before.value, known)
        cells["change"] = number_cell(parts[2][name], "", change) if name in parts[2] else _cell(change, entry.unit)
    return FigureRow(name, cells)


def _next_to_saving(sheet: CostSheet, cost: float) -> str:
    """Format a cost with the plan so that cost and saving, as displayed, add up to the cost before."""
    return ON_SCREEN.dollars(ON_SCREEN.cost_with_plan(sheet.baseline.figures.cost_usd.value, cost))


def _total_of(sheet: CostSheet, entry: Quantity, *, before: bool = False) -> Figure | None:
    """Return a total from its explanation, or from the replay if it has none."""
    explained = sheet.explained.get(("before", entry.name) if before else entry.name)
    if explained is not None:
        return Figure(explained.value, explained.known, explained.is_lower_bound)
    found: Figure | None = getattr((sheet.baseline if before else sheet.planned).figures, entry.name, None)
    return found


def explained_at(sheet: CostSheet, key: Hashable) -> Explanation | None:
    """Return the explanation of a row's figure. The cost with a plan is rounded as in its row."""
    found = sheet.explained.get(key)
    if found is None or key != "cost_usd":
        return found
    return replace(found, value=ON_SCREEN.cost_with_plan(sheet.baseline.figures.cost_usd.value, found.value))


def _label(entry: Quantity) -> str:
    return f"  {entry.as_part or entry.label}" if entry.part_of else entry.label


def _plan_totals(sheet: CostSheet) -> list[FigureRow]:
    """Build the rows of the plan's saving, break-even point and cache misses."""
    if sheet.is_recorded:
        return []
    found = []
    pays_off, breaks = quantity(PlanFacts, "break_even_call"), quantity(CacheEffects, "plan_breaks")
    for entry in (*quantities(Saving).values(), pays_off, breaks, *parts_of(breaks.name)):
        each = sheet.explained[entry.explained]
        style = "" if not entry.saves else "table--lost" if (each.value or 0) < 0 else "table--saved"
        cell = _cell(Figure(each.value, each.known), each.unit, style)
        if entry is pays_off and each.value is None:
            cell = Cell("never", style="table--faint")
        found.append(FigureRow(entry.explained, {"name": Cell(_label(entry), style="table--name"), "after": cell}))
    return found


def _cell(figure: Figure, unit: str, style: str = "") -> Cell:
    shown = "" if unit in ("tokens", "calls", "call") else unit
    return figure_cell(figure, lambda value: ON_SCREEN.quantity(value, shown), style=style)


def _tiers(sheet: CostSheet) -> list[FigureRow]:
    found = []
    for place, (group, row) in enumerate(sheet.tiers):
        strategy = sheet.planned.plan.entries[group.entry].strategy.name
        name = f"{strategy} {group.group}".rstrip()
        changed = Cell(f"{group.touched} of {group.results}", f"{group.touched}", order=float(group.touched))
        if row is not None:
            made = _tally(("tier", place), row, name)
            found.append(replace(made, cells={**made.cells, "touched": changed}))
        else:
            cells = {"name": Cell(name, order=name), "touched": changed}
            found.append(FigureRow(("tier", place), cells, style="table--faint"))
    return found


def _tally(key: Hashable, row: BreakdownRow, name: str = "") -> FigureRow:
    label = one_line(name or part_label(row.kind, row.tool))
    style = "table--lost" if (row.saved_usd or 0) < 0 else "table--saved"
    changed = [figure for figure in ("cut_tokens", "saved_usd") if getattr(row, figure)]
    return FigureRow(
        key,
        {
            "name": Cell(label, style="table--name", order=label),
            "blocks": Cell(ON_SCREEN.whole(row.blocks), order=float(row.blocks)) if row.blocks else Cell(),
            **dict.fromkeys(("cut_tokens", "saved_usd"), Cell("·", order=0.0)),
            **result_cells(row, "carried_tokens", "sent_tokens", "share", "usd", *changed, saved_usd=style),
        },
    )


def _result(block: int, row: ResentBlock, rows: Rows) -> FigureRow:
    shown, tool = rows.row(rows.index_of(block)), one_line(row.tool)
    return FigureRow(
        ("result", block),
        {
            "number": Cell(str(shown.message), order=float(shown.message), style="table--faint"),
            "tool": Cell(tool, order=tool),
            "calls": Cell(ON_SCREEN.plural(row.calls, "call"), ON_SCREEN.whole(row.calls), order=float(row.calls)),
            **result_cells(row, "tokens", "sent_tokens", "usd"),
            "what": Cell(rows.preview(shown.index), style="table--faint"),
        },
    )


def _ahead(sheet: CostSheet) -> list[FigureRow]:
    found = []
    if sheet.runs is not None:
        runs = sheet.runs
        text = "assumed" if runs.runs.is_assumed else "run" if runs.runs.number == 1 else "runs"
        found.append(_this_run(sheet, runs))
        if runs.recovered:
            found.append(_this_run_net(sheet, runs, runs.recovered))
        for key, name, each in (
            ("usd_per_day", f"a day, {runs.runs.number:,.6g} {text}", runs.per_day),
            ("usd_per_month", f"a month, {runs.days_per_month:g} days", runs.per_month),
        ):
            found.append(_band_row(sheet, key, name, each))
    if sheet.next_calls is not None:
        ahead = sheet.next_calls
        name = f"next {ON_SCREEN.plural(ahead.calls, 'call')}"
        found.append(_band_row(sheet, ("next", "calls"), name, ahead.cost))
        last = ahead.baseline_prompt_tokens if sheet.is_recorded else ahead.plan_prompt_tokens
        cells = {
            "name": Cell("  last prompt"),
            "before": _projected(ahead.baseline_prompt_tokens, ON_SCREEN.short(ahead.baseline_prompt_tokens.middle)),
            "after": _projected(ahead.plan_prompt_tokens, ON_SCREEN.short(ahead.plan_prompt_tokens.middle)),
            "band": Cell(" to ".join(ON_SCREEN.short(end) for end in (last.low, last.high)), style="table--faint"),
        }
        found.append(FigureRow(("next", "prompt"), cells))
    return found


def _this_run(sheet: CostSheet, runs: RunProjection) -> FigureRow:
    """Build the row of the session itself. Its totals are final; only the range for similar sessions is projected."""
    saved = sheet.outcome.savings.usd
    style = "table--lost" if (saved.value or 0) < 0 else "table--saved" if runs.per_run.saving.low > 0 else ""
    return FigureRow(
        "cost_usd" if sheet.is_recorded else "saved_usd",
        {
            "name": Cell("this run", style="table--name"),
            "before": figure_cell(sheet.baseline.figures.cost_usd, ON_SCREEN.dollars),
            "after": figure_cell(sheet.outcome.figures.cost_usd, partial(_next_to_saving, sheet)),
            "saved": figure_cell(saved, ON_SCREEN.dollars, style=style),
            "band": Cell() if sheet.is_recorded or runs.recovered else _range(runs.per_run.saving),
        },
    )


def _this_run_net(sheet: CostSheet, runs: RunProjection, recovered: float) -> FigureRow:
    """Build the row of the session itself after expected re-fetches."""
    saved = Figure(runs.per_run.saving.middle, HowKnown.ESTIMATED)
    cost = (sheet.outcome.figures.cost_usd.value or 0.0) + recovered
    return FigureRow(
        NET,
        {
            "name": Cell("  net of re-fetches"),
            "after": figure_cell(Figure(cost, HowKnown.ESTIMATED), partial(_next_to_saving, sheet)),
            "saved": figure_cell(saved, ON_SCREEN.dollars, style=_style_of(runs.per_run.saving)),
            "band": _range(runs.per_run.saving),
        },
    )


def _band_row(sheet: CostSheet, key: Hashable, name: str, each: CostComparison) -> FigureRow:
    style = _style_of(each.saving)
    before, after, saved = adding_up(each.baseline, each.saving, ON_SCREEN)
    if sheet.is_recorded:
        before, after = about(each.baseline, ON_SCREEN), about(each.plan, ON_SCREEN)
    return FigureRow(
        key,
        {
            "name": Cell(name, style="table--name"),
            "before": _projected(each.baseline, before),
            "after": _projected(each.plan, after),
            "saved": _projected(each.saving, saved, style),
            "band": _range(each.baseline if sheet.is_recorded else each.saving),
        },
    )


def _style_of(saving: Band) -> str:
    """Return the component class of a saving: green only if its whole range is positive."""
    return "table--lost" if saving.middle < 0 else "table--saved" if saving.low > 0 else ""


def _projected(band: Band, text: str, style: str = "") -> Cell:
    return number_cell(text, "", Figure(band.middle, HowKnown.PROJECTED), style=style)


def _range(band: Band) -> Cell:
    short = " to ".join(ON_SCREEN.short_dollars(end) for end in (band.low, band.high))
    return Cell(between(band, ON_SCREEN), short, style="table--faint")
