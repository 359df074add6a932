"""The session on a page: what matters most, the totals, every call, what takes up its prompts, what it may come to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from inspector.report.charts.specifications import downsample
from inspector.report.figures_table import pays_off, plan_letter
from inspector.report.layout import plain
from inspector.report.numbers import compact, dollars, percent, plural, whole
from inspector.report.pages.model import Cell, Chart, Code, FigureCells, Line, Section, Table, name_cell, word
from inspector.safe_text import safe_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from inspector.report.document import Ledger, Report
    from inspector.report.pages.model import Part, Step

TOTALS: tuple[tuple[str, str], ...] = (
    ("calls", "calls"),
    ("prompt tokens", "prompt_tokens"),
    ("largest prompt", "peak_prompt_tokens"),
    ("cache read", "cache_read_tokens"),
    ("cache write", "cache_write_tokens"),
    ("uncached", "uncached_tokens"),
    ("output tokens", "output_tokens"),
    ("cache breaks", "cache_breaks"),
)

MOST_ROWS = 200
"""Rows of the table behind a chart over calls; more calls than that share rows."""


def plan_title(report: Report, index: int) -> str:
    """What a plan is called in headings."""
    name = plain(report.plans[index].name)
    return f"Plan {plan_letter(index)}: {name}" if name else f"Plan {plan_letter(index)}"


def lead(report: Report, figures: FigureCells) -> tuple[Line, ...]:
    """What matters most: what every plan saves, or what the session cost where there is no plan."""
    if not report.plans:
        found = ("baseline",)
        return (
            Line(
                (
                    Cell("This session sent "),
                    figures.count(*found, "prompt_tokens"),
                    Cell(f" prompt tokens over {plural(report.session.calls, 'call')}"),
                    *_cost_cells(figures, *found),
                    Cell(". No plan was tried on it."),
                )
            ),
        )
    return tuple(_saving(report, figures, index) for index in range(len(report.plans)))


def _cost_cells(figures: FigureCells, *steps: Step) -> tuple[Cell, ...]:
    cost = figures.money(*steps, "cost_usd")
    return () if cost.value is None else (Cell(" for "), cost)


def _saving(report: Report, figures: FigureCells, index: int) -> Line:
    saved = report.plans[index].saved
    if not report.session.calls:
        return Line((Cell("The session holds no call to a model: there is nothing to replay."),))
    if report.plans[index].edits == 0 and not saved.tokens:
        return Line((Cell(f"Plan {plan_letter(index)} changes nothing in this session."),))
    steps: tuple[Step, ...] = ("plans", index, "saved")
    name = f"Plan {plan_letter(index)}"
    if saved.usd is None:
        amount, of = figures.count(*steps, "tokens"), " prompt tokens ("
    else:
        amount, of = figures.money(*steps, "usd"), " ("
    share = figures.cell(lambda value: percent(None if value is None else abs(value)), *steps, "percent")
    what = "of the cost" if saved.percent_of == "cost_usd" else "of all prompts"
    value = amount.value or 0
    if value < 0:
        positive = Cell(amount.text.removeprefix("-"), amount.pointer, amount.value, amount.known, is_loss=True)
        return Line((Cell(f"{name} costs "), positive, Cell(" more" + of), share, Cell(f" {what}), {amount.known}.")))
    known = f", {amount.known}" if amount.known else ""
    return Line((Cell(f"{name} saves "), amount, Cell(of), share, Cell(f" {what}){known}.")))


def large_figures(report: Report, figures: FigureCells) -> tuple[tuple[str, Cell], ...]:
    """The figures to show large: those of the first plan, or of the session."""
    if not report.plans:
        at: tuple[Step, ...] = ("baseline",)
        return (
            ("cost", figures.money(*at, "cost_usd")),
            ("prompt tokens", figures.count(*at, "prompt_tokens")),
            ("largest prompt", figures.count(*at, "peak_prompt_tokens")),
            ("calls", figures.count(*at, "calls")),
        )
    saved: tuple[Step, ...] = ("plans", 0, "saved")
    first = "saved with plan A" if len(report.plans) > 1 else "saved"
    of = "of the cost" if report.plans[0].saved.percent_of == "cost_usd" else "of all prompts"
    return (
        (first, figures.saved_money(*saved, "usd")),
        (of, figures.percentage(*saved, "percent")),
        ("prompt tokens less", figures.saved_count(*saved, "tokens")),
        ("largest prompt", figures.count("plans", 0, "figures", "peak_prompt_tokens")),
    )


def totals_section(report: Report, figures: FigureCells) -> Section:
    """One column for what was recorded, the baseline and each plan; one row a figure."""
    places: list[tuple[str, tuple[Step, ...]]] = [("recorded", ("recorded",))] if report.recorded is not None else []
    places += [("baseline", ("baseline",))]
    places += [(f"plan {plan_letter(index)}", ("plans", index, "figures")) for index in range(len(report.plans))]
    rows = [(Cell(label), *(figures.count(*place, name) for _, place in places)) for label, name in TOTALS]
    rows.append((Cell("cost"), *(figures.cell(dollars, *place, "cost_usd") for _, place in places)))
    if report.plans:
        rows += _saving_rows(report, figures, len(places) - len(report.plans))
    table = Table(
        "Totals over all calls",
        ("figure", *(title for title, _ in places)),
        tuple(rows),
        frozenset(range(1, len(places) + 1)),
    )
    return Section("totals", "Totals", (table,))


def _saving_rows(report: Report, figures: FigureCells, before: int) -> list[tuple[Cell, ...]]:
    def row(label: str, cell: Callable[[int], Cell]) -> tuple[Cell, ...]:
        return (Cell(label), *[Cell("")] * before, *(cell(index) for index in range(len(report.plans))))

    def percentage_of(name: str) -> Callable[[int], Cell]:
        return lambda index: (
            figures.percentage("plans", index, "saved", "percent")
            if report.plans[index].saved.percent_of == name
            else Cell("")
        )

    def paid(index: int) -> Cell:
        found = figures.cell(whole, "plans", index, "break_even_call")
        return Cell(pays_off(report.plans[index]), found.pointer, found.value, found.known)

    rows = [
        row("saved", lambda index: figures.saved_money("plans", index, "saved", "usd")),
        row("saved, of the cost", percentage_of("cost_usd")),
        row("saved tokens", lambda index: figures.saved_count("plans", index, "saved", "tokens")),
        row("saved, of the prompt", percentage_of("prompt_tokens")),
        row("pays off from call", paid),
        row("first acts at call", lambda index: figures.count("plans", index, "first_firing")),
        row("edits", lambda index: figures.count("plans", index, "edits")),
    ]
    return [cells for cells in rows if any(cell.text for cell in cells[1:])]


def facts_table(report: Report, figures: FigureCells) -> Table:
    """What session it is and what is in it."""
    session = report.session
    words = (
        ("file", session.path),
        ("format", session.format + (f", recorded by {session.agent}" if session.agent else "")),
        ("model", ", ".join(session.models) or "not named in the file"),
    )
    counts = (
        ("messages", "messages"),
        ("blocks", "blocks"),
        ("tool results", "tool_results"),
        ("calls", "calls"),
        ("compactions", "compactions"),
        ("records that could not be read", "skipped_records"),
    )
    rows = [(Cell(label), word(text)) for label, text in words]
    rows += [(Cell(label), figures.count("session", name)) for label, name in counts]
    return Table("The session", ("", ""), tuple(rows), frozenset())


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
    for first, last in downsample(len(ledger.calls), MOST_ROWS):
        calls = ledger.calls[first:last]
        rows.append(
            (
                Cell(_named(first, last)),
                _token_cell(max(call.baseline.prompt_tokens for call in calls)),
                *(_token_cell(max(call.plans[index].prompt_tokens for call in calls)) for index in plans),
            )
        )
    caption = "Prompt tokens by call" if len(rows) == len(ledger.calls) else "Largest prompt of each stretch of calls"
    head = ("call", "without a plan", *(f"plan {plan_letter(index)}" for index in plans))
    return Table(caption, head, tuple(rows), frozenset(range(1, len(head))))


def _cost_table(ledger: Ledger) -> Table:
    plans = range(len(ledger.calls[0].plans))
    rows = []
    so_far = [0.0] * (len(plans) + 1)
    for first, last in downsample(len(ledger.calls), MOST_ROWS):
        for call in ledger.calls[first:last]:
            for index, figures in enumerate((call.baseline, *call.plans)):
                so_far[index] += figures.cost_usd or 0
        rows.append((Cell(_named(first, last)), *(Cell(dollars(value), value=value) for value in so_far)))
    head = ("call", "without a plan", *(f"plan {plan_letter(index)}" for index in plans))
    return Table("Dollars spent by then", head, tuple(rows), frozenset(range(1, len(head))))


def _named(first: int, last: int) -> str:
    return f"{last:,}" if last - first == 1 else f"{first + 1:,} to {last:,}"


def _token_cell(value: int) -> Cell:
    return Cell(f"{value:,}", value=value)


def composition_section(report: Report, figures: FigureCells) -> Section | None:
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


def heaviest_section(report: Report, figures: FigureCells) -> Section | None:
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


def projection_section(report: Report, figures: FigureCells) -> Section | None:
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
