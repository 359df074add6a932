"""Page sections on the session: totals, calls, prompt content, projections."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from inspector.replay.analysis.alternatives import LifetimeChange, ModelSwitch, NextCallCost
from inspector.replay.analysis.breakdown import BreakdownRow, ResentBlock, part_label
from inspector.replay.analysis.cache_misses import CauseTotal
from inspector.replay.analysis.costs import ModelCost
from inspector.replay.quantity import Output, Unit, quantities, quantity
from inspector.report.as_model import as_model_rows
from inspector.report.cache_document import CacheMissesFacts, CacheMissFacts
from inspector.report.catalogue import CostParts, PlanFacts, ProjectionFacts, labeled_figure
from inspector.report.charts.specifications import MOST_CALL_BARS, downsample
from inspector.report.document import BaselineCall, Ledger, Report, SavingPlanFacts, SessionFacts
from inspector.report.layout import capitalized, plain
from inspector.report.numbers import IN_TEXT
from inspector.report.pages.model import Chart, Code, Line, Part, Section, note_line
from inspector.report.sentences import bands_of, compactions_words, costliest_first, rounded_to, runs_of
from inspector.report.tables import (
    RECORDED,
    Cell,
    FigureCells,
    Table,
    columns_of,
    content_title,
    cost_parts,
    misses_title,
    name_cell,
    plan_letter,
    series_names,
    totals_rows,
    word,
)
from inspector.report.text import (
    CAUSE_COLUMNS,
    accounting_text,
    cause_name,
    costliest,
    lifetime_label,
    lifetime_text,
    miss_text,
    models_named,
    next_call_text,
    no_misses_text,
    switch_text,
)
from inspector.safe_text import safe_text
from inspector.strategies.presets import display_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from inspector.replay.sessions import SubagentCosts
    from inspector.report.folder import FolderMissesFacts


RECORDED_AND_BASELINE = (
    "Recorded figures come from the provider; the baseline is the same session with nothing cut, with estimates for "
    "unreported figures."
)

MOST_ROWS = 200
"""Maximum rows of the table behind a chart over calls; beyond that calls share rows."""


def plan_title(report: Report, index: int) -> str:
    """Return a plan's name in headings."""
    name = plain(display_name(report.plans[index].name))
    return f"Plan {plan_letter(index)}: {name}" if name else f"Plan {plan_letter(index)}"


def plan_name(plan: PlanFacts | SavingPlanFacts) -> str:
    """Return a plan's name in a sentence: its own, or its strategies."""
    return plain(display_name(plan.name, plan.strategies))


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
        parts.insert(0, Line.of(f"{RECORDED_AND_BASELINE}{compared}"))
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
        BreakdownRow,
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
        ResentBlock,
        *("message", "tokens", "calls", "sent_tokens", "usd"),
    )
    parts: list[Part] = [table]
    for row in report.heaviest:
        if row.text:
            begins = f"{row.tool or 'tool'}, message {row.message:,}, begins with:"
            parts += [Line.of(plain(begins)), Code(f"{safe_text(row.text)}\n", "text")]
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
    return Section("projection", "Projection", (table, Line.of(assumptions)))


MOST_MISSES = 10

PARTS = ("cache_read_usd", "cache_write_usd", "uncached_usd", "output_usd")
"""Dollars of a call by kind of token: fields of `BaselineCall`."""

MODEL_COLUMNS = ("calls", "prompt_tokens", "output_tokens", "usd", "share")

SWITCH_COLUMNS = ("call", "calls", "recorded_usd", "usd", "saved_usd", "recache_usd", "pays_after", "beyond_window")

MISS_COLUMNS = ("extra_usd", "tokens", "could_read_tokens", "read_tokens")


