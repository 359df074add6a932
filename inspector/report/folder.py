"""Report on a folder of sessions as data: `inspector report FOLDER --format json`.

The figures of a session match its separate report, except that a call in several sessions is counted once, in the
session that ended first, and that responses recorded as placeholders may be estimated from characters.
`docs/folder-report.schema.json` is generated from these types.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

import inspector
from inspector.replay.analysis.alternatives import (
    FEWER_MISSES,
    MISSES_COST_LESS,
    WRITES_COST_MORE,
    LifetimeChange,
    lifetime_change,
)
from inspector.replay.analysis.cache_misses import EXTRA_COST, CauseTotal, cache_misses
from inspector.replay.analysis.compactions import (
    CompactionAftermath,
    WorkStretch,
    compaction_aftermaths,
    median_stretch,
)
from inspector.replay.analysis.costs import SideSpending, side_spending
from inspector.replay.analysis.recoveries import NeededLater, recoveries_to_break_even
from inspector.replay.analysis.reuse import find_reuse
from inspector.replay.cache.miss_causes import MissCause
from inspector.replay.engine.replay import Replay, replay
from inspector.replay.figure import HowKnown, lowest_confidence
from inspector.replay.quantity import (
    DOLLAR_DIGITS,
    PERCENT_DIGITS,
    SHARE_DIGITS,
    Count,
    How,
    Known,
    Unit,
    about,
    figure,
    quantities,
    rounded_result,
)
from inspector.report.build_report import figure_set, miss_facts, plan_facts, recorded_figures, shown_spending
from inspector.report.catalogue import FigureSet, Saving, UncertainSaving
from inspector.report.document import ReportOptions
from inspector.report.numbers import IN_TEXT, rounded
from inspector.report.secret_redaction import shown_name, shown_path, without_secrets
from inspector.report.sentences import REPLAY_CAVEAT, uncertain_saving
from inspector.session.related import parent_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

    from inspector.strategies.plan import Plan


class FolderCompactionsFacts(Struct, frozen=True, kw_only=True):
    """Calls around all compactions. One that appears in several sessions is counted once."""

    compactions: Annotated[Count, figure("compactions", Unit.COUNT, "Compactions followed by a call.")]
    compared: Annotated[
        Count, figure("compared", Unit.COUNT, "Compactions compared with windows of equal length in their session.")
    ]
    windows: Annotated[Count, figure("windows", Unit.COUNT, "Number of these windows.")]
    reads: Annotated[Count, figure("reads", Unit.COUNT, "Reads of files after all compactions.")]
    rereads: Annotated[Count, figure("re-reads", Unit.COUNT, "Reads of files that were read or written before.")]
    after: Annotated[WorkStretch | None, about("Medians over the compared compactions; null if there are none.")]
    elsewhere: Annotated[WorkStretch | None, about("Medians over them of the median of their windows.")]


def session_aftermaths(whole: Replay, counted: Collection[int]) -> list[CompactionAftermath]:
    """Return the calls around a session's counted compactions; `counted` are responses, as message indices."""
    calls = whole.history.session.calls
    found = [each for each in compaction_aftermaths(whole) if calls[each.call - 1].response in counted]
    return [
        replace(each, after=_rounded(each.after), elsewhere=each.elsewhere and _rounded(each.elsewhere))
        for each in found
    ]


def _rounded(stretch: WorkStretch) -> WorkStretch:
    return replace(stretch, usd=rounded(stretch.usd, DOLLAR_DIGITS))


def folder_compactions(sessions: Iterable[Sequence[CompactionAftermath]]) -> FolderCompactionsFacts | None:
    """Compute the totals of the compactions of all sessions; None if there are none."""
    found = [each for session in sessions for each in session]
    if not found:
        return None
    compared = [each for each in found if each.elsewhere is not None]
    return FolderCompactionsFacts(
        compactions=len(found),
        compared=len(compared),
        windows=sum(each.windows for each in compared),
        reads=sum(each.reads for each in found),
        rereads=round(sum(each.after.rereads for each in found)),
        after=median_stretch([each.after for each in compared]),
        elsewhere=median_stretch([each.elsewhere for each in compared if each.elsewhere is not None]),
    )


MOST_DEAREST = 10

FIVE_MINUTES, HOUR = 300.0, 3600.0

