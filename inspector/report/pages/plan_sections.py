"""Page sections on each plan: effect on tiers, tools and the prompt cache, and risks."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from inspector.replay.analysis.hazards import hazard_label
from inspector.replay.quantity import quantity
from inspector.report.catalogue import CarriedFacts, NeededLaterFacts, PlanFacts, TierFacts
from inspector.report.layout import plain
from inspector.report.numbers import IN_TEXT, NOTHING
from inspector.report.pages.model import Chart, Line, Section
from inspector.report.pages.session_sections import plan_title
from inspector.report.recovery_words import net_after_words, net_of, refetches_of
from inspector.report.tables import Cell, FigureCells, Table, name_cell, word
from inspector.report.text import compaction_rows, uncertainty_rows

if TYPE_CHECKING:
    from inspector.report.document import Report, SavingPlanFacts
    from inspector.report.pages.model import Part


BEST_OF = "the best plan: the largest net saving among tried plans that retain every user and assistant message"

COMPARED = ("saved.usd", "saved.percent", "figures.prompt_tokens", "figures.peak_prompt_tokens")
"""Columns of the strategy comparison, in addition to cost and the number and first call of edits."""

NEEDED = ("calls", "exact_text", "fault", "anchor", "citation", "repeats_anyway")
"""Rows of cut text that was needed later, by kind of evidence."""

NEEDED_COST = ("calls", "cost_each_usd", "saved_at_least_usd", "break_even_recoveries")
"""Rows of the recovery cost."""

ABOUT_RISKS = (
    "A risk is a possible problem of a plan on this session. Needed later counts cut text that a later part of the "
    "session used: text worth checking, not a proof that it would have been missed. The net saving is the plan's "
    "saving minus the cost of the re-fetches expected by rates measured on recorded cuts of tool results; for other "
    "cut text nothing is measured."
)


def plan_sections(report: Report, figures: FigureCells) -> tuple[Section, ...]:
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
    parts += [Line((Cell(f"Recorded {label}: {text}."),)) for label, text in compaction_rows(plan)]
    parts += [Line((Cell(f"With {label}: {text}."),)) for label, text in uncertainty_rows(plan)]
    return tuple(parts)


def _tiers(plan: PlanFacts, index: int, figures: FigureCells) -> Table:
    return figures.table(
        "By tier of each strategy",
        ("tier",),
        (
            ((word(f"{tier.strategy} {tier.tier}".rstrip()),), ("plans", index, "tiers", at))
            for at, tier in enumerate(plan.tiers)
            if tier.results
        ),
        TierFacts,
        *("results", "touched", "tokens_cut", "cut_tokens", "saved_usd"),
    )


def _tools(plan: PlanFacts, index: int, figures: FigureCells) -> Table:
    return figures.table(
        "By tool, over all calls",
        ("tool",),
        (((name_cell(row.tool),), ("plans", index, "carried", at)) for at, row in enumerate(plan.carried) if row.tool),
        CarriedFacts,
        *("blocks", "sent_tokens", "cut_tokens", "usd", "saved_usd"),
        titles={"blocks": "results"},
    )


def _cache(plan: PlanFacts, index: int, figures: FigureCells) -> list[Part]:
    outcome = plan.outcome
    if outcome is None:
        return []
    steps = ("plans", index, "outcome")
    lines: list[Part] = []
    if outcome.cache_read_share is not None:
        share = figures.cell(*steps, "cache_read_share")
        lines.append(Line((Cell("Of its prompt tokens, "), share, Cell(" were read from the prompt cache."))))
    if outcome.plan_breaks and outcome.resent_tokens:
        cells = [
            Cell("Its own changes cause cache misses at "),
            figures.cell(*steps, "plan_breaks"),
            Cell(" calls: "),
            figures.cell(*steps, "resent_tokens"),
            Cell(" tokens are rewritten to cache"),
        ]
        if outcome.rebuild_usd is not None and outcome.break_usd is not None:
            cells += [
                Cell(" for "),
                figures.cell(*steps, "rebuild_usd"),
                Cell(" ("),
                figures.cell(*steps, "break_usd"),
                Cell(" more than cache reads)"),
            ]
        lines.append(Line((*cells, Cell("."))))
    return lines


def risks_section(report: Report, figures: FigureCells) -> Section | None:
    """Build the section on hazards and text needed later of every plan."""
    rows = []
    for index, plan in enumerate(report.plans):
        rows += [
            (
                word(plan_title(report, index)),
                word(hazard_label(name)),
                replace(figures.cell("plans", index, "hazards", name), known=plan.known.get("hazards", "")),
            )
            for name, count in (plan.hazards or {}).items()
            if count
        ]
    if not report.plans:
        return None
    parts: list[Part] = [Line((Cell(ABOUT_RISKS),))]
    if rows:
        parts.append(Table("Risks by number", ("plan", "kind", "times"), tuple(rows), words=2))
    counted = [
        ((word(plan_title(report, index)),), ("plans", index, "needed_later"))
        for index, plan in enumerate(report.plans)
        if (found := plan.needed_later) is not None and (found.calls or found.repeats_anyway or found.refetches)
    ]
    if counted:
        # A combined table would not fit the page.
        tables = (("Needed later", NEEDED), ("Net saving after expected re-fetches", NEEDED_COST))
        parts += [figures.table(title, ("plan",), counted, NeededLaterFacts, *names) for title, names in tables]
    return Section("risks", "Risks", (*parts, *(() if parts[1:] else (Line((Cell("None found."),)),))))


def comparison_section(report: Report, figures: FigureCells) -> Section | None:
    """Build the comparison of every strategy alone, largest saving first."""
    if not report.comparison:
        return None
    order = sorted(range(len(report.comparison)), key=lambda index: -(report.comparison[index].saved.percent or 0))
    rows = [_compared(report, index, figures) for index in order]
    head = [quantity(PlanFacts, path).label for path in (*COMPARED, "figures.cost_usd")]
    table = Table(
        "Every strategy and built-in plan alone, with default limits for this session",
        (
            "plan",
            *head,
            quantity(PlanFacts, "figures.cache_breaks").short_label,
            "first applied at call",
            "risks",
        ),
        tuple(rows),
    )
    missed = [index for index in order if (found := report.comparison[index].needed_later) and found.calls]
    needed = figures.table(
        "Plans that cut text needed later",
        ("plan",),
        [((word(report.comparison[index].name),), ("comparison", index, "needed_later")) for index in missed],
        NeededLaterFacts,
        *NEEDED_COST,
    )
    alternative = (
        f"Bars: saving of each of {len(rows):,} {'plan' if len(rows) == 1 else 'plans'} alone"
        f"{', and of the plan of this page' if report.plans else ''}. {_best(report, report.comparison[order[0]])}"
    )
    tables = (table, needed) if missed else (table,)
    return Section("strategies", "Comparison of plans", (Chart("comparison", alternative), *tables))


def _best(report: Report, most: PlanFacts) -> str:
    """Name the strategy of the best plan with its risks, and the one that saves most if it differs."""
    found = None if report.best_plan is None else report.best_plan.best
    best = next((each for each in report.comparison if found is not None and each.name == found.name), None)
    if found is None or best is None:
        needed = "Only a page's own plan is checked for text needed later."
        return f"{plain(most.name)} saves most, {IN_TEXT.percent(most.saved.percent)}. {_risks_of(most)} {needed}"
    needed = net_after_words(net_of(found.needed_later), refetches_of(found.needed_later), IN_TEXT)
    text = f"{_saves(best)}, {BEST_OF}: {needed}. {_risks_of(best)}"
    if best is most:
        return text
    return f"{text} {_saves(most)}, which is more, but {_why_not(report, found, most)}."


def _saves(plan: PlanFacts) -> str:
    return f"{plain(plan.name)} saves {IN_TEXT.percent(plan.saved.percent)}"


def _risks_of(plan: PlanFacts) -> str:
    risks = [f"{hazard_label(name)} ({count:,})" for name, count in (plan.hazards or {}).items() if count]
    return f"Risks: {'; '.join(risks)}." if risks else "No known risks."


def _why_not(report: Report, best: SavingPlanFacts, most: PlanFacts) -> str:
    """Explain why the plan that saves most is not the best one."""
    found = None if report.best_plan is None else report.best_plan.most
    if found is not None and found.name == most.name:
        net, of_best = (each.needed_later.saved_at_least_usd for each in (found, best))
        if net is not None and of_best is not None and net <= of_best:
            return "its net saving is smaller"
        if found.needed_later.evidence_reason:
            return f"it is untested: {found.needed_later.evidence_reason}"
    return "it removes user or assistant messages, or a provider would reject it"


def _compared(report: Report, index: int, figures: FigureCells) -> tuple[Cell, ...]:
    plan, steps = report.comparison[index], ("comparison", index)
    risks = sum((plan.hazards or {}).values())
    return (
        word(plan.name),
        *(figures.cell(*steps, *path.split(".")) for path in COMPARED),
        figures.cost_with_plan(report.baseline.cost_usd, *steps, "figures", "cost_usd"),
        figures.cell(*steps, "figures", "cache_breaks"),
        figures.cell(*steps, "first_firing"),
        Cell(f"{risks:,}" if risks else NOTHING),
    )
