"""The report as human-readable text: aligned tables in plain characters that fit 80 columns.

Sentences on the prompt cache, shared by all report formats.

The sentences contain names from the session; callers must sanitize them before display.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from rich.text import Text

from inspector.replay.analysis.breakdown import BreakdownRow, ResentBlock, ToolCuts, part_label
from inspector.replay.analysis.cache_misses import CauseTotal, duration
from inspector.replay.analysis.context_blocks import UNRECORDED
from inspector.replay.analysis.costs import ModelCost, SideSpending
from inspector.replay.analysis.hazards import hazard_label
from inspector.replay.analysis.recoveries import NeededLater
from inspector.replay.cache.miss_causes import MissCause
from inspector.replay.pricing.context_window import SETTING
from inspector.replay.quantity import How, Output, quantity
from inspector.report.as_model import as_model_rows, beyond_window_words
from inspector.report.cache_document import CacheMissesFacts, CacheMissFacts
from inspector.report.catalogue import ExplanationFacts, InputFacts, PlanFacts, TierFacts, format_figure, legend
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
from inspector.report.numbers import IN_TEXT, INEXACT
from inspector.report.recovery_words import breakpoint_words, net_of, recovery_words, refetches_of
from inspector.report.sentences import (
    REPLAY_CAVEAT,
    UNCERTAIN_ANSWERS,
    about,
    between,
    compactions_words,
    costliest_first,
    describe_uncertain_saving,
    saving_row,
    subagents_text,
)
from inspector.report.tables import (
    FigureCells,
    columns_of,
    content_title,
    marks_used,
    misses_title,
    plan_letter,
    rounding_note,
    session_heading,
    totals_rows,
)
from inspector.safe_text import clip_cells
from inspector.strategies.presets import display_name

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from msgspec import Struct

    from inspector.replay.analysis.alternatives import LifetimeChange, ModelSwitch, NextCallCost
    from inspector.replay.analysis.compaction_forecast import CompactionForecast
    from inspector.replay.figure import Band
    from inspector.report.document import Report, SessionFacts, TokenFacts
    from inspector.report.folder import FolderLifetimeFacts
    from inspector.report.tables import TotalsRow


COSTLIEST = 3
"""Misses listed in a text."""

NOTHING_PREVENTS = "no known prevention"

HOUR = 3600


def costliest(found: CacheMissesFacts, most: int) -> list[CacheMissFacts]:
    """Return avoidable misses, costliest first; by tokens without a price."""
    misses = [miss for miss in found.misses if not miss.expected]
    misses.sort(key=lambda miss: (-(miss.extra_usd or 0.0), -(miss.tokens or 0), miss.call))
    return misses[:most]


def dollars(value: float | None, known: Mapping[str, How], name: str) -> str:
    """Format money with the mark of its certainty."""
    return IN_TEXT.qualified(IN_TEXT.dollars(value), known.get(name, ""))


def bill_share(found: CacheMissesFacts) -> str:
    """Format the misses' share of the bill, with the mark of its certainty."""
    return IN_TEXT.qualified(IN_TEXT.share(found.share), found.known.get("share", ""))


def misses_text(found: CacheMissesFacts) -> str:
    """Describe the number of misses, their tokens and their share of the bill, but not their cost."""
    label = quantity(CacheMissesFacts, "tokens").label
    tokens = IN_TEXT.qualified(IN_TEXT.whole(found.tokens), found.known.get("tokens", ""))
    share = "" if found.share is None else f"{bill_share(found)} of the bill; "
    rows = [row for row in found.causes if not row.expected]
    of = ", ".join(f"{row.calls:,} {row.short}" for row in rows)
    causes = f": {of}; " if len(rows) > 1 else ", "
    if len(rows) == 1 and found.calls > COSTLIEST:
        causes = f", all {rows[0].short}; "
    return f"{share}{IN_TEXT.plural(found.calls, 'call')}{causes}{tokens} {label}"


def no_misses_text(report: Report) -> str:
    """Explain why there are no cache misses to show."""
    if not report.session.calls:
        return "there is no call"
    if not (report.baseline.cache_read_tokens or report.baseline.cache_write_tokens):
        return "no prompt cache was used: every prompt was billed in full"
    return "none: every call read everything the cache held for it"


