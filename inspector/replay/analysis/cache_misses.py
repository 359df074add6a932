"""Explain and price every cache miss of a replay, and account for every unread token.

A call could have read the prefix it shares with the previous call of its thread, from that call's cache entry; other
threads are ignored. A miss is the unread part of that. Every unread prompt token is new text, part of a miss, below the
miss threshold, or in a call without a known call to compare with.

Readable prompt tokens of every call of a replay, and detection of cache misses.

Separate from their explanation (`cache_misses`), because drawing a session before a replay needs these without the
engine.

Derive the cause of a cache miss from a session: models, times, contexts, edits.

The first that applies is the cause: another model, a compaction or a rewind, an edit of text sent before, a pause
longer than the cache lifetime, other betas or another thinking level, a resume, a prompt below the minimum prefix, more
blocks than the lookback covers. Otherwise automatic caches (without reported writes) most likely evicted the entry.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Annotated

import numpy as np

from inspector.replay.cache.cache_models import NO_PREFIX
from inspector.replay.cache.miss_causes import MISS_SHARE, MISS_TOKENS, MissCause, setting_changed
from inspector.replay.cache.prompt_usage import UNCHANGED
from inspector.replay.engine.edits import RECORDED
from inspector.replay.engine.recorded_calls import recorded_calls
from inspector.replay.engine.replay import Replay
from inspector.replay.engine.replay import replay as replay_of
from inspector.replay.figure import Figure, HowKnown, lowest_confidence
from inspector.replay.quantity import Count, FigureResult, Known, Unit, about, figure
from inspector.session.billing_terms import BillingTerms
from inspector.session.model import BlockKind, Context, ContextCause, LinkKind, ReportedMiss, Session
from inspector.strategies.plan import Plan

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from inspector.replay.engine.prompt_layout import ContextLayout

    Integers = NDArray[np.int64]


def readable_tokens(
    replay: Replay, calls: NDArray[np.intp] | None = None, *, after: Integers | None = None
) -> Integers:
    """Return prompt tokens in the cache after the last call of the thread and the model, per call; -1 if unknown.

    Unknown for a thread's first call, and if only one of the two calls has reported usage. Calls with an expected read
    (a probability) cannot miss and are unknown too.

    Args:
        calls: Calls to compute, one row each; all by default.
        after: Per call of the session, another call whose prompt it may read.
    """
    inputs, ledger = replay.inputs, replay.ledger
    asked = slice(None) if calls is None else calls
    previous = (inputs.entry_call if after is None else after)[asked]
    if not len(previous):
        return np.zeros(0, dtype=np.int64)
    may_read, caches = caches_at_all(replay), inputs.caches
    prompt, uncached, minimum = (
        ledger.prompt_tokens[previous],
        ledger.uncached[previous],
        caches.minimum_prefix[previous],
    )
    # If writes are counted, uncached tokens are not in the cache; otherwise whole prompts are.
    kept = np.where(caches.writes[previous], prompt - uncached, prompt)
    # A prompt below the minimum is not cached, even if the next one could have read it.
    short = (prompt < minimum) & (kept == 0)
    held = np.where(short, prompt, np.where(kept >= np.minimum(minimum, prompt), kept, 0))
    held = np.where(may_read[previous] & may_read[asked], held, 0)
    known = (previous >= 0) & (inputs.anchored[asked] == inputs.anchored[previous]) & ~inputs.uses_expected_reads[asked]
    could_read = np.minimum(held, ledger.prompt_tokens[asked])
    if replay.edits.by_plan.any():
        # If the plan cut the end of the previous prompt, new text has replaced it, which was never cached. The readable
        # part is then the one without cache invalidation by edits. This does not apply to calls that also missed as
        # recorded.
        recorded, recached = inputs.recorded, replay.invalidated_calls
        before, read = recorded.prompt[inputs.entry_call[recached]], recorded.cache_read[recached]
        reported = ~is_miss(np.minimum(before, recorded.prompt[recached]), read)
        most = np.full(len(ledger.prompt_tokens), UNCHANGED)
        most[recached[reported]] = np.maximum(replay.usage_without_edits.cache_read, ledger.cache_read[recached])[
            reported
        ]
        could_read = np.minimum(could_read, most[asked])
    return np.where(known, could_read, -1).astype(np.int64)


def caches_at_all(replay: Replay) -> NDArray[np.bool_]:
    """Return True per call with a cache to read from: by the session's usage or its provider's, bool."""
    ledger, inputs = replay.ledger, replay.inputs
    uses = (ledger.cache_read > 0) | (ledger.cache_write > 0)
    models = recorded_calls(replay.history).models
    of_model = np.bincount(models.code, uses, len(models.names)) > 0
    is_known = inputs.caches.minimum_prefix < NO_PREFIX
    found: NDArray[np.bool_] = np.where(is_known, uses.any(), of_model[models.code] & inputs.anchored)
    return found


def missed_calls(replay: Replay) -> NDArray[np.bool_]:
    return is_miss(readable_tokens(replay), replay.ledger.cache_read)


def calls_missed_by_edits(replay: Replay, baseline: Replay, missed_without_plan: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Return the calls that miss the cache because of a plan's edits, ascending; see `missed_calls`."""
    edited = np.flatnonzero(replay.ledger.is_break & ~baseline.ledger.is_break & ~missed_without_plan)
    return edited[is_miss(readable_tokens(replay, edited), replay.ledger.cache_read[edited])]