GAPS = ("under 5 minutes", "5 to 60 minutes", "over an hour")
"""Time since the previous call of a miss."""

NOT_KNOWN = "unknown"


class SessionMissFacts(Struct, frozen=True, kw_only=True):
    """A call of a session that read clearly less from the prompt cache than it could have."""

    call: Annotated[Count, about("Call number, from 1.")]
    time: Annotated[str, about("Start of its response, ISO 8601 in UTC; empty if unknown.")]
    model: Annotated[str, about("As recorded; empty if unknown.")]
    cause: Annotated[str, about("Cause, as in the session's own report.")]
    expected: Annotated[bool, about("True if the cache had to be written: not counted as a cache miss.")]
    shown_by: Annotated[str, about("Evidence for the cause in one line.")]
    gap_seconds: Annotated[float | None, about("Seconds since the previous call; null if a time is missing.")]
    tokens: Annotated[
        int, figure("tokens rewritten", Unit.TOKENS, "Tokens it could have read from the cache but did not.")
    ]
    usd: Annotated[float | None, figure("cost of rewrites", Unit.DOLLARS, "Dollars of these tokens.")]
    extra_usd: Annotated[float | None, EXTRA_COST]
    known: Known


class FolderMissesFacts(Struct, frozen=True, kw_only=True):
    """Cache misses of all sessions. A call that appears in several sessions is counted once."""

    calls: Annotated[
        Count, figure("cache misses", Unit.CALLS, "Calls that read clearly less from the cache than they could have.")
    ]
    tokens: Annotated[int, figure("tokens rewritten", Unit.TOKENS, "Tokens these calls did not read.")]
    usd: Annotated[float | None, figure("cost of rewrites", Unit.DOLLARS, "Dollars of these tokens.")]
    extra_usd: Annotated[float | None, EXTRA_COST]
    share: Annotated[float | None, figure("of the bill", Unit.SHARE, "`extra_usd` as a share of all sessions' cost.")]
    causes: Annotated[list[CauseTotal], about("Causes, costliest first, expected ones last.")]
    models: Annotated[list[MissGroupFacts], about("By the model of the call, costliest first.")]
    hours: Annotated[list[MissGroupFacts], about("By the hour of the day in UTC, from `00`.")]
    gaps: Annotated[list[MissGroupFacts], about("By the time since the previous call, shortest first.")]
    dearest: Annotated[list[DearMissFacts], about("The costliest misses.")]
    lifetimes: Annotated[
        list[FolderLifetimeFacts], about("Projection of all sessions that used one cache lifetime with the other one.")
    ]
    known: Known


class MissGroupFacts(Struct, frozen=True, kw_only=True):
    """Cache misses with a common property."""

    name: Annotated[str, about("Common property of the misses.")]
    calls: Annotated[Count, figure("cache misses", Unit.CALLS, "Number of misses.", short="misses")]
    tokens: Annotated[int, figure("tokens rewritten", Unit.TOKENS, "Tokens these calls did not read.")]
    usd: Annotated[float | None, figure("cost of rewrites", Unit.DOLLARS, "Dollars of these tokens.")]
    extra_usd: Annotated[float | None, EXTRA_COST]
    known: Known


class DearMissFacts(Struct, frozen=True, kw_only=True):
    """Location of an expensive miss."""

    session: Annotated[Count, about("Index into `sessions`.")]
    miss: Annotated[Count, about("Index into that session's `misses`.")]


class FolderLifetimeFacts(Struct, frozen=True, kw_only=True):
    """Projection: all sessions that mostly used one cache lifetime, with everything cached for the other."""

    seconds: Annotated[int, about("Cache lifetime of everything in seconds: 300 or 3600.")]
    sessions: Annotated[Count, figure("sessions", Unit.COUNT, "Number of sessions.")]
    helped: Annotated[Count, figure("sessions it helps", Unit.COUNT, "Sessions that would cost less.")]
    saved_usd: Annotated[
        float | None, figure("saved", Unit.DOLLARS, "Total dollars saved; negative if it costs more.", saves=True)
    ]
    write_usd: Annotated[float | None, WRITES_COST_MORE]
    misses: Annotated[int, FEWER_MISSES]
    miss_usd: Annotated[float | None, MISSES_COST_LESS]
    known: Known