def miss_text(miss: CacheMissFacts) -> str:
    """Describe the cause of a miss, and the evidence for it."""
    shown = miss.evidence.text
    cause = MissCause(miss.cause)
    return f"{cause.short}: {shown}" if shown else cause.label


def miss_texts(misses: Sequence[CacheMissFacts]) -> list[str]:
    """Describe several misses; text already used for an earlier miss of the same cause is not repeated."""
    seen: set[tuple[str, str]] = set()
    texts = []
    for miss in misses:
        parts = [(miss.cause, part) for part in miss.evidence.text.split("; ") if part]
        shown = "; ".join(part for cause, part in parts if (cause, part) not in seen)
        cause = MissCause(miss.cause)
        texts.append(f"{cause.short}: {shown}" if shown else cause.short if parts else cause.label)
        seen.update(each for each in parts if not any(character.isdigit() for character in each[1]))
    return texts


def preventions(misses: Sequence[CacheMissFacts]) -> list[str]:
    """Describe how some misses could have been prevented, a sentence each with its calls; unpreventable ones last."""
    found: dict[str, list[int]] = {}
    for miss in sorted(misses, key=lambda miss: not miss.prevention):
        found.setdefault(miss.prevention or NOTHING_PREVENTS, []).append(miss.call)
    return [f"{words} ({_calls(calls)})" for words, calls in found.items()]


def _calls(calls: Sequence[int]) -> str:
    named = " and ".join(filter(None, (", ".join(f"{call:,}" for call in calls[:-1]), f"{calls[-1]:,}")))
    return f"call{'s' if len(calls) > 1 else ''} {named}"


def lifetime_label(found: FolderLifetimeFacts | LifetimeChange) -> str:
    """Return a two-word label of the other lifetime."""
    return "1-hour cache" if found.seconds == HOUR else "5-minute cache"


def lifetime_text(found: LifetimeChange) -> str:
    """Describe the saving or extra cost of another lifetime, and its reasons."""
    saved = found.saved_usd
    if saved is None:
        return "the saving is unknown without a price"
    amount = dollars(abs(saved), found.known, "saved_usd")
    word = "saved" if saved >= 0 else "cost"
    more = "" if saved >= 0 else " more"
    writes = dollars(abs(found.write_usd or 0.0), found.known, "write_usd")
    misses = dollars(abs(found.miss_usd or 0.0), found.known, "miss_usd")
    is_hour = found.seconds == HOUR
    change = f"writes {writes} {'more expensive' if is_hour else 'cheaper'}"
    if found.misses:
        fewer = "fewer" if is_hour else "more"
        change = f"{IN_TEXT.plural(abs(found.misses), f'{fewer} miss')} ({misses}), {change}"
    pays = ""
    if found.break_even is not None and saved < 0 and is_hour:
        pays = f"; breaks even at {IN_TEXT.plural(found.break_even, 'such pause')}"
    return f"would have {word} {amount}{more}: {change}{pays}"


SETTING_LABEL = "setting"

SWITCH_LABEL = "other model"


def switch_text(found: ModelSwitch) -> str:
    """Describe the saving or extra cost of another model from some call on. Begins with the model's name."""
    saved = found.saved_usd
    since = "throughout" if found.call == 1 else f"from call {found.call:,} on"
    now = dollars(found.usd, found.known, "usd")
    if saved is None:
        return f"{found.model} {since} would have cost {now}; the session has no price to compare with"
    was = dollars(found.recorded_usd, found.known, "recorded_usd")
    amount = dollars(abs(saved), found.known, "saved_usd")
    change = f"would have saved {amount}" if saved >= 0 else f"would have cost {amount} more"
    parts = [f"{found.model} {since} {change}: {now} instead of {was}"]
    if found.recache_tokens:
        again = dollars(found.recache_usd, found.known, "recache_usd")
        once = (
            f"{IN_TEXT.short(found.recache_tokens)} tokens rewritten to cache once for {again} more than reading them"
        )
        pays = "" if found.pays_after is None else f", recovered after {IN_TEXT.plural(found.pays_after, 'call')}"
        parts.append(f"{once}{pays}")
    elif found.call > 1:
        parts.append("no cache is lost: that call read none")
    return "; ".join(filter(None, (*parts, beyond_window_words(found.beyond_window, found.window))))