def is_miss(could_read: Integers, read: Integers) -> NDArray[np.bool_]:
    """Return True per call if its unread tokens reach the miss threshold, bool."""
    lost = could_read - read
    missed: NDArray[np.bool_] = (lost >= MISS_TOKENS) & (lost >= MISS_SHARE * could_read)
    return missed


FIVE_MINUTES, HOUR = 300.0, 3600.0
"""The two lifetimes that Anthropic offers, in seconds."""

LIFETIMES = ((FIVE_MINUTES, HOUR), (HOUR / 2, 12 * HOUR))
"""Shorter and longer lifetimes that requests may choose: Anthropic's and OpenAI's."""

TOOLS_LOCATOR = "tools"
"""Origin locator of recorded tool definitions."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """Evidence for the cause of one miss.

    Attributes:
        previous: The last call that shares the prompt's prefix, -1 for none.
        gap_seconds: Seconds since that call; None if a time is missing.
        lifetime: Cache lifetime in seconds of that call's entry; 0 if unknown.
        models: The models of that call and this one.
        blocks: First block that differs: the earlier and the current one; -1 for none.
        rule: Explanation of the edit by the plan or the agent; empty if there is none.
    """

    cause: MissCause
    previous: int
    gap_seconds: float | None
    lifetime: float
    models: tuple[str, str]
    blocks: tuple[int, int] = (-1, -1)
    rule: str = ""


class MissEvidence:
    """Finds evidence for the cause of a miss, call by call."""

    def __init__(self, replay: Replay, missed_without_plan: NDArray[np.bool_]) -> None:
        """Index a replay; `missed_without_plan` is True for calls that also missed with nothing cut."""
        self._replay = replay
        self._missed_anyway = missed_without_plan
        inputs = replay.inputs
        self._previous = inputs.entry_call
        self._gaps = inputs.entry_gap
        self._lifetimes = lifetimes(replay)
        self._positions = inputs.layout.positions_after(inputs.layout.previous_blocks)
        self._contexts = _contexts_of_calls(replay)
        self._summaries = summary_requests(replay.history.session)

    def of(self, call: int, read: int) -> Evidence:
        """Return the evidence for a call that read this many tokens."""
        session = self._replay.history.session
        previous = int(self._previous[call])
        models = (session.calls[previous].model if previous >= 0 else "", session.calls[call].model)
        gap = float(self._gaps[call])
        lifetime = float(self._lifetimes[previous if previous >= 0 else call])
        # A summary request has other instructions and perhaps another model; the conversation continues after it.
        is_compaction = previous >= 0 and not self._summaries.isdisjoint((call, previous))
        compacted: tuple[MissCause, tuple[int, int], str] = (MissCause.COMPACTION, (-1, -1), "")
        cause, blocks, rule = compacted if is_compaction else self._cause(call, previous, read, lifetime)
        return Evidence(cause, previous, None if np.isnan(gap) else gap, lifetime, models, blocks, rule)

    def _cause(self, call: int, previous: int, read: int, lifetime: float) -> tuple[MissCause, tuple[int, int], str]:
        nothing = (-1, -1)
        inputs, replay = self._replay.inputs, self._replay
        if previous < 0:
            return MissCause.FIRST_REQUEST, nothing, ""
        if not inputs.same_model[call]:
            return MissCause.MODEL_CHANGED, nothing, ""
        if inputs.restarts[call]:
            return (*self._departure(call, previous), "")
        edited = self._edited(call)
        if edited is not None:
            return edited
        if 0 < lifetime < self._gaps[call]:
            return _expired(lifetime), nothing, ""
        messages, calls = replay.history.session.messages, replay.history.session.calls
        settings = setting_changed(calls[previous], calls[call])
        # No automatic cache documents that it distinguishes such requests.
        if settings is not None and inputs.caches.writes[call]:
            return settings, nothing, ""
        if messages[calls[previous].response].is_inherited and not messages[calls[call].response].is_inherited:
            return MissCause.RESUMED, nothing, ""
        ledger = replay.ledger
        if not read and ledger.prompt_tokens[previous] < inputs.caches.minimum_prefix[previous] < NO_PREFIX:
            return MissCause.BELOW_MINIMUM, nothing, ""
        if inputs.caches.writes[call]:
            is_far = self._positions[call] >= LOOK_BACK_POSITIONS and read > 0
            return MissCause.LOOK_BACK if is_far else MissCause.UNKNOWN, nothing, ""
        return MissCause.LIKELY_SERVER_SIDE, nothing, ""

    def _departure(self, call: int, previous: int) -> tuple[MissCause, tuple[int, int]]:
        """Return the cause of a prompt that does not grow from the previous one, and the blocks where they differ."""
        (context, layout), (_, layout_before) = self._contexts[call], self._contexts[previous]
        blocks = layout.blocks[: layout.prompt_blocks[np.searchsorted(layout.calls, call)]]
        before = layout_before.blocks[: layout_before.prompt_blocks[np.searchsorted(layout_before.calls, previous)]]
        all_blocks = self._replay.history.session.all_blocks
        place = 0
        while place < min(len(blocks), len(before)) and (
            blocks[place] == before[place] or all_blocks[blocks[place]].digest == all_blocks[before[place]].digest
        ):
            place += 1
        parts = tuple(int(each[place]) if place < len(each) else -1 for each in (before, blocks))
        first = all_blocks[parts[1]] if parts[1] >= 0 else None
        if first is not None and first.kind is BlockKind.SYSTEM_TEXT and context.cause is not ContextCause.COMPACTION:
            is_tools = first.origin.locator == TOOLS_LOCATOR
            return MissCause.TOOLS_CHANGED if is_tools else MissCause.SYSTEM_PROMPT_CHANGED, (parts[0], parts[1])
        cause = MissCause.COMPACTION if context.cause is ContextCause.COMPACTION else MissCause.REWIND
        return cause, (parts[0], parts[1])

    def _edited(self, call: int) -> tuple[MissCause, tuple[int, int], str] | None:
        """Return the edit where a prompt departs from the previous one; None if absent, or if it changed no miss."""
        changed = int(self._replay.ledger.first_changed[call])
        if changed < 0:
            return None
        by_plan, rule = self._edit(call, changed)
        if by_plan and self._missed_anyway[call]:
            return None
        return MissCause.PLAN_EDIT if by_plan else MissCause.CLEARING, (changed, changed), rule

    def _edit(self, call: int, block: int) -> tuple[bool, str]:
        """Return True if the plan, not the recorded agent, changed a block at a call, and its explanation."""
        edits = self._replay.edits
        row = edits.row(block, call)
        if row < 0:
            return False, ""
        reason = edits.reasons[edits.reason[row]]
        return reason.entry != RECORDED, self._replay.reason(block, call)


def summary_requests(session: Session) -> frozenset[int]:
    """Return the calls that wrote the summary of a compaction, for agents that record them as calls."""
    messages = session.messages
    return frozenset(index for index, call in enumerate(session.calls) if messages[call.response].is_summary)


LOOK_BACK_POSITIONS = 20
"""Positions that Anthropic searches backward from a breakpoint for an earlier entry."""


def _expired(lifetime: float) -> MissCause:
    if lifetime == FIVE_MINUTES:
        return MissCause.TTL_EXPIRED_5M
    return MissCause.TTL_EXPIRED_1H if lifetime == HOUR else MissCause.TTL_EXPIRED


def lifetimes(replay: Replay) -> NDArray[np.float64]:
    """Return the lifetime in seconds of each call's cache entry, the longer one if most was written for it, float64."""
    caches, ledger, share = replay.inputs.caches, replay.ledger, replay.inputs.recorded.one_hour_share
    found = caches.lifetime
    for shorter, longer in LIFETIMES:
        chosen = caches.writes & np.isin(caches.lifetime, (shorter, longer)) & ~np.isnan(share)
        chosen &= ledger.cache_write + ledger.cache_read > 0
        found = np.where(chosen, np.where(share > 0.5, longer, shorter), found)
    return found


