"""What the session is made of and how it went: what takes up its prompts, call by call, what it may come to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from inspector.report.figures_table import plan_letter
from inspector.report.layout import plain
from inspector.report.numbers import compact, dollars, percent, plural
from inspector.report.pages.figures import Figures, name_cell
from inspector.report.pages.model import Cell, Chart, Code, Line, Section, Table
from inspector.report.pages.totals import plan_title
from inspector.report.thinning import stretches
from inspector.safe_text import safe_text

if TYPE_CHECKING:
    from inspector.report.document import Report
    from inspector.report.ledger_document import Ledger
    from inspector.report.pages.model import Part

MOST_ROWS = 200
"""Rows of the table behind a chart over calls; more calls than that share rows."""


def calls_sections(report: Report) -> tuple[Section, ...]:
    """Context and cost over calls, with the table that both are drawn from."""
    ledger = report.ledger
    if ledger is None or not ledger.calls:
        return ()
    peak = report.baseline.peak_prompt_tokens
    planned = "".join(
        f" With plan {plan_letter(index)} it is {compact(plan.figures.peak_prompt_tokens)}."
        for index, plan in enumerate(report.plans)
    )
    window = f" The model's window is {compact(ledger.window)}." if ledger.window else ""
    context = (
        f"Lines over {plural(len(ledger.calls), 'call')}: the tokens of every prompt as recorded and under each plan. "
        f"The largest recorded prompt is {compact(peak)} tokens.{planned}{window}"
    )
    parts: list[Part] = [Chart("context", context)]
    sections = [Section("context", "Context over calls", (*parts, _calls_table(ledger)))]
    if report.baseline.cost_usd is not None:
        ends = "".join(
            f" With plan {plan_letter(index)} it comes to {dollars(plan.figures.cost_usd)}."
            for index, plan in enumerate(report.plans)
        )
        cost = f"Lines over calls: dollars spent so far. In the end {dollars(report.baseline.cost_usd)}.{ends}"
        sections.append(Section("cost", "Cost over calls", (Chart("cost", cost), _cost_table(ledger))))
    return tuple(sections)


def _calls_table(ledger: Ledger) -> Table:
    plans = range(len(ledger.calls[0].plans))
    rows = []
    for first, last in stretches(len(ledger.calls), MOST_ROWS):
        calls = ledger.calls[first:last]
        rows.append(
            (
                Cell(_named(first, last)),
                _tokens(max(call.baseline.prompt_tokens for call in calls)),
                *(_tokens(max(call.plans[index].prompt_tokens for call in calls)) for index in plans),
            )
        )
    caption = "Prompt tokens by call" if len(rows) == len(ledger.calls) else "Largest prompt of each stretch of calls"
    head = ("call", "without a plan", *(f"plan {plan_letter(index)}" for index in plans))
    return Table(caption, head, tuple(rows), frozenset(range(1, len(head))))


def _cost_table(ledger: Ledger) -> Table:
    plans = range(len(ledger.calls[0].plans))
    rows = []
    so_far = [0.0] * (len(plans) + 1)
    for first, last in stretches(len(ledger.calls), MOST_ROWS):
        for call in ledger.calls[first:last]:
            for index, figures in enumerate((call.baseline, *call.plans)):
                so_far[index] += figures.cost_usd or 0
        rows.append((Cell(_named(first, last)), *(Cell(dollars(value), value=value) for value in so_far)))
    head = ("call", "without a plan", *(f"plan {plan_letter(index)}" for index in plans))
    return Table("Dollars spent by then", head, tuple(rows), frozenset(range(1, len(head))))


def _named(first: int, last: int) -> str:
    return f"{last:,}" if last - first == 1 else f"{first + 1:,} to {last:,}"


def _tokens(value: int) -> Cell:
    return Cell(f"{value:,}", value=value)


def composition_section(report: Report, figures: Figures) -> Section | None:
    """What takes up the prompts without a plan."""
    if not report.carried:
        return None
    rows = []
    for index, row in enumerate(report.carried):
        steps = ("carried", index)
        rows.append(
            (
                name_cell(f"{row.kind} {row.tool}".rstrip()),
                figures.count(*steps, "blocks") if row.blocks else Cell(""),
                figures.count(*steps, "sent_tokens"),
                figures.share(*steps, "share"),
                figures.money(*steps, "usd"),
                figures.count(*steps, "carried_tokens"),
            )
        )
    head = ("", "blocks", "tokens sent", "of all", "cost", "in the newest prompt")
    table = Table(
        "What takes up the prompts, over all calls, without a plan", head, tuple(rows), frozenset(range(1, 6))
    )
    largest = report.carried[0]
    alternative = (
        "Bars: tokens sent over all calls by kind of block and tool. Most of the texts is "
        f"{plain(f'{largest.kind} {largest.tool}'.rstrip())}, "
        f"{percent(None if largest.share is None else 100 * largest.share)} of all prompts."
    )
    return Section("composition", "What takes up the prompts", (Chart("composition", alternative), table))


def heaviest_section(report: Report, figures: Figures) -> Section | None:
    """The results that cost most to carry along."""
    if not report.heaviest:
        return None
    rows = []
    for index, row in enumerate(report.heaviest):
        steps = ("heaviest", index)
        rows.append(
            (
                name_cell(row.tool or "tool"),
                figures.count(*steps, "message"),
                figures.count(*steps, "tokens"),
                figures.count(*steps, "calls"),
                figures.count(*steps, "sent_tokens"),
                figures.money(*steps, "usd"),
            )
        )
    head = ("tool", "message", "tokens", "stayed for calls", "tokens sent", "cost")
    table = Table("Results that cost most to carry along", head, tuple(rows), frozenset(range(1, 6)))
    parts: list[Part] = [table]
    for row in report.heaviest:
        if row.text:
            begins = f"{row.tool or 'tool'}, message {row.message:,}, begins:"
            parts += [Line((Cell(plain(begins)),)), Code(f"{safe_text(row.text)}\n", "text")]
    return Section("heaviest", "Results that cost most", tuple(parts))


def projection_section(report: Report, figures: Figures) -> Section | None:
    """What a saving comes to over many runs, with what is assumed."""
    rows = []
    for index, plan in enumerate(report.plans):
        if plan.projection is None:
            continue
        steps = ("plans", index, "projection")
        rows.append(
            (
                Cell(plan_title(report, index)),
                figures.cell(lambda value: f"{value:g}" if value is not None else "-", *steps, "runs_per_day"),
                figures.saved_money(*steps, "usd_per_day"),
                figures.saved_money(*steps, "usd_per_month"),
                figures.saved_money(*steps, "usd_per_month_low"),
                figures.saved_money(*steps, "usd_per_month_high"),
            )
        )
    if not rows:
        return None
    head = ("plan", "runs a day", "saved a day", "saved a month", "at worst", "at best")
    table = Table("Projected savings", head, tuple(rows), frozenset(range(1, 6)))
    days = next(plan.projection.days_per_month for plan in report.plans if plan.projection is not None)
    assumptions = (
        "About runs that did not happen. It assumes that every run is like this session, at the same prices, and a "
        f"month of {days:g} days. At worst and at best are the 5th and 95th percentile of a thousand sessions put "
        "together from drawn stretches of this one: how far chance may carry the total, not whether other sessions are "
        "like it."
    )
    return Section("projection", "Projection", (table, Line((Cell(assumptions),))))
