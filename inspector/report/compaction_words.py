"""What all compactions of a session came to together, in words: a report and the screen say the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

from inspector.replay.figure import HowKnown
from inspector.report.cache_document import MissCauseFacts
from inspector.report.catalogue import quantity

if TYPE_CHECKING:
    from inspector.replay.analysis.compaction_totals import CompactionTotals
    from inspector.replay.figure import Figure
    from inspector.report.numbers import NumberFormat


def compactions_words(found: CompactionTotals, numbers: NumberFormat) -> str:
    """All of it in a sentence, without its full stop; what is not known is left out."""
    parts = []
    if found.removed.value is not None:
        fitted = " (fitted)" if found.removed.known is HowKnown.CALIBRATED else ""
        removed = _marked(numbers.whole(found.removed.value), found.removed, numbers)
        parts.append(f"{_which(found, numbers)} removed {removed} tokens{fitted}")
    again = found.recached
    if again.calls:
        tokens, usd = (quantity(MissCauseFacts, name).label for name in ("tokens", "usd"))
        cost = "" if again.usd.value is None else f", {usd} {_dollars(again.usd, numbers)}"
        after = "it" if found.compactions == 1 else "them"
        parts.append(f"cache misses after {after}: {numbers.whole(again.tokens)} {tokens}{cost}")
    if found.summaries_usd.value is not None:
        requests = numbers.plural(found.summaries, "request")
        parts.append(f"{requests} for summaries cost {_dollars(found.summaries_usd, numbers)}")
    return "; ".join(parts)


def compactions_in_short(found: CompactionTotals, numbers: NumberFormat) -> tuple[str, ...]:
    """The same in phrases for little room, what matters most first: `all 6 removed 620k tokens`."""
    which = "removed" if found.compactions == 1 else f"all {numbers.whole(found.compactions)} removed"
    if found.measured < found.compactions:
        which = f"{numbers.whole(found.measured)} of {numbers.whole(found.compactions)} removed"
    phrases = []
    if found.removed.value is not None:
        phrases.append(f"{which} {_marked(numbers.short(found.removed.value), found.removed, numbers)} tokens")
    if found.recached.calls and found.recached.usd.value is not None:
        phrases.append(f"re-cached for {_dollars(found.recached.usd, numbers)}")
    if found.summaries_usd.value is not None:
        phrases.append(f"summaries {_dollars(found.summaries_usd, numbers)}")
    return tuple(phrases)


def _which(found: CompactionTotals, numbers: NumberFormat) -> str:
    """How many there are, and of how many it is known what they took out: those with calls around them."""
    if found.measured < found.compactions:
        return f"{numbers.whole(found.measured)} of {numbers.plural(found.compactions, 'compaction')}"
    return "the only compaction" if found.compactions == 1 else f"all {numbers.plural(found.compactions, 'compaction')}"


def _dollars(figure: Figure, numbers: NumberFormat) -> str:
    return _marked(numbers.dollars(figure.value), figure, numbers)


def _marked(text: str, figure: Figure, numbers: NumberFormat) -> str:
    return numbers.marked(text, figure.known.value)
