"""The report as text for people: aligned tables in plain characters that fit 80 columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

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
    plain,
)
from inspector.report.numbers import NOTHING, dollars, percent, plural, whole
from inspector.safe_text import clip_cells

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from inspector.report.document import (
        BandFacts,
        CarriedBlockFacts,
        CarriedFacts,
        CompactionFacts,
        ExplanationFacts,
        PlanFacts,
        Report,
        SessionFacts,
        TierFacts,
        TokenFacts,
        ToolCutFacts,
    )

SPEC_WIDTH = 72
"""Characters of a strategy's one-line form on one line of the report."""

MOST_ROWS = 12
"""Rows of what takes up the prompts; the smallest are added up in one more."""

MOST_NOTICES = 3
"""What a described program would have printed is shown so often; all of it is in the JSON."""

NAME_WIDTH = 33
"""Columns for what a row is about; a tool's name may be of any length."""


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
            head, [_tier_row(tier, named=named) for tier in tiers], LEFT + RIGHT * 3 + (LEFT + RIGHT) * 2 + LEFT, gap=1
        )
    tool_table(page, plan)
    page.pairs(_findings(plan))


def _tier_row(tier: TierFacts, *, named: bool) -> tuple[str | Text, ...]:
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


def tool_table(page: Page, plan: PlanFacts) -> None:
    """Write what a plan cuts of every tool's results."""
    if plan.tools:
        head = ("tool", "results", "original", "", "sent", "", "saved in all", "")
        page.table(
            head,
            [_tool_row(row) for row in plan.tools[:MOST_ROWS]],
            LEFT + RIGHT * 2 + (LEFT + RIGHT) * 2 + LEFT,
            gap=1,
        )


