"""Cache misses of a folder's sessions, without those counted for another session, and their totals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import numpy as np
from msgspec import Struct

from inspector.replay.analysis.alternatives import (
    FEWER_MISSES,
    MISSES_COST_LESS,
    WRITES_COST_MORE,
    LifetimeChange,
    lifetime_change,
)
from inspector.replay.analysis.cache_misses import cache_misses
from inspector.replay.cache.miss_causes import MissCause
from inspector.replay.figure import HowKnown, lowest_confidence
from inspector.replay.quantity import (
    DOLLAR_DIGITS,
    SHARE_DIGITS,
    Count,
    How,
    Known,
    Unit,
    about,
    figure,
    rounded_result,
)
from inspector.report.cache_document import MissCauseFacts
from inspector.report.cache_facts import miss_facts
from inspector.report.numbers import rounded

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

    from inspector.replay.engine.replay import Replay

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
    extra_usd: Annotated[
        float | None, figure("extra cost", Unit.DOLLARS, "The part of it above the price of cache reads.")
    ]
    known: Known


class FolderMissesFacts(Struct, frozen=True, kw_only=True):
    """Cache misses of all sessions. A call that appears in several sessions is counted once."""

    calls: Annotated[
        Count, figure("cache misses", Unit.CALLS, "Calls that read clearly less from the cache than they could have.")
    ]
    tokens: Annotated[int, figure("tokens rewritten", Unit.TOKENS, "Tokens these calls did not read.")]
    usd: Annotated[float | None, figure("cost of rewrites", Unit.DOLLARS, "Dollars of these tokens.")]
    extra_usd: Annotated[
        float | None, figure("extra cost", Unit.DOLLARS, "The part of it above the price of cache reads.")
    ]
    share: Annotated[float | None, figure("of the bill", Unit.SHARE, "`extra_usd` as a share of all sessions' cost.")]
    causes: Annotated[list[MissCauseFacts], about("Causes, costliest first, expected ones last.")]
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
    extra_usd: Annotated[
        float | None, figure("extra cost", Unit.DOLLARS, "The part of it above the price of cache reads.")
    ]
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
    """Compute the totals of the misses of sessions.

    Args:
        misses: Misses of every session.
        lifetimes: Effect of the other lifetime on each.
        cost_usd: Cost of all sessions.
    """
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


def _causes(every: Sequence[SessionMissFacts]) -> list[MissCauseFacts]:
    rows = []
    for cause in MissCause:
        calls, tokens, usd, extra, known = _sums([miss for miss in every if miss.cause == cause.value])
        if calls:
            rows.append(
                MissCauseFacts(
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