def when_text(session: SessionFacts) -> str:
    """Format a session's time, `2026-07-23 19:32 to 22:07 UTC (2 h 35 min)`; empty if no call has one."""
    begun, ended = session.started, session.ended
    if not begun or not ended:
        return ""
    took = duration((datetime.fromisoformat(ended) - datetime.fromisoformat(begun)).total_seconds())
    last = ended[11:16] if ended[:10] == begun[:10] else f"{ended[:10]} {ended[11:16]}"
    until = "" if ended[:16] == begun[:16] else f" to {last}"
    return f"{begun[:10]} {begun[11:16]}{until} UTC ({took})"


def dearest_hour(report: Report) -> tuple[str, str] | None:
    """Return the costliest hour, in dollars and in words; None if there is only one hour, or no price."""
    hours = [each for each in report.hours if each.hour and each.usd is not None]
    if len(hours) < 2:
        return None
    total = report.baseline.cost_usd
    row = max(hours, key=lambda row: row.usd or 0.0)
    share = f", {IN_TEXT.share((row.usd or 0.0) / total)}" if total else ""
    missed = f", {IN_TEXT.plural(row.misses, 'miss')}" if row.misses else ""
    day = "" if len({each.hour[:10] for each in hours}) == 1 else f"{row.hour[:10]} "
    time = f"{day}{row.hour[11:16]} to {(int(row.hour[11:13]) + 1) % 24:02}:00 UTC"
    return dollars(row.usd, row.known, "usd"), f"{time}{share}: {IN_TEXT.plural(row.calls, 'call')}{missed}"


def next_call_text(found: NextCallCost) -> str:
    """Describe the cost of the next call's prompt with a warm and a cold cache."""
    warm, cold = (dollars(getattr(found, name), found.known, name) for name in ("warm_usd", "cold_usd"))
    when = f" (from {found.expires.replace('T', ' ')[:16]} UTC)" if found.expires else ""
    if found.cold_usd is None:
        return f"{IN_TEXT.short(found.prompt_tokens)} tokens, without a price"
    often = "" if found.warm_chance is None else f" (hit rate {100 * found.warm_chance:.0f} %)"
    if found.idle_next_usd is None:
        return f"{cold} once the cache is cold{when}, {warm} before{often}"
    request, then = (dollars(getattr(found, name), found.known, name) for name in ("idle_request_usd", "idle_next_usd"))
    at = f" at {found.idle_at.replace('T', ' ')[:16]} UTC" if found.idle_at else ""
    idle = f"an idle session is compacted{at} for {request}, then {then} instead of {cold} with a cold cache"
    return f"{warm} while the cache is warm{often}; {idle} ({SETTING} turns that off)"


def accounting_text(found: CacheMissesFacts) -> str:
    """Break down all prompt tokens that were not read from the cache."""
    parts = [
        (sum(each.tokens or 0 for each in found.causes if not each.expected), "cache misses"),
        (
            sum(each.tokens or 0 for each in found.causes if each.expected),
            "first requests, compactions and clearing",
        ),
        *(
            (getattr(found, name) or 0, quantity(CacheMissesFacts, name).label)
            for name in ("new_tokens", "noise_tokens", "uncompared_tokens")
        ),
    ]
    named = "; ".join(f"{label} {IN_TEXT.whole(tokens)}" for tokens, label in parts if tokens)
    less = f"; minus {IN_TEXT.whole(found.beyond_tokens)} read from other calls" if found.beyond_tokens else ""
    total = f"{IN_TEXT.whole(found.unread_tokens)} prompt tokens were not read from the cache"
    return f"{total}: {named}{less}" if named else total


CAUSE_COLUMNS = ("calls", "tokens", "usd", "extra_usd")
"""Table columns of a cause: figures of `CauseTotal`."""


def cause_name(row: CauseTotal) -> str:
    """Return a cause's name in tables, with `(expected)` for an unavoidable one."""
    return f"{row.short} (expected)" if row.expected else row.short


