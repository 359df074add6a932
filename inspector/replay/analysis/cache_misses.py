"""Explain and price every cache miss of a replay, and account for every unread token.

A call could have read the prefix it shares with the previous call of its thread, from that call's cache entry; other
threads are ignored. A miss is the unread part of that. Every unread prompt token is new text, part of a miss, below the
miss threshold, or in a call without a known call to compare with.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from inspector.replay.analysis.cache_reads import caches_at_all, is_miss, missed_calls, readable_tokens
from inspector.replay.analysis.miss_evidence import MissEvidence
from inspector.replay.cache.miss_causes import MissCause
from inspector.replay.engine.replay import replay as replay_of
from inspector.replay.figure import Figure, HowKnown, lowest_confidence
from inspector.strategies.plan import Plan

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from inspector.replay.analysis.miss_evidence import Evidence
    from inspector.replay.engine.replay import Replay
    from inspector.session.model import ReportedMiss

    Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class CacheMiss:
    """A call that read less from the prompt cache than it could have.

    Attributes:
        call: The call.
        cause: The cause: reported by the provider if available, otherwise derived.
        derived: The cause derived from the session.
        reported: The provider's report; None if there is none.
        known: Confidence of the cause: exact if reported by the provider.
        evidence: Evidence for the cause in the session.
        could_read: Prompt tokens in the cache; for a first prompt, all of its tokens.
        read: Prompt tokens read.
        usd: Dollars for sending the difference uncached or writing it.
        read_usd: Dollars that reading it would have cost.
    """

    call: int
    cause: MissCause
    derived: MissCause
    reported: ReportedMiss | None
    known: HowKnown
    evidence: Evidence
    could_read: int
    read: int
    usd: Figure
    read_usd: Figure

    @property
    def tokens(self) -> int:
        """Unread tokens of a miss; for a first request, all tokens written to the cache."""
        return self.could_read - self.read

    @property
    def extra_usd(self) -> Figure:
        """Dollars beyond the price of reading; 0 for a first request, which is unavoidable."""
        if self.cause is MissCause.FIRST_REQUEST:
            return Figure(0.0, self.usd.known)
        return _difference(self.usd, self.read_usd)


@dataclass(frozen=True, slots=True)
class CauseTotal:
    """All misses of one cause.

    Attributes:
        cause: The cause.
        calls: Number of calls.
        tokens: Tokens written to the cache again.
        usd: Dollars for these.
        extra_usd: The part of it above the price of reading.
    """

    cause: MissCause
    calls: int
    tokens: int
    usd: Figure
    extra_usd: Figure


@dataclass(frozen=True, eq=False)
class CacheMisses:
    """The misses of a replay, and all other unread tokens.

    `unread_tokens` is the sum of `new_tokens`, `noise_tokens`, `uncompared_tokens` and the tokens of all misses, less
    `beyond_tokens`.

    Attributes:
        replay: The replay.
        all: In call order, including unavoidable ones.
        unread_tokens: Prompt tokens of all calls that were written to the cache or sent uncached.
        new_tokens: The part that no earlier call had sent.
        noise_tokens: The readable part below the miss threshold.
        beyond_tokens: Tokens read beyond the entry of the thread's last call, from other entries.
        uncompared_tokens: The part in calls with reported usage after one without, or the reverse.
    """

    replay: Replay
    all: tuple[CacheMiss, ...]
    unread_tokens: int
    new_tokens: int
    noise_tokens: int
    beyond_tokens: int
    uncompared_tokens: int

    @cached_property
    def misses(self) -> tuple[CacheMiss, ...]:
        """Avoidable misses in call order: shown to users as cache misses."""
        return tuple(miss for miss in self.all if not miss.cause.is_expected)

    @cached_property
    def dearest(self) -> tuple[CacheMiss, ...]:
        """Avoidable misses by cost, highest first; by tokens if there is no price."""
        return tuple(sorted(self.misses, key=lambda miss: (-(miss.extra_usd.value or 0.0), -miss.tokens, miss.call)))

    @cached_property
    def causes(self) -> tuple[CauseTotal, ...]:
        """A row for every cause by cost, highest first, with unavoidable causes last."""
        rows = (total_of(cause, (miss for miss in self.all if miss.cause is cause)) for cause in MissCause)
        found = (row for row in rows if row.calls)
        return tuple(sorted(found, key=lambda row: (row.cause.is_expected, -(row.extra_usd.value or 0.0), -row.tokens)))

    @cached_property
    def total(self) -> CauseTotal:
        """Total of all avoidable misses; its `cause` is meaningless."""
        return total_of(MissCause.UNKNOWN, self.misses)

    @cached_property
    def has_cache(self) -> bool:
        """True if any call could have read from a cache."""
        return bool(caches_at_all(self.replay).any())

    @cached_property
    def preventable(self) -> CauseTotal:
        """Total of the misses with a known prevention; its `cause` is meaningless."""
        return total_of(MissCause.UNKNOWN, (miss for miss in self.misses if miss.cause.is_avoidable))

    def at(self, call: int) -> CacheMiss | None:
        """Return the miss of a call, or None."""
        return self._by_call.get(call)

    @cached_property
    def _by_call(self) -> dict[int, CacheMiss]:
        return {miss.call: miss for miss in self.all}


def total_of(cause: MissCause, misses: Iterable[CacheMiss]) -> CauseTotal:
    """Sum misses under one cause."""
    mine = tuple(misses)
    return CauseTotal(
        cause,
        len(mine),
        sum(miss.tokens for miss in mine),
        sum_of(miss.usd for miss in mine),
        sum_of(miss.extra_usd for miss in mine),
    )


def sum_of(figures: Iterable[Figure]) -> Figure:
    """Sum dollars, with the lowest confidence of all figures; None if any is None."""
    found = tuple(figures)
    known = lowest_confidence(HowKnown.EXACT, *(each.known for each in found))
    values = [each.value for each in found if each.value is not None]
    return Figure(sum(values) if len(values) == len(found) else None, known)


def _difference(one: Figure, other: Figure) -> Figure:
    known = lowest_confidence(one.known, other.known)
    return Figure(None if one.value is None or other.value is None else one.value - other.value, known)


def cache_misses(replay: Replay, missed_without_plan: NDArray[np.bool_] | None = None) -> CacheMisses:
    """Explain and price every cache miss of a replay.

    Args:
        replay: The replay.
        missed_without_plan: Result of `missed_calls` with nothing cut; None to compute it.
    """
    ledger = replay.ledger
    prompt, read = ledger.prompt_tokens, ledger.cache_read
    unread = prompt - read
    could_read = readable_tokens(replay)
    compared, first = could_read >= 0, replay.inputs.previous_call < 0
    lost = np.where(compared, could_read - read, 0)
    missed = is_miss(could_read, read)
    first_unread = first & caches_at_all(replay) & (unread > 0)
    evidence = MissEvidence(replay, _missed_anyway(replay) if missed_without_plan is None else missed_without_plan)
    read_rate, other_rate = replay.inputs.rates.read_and_other(replay.ledger)
    known = replay.figures.cache_read_tokens.known
    if replay.inputs.apportioned.any():
        known = lowest_confidence(known, HowKnown.ESTIMATED)  # sums are recorded, reads of single calls are not

    def miss_at(call: int) -> CacheMiss:
        shown = evidence.of(call, int(read[call]))
        reported = replay.history.session.calls[call].miss
        cause, is_reported = _settled(shown.cause, reported)
        could = int(prompt[call]) if first[call] else int(could_read[call])
        tokens = could - int(read[call])
        # A provider that counts no writes may charge the read price for unread tokens.
        rate = max(float(other_rate[call]), float(read_rate[call])) if not np.isnan(other_rate[call]) else float("nan")
        return CacheMiss(
            call=call,
            cause=cause,
            derived=shown.cause,
            reported=reported,
            known=HowKnown.EXACT if is_reported else HowKnown.ESTIMATED,
            evidence=shown,
            could_read=could,
            read=int(read[call]),
            usd=Figure.of(tokens * rate, known),
            read_usd=Figure.of(tokens * float(read_rate[call]), known),
        )

    return CacheMisses(
        replay=replay,
        all=tuple(miss_at(call) for call in np.flatnonzero(missed | first_unread).tolist()),
        unread_tokens=int(unread.sum()),
        new_tokens=int(np.where(compared, prompt - could_read, 0).sum() + unread[first & ~first_unread].sum()),
        noise_tokens=int(lost[(lost > 0) & ~missed].sum()),
        beyond_tokens=int(-lost[lost < 0].sum()),
        uncompared_tokens=int(unread[~compared & ~first].sum()),
    )


def _missed_anyway(replay: Replay) -> NDArray[np.bool_]:
    """Return True per call if it also missed the cache with nothing cut, bool; all False if the plan has no edits."""
    if not replay.edits.by_plan.any():
        return np.zeros(len(replay.ledger.cache_read), dtype=np.bool_)
    return missed_calls(replay_of(replay.inputs, Plan()))


_REPORTED = {
    "model_changed": MissCause.MODEL_CHANGED,
    "system_changed": MissCause.SYSTEM_PROMPT_CHANGED,
    "tools_changed": MissCause.TOOLS_CHANGED,
    "messages_changed": MissCause.MESSAGES_REWRITTEN,
    # OpenAI's, as far as their names differ (developers.openai.com, prompt cache diagnostics).
    "context_compacted": MissCause.COMPACTION,
    "input_changed": MissCause.MESSAGES_REWRITTEN,
    "prompt_cache_key_changed": MissCause.CACHE_KEY_CHANGED,
    "reasoning_effort_changed": MissCause.THINKING_CHANGED,
    "service_tier_changed": MissCause.SERVICE_TIER_CHANGED,
    "text_format_changed": MissCause.OUTPUT_FORMAT_CHANGED,
    "verbosity_changed": MissCause.OUTPUT_FORMAT_CHANGED,
}
"""Causes of the API's reasons. Its other reasons mean that it could not compare the two prompts."""

_OF_MESSAGES = (
    *(MissCause.COMPACTION, MissCause.CLEARING, MissCause.REWIND, MissCause.PLAN_EDIT),
    # OpenAI reports the instructions as part of the input.
    MissCause.SYSTEM_PROMPT_CHANGED,
)
"""Causes that specify a change of messages."""


def _settled(derived: MissCause, reported: ReportedMiss | None) -> tuple[MissCause, bool]:
    """Return the final cause, and True if it is the provider's. Plan edits and first requests override its report."""
    result = _REPORTED.get(reported.reason) if reported is not None else None
    if result is None or derived in (MissCause.FIRST_REQUEST, MissCause.PLAN_EDIT):
        return derived, False
    if result is MissCause.MESSAGES_REWRITTEN and derived in _OF_MESSAGES:
        return derived, True
    return result, True
