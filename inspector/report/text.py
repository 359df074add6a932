"""The report as text for people: aligned tables in plain characters that fit 80 columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from inspector.report.detail_text import (
    cache_rows,
    carried_table,
    compaction_rows,
    explanations,
    next_calls_rows,
    notice_rows,
    tool_table,
)
from inspector.report.figures_table import MARKS, figures_tables, legend, plan_letter
from inspector.report.layout import (
    HEADING,
    LABEL,
    LEFT,
    LOSS,
    RIGHT,
    WARNING,
    WIDTH,
    WRAPPED,
    Page,
    broken_after_commas,
)
from inspector.report.numbers import NOTHING, dollars, plural, whole

if TYPE_CHECKING:
    from inspector.report.document import PlanFacts, Report, SessionFacts, TierFacts, TokenFacts

SPEC_WIDTH = 72
"""Characters of a strategy's one-line form on one line of the report."""


def report_text(report: Report, width: int = WIDTH, *, color: bool = False) -> str:
    """The whole report.

    Args:
        report: What was found.
        width: Columns to fit.
        color: Use colours and bold type; the words are the same without.
    """
    page = Page(width, color=color)
    heading(page, report)
    page.line()
    figures_tables(page, report)
    page.line()
    page.pairs(legend(report))
    for index, plan in enumerate(report.plans):
        page.line()
        _plan(page, plan_letter(index), plan)
    carried_table(page, report)
    explanations(page, "How the baseline's figures came about", report.explain)
    for index, plan in enumerate(report.plans):
        explanations(page, f"How the figures of plan {plan_letter(index)} came about", plan.explain)
    worth_knowing(page, report)
    return page.text()


def worth_knowing(page: Page, report: Report) -> None:
    """Write what makes the figures less than they seem."""
    if report.warnings:
        page.line()
        page.line("Worth knowing", HEADING)
        page.table(None, [(Text("!", WARNING), warning) for warning in report.warnings], LEFT + WRAPPED, gap=1)


def heading(page: Page, report: Report) -> None:
    """Write what session it is, what is in it, and how its tokens were counted."""
    session = report.session
    page.line(session.title or session.id, HEADING)
    recorded_by = f", recorded by {session.agent}" if session.agent else ""
    rows = [
        ("file", session.path),
        ("format", session.format + recorded_by),
        ("model", ", ".join(session.models) or "not named in the file"),
        (
            "holds",
            ", ".join(
                (
                    plural(session.messages, "message"),
                    plural(session.blocks, "block"),
                    plural(session.tool_results, "tool result"),
                    plural(session.calls, "call"),
                    plural(session.compactions, "compaction"),
                )
            ),
        ),
        *([] if session.window is None else [("window", _window(session))]),
        ("tokens", _tokens(report.tokens)),
        *_prices(report),
    ]
    page.pairs(rows)


def _prices(report: Report) -> list[tuple[str, str]]:
    prices = report.prices
    if prices is None:
        return []
    asked = " (asked for)" if prices.cache else ""
    caches = "; ".join(dict.fromkeys(prices.caches.values()))
    return [("prices", prices.source), *([("prompt cache", caches + asked)] if caches else [])]


def _window(session: SessionFacts) -> str:
    return f"{whole(session.window)} tokens, {session.window_known}: {session.window_source}"


def _tokens(tokens: TokenFacts) -> str:
    fit = tokens.calibration
    if fit is None:
        return f"{tokens.method}, not calibrated"
    formula = f"x {fit.ratio:.3f} + {whole(fit.overhead)} a call"
    error = "" if fit.residual is None else f", half of them within {100 * fit.residual:.2f} %"
    return f"{tokens.method}, calibrated on {plural(fit.calls, 'call')}: {formula}{error}"


def _plan(page: Page, letter: str, plan: PlanFacts) -> None:
    page.line(f"Plan {letter}: {plan.name}" if plan.name else f"Plan {letter}", HEADING)
    for index, spec in enumerate(plan.strategies, 1):
        lines = broken_after_commas(spec, SPEC_WIDTH)
        page.table(None, [("" if row else f"{index}.", line) for row, line in enumerate(lines)], RIGHT + WRAPPED, gap=1)
    if not plan.strategies:
        page.line("no strategy: the same as the baseline", indent=2)
    tiers = [tier for tier in plan.tiers if tier.results]
    if tiers:
        named = len({tier.strategy for tier in tiers}) > 1
        head = ("tier", "results", "touched", "tokens cut", "", "in all calls", "", "saved on them", "")
        page.table(
            head, [_tier(tier, named=named) for tier in tiers], LEFT + RIGHT * 3 + (LEFT + RIGHT) * 2 + LEFT, gap=1
        )
    tool_table(page, plan)
    page.pairs(_findings(plan))


def _tier(tier: TierFacts, *, named: bool) -> tuple[str | Text, ...]:
    """A row of the table of tiers; with the strategy's name where there are several."""
    name = f"{tier.strategy} {tier.tier}".rstrip() if named else tier.tier or tier.strategy
    in_all, saved = tier.cut_tokens, tier.saved_usd

    def mark(field: str) -> Text:
        return Text(MARKS[tier.known.get(field, "exact")], LABEL)

    return (
        name,
        whole(tier.results),
        whole(tier.touched),
        *(Text(whole(tier.tokens_cut), LOSS if tier.tokens_cut < 0 else ""), mark("tokens_cut")),
        *(Text(whole(in_all), LOSS if (in_all or 0) < 0 else ""), mark("cut_tokens")),
        *(Text(NOTHING if saved is None else dollars(saved), LOSS if (saved or 0) < 0 else ""), mark("saved_usd")),
    )


def _findings(plan: PlanFacts) -> list[tuple[str, str]]:
    rows = [*notice_rows(plan), *cache_rows(plan), *compaction_rows(plan)]
    for label, counts in (("hazards", plan.hazards), ("needed later", plan.needed_later)):
        if counts is not None:
            found = ", ".join(f"{name} {count:,}" for name, count in counts.items() if count)
            known = plan.known.get(label.replace(" ", "_"))
            rows.append((label, found + (f" ({known})" if found and known else "") or "none"))
    projection = plan.projection
    if projection is not None:
        saved = f"{dollars(projection.usd_per_day)} a day, {dollars(projection.usd_per_month)} a month saved"
        band = f"{dollars(projection.usd_per_month_low)} to {dollars(projection.usd_per_month_high)}"
        rows.append((f"{projection.runs_per_day:g} runs a day", f"{saved}, projected ({band})"))
    return [*rows, *next_calls_rows(plan)]