COLUMNS_PER_TABLE = 3
"""Plan columns that fit in 80 columns; further plans follow in further tables."""

SPEC_WIDTH = 72
"""Characters per line of a strategy's one-line form."""

MOST_ROWS = 12
"""Rows of prompt content; the smallest are combined into one more."""

MOST_NOTICES = 3
"""Notices shown of a described program; the JSON holds all."""

NAME_WIDTH = 33
"""Cells of a row's name; a tool's name may have any length."""


ABOUT_RESENT = "token-calls: tokens, once per sending call; newest: in the newest prompt"


def report_text(report: Report, width: int = WIDTH, *, color: bool = False) -> str:
    """Write the whole report; with `color` in colors and bold type, in the same words."""
    page = Page(width, color=color)
    heading(page, report)
    page.line()
    _totals(page, report)
    model_costs_table(page, report)
    side_requests_table(page, report.beside, None if report.recorded is None else report.recorded.cost_usd)
    subagents_table(page, report)
    marks = legend(marks_used(report))
    page.line()
    page.line(REPLAY_CAVEAT, LABEL, indent=2)
    if marks:
        page.line(marks, LABEL, indent=2)
    for index, plan in enumerate(report.plans):
        page.line()
        _plan(page, plan_letter(index), plan)
    as_model_table(page, report)
    cache_misses_table(page, report)
    content_table(page, report)
    explanations(page, "Calculation of the baseline's figures", report.explain)
    for index, plan in enumerate(report.plans):
        explanations(page, f"Calculation of the figures of plan {plan_letter(index)}", plan.explain)
    write_caveats(page, report)
    return page.text()


def heading(page: Page, report: Report) -> None:
    """Write the session's identity and content, and the method of token counting."""
    session = report.session
    page.line(session_heading(session), HEADING)
    recorded_by = f", recorded by {session.agent}" if session.agent else ""
    rows = [
        ("id", session.id),
        ("file", session.path),
        ("format", session.format + recorded_by),
        ("model", models_named(report)),
        (
            "content",
            ", ".join(
                (
                    IN_TEXT.plural(session.messages, "message"),
                    IN_TEXT.plural(session.blocks, "block"),
                    IN_TEXT.plural(session.tool_results, "tool result"),
                    IN_TEXT.plural(session.calls, "call"),
                    IN_TEXT.plural(session.compactions, "compaction"),
                )
            ),
        ),
        *([] if session.window is None else [("window", _window(session))]),
        ("tokens", _tokens(report.tokens)),
        *_prices(report),
    ]
    page.pairs(rows)


def models_named(report: Report) -> str:
    """Return the models of a session, each with the name of its price if that differs."""
    others = {} if report.prices is None else report.prices.priced_as
    named = [f"{name} (priced as {others[name]})" if name in others else name for name in report.session.models]
    return ", ".join(named) or "not named in the file"


def model_costs_table(page: Page, report: Report) -> None:
    """Write the cost of each model's calls, if there are several models."""
    if len(report.model_costs) < 2:
        return
    page.line()
    rows = [(clip_cells(plain(each.model or "unnamed"), NAME_WIDTH), each) for each in report.model_costs]
    written = IN_TEXT.dollars_of_parts(report.baseline.cost_usd, [each.usd for each in report.model_costs])
    shares = IN_TEXT.shares_of_parts([each.share for each in report.model_costs])
    _figure_table(
        page,
        "model",
        rows,
        ModelCost,
        ("calls", "prompt_tokens", "output_tokens", "usd", "share"),
        written={"usd": written, "share": shares},
    )


def _totals(page: Page, report: Report) -> None:
    """Write the totals, in several tables for many plans."""
    figures, columns = FigureCells(report), columns_of(report)
    for start in range(0, len(columns), COLUMNS_PER_TABLE):
        shown = columns[start : start + COLUMNS_PER_TABLE]
        if start:
            page.line()
        page.table(
            ["", *(column.title for column in shown)],
            [_totals_line(row) for row in totals_rows(report, figures, shown, Output.TEXT)],
            LEFT + RIGHT * len(shown),
        )


