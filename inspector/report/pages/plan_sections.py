"""What each plan does: to tiers and tools, to the prompt cache, and what may go wrong with it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from inspector.report.layout import plain
from inspector.report.numbers import percent, plural
from inspector.report.pages.model import Cell, Chart, FigureCells, Line, Section, Table, name_cell, word
from inspector.report.pages.session_sections import plan_title
from inspector.report.text import compaction_rows

if TYPE_CHECKING:
    from inspector.report.document import PlanFacts, Report
    from inspector.report.pages.model import Part


ABOUT_RISKS = (
    "A hazard is something that may go wrong with a plan on this session. Needed later counts what the plan cut and a "
    "later part of the session used again: a hint at what would have been missed, not a proof."
)


def plan_sections(report: Report, figures: FigureCells) -> tuple[Section, ...]:
    """One a plan."""
    return tuple(
        Section(f"plan-{index + 1}", plan_title(report, index), _parts(report.plans[index], index, figures))
        for index in range(len(report.plans))
    )


def _parts(plan: PlanFacts, index: int, figures: FigureCells) -> tuple[Part, ...]:
    parts: list[Part] = [Line((Cell(plain(spec), is_code=True),), is_item=True) for spec in plan.strategies]
    if not plan.strategies:
        parts.append(Line((Cell("No strategy: the same as the baseline."),)))
    tiers = _tiers(plan, index, figures)
    parts += [tiers] if tiers.rows else []
    tools = _tools(plan, index, figures)
    parts += [tools] if tools.rows else []
    parts += _cache(plan, index, figures)
    parts += [Line((Cell(f"Recorded {label}: {said}."),)) for label, said in compaction_rows(plan)]
    return tuple(parts)


def _tiers(plan: PlanFacts, index: int, figures: FigureCells) -> Table:
    rows = []
    for at, tier in enumerate(plan.tiers):
        if not tier.results:
            continue
        steps = ("plans", index, "tiers", at)
        rows.append(
            (
                word(f"{tier.strategy} {tier.tier}".rstrip()),
                figures.count(*steps, "results"),
                figures.count(*steps, "touched"),
                figures.saved_count(*steps, "tokens_cut"),
                figures.saved_count(*steps, "cut_tokens"),
                figures.saved_money(*steps, "saved_usd"),
            )
        )
    head = ("tier", "results", "touched", "tokens cut", "in all calls", "saved on them")
    return Table("By tier of each strategy", head, tuple(rows), frozenset(range(1, 6)))


def _tools(plan: PlanFacts, index: int, figures: FigureCells) -> Table:
    rows = []
    for at, row in enumerate(plan.carried):
        if not row.tool:
            continue
        steps = ("plans", index, "carried", at)
        rows.append(
            (
                name_cell(row.tool),
                figures.count(*steps, "blocks"),
                figures.count(*steps, "sent_tokens"),
                figures.saved_count(*steps, "cut_tokens"),
                figures.money(*steps, "usd"),
                figures.saved_money(*steps, "saved_usd"),
            )
        )
    head = ("tool", "results", "tokens sent", "tokens cut", "cost", "saved on them")
    return Table("By tool, results over all calls", head, tuple(rows), frozenset(range(1, 6)))


def _cache(plan: PlanFacts, index: int, figures: FigureCells) -> list[Part]:
    outcome = plan.outcome
    if outcome is None:
        return []
    steps = ("plans", index, "outcome")
    lines: list[Part] = []
    if outcome.cache_read_share is not None:
        share = figures.share(*steps, "cache_read_share")
        lines.append(Line((Cell("Of its prompt tokens, "), share, Cell(" were read from the prompt cache."))))
    if outcome.plan_breaks and outcome.resent_tokens:
        cells = [
            Cell("Its own changes broke the cache at "),
            figures.count(*steps, "plan_breaks"),
            Cell(" calls: "),
            figures.count(*steps, "resent_tokens"),
            Cell(" tokens were taken again"),
        ]
        if outcome.rebuild_usd is not None and outcome.break_usd is not None:
            cells += [
                Cell(" for "),
                figures.money(*steps, "rebuild_usd"),
                Cell(", which is "),
                figures.money(*steps, "break_usd"),
                Cell(" more than reading them"),
            ]
        lines.append(Line((*cells, Cell("."))))
    return lines


def risks_section(report: Report, figures: FigureCells) -> Section | None:
    """Hazards, and what was needed later, of every plan."""
    rows = []
    for index, plan in enumerate(report.plans):
        for kind, words in (("hazards", "hazard"), ("needed_later", "needed later")):
            counts: dict[str, int] = getattr(plan, kind) or {}
            rows += [
                (
                    word(plan_title(report, index)),
                    Cell(words),
                    word(name),
                    replace(figures.count("plans", index, kind, name), known=plan.known.get(kind, "")),
                )
                for name, count in counts.items()
                if count
            ]
    if not report.plans:
        return None
    about = Line((Cell(ABOUT_RISKS),))
    if not rows:
        return Section("risks", "Risks", (about, Line((Cell("None was found."),))))
    table = Table("What may go wrong, and how often", ("plan", "", "kind", "times"), tuple(rows), frozenset({3}))
    return Section("risks", "Risks", (about, table))


def comparison_section(report: Report, figures: FigureCells) -> Section | None:
    """Every strategy alone, what saves most first."""
    if not report.comparison:
        return None
    order = sorted(range(len(report.comparison)), key=lambda index: -(report.comparison[index].saved.percent or 0))
    rows = tuple(_compared(index, figures, report.comparison[index]) for index in order)
    head = (
        "strategy",
        "saved",
        "of the total",
        "prompt tokens",
        "largest prompt",
        "cost",
        "breaks",
        "acts from",
        "risks",
    )
    table = Table("Every strategy alone, with the defaults that fit the session", head, rows, frozenset(range(1, 9)))
    best = report.comparison[order[0]]
    alternative = (
        f"Bars: what each of {plural(len(rows), 'strategy').replace('strategys', 'strategies')} would save alone. "
        f"The best is {plain(best.name)} with {percent(best.saved.percent)}."
    )
    return Section("strategies", "Strategies compared", (Chart("comparison", alternative), table))


def _compared(index: int, figures: FigureCells, plan: PlanFacts) -> tuple[Cell, ...]:
    steps = ("comparison", index)
    risks = sum((plan.hazards or {}).values())
    return (
        word(plan.name),
        figures.saved_money(*steps, "saved", "usd"),
        figures.percentage(*steps, "saved", "percent"),
        figures.count(*steps, "figures", "prompt_tokens"),
        figures.count(*steps, "figures", "peak_prompt_tokens"),
        figures.money(*steps, "figures", "cost_usd"),
        figures.count(*steps, "figures", "cache_breaks"),
        figures.count(*steps, "first_firing"),
        Cell(f"{risks:,}" if risks else "-"),
    )
