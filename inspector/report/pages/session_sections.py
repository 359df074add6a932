"""The session on a page: what matters most, the totals, every call, what takes up its prompts, what it may come to."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from inspector.replay.analysis.breakdown import part_label
from inspector.report.belief import HOLDS
from inspector.report.catalogue import (
    CarriedBlockFacts,
    CarriedFacts,
    CostParts,
    FigureSet,
    Output,
    ProjectionFacts,
    quantities,
    quantity,
)
from inspector.report.charts.specifications import downsample
from inspector.report.document import SessionFacts
from inspector.report.export import answer_for
from inspector.report.facts import plan_of_facts
from inspector.report.layout import plain
from inspector.report.monthly_saving import (
    bands_of,
    daily_saving,
    monthly_range,
    monthly_saving,
    rounded_to,
    runs_a_day,
    runs_of,
)
from inspector.report.numbers import IN_TEXT
from inspector.report.pages.model import Chart, Code, Line, Section
from inspector.report.recovery_words import recovery_words
from inspector.report.tables import Cell, FigureCells, Table, name_cell, word
from inspector.report.text import models_named
from inspector.report.totals import carried_title, columns_of, cost_parts, plan_letter, series_names, totals_rows
from inspector.safe_text import safe_text
from inspector.strategies.registry import STRATEGIES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from inspector.report.catalogue import NeededLaterFacts, PlanFacts
    from inspector.report.document import Ledger, Report, SavingPlanFacts
    from inspector.report.pages.model import Part
    from inspector.report.tables import Step

MOST_DESCRIBED = 2
"""Strategies of a plan that the lead describes."""

MOST_ROWS = 200
"""Rows of the table behind a chart over calls; more calls than that share rows."""


def plan_title(report: Report, index: int) -> str:
    """What a plan is called in headings."""
    name = plain(report.plans[index].name)
    return f"Plan {plan_letter(index)}: {name}" if name else f"Plan {plan_letter(index)}"


def plan_name(plan: PlanFacts | SavingPlanFacts) -> str:
    """What a plan is called in a sentence: by its name, or by its strategies."""
    return plain(plan.name or " + ".join(_strategies(plan)))


def _strategies(plan: PlanFacts | SavingPlanFacts) -> list[str]:
    return [spec.partition(":")[0] for spec in plan.strategies]


def lead(report: Report, figures: FigureCells) -> tuple[Line, ...]:
    """What matters most, a line each: what the money went to, what fills the context, a plan, and what it risks.

    A plan that somebody chose comes first; else the best one that is known comes last.
    """
    spent = (_spent(report, figures), *_costliest_part(report, figures))
    plans = [line for index in range(len(report.plans)) for line in _plan_lines(report, figures, index)]
    if plans and not is_suggested(report):
        return (*plans, *spent)
    return (*spent, *(plans or _best_plan_lines(report, figures)))


def is_suggested(report: Report) -> bool:
    """Whether nobody chose the plans of a report: what the session cost comes first then."""
    return any(plan.is_suggestion for plan in report.plans)


def _spent(report: Report, figures: FigureCells) -> Line:
    """What the session cost in all, of what that is made most, and what cache misses added to it."""
    if not report.session.calls:
        return Line((Cell("The session holds no call to a model: there is nothing to replay."),))
    calls = IN_TEXT.plural(report.session.calls, "call")
    tokens, peak = (figures.cell("baseline", name) for name in ("prompt_tokens", "peak_prompt_tokens"))
    sent = (Cell(f"{calls} sent "), tokens, Cell(" prompt tokens, the largest prompt "), peak, Cell("."))
    cost = figures.cell("baseline", "cost_usd")
    if cost.value is None:
        return Line(sent)
    cells = [Cell("This session cost "), cost, Cell(f"{_billed_before(report)}. ")]
    if made_of := _most_of_the_cost(report):
        cells.append(Cell(f"{made_of}: "))
    return Line((*cells, *sent, *_missed(report, figures)))


def _billed_before(report: Report) -> str:
    """That an earlier session was billed for some of the cost, or all of it; empty where none was."""
    copied, calls = report.session.copied_calls, report.session.calls
    if not copied:
        return ""
    if copied == calls:
        return ", all of it billed in an earlier session that it was copied from"
    return f", of which an earlier session was billed for {IN_TEXT.plural(copied, 'call')} that it shares"


def _most_of_the_cost(report: Report) -> str:
    """`65 % is cache reads`; empty where that is not known."""
    parts = cost_parts(report) if report.baseline.cost_usd else []
    if not parts:
        return ""
    name, share = max(parts, key=lambda part: getattr(report.cost, part[0]))
    return f"{share} is {quantity(CostParts, name).label}"


def _missed(report: Report, figures: FigureCells) -> tuple[Cell, ...]:
    """What cache misses added; nothing where there is none, or no price."""
    misses = report.cache_misses
    if misses is None or not misses.calls or misses.extra_usd is None:
        return ()
    words = IN_TEXT.plural(misses.calls, "cache miss")
    return (
        Cell(f" {words} cost "),
        figures.cell("cache_misses", "extra_usd"),
        Cell(" more than cache reads would have."),
    )


def _costliest_part(report: Report, figures: FigureCells) -> Iterator[Line]:
    """The two parts of the context that cost most to resend, or were sent most where there is no price."""
    rows = report.carried
    order = sorted(range(len(rows)), key=lambda at: (-(rows[at].usd or 0), -(rows[at].sent_tokens or 0)))[:2]
    cells: list[Cell] = []
    for at in order:
        share = figures.cell("carried", at, "share")
        named = plain(part_label(rows[at].kind, rows[at].tool))
        cells.append(Cell(f"then {named}, " if cells else f"Costs most to resend: {named}, "))
        if rows[at].usd is not None:
            cells += [figures.cell("carried", at, "usd"), Cell(" and ")]
        cells += [share, Cell(" of all prompts" if at == order[0] else ""), Cell("; ")]
    if cells:
        yield Line((*cells[:-1], Cell(".")))


def _tried(report: Report) -> str:
    """Why a page is on no plan."""
    found = report.best_plan
    if found is None or not found.is_complete:
        return "No plan was tried on it."
    return f"None of {found.tried:,} plans saves for sure."


def _plan_lines(report: Report, figures: FigureCells, index: int) -> Iterator[Line]:
    """What a plan of the report saves and does, what was needed of what it cuts, and what it comes to a month."""
    plan, letter = report.plans[index], plan_letter(index)
    name = plan_name(plan)
    said = f"Plan {letter} ({name})" if name else f"Plan {letter}"
    if plan.is_suggestion:
        said = f"The best plan found, plan {letter} ({name}),"
    if not report.session.calls:
        return
    if plan.edits == 0 and not plan.saved.tokens:
        yield Line((Cell(f"{said.removesuffix(',')} changes nothing in this session."),))
    else:
        yield _saving(plan, said, figures, ("plans", index))
    if plan.edits and plan.needed_later is not None:
        yield _risk(plan.needed_later, plan.saved.usd)
    monthly = _monthly_saving(report, index)
    if monthly is not None:
        yield monthly
    if plan.edits and (chosen := plan_of_facts(plan)) is not None:
        yield Line((Cell(answer_for(report.session.format, chosen).sentence),))


def _best_plan_lines(report: Report, figures: FigureCells) -> Iterator[Line]:
    """The best plan that is known, where the report is on none."""
    if not report.session.calls:
        return
    found = None if report.best_plan is None else report.best_plan.best
    if found is None:
        yield Line((Cell(_tried(report)),))
        return
    yield _saving(found, f"The best plan found, {plan_name(found)},", figures, ("best_plan", "best"))
    yield _risk(found.needed_later, found.saved.usd)


def _risk(needed: NeededLaterFacts, saved: float | None) -> Line:
    """What a plan's saving costs beside dollars: the later calls that needed what it cut."""
    saving = (saved, needed.saved_at_least_usd)
    said = recovery_words(needed.calls, needed.cost_each_usd, saving, needed.break_even_recoveries, IN_TEXT)
    return Line((Cell(f"Its risk, as far as can be told: {said}."),))