def session_misses(baseline: Replay, counted: Collection[int]) -> tuple[list[SessionMissFacts], LifetimeChange | None]:
    """Return a session's misses and the effect of the other lifetime, for the calls that are counted for it.

    Causes are determined in the whole session: a call after a copied conversation is not a first request.

    Args:
        baseline: The whole session with nothing cut.
        counted: The responses of the counted calls, as message indices.
    """
    found, calls = cache_misses(baseline), baseline.history.session.calls
    counts = np.array([call.response in counted for call in calls], dtype=np.bool_)
    change = lifetime_change(found, counts)
    known = baseline.figures.cache_read_tokens.known
    whole = (miss_facts(miss, baseline.history, known) for miss in found.all if counts[miss.call])
    misses = [
        SessionMissFacts(
            call=miss.call,
            time=miss.time,
            model=miss.model,
            cause=miss.cause,
            expected=miss.expected,
            shown_by=miss.evidence.text,
            gap_seconds=miss.evidence.gap_seconds,
            tokens=miss.tokens or 0,
            usd=miss.usd,
            extra_usd=miss.extra_usd,
            known={name: how for name, how in miss.known.items() if name in ("tokens", "usd", "extra_usd")},
        )
        for miss in whole
    ]
    return misses, None if change is None else rounded_result(change)


def folder_misses(
    misses: Sequence[Sequence[SessionMissFacts]], lifetimes: Iterable[LifetimeChange | None], cost_usd: float | None
) -> FolderMissesFacts:
    """Compute the totals of the misses of sessions; `cost_usd` is the cost of all sessions."""
    every = [miss for mine in misses for miss in mine]
    found = [miss for miss in every if not miss.expected]
    calls, tokens, usd, extra, known = _sums(found)
    share = extra / cost_usd if extra is not None and cost_usd else None
    places = [(at, place) for at, mine in enumerate(misses) for place, miss in enumerate(mine) if not miss.expected]
    places.sort(key=lambda where: _dearest_first(misses[where[0]][where[1]]))
    return FolderMissesFacts(
        calls=calls,
        tokens=tokens,
        usd=usd,
        extra_usd=extra,
        share=rounded(share, SHARE_DIGITS),
        causes=_causes(every),
        models=sorted(_groups(found, lambda miss: miss.model or NOT_KNOWN), key=lambda row: -(row.extra_usd or 0.0)),
        hours=sorted(_groups(found, lambda miss: miss.time[11:13] or NOT_KNOWN), key=lambda row: row.name),
        gaps=sorted(_groups(found, _gap), key=lambda row: (*GAPS, NOT_KNOWN).index(row.name)),
        dearest=[DearMissFacts(session=at, miss=place) for at, place in places[:MOST_DEAREST]],
        lifetimes=_lifetimes([each for each in lifetimes if each is not None]),
        known={**known, **({"share": known["extra_usd"]} if share is not None else {})},
    )


def _dearest_first(miss: SessionMissFacts) -> tuple[float, int]:
    return (-(miss.extra_usd or 0.0), -miss.tokens)


def _gap(miss: SessionMissFacts) -> str:
    if miss.gap_seconds is None:
        return NOT_KNOWN
    return GAPS[(miss.gap_seconds > FIVE_MINUTES) + (miss.gap_seconds > HOUR)]


def _causes(every: Sequence[SessionMissFacts]) -> list[CauseTotal]:
    rows = []
    for cause in MissCause:
        calls, tokens, usd, extra, known = _sums([miss for miss in every if miss.cause == cause.value])
        if calls:
            rows.append(
                CauseTotal(
                    cause=cause.value,
                    label=cause.label,
                    short=cause.short,
                    expected=cause.is_expected,
                    prevention=cause.prevention,
                    calls=calls,
                    tokens=tokens,
                    usd=usd,
                    extra_usd=extra,
                    known=known,
                )
            )
    return sorted(rows, key=lambda row: (row.expected, -(row.extra_usd or 0.0), -(row.tokens or 0)))


def _groups(found: Sequence[SessionMissFacts], name_of: Callable[[SessionMissFacts], str]) -> list[MissGroupFacts]:
    groups: dict[str, list[SessionMissFacts]] = {}
    for miss in found:
        groups.setdefault(name_of(miss), []).append(miss)
    rows = []
    for name, mine in groups.items():
        calls, tokens, usd, extra, known = _sums(mine)
        rows.append(MissGroupFacts(name=name, calls=calls, tokens=tokens, usd=usd, extra_usd=extra, known=known))
    return rows