def side_requests_table(page: Page, requests: Sequence[SideSpending], recorded: float | None = None) -> None:
    """Write the requests outside the conversation, and the total cost with them if known."""
    if not requests:
        return
    rows = [
        (
            each.purpose,
            IN_TEXT.whole(each.calls),
            IN_TEXT.whole(each.prompt_tokens),
            IN_TEXT.whole(each.output_tokens),
            IN_TEXT.dollars(each.cost_usd),
        )
        for each in requests
    ]
    page.line()
    page.table(["Side requests", "calls", "prompt tokens", "output", "cost"], rows, LEFT + RIGHT * 4)
    parts = [recorded, *(each.cost_usd for each in requests)]
    known = [part for part in parts if part is not None]
    together = sum(known) if len(known) == len(parts) else None
    text = "" if together is None else f"; with the recorded calls, {IN_TEXT.dollars(together)}"
    page.line(f"Not included in any other figure{text}.", LABEL, indent=2)
    if note := rounding_note(together, parts):
        page.line(note, LABEL, indent=2)


def subagents_table(page: Page, report: Report) -> None:
    """Write the sessions that this one started, the costliest first, and the cost with them."""
    found = report.subagents
    if not found:
        return
    page.line()
    if found.sessions:
        rows = [
            (
                clip_cells(plain(each.title or each.id), NAME_WIDTH),
                IN_TEXT.whole(each.calls),
                IN_TEXT.qualified(IN_TEXT.whole(each.prompt_tokens), each.known),
                IN_TEXT.qualified(IN_TEXT.whole(each.output_tokens), each.known),
                IN_TEXT.qualified(IN_TEXT.dollars(each.cost_usd), each.known, is_lower_bound=each.is_lower_bound),
            )
            for each in costliest_first(found)[:MOST_ROWS]
        ]
        page.table(["Subagents", "calls", "prompt tokens", "output", "cost"], rows, LEFT + RIGHT * 4)
    page.line(f"{subagents_text(found, IN_TEXT, report.with_subagents_usd)}.", LABEL, indent=2)


def _totals_line(row: TotalsRow) -> list[str | Text]:
    label = f"  {row.part}" if row.part else row.label
    line: list[str | Text] = [Text(label, HEADING if label in ("cost", "saved") else LABEL)]
    return [*line, *(Text(cell.shown, LOSS if cell.is_loss else "") for cell in row.cells)]


def _prices(report: Report) -> list[tuple[str, str]]:
    prices = report.prices
    if prices is None:
        return []
    asked = " (as requested)" if prices.cache else ""
    caches = "; ".join(dict.fromkeys(prices.caches.values()))
    return [("prices", prices.source), *([("prompt cache", caches + asked)] if caches else [])]


def _window(session: SessionFacts) -> str:
    return f"{IN_TEXT.whole(session.window)} tokens, {session.window_known}: {session.window_source}"


def _tokens(tokens: TokenFacts) -> str:
    fit = tokens.calibration
    if fit is None and tokens.borrowed:
        return f"{tokens.method}, {tokens.borrowed}: this session reports too little usage"
    if fit is None:
        return f"{tokens.method}, not calibrated to reported usage"
    formula = f"x {fit.ratio:.3f} + {IN_TEXT.whole(fit.overhead)} in the newest prompt"
    error = "" if fit.residual is None else f", half of them within {100 * fit.residual:.2f} %"
    return f"{tokens.method}, calibrated to the usage of {IN_TEXT.plural(fit.calls, 'call')}: {formula}{error}"


def _plan(page: Page, letter: str, plan: PlanFacts) -> None:
    page.line(f"Plan {letter}: {display_name(plan.name)}" if plan.name else f"Plan {letter}", HEADING)
    for index, spec in enumerate(plan.strategies, 1):
        lines = broken_after_commas(spec, SPEC_WIDTH)
        page.table(None, [("" if row else f"{index}.", line) for row, line in enumerate(lines)], RIGHT + WRAPPED, gap=1)
    if not plan.strategies:
        page.line("no strategy: the same as the baseline", indent=2)
    tiers = [tier for tier in plan.tiers if tier.results]
    are_named = len({tier.strategy for tier in tiers}) > 1
    _figure_table(
        page,
        "tier",
        [(f"{row.strategy} {row.tier}".rstrip() if are_named else row.tier or row.strategy, row) for row in tiers],
        TierFacts,
        ("results", "touched", "tokens_cut", "cut_tokens", "saved_usd"),
    )
    _figure_table(
        page,
        "tool",
        [(clip_cells(plain(row.tool or "unknown"), NAME_WIDTH), row) for row in plan.tools[:MOST_ROWS]],
        ToolCuts,
        ("results", "recorded_tokens", "left_tokens", "saved_tokens"),
    )
    page.pairs(_findings(plan))