def bill_section(report: Report) -> Section | None:
    """Build the section on the cost of every call by kind of token; None without prices or rows for calls."""
    ledger = report.ledger
    if ledger is None or not ledger.calls or report.baseline.cost_usd is None:
        return None
    found = report.cache_misses
    named = [] if found is None else costliest(found, 3)
    text = "".join(f" Call {miss.call:,}: {miss_text(miss)}." for miss in named)
    together = max(last - first for first, last in downsample(len(ledger.calls), MOST_CALL_BARS))
    what = "cost of each call" if together == 1 else f"cost of calls, up to {together} per bar"
    about = f"Bars: {what}, by kind of token, {IN_TEXT.dollars(report.baseline.cost_usd)} in total."
    table = _bill_table([call.baseline for call in ledger.calls])
    return Section("bill", "Cost of each call", (Chart("bill", plain(f"{about}{text}")), table))


def _bill_table(calls: list[BaselineCall]) -> Table:
    rows = []
    for first, last in downsample(len(calls), MOST_ROWS):
        sums = [sum(getattr(call, name) or 0.0 for call in calls[first:last]) for name in PARTS]
        name = f"{last:,}" if last - first == 1 else f"{first + 1:,} to {last:,}"
        rows.append((Cell(name), *(Cell(IN_TEXT.dollars(value), value=round(value, 6)) for value in sums)))
    head = ("call", *(quantity(CostParts, name).label for name in PARTS))
    return Table(
        "Dollars of each call" if len(rows) == len(calls) else "Dollars of consecutive calls", head, tuple(rows)
    )


def cost_section(report: Report, figures: FigureCells) -> Section | None:
    if report.cost is None or report.baseline.cost_usd is None:
        return None
    total, parts = report.baseline.cost_usd, cost_parts(report)
    dollars = figures.parts(total, *(("cost", name) for name, _ in parts))
    labels = (quantity(CostParts, name).label for name, _ in parts)
    rows = [(Cell(label), cell, Cell(share)) for label, cell, (_, share) in zip(labels, dollars, parts, strict=True)]
    tables = [Table("By kind of token", ("", "dollars", "of the cost"), tuple(rows))]
    if len(report.model_costs) > 1:
        names = ((name_cell(each.model or "unnamed"),) for each in report.model_costs)
        places = ((named, ("model_costs", index)) for index, named in enumerate(names))
        by_model = figures.table("Cost by model", ("model",), places, ModelCost, *MODEL_COLUMNS)
        amounts = figures.parts(total, *(("model_costs", index, "usd") for index in range(len(report.model_costs))))
        at = len(by_model.head) - len(MODEL_COLUMNS) + MODEL_COLUMNS.index("usd")
        model_rows = ((*row[:at], cell, *row[at + 1 :]) for row, cell in zip(by_model.rows, amounts, strict=True))
        tables.append(replace(by_model, rows=tuple(model_rows)))
    return Section("cost-parts", "Components of the cost", tuple(tables))


def misses_section(report: Report, figures: FigureCells) -> Section | None:
    """Build the section on cache misses: causes, the costliest ones, and all tokens that were not read."""
    found = report.cache_misses
    if found is None or not report.session.calls:
        return None
    label = quantity(CacheMissesFacts, "tokens").label
    none = Line.of(f"Cache misses: {no_misses_text(report)}.")
    parts: list[Part] = [misses_line(found, figures, label) if found.calls else none]
    if found.causes:
        parts.append(_causes(found, figures))
        parts += note_line(found.extra_usd, (row.extra_usd for row in found.causes if not row.expected))
    if found.calls:
        parts.append(_dearest(found, figures))
    if found.unread_tokens:
        parts.append(Line.of(f"{accounting_text(found)}."))
    if together := "" if report.compacted is None else compactions_words(report.compacted, IN_TEXT):
        parts.append(Line.of(f"{capitalized(together)}."))
    parts += _otherwise(found, figures)
    parts += _switched(report.model_switches, figures)
    return Section("cache-misses", misses_title(report), tuple(parts))


def as_model_section(report: Report) -> Section | None:
    """Build the section on another model's prices: a sentence per row of the text report."""
    if report.as_model is None:
        return None
    rows = as_model_rows(report.as_model)
    return Section("as-model", "At another model", tuple(Line.of(_sentence(*row)) for row in rows))


def _sentence(label: str, text: str) -> str:
    return capitalized(f"{label}: {text}." if label else f"{text}.")


