"""Comparison of many plans on one session as text: one row each, largest saving first."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from rich.text import Text

from inspector.replay.analysis.recoveries import BEYOND, NeededLater
from inspector.replay.quantity import quantity
from inspector.report.as_model import as_model_rows
from inspector.report.build_report import plan_of_facts
from inspector.report.catalogue import FigureSet, PlanFacts, Saving, format_figure, legend
from inspector.report.export import NONE_RECOMMENDED, answer_for
from inspector.report.layout import LABEL, LEFT, LOSS, RIGHT, WIDTH, Page
from inspector.report.numbers import ABOUT, IN_TEXT, NOTHING
from inspector.report.recovery_words import NOTHING_WORTHWHILE, saving_of
from inspector.report.sentences import REPLAY_CAVEAT, saving_row
from inspector.report.tables import marks_used
from inspector.report.text import heading, next_calls_rows, uncertainty_rows, write_caveats
from inspector.strategies.plan import Plan
from inspector.strategies.presets import PRESETS, display_name
from inspector.strategies.registry import STRATEGIES

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from inspector.report.document import Report


ON_REQUEST = {"peak": "figures.peak_prompt_tokens", "changed": "figures.cache_breaks", "applied": "first_firing"}
"""Sort orders with an extra column that only appears with that order: paths in `PlanFacts`."""


def _net(plan: PlanFacts) -> float:
    """Return a plan's net saving at worst; without a price, its saving if no cut text was needed."""
    needed = plan.needed_later
    if plan.saved.usd is None:
        return -math.inf if needed is not None and needed.calls else plan.saved.percent or 0
    return plan.saved.usd if needed is None or needed.saved_at_least_usd is None else needed.saved_at_least_usd


ORDERS: dict[str, Callable[[PlanFacts], tuple[float, str]]] = {
    "saved": lambda plan: (-(plan.saved.percent or 0), plan.name),
    "tokens": lambda plan: (plan.figures.prompt_tokens or 0, plan.name),
    "peak": lambda plan: (plan.figures.peak_prompt_tokens or 0, plan.name),
    "cost": lambda plan: (math.inf if plan.figures.cost_usd is None else plan.figures.cost_usd, plan.name),
    "changed": lambda plan: (plan.figures.cache_breaks or 0, plan.name),
    "applied": lambda plan: (plan.first_firing or math.inf, plan.name),
    "net": lambda plan: (-_net(plan), plan.name),
    "risks": lambda plan: (sum((plan.hazards or {}).values()), plan.name),
    "name": lambda plan: (0, plan.name),
}
"""Sort orders of rows; the best comes first."""


def in_order(plans: Sequence[PlanFacts], sort: str) -> list[PlanFacts]:
    return sorted(plans, key=ORDERS[sort])


def comparison_text(
    report: Report, width: int = WIDTH, *, color: bool = False, sort: str = "saved", beyond: bool = False
) -> str:
    """Format the session: rows for the recording, the baseline and every plan."""
    page = Page(width, color=color)
    heading(page, report)
    page.line()
    rows = [_figures("recorded", report.recorded, sort)] if report.recorded is not None else []
    rows += [_figures("baseline", report.baseline, sort)]
    rows += [_plan(plan, report.baseline.cost_usd, sort) for plan in in_order(report.plans, sort)]
    plans = report.plans
    # Without prices, savings are shares of the tokens.
    priced = all(plan.saved.usd is not None for plan in plans)
    head = [
        "",
        *(quantity(FigureSet, name).short_label for name in ("prompt_tokens", "cost_usd")),
        quantity(PlanFacts, "saved.usd").short_label,
        # The mark is in the title, because `about` before every negative amount would not fit.
        f"{ABOUT}{quantity(NeededLater, 'saved_at_least_usd').short_label}",
        quantity(NeededLater, "calls").short_label,
        "risks",
        *([quantity(PlanFacts, ON_REQUEST[sort]).short_label] if sort in ON_REQUEST else []),
    ]
    page.table(head, rows, LEFT + RIGHT * (len(head) - 1))
    marks = legend(marks_used(report))
    page.line()
    page.line(REPLAY_CAVEAT, LABEL, indent=2)
    if marks:
        page.line(marks, LABEL, indent=2)
    page.line()
    other = [] if report.as_model is None else as_model_rows(report.as_model)
    page.pairs(
        [*_applicable(report), _best(report, beyond=beyond), *_ahead(report), *other, *_words(sort, priced=priced)]
    )
    write_caveats(page, report)
    return page.text()


def _applicable(report: Report) -> list[tuple[str, str]]:
    """Name the plan with the largest net saving that the session's agent can apply, if its abilities are documented."""
    answers = [(plan, answer_for(report.session.format, plan_of_facts(plan) or Plan())) for plan in report.plans]
    known = [each for each in answers if each[1].applied is not None]
    if not known:
        return []
    label, best = known[0][1].can, _recommended([plan for plan, answer in known if answer.is_whole])
    if best is None:
        return [(label, f"{NONE_RECOMMENDED} among these; inspector export writes a plan as code")]
    return [(label, f"{_saves(best)}; inspector export writes it")]


