"""Page sections on the prompt cache: cost of each call, causes of misses, and projections."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from inspector.replay.quantity import Unit, quantities, quantity
from inspector.report.as_model import as_model_rows
from inspector.report.cache_document import (
    CacheMissesFacts,
    CacheMissFacts,
    LifetimeFacts,
    MissCauseFacts,
    ModelSwitchFacts,
    NextCallCostFacts,
)
from inspector.report.cache_text import (
    CAUSE_COLUMNS,
    accounting_text,
    cause_name,
    costliest,
    lifetime_label,
    lifetime_text,
    miss_text,
    next_call_text,
    no_misses_text,
    switch_text,
)
from inspector.report.catalogue import CostParts, ModelCostFacts, labeled_figure
from inspector.report.charts.specifications import MOST_CALL_BARS, downsample
from inspector.report.compaction_words import compactions_words
from inspector.report.layout import capitalized, plain
from inspector.report.numbers import IN_TEXT
from inspector.report.pages.model import Chart, Line, Section, note_line
from inspector.report.tables import Cell, FigureCells, Table, name_cell, word
from inspector.report.totals import cost_parts, misses_title

if TYPE_CHECKING:
    from inspector.report.document import BaselineCall, Report
    from inspector.report.pages.model import Part

MOST_ROWS = 200

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
    """Build the section on cost components."""
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
        by_model = figures.table("Cost by model", ("model",), places, ModelCostFacts, *MODEL_COLUMNS)
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
    parts: list[Part] = [_summary(report, found, figures)]
    if found.causes:
        parts.append(_causes(found, figures))
        parts += note_line(found.extra_usd, (row.extra_usd for row in found.causes if not row.expected))
    if found.calls:
        parts.append(_dearest(found, figures))
    if found.unread_tokens:
        parts.append(Line((Cell(f"{accounting_text(found)}."),)))
    if together := "" if report.compacted is None else compactions_words(report.compacted, IN_TEXT):
        parts.append(Line((Cell(f"{capitalized(together)}."),)))
    parts += _otherwise(found, figures)
    parts += _switched(report.model_switches, figures)
    return Section("cache-misses", misses_title(report), tuple(parts))


def as_model_section(report: Report) -> Section | None:
    """Build the section on another model's prices: a sentence per row of the text report."""
    if report.as_model is None:
        return None
    rows = as_model_rows(report.as_model)
    return Section("as-model", "At another model", tuple(Line((Cell(_sentence(*row)),)) for row in rows))


def _sentence(label: str, text: str) -> str:
    return capitalized(f"{label}: {text}." if label else f"{text}.")


def _summary(report: Report, found: CacheMissesFacts, figures: FigureCells) -> Line:
    if not found.calls:
        return Line((Cell(f"Cache misses: {no_misses_text(report)}."),))
    steps = ("cache_misses",)
    label = quantity(CacheMissesFacts, "tokens").label
    parts = [
        figures.cell(*steps, "calls"),
        Cell(f" {'cache miss' if found.calls == 1 else 'cache misses'}: "),
        figures.cell(*steps, "tokens"),
        Cell(f" {label}"),
    ]
    if found.extra_usd is not None:
        parts += [Cell(" for "), figures.cell(*steps, "extra_usd"), Cell(" more than cache reads, ")]
        parts += [figures.cell(*steps, "share"), Cell(" of the bill")]
    return Line((*parts, Cell(".")))


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
    labels = (quantity(MissCauseFacts, name).label for name in CAUSE_COLUMNS)
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
        parts.append(Line((Cell(f"The {label} {lifetime_text(found.lifetime)}."),)))
        rows = _figures("lifetime", LifetimeFacts, figures)
        parts.append(Table(f"With a {label}", ("", ""), rows))
    parts += [Line((Cell(f"Setting: {plain(each.text)}."),), is_item=True) for each in found.settings]
    if found.next_call is not None:
        parts.append(Line((Cell(f"The next call: {next_call_text(found.next_call)}."),)))
        parts.append(Table("The next call", ("", ""), _figures("next_call", NextCallCostFacts, figures)))
    return parts


def _switched(switches: list[ModelSwitchFacts], figures: FigureCells) -> list[Part]:
    """Build the parts on other models from some call on, a sentence each, and a table of all."""
    if not switches:
        return []
    labels = (quantity(ModelSwitchFacts, name).label for name in SWITCH_COLUMNS)
    rows = tuple(
        (word(each.model), *(figures.cell("model_switches", index, name) for name in SWITCH_COLUMNS))
        for index, each in enumerate(switches)
    )
    parts = [Line((Cell(plain(f"{switch_text(each)}.")),)) for each in switches]
    return [*parts, Table("With another model", ("model", *labels), rows)]


def _figures(
    name: str, kind: type[LifetimeFacts | NextCallCostFacts], figures: FigureCells
) -> tuple[tuple[Cell, ...], ...]:
    rows = []
    for field, each in quantities(kind).items():
        cell = figures.cell("cache_misses", name, field)
        if cell.value is None:
            continue
        label, text = labeled_figure(each, cell.value)
        rows.append((Cell(f"{label}, tokens" if each.unit is Unit.TOKENS else label), replace(cell, text=text)))
    return tuple(rows)