def _contexts_of_calls(replay: Replay) -> dict[int, tuple[Context, ContextLayout]]:
    contexts = replay.history.session.contexts
    return {
        call: (context, layout)
        for context, layout in zip(contexts, replay.inputs.layout.contexts, strict=True)
        for call in layout.calls.tolist()
    }


@dataclass(frozen=True, slots=True)
class CacheMiss:
    """A call that read less from the prompt cache than it could have.

    Attributes:
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


EXTRA_COST = figure("extra cost", Unit.DOLLARS, "The part of it above the price of cache reads.")


class CauseTotal(FigureResult, frozen=True, kw_only=True):
    """All misses of one cause."""

    cause: Annotated[
        str, about("Name of the cause, as in Claude Code's status line (`prompt_cache.miss_causes`) if it has one.")
    ]
    label: Annotated[str, about("Meaning in a few words.")]
    short: Annotated[str, about("Meaning in one or two words.")]
    expected: Annotated[bool, about("True if the cache had to be written: not counted as a cache miss.")]
    prevention: Annotated[str, about("How to prevent it; empty if impossible.")]
    calls: Annotated[Count, figure("calls", Unit.CALLS, "Calls with a miss of this cause.")]
    tokens: Annotated[
        int | None,
        figure(
            "tokens rewritten",
            Unit.TOKENS,
            "Tokens these calls did not read; for first requests, tokens written.",
        ),
    ]
    usd: Annotated[float | None, figure("cost of rewrites", Unit.DOLLARS, "Dollars of these tokens.")]
    extra_usd: Annotated[float | None, EXTRA_COST]
    known: Known


@dataclass(frozen=True, eq=False)
class CacheMisses:
    """The misses of a replay, and all other unread tokens.

    `unread_tokens` is the sum of `new_tokens`, `noise_tokens`, `uncompared_tokens` and the tokens of all misses, less
    `beyond_tokens`.

    Attributes:
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
        rows = (self.total_of(cause, (miss for miss in self.all if miss.cause is cause)) for cause in MissCause)
        found = (row for row in rows if row.calls)
        return tuple(sorted(found, key=lambda row: (row.expected, -(row.extra_usd or 0.0), -(row.tokens or 0))))

    @cached_property
    def total(self) -> CauseTotal:
        """Total of all avoidable misses; its `cause` is meaningless."""
        return self.total_of(MissCause.UNKNOWN, self.misses)

    @cached_property
    def has_cache(self) -> bool:
        return bool(caches_at_all(self.replay).any())

    @cached_property
    def preventable(self) -> CauseTotal:
        """Total of the misses with a known prevention; its `cause` is meaningless."""
        return self.total_of(MissCause.UNKNOWN, (miss for miss in self.misses if miss.cause.is_avoidable))

    def total_of(self, cause: MissCause, misses: Iterable[CacheMiss]) -> CauseTotal:
        mine, known = tuple(misses), self.replay.figures.cache_read_tokens.known
        return CauseTotal.of(
            cause=cause.value,
            label=cause.label,
            short=cause.short,
            expected=cause.is_expected,
            prevention=cause.prevention,
            calls=Figure(len(mine), known),
            tokens=Figure(sum(miss.tokens for miss in mine), known),
            usd=sum_of(miss.usd for miss in mine),
            extra_usd=sum_of(miss.extra_usd for miss in mine),
        )

    def at(self, call: int) -> CacheMiss | None:
        return self._by_call.get(call)

    @cached_property
    def _by_call(self) -> dict[int, CacheMiss]:
        return {miss.call: miss for miss in self.all}


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
    """Explain and price every cache miss of a replay; `missed_without_plan` is computed if it is None."""
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


