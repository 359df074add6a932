"""Sentences on the prompt cache, shared by all report formats.

The sentences contain names from the session; callers must sanitize them before display.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from inspector.replay.analysis.alternatives import SETTING
from inspector.replay.analysis.cache_misses import duration
from inspector.replay.cache.miss_causes import MissCause
from inspector.replay.quantity import quantity
from inspector.report.as_model import beyond_window_words
from inspector.report.cache_document import CacheMissesFacts, MissCauseFacts
from inspector.report.numbers import IN_TEXT

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from inspector.replay.analysis.alternatives import LifetimeChange, ModelSwitch
    from inspector.replay.quantity import How
    from inspector.report.cache_document import CacheMissFacts, NextCallCostFacts
    from inspector.report.document import Report, SessionFacts
    from inspector.report.folder import FolderLifetimeFacts

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
    """Format start, end and length of a session; empty if no call has a time.

    Example: `2026-07-23 19:32 to 22:07 UTC (2 h 35 min)`.
    """
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


def next_call_text(found: NextCallCostFacts) -> str:
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
"""Table columns of a cause: figures of `MissCauseFacts`."""


def cause_name(row: MissCauseFacts) -> str:
    """Return a cause's name in tables, with `(expected)` for an unavoidable one."""
    return f"{row.short} (expected)" if row.expected else row.short
