"""Page sections on the session: totals, calls, prompt content, projections."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from inspector.replay.analysis.breakdown import part_label
from inspector.replay.quantity import Output, quantities, quantity
from inspector.report.catalogue import CarriedBlockFacts, CarriedFacts, ProjectionFacts
from inspector.report.charts.specifications import downsample
from inspector.report.document import SessionFacts
from inspector.report.layout import plain
from inspector.report.monthly_saving import (
    bands_of,
    rounded_to,
    runs_of,
)
from inspector.report.numbers import IN_TEXT
from inspector.report.pages.model import Chart, Code, Line, Section
from inspector.report.subagent_words import costliest_first
from inspector.report.tables import Cell, FigureCells, Table, name_cell, word
from inspector.report.text import models_named
from inspector.report.totals import RECORDED, columns_of, content_title, plan_letter, series_names, totals_rows
from inspector.safe_text import safe_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from inspector.replay.subagents import SubagentCosts
    from inspector.report.catalogue import PlanFacts
    from inspector.report.document import Ledger, Report, SavingPlanFacts
    from inspector.report.pages.model import Part

RECORDED_AND_BASELINE = (
    "Recorded figures come from the provider; the baseline is the same session with nothing cut, with estimates for "
    "unreported figures."
)

MOST_ROWS = 200
"""Maximum rows of the table behind a chart over calls; beyond that calls share rows."""


def plan_title(report: Report, index: int) -> str:
    """Return a plan's name in headings."""
    name = plain(report.plans[index].name)
    return f"Plan {plan_letter(index)}: {name}" if name else f"Plan {plan_letter(index)}"


def plan_name(plan: PlanFacts | SavingPlanFacts) -> str:
    """Return a plan's name in a sentence: its own, or its strategies."""
    return plain(plan.name or " + ".join(strategies_of(plan)))


def strategies_of(plan: PlanFacts | SavingPlanFacts) -> list[str]:
    return [spec.partition(":")[0] for spec in plan.strategies]


def totals_section(report: Report, figures: FigureCells) -> Section:
    """Build the totals: recording, baseline and plans in columns, one row per figure."""
    columns = columns_of(report, is_merged=True)
    rows = ((Cell(row.label), *row.cells) for row in totals_rows(report, figures, columns, Output.PAGE))
    head = ("figure", *(column.title for column in columns))
    parts: list[Part] = [Table("Totals over all calls", head, tuple(rows))]
    if columns[0].title == RECORDED:
        compared = " Plans are compared with the baseline." if report.plans else ""
        parts.insert(0, Line((Cell(f"{RECORDED_AND_BASELINE}{compared}"),)))
    if report.subagents is not None and report.subagents.sessions:
        parts.append(_subagents_table(report.subagents))
    return Section("totals", "Totals", tuple(parts))


def _subagents_table(found: SubagentCosts) -> Table:
    head = ("subagent", "model", "calls", "prompt tokens", "output", "cost")
    rows = tuple(
        (
            name_cell(each.title or each.id),
            word(each.model or "-"),
            Cell(IN_TEXT.whole(each.calls), value=each.calls),
            Cell(IN_TEXT.whole(each.prompt_tokens), value=each.prompt_tokens, known=each.known),
            Cell(IN_TEXT.whole(each.output_tokens), value=each.output_tokens, known=each.known),
            Cell(
                IN_TEXT.dollars(each.cost_usd),
                value=each.cost_usd,
                known=each.known,
                is_lower_bound=each.is_lower_bound,
            ),
        )
        for each in costliest_first(found)[:MOST_ROWS]
    )
    return Table("Subagents, not included in any other figure", head, rows, words=2)


def facts_table(report: Report, figures: FigureCells) -> Table:
    """Build the table that describes the session."""
    session = report.session
    words = (
        ("id", session.id),
        ("file", session.path),
        ("format", session.format + (f", recorded by {session.agent}" if session.agent else "")),
        ("model", models_named(report)),
    )
    rows = [(Cell(label), word(text)) for label, text in words]
    rows += [(Cell(each.label), figures.cell("session", name)) for name, each in quantities(SessionFacts).items()]
    return Table("The session", ("", ""), tuple(rows), words=2)


def calls_sections(report: Report) -> tuple[Section, ...]:
    """Build the charts of context and cost over calls, with their common table."""
    ledger = report.ledger
    if ledger is None or not ledger.calls:
        return ()
    peak = report.baseline.peak_prompt_tokens
    planned = "".join(
        f" With plan {plan_letter(index)} it is {IN_TEXT.short(plan.figures.peak_prompt_tokens)}."
        for index, plan in enumerate(report.plans)
    )
    window = f" The model's window is {IN_TEXT.short(ledger.window)}." if ledger.window else ""
    shown = "as recorded and under each plan" if report.plans else "as recorded"
    context = (
        f"Lines over {IN_TEXT.plural(len(ledger.calls), 'call')}: the tokens of every prompt {shown}. The largest "
        f"recorded prompt is {IN_TEXT.short(peak)} tokens.{planned}{window}"
    )
    parts: list[Part] = [Chart("context", context)]
    sections = [Section("context", "Context over calls", (*parts, _calls_table(ledger)))]
    if report.baseline.cost_usd is not None:
        ends = "".join(
            (
                f" With plan {plan_letter(index)} the total is "
                f"{IN_TEXT.dollars(IN_TEXT.cost_with_plan(report.baseline.cost_usd, plan.figures.cost_usd))}."
            )
            for index, plan in enumerate(report.plans)
        )
        cost = f"Lines over calls: cumulative cost, {IN_TEXT.dollars(report.baseline.cost_usd)} at the end.{ends}"
        sections.append(Section("cost", "Cost over calls", (Chart("cost", cost), _cost_table(ledger))))
    return tuple(sections)