def _figure_table(
    page: Page,
    about: str,
    rows: Sequence[tuple[str, BreakdownRow | CauseTotal | ModelCost | TierFacts | ToolCuts]],
    kind: type[Struct],
    names: Sequence[str],
    *,
    short: Sequence[str] = (),
    written: Mapping[str, Sequence[str]] | None = None,
) -> None:
    """Write a row of figures for each entry; nothing without rows.

    Args:
        about: Title of the name column.
        rows: Names, and the facts with their figures.
        names: The figures, by catalogue name.
        short: Figures with a short title.
        written: Preformatted figures of all rows by name.
    """
    if not rows:
        return
    head, columns = [about], LEFT
    for name in names:
        entry = quantity(kind, name)
        head.append(entry.short_label if name in short else entry.label)
        columns += RIGHT
    lines: list[list[str | Text]] = []
    for at, (named, row) in enumerate(rows):
        line: list[str | Text] = [named]
        for name in names:
            entry, value = quantity(kind, name), getattr(row, name)
            text = written[name][at] if written and name in written else format_figure(entry, value)
            line.append(Text(IN_TEXT.qualified(text, row.known.get(name, "")), LOSS if entry.is_loss(value) else ""))
        lines.append(line)
    page.table(head, lines, columns)


def _findings(plan: PlanFacts) -> list[tuple[str, str]]:
    rows = [*notice_rows(plan), *cache_rows(plan), *compaction_rows(plan)]
    if plan.hazards is not None:
        found = ", ".join(f"{hazard_label(kind)} {count:,}" for kind, count in plan.hazards.items() if count)
        rows.append(("risks", found + _certainty_suffix(plan.known.get("hazards", "")) if found else "none"))
    rows += needed_rows(plan)
    if plan.projection is not None:
        rows.append(saving_row(plan.projection, IN_TEXT))
    prices = [(each.places, each.usd) for each in plan.breakpoints if each.usd is not None]
    if by_rule := breakpoint_words(prices, IN_TEXT):
        rows.append(("", by_rule))
    return [*rows, *next_calls_rows(plan), *uncertainty_rows(plan)]


def uncertainty_rows(plan: PlanFacts) -> list[tuple[str, str]]:
    """Describe the saving if the model answers differently, if requested."""
    return [] if plan.uncertainty is None else [(UNCERTAIN_ANSWERS, describe_uncertain_saving(plan.uncertainty))]


def needed_rows(plan: PlanFacts) -> list[tuple[str, str]]:
    """Describe cut text that was needed later, the net saving, and the evidence."""
    needed = plan.needed_later
    if needed is None or not plan.edits:
        return []
    names = ("exact_text", "fault", "anchor", "citation", "repeats_anyway")
    counts = [(quantity(NeededLater, name).label, getattr(needed, name)) for name in names]
    by_kind = ", ".join(f"{label} {count:,}" for label, count in counts if count)
    saving = (plan.saved.usd, net_of(needed))
    words = recovery_words(refetches_of(needed), needed.calls, saving, needed.break_even_recoveries, IN_TEXT)
    rows = [("net", words.removeprefix("net "))]
    if by_kind:
        rows.append(("", f"needed later, by evidence: {by_kind} (inspector help evidence)"))
    if needed.evidence_reason:
        rows.append(("untested", needed.evidence_reason))
    return rows


def _certainty_suffix(known: str) -> str:
    """Return a suffix for the certainty of the figures in a sentence, where it matters."""
    return f" ({known})" if known in INEXACT else ""


def notice_rows(plan: PlanFacts) -> list[tuple[str, str]]:
    """List the first notices of the programs a plan describes, and count the rest."""
    notices = plan.notices
    rows = [(f"prints at call {each.call:,}", plain(each.text)) for each in notices[:MOST_NOTICES]]
    more = len(notices) - len(rows)
    return [*rows, ("", f"and {more:,} more like this")] if more else rows


