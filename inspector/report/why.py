"""Explanation of a session's cost on one screen: bill, cache misses, cheaper alternatives."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.text import Text

from inspector.replay.analysis.recoveries import BEYOND, Exclusion
from inspector.replay.quantity import How, quantity
from inspector.report.as_model import as_model_rows
from inspector.report.catalogue import CostParts, FigureSet, format_figure, legend
from inspector.report.export import NONE_RECOMMENDED, answer_for
from inspector.report.layout import HEADING, LABEL, LEFT, RIGHT, WIDTH, WRAPPED, Page, plain
from inspector.report.numbers import IN_TEXT, UNKNOWN
from inspector.report.recovery_words import NOTHING_SAVES, saving_of
from inspector.report.sentences import (
    NOT_INCLUDED,
    REPLAY_CAVEAT,
    compactions_in_short,
    cost_words,
    count_words,
    subagents_text,
    unread_words,
)
from inspector.report.tables import marks_in
from inspector.report.text import (
    COSTLIEST,
    SETTING_LABEL,
    SWITCH_LABEL,
    costliest,
    dearest_hour,
    dollars,
    lifetime_label,
    lifetime_text,
    miss_texts,
    misses_text,
    models_named,
    next_call_text,
    no_misses_text,
    preventions,
    switch_text,
    when_text,
    write_caveats,
)
from inspector.safe_text import clip_cells
from inspector.strategies.plan import Plan

if TYPE_CHECKING:
    from collections.abc import Mapping

    from inspector.replay.analysis.breakdown import ResentBlock
    from inspector.report.cache_document import CacheMissesFacts
    from inspector.report.document import BestPlanFacts, Report, SavingPlanFacts

MOST_RESENDS = 3
"""Number of tool results to name."""

LEAST_OF_COMPACTIONS = 0.01
"""Compactions get a row if they make up at least this share of the bill."""

NAME_WIDTH = 24

PARTS = ("cache_read_usd", "cache_write_usd", "uncached_usd", "output_usd", "requests_usd")

MORE = "every figure: inspector report; every plan: inspector compare"

AGENT_CAN = "agent can apply"
"""Label of the best plan that the session's agent can apply; its name would widen the column."""

Row = tuple[str, str, str]
"""A label, dollars, and a comment."""


def why_text(report: Report, width: int = WIDTH, *, color: bool = False) -> str:
    """Write the explanation from a report with details and the best plan."""
    page = Page(width, color=color)
    session, cost = report.session, report.baseline
    written = format_figure(quantity(FigureSet, "cost_usd"), cost.cost_usd)
    amount = IN_TEXT.qualified(written, cost.known.get("cost_usd", ""), is_lower_bound="cost_usd" in cost.at_least)
    name = session.title or session.id
    has_cost = bool(session.calls) and cost.cost_usd is not None
    page.line(f"Why {name} cost {amount}" if has_cost else f"Cost of {name}", HEADING)
    calls, when = _calls(report), when_text(session)
    both = f"{calls} · {when}"
    for line in [both] if calls and when and cell_len(both) + 2 <= width else filter(None, [calls, when]):
        page.line(line, LABEL, indent=2)
    if session.calls:
        rows = [*_bill(report), *_by_model(report), *_subagents(report), *_hour(report), *_misses(report)]
        rows += [*_compacted(report), *_resends(report.heaviest)]
        page.table(
            None, [(Text(label, LABEL), amount, reported) for label, amount, reported in rows], LEFT + RIGHT + WRAPPED
        )
        most = max(len(label) for label, _, _ in rows)
        page.pairs((label.ljust(most), reported) for label, reported in _ways(report))
        if _shows_savings(report):
            page.line(REPLAY_CAVEAT, LABEL, indent=2)
        page.line(MORE, LABEL, indent=2)
        marks = legend(
            marks_in(
                *(report.cost, report.subagents, report.cache_misses, report.compacted, report.best_plan),
                *report.heaviest[:MOST_RESENDS],
                *report.model_switches,
            )
        )
        if marks:
            page.line(marks, LABEL, indent=2)
    elif report.subagents:
        page.line(f"{subagents_text(report.subagents, IN_TEXT)}.", indent=2)
    write_caveats(page, report)
    return page.text()