def misses_line(found: CacheMissesFacts | FolderMissesFacts, figures: FigureCells, rewritten: str) -> Line:
    """Sum up the cache misses of a report in a sentence."""
    at = "cache_misses"
    words = "cache miss" if found.calls == 1 else "cache misses"
    parts = [figures.cell(at, "calls"), Cell(f" {words}: "), figures.cell(at, "tokens"), Cell(f" {rewritten}")]
    if found.extra_usd is not None:
        parts += [Cell(" for "), figures.cell(at, "extra_usd"), Cell(" more than cache reads")]
    if found.share is not None:
        parts += [Cell(", "), figures.cell(at, "share"), Cell(" of the bill")]
    return Line.of(*parts, ".")


def _causes(found: CacheMissesFacts, figures: FigureCells) -> Table:
    rows = [
        (
            Cell(cause_name(row)),
            Cell(row.label),
            *(figures.cell("cache_misses", "causes", index, name) for name in CAUSE_COLUMNS),
            Cell(row.prevention or "-"),
        )
        for index, row in enumerate(found.causes)
    ]
    labels = (quantity(CauseTotal, name).label for name in CAUSE_COLUMNS)
    head = ("cause", "meaning", *labels, "prevention")
    return Table("Causes", head, tuple(rows), words=2, numbers=len(CAUSE_COLUMNS))


def _dearest(found: CacheMissesFacts, figures: FigureCells) -> Table:
    places = {miss.call: index for index, miss in enumerate(found.misses)}
    rows = [
        (
            Cell(f"call {miss.call:,}"),
            word(miss_text(miss)),
            *(figures.cell("cache_misses", "misses", places[miss.call], name) for name in MISS_COLUMNS),
            Cell(miss.prevention or "-"),
        )
        for miss in costliest(found, MOST_MISSES)
    ]
    labels = (quantity(CacheMissFacts, name).label for name in MISS_COLUMNS)
    head = ("call", "why", *labels, "prevention")
    return Table("The costliest cache misses", head, tuple(rows), words=2, numbers=len(MISS_COLUMNS))


def _otherwise(found: CacheMissesFacts, figures: FigureCells) -> list[Part]:
    """Build the parts on the other lifetime and the next call, each a sentence and a table."""
    parts: list[Part] = []
    if found.lifetime is not None:
        label = lifetime_label(found.lifetime)
        parts.append(Line.of(f"The {label} {lifetime_text(found.lifetime)}."))
        rows = _figures("lifetime", LifetimeChange, figures)
        parts.append(Table(f"With a {label}", ("", ""), rows))
    parts += [Line.of(f"Setting: {plain(each.text)}.", is_item=True) for each in found.settings]
    if found.next_call is not None:
        parts.append(Line.of(f"The next call: {next_call_text(found.next_call)}."))
        parts.append(Table("The next call", ("", ""), _figures("next_call", NextCallCost, figures)))
    return parts


def _switched(switches: list[ModelSwitch], figures: FigureCells) -> list[Part]:
    """Build the parts on other models from some call on, a sentence each, and a table of all."""
    if not switches:
        return []
    labels = (quantity(ModelSwitch, name).label for name in SWITCH_COLUMNS)
    rows = tuple(
        (word(each.model), *(figures.cell("model_switches", index, name) for name in SWITCH_COLUMNS))
        for index, each in enumerate(switches)
    )
    parts = [Line.of(plain(f"{switch_text(each)}.")) for each in switches]
    return [*parts, Table("With another model", ("model", *labels), rows)]


def _figures(
    name: str, kind: type[LifetimeChange | NextCallCost], figures: FigureCells
) -> tuple[tuple[Cell, ...], ...]:
    rows = []
    for field, each in quantities(kind).items():
        cell = figures.cell("cache_misses", name, field)
        if cell.value is None:
            continue
        label, text = labeled_figure(each, cell.value)
        rows.append((Cell(f"{label}, tokens" if each.unit is Unit.TOKENS else label), replace(cell, text=text)))
    return tuple(rows)