def _monthly_saving(report: Report, index: int) -> Line | None:
    """What a plan's saving comes to a month, as a range; None where nobody asked for it."""
    found = report.plans[index].projection
    if found is None:
        return None
    day, month = bands_of(found)
    said = f"{daily_saving(day, IN_TEXT)}, {monthly_saving(month, IN_TEXT)}"
    return Line((Cell(f"At {runs_a_day(runs_of(found))}, it {said}: {HOLDS}."),))


def _saving(plan: PlanFacts | SavingPlanFacts, said: str, figures: FigureCells, steps: tuple[Step, ...]) -> Line:
    """What a plan saves, and what it does.

    Args:
        plan: The plan.
        said: What it is called here.
        figures: The report's figures.
        steps: Where the plan stands in the report.
    """
    name = "tokens" if plan.saved.usd is None else "usd"
    amount, share = (figures.cell(*steps, "saved", each) for each in (name, "percent"))
    unit = " prompt tokens" if name == "tokens" else ""
    of = "of the cost" if plan.saved.percent_of == "cost_usd" else "of all prompts"
    share = replace(share, text=share.text.removeprefix("-"), is_loss=False)
    word, more = "saves", ""
    if (amount.value or 0) < 0:
        amount = replace(amount, text=amount.text.removeprefix("-"), is_loss=True)
        word, more = "costs", " more"
    return Line((Cell(f"{said} {word} "), amount, Cell(f"{more}{unit} ("), share, Cell(f" {of}).{_does(plan)}")))


