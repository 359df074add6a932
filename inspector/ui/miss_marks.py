"""Cache misses where there is room for a glyph and a few words: in the chart, in rows, in notices and tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from inspector.replay.cache.miss_causes import MissCause
from inspector.report.numbers import ON_SCREEN

if TYPE_CHECKING:
    from inspector.replay.analysis.cache_misses import CacheMiss, CacheMisses
    from inspector.replay.figure import Figure


class MissMark(NamedTuple):
    """What stands for some causes of cache misses.

    Attributes:
        glyph: One cell.
        label: What these causes have in common, in a few words.
    """

    glyph: str
    label: str


EXPIRED: Final = MissMark("○", "cache expired")
CHANGED: Final = MissMark("≠", "model, prompt or settings")
REWRITTEN: Final = MissMark("×", "rewritten")  # noqa: RUF001  a multiplication sign stands higher than the letter
UNEXPLAINED: Final = MissMark("?", "other cache miss")
COMPACTED: Final = MissMark("▲", "compaction")
EXPECTED: Final = MissMark("·", "expected")
"""Nobody asks why."""

MARKS: Final = (EXPIRED, CHANGED, REWRITTEN, UNEXPLAINED)
"""Those of misses that did not have to be."""

WITH_PLAN: Final = "with the plan"
"""Whose misses are told while a strategy is on: not those that were recorded."""

_OF_CAUSES: Final = {
    MissCause.COMPACTION: COMPACTED,
    MissCause.TTL_EXPIRED_5M: EXPIRED,
    MissCause.TTL_EXPIRED_1H: EXPIRED,
    MissCause.TTL_EXPIRED: EXPIRED,
    MissCause.MODEL_CHANGED: CHANGED,
    MissCause.SYSTEM_PROMPT_CHANGED: CHANGED,
    MissCause.TOOLS_CHANGED: CHANGED,
    MissCause.BETAS_CHANGED: CHANGED,
    MissCause.THINKING_CHANGED: CHANGED,
    MissCause.PLAN_EDIT: REWRITTEN,
    MissCause.MESSAGES_REWRITTEN: REWRITTEN,
    MissCause.REWIND: REWRITTEN,
}


def mark_of(cause: MissCause) -> MissMark:
    """What stands for a cause."""
    return _OF_CAUSES.get(cause, EXPECTED if cause.is_expected else UNEXPLAINED)


def dollars(figure: Figure) -> str:
    """Money with the mark for how it is known; empty without a price."""
    if figure.value is None:
        return ""
    return ON_SCREEN.marked(ON_SCREEN.dollars(figure.value), figure.known.value, is_least=figure.is_least)


def recached(miss: CacheMiss) -> str:
    """How much was not read: `347k tokens re-cached`."""
    return f"{ON_SCREEN.short(miss.tokens)} tokens re-cached"


def costs(miss: CacheMiss) -> str:
    """What it cost beyond reading: `$1.99`; without a price what was not read."""
    return dollars(miss.extra_usd) or recached(miss)


def notes_of(miss: CacheMiss) -> tuple[str, ...]:
    """A miss in a line of a row, the longest first: `○ cache miss: expired (5 min), 347k tokens re-cached, $1.99`."""
    glyph, cost = mark_of(miss.cause).glyph, dollars(miss.extra_usd)
    short = cost or ON_SCREEN.short(miss.tokens)
    whole = ", ".join(filter(None, (f"{glyph} cache miss: {miss.cause.short}", recached(miss), cost)))
    cause = miss.cause.short
    first = cause.partition(" ")[0].removesuffix("'s")
    word = first if len(first) > len("too") else cause
    narrower = (f"{glyph} {each} {short}" for each in (f"miss: {cause}", cause, word))
    return whole, *narrower, f"{glyph} {short}"


def none_missed(found: CacheMisses) -> str:
    """What is said where there is no cache miss."""
    return "no cache misses" if found.has_cache else "this session reports no cache usage"
