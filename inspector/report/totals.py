"""The central table of every report: recording, baseline and plans in columns, one row per figure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from inspector.replay.quantity import Output, quantities, quantity
from inspector.report.catalogue import LOWER_BOUND, CostParts, FigureSet, PlanFacts, totals_shown
from inspector.report.layout import plain
from inspector.report.numbers import IN_TEXT, NOTHING, UNKNOWN
from inspector.report.secret_rules import says_something
from inspector.report.tables import Cell

if TYPE_CHECKING:
    from collections.abc import Callable

    from inspector.report.document import Report, SessionFacts
    from inspector.report.tables import FigureCells, Step

RECORDED: Final = "recorded"
"""Column of the provider's reported figures."""

PARTS_OF = {"cost_usd": "of the cost", "prompt_tokens": "of the prompt"}
"""Totals that a saving may be a percentage of."""


@dataclass(frozen=True, slots=True)
class Column:
    """One column: its title, the path of its totals in the report, and its plan, if any."""

    title: str
    figures: tuple[Step, ...]
    plan: int | None = None


@dataclass(frozen=True, slots=True)
class TotalsRow:
    """One row: a figure in every column.

    Attributes:
        label: Label of the figure.
        cells: One per column.
        part: Label in a line below its total; empty if it is not a part.
    """

    label: str
    cells: tuple[Cell, ...]
    part: str = ""


def session_heading(session: SessionFacts) -> str:
    """Return the report's heading: the session's name if texts are included, otherwise the kind of session.

    A name that consists only of masks also falls back to the kind.
    """
    text = f"Session of {IN_TEXT.plural(session.calls, 'call')}, {session.agent or session.format}"
    return plain(session.title if says_something(session.title) else text)


def content_title(report: Report) -> str:
    """Return the title of the prompt content; it mentions plans only if there are any."""
    return f"Content of the prompts, over all calls{_without(report)}"


def misses_title(report: Report) -> str:
    """Return the title of the cache misses; it mentions plans only if there are any."""
    return f"Causes of cache misses{_without(report)}"


def _without(report: Report) -> str:
    return ", without a plan" if report.plans else ""


def series_names(plans: int) -> tuple[str, ...]:
    """Return the name of the session without a plan, followed by one name per plan."""
    return ("without a plan" if plans else "the session", *(f"plan {plan_letter(index)}" for index in range(plans)))


def plan_letter(index: int) -> str:
    """Return the letter of a plan by its position: `A`, `B`, …, and numbers after the last letter."""
    return chr(ord("A") + index) if index < 26 else str(index + 1)


def columns_of(report: Report, *, is_merged: bool = False) -> list[Column]:
    """Return the columns: recording if there is one, baseline, every plan.

    Args:
        report: The report.
        is_merged: Merge recording and baseline if all their totals are equal.
    """
    recorded = [Column(RECORDED, ("recorded",))] if report.recorded is not None else []
    if recorded and is_merged and _is_recorded(report.baseline, report.recorded):
        recorded = []
    plans = [
        Column(f"plan {plan_letter(index)}", ("plans", index, "figures"), index) for index in range(len(report.plans))
    ]
    return [*recorded, Column("baseline", ("baseline",)), *plans]


def _is_recorded(baseline: FigureSet, recorded: FigureSet | None) -> bool:
    """Return True if the baseline equals the recorded totals; totals that were not recorded are ignored."""
    totals = [(getattr(baseline, name), getattr(recorded, name)) for name in quantities(FigureSet)]
    return all(was is None or was == value for value, was in totals)