def _sums(
    misses: Sequence[SessionMissFacts],
) -> tuple[int, int, float | None, float | None, dict[str, How]]:
    """Sum calls, tokens, dollars and extra dollars of those with a price; return their certainty too."""
    usd = _dollars(miss.usd for miss in misses)
    extra = _dollars(miss.extra_usd for miss in misses)
    values = {"tokens": len(misses), "usd": usd, "extra_usd": extra}
    known: dict[str, How] = {}
    for name, value in values.items():
        hows = [HowKnown(miss.known[name]) for miss in misses if name in miss.known]
        if value is not None:
            known[name] = lowest_confidence(HowKnown.EXACT, *hows).value
    return len(misses), sum(miss.tokens for miss in misses), usd, extra, {"calls": known["tokens"], **known}


def _dollars(values: Iterable[float | None]) -> float | None:
    found = list(values)
    priced = [value for value in found if value is not None]
    return round(sum(priced), DOLLAR_DIGITS) if priced or not found else None


def _lifetimes(found: Sequence[LifetimeChange]) -> list[FolderLifetimeFacts]:
    rows = []
    for seconds in sorted({each.seconds for each in found}):
        mine = [each for each in found if each.seconds == seconds]
        values = {
            name: _dollars(getattr(each, name) for each in mine) for name in ("saved_usd", "write_usd", "miss_usd")
        }
        rows.append(
            FolderLifetimeFacts(
                seconds=seconds,
                sessions=len(mine),
                helped=sum((each.saved_usd or 0.0) > 0 for each in mine),
                misses=sum(each.misses or 0 for each in mine),
                **values,
                known={
                    "misses": HowKnown.PROJECTED.value,
                    "helped": HowKnown.PROJECTED.value,
                    **{name: HowKnown.PROJECTED.value for name, value in values.items() if value is not None},
                },
            )
        )
    return rows


_COUNTED = ("calls", "results", "exact_text", "fault", "anchor", "citation", "repeats_anyway")


class FolderReport(Struct, frozen=True, kw_only=True):
    """Cost of many sessions, and of the same sessions under each plan."""

    schema: Annotated[Literal[3], about("Version of this contract.")]
    inspector: Annotated[str, about("Version of the program that wrote it.")]
    path: Annotated[str, about("The folder, with the home folder as `~`.")]
    baseline: Annotated[FigureSet, about("Sums over all sessions with an empty plan.")]
    plans: Annotated[list[FolderPlan], about("Plans in the given order.")]
    sessions: Annotated[list[SessionRow], about("By path.")]
    cache_misses: Annotated[FolderMissesFacts, about("Cache misses of all sessions with causes.")]
    compactions: Annotated[
        FolderCompactionsFacts | None, about("Calls after recorded compactions; null if there are none.")
    ]
    unread: Annotated[list[UnreadSession], about("Unreadable files, by path; not part of any figure.")]
    warnings: Annotated[list[str], about("Caveats on the figures, one sentence each.")]
    subagents: Annotated[Count, about("Sessions that other sessions started; their calls are part of the sums.")] = 0
    belief: Annotated[str, about("Uncertainty of savings, in a sentence.")] = REPLAY_CAVEAT
    beside: Annotated[
        list[SideSpending],
        about("Requests outside the conversations of all sessions, by purpose: not included in any figure above."),
    ] = []


class FolderPlan(Struct, frozen=True, kw_only=True):
    """All sessions under one plan."""

    name: Annotated[str, about("Name of the plan, or its strategies as given.")]
    figures: Annotated[FigureSet, about("Sums over all sessions; the largest prompt of any session.")]
    saved: Annotated[Saving, about("Sums over all sessions. Negative if the plan costs more.")]
    helped: Annotated[Count, figure("sessions it helps", Unit.COUNT, "Sessions on which the plan saves.")]
    unchanged: Annotated[
        Count, figure("sessions without a difference", Unit.COUNT, "Sessions on which the plan makes no difference.")
    ]
    worse: Annotated[Count, figure("sessions that cost more", Unit.COUNT, "Sessions that cost more with the plan.")]
    needed_later: Annotated[
        NeededLater | None,
        about("Sums over all sessions; dollars only of sessions with a price. Null if not determined."),
    ]
    percent: Annotated[Distribution | None, about("Null if no session has a figure.")]
    order: Annotated[list[int], about("Indices of sessions, largest saving first.")]
    uncertainty: Annotated[
        UncertainSaving | None, about("Saving if the model answers differently; null unless requested.")
    ] = None


