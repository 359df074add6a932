"""Describe the evidence for a cache miss in words, for screens and reports."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING

from inspector.replay.cache.miss_causes import MissCause
from inspector.session.billing_terms import BillingTerms
from inspector.session.model import LinkKind

if TYPE_CHECKING:
    from inspector.replay.analysis.cache_misses import CacheMiss
    from inspector.session.model import Session

EXPIRED = (MissCause.TTL_EXPIRED_5M, MissCause.TTL_EXPIRED_1H, MissCause.TTL_EXPIRED)

_NAMED_LIFETIMES = (MissCause.TTL_EXPIRED_5M, MissCause.TTL_EXPIRED_1H)

_NOT_NAMED = {
    "unavailable": "the provider could not determine the cause",
    "previous_message_not_found": "the provider did not find the previous call",
}
"""Descriptions of the API's reasons that name no cause."""


def describe_evidence(miss: CacheMiss, session: Session) -> str:
    """Describe the evidence for the cause without a final period. May contain session text: names.

    Args:
        miss: The miss.
        session: Its session.
    """
    shown = miss.evidence
    # Tokens still read come first: they differ between calls, and stay visible in narrow columns.
    parts = [f"{miss.read:,} tokens still read"] if miss.cause in _UNSEEN and miss.read else []
    parts.append(_by_cause(miss) or _by_setting(miss, session))
    if shown.previous >= 0 and shown.gap_seconds is not None and miss.cause in (*EXPIRED, *_UNSEEN):
        # The name of the cause already contains the lifetime if it is five minutes or an hour.
        is_named = miss.cause in _NAMED_LIFETIMES or not shown.lifetime
        kept = "" if is_named else f", cache lifetime {duration(shown.lifetime)}"
        parts.append(f"{duration(shown.gap_seconds)} after call {shown.previous + 1}{kept}")
    if miss.cause in _DEPARTURES and max(shown.blocks) >= 0:
        before, now = shown.blocks
        parts.append(f"from message {bisect_right(session.first_blocks, before if before >= 0 else now)} on")
    if miss.cause is MissCause.RESUMED and any(link.kind is LinkKind.CONTINUED for link in session.links):
        parts.append("continues another session")
    parts.append(provider_reason(miss))
    return "; ".join(part for part in parts if part)


def provider_reason(miss: CacheMiss) -> str:
    """Describe the provider's report on a miss; empty if there is none. May contain session text."""
    if miss.reported is None:
        return ""
    missed = "" if miss.reported.tokens is None else f", {miss.reported.tokens:,} tokens missed"
    return _NOT_NAMED.get(miss.reported.reason, f"the provider reports {miss.reported.reason}{missed}")


_DEPARTURES = (
    MissCause.REWIND,
    MissCause.MESSAGES_REWRITTEN,
    MissCause.SYSTEM_PROMPT_CHANGED,
    MissCause.TOOLS_CHANGED,
)
"""Causes for which the point of departure is informative."""

_UNSEEN = (MissCause.UNKNOWN, MissCause.LIKELY_SERVER_SIDE, MissCause.RESUMED, MissCause.LOOK_BACK)
"""Causes for which the time since the previous call is informative."""


def _by_cause(miss: CacheMiss) -> str:
    shown = miss.evidence
    before, now = shown.models
    if miss.cause is MissCause.MODEL_CHANGED:
        return f"{before or 'unknown'} before, {now or 'unknown'} now"
    if miss.cause in (MissCause.PLAN_EDIT, MissCause.CLEARING) and shown.rule:
        return shown.rule
    if miss.cause is MissCause.UNKNOWN:
        return "same model, within the cache lifetime, no recorded change"
    if miss.cause is MissCause.LIKELY_SERVER_SIDE:
        in_time = ", not expired" if shown.lifetime else ""
        return f"same model, same prefix{in_time}: a hit is not guaranteed"
    return ""


def _by_setting(miss: CacheMiss, session: Session) -> str:
    """Describe the changed request setting, before and after."""
    if miss.evidence.previous < 0:
        return ""
    before, now = session.calls[miss.evidence.previous], session.calls[miss.call]
    if miss.cause is MissCause.THINKING_CHANGED:
        return f"{before.thinking or 'unknown'} before, {now.thinking or 'unknown'} now"
    if miss.cause is MissCause.SERVICE_TIER_CHANGED:
        labels = [BillingTerms.of_code(each.terms).label or "standard" for each in (before, now)]
        return f"{labels[0]} before, {labels[1]} now"
    if miss.cause is MissCause.BETAS_CHANGED:
        old, new = ({beta for beta in (each.betas or "").split(",") if beta} for each in (before, now))
        changes = (("added", new - old), ("removed", old - new))
        return "; ".join(f"{', '.join(sorted(betas))} {word}" for word, betas in changes if betas)
    return ""


def duration(seconds: float) -> str:
    """Format a time between two calls: `27 s`, `13 min 10 s`, `2 h 12 min`."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        minutes, rest = divmod(whole, 60)
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    hours, minutes = divmod(round(whole / 60), 60)
    return f"{hours} h {minutes} min" if minutes else f"{hours} h"
