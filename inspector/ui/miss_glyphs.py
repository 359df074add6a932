"""Short forms of cache misses (a glyph and a few words) for the chart, rows, notices and tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from inspector.replay.cache.miss_causes import MissCause
from inspector.report.numbers import ON_SCREEN

if TYPE_CHECKING:
    from inspector.replay.analysis.cache_misses import CacheMiss, CacheMisses
    from inspector.replay.figure import Figure


class MissGlyph(NamedTuple):
    """Glyph and label for a group of cache miss causes.

    Attributes:
        glyph: One cell.
        label: Common description of the causes, in a few words.
    """

    glyph: str
    label: str


EXPIRED: Final = MissGlyph("○", "cache expired")
CHANGED: Final = MissGlyph("≠", "model, prompt or settings")
REWRITTEN: Final = MissGlyph("×", "rewritten")  # noqa: RUF001  a multiplication sign sits higher than the letter
UNEXPLAINED: Final = MissGlyph("?", "other cache miss")
COMPACTED: Final = MissGlyph("▲", "compaction")
EXPECTED: Final = MissGlyph("·", "expected")
"""Misses that need no explanation."""

MARKS: Final = (EXPIRED, CHANGED, REWRITTEN, UNEXPLAINED)
"""Marks of avoidable misses."""

WITH_PLAN: Final = "with the plan"
"""Qualifies misses while a strategy is on, because they are simulated and not recorded."""

_OF_CAUSES: Final = {
    MissCause.COMPACTION: COMPACTED,
    MissCause.TTL_EXPIRED_5M: EXPIRED,
    MissCause.TTL_EXPIRED_1H: EXPIRED,
    MissCause.TTL_EXPIRED: EXPIRED,
    MissCause.MODEL_CHANGED: CHANGED,
    MissCause.SYSTEM_PROMPT_CHANGED: CHANGED,
    MissCause.TOOLS_CHANGED: CHANGED,
    MissCause.BETAS_CHANGED: CHANGED,
    MissCause.OUTPUT_FORMAT_CHANGED: CHANGED,
    MissCause.CACHE_KEY_CHANGED: CHANGED,
    MissCause.SERVICE_TIER_CHANGED: CHANGED,
    MissCause.THINKING_CHANGED: CHANGED,
    MissCause.PLAN_EDIT: REWRITTEN,
    MissCause.MESSAGES_REWRITTEN: REWRITTEN,
    MissCause.REWIND: REWRITTEN,
}


def mark_of(cause: MissCause) -> MissGlyph:
    return _OF_CAUSES.get(cause, EXPECTED if cause.is_expected else UNEXPLAINED)


def dollars(figure: Figure) -> str:
    """Format dollars with their qualifier (`~`, `≥`). Returns an empty string without a price."""
    if figure.value is None:
        return ""
    return ON_SCREEN.qualified(
        ON_SCREEN.dollars(figure.value), figure.known.value, is_lower_bound=figure.is_lower_bound
    )


def rewritten_tokens_text(miss: CacheMiss) -> str:
    """Format the tokens that were not read from the cache."""
    return f"{ON_SCREEN.short(miss.tokens)} tokens rewritten"


def costs(miss: CacheMiss) -> str:
    """Format the extra cost over a cache read (`$1.99`), or the tokens if there is no price."""
    return dollars(miss.extra_usd) or rewritten_tokens_text(miss)


def miss_notes(miss: CacheMiss) -> tuple[str, ...]:
    """Describe a miss for one line of a row, in several lengths, the longest first."""
    glyph, cost = mark_of(miss.cause).glyph, dollars(miss.extra_usd)
    short = cost or ON_SCREEN.short(miss.tokens)
    whole = ", ".join(filter(None, (f"{glyph} cache miss: {miss.cause.short}", rewritten_tokens_text(miss), cost)))
    cause = miss.cause.short
    first = cause.partition(" ")[0].removesuffix("'s")
    word = first if len(first) > len("too") else cause
    narrower = (f"{glyph} {each} {short}" for each in (f"miss: {cause}", cause, word))
    return whole, *narrower, f"{glyph} {short}"


def no_misses_text(found: CacheMisses) -> str:
    """Return the text to show if there are no cache misses."""
    return "no cache misses" if found.has_cache else "no cache usage reported for this session"
