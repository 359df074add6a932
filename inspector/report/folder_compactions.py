"""Calls after compactions in a folder's sessions, without those counted for another session."""

from __future__ import annotations

from math import isnan
from statistics import median
from typing import TYPE_CHECKING, Annotated

from msgspec import Struct

from inspector.replay.analysis.compactions import compaction_aftermaths
from inspector.replay.figure import HowKnown, lowest_confidence
from inspector.replay.quantity import DOLLAR_DIGITS, Count, Known, Unit, about, figure

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from inspector.replay.analysis.compactions import CompactionAftermath, WorkStretch
    from inspector.replay.engine.replay import Replay

_UNTIL = "until the next edit or finished step"

Actions = Annotated[float, figure("actions", Unit.FREE, f"Tool calls {_UNTIL}.")]
Tokens = Annotated[float, figure("tokens", Unit.TOKENS, "Tokens of the prompts and responses.")]
Dollars = Annotated[float | None, figure("cost", Unit.DOLLARS, "Dollars of them; null without a price.")]
Rereads = Annotated[
    float, figure("re-reads", Unit.FREE, "Reads of files that had been read or written before, at any time.")
]


class StretchFacts(Struct, frozen=True, kw_only=True):
    """Consecutive calls."""

    actions: Actions
    tokens: Tokens
    usd: Dollars
    rereads: Rereads
    known: Known


class AftermathFacts(Struct, frozen=True, kw_only=True):
    """Calls around one compaction."""

    call: Annotated[Count, about("The first call after it, counted from 1.")]
    calls: Annotated[Count, figure("calls", Unit.CALLS, f"Calls {_UNTIL}, inclusive.")]
    reached: Annotated[
        bool, about("True if an edit or finished step came before the end of the session or the next compaction.")
    ]
    reads: Annotated[Count, figure("reads", Unit.COUNT, "Reads of files in these calls.")]
    after: Annotated[StretchFacts, about("Figures of these calls.")]
    windows: Annotated[Count, figure("windows", Unit.COUNT, "Windows of equal length elsewhere in the session.")]
    elsewhere: Annotated[StretchFacts | None, about("Medians of these windows; null if there are none.")]


class FolderCompactionsFacts(Struct, frozen=True, kw_only=True):
    """Calls around all compactions. One that appears in several sessions is counted once."""

    compactions: Annotated[Count, figure("compactions", Unit.COUNT, "Compactions followed by a call.")]
    compared: Annotated[
        Count, figure("compared", Unit.COUNT, "Compactions compared with windows of equal length in their session.")
    ]
    windows: Annotated[Count, figure("windows", Unit.COUNT, "Number of these windows.")]
    reads: Annotated[Count, figure("reads", Unit.COUNT, "Reads of files after all compactions.")]
    rereads: Annotated[Count, figure("re-reads", Unit.COUNT, "Reads of files that were read or written before.")]
    after: Annotated[StretchFacts | None, about("Medians over the compared compactions; null if there are none.")]
    elsewhere: Annotated[StretchFacts | None, about("Medians over them of the median of their windows.")]


def session_aftermaths(whole: Replay, counted: Collection[int]) -> list[AftermathFacts]:
    """Return the calls around the compactions that are counted for a session.

    Args:
        whole: The whole session with nothing cut.
        counted: The responses of the counted calls, as message indices.
    """
    calls = whole.history.session.calls
    return [_facts(each) for each in compaction_aftermaths(whole) if calls[each.call].response in counted]


def _facts(found: CompactionAftermath) -> AftermathFacts:
    tokens, cost = found.tokens_known, found.usd_known
    return AftermathFacts(
        call=found.call + 1,
        calls=found.after.calls,
        reached=found.reached,
        reads=round(found.after.reads),
        after=_stretch(found.after, tokens, cost),
        windows=found.windows,
        elsewhere=None if found.elsewhere is None else _stretch(found.elsewhere, tokens, cost),
    )


def _stretch(found: WorkStretch, tokens: HowKnown, cost: HowKnown) -> StretchFacts:
    usd = None if isnan(found.usd) else round(found.usd, DOLLAR_DIGITS)
    known = {"actions": HowKnown.EXACT, "tokens": tokens, "usd": cost, "rereads": HowKnown.EXACT}
    return StretchFacts(
        actions=found.actions,
        tokens=found.tokens,
        usd=usd,
        rereads=found.rereads,
        known={name: how.value for name, how in known.items() if name != "usd" or usd is not None},
    )


def folder_compactions(sessions: Iterable[Sequence[AftermathFacts]]) -> FolderCompactionsFacts | None:
    """Compute the totals of the compactions of all sessions; None if there are none."""
    found = [each for session in sessions for each in session]
    if not found:
        return None
    compared = [each for each in found if each.elsewhere is not None]
    return FolderCompactionsFacts(
        compactions=len(found),
        compared=len(compared),
        windows=sum(each.windows for each in compared),
        reads=sum(each.reads for each in found),
        rereads=round(sum(each.after.rereads for each in found)),
        after=_medians([each.after for each in compared]),
        elsewhere=_medians([each.elsewhere for each in compared if each.elsewhere is not None]),
    )


def _medians(found: Sequence[StretchFacts]) -> StretchFacts | None:
    if not found:
        return None
    costs = [each.usd for each in found if each.usd is not None]
    return StretchFacts(
        actions=median(each.actions for each in found),
        tokens=median(each.tokens for each in found),
        usd=median(costs) if len(costs) == len(found) else None,
        rereads=median(each.rereads for each in found),
        known={name: lowest_confidence(*hows).value for name, hows in _hows(found).items()},
    )


def _hows(found: Sequence[StretchFacts]) -> dict[str, list[HowKnown]]:
    """Collect the certainties of each figure."""
    names = dict.fromkeys(name for each in found for name in each.known)
    return {name: [HowKnown(each.known[name]) for each in found if name in each.known] for name in names}
