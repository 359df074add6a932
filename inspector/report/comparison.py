"""Many plans on one session as text: one row each, what saves most first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from inspector.report.figures_table import MARKS, legend, pays_off, shown_saving
from inspector.report.layout import LABEL, LEFT, RIGHT, WIDTH, Page
from inspector.report.numbers import dollars, percent, whole
from inspector.report.text import heading, worth_knowing

if TYPE_CHECKING:
    from collections.abc import Callable

    from inspector.report.document import FigureSet, PlanFacts, Report


def comparison_text(report: Report, width: int = WIDTH, *, color: bool = False) -> str:
    """The session, one row for what was recorded, one for the baseline and one for every plan."""
    page = Page(width, color=color)
    heading(page, report)
    page.line()
    rows = [_figures("recorded", report.recorded)] if report.recorded is not None else []
    plans = sorted(report.plans, key=lambda plan: -(plan.saved.percent or 0))
    rows += [_figures("baseline", report.baseline), *(_plan(plan) for plan in plans)]
    of_tokens = any(plan.saved.percent_of == "prompt_tokens" for plan in plans)
    share = "of tokens" if of_tokens else "of cost"
    head = ("", "prompt tokens", "", "cost", "", "saved", share, "breaks", "pays off")
    page.table(head, rows, LEFT + (RIGHT + LEFT) * 2 + RIGHT * 4, gap=1)
    page.line()
    page.pairs(legend(report))
    worth_knowing(page, report)
    return page.text()


def _figures(name: str, figures: FigureSet) -> tuple[str | Text, ...]:
    def marked(field: str, written: Callable[[float | None], str]) -> tuple[str, Text]:
        return written(getattr(figures, field)), Text(MARKS[figures.known.get(field, "exact")], LABEL)

    return (
        name,
        *marked("prompt_tokens", whole),
        *marked("cost_usd", dollars),
        "",
        "",
        whole(figures.cache_breaks),
        "",
    )


def _plan(plan: PlanFacts) -> tuple[str | Text, ...]:
    name, tokens, tokens_mark, cost, cost_mark, _, _, breaks, _ = _figures(plan.name, plan.figures)
    saved = plan.saved
    return (
        name,
        *(tokens, tokens_mark),
        *(cost, cost_mark),
        shown_saving(dollars(saved.usd), saved.usd),
        shown_saving(percent(saved.percent), saved.percent),
        breaks,
        pays_off(plan),
    )
