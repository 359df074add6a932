"""Many plans on one session as text: one row each, what saves most first."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from rich.text import Text

from inspector.report.figures_table import MARKS, legend, shown_saving
from inspector.report.layout import LABEL, LEFT, RIGHT, WIDTH, Page
from inspector.report.numbers import NOTHING, compact, dollars, percent, whole
from inspector.report.text import heading, next_calls_rows, worth_knowing

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from inspector.report.document import FigureSet, PlanFacts, Report


ORDERS: dict[str, Callable[[PlanFacts], tuple[float, str]]] = {
    "saved": lambda plan: (-(plan.saved.percent or 0), plan.name),
    "tokens": lambda plan: (plan.figures.prompt_tokens or 0, plan.name),
    "peak": lambda plan: (plan.figures.peak_prompt_tokens or 0, plan.name),
    "cost": lambda plan: (math.inf if plan.figures.cost_usd is None else plan.figures.cost_usd, plan.name),
    "breaks": lambda plan: (plan.figures.cache_breaks or 0, plan.name),
    "fires": lambda plan: (plan.first_firing or math.inf, plan.name),
    "risks": lambda plan: (sum((plan.hazards or {}).values()), plan.name),
    "name": lambda plan: (0, plan.name),
}
"""What rows can be sorted by; the best comes first."""


def in_order(plans: Sequence[PlanFacts], sort: str) -> list[PlanFacts]:
    """Plans sorted by one of `ORDERS`."""
    return sorted(plans, key=ORDERS[sort])


def comparison_text(report: Report, width: int = WIDTH, *, color: bool = False, sort: str = "saved") -> str:
    """The session, one row for what was recorded, one for the baseline and one for every plan."""
    page = Page(width, color=color)
    heading(page, report)
    page.line()
    rows = [_figures("recorded", report.recorded)] if report.recorded is not None else []
    rows += [_figures("baseline", report.baseline), *(_plan(plan) for plan in in_order(report.plans, sort))]
    plans = report.plans
    # Where no price is known, savings are shares of the tokens.
    priced = all(plan.saved.usd is not None for plan in plans)
    head = ("", "tokens", "", "peak", "cost", "", "saved", "breaks", "fires", "risks")
    page.table(head, rows, LEFT + RIGHT + LEFT + RIGHT * 2 + LEFT + RIGHT * 4, gap=1)
    page.line()
    page.pairs([*_ahead(in_order(plans, sort)), *legend(report), *_words(priced=priced)])
    worth_knowing(page, report)
    return page.text()


def _ahead(plans: Sequence[PlanFacts]) -> list[tuple[str, str]]:
    """What the first plan comes to over many runs and over the next calls, where that was asked for."""
    if not plans:
        return []
    best, rows = plans[0], []
    if best.projection is not None:
        found = best.projection
        band = f"{dollars(found.usd_per_month_low)} to {dollars(found.usd_per_month_high)}"
        saved = f"{best.name} saves {dollars(found.usd_per_day)} a day, {dollars(found.usd_per_month)} a month"
        rows.append((f"{found.runs_per_day:g} runs a day", f"{saved}, projected ({band})"))
    return [*rows, *((label, f"{best.name}: {text}") for label, text in next_calls_rows(best))]


def _words(*, priced: bool) -> list[tuple[str, str]]:
    return [
        ("saved", "in dollars against the baseline" if priced else "of the baseline's prompt tokens"),
        ("fires", "the first call at which the plan changes something"),
        ("risks", "how often it meets a hazard; a report on the plan names them"),
    ]


def _figures(name: str, figures: FigureSet) -> tuple[str | Text, ...]:
    def marked(field: str, written: Callable[[float | None], str]) -> tuple[str, Text]:
        return written(getattr(figures, field)), Text(MARKS[figures.known.get(field, "exact")], LABEL)

    return (
        name,
        *marked("prompt_tokens", compact),
        compact(figures.peak_prompt_tokens),
        *marked("cost_usd", dollars),
        "",
        whole(figures.cache_breaks),
        "",
        "",
    )


def _plan(plan: PlanFacts) -> tuple[str | Text, ...]:
    name, tokens, tokens_mark, peak, cost, cost_mark, _, breaks, *_ = _figures(plan.name, plan.figures)
    saved = plan.saved
    in_dollars = saved.usd is not None
    return (
        name,
        *(tokens, tokens_mark, peak),
        *(cost, cost_mark),
        shown_saving(dollars(saved.usd), saved.usd)
        if in_dollars
        else shown_saving(percent(saved.percent), saved.percent),
        breaks,
        whole(plan.first_firing) if plan.first_firing else "never",
        whole(sum(plan.hazards.values())) if plan.hazards else NOTHING,
    )