def cache_rows(plan: PlanFacts) -> list[tuple[str, str]]:
    """Describe a plan's effect on the prompt cache, in a sentence."""
    outcome = plan.outcome
    if outcome is None or not outcome.plan_breaks or not outcome.resent_tokens:
        return []
    known = outcome.known.get("break_usd", outcome.known.get("resent_tokens", ""))
    taken = f"{IN_TEXT.whole(outcome.resent_tokens)} tokens rewritten to cache"
    cost = "" if outcome.rebuild_usd is None else f" for {IN_TEXT.dollars(outcome.rebuild_usd)}"
    more = "" if outcome.break_usd is None else f", {IN_TEXT.dollars(outcome.break_usd)} more than cache reads"
    changed = IN_TEXT.whole(outcome.plan_breaks)
    if plan.figures.cache_breaks is not None and plan.figures.cache_breaks > outcome.plan_breaks:
        # The others follow a compaction or a rewind: the same report holds both numbers.
        changed += f" of {IN_TEXT.whole(plan.figures.cache_breaks)}"
    return [("changed by plan", f"{changed} changed prompts: {taken}{cost}{more}{_certainty_suffix(known)}")]


def compaction_rows(plan: PlanFacts) -> list[tuple[str, str]]:
    """Describe the plan's effect on recorded compactions, a sentence each."""
    return [(f"compaction at call {each.call:,}", _compaction(each)) for each in plan.compactions]


def _compaction(each: CompactionForecast) -> str:
    size = f"{IN_TEXT.whole(each.trigger_tokens)} tokens"
    size += " by the agent's own count" if each.noted_by_agent else ""
    if each.asked_for:
        return f"at {size}, requested: it would have happened anyway"
    if each.reached_call == each.call:
        return f"at {size}: the prompt would have reached that size anyway (projected)"
    if each.reached_call is not None:
        when = f"reached that at call {each.reached_call:,}"
    elif each.until_call is not None:
        when = f"not reached that before call {each.until_call:,}"
    else:
        when = "never reached that in this session"
    saved = _saved_or_costs(each)
    return f"at {size}: the prompt would have been {IN_TEXT.whole(each.prompt_tokens)} and {when}{saved} (projected)"


def _saved_or_costs(each: CompactionForecast) -> str:
    if each.saved_usd is None:
        return ""
    longer = "the longer prompts cost" if each.saved_usd < 0 else "saving"
    return f"; {longer} {IN_TEXT.dollars(abs(each.saved_usd))} until then"


def next_calls_rows(plan: PlanFacts) -> list[tuple[str, str]]:
    """Describe the projection of further calls, in a sentence."""
    projected = plan.next_calls
    if projected is None:
        return []
    saved = f"{_money(projected.saved_usd)} saved of about {about(projected.baseline_usd, IN_TEXT)}"
    prompts = (
        f"; the last prompt about {IN_TEXT.short(projected.plan_prompt_tokens.middle)} tokens instead of "
        f"{IN_TEXT.short(projected.baseline_prompt_tokens.middle)}"
    )
    window = "; without the plan, prompts reach the window" if projected.reaches_window else ""
    return [(f"next {IN_TEXT.plural(projected.calls, 'call')}", saved + prompts + window)]


def _money(band: Band) -> str:
    return f"about {about(band, IN_TEXT)} ({between(band, IN_TEXT)})"


def as_model_table(page: Page, report: Report) -> None:
    if report.as_model is not None:
        page.line()
        page.line("At another model", HEADING)
        page.pairs(as_model_rows(report.as_model))