EXPIRED = (MissCause.TTL_EXPIRED_5M, MissCause.TTL_EXPIRED_1H, MissCause.TTL_EXPIRED)

_NAMED_LIFETIMES = (MissCause.TTL_EXPIRED_5M, MissCause.TTL_EXPIRED_1H)

_NOT_NAMED = {
    "unavailable": "the provider could not determine the cause",
    "previous_message_not_found": "the provider did not find the previous call",
}
"""Descriptions of the API's reasons that name no cause."""


def describe_evidence(miss: CacheMiss, session: Session) -> str:
    """Describe the evidence for the cause without a final period. May contain session text: names."""
    return "; ".join(evidence_parts(miss, session))


def evidence_parts(miss: CacheMiss, session: Session) -> tuple[str, ...]:
    """Return the evidence for the cause in phrases.

    The time and the tokens still read come first: they differ between calls, and stay visible in narrow columns.
    """
    shown, parts = miss.evidence, list[str]()
    if shown.previous >= 0 and shown.gap_seconds is not None and miss.cause in (*EXPIRED, *_UNSEEN):
        # The name of the cause already contains the lifetime if it is five minutes or an hour.
        is_named = miss.cause in _NAMED_LIFETIMES or not shown.lifetime
        kept = "" if is_named else f", cache lifetime {duration(shown.lifetime)}"
        parts.append(f"{duration(shown.gap_seconds)} after call {shown.previous + 1}{kept}")
    if miss.cause in _UNSEEN and miss.read:
        parts.append(f"{miss.read:,} tokens still read")
    parts.append(_by_cause(miss) or _by_setting(miss, session))
    if miss.cause in _DEPARTURES and max(shown.blocks) >= 0:
        before, now = shown.blocks
        parts.append(f"from message {bisect_right(session.first_blocks, before if before >= 0 else now)} on")
    if miss.cause is MissCause.RESUMED and any(link.kind is LinkKind.CONTINUED for link in session.links):
        parts.append("continues another session")
    parts.append(provider_reason(miss))
    return tuple(part for part in parts if part)