def _recommended(plans: Sequence[PlanFacts]) -> PlanFacts | None:
    """Return the plan with the largest net saving that can be recommended; ties go to the first, as on the screen."""
    order = [*STRATEGIES, *PRESETS]
    found = [plan for plan in plans if plan.is_recommendable]
    found.sort(key=lambda plan: order.index(plan.name) if plan.name in order else len(order))
    return max(found, key=_net, default=None)


def _best(report: Report, *, beyond: bool) -> tuple[str, str]:
    best = _recommended(report.plans)
    if best is not None:
        return ("best plan", _saves(best))
    is_untested = not beyond and any(_is_untested(plan) for plan in report.plans)
    return ("best plan", f"{NOTHING_WORTHWHILE}{f'; others are {BEYOND} (--beyond)' if is_untested else ''}")


def _is_untested(plan: PlanFacts) -> bool:
    needed = plan.needed_later
    return needed is not None and bool(needed.evidence_reason) and _net(plan) > 0


def _saves(plan: PlanFacts) -> str:
    """Describe a plan's saving in full, marked if untested."""
    reason = "" if plan.needed_later is None else plan.needed_later.evidence_reason
    return f"{saving_of(plan).in_full(IN_TEXT)}{f'; {BEYOND}: {reason}' if reason else ''}"


def _ahead(report: Report) -> list[tuple[str, str]]:
    """Project the best plan over many runs and over the next calls, if requested."""
    best = _recommended(report.plans)
    if best is None:
        return []
    rows, name = [], display_name(best.name, best.strategies)
    if best.projection is not None:
        rows.append(saving_row(best.projection, IN_TEXT, name))
    rows += [(label, f"{name}: {text}") for label, text in uncertainty_rows(best)]
    return [*rows, *((label, f"{name}: {text}") for label, text in next_calls_rows(best))]


def _words(sort: str, *, priced: bool) -> list[tuple[str, str]]:
    applied = quantity(PlanFacts, "first_firing")
    return [
        ("saved", "dollars saved against the baseline" if priced else "share of the baseline's prompt tokens saved"),
        (
            quantity(NeededLater, "saved_at_least_usd").short_label,
            "saved, minus the cost of expected re-fetches at worst",
        ),
        (quantity(NeededLater, "calls").short_label, quantity(NeededLater, "calls").label),
        ("risks", "number of possible problems, or of strategies that never apply; a report on the plan lists them"),
        *([(applied.short_label, "first call at which the plan changes something")] if sort == "applied" else []),
    ]


def _figures(name: str, figures: FigureSet, sort: str, before: float | None = None) -> list[str | Text]:
    def shown(field: str, text: str) -> str:
        return IN_TEXT.qualified(text, figures.known.get(field, ""), is_lower_bound=field in figures.at_least)

    cost = IN_TEXT.cost_with_plan(before, figures.cost_usd)
    _, _, asked = ON_REQUEST.get(sort, "").rpartition("figures.")
    return [
        name,
        shown("prompt_tokens", IN_TEXT.short(figures.prompt_tokens)),
        shown("cost_usd", format_figure(quantity(FigureSet, "cost_usd"), cost)),
        *([""] * 4),
        *(
            [shown(asked, format_figure(quantity(FigureSet, asked), getattr(figures, asked)))]
            if hasattr(figures, asked)
            else []
        ),
    ]


def _plan(plan: PlanFacts, before: float | None, sort: str) -> list[str | Text]:
    name, tokens, cost, _, _, _, _, *asked = _figures(
        display_name(plan.name, plan.strategies), plan.figures, sort, before
    )
    needed = plan.needed_later
    net = None if needed is None else needed.saved_at_least_usd
    saved = "usd" if plan.saved.usd is not None else "percent"
    entry, value = quantity(Saving, saved), getattr(plan.saved, saved)
    applied = IN_TEXT.whole(plan.first_firing) if plan.first_firing else "never"
    return [
        name,
        tokens,
        cost,
        Text(
            IN_TEXT.qualified(format_figure(entry, value), plan.saved.known.get(saved, "")),
            LOSS if entry.is_loss(value) else "",
        ),
        _net_cell(net),
        NOTHING if needed is None else IN_TEXT.whole(needed.calls),
        IN_TEXT.whole(sum(plan.hazards.values())) if plan.hazards else NOTHING,
        *([applied] if sort == "applied" else asked),
    ]


def _net_cell(usd: float | None) -> Text:
    entry = quantity(NeededLater, "saved_at_least_usd")
    return Text(NOTHING if usd is None else format_figure(entry, usd), LOSS if entry.is_loss(usd) else "")