class Distribution(Struct, frozen=True, kw_only=True):
    """Distribution of the sessions' savings, in percent of each session's cost (of its prompts without a price)."""

    least: Annotated[float, figure("least", Unit.PERCENT, "", saves=True)]
    quarter: Annotated[
        float, figure("first quartile", Unit.PERCENT, "A quarter of the sessions save less.", saves=True)
    ]
    middle: Annotated[float, figure("median", Unit.PERCENT, "Half of the sessions save less.", saves=True)]
    three_quarters: Annotated[
        float, figure("third quartile", Unit.PERCENT, "A quarter of the sessions save more.", saves=True)
    ]
    most: Annotated[float, figure("most", Unit.PERCENT, "", saves=True)]


class SessionRow(Struct, frozen=True, kw_only=True):
    """One session."""

    path: Annotated[str, about("File of the session, with the home folder as `~`.")]
    format: Annotated[str, about("Detected format.")]
    id: Annotated[str, about("Session id.")]
    model: Annotated[str | None, about("Model of the conversation, from its last calls; null if no call names one.")]
    messages: Annotated[Count, about("Entries of the conversation.")]
    calls: Annotated[Count, about("Requests to a model.")]
    recorded: Annotated[FigureSet | None, about("Figures reported by the provider; null if the file has no usage.")]
    baseline: Annotated[FigureSet, about("The session replayed with an empty plan.")]
    plans: Annotated[list[SessionUnderPlan], about("Plans in the given order.")]
    misses: Annotated[list[SessionMissFacts], about("All calls with a cache miss, including expected ones.")]
    lifetime: Annotated[
        LifetimeChange | None, about("Projection with the cache's other lifetime; null if there is no choice.")
    ]
    compactions: Annotated[
        list[CompactionAftermath], about("Calls after the compactions that are counted for this session.")
    ]
    beside: Annotated[list[SideSpending], about("Requests outside the conversation, not included in any figure.")] = []
    parent: Annotated[
        str | None, about("Id of the session that started it; null for a session started by the user.")
    ] = None


class SessionUnderPlan(Struct, frozen=True, kw_only=True):
    """One session under one plan."""

    figures: FigureSet
    saved: Saving
    edits: Annotated[Count | None, about("Changes of a block's rendition, over all calls.")]
    hazards: Annotated[Count, about("Number of possible problems; the report on the session lists them.")]
    needed_later: NeededLater | None


class UnreadSession(Struct, frozen=True, kw_only=True):
    """A file that could not be read."""

    path: Annotated[str, about("The file, with the home folder as `~`.")]
    problem: Annotated[str, about("Reason, in one line.")]


def session_row(baseline: Replay, plans: Iterable[Plan], whole: Replay) -> SessionRow:
    """Build a session's row from its counted calls with nothing cut, and from all (`whole`)."""
    inputs, session = baseline.inputs, baseline.history.session
    counted = {call.response for call in session.calls}
    misses, lifetime = session_misses(whole, counted)
    recorded, parent = recorded_figures(inputs), parent_of(session)
    planned = [replay(inputs, plan) for plan in plans]
    uses = find_reuse(inputs.history) if planned else None
    facts = [plan_facts(each, baseline, uses, ReportOptions(details=False)) for each in planned]
    return SessionRow(
        path=shown_path(session.path),
        format=session.format,
        id=shown_name(session.identifier),
        model=session.main_model or None,
        messages=len(session.messages),
        calls=len(session.calls),
        recorded=None if recorded is None else figure_set(recorded),
        baseline=figure_set(baseline.figures),
        plans=[
            SessionUnderPlan(
                figures=plan.figures,
                saved=plan.saved,
                edits=plan.edits,
                hazards=sum((plan.hazards or {}).values()),
                needed_later=plan.needed_later,
            )
            for plan in facts
        ],
        misses=misses,
        lifetime=lifetime,
        compactions=session_aftermaths(whole, counted),
        beside=[shown_spending(each) for each in side_spending(session, inputs.pricing)],
        parent=None if parent is None else shown_name(parent.identifier),
    )