def _calls(report: Report) -> str:
    """Return the number of calls and their models; empty without calls."""
    calls = IN_TEXT.plural(report.session.calls, "call")
    if not report.session.calls:
        return ""
    return f"{calls} of {models_named(report)}" if report.session.models else f"{calls}, model not recorded"


def _bill(report: Report) -> list[Row]:
    """Break down the bill by kind of token; without a price in tokens."""
    found, total = report.cost, report.baseline
    if found is None:
        return []
    if total.cost_usd is None:
        names = ("cache_read_tokens", "cache_write_tokens", "uncached_tokens", "output_tokens")
        sizes = [
            (
                quantity(FigureSet, name).label,
                "",
                f"{IN_TEXT.qualified(IN_TEXT.whole(getattr(total, name)), total.known.get(name, ''))} tokens",
            )
            for name in names
        ]
        return [("cost", UNKNOWN, "its model has no price: sizes only"), *sizes]
    parts = [(name, value) for name in PARTS if (value := getattr(found, name)) is not None]
    written = IN_TEXT.dollars_of_parts(total.cost_usd, [value for _, value in parts])
    shares = IN_TEXT.shares_of_parts([value / total.cost_usd if total.cost_usd else None for _, value in parts])
    rows: list[Row] = []
    for (name, _), text, share in zip(parts, written, shares, strict=True):
        marked = IN_TEXT.qualified(text, found.known.get(name, ""), is_lower_bound=name in found.at_least)
        rows.append((quantity(CostParts, name).label, marked, share if rows else f"{share} of the bill"))
    return rows


def _by_model(report: Report) -> list[Row]:
    """Break down the bill by model, if there are several."""
    found, total = report.model_costs, report.baseline.cost_usd
    if len(found) < 2 or total is None:
        return []
    written = IN_TEXT.dollars_of_parts(total, [each.usd for each in found])
    shares = IN_TEXT.shares_of_parts([each.share for each in found])
    rows: list[Row] = []
    for each, text, share in zip(found, written, shares, strict=True):
        name = clip_cells(plain(each.model or "unnamed model"), NAME_WIDTH)
        marked = IN_TEXT.qualified(text, each.known.get("usd", ""), is_lower_bound="usd" in each.at_least)
        phrase = f"{share}{'' if rows else ' of the bill'}: {name}, {IN_TEXT.plural(each.calls, 'call')}"
        rows.append(("" if rows else "by model", marked, phrase))
    return rows


def _subagents(report: Report) -> list[Row]:
    found = report.subagents
    if not found:
        return []
    if not found.sessions:
        return [("subagents", UNKNOWN, unread_words(found, IN_TEXT))]
    more = "" if found.cost_usd is None else cost_words(found, IN_TEXT)
    words = [f"more for {count_words(found, IN_TEXT)}, {NOT_INCLUDED}", unread_words(found, IN_TEXT)]
    return [("subagents", more or UNKNOWN, "; ".join(filter(None, words)))]


def _hour(report: Report) -> list[Row]:
    found = dearest_hour(report)
    return [] if found is None else [("costliest hour", *found)]


def _misses(report: Report) -> list[Row]:
    found = report.cache_misses
    if found is None or not found.calls:
        return [("cache misses", "", no_misses_text(report))]
    shown = costliest(found, COSTLIEST)
    extra = "more than cache reads, " if found.extra_usd is not None else ""
    rows = [("cache misses", _priced(found.extra_usd, found.known), extra + misses_text(found))]
    for miss, text in zip(shown, miss_texts(shown), strict=True):
        rows.append((f"  call {miss.call:,}", _priced(miss.extra_usd, miss.known), text))
    rows += [("  prevention" if not at else "", "", words) for at, words in enumerate(preventions(shown))]
    return rows


