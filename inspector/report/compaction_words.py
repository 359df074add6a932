"""Summary of all compactions of a session, in words shared by reports and the screen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from inspector.replay.analysis.compactions import CompactionTotals
from inspector.replay.figure import HowKnown
from inspector.replay.quantity import quantity

if TYPE_CHECKING:
    from inspector.report.numbers import NumberFormat


def compactions_words(found: CompactionTotals, numbers: NumberFormat) -> str:
    """Return one sentence without its period; unknown figures are left out."""
    parts = []
    if found.removed_tokens is not None:
        how = found.known["removed_tokens"]
        fitted = " (calibrated)" if how == HowKnown.CALIBRATED.value else ""
        removed = numbers.qualified(numbers.whole(found.removed_tokens), how)
        parts.append(f"{_which(found, numbers)} removed {removed} tokens{fitted}")
    if found.misses:
        tokens, usd = (quantity(CompactionTotals, name).label for name in ("recached_tokens", "recached_usd"))
        cost = "" if found.recached_usd is None else f", {usd} {_dollars(found, 'recached_usd', numbers)}"
        after = "it" if found.compactions == 1 else "them"
        parts.append(f"cache misses after {after}: {numbers.whole(found.recached_tokens)} {tokens}{cost}")
    if found.summaries_usd is not None:
        requests = numbers.plural(found.summaries, "request")
        parts.append(f"{requests} for summaries cost {_dollars(found, 'summaries_usd', numbers)}")
    return "; ".join(parts)


def compactions_in_short(found: CompactionTotals, numbers: NumberFormat) -> tuple[str, ...]:
    """Return short phrases, most important first: `all 6 removed 620k tokens`."""
    which = "removed" if found.compactions == 1 else f"all {numbers.whole(found.compactions)} removed"
    if found.measured < found.compactions:
        which = f"{numbers.whole(found.measured)} of {numbers.whole(found.compactions)} removed"
    phrases = []
    if found.removed_tokens is not None:
        removed = numbers.qualified(numbers.short(found.removed_tokens), found.known["removed_tokens"])
        phrases.append(f"{which} {removed} tokens")
    if found.misses and found.recached_usd is not None:
        phrases.append(f"cache rewrites {_dollars(found, 'recached_usd', numbers)}")
    if found.summaries_usd is not None:
        phrases.append(f"summaries {_dollars(found, 'summaries_usd', numbers)}")
    return tuple(phrases)


def _which(found: CompactionTotals, numbers: NumberFormat) -> str:
    """Count the compactions, and those with a measured removal: they need calls on both sides."""
    if found.measured < found.compactions:
        return f"{numbers.whole(found.measured)} of {numbers.plural(found.compactions, 'compaction')}"
    return "the only compaction" if found.compactions == 1 else f"all {numbers.plural(found.compactions, 'compaction')}"


def _dollars(found: CompactionTotals, name: str, numbers: NumberFormat) -> str:
    return numbers.qualified(numbers.dollars(getattr(found, name)), found.known[name])