def folder_report(
    path: str,
    names: Sequence[str],
    rows: Sequence[SessionRow],
    unread: Sequence[UnreadSession],
    notes: Sequence[str] = (),
    *,
    model_uncertainty: bool = False,
) -> FolderReport:
    """Compute the totals of sessions with as many plans each; `notes` are sentences."""
    rows = sorted(rows, key=lambda row: row.path)
    baseline = summed([row.baseline for row in rows])
    report = FolderReport(
        schema=3,
        inspector=inspector.__version__,
        path=path,
        baseline=baseline,
        plans=[
            _folder_plan(name, index, rows, baseline, model_uncertainty=model_uncertainty)
            for index, name in enumerate(names)
        ],
        sessions=rows,
        cache_misses=folder_misses([row.misses for row in rows], [row.lifetime for row in rows], baseline.cost_usd),
        compactions=folder_compactions(row.compactions for row in rows),
        unread=sorted(unread, key=lambda each: each.path),
        subagents=sum(row.parent is not None for row in rows),
        warnings=[*notes, *_warnings(rows, unread)],
        beside=_side_requests(rows),
    )
    return without_secrets(report)


def _side_requests(rows: Sequence[SessionRow]) -> list[SideSpending]:
    """Sum the requests outside the conversations by purpose."""
    every = [each for row in rows for each in row.beside]
    found = []
    for purpose in dict.fromkeys(each.purpose for each in every):
        mine = [each for each in every if each.purpose == purpose]
        costs = [each.cost_usd for each in mine if each.cost_usd is not None]
        found.append(
            SideSpending(
                purpose=purpose,
                calls=sum(each.calls for each in mine),
                prompt_tokens=sum(each.prompt_tokens for each in mine),
                cache_read_tokens=sum(each.cache_read_tokens for each in mine),
                output_tokens=sum(each.output_tokens for each in mine),
                cost_usd=round(sum(costs), DOLLAR_DIGITS) if len(costs) == len(mine) else None,
            )
        )
    return found


def _folder_plan(
    name: str, index: int, rows: Sequence[SessionRow], baseline: FigureSet, *, model_uncertainty: bool
) -> FolderPlan:
    under = [row.plans[index] for row in rows]
    figures = summed([each.figures for each in under])
    percents = [each.saved.percent or 0.0 for each in under]
    found = [each.saved.percent for each in under if each.saved.percent is not None]
    saved = _folder_saving(baseline, figures, [each.saved for each in under])
    return FolderPlan(
        name=name,
        figures=figures,
        saved=saved,
        helped=sum(percent > 0 for percent in percents),
        unchanged=sum(percent == 0 for percent in percents),
        worse=sum(percent < 0 for percent in percents),
        needed_later=_needed_later(under, saved),
        percent=_distribution(found) if found else None,
        order=sorted(range(len(rows)), key=lambda at: (*_least_first(under[at].saved), rows[at].path)),
        uncertainty=uncertain_saving(saved.usd, figures.cost_usd) if model_uncertainty else None,
    )


def _needed_later(under: Sequence[SessionUnderPlan], saved: Saving) -> NeededLater | None:
    """Sum a plan's needs and expected re-fetches over sessions, and both ends of their intervals."""
    found = [each.needed_later for each in under if each.needed_later is not None]
    if not found:
        return None
    priced = [each for each in found if each.recoveries_usd is not None]
    cost = sum(each.recoveries_usd or 0.0 for each in priced) if priced else None
    count = sum(each.refetches or 0.0 for each in priced)
    each_usd = cost / count if cost is not None and count else None
    ends = [_costs_of_ends(each) for each in under]
    least, most = (
        None if cost is None or saved.usd is None else round(saved.usd - sum(end), DOLLAR_DIGITS)
        for end in zip(*ends, strict=True)
    )
    reasons = [each.evidence_reason for each in found if each.evidence_reason]
    beyond = f"in {len(reasons)} of {IN_TEXT.plural(len(found), 'session')}: {reasons[0]}" if reasons else ""
    facts = NeededLater(
        **{name: sum(getattr(each, name) for each in found) for name in _COUNTED},
        recoveries_usd=None if cost is None else round(cost, DOLLAR_DIGITS),
        cost_each_usd=None if each_usd is None else round(each_usd, DOLLAR_DIGITS),
        saved_at_least_usd=least,
        saved_at_most_usd=most,
        break_even_recoveries=recoveries_to_break_even(saved.usd, each_usd),
        refetches=_sum_of_known([each.refetches for each in found]),
        refetches_low=_sum_of_known([each.refetches_low for each in found]),
        refetches_high=_sum_of_known([each.refetches_high for each in found]),
        evidence="beyond" if beyond else "tried",
        evidence_reason=beyond,
        known={},
    )
    parts = (name for name in quantities(NeededLater) if getattr(facts, name) is not None)
    return replace(facts, known=dict.fromkeys(parts, HowKnown.ESTIMATED.value))