def _compacted(report: Report) -> list[Row]:
    """Describe tokens removed by compactions and their cost, if significant."""
    found, cost = report.compacted, report.baseline.cost_usd
    spent = 0.0 if found is None else (found.recached_usd or 0.0) + (found.summaries_usd or 0.0)
    if found is None or not cost or spent < LEAST_OF_COMPACTIONS * cost:
        return []
    return [("compactions", "", " · ".join(compactions_in_short(found, IN_TEXT)))]


def _priced(value: float | None, known: Mapping[str, How]) -> str:
    return "" if value is None else dollars(value, known, "extra_usd")


def _resends(heaviest: list[ResentBlock]) -> list[Row]:
    rows = []
    for place, row in enumerate(heaviest[:MOST_RESENDS]):
        name = clip_cells(plain(row.tool or "tool"), NAME_WIDTH)
        cost = "" if row.usd is None else dollars(row.usd, row.known, "usd")
        tokens = IN_TEXT.qualified(IN_TEXT.whole(row.tokens), row.known.get("tokens", ""))
        text = f"{name}, message {row.message:,}: {tokens} tokens, sent {IN_TEXT.plural(row.calls, 'time')}"
        rows.append(("costliest results" if not place else "", cost, text))
    return rows


def _ways(report: Report) -> list[tuple[str, str]]:
    """List cheaper alternatives, and the next call."""
    rows = [] if report.best_plan is None else [*_applicable(report, report.best_plan), _best(report.best_plan)]
    rows += [(SWITCH_LABEL, switch_text(each)) for each in report.model_switches]
    rows += [] if report.as_model is None else as_model_rows(report.as_model)
    found = report.cache_misses
    if found is None:
        return rows
    if found.lifetime is not None and (_has_expired(found) or (found.lifetime.saved_usd or 0) > 0):
        rows.append((lifetime_label(found.lifetime), lifetime_text(found.lifetime)))
    rows += [(SETTING_LABEL, each.text) for each in found.settings]
    if found.next_call is not None:
        rows.append(("next call", next_call_text(found.next_call)))
    return rows


def _shows_savings(report: Report) -> bool:
    """Return True if the text mentions a saving, by a plan or another model."""
    found = report.best_plan
    return bool(report.model_switches) or (found is not None and (found.best is not None or found.most is not None))


def _has_expired(found: CacheMissesFacts) -> bool:
    """Return True if a listed miss would have been prevented by a 1-hour cache, so its cost must be shown."""
    return any("hour" in miss.prevention for miss in costliest(found, COSTLIEST))


def _best(found: BestPlanFacts) -> tuple[str, str]:
    if found.best is not None:
        return ("best plan", f"{saving_of(found.best).in_full(IN_TEXT)}{_beyond(found.best)}")
    if not found.is_complete:
        return ("best plan", "trying every plan would take too long here: use inspector compare")
    if found.most is None:
        return ("best plan", NOTHING_SAVES)
    reason = found.most.needed_later.evidence_reason
    return ("best plan", saving_of(found.most).why_not(Exclusion.UNTESTED.in_full(reason) if reason else "", IN_TEXT))


def _applicable(report: Report, found: BestPlanFacts) -> list[tuple[str, str]]:
    """Describe the best plan that the session's agent can apply natively, if it is not the overall best."""
    shown = found.best or found.applicable
    if shown is None or found.applicable == found.best:
        return []
    answer = answer_for(report.session.format, Plan.from_specs(shown.strategies))
    if found.applicable is None and not answer.is_lacking:
        return []
    if found.applicable is None:
        return [(AGENT_CAN, f"{NONE_RECOMMENDED}: inspector help apply")]
    return [(AGENT_CAN, f"{saving_of(found.applicable).in_full(IN_TEXT)}{_beyond(found.applicable)}")]


def _beyond(found: SavingPlanFacts) -> str:
    reason = found.needed_later.evidence_reason
    return f"; {BEYOND}: {reason}" if reason else ""