def provider_reason(miss: CacheMiss) -> str:
    """Describe the provider's report on a miss; empty if there is none. May contain session text."""
    if miss.reported is None:
        return ""
    missed = "" if miss.reported.tokens is None else f", {miss.reported.tokens:,} tokens missed"
    return _NOT_NAMED.get(miss.reported.reason, f"the provider reports {miss.reported.reason}{missed}")


_DEPARTURES = (
    MissCause.REWIND,
    MissCause.MESSAGES_REWRITTEN,
    MissCause.SYSTEM_PROMPT_CHANGED,
    MissCause.TOOLS_CHANGED,
)
"""Causes for which the point of departure is informative."""

_UNSEEN = (MissCause.UNKNOWN, MissCause.LIKELY_SERVER_SIDE, MissCause.RESUMED, MissCause.LOOK_BACK)
"""Causes for which the time since the previous call is informative."""


def _by_cause(miss: CacheMiss) -> str:
    shown = miss.evidence
    before, now = shown.models
    if miss.cause is MissCause.MODEL_CHANGED:
        return f"{before or 'unknown'} before, {now or 'unknown'} now"
    if miss.cause in (MissCause.PLAN_EDIT, MissCause.CLEARING) and shown.rule:
        return shown.rule
    if miss.cause is MissCause.UNKNOWN:
        return "same model, within the cache lifetime, no recorded change"
    if miss.cause is MissCause.LIKELY_SERVER_SIDE:
        in_time = ", not expired" if shown.lifetime else ""
        return f"same model and prefix{in_time}: a hit is not guaranteed"
    return ""


def _by_setting(miss: CacheMiss, session: Session) -> str:
    """Describe the changed request setting, before and after."""
    if miss.evidence.previous < 0:
        return ""
    before, now = session.calls[miss.evidence.previous], session.calls[miss.call]
    if miss.cause is MissCause.THINKING_CHANGED:
        return f"{before.thinking or 'unknown'} before, {now.thinking or 'unknown'} now"
    if miss.cause is MissCause.SERVICE_TIER_CHANGED:
        labels = [BillingTerms.of_code(each.terms).label or "standard" for each in (before, now)]
        return f"{labels[0]} before, {labels[1]} now"
    if miss.cause is MissCause.BETAS_CHANGED:
        old, new = ({beta for beta in (each.betas or "").split(",") if beta} for each in (before, now))
        changes = (("added", new - old), ("removed", old - new))
        return "; ".join(f"{', '.join(sorted(betas))} {word}" for word, betas in changes if betas)
    return ""


def duration(seconds: float) -> str:
    """Format a time between two calls: `27 s`, `13 min 10 s`, `2 h 12 min`."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        minutes, rest = divmod(whole, 60)
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    hours, minutes = divmod(round(whole / 60), 60)
    return f"{hours} h {minutes} min" if minutes else f"{hours} h"