def totals_rows(report: Report, figures: FigureCells, columns: list[Column], output: Output) -> list[TotalsRow]:
    """Build the rows that an output shows for some columns, without empty ones."""

    def of_plans(label: str, cell: Callable[[int], Cell], part: str = "") -> TotalsRow:
        cells = (Cell("") if column.plan is None else cell(column.plan) for column in columns)
        return TotalsRow(label, tuple(cells), part)

    def saved(name: str) -> Callable[[int], Cell]:
        return lambda index: figures.cell("plans", index, "saved", name)

    def percentage_of(name: str) -> Callable[[int], Cell]:
        return lambda index: (
            figures.cell("plans", index, "saved", "percent")
            if report.plans[index].saved.percent_of == name
            else Cell("")
        )

    def labelled(path: str) -> str:
        return quantity(PlanFacts, path).label

    rows = []
    for each in totals_shown(output):
        cells = tuple(
            figures.cell(*column.figures, each.name)
            if column.plan is None or each.name != "cost_usd"
            else figures.cost_with_plan(report.baseline.cost_usd, *column.figures, each.name)
            for column in columns
        )
        rows.append(TotalsRow(each.label, cells))
        if each.name == "cache_read_tokens" and output is Output.TEXT:
            rows.append(_read_share(figures, columns))
    for of, part in PARTS_OF.items():
        name = "usd" if of == "cost_usd" else "tokens"
        main = quantity(PlanFacts, f"saved.{name}")
        rows += [of_plans(main.label, saved(name), main.as_part), of_plans(f"saved, {part}", percentage_of(of), part)]
    rows.append(of_plans(labelled("break_even_call"), lambda index: pays_off(report, figures, index)))
    if output is Output.PAGE:
        rows.append(of_plans(labelled("first_firing"), lambda index: figures.cell("plans", index, "first_firing")))
    rows.append(of_plans(labelled("edits"), lambda index: figures.cell("plans", index, "edits")))
    return [row for row in rows if any(cell.text for cell in row.cells)]


def _read_share(figures: FigureCells, columns: list[Column]) -> TotalsRow:
    cells = []
    for column in columns:
        read, prompt = (figures.cell(*column.figures, name) for name in ("cache_read_tokens", "prompt_tokens"))
        share = None if read.value is None or not prompt.value else read.value / prompt.value
        cells.append(Cell("" if share is None else IN_TEXT.share(share), known=read.known))
    return TotalsRow("cache reads, share of prompts", tuple(cells), PARTS_OF["prompt_tokens"])


def cost_parts(report: Report) -> list[tuple[str, str]]:
    """Return every known component of the baseline's cost, with its share as written.

    The names are fields of `CostParts`; the share is empty if the session cost nothing.
    """
    total = report.baseline.cost_usd
    if report.cost is None or total is None:
        return []
    names = [name for name, entry in quantities(CostParts).items() if entry.part_of == "cost_usd"]
    parts = {name: value for name in names if (value := getattr(report.cost, name)) is not None}
    shares = IN_TEXT.shares_of_parts([value / total for value in parts.values()]) if total else [""] * len(parts)
    return list(zip(parts, shares, strict=True))


def pays_off(report: Report, figures: FigureCells, index: int) -> Cell:
    """Return the first call after which a plan has paid off; `-` if it changes nothing."""
    plan, found = report.plans[index], figures.cell("plans", index, "break_even_call")
    if plan.edits == 0:
        return Cell(NOTHING)
    never = UNKNOWN if plan.saved.usd is None else "never"
    text = never if plan.break_even_call is None else found.text
    return replace(found, text=text, known=plan.known.get("break_even_call", ""))


def marks_used(report: Report) -> set[str]:
    """Return the certainties of the figures shown, and `LEAST` if some are lower bounds."""
    listed = (*report.plans, *report.carried, *report.heaviest, *report.comparison)
    totals = (report.recorded, report.baseline, report.subagents, report.cost, report.cache_misses, report.compacted)
    return marks_in(*totals, *listed)


def marks_in(*facts: Struct | None) -> set[str]:
    """Return the certainties in some parts of a report, and `LEAST` if some are lower bounds."""
    return set().union(*(_breakpoints_in(each) for each in facts if each is not None))


def _breakpoints_in(facts: Struct) -> set[str]:
    used: set[str] = set()
    for name in facts.__struct_fields__:
        value = getattr(facts, name)
        if name == "known":
            used |= set(value.values()) if isinstance(value, dict) else {value}
        elif name in ("at_least", "is_lower_bound"):
            used |= {LOWER_BOUND} if value else set()
        elif name != "explain":
            parts = value if isinstance(value, list) else [value]
            used = used.union(*(_breakpoints_in(part) for part in parts if isinstance(part, Struct)))
    return used
