"""Conversion of a replay's cache misses, and their projections, to report types."""

from __future__ import annotations

from typing import TYPE_CHECKING

from inspector.replay.analysis.alternatives import lifetime_change, next_call_cost
from inspector.replay.analysis.cache_misses import describe_evidence, sum_of
from inspector.replay.figure import Figure, HowKnown, lowest_confidence
from inspector.replay.quantity import rounded_result
from inspector.report.build_report import to_report, utc_time
from inspector.report.cache_document import (
    CacheMissesFacts,
    CacheMissFacts,
    HourFacts,
    MissCauseFacts,
    MissEvidenceFacts,
    NextCallCostFacts,
)
from inspector.report.cache_settings import cache_settings
from inspector.report.numbers import rounded

if TYPE_CHECKING:
    from inspector.replay.analysis.alternatives import NextCallCost
    from inspector.replay.analysis.cache_misses import CacheMiss, CacheMisses, CauseTotal
    from inspector.strategies.history.history import History

SECOND_DIGITS = 3


def cache_misses_facts(found: CacheMisses) -> CacheMissesFacts:
    """Convert a session's cache misses, with the projections of another lifetime and the next call."""
    replay, total = found.replay, found.total
    known, cost = replay.figures.cache_read_tokens.known, replay.figures.cost_usd
    extra = total.extra_usd
    share = extra.value / cost.value if extra.value is not None and cost.value else None
    change, following = lifetime_change(found), next_call_cost(replay)

    def counted(count: int) -> Figure:
        return Figure(count, known)

    return to_report(
        CacheMissesFacts,
        total,
        calls=counted(total.calls),
        tokens=counted(total.tokens),
        share=Figure(share, lowest_confidence(extra.known, cost.known)),
        unread_tokens=counted(found.unread_tokens),
        new_tokens=counted(found.new_tokens),
        noise_tokens=counted(found.noise_tokens),
        beyond_tokens=counted(found.beyond_tokens),
        uncompared_tokens=counted(found.uncompared_tokens),
        causes=[_cause_facts(each, known) for each in found.causes],
        misses=[miss_facts(miss, replay.history, known) for miss in found.all],
        lifetime=None if change is None else rounded_result(change),
        next_call=None if following is None else _next_call_facts(following),
        settings=cache_settings(found, change),
    )


def _cause_facts(row: CauseTotal, known: HowKnown) -> MissCauseFacts:
    cause = row.cause
    return to_report(
        MissCauseFacts,
        row,
        cause=cause.value,
        label=cause.label,
        short=cause.short,
        expected=cause.is_expected,
        prevention=cause.prevention,
        calls=Figure(row.calls, known),
        tokens=Figure(row.tokens, known),
    )


def miss_facts(miss: CacheMiss, history: History, known: HowKnown) -> CacheMissFacts:
    """Convert one miss.

    Args:
        miss: The miss.
        history: History of its session.
        known: Certainty of the cache reads.
    """
    call, reported = history.session.calls[miss.call], miss.reported
    return to_report(
        CacheMissFacts,
        miss,
        call=miss.call + 1,
        time=utc_time(call.time),
        model=call.model,
        cause=miss.cause.value,
        cause_known=miss.known.value,
        derived=miss.derived.value,
        reported="" if reported is None else reported.reason,
        reported_tokens=None if reported is None else reported.tokens,
        expected=miss.cause.is_expected,
        evidence=_evidence_facts(miss, history),
        prevention=miss.cause.prevention,
        could_read_tokens=Figure(miss.could_read, known),
        read_tokens=Figure(miss.read, known),
        tokens=Figure(miss.tokens, known),
    )


def _evidence_facts(miss: CacheMiss, history: History) -> MissEvidenceFacts:
    shown = miss.evidence
    before, now = (int(history.message[each]) + 1 if each >= 0 else None for each in shown.blocks)
    return MissEvidenceFacts(
        text=describe_evidence(miss, history.session),
        previous_call=shown.previous + 1 if shown.previous >= 0 else None,
        gap_seconds=rounded(shown.gap_seconds, SECOND_DIGITS),
        lifetime_seconds=shown.lifetime,
        previous_model=shown.models[0],
        previous_message=before,
        message=now,
        rule=shown.rule,
    )


def _next_call_facts(following: NextCallCost) -> NextCallCostFacts:
    return to_report(
        NextCallCostFacts,
        following,
        prompt_tokens=Figure(following.prompt_tokens, HowKnown.PROJECTED),
        cached_tokens=Figure(following.cached_tokens, HowKnown.PROJECTED),
        fresh_tokens=Figure(following.fresh_tokens, HowKnown.PROJECTED),
        compacted_tokens=Figure(following.compacted_tokens, HowKnown.PROJECTED),
        compact_pays_after=Figure(following.compact_pays_after, HowKnown.PROJECTED),
        lifetime_seconds=following.lifetime,
        warm_chance=Figure(following.warm_chance, HowKnown.PROJECTED),
        expires=utc_time(following.expires_at),
        idle_at="" if following.idle is None else utc_time(following.idle.at),
        idle_request_usd=None if following.idle is None else following.idle.request_usd,
        idle_next_usd=None if following.idle is None else following.idle.next_usd,
    )


def hour_facts(found: CacheMisses) -> list[HourFacts]:
    """Sum cost and misses per hour, in order; calls without a time come last."""
    replay = found.replay
    known = replay.figures.cost_usd.known
    calls: dict[str, list[int]] = {}
    for call, each in enumerate(replay.history.session.calls):
        time = utc_time(each.time)
        calls.setdefault(f"{time[:13]}:00:00Z" if time else "", []).append(call)
    rows = []
    for hour in sorted(calls, key=lambda hour: (not hour, hour)):
        missed = [miss for miss in map(found.at, calls[hour]) if miss is not None and not miss.cause.is_expected]
        rows.append(
            to_report(
                HourFacts,
                None,
                hour=hour,
                calls=Figure(len(calls[hour]), HowKnown.EXACT),
                usd=Figure.of(float(replay.ledger.cost[calls[hour]].sum()), known),
                misses=Figure(len(missed), replay.figures.cache_read_tokens.known),
                extra_usd=sum_of(miss.extra_usd for miss in missed),
            )
        )
    return rows