def _does(plan: PlanFacts | SavingPlanFacts) -> str:
    """What a plan does to the context, in the words of its strategies; empty for strategies that are not known."""
    known = [STRATEGIES[name].summary for name in _strategies(plan) if name in STRATEGIES]
    said = "; then ".join(f"{words[:1].lower()}{words[1:].removesuffix('.')}" for words in known[:MOST_DESCRIBED])
    more = len(known) - MOST_DESCRIBED
    return f" What it does: {said}{f'; and {more} more' if more > 0 else ''}." if said else ""


def large_figures(report: Report, figures: FigureCells) -> tuple[tuple[str, Cell], ...]:
    """The figures to show large: those of the first plan, or of the session."""
    peak = quantity(FigureSet, "peak_prompt_tokens").label
    if not report.plans:
        names = ["cost_usd", "prompt_tokens", "peak_prompt_tokens", "calls"]
        shown = [(quantity(FigureSet, name).label, figures.cell("baseline", name)) for name in names]
        best = figures.cell("best_plan", "best", "saved", "usd")
        if best.value is not None:
            shown[1:] = [("the best plan would save", best), *shown[1:3]]
        return tuple(shown)
    saved: tuple[Step, ...] = ("plans", 0, "saved")
    if is_suggested(report):
        return (
            (quantity(FigureSet, "cost_usd").label, figures.cell("baseline", "cost_usd")),
            (f"{peak}, as recorded", figures.cell("baseline", "peak_prompt_tokens")),
            ("the best plan, plan A, would save", figures.cell(*saved, "usd")),
            (f"{peak} with plan A", figures.cell("plans", 0, "figures", "peak_prompt_tokens")),
        )
    first = "saved with plan A" if len(report.plans) > 1 else "saved"
    of = "of the cost" if report.plans[0].saved.percent_of == "cost_usd" else "of all prompts"
    found = report.plans[0].projection
    if found is None:
        tokens = figures.cell(*saved, "tokens")
        word = "less" if (tokens.value or 0) >= 0 else "more"
        last = (f"prompt tokens {word}", replace(tokens, text=tokens.text.removeprefix("-")))
    else:
        by_month = monthly_range(found.usd_per_month_low, found.usd_per_month_high, IN_TEXT)
        is_loss = found.usd_per_month_high < 0
        last = (
            f"saved a month at {runs_a_day(runs_of(found))}",
            Cell(by_month, value=found.usd_per_month, known="projected", is_loss=is_loss),
        )
    return (
        (first, figures.cell(*saved, "usd")),
        (of, figures.cell(*saved, "percent")),
        last,
        (f"{peak} with plan A", figures.cell("plans", 0, "figures", "peak_prompt_tokens")),
    )


