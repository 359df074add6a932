"""Totals over all compactions of a session: tokens removed and dollars paid."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from inspector.replay.analysis.cache_misses import cache_misses, total_of
from inspector.replay.analysis.compaction_effect import CompactionEffect, calls_around, sizes_of
from inspector.replay.analysis.side_requests import side_spending
from inspector.replay.cache.miss_causes import MissCause
from inspector.replay.figure import Figure, HowKnown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from inspector.replay.analysis.cache_misses import CacheMisses, CauseTotal
    from inspector.replay.engine.replay import Replay
    from inspector.strategies.history.history import History

_SUMMARIZING: Final = frozenset({"compaction", "condenser"})
"""Recorded purposes of side requests that write a compaction's summary."""


class CompactionTotals(NamedTuple):
    """All full compactions of a session.

    Attributes:
        compactions: Number of recorded compactions.
        measured: Number of these with a call before and after, so that the removed tokens are known.
        removed: Tokens these removed from the prompt, on the provider's scale.
        rewritten: Cache misses after compactions.
        reads_known: Confidence of the cache reads.
        summaries: Number of side requests that wrote summaries.
        summaries_usd: Dollars of these; None without a price, or if none are recorded.
    """

    compactions: int
    measured: int
    removed: Figure
    rewritten: CauseTotal
    reads_known: HowKnown
    summaries: int
    summaries_usd: Figure


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
    return CompactionTotals(
        count,
        len(effects),
        Figure(removed if effects else None, baseline.inputs.scale.known),
        total_of(MissCause.COMPACTION, (miss for miss in found.all if miss.cause is MissCause.COMPACTION)),
        baseline.figures.cache_read_tokens.known,
        sum(each.calls for each in others),
        Figure(None if not costs or None in costs else sum(filter(None, costs)), HowKnown.EXACT),
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