def _costs_of_ends(plan: SessionUnderPlan) -> tuple[float, float]:
    """Return the dollars of a session's expected re-fetches at the upper and the lower end; 0.0 without a price."""
    found, saved = plan.needed_later, plan.saved.usd
    if found is None or saved is None or found.saved_at_least_usd is None or found.saved_at_most_usd is None:
        return 0.0, 0.0
    return saved - found.saved_at_least_usd, saved - found.saved_at_most_usd


def _sum_of_known(values: Sequence[float | None]) -> float | None:
    known = [each for each in values if each is not None]
    return round(sum(known), 1) if known else None


def _least_first(saved: Saving) -> tuple[float, int]:
    """Return negative dollars and tokens, a sort key that puts the largest saving first."""
    return (-(saved.usd or 0.0), -(saved.tokens or 0))


def _distribution(percents: Sequence[float]) -> Distribution:
    least, quarter, middle, three_quarters, most = (
        round(float(value), PERCENT_DIGITS) for value in np.percentile(np.array(percents), (0, 25, 50, 75, 100))
    )
    return Distribution(least=least, quarter=quarter, middle=middle, three_quarters=three_quarters, most=most)


def summed(sets: Sequence[FigureSet]) -> FigureSet:
    """Sum the totals of many sessions, each with the weakest certainty of its parts."""
    values: dict[str, Any] = {}
    known: dict[str, How] = {}
    for name, entry in quantities(FigureSet).items():
        found = [(value, each.known.get(name)) for each in sets if (value := getattr(each, name)) is not None]
        values[name] = entry.rounded(entry.combined(value for value, _ in found)) if found else None
        hows = [HowKnown(how) for _, how in found if how]
        if hows:
            known[name] = lowest_confidence(*hows).value
    least = {name for each in sets for name in each.at_least}
    return FigureSet(**values, known=known, at_least=[name for name in values if name in least])


def _folder_saving(baseline: FigureSet, planned: FigureSet, each: Sequence[Saving]) -> Saving:
    tokens = sum(saved.tokens or 0 for saved in each)
    dollars = [saved.usd for saved in each if saved.usd is not None]
    usd = round(sum(dollars), DOLLAR_DIGITS) if dollars else None
    part, whole = (tokens, baseline.prompt_tokens) if usd is None else (usd, baseline.cost_usd)
    percent = round(100 * part / whole, PERCENT_DIGITS) if whole else None
    how = {"tokens": planned.known.get("prompt_tokens"), "usd": _weakest_saving(each)}
    how["percent"] = how["tokens"] if usd is None else how["usd"]
    values = {"tokens": tokens, "usd": usd, "percent": percent}
    return Saving(
        tokens=tokens,
        usd=usd,
        percent=percent,
        percent_of="prompt_tokens" if usd is None else "cost_usd",
        known={name: known for name, known in how.items() if known is not None and values[name] is not None},
    )


def _weakest_saving(each: Sequence[Saving]) -> How | None:
    known = [HowKnown(saved.known["usd"]) for saved in each if "usd" in saved.known]
    return lowest_confidence(*known).value if known else None


def _warnings(rows: Sequence[SessionRow], unread: Sequence[UnreadSession]) -> list[str]:
    unpriced = sum(row.baseline.cost_usd is None for row in rows)
    silent = sum(row.recorded is None and row.calls > 0 for row in rows)
    empty = sum(not row.calls for row in rows)
    parts = (
        (len(unread), "could not be read, not included in any figure"),
        (unpriced, "without a price: included in tokens, but not in dollars"),
        (silent, "without reported usage: prompts are local estimates, and the prompt cache is simulated"),
        (empty, "without a call to a model"),
    )
    return [f"{IN_TEXT.plural(count, 'session')} {what}" for count, what in parts if count]