def _tool_row(row: ToolCutFacts) -> tuple[str | Text, ...]:
    return (
        clip_cells(plain(row.tool or "not known"), NAME_WIDTH),
        whole(row.results),
        whole(row.original_tokens),
        Text(MARKS[row.known.get("original_tokens", "exact")], LABEL),
        whole(row.sent_tokens),
        Text(MARKS[row.known.get("sent_tokens", "exact")], LABEL),
        Text(whole(row.saved_tokens), LOSS if row.saved_tokens < 0 else ""),
        Text(MARKS[row.known.get("saved_tokens", "exact")], LABEL),
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


def notice_rows(plan: PlanFacts) -> list[tuple[str, str]]:
    """What the programs it describes would have printed: the first lines, and how many more."""
    notices = plan.notices
    rows = [(f"prints at call {each.call:,}", plain(each.text)) for each in notices[:MOST_NOTICES]]
    more = len(notices) - len(rows)
    return [*rows, ("", f"and {more:,} more like it")] if more else rows


def cache_rows(plan: PlanFacts) -> list[tuple[str, str]]:
    """What a plan does to the prompt cache, in a sentence."""
    outcome = plan.outcome
    if outcome is None or not outcome.plan_breaks or not outcome.resent_tokens:
        return []
    mark = outcome.known.get("break_usd", outcome.known.get("resent_tokens", "exact"))
    taken = f"{whole(outcome.resent_tokens)} tokens taken again"
    cost = "" if outcome.rebuild_usd is None else f" for {dollars(outcome.rebuild_usd)}"
    more = "" if outcome.break_usd is None else f", {dollars(outcome.break_usd)} more than reading them"
    return [("breaks", f"{plural(outcome.plan_breaks, 'call')}: {taken}{cost}{more} ({mark})")]


def compaction_rows(plan: PlanFacts) -> list[tuple[str, str]]:
    """What would have become of recorded compactions, a sentence each."""
    return [(f"compaction at call {each.call:,}", _compaction(each)) for each in plan.compactions]


def _compaction(each: CompactionFacts) -> str:
    size = f"{whole(each.trigger_tokens)} tokens"
    if each.asked_for:
        return f"at {size}, asked for: it would have happened anyway"
    if each.reached_call == each.call:
        return f"at {size}: the prompt would have come to that all the same (projected)"
    if each.reached_call is not None:
        when = f"come to that at call {each.reached_call:,}"
    elif each.until_call is not None:
        when = f"not have come to that before call {each.until_call:,}"
    else:
        when = "never have come to that in this session"
    saved = _saved_or_costs(each)
    return f"at {size}: the prompt would have been {whole(each.prompt_tokens)} and {when}{saved} (projected)"


def _saved_or_costs(each: CompactionFacts) -> str:
    if each.saved_usd is None:
        return ""
    longer = "its longer prompts cost" if each.saved_usd < 0 else "that saves"
    return f"; {longer} {dollars(abs(each.saved_usd))} till then"


def next_calls_rows(plan: PlanFacts) -> list[tuple[str, str]]:
    """The session going on as it went, in a sentence."""
    projected = plan.next_calls
    if projected is None:
        return []
    saved = f"{_money(projected.saved_usd)} saved of {dollars(projected.baseline_usd.middle)}, projected"
    prompts = (
        f"; the last prompt {whole(projected.plan_prompt_tokens.middle)} tokens instead of "
        f"{whole(projected.baseline_prompt_tokens.middle)}"
    )
    window = "; without the plan prompts reach the window" if projected.reaches_window else ""
    return [(f"next {plural(projected.calls, 'call')}", saved + prompts + window)]


def _money(band: BandFacts) -> str:
    return f"{dollars(band.middle)} ({dollars(band.low)} to {dollars(band.high)})"


def carried_table(page: Page, report: Report) -> None:
    """Write what takes up the prompts without a plan, and the results that cost most."""
    if not report.carried:
        return
    page.line()
    page.line("What takes up the prompts, over all calls, without a plan", HEADING)
    head = ("", "blocks", "tokens sent", "", "of all", "cost", "", "newest")
    page.table(
        head,
        [_carried(row) for row in _largest(report.carried)],
        LEFT + RIGHT * 2 + LEFT + RIGHT * 2 + LEFT + RIGHT,
        gap=1,
    )
    if report.heaviest:
        page.line()
        page.line("Results that cost most to carry along", HEADING)
        page.table(None, [_heavy(row) for row in report.heaviest], LEFT + WRAPPED)
        for row in report.heaviest:
            if row.text:
                page.line(f"{row.tool or 'tool'}, message {row.message:,}: {row.text}", LABEL, indent=2)


def _largest(rows: Sequence[CarriedFacts]) -> list[CarriedFacts]:
    """As many rows as are worth reading, the last one, for what no text stands for, included."""
    *texts, beside = rows
    texts = [row for row in texts if row.sent_tokens]
    return [*texts[: MOST_ROWS - 1], beside]


def _carried(row: CarriedFacts) -> tuple[str | Text, ...]:
    mark = Text(MARKS[row.known.get("sent_tokens", "exact")], LABEL)
    return (
        clip_cells(plain(f"{row.kind} {row.tool}".rstrip()), NAME_WIDTH),
        whole(row.blocks) if row.blocks else "",
        whole(row.sent_tokens),
        mark,
        percent(None if row.share is None else 100 * row.share),
        dollars(row.usd),
        Text(MARKS[row.known.get("usd", "exact")], LABEL),
        whole(row.carried_tokens),
    )


def _heavy(row: CarriedBlockFacts) -> tuple[str, str]:
    how = row.known.get("sent_tokens", "exact")
    cost = "" if row.usd is None else f", {dollars(row.usd)}"
    stayed = f"{whole(row.tokens)} tokens that stayed for {plural(row.calls, 'call')}"
    name = clip_cells(plain(row.tool or "tool"), NAME_WIDTH - len(", message 000,000"))
    return f"{name}, message {row.message:,}", f"{stayed}: {whole(row.sent_tokens)} sent{cost} ({how})"


def explanations(page: Page, title: str, explained: Mapping[str, ExplanationFacts] | None) -> None:
    """Write how figures came about: formula, inputs, source."""
    if not explained:
        return
    page.line()
    page.line(title, HEADING)
    for name, each in explained.items():
        page.line(f"{name} = {quantity(each.value, each.unit)}, {each.known}", indent=2)
        page.line(f"{each.formula}.", indent=4)
        page.pairs([(plain(given.label), given_text(given.value, given.unit)) for given in each.inputs], indent=6)
        page.line(f"From: {each.source}.", LABEL, indent=4)


def quantity(value: float | None, unit: str) -> str:
    """A figure and what it is counted in."""
    if value is None:
        return "not known, or never"
    if unit == "share":
        return percent(100 * value)
    return given_text(value, unit)


def given_text(value: float | str | None, unit: str) -> str:
    """A number, or a word, that goes into a figure."""
    if value is None or isinstance(value, str):
        return value or "not known"
    if unit == "$":
        return dollars(value)
    if unit.startswith("$ "):
        return f"${value:g}{unit[1:]}"
    if unit == "call":
        return f"call {value:,.0f}"
    number = f"{value:,.0f}" if value == round(value) else f"{value:,.4g}"
    return f"{number} {unit.removesuffix('s') if value == 1 else unit}".rstrip()


def worth_knowing(page: Page, report: Report) -> None:
    """Write what makes the figures less than they seem."""
    if report.warnings:
        page.line()
        page.line("Worth knowing", HEADING)
        page.table(None, [(Text("!", WARNING), warning) for warning in report.warnings], LEFT + WRAPPED, gap=1)
