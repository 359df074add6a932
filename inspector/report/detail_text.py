"""The finer parts of a report as text: what takes up the prompts, compactions, how figures came about."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from inspector.report.figures_table import MARKS
from inspector.report.layout import HEADING, LABEL, LEFT, LOSS, RIGHT, WRAPPED, plain
from inspector.report.numbers import dollars, percent, plural, whole
from inspector.safe_text import clip_cells

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from inspector.report.details import (
        BandFacts,
        CarriedBlockFacts,
        CarriedFacts,
        CompactionFacts,
        ExplanationFacts,
        ToolCutFacts,
    )
    from inspector.report.document import PlanFacts, Report
    from inspector.report.layout import Page

MOST_ROWS = 12
"""Rows of what takes up the prompts; the smallest are added up in one more."""


MOST_NOTICES = 3
"""What a described program would have printed is shown so often; all of it is in the JSON."""

NAME_WIDTH = 33
"""Columns for what a row is about; a tool's name may be of any length."""


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


def tool_table(page: Page, plan: PlanFacts) -> None:
    """Write what a plan cuts of every tool's results."""
    if plan.tools:
        head = ("tool", "results", "original", "", "sent", "", "saved in all", "")
        page.table(
            head, [_tool(row) for row in plan.tools[:MOST_ROWS]], LEFT + RIGHT * 2 + (LEFT + RIGHT) * 2 + LEFT, gap=1
        )


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


def _tool(row: ToolCutFacts) -> tuple[str | Text, ...]:
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


def _heavy(row: CarriedBlockFacts) -> tuple[str, str]:
    how = row.known.get("sent_tokens", "exact")
    cost = "" if row.usd is None else f", {dollars(row.usd)}"
    stayed = f"{whole(row.tokens)} tokens that stayed for {plural(row.calls, 'call')}"
    name = clip_cells(plain(row.tool or "tool"), NAME_WIDTH - len(", message 000,000"))
    return f"{name}, message {row.message:,}", f"{stayed}: {whole(row.sent_tokens)} sent{cost} ({how})"


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


def _money(band: BandFacts) -> str:
    return f"{dollars(band.middle)} ({dollars(band.low)} to {dollars(band.high)})"


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
