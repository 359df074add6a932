"""Totals over all compactions of a session: tokens removed and dollars paid."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final

from inspector.replay.analysis.cache_misses import cache_misses, total_of
from inspector.replay.analysis.compaction_effect import CompactionEffect, calls_around, sizes_of
from inspector.replay.analysis.side_requests import side_spending
from inspector.replay.cache.miss_causes import MissCause
from inspector.replay.figure import Figure, HowKnown
from inspector.replay.quantity import Count, Known, Result, Unit, about, figure

if TYPE_CHECKING:
    from collections.abc import Iterator

    from inspector.replay.analysis.cache_misses import CacheMisses
    from inspector.replay.engine.replay import Replay
    from inspector.strategies.history.history import History

_SUMMARIZING: Final = frozenset({"compaction", "condenser"})
"""Recorded purposes of side requests that write a compaction's summary."""


class CompactionTotals(Result, frozen=True, kw_only=True):
    """Totals of all compactions of a session, except those that cleared only a few results."""

    compactions: Annotated[Count, about("Compactions recorded by the agent.")]
    measured: Annotated[Count, about("Compactions with calls on both sides, for which the removed tokens are known.")]
    removed_tokens: Annotated[
        int | None,
        figure("tokens removed", Unit.TOKENS, "Tokens these compactions removed from the prompt."),
    ]
    misses: Annotated[Count, figure("cache misses", Unit.CALLS, "Calls that missed the cache because of a compaction.")]
    recached_tokens: Annotated[Count, figure("tokens rewritten", Unit.TOKENS, "Tokens these calls did not read.")]
    recached_usd: Annotated[
        float | None, figure("cost of rewrites", Unit.DOLLARS, "Dollars of these tokens; null without a price.")
    ]
    summaries: Annotated[Count, about("Summary requests outside the conversation.")]
    summaries_usd: Annotated[
        float | None,
        figure("cost of summaries", Unit.DOLLARS, "Dollars of these requests; null if the file does not record them."),
    ]
    known: Known


def compaction_totals(baseline: Replay, misses: CacheMisses | None = None) -> CompactionTotals | None:
    """Compute the totals of all compactions; None if the agent recorded none.

    Args:
        baseline: The session replayed with nothing cut.
        misses: Its cache misses, if already computed.
    """
    history = baseline.history
    session = history.session
    count = sum(not each.is_partial for each in session.compactions)
    if not count:
        return None
    effects = [CompactionEffect.between(history, *around) for around in _around_each(history)]
    removed = sum(sizes_of(effect, baseline).removed_total for effect in effects)
    found = cache_misses(baseline) if misses is None else misses
    others = [each for each in side_spending(session, baseline.inputs.pricing) if each.purpose in _SUMMARIZING]
    costs = [each.cost for each in others]
    rewritten = total_of(MissCause.COMPACTION, (miss for miss in found.all if miss.cause is MissCause.COMPACTION))
    known = baseline.figures.cache_read_tokens.known
    return CompactionTotals.of(
        compactions=count,
        measured=len(effects),
        removed_tokens=Figure(removed if effects else None, baseline.inputs.scale.known),
        misses=Figure(rewritten.calls, known),
        recached_tokens=Figure(rewritten.tokens, known),
        recached_usd=rewritten.usd,
        summaries=sum(each.calls for each in others),
        summaries_usd=Figure(None if not costs or None in costs else sum(filter(None, costs)), HowKnown.EXACT),
    )


def _around_each(history: History) -> Iterator[tuple[int, int]]:
    """Yield the calls around each full compaction; several without a call in between count once."""
    seen = set()
    for compaction in history.session.compactions:
        message = compaction.message
        if compaction.is_partial or not 0 <= message < len(history.session.messages):
            continue
        around = calls_around(history, int(history.message_first_block[message]))
        if around is not None and around not in seen:
            seen.add(around)
            yield around