def totals_section(report: Report, figures: FigureCells) -> Section:
    """One column for what was recorded, the baseline and each plan; one row a figure."""
    columns = columns_of(report, is_merged=True)
    rows = ((Cell(row.label), *row.cells) for row in totals_rows(report, figures, columns, Output.PAGE))
    head = ("figure", *(column.title for column in columns))
    return Section("totals", "Totals", (Table("Totals over all calls", head, tuple(rows)),))


def facts_table(report: Report, figures: FigureCells) -> Table:
    """What session it is and what is in it."""
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
    """Context and cost over calls, with the table that both are drawn from."""
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
            f" With plan {plan_letter(index)} it comes to {IN_TEXT.dollars(plan.figures.cost_usd)}."
            for index, plan in enumerate(report.plans)
        )
        cost = f"Lines over calls: dollars spent so far. In the end {IN_TEXT.dollars(report.baseline.cost_usd)}.{ends}"
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
    return Table(caption, ("call", *series_names(len(plans))), tuple(rows))


def _cost_table(ledger: Ledger) -> Table:
    plans = range(len(ledger.calls[0].plans))
    rows = []
    so_far = [0.0] * (len(plans) + 1)
    for first, last in downsample(len(ledger.calls), MOST_ROWS):
        for call in ledger.calls[first:last]:
            for index, figures in enumerate((call.baseline, *call.plans)):
                so_far[index] += figures.cost_usd or 0
        rows.append((Cell(_named(first, last)), *(Cell(IN_TEXT.dollars(value), value=value) for value in so_far)))
    return Table("Dollars spent by then", ("call", *series_names(len(plans))), tuple(rows))


def _named(first: int, last: int) -> str:
    return f"{last:,}" if last - first == 1 else f"{first + 1:,} to {last:,}"


def _token_cell(value: int) -> Cell:
    return Cell(f"{value:,}", value=value)


def composition_section(report: Report, figures: FigureCells) -> Section | None:
    """What fills the prompts without a plan."""
    if not report.carried:
        return None
    table = figures.table(
        carried_title(report),
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
    return Section("composition", "What fills the prompts", (Chart("composition", alternative), table))


def heaviest_section(report: Report, figures: FigureCells) -> Section | None:
    """The results that cost most to resend."""
    if not report.heaviest:
        return None
    table = figures.table(
        "Results that cost most to resend",
        ("tool",),
        (((name_cell(row.tool or "tool"),), ("heaviest", index)) for index, row in enumerate(report.heaviest)),
        CarriedBlockFacts,
        *("message", "tokens", "calls", "sent_tokens", "usd"),
    )
    parts: list[Part] = [table]
    for row in report.heaviest:
        if row.text:
            begins = f"{row.tool or 'tool'}, message {row.message:,}, begins:"
            parts += [Line((Cell(plain(begins)),)), Code(f"{safe_text(row.text)}\n", "text")]
    return Section("heaviest", "Results that cost most", tuple(parts), folded=True)


PROJECTED = ("runs_per_day", "usd_per_day", "usd_per_month", "usd_per_month_low", "usd_per_month_high")


def _projected_cells(figures: FigureCells, index: int, found: ProjectionFacts) -> Iterator[Cell]:
    """The figures of a projection, rounded to their spread."""
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
    """What a saving comes to over many runs, with what is assumed."""
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
    assumed = (
        f"Nobody said how many runs a day there are: {runs.number:,.6g} {'is' if runs.number == 1 else 'are'} assumed. "
        if runs.is_assumed
        else ""
    )
    assumptions = assumed + (
        "About runs that did not happen. It assumes that every run is like this session, at the same prices, and a "
        f"month of {days:g} days. A day and a month are what the plan saves of this session, net: with all that was "
        "cut and needed fetched again. The ends are the 5th and 95th percentile of a thousand sessions put together "
        "from drawn stretches of this one, the lower net, the upper with nothing fetched again. Whether other sessions "
        "are like it nobody can tell."
    )
    return Section("projection", "Projection", (table, Line((Cell(assumptions),))))
