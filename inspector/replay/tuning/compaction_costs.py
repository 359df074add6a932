"""Project the cost of one session with another compaction threshold.

Calls are taken as recorded: growth of the prompt, share of the previous prompt read from the cache, response length.
Only the places of compactions change. A compaction fires before the prompt would reach the threshold. It leaves the
same tokens as recorded compactions and costs a request that reads the prompt and writes a summary. The prompt after it
is cold except for the part that recorded ones found in the cache. Recovery work is charged for each additional
compaction and credited for each avoided one, because the recorded calls already include it. Compactions requested by
the user stay in place, and so does Claude Code's idle compaction, which depends on pauses.

Choose the compaction threshold for an agent from many sessions, and validate it. All figures are projected.

The effect of a compaction is taken from the recorded ones. Thresholds from slightly above the size after a compaction
up to the largest prompt that fits are tried on all sessions together and compared with the recorded compactions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

import numpy as np

from inspector.replay.analysis.alternatives import IdleRule, has_hour_cache, idle_rule, is_idle_compaction, main_calls
from inspector.replay.analysis.best_plan import WORTHWHILE
from inspector.replay.analysis.cache_misses import HOUR
from inspector.replay.analysis.compaction_forecast import MANUAL, first_call_after
from inspector.replay.analysis.compactions import compaction_aftermaths
from inspector.replay.analysis.forecast import band
from inspector.replay.analysis.recoveries import usual_output
from inspector.replay.figure import Band
from inspector.replay.pricing.context_window import AGENT, SUMMARY_TOKENS
from inspector.replay.pricing.rates import RateColumn
from inspector.replay.tuning.search import DRAWS, SEED, Verdict, has_enough

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from inspector.replay.engine.replay import Replay


AS_RECORDED: Final = float("nan")
"""Replaces a threshold: compactions stay at their recorded places."""

ROOM: Final = 1.25
"""Smallest ratio of a threshold to the size after a compaction; below it compactions would follow each other."""


class RecordedCompaction(NamedTuple):
    """One full compaction that was followed by a call.

    Attributes:
        call: Index of that call.
        before: Tokens immediately before it: reported by the agent, or the last prompt.
        after: Tokens of the first prompt after it.
        kept: The part beyond the first prompt of its conversation, at least 0.
        cached: The part read from the cache.
        summary: Tokens of the summary; 0.0 if it is not recorded.
        asked_for: True if the user requested it.
        is_idle: True if the agent made it because the session was idle.
    """

    call: int
    before: float
    after: float
    kept: float
    cached: float
    summary: float
    asked_for: bool
    is_idle: bool = False


class CompactedSession(NamedTuple):
    """Compaction data of a session.

    Attributes:
        compactions: Full compactions, in order.
        rereads: Per comparable compaction, reads of known files until the next edit or finished step, minus those in a
            typical window of equal length.
        first_prompt: Tokens of the largest first prompt of its conversations.
        peak: Tokens of its largest prompt.
        window: The model's context window, None if unknown.
        window_is_recorded: True if the file contains the window.
        idle: Effect of idle compaction; None if the agent has none, or it would never have fired.
    """

    compactions: tuple[RecordedCompaction, ...]
    rereads: tuple[float, ...]
    first_prompt: float
    peak: float
    window: int | None
    window_is_recorded: bool
    idle: IdleOutcome | None = None


class IdleOutcome(NamedTuple):
    """Projected effect of compacting a session whenever it is idle, compared with never doing so.

    Attributes:
        unused: Those at the end of the session, which it was not continued after.
        saved_usd: Dollars saved; negative if it costs more.
        is_on: True if the recorded version does it by default, and nothing shows that it was turned off.
    """

    compactions: int
    unused: int
    saved_usd: float
    is_on: bool


class CompactionTerms(NamedTuple):
    """Assumed effect of a compaction, from many sessions.

    Attributes:
        kept: Tokens it leaves beyond the first prompt of a conversation.
        cached: Tokens of the first prompt after it that are read from the cache.
        summary: Tokens of the summary it writes.
        rereads: Additional calls to read lost content again.
    """

    kept: float
    cached: float
    summary: float
    rereads: float


@dataclass(frozen=True, eq=False)
class ThresholdCosts:
    """Costs of a session, one entry per threshold.

    Attributes:
        usd: Dollars of its calls, its compactions and their recovery; NaN if the size after a compaction is too close
            to the threshold, float64.
        summaries: The part for summary requests, float64.
        recovery: The part for recovery work, relative to the recorded session; may be negative, float64.
        compactions: Number of compactions, int64.
    """

    usd: NDArray[np.float64]
    summaries: NDArray[np.float64]
    recovery: NDArray[np.float64]
    compactions: NDArray[np.int64]


def compacted_session(baseline: Replay) -> CompactedSession:
    """Collect the compaction data of a session."""
    prompt, thread = baseline.ledger.prompt_tokens, baseline.history.call_thread[: baseline.history.call_count]
    found = compaction_aftermaths(baseline)
    recorded = _recorded(baseline)
    return CompactedSession(
        tuple(recorded),
        tuple(each.after.rereads - each.elsewhere.rereads for each in found if each.elsewhere is not None),
        max((float(prompt[np.argmax(thread == each)]) for each in np.unique(thread)), default=0.0),
        float(prompt.max(initial=0)),
        baseline.inputs.window.size,
        baseline.history.session.window is not None,
        idle_outcome(baseline, recorded),
    )


def _recorded(baseline: Replay) -> list[RecordedCompaction]:
    session, inputs, ledger = baseline.history.session, baseline.inputs, baseline.ledger
    thread = baseline.history.call_thread[: baseline.history.call_count]
    found: list[RecordedCompaction] = []
    for index, compaction in enumerate(session.compactions):
        call = None if compaction.is_partial else first_call_after(session, index)
        if call is not None and session.calls[call].response == compaction.message:
            call = _next_in_thread(baseline, call)
        before = -1 if call is None else int(inputs.previous_call[call])
        if call is None or before < 0 or (found and found[-1].call == call):
            continue
        blocks = slice(*baseline.history.message_first_block[compaction.message : compaction.message + 2].tolist())
        is_summary = session.messages[compaction.message].is_summary
        after = float(ledger.prompt_tokens[call])
        first = float(ledger.prompt_tokens[np.argmax(thread == thread[call])])
        found.append(
            RecordedCompaction(
                call,
                float(compaction.tokens_before or ledger.prompt_tokens[before]),
                after,
                max(after - first, 0.0),
                float(ledger.cache_read[call]),
                float(inputs.table.tokens[blocks].sum() * inputs.sizes.ratio[call]) if is_summary else 0.0,
                compaction.trigger == MANUAL,
                is_idle_compaction(session, index),
            )
        )
    return found


def _next_in_thread(baseline: Replay, call: int) -> int | None:
    thread = baseline.history.call_thread[: baseline.history.call_count]
    later = np.flatnonzero(thread[call + 1 :] == thread[call])
    return call + 1 + int(later[0]) if len(later) else None


def _requests(baseline: Replay) -> NDArray[np.bool_]:
    """Return True per call for requests that wrote a summary, if the agent records them as calls, bool."""
    session = baseline.history.session
    summaries = {compaction.message for compaction in session.compactions if not compaction.is_partial}
    return np.array([call.response in summaries for call in session.calls], dtype=np.bool_)


def threshold_costs(baseline: Replay, thresholds: Sequence[float], terms: CompactionTerms) -> ThresholdCosts:
    """Project the costs of a session at thresholds.

    Args:
        thresholds: Prompt sizes in tokens before which compactions fire, capped at the largest size known to fit: the
            window, or the largest prompt.
        terms: Effect of a compaction if the session itself recorded none.
    """
    recorded = _recorded(baseline)
    if recorded:
        summaries = [each.summary for each in recorded if each.summary]
        terms = CompactionTerms(
            float(np.median([each.kept for each in recorded])),
            float(np.median([each.cached for each in recorded])),
            float(np.median(summaries)) if summaries else terms.summary,
            terms.rereads,
        )
    calls = _Calls.of(baseline, {each.call: each for each in recorded})
    rule = idle_rule(baseline)
    fits = max(float(baseline.inputs.window.size or 0), float(calls.prompt.max(initial=0)))
    paths = calls.paths(np.minimum(np.array(thresholds, dtype=np.float64), fits), terms, rule)
    reread = _reread_usd(baseline, calls, terms)
    priced = [_priced(baseline, calls, paths, at, terms, reread) for at in range(len(thresholds))]
    usd, summaries_usd, recovery = (np.array([each[part] for each in priced]) for part in range(3))
    return ThresholdCosts(
        np.where(paths.has_room, usd, np.nan), summaries_usd, recovery, paths.fires.sum(axis=1).astype(np.int64)
    )


def idle_outcome(baseline: Replay, recorded: Sequence[RecordedCompaction] | None = None) -> IdleOutcome | None:
    """Project idle compaction on a Claude Code session with a one-hour cache; None if it would never fire."""
    if baseline.history.session.format != AGENT or not has_hour_cache(baseline):
        return None
    recorded = _recorded(baseline) if recorded is None else recorded
    found = [each.summary for each in recorded if each.summary]
    terms = CompactionTerms(
        float(np.median([each.kept for each in recorded])) if recorded else SUMMARY_TOKENS,
        float(np.median([each.cached for each in recorded])) if recorded else 0.0,
        float(np.median(found)) if found else SUMMARY_TOKENS,
        0.0,
    )
    calls = _Calls.of(baseline, {each.call: each for each in recorded})
    rule = idle_rule(baseline)
    costs, fired = [], []
    for chosen in (None, rule or IdleRule()):
        paths = calls.paths(np.array([AS_RECORDED]), terms, chosen, keeps_idle=False)
        costs.append(_priced(baseline, calls, paths, 0, terms, 0.0)[0])
        fired.append(int(paths.fires.sum()))
    last = float(paths.prompt[0, int(main_calls(baseline)[-1])])
    unused = int(last >= (rule or IdleRule()).min_tokens)
    compactions = fired[1] - fired[0] + unused
    if not compactions:
        return None
    saved = costs[0] - costs[1] - unused * _request_usd(baseline, calls, last, terms)
    return IdleOutcome(compactions, unused, saved, rule is not None)


def _request_usd(baseline: Replay, calls: _Calls, prompt: float, terms: CompactionTerms) -> float:
    """Return dollars of a summary request after the last call."""
    rate = baseline.inputs.rates.of_prompts(np.full(len(calls.prompt), round(prompt), dtype=np.int64))
    share = calls.usual_share
    again = share * rate[:, RateColumn.CACHE_READ] + (1 - share) * _written_rates(baseline, rate)
    return float((prompt * again + terms.summary * rate[:, RateColumn.OUTPUT] + rate[:, RateColumn.PER_CALL])[-1])


@dataclass(frozen=True, eq=False)
class _Paths:
    """Prompts under thresholds, a row per threshold, a column per call.

    Attributes:
        prompt: Tokens sent, float64.
        cached: The part read from the cache, float64.
        before: Tokens immediately before a compaction at this call, 0 if there is none, float64.
        fires: True if a compaction precedes it, bool.
        has_room: Per threshold, True if compactions leave clearly less than it, bool.
    """

    prompt: NDArray[np.float64]
    cached: NDArray[np.float64]
    before: NDArray[np.float64]
    fires: NDArray[np.bool_]
    has_room: NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class _Calls:
    """A session call by call.

    Attributes:
        recorded: Compactions by the first call after them.
        prompt: Tokens of its prompt, float64.
        cached: The part read from the cache, float64.
        grows: Growth from the previous call in its conversation, float64.
        served: Share of the common prefix read from the cache, float64.
        previous: The previous call, -1 for the first of a conversation, int64.
        gap: Seconds since the previous call, NaN where unknown, float64.
        is_request: True if it wrote a summary, so its dollars belong to the compaction, bool.
        usual_share: The median of `served`.
        usual_growth: The median growth.
    """

    recorded: Mapping[int, RecordedCompaction]
    prompt: NDArray[np.float64]
    cached: NDArray[np.float64]
    grows: NDArray[np.float64]
    served: NDArray[np.float64]
    previous: NDArray[np.int64]
    gap: NDArray[np.float64]
    is_request: NDArray[np.bool_]
    usual_share: float
    usual_growth: float

    @classmethod
    def of(cls, baseline: Replay, recorded: Mapping[int, RecordedCompaction]) -> _Calls:
        ledger, inputs = baseline.ledger, baseline.inputs
        prompt, cached = ledger.prompt_tokens.astype(np.float64), ledger.cache_read.astype(np.float64)
        previous = np.asarray(inputs.previous_call[: len(prompt)], dtype=np.int64)
        has_previous = previous >= 0
        before = np.where(has_previous, prompt[previous], 0.0)
        grows = np.where(has_previous, prompt - before, 0.0)
        common = np.minimum(before, prompt)
        served = np.where(common > 0, np.minimum(cached / np.maximum(common, 1), 1.0), 0.0)
        goes_on = has_previous.copy()
        goes_on[list(recorded)] = False
        usual_share = float(np.median(served[goes_on])) if goes_on.any() else 0.0
        usual_growth = float(max(np.median(grows[goes_on]), 0.0)) if goes_on.any() else 0.0
        for call, each in recorded.items():
            answer = float(ledger.output[previous[call]])
            grows[call] = max(each.before - before[call], answer, 0.0)
            # Without an idle compaction, the next call would have found a cold cache.
            served[call] = 0.0 if each.is_idle and inputs.gap_seconds[call] > HOUR else usual_share
        is_request = _requests(baseline)
        grows[is_request] = 0.0
        gap = inputs.gap_seconds
        return cls(recorded, prompt, cached, grows, served, previous, gap, is_request, usual_share, usual_growth)

    def paths(
        self,
        thresholds: NDArray[np.float64],
        terms: CompactionTerms,
        idle: IdleRule | None = None,
        *,
        keeps_idle: bool = True,
    ) -> _Paths:
        """Simulate all thresholds in one pass; `idle` is for thresholds other than `AS_RECORDED`, None for never.

        `keeps_idle` keeps recorded idle compactions for `AS_RECORDED`; otherwise `idle` applies there too.
        """
        shape = (len(thresholds), len(self.prompt))
        prompt, cached, before = np.zeros(shape), np.zeros(shape), np.zeros(shape)
        fires = np.zeros(shape, dtype=np.bool_)
        has_room = np.ones(len(thresholds), dtype=np.bool_)
        firsts: dict[int, float] = {}
        for call, last in enumerate(self.previous.tolist()):
            if last < 0:
                prompt[:, call], cached[:, call] = self.prompt[call], self.cached[call]
                firsts[call] = self.prompt[call]
                continue
            firsts[call] = first = firsts[last]
            own = self.recorded.get(call)
            size = np.maximum(prompt[:, last] + self.grows[call], 1.0)
            is_kept = own is not None and (keeps_idle or not own.is_idle)
            fires_automatically = np.where(np.isnan(thresholds), is_kept, size >= thresholds)
            if idle is not None and self.gap[call] >= idle.after_seconds:
                large = prompt[:, last] >= idle.min_tokens
                fires_automatically |= large & ~(np.isnan(thresholds) & keeps_idle)
            is_asked_for = own is not None and own.asked_for
            fired = (fires_automatically | is_asked_for) & ~self.is_request[call]
            is_cold = self.gap[call] > HOUR
            left, found = (first + terms.kept, 0.0 if is_cold else terms.cached)
            if own is not None:
                left, found = own.after, own.cached
            has_room &= ~fired | ~(thresholds < ROOM * left) | is_asked_for
            fires[:, call], before[:, call] = fired, np.where(fired, size, 0.0)
            prompt[:, call] = np.where(fired, left, size)
            goes_on = self.served[call] * np.minimum(prompt[:, last], size)
            cached[:, call] = np.where(fired, min(found, left), goes_on)
        return _Paths(prompt, cached, before, fires, has_room)


def _priced(
    baseline: Replay, calls: _Calls, paths: _Paths, at: int, terms: CompactionTerms, reread_usd: float
) -> tuple[float, float, float]:
    """Return dollars at one threshold: total, summaries and recovery."""
    ledger, rates = baseline.ledger, baseline.inputs.rates
    prompt, cached, fires = paths.prompt[at], paths.cached[at], paths.fires[at]
    rate = rates.of_prompts(prompt.astype(np.int64))
    written = _written_rates(baseline, rate)
    read, output = rate[:, RateColumn.CACHE_READ], rate[:, RateColumn.OUTPUT]
    usd = cached * read + (prompt - cached) * written + ledger.output * output + rate[:, RateColumn.PER_CALL]
    usd = np.where(calls.is_request, 0.0, usd)
    rate_before = rates.of_prompts(paths.before[at].astype(np.int64))
    share = calls.usual_share
    again = share * rate_before[:, RateColumn.CACHE_READ] + (1 - share) * _written_rates(baseline, rate_before)
    summary = terms.summary * rate_before[:, RateColumn.OUTPUT] + rate_before[:, RateColumn.PER_CALL]
    summaries = float(((paths.before[at] * again + summary) * fires).sum())
    recovery = terms.rereads * reread_usd * (int(fires.sum()) - len(calls.recorded))
    return float(usd.sum()) + summaries + recovery, summaries, recovery


def _reread_usd(baseline: Replay, calls: _Calls, terms: CompactionTerms) -> float:
    """Return dollars of one additional call right after a compaction, which reads a file again."""
    left = [each.after for each in calls.recorded.values()]
    size = float(np.median(left)) if left else float(calls.prompt[0]) + terms.kept
    rate = baseline.inputs.rates.of_prompts(np.full(len(calls.prompt), round(size), dtype=np.int64))
    written, share = _written_rates(baseline, rate), calls.usual_share
    prompt = size * (share * rate[:, RateColumn.CACHE_READ] + (1 - share) * written)
    answer = usual_output(baseline) * rate[:, RateColumn.OUTPUT] + rate[:, RateColumn.PER_CALL]
    return float((prompt + calls.usual_growth * written + answer).mean())


def _written_rates(baseline: Replay, rate: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return dollars per unread prompt token of each call, at its recorded mix of writes and uncached input."""
    ledger = baseline.ledger
    kinds = (RateColumn.UNCACHED, RateColumn.CACHE_WRITE_5M, RateColumn.CACHE_WRITE_1H)
    parts = np.stack([ledger.uncached, ledger.cache_write_5m, ledger.cache_write_1h]).astype(np.float64)
    usual = parts.sum(axis=1, keepdims=True)
    total = parts.sum(axis=0)
    parts = np.where(total > 0, parts, usual if usual.any() else np.array([[1.0], [0.0], [0.0]]))
    shares = parts / parts.sum(axis=0)
    dollars: NDArray[np.float64] = sum(share * rate[:, kind] for share, kind in zip(shares, kinds, strict=True))
    return dollars


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
    """Prompt sizes at which recorded automatic compactions fired, without those of idle sessions."""

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
    """Return the median effect of recorded compactions, and the mean number of repeated reads; None without any."""
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
    """Return ascending thresholds from just above a compacted size to the largest, with the effective one."""
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
    """Choose a threshold and validate the choice; the costs of each session begin with `AS_RECORDED`."""
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