def cache_misses_table(page: Page, report: Report) -> None:
    """Write the causes of cache misses without a plan, the costliest misses, and projections."""
    found = report.cache_misses
    if found is None or not report.session.calls:
        return
    page.line()
    page.line(misses_title(report), HEADING)
    if not found.calls:
        page.line(f"{no_misses_text(report)}", indent=2)
    _figure_table(page, "cause", [(cause_name(row), row) for row in found.causes], CauseTotal, CAUSE_COLUMNS)
    shown = costliest(found, COSTLIEST)
    pairs = [("of the bill", bill_share(found))] if found.calls and found.share is not None else []
    texts = zip(shown, miss_texts(shown), strict=True)
    pairs += [(f"call {miss.call:,}", f"{_extra(miss)}{text}") for miss, text in texts]
    pairs += [("prevention" if not at else "", words) for at, words in enumerate(preventions(shown))]
    pairs += [("not read", accounting_text(found))] if found.unread_tokens else []
    together = "" if report.compacted is None else compactions_words(report.compacted, IN_TEXT)
    pairs += [("compactions", together)] if together else []
    pairs += [] if found.lifetime is None else [(lifetime_label(found.lifetime), lifetime_text(found.lifetime))]
    pairs += [(SETTING_LABEL, each.text) for each in found.settings]
    pairs += [] if found.next_call is None else [("next call", next_call_text(found.next_call))]
    pairs += [(SWITCH_LABEL, switch_text(each)) for each in report.model_switches]
    page.pairs(pairs)


def _extra(miss: CacheMissFacts) -> str:
    return "" if miss.extra_usd is None else f"{dollars(miss.extra_usd, miss.known, 'extra_usd')}, "


def content_table(page: Page, report: Report) -> None:
    """Write the prompt content without a plan, and the results with the highest resend cost."""
    if not report.carried:
        return
    page.line()
    page.line(content_title(report), HEADING)
    # Limit the rows; the last ones, for content the file does not hold, are always included.
    others = [row for row in report.carried if row.kind in UNRECORDED]
    texts = [row for row in report.carried if row.kind not in UNRECORDED and row.sent_tokens]
    rows = [*texts[: MOST_ROWS - len(others)], *others]
    _figure_table(
        page,
        "",
        [(clip_cells(plain(part_label(row.kind, row.tool, NAME_WIDTH)), NAME_WIDTH), row) for row in rows],
        BreakdownRow,
        ("blocks", "sent_tokens", "share", "usd", "carried_tokens"),
        short=("carried_tokens",),
    )
    page.line(ABOUT_RESENT, LABEL, indent=2)
    if report.heaviest:
        page.line()
        page.line("Results with the highest resend cost", HEADING)
        page.table(None, [_heavy(row) for row in report.heaviest], LEFT + WRAPPED)
        for row in report.heaviest:
            if row.text:
                page.line(f"{row.tool or 'tool'}, message {row.message:,}: {row.text}", LABEL, indent=2)


def _heavy(row: ResentBlock) -> tuple[str, str]:
    cost = "" if row.usd is None else f", {IN_TEXT.dollars(row.usd)}"
    resent = f"{IN_TEXT.whole(row.tokens)} tokens, sent {IN_TEXT.plural(row.calls, 'time')}"
    name = clip_cells(plain(row.tool or "tool"), NAME_WIDTH - len(", message 000,000"))
    suffix = _certainty_suffix(row.known.get("sent_tokens", ""))
    return (
        f"{name}, message {row.message:,}",
        f"{resent}: {IN_TEXT.whole(row.sent_tokens)} token-calls{cost}{suffix}",
    )


def explanations(page: Page, title: str, explained: Mapping[str, ExplanationFacts] | None) -> None:
    """Write the calculation of figures: formula, inputs, source."""
    if not explained:
        return
    page.line()
    page.line(title, HEADING)
    for name, each in explained.items():
        page.line(f"{name} = {IN_TEXT.quantity(each.value, each.unit)}, {each.known}", indent=2)
        page.line(f"{each.formula}.", indent=4)
        page.pairs([(plain(given.label), input_text(given)) for given in each.inputs], indent=6)
        page.line(f"Source: {each.source}.", LABEL, indent=4)


def input_text(given: InputFacts) -> str:
    return "unknown" if given.value is None or given.value == "" else IN_TEXT.quantity(given.value, given.unit)


def write_caveats(page: Page, report: Report) -> None:
    if report.warnings:
        page.line()
        page.line("Worth knowing", HEADING)
        page.table(None, [(Text("!", WARNING), warning) for warning in report.warnings], LEFT + WRAPPED, gap=1)
