"""At which size the agent of many sessions had best compact, and how far that can be believed. All of it is projected.

What a compaction does is taken from those the sessions recorded. Thresholds are tried from little above what that
leaves up to the largest prompt that is known to fit, on all sessions together, against compactions as they were.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from inspector.replay.analysis.best_plan import WORTHWHILE
from inspector.replay.analysis.bootstrap import band
from inspector.replay.figure import Band
from inspector.replay.tuning.choice import DRAWS, SEED, Verdict, has_enough
from inspector.replay.tuning.compaction_costs import ROOM, CompactionTerms

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from inspector.replay.tuning.compaction_costs import CompactedSession, RecordedCompaction, ThresholdCosts

LEAST_COMPACTIONS: Final = 3
"""With fewer of them nothing can be said of the next one."""

TRIED: Final = 32
"""Thresholds that are tried beside the effective one."""

LATEST: Final = 0.9
"""Agents compact at no larger share of a window: the request that summarises has to fit."""

STEP: Final = 1_000
"""They are whole thousands of tokens."""


@dataclass(frozen=True, slots=True)
class EffectiveThreshold:
    """Tokens right before recorded compactions that nobody asked for.

    Attributes:
        count: How many compactions.
        median: Half of them fired at fewer.
        least: The fewest.
        most: The most.
    """

    count: int
    median: float
    least: float
    most: float

    @classmethod
    def of(cls, sessions: Sequence[CompactedSession]) -> EffectiveThreshold | None:
        """Of some sessions; None where none of their compactions came by itself."""
        before = [each.before for session in sessions for each in session.compactions if not each.asked_for]
        return cls(len(before), float(np.median(before)), min(before), max(before)) if before else None


@dataclass(frozen=True, eq=False)
class ThresholdTable:
    """Sessions under thresholds: a row a threshold. Columns are sessions, where there are any.

    Attributes:
        thresholds: What was tried, rising, tokens.
        usd: Dollars; NaN where what compactions leave has no room, float64.
        compactions: How many there would be over all sessions, int64.
        summaries: Dollars of the requests that write summaries, over all sessions, float64.
        recovery: Dollars of work that recovers what was lost, against what was recorded, float64.
        recorded: Dollars per session with compactions where they were recorded, summaries included, float64.
        effective: Index of the effective threshold.
        best: Index of the highest that costs at most 1 % more than the one that costs least.
    """

    thresholds: tuple[float, ...]
    usd: NDArray[np.float64]
    compactions: NDArray[np.int64]
    summaries: NDArray[np.float64]
    recovery: NDArray[np.float64]
    recorded: NDArray[np.float64]
    effective: int
    best: int

    @property
    def totals(self) -> NDArray[np.float64]:
        """Dollars over all sessions, NaN where a session has no room."""
        total: NDArray[np.float64] = self.usd.sum(axis=1)
        return total


@dataclass(frozen=True, eq=False)
class ThresholdChoice:
    """The threshold of a group of sessions.

    Attributes:
        verdict: What can be said.
        effective: Where compactions really fired; None where none did by itself.
        terms: What a compaction is taken to do; None where none was recorded.
        table: Everything that was tried; None where nothing was.
        saved: Dollars the best threshold saves against compactions as they were, with what other sessions of the kind
            might make of it.
        left_out: The same by thresholds chosen without each session, dollars.
    """

    verdict: Verdict
    effective: EffectiveThreshold | None
    terms: CompactionTerms | None
    table: ThresholdTable | None
    saved: Band
    left_out: float


def compaction_terms(sessions: Sequence[CompactedSession]) -> CompactionTerms | None:
    """What the recorded compactions of some sessions did: medians, and the mean of what was read again.

    None where none was recorded.
    """
    found = [each for session in sessions for each in session.compactions]
    if not found:
        return None
    rereads = [each for session in sessions for each in session.rereads]
    summaries = [each.summary for each in found if each.summary]
    kept = _median(found, "kept")
    return CompactionTerms(
        kept,
        _median(found, "cached"),
        # A summary that the file does not hold is at most all that was kept.
        float(np.median(summaries)) if summaries else kept,
        max(float(np.mean(rereads)), 0.0) if rereads else 0.0,
    )


def _median(found: Sequence[RecordedCompaction], name: str) -> float:
    return float(np.median([getattr(each, name) for each in found]))


def is_told(sessions: Sequence[CompactedSession], calls: Sequence[int]) -> bool:
    """Whether there are sessions, calls and compactions enough to say anything."""
    effective = EffectiveThreshold.of(sessions)
    return has_enough(calls) and effective is not None and effective.count >= LEAST_COMPACTIONS


def thresholds_to_try(sessions: Sequence[CompactedSession], terms: CompactionTerms) -> tuple[float, ...]:
    """Sizes from little above what compactions leave to the largest that fits, the effective one among them; rising.

    Args:
        sessions: The sessions.
        terms: What a compaction leaves.
    """
    effective = EffectiveThreshold.of(sessions)
    if effective is None:
        return ()
    afters = [each.after for session in sessions for each in session.compactions]
    left = max(max(session.first_prompt for session in sessions) + terms.kept, *afters)
    fits = [LATEST * session.window for session in sessions if session.window is not None]
    highest = max(effective.most, *(session.peak for session in sessions), *fits)
    lowest = STEP * np.ceil(ROOM * left / STEP)
    steps = STEP * np.round(np.geomspace(lowest, highest, TRIED) / STEP) if lowest < highest else np.array([])
    return tuple(sorted({*steps.tolist(), effective.median}))


def choose_threshold(
    sessions: Sequence[CompactedSession],
    calls: Sequence[int],
    thresholds: Sequence[float],
    costs: Sequence[ThresholdCosts],
) -> ThresholdChoice:
    """Choose a threshold, and try the choice.

    Args:
        sessions: What the sessions tell of compactions.
        calls: How many calls each has.
        thresholds: What was tried, rising.
        costs: Each session under `AS_RECORDED`, and then under these.
    """
    effective, terms = EffectiveThreshold.of(sessions), compaction_terms(sessions)
    nothing = Band(0, 0, 0)
    if not is_told(sessions, calls) or effective is None:
        return ThresholdChoice(Verdict.TOO_FEW, effective, terms, None, nothing, 0.0)
    if not costs or not thresholds:
        return ThresholdChoice(Verdict.UNTRIED, effective, terms, None, nothing, 0.0)
    recorded, usd = np.array([each.usd[0] for each in costs]), np.stack([each.usd[1:] for each in costs], axis=1)
    at = min(range(len(thresholds)), key=lambda each: abs(thresholds[each] - effective.median))
    best = _cheapest(np.where(np.isnan(usd).any(axis=1), np.inf, usd.sum(axis=1)))
    table = ThresholdTable(
        tuple(thresholds),
        usd,
        np.sum([each.compactions[1:] for each in costs], axis=0),
        np.sum([each.summaries[1:] for each in costs], axis=0),
        np.sum([each.recovery[1:] for each in costs], axis=0),
        recorded,
        at,
        best,
    )
    saved = np.nan_to_num(recorded - usd[best])
    net, left_out = band(float(saved.sum()), _drawn(saved)), _left_out(usd, recorded)
    verdict = _verdict(net, left_out, float(recorded.sum()))
    return ThresholdChoice(verdict, effective, terms, table, net, left_out)


def _cheapest(total: NDArray[np.float64]) -> int:
    """The highest threshold that costs hardly more than any: compactions lose what nothing here sees."""
    return int(np.flatnonzero(total <= float(total.min()) * (1 + WORTHWHILE))[-1])


def _drawn(saved: NDArray[np.float64]) -> NDArray[np.float64]:
    """What it saves on sessions drawn anew."""
    count = len(saved)
    drawn: NDArray[np.float64] = (
        np.random.default_rng(SEED).multinomial(count, np.full(count, 1 / count), DRAWS) @ saved
    )
    return drawn


def _left_out(usd: NDArray[np.float64], recorded: NDArray[np.float64]) -> float:
    """What thresholds save that were chosen for every session by all others alone."""
    whole = np.where(np.isnan(usd), np.inf, usd)
    saved = 0.0
    for at in range(usd.shape[1]):
        chosen = _cheapest(np.delete(whole, at, axis=1).sum(axis=1))
        saved += float(np.nan_to_num(recorded[at] - usd[chosen, at]))
    return saved


def _verdict(net: Band, left_out: float, cost: float) -> Verdict:
    if net.middle < WORTHWHILE * cost:
        return Verdict.NOTHING_SAVES
    return Verdict.RECOMMENDED if net.low > 0 and left_out > 0 else Verdict.UNSURE
