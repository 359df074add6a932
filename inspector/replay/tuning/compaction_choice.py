"""Choose the compaction threshold for an agent from many sessions, and validate it. All figures are projected.

The effect of a compaction is taken from the recorded ones. Thresholds from slightly above the size after a compaction
up to the largest prompt that fits are tried on all sessions together and compared with the recorded compactions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

import numpy as np

from inspector.replay.analysis.best_plan import WORTHWHILE
from inspector.replay.analysis.forecast import band
from inspector.replay.figure import Band
from inspector.replay.tuning.choice import DRAWS, SEED, Verdict, has_enough
from inspector.replay.tuning.compaction_costs import ROOM, CompactionTerms

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from inspector.replay.tuning.compaction_costs import CompactedSession, RecordedCompaction, ThresholdCosts

ThresholdVerdict = Literal[Verdict.RECOMMENDED, Verdict.UNSURE, Verdict.NOTHING_SAVES, Verdict.TOO_FEW, Verdict.UNTRIED]
"""Verdicts on a threshold; the others are about plans."""

LEAST_COMPACTIONS: Final = 3
"""Minimum number of compactions for a statement about the next one."""

TRIED: Final = 32
"""Number of thresholds tried, in addition to the effective one."""

LATEST: Final = 0.9
"""Largest share of a window to compact at, because the summary request must fit."""

STEP: Final = 1_000
"""Thresholds are multiples of this many tokens."""


@dataclass(frozen=True, slots=True)
class EffectiveThreshold:
    """Prompt sizes at which recorded automatic compactions fired, without those of idle sessions.

    Attributes:
        count: Number of compactions.
        median: Median size.
        least: Smallest size.
        most: Largest size.
    """

    count: int
    median: float
    least: float
    most: float

    @classmethod
    def of(cls, sessions: Sequence[CompactedSession]) -> EffectiveThreshold | None:
        """Compute it from some sessions; None if they have no automatic compaction."""
        before = [
            each.before for session in sessions for each in session.compactions if not (each.asked_for or each.is_idle)
        ]
        return cls(len(before), float(np.median(before)), min(before), max(before)) if before else None


@dataclass(frozen=True, eq=False)
class ThresholdTable:
    """Results of thresholds: a row per threshold, a column per session.

    Attributes:
        thresholds: Thresholds tried, ascending, tokens.
        usd: Dollars; NaN if the size after a compaction is too close to the threshold, float64.
        compactions: Number of compactions over all sessions, int64.
        summaries: Dollars of summary requests over all sessions, float64.
        recovery: Dollars of recovery work, relative to the recorded sessions, float64.
        recorded: Dollars per session with the recorded compactions, including summaries, float64.
        effective: Index of the effective threshold.
        best: Index of the highest threshold that costs at most 1 % more than the cheapest.
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
        """Dollars over all sessions, NaN if a session has no room."""
        total: NDArray[np.float64] = self.usd.sum(axis=1)
        return total


@dataclass(frozen=True, eq=False)
class ThresholdChoice:
    """Threshold chosen for a group of sessions.

    Attributes:
        verdict: The verdict.
        effective: Sizes at which compactions fired; None if there was no automatic one.
        terms: Assumed effect of a compaction; None if none was recorded.
        table: All results; None if nothing was tried.
        saved: Dollars the best threshold saves compared with the recorded compactions, with a bootstrap band over
            sessions.
        left_out: Dollars saved by thresholds chosen without each session.
    """

    verdict: ThresholdVerdict
    effective: EffectiveThreshold | None
    terms: CompactionTerms | None
    table: ThresholdTable | None
    saved: Band
    left_out: float


def compaction_terms(sessions: Sequence[CompactedSession]) -> CompactionTerms | None:
    """Return the median effect of the recorded compactions of some sessions, and the mean number of repeated reads.

    None if no compaction was recorded.
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
        # An unrecorded summary is at most all that was kept.
        float(np.median(summaries)) if summaries else kept,
        max(float(np.mean(rereads)), 0.0) if rereads else 0.0,
    )


def _median(found: Sequence[RecordedCompaction], name: str) -> float:
    return float(np.median([getattr(each, name) for each in found]))


def has_enough_data(sessions: Sequence[CompactedSession], calls: Sequence[int]) -> bool:
    """Return True if there are enough sessions, calls and compactions for a verdict."""
    effective = EffectiveThreshold.of(sessions)
    return has_enough(calls) and effective is not None and effective.count >= LEAST_COMPACTIONS


def thresholds_to_try(sessions: Sequence[CompactedSession], terms: CompactionTerms) -> tuple[float, ...]:
    """Return thresholds from slightly above the size after a compaction to the largest that fits, ascending.

    The effective threshold is included.

    Args:
        sessions: The sessions.
        terms: Effect of a compaction.
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
    """Choose a threshold and validate the choice.

    Args:
        sessions: Compactions of the sessions.
        calls: Number of calls of each.
        thresholds: Thresholds tried, ascending.
        costs: Costs of each session under `AS_RECORDED`, then under each threshold.
    """
    effective, terms = EffectiveThreshold.of(sessions), compaction_terms(sessions)
    nothing = Band(0, 0, 0)
    if not has_enough_data(sessions, calls) or effective is None:
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
    """Return the highest threshold close to the lowest cost, because compactions have losses not measured here."""
    return int(np.flatnonzero(total <= float(total.min()) * (1 + WORTHWHILE))[-1])


def _drawn(saved: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the savings on resampled sessions."""
    count = len(saved)
    drawn: NDArray[np.float64] = (
        np.random.default_rng(SEED).multinomial(count, np.full(count, 1 / count), DRAWS) @ saved
    )
    return drawn


def _left_out(usd: NDArray[np.float64], recorded: NDArray[np.float64]) -> float:
    """Return the savings of thresholds chosen for every session from all other sessions."""
    whole = np.where(np.isnan(usd), np.inf, usd)
    saved = 0.0
    for at in range(usd.shape[1]):
        chosen = _cheapest(np.delete(whole, at, axis=1).sum(axis=1))
        saved += float(np.nan_to_num(recorded[at] - usd[chosen, at]))
    return saved


def _verdict(net: Band, left_out: float, cost: float) -> ThresholdVerdict:
    if net.middle < WORTHWHILE * cost:
        return Verdict.NOTHING_SAVES
    return Verdict.RECOMMENDED if net.low > 0 and left_out > 0 else Verdict.UNSURE