def _calls_table(ledger: Ledger) -> Table:
    plans = range(len(ledger.calls[0].plans))
    rows = []
    for first, last in downsample(len(ledger.calls), MOST_ROWS):
        calls = ledger.calls[first:last]
        rows.append(
            (
                Cell(_named(first, last)),
                _token_cell(max(call.baseline.prompt_tokens for call in calls)),
                *(_token_cell(max(call.plans[index].prompt_tokens for call in calls)) for index in plans),
            )
        )
    caption = "Prompt tokens by call" if len(rows) == len(ledger.calls) else "Largest prompt of consecutive calls"
    return Table(caption, ("call", *series_names(len(plans))), tuple(rows))


def _cost_table(ledger: Ledger) -> Table:
    plans = range(len(ledger.calls[0].plans))
    rows = []
    so_far = [0.0] * (len(plans) + 1)
    for first, last in downsample(len(ledger.calls), MOST_ROWS):
        for call in ledger.calls[first:last]:
            for index, figures in enumerate((call.baseline, *call.plans)):
                so_far[index] += figures.cost_usd or 0
        written: list[float | None] = [*so_far]
        if last == len(ledger.calls):  # the last row must match the totals as written
            written[1:] = [IN_TEXT.cost_with_plan(so_far[0], value) for value in so_far[1:]]
        cells = (Cell(IN_TEXT.dollars(shown), value=value) for shown, value in zip(written, so_far, strict=True))
        rows.append((Cell(_named(first, last)), *cells))
    return Table("Cumulative cost in dollars", ("call", *series_names(len(plans))), tuple(rows))


def _named(first: int, last: int) -> str:
    return f"{last:,}" if last - first == 1 else f"{first + 1:,} to {last:,}"


def _token_cell(value: int) -> Cell:
    return Cell(f"{value:,}", value=value)


def composition_section(report: Report, figures: FigureCells) -> Section | None:
    """Build the section on prompt content without a plan."""
    if not report.carried:
        return None
    table = figures.table(
        content_title(report),
        ("",),
        (
            ((name_cell(part_label(row.kind, row.tool)),), ("carried", index))
            for index, row in enumerate(report.carried)
        ),
        CarriedFacts,
        *("blocks", "sent_tokens", "share", "usd", "carried_tokens"),
    )
    largest = max(report.carried, key=lambda row: row.share or 0.0)
    alternative = (
        "Bars: token-calls by kind of block and tool. The largest group is "
        f"{plain(part_label(largest.kind, largest.tool))}, "
        f"{IN_TEXT.share(largest.share)} of all prompts."
    )
    return Section("composition", "Content of the prompts", (Chart("composition", alternative), table))


def heaviest_section(report: Report, figures: FigureCells) -> Section | None:
    """Build the section on the results with the highest resend cost."""
    if not report.heaviest:
        return None
    table = figures.table(
        "Results with the highest resend cost",
        ("tool",),
        (((name_cell(row.tool or "tool"),), ("heaviest", index)) for index, row in enumerate(report.heaviest)),
        CarriedBlockFacts,
        *("message", "tokens", "calls", "sent_tokens", "usd"),
    )
    parts: list[Part] = [table]
    for row in report.heaviest:
        if row.text:
            begins = f"{row.tool or 'tool'}, message {row.message:,}, begins with:"
            parts += [Line((Cell(plain(begins)),)), Code(f"{safe_text(row.text)}\n", "text")]
    return Section("heaviest", "Costliest results", tuple(parts), folded=True)


PROJECTED = ("runs_per_day", "usd_per_day", "usd_per_month", "usd_per_month_low", "usd_per_month_high")


def _projected_cells(figures: FigureCells, index: int, found: ProjectionFacts) -> Iterator[Cell]:
    """Format the figures of a projection, rounded to their spread."""
    day, month = bands_of(found)
    for name in PROJECTED:
        cell = figures.cell("plans", index, "projection", name)
        spread = {"usd_per_day": day}.get(name, month)
        if cell.value is None or not name.startswith("usd"):
            yield cell
            continue
        towards = {"usd_per_month_low": math.floor, "usd_per_month_high": math.ceil}.get(name, round)
        yield replace(cell, text=rounded_to(cell.value, spread, IN_TEXT, towards))


def projection_section(report: Report, figures: FigureCells) -> Section | None:
    """Build the section on savings over many runs, with its assumptions."""
    projected = [(index, plan.projection) for index, plan in enumerate(report.plans) if plan.projection is not None]
    if not projected:
        return None
    table = Table(
        "Projected savings",
        ("plan", *(quantity(ProjectionFacts, name).label for name in PROJECTED)),
        tuple(
            (Cell(plan_title(report, index)), *_projected_cells(figures, index, found)) for index, found in projected
        ),
    )
    days = projected[0][1].days_per_month
    runs = runs_of(projected[0][1])
    assumed = f"The number of runs a day is assumed: {runs.number:,.6g}. " if runs.is_assumed else ""
    assumptions = assumed + (
        "About runs that did not happen. It assumes that every run is like this session, at the same prices, and a "
        f"month of {days:g} days. The savings per day and month are net: with recovery of everything cut and needed. "
        "The ends are the 5th and 95th percentile of a thousand sessions resampled from stretches of this one, the "
        "lower net, the upper without recoveries. Whether other sessions are similar is unknown."
    )
    return Section("projection", "Projection", (table, Line((Cell(assumptions),))))
