"""Simulate cache breakpoints per call and session: the recorded ones, and the ones each rule places.

The result is a projection and an upper bound: entries live exactly as documented, and no read fails. A call reads the
longest entry that an earlier call of its thread, to the same model, left at one of its own breakpoints. Nothing before
that entry may have changed, and it must be at one of the call's breakpoints or within the lookback from it. The call
writes from there to its last breakpoint; the rest is uncached. Breakpoints below the model's minimum prefix have no
effect. Entries of other sessions and threads are ignored. Recorded breakpoints name their lifetime, five minutes by
default; the lifetime for rules is the replay's.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from inspector.replay.analysis.miss_evidence import FIVE_MINUTES, HOUR, lifetimes
from inspector.replay.cache.breakpoint_rules import (
    LOOK_BACK,
    MAX_BREAKPOINTS,
    BreakpointPlacer,
    BreakpointRule,
    PromptEntries,
)
from inspector.replay.cache.prompt_usage import PromptUsage
from inspector.replay.engine.recorded_calls import recorded_calls
from inspector.replay.figure import Figure, HowKnown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from inspector.replay.engine.prompt_layout import ContextLayout
    from inspector.replay.engine.replay import Replay
    from inspector.session.model import Call

    Integers = NDArray[np.int64]
    Numbers = NDArray[np.float64]

NOWHERE = -1
"""Placeholder for a missing breakpoint or entry."""

ONE_HOUR: Final = "1h"
"""The value with which a breakpoint requests one hour."""


@dataclass(frozen=True, slots=True)
class CacheBreakpoint:
    """A breakpoint of one call.

    Attributes:
        blocks: Number of blocks before it in the prompt.
        block: Index of the last of them; -1 if none is recorded: after the system prompt and the tools.
        tokens: Prompt tokens before it, on the provider's scale.
        is_kept: True if they reach the model's minimum, so that an entry exists.
        lifetime: Requested lifetime of a recorded breakpoint; empty if not named.
    """

    blocks: int
    block: int
    tokens: int
    is_kept: bool
    lifetime: str = ""


@dataclass(frozen=True, eq=False)
class BreakpointUsage:
    """One rule over every call of a session, as columns in call order; compares by identity.

    Read, written and uncached tokens add up to the prompt, and are 0 for calls that it does not cover.

    Attributes:
        rule: The breakpoint rule.
        covers: Per call, True if its breakpoints are available: its provider supports them and, for recorded ones, its
            request is recorded; bool.
        blocks: Per call and breakpoint, number of blocks before it, ascending, -1 for no breakpoint, int64.
        tokens: Prompt tokens before it, ascending, int64.
        is_kept: They reach the model's minimum, bool.
        found: Per call, number of blocks in the entry it reads, -1 if it reads none, int64.
        read: Tokens read, int64.
        written: Tokens written, int64.
        uncached: Tokens neither read nor written, int64.
        usd: Dollars for the prompts of the calls it covers; None without a price.
    """

    rule: BreakpointRule
    covers: NDArray[np.bool_]
    blocks: Integers
    tokens: Integers
    is_kept: NDArray[np.bool_]
    found: Integers
    read: Integers
    written: Integers
    uncached: Integers
    usd: Figure


@dataclass(frozen=True, eq=False)
class CacheBreakpoints:
    """Every breakpoint rule on one replay; compares by identity.

    Attributes:
        replay: The session under a plan.
        uses_breakpoints: Per call, True if its provider caches at breakpoints, bool; others cache automatically.
        are_recorded: Per call, True if its request is recorded as sent, with or without breakpoints, bool.
        rules: The rules in the order of `BreakpointRule`; empty if no call takes breakpoints. The recorded rule is
            present only if a recorded request of such a call has a breakpoint.
        replayed_usd: Dollars of the same prompts in the replay; None without a price.
    """

    replay: Replay
    uses_breakpoints: NDArray[np.bool_]
    are_recorded: NDArray[np.bool_]
    rules: tuple[BreakpointUsage, ...]
    replayed_usd: Figure

    def breakpoints_at(self, found: BreakpointUsage, call: int) -> tuple[CacheBreakpoint, ...]:
        """Return the breakpoints of one call, in the order of the prompt; empty for a call that takes none.

        Args:
            found: One of `rules`.
            call: The call.
        """
        if not found.covers[call]:
            return ()
        prompt = self.replay.history.prompt(call)
        named = {}
        if found.rule is BreakpointRule.RECORDED:
            named = {mark.blocks: mark.lifetime for mark in self.replay.history.session.calls[call].marks or ()}
        columns = (found.blocks[call].tolist(), found.tokens[call].tolist(), found.is_kept[call].tolist())
        return tuple(
            CacheBreakpoint(
                blocks, int(prompt[blocks - 1]) if blocks else NOWHERE, tokens, is_kept, named.get(blocks, "")
            )
            for blocks, tokens, is_kept in zip(*columns, strict=True)
            if blocks != NOWHERE
        )


def cache_marks(replay: Replay) -> CacheBreakpoints:
    """Simulate recorded breakpoints, and the ones each rule places, in a replay.

    Args:
        replay: The session under a plan.
    """
    inputs, ledger = replay.inputs, replay.ledger
    calls = replay.history.session.calls
    takes = np.array([inputs.cache_models[call.model].uses_breakpoints for call in calls], dtype=np.bool_)
    recorded = np.array([call.marks is not None for call in calls], dtype=np.bool_)
    if not takes.any():
        return CacheBreakpoints(replay, takes, recorded, (), Figure(None, HowKnown.PROJECTED))
    usage = PromptUsage(ledger.uncached, ledger.cache_read, ledger.cache_write_5m, ledger.cache_write_1h)
    replayed = float(inputs.rates.cost(usage)[takes].sum())
    placers = [
        BreakpointPlacer(
            PromptEntries.of(replay.history.kind[each.blocks].tolist(), replay.history.message[each.blocks].tolist())
        )
        for each in inputs.layout.contexts
    ]
    rules = [
        _marked(replay, rule, takes, _placed(replay, takes, placers, rule))
        for rule in BreakpointRule
        if rule is not BreakpointRule.RECORDED
    ]
    covers = takes & recorded
    if any(covers[number] and call.marks for number, call in enumerate(calls)):
        blocks, hour = _recorded_places(calls, covers)
        rules.insert(0, _marked(replay, BreakpointRule.RECORDED, covers, blocks, hour))
    return CacheBreakpoints(replay, takes, recorded, tuple(rules), Figure.of(replayed, replay.figures.cost_usd.known))


def _marked(
    replay: Replay,
    rule: BreakpointRule,
    covers: NDArray[np.bool_],
    blocks: Integers,
    for_hour: NDArray[np.bool_] | None = None,
) -> BreakpointUsage:
    """Simulate breakpoints.

    Args:
        replay: The session under a plan.
        rule: The breakpoint rule.
        covers: As in `BreakpointUsage`.
        blocks: Per call and breakpoint, number of blocks before it.
        for_hour: Per call and breakpoint, True for a lifetime of one hour instead of five minutes; None for the
            replay's lifetimes.
    """
    inputs, prompt = replay.inputs, replay.ledger.prompt_tokens
    tokens = _tokens_before(replay, blocks)
    # A breakpoint with nothing before it has no effect.
    blocks = np.where(tokens > 0, blocks, NOWHERE)
    is_kept = (blocks != NOWHERE) & (tokens >= inputs.caches.minimum_prefix[:, np.newaxis])
    kept_for = lifetimes(replay)[:, np.newaxis] if for_hour is None else np.where(for_hour, HOUR, FIVE_MINUTES)
    found, read = _found(replay, blocks, tokens, is_kept, np.broadcast_to(kept_for, blocks.shape))
    last, last_place = (np.where(is_kept, column, 0).max(axis=1, initial=0) for column in (tokens, blocks))
    # An entry has the length it was written with, even if the same blocks measure differently now.
    written = np.where(found == last_place, 0, np.maximum(last - read, 0))
    uncached = np.where(covers, prompt - read - written, 0)
    if for_hour is None:
        share = inputs.recorded.one_hour_share
        share = np.where(np.isnan(share), inputs.caches.writes_one_hour, share)
        hour = np.rint(written * share).astype(np.int64)
    else:
        # Everything before the last one-hour breakpoint is written for an hour, the rest for five minutes.
        hour = np.clip(np.where(is_kept & for_hour, tokens, 0).max(axis=1, initial=0) - read, 0, written)
    cost = inputs.rates.cost(PromptUsage(uncached, read, written - hour, hour))
    usd = Figure.of(float(cost[covers].sum()), HowKnown.PROJECTED)
    return BreakpointUsage(rule, covers, blocks, tokens, is_kept, found, read, written, uncached, usd)


def _recorded_places(calls: Sequence[Call], covers: NDArray[np.bool_]) -> tuple[Integers, NDArray[np.bool_]]:
    """Return block counts before each recorded breakpoint per call, and True for one-hour ones."""
    blocks = np.full((len(calls), MAX_BREAKPOINTS), NOWHERE, dtype=np.int64)
    for_hour = np.zeros((len(calls), MAX_BREAKPOINTS), dtype=np.bool_)
    for number, call in enumerate(calls):
        if covers[number]:
            # A gateway may forward fewer than it receives; the API accepts no more.
            for place, mark in enumerate((call.marks or ())[-MAX_BREAKPOINTS:]):
                blocks[number, place] = mark.blocks
                for_hour[number, place] = mark.lifetime == ONE_HOUR
    return blocks, for_hour


def _placed(
    replay: Replay, takes: NDArray[np.bool_], placers: list[BreakpointPlacer], rule: BreakpointRule
) -> Integers:
    """Return block counts before each breakpoint per call."""
    blocks = np.full((len(takes), MAX_BREAKPOINTS), NOWHERE, dtype=np.int64)
    for context, placer in zip(replay.inputs.layout.contexts, placers, strict=True):
        for call, count in zip(context.calls.tolist(), context.prompt_blocks.tolist(), strict=True):
            if call < len(takes) and takes[call]:
                marks = placer.marks(rule, count)
                blocks[call, : len(marks)] = marks
    return blocks


def _tokens_before(replay: Replay, blocks: Integers) -> Integers:
    """Return prompt tokens before each breakpoint per call under the plan, ascending; 0 if there is none."""
    inputs, prompt, columns = replay.inputs, replay.ledger.prompt_tokens, replay.inputs.layout.columns
    ratio, before = inputs.sizes.ratio[:-1], np.maximum(inputs.before_blocks, 0)
    whole = columns.by_call(columns.end - columns.first_place[columns.context])[:-1]
    tokens = np.zeros_like(blocks)
    for place in range(blocks.shape[1]):
        wanted = np.maximum(blocks[:, place], 0)
        sent, beside = replay.prompt_edits.sent_before(np.append(wanted, 0))
        measured = np.rint(before + ratio * sent[:-1] + beside[:-1]).astype(np.int64)
        measured = np.where(wanted >= whole, prompt, np.clip(measured, 0, prompt))
        tokens[:, place] = np.where(blocks[:, place] == NOWHERE, 0, measured)
    rising: Integers = np.maximum.accumulate(tokens, axis=1)
    return np.where(blocks == NOWHERE, 0, rising)


@dataclass(slots=True)
class _Held:
    """Cache entries left by the calls of one thread to one model, by ascending block count."""

    places: list[int]
    tokens: list[int]
    ends: list[float]
    """Expiry of each entry, seconds since the epoch; NaN if unknown."""
    kept_for: list[float]
    """Lifetime of each entry in seconds after its last use."""

    def forget_behind(self, blocks: int) -> None:
        """Drop entries that extend beyond the unchanged leading blocks of a prompt."""
        kept = bisect_right(self.places, blocks)
        del self.places[kept:], self.tokens[kept:], self.ends[kept:], self.kept_for[kept:]

    def longest(self, place: int, before: list[int], time: float) -> int:
        """Return the index of the longest entry found from a breakpoint, -1 for none."""
        at = bisect_right(self.places, place) - 1
        while at >= 0 and before[place] - before[self.places[at]] < LOOK_BACK:
            if not time > self.ends[at]:
                return at
            at -= 1
        return NOWHERE

    def keep(self, place: int, tokens: int, time: float, kept_for: float) -> None:
        """Add an entry or renew it."""
        at = bisect_left(self.places, place)
        if at < len(self.places) and self.places[at] == place:
            self.tokens[at], self.ends[at], self.kept_for[at] = tokens, time + kept_for, kept_for
        else:
            self.places.insert(at, place)
            self.tokens.insert(at, tokens)
            self.ends.insert(at, time + kept_for)
            self.kept_for.insert(at, kept_for)


def _found(
    replay: Replay, blocks: Integers, tokens: Integers, is_kept: NDArray[np.bool_], kept_for: Numbers
) -> tuple[Integers, Integers]:
    """Return the number of blocks in the entry that each call reads, -1 for none, and its tokens.

    Args:
        replay: The session under a plan.
        blocks: As in `BreakpointUsage`.
        tokens: As in `BreakpointUsage`.
        is_kept: As in `BreakpointUsage`.
        kept_for: Per call and breakpoint, lifetime of its entry in seconds.
    """
    layout, history = replay.inputs.layout, replay.history
    same = replay.prompt_edits.reusable(layout.previous_blocks).blocks
    models = recorded_calls(history).models.code
    times = history.call_time[:-1]
    kept = [
        [(place, size, seconds) for place, size, seconds, is_one in zip(*marks, strict=True) if is_one]
        for marks in zip(blocks.tolist(), tokens.tolist(), kept_for.tolist(), is_kept.tolist(), strict=True)
    ]
    found = np.full(len(blocks), NOWHERE, dtype=np.int64)
    read = np.zeros(len(blocks), dtype=np.int64)
    of_thread: dict[int, dict[int, _Held]] = {}
    for context in layout.contexts:
        of_model = of_thread.setdefault(context.thread, {})
        before = layout.positions_before(context).tolist()
        for number, call in enumerate(_recorded(context, len(blocks))):
            shared = int(same[call]) if number else min(int(same[call]), context.shared)
            for each in of_model.values():
                each.forget_behind(shared)
            held = of_model.setdefault(int(models[call]), _Held([], [], [], []))
            time = float(times[call])
            marks = kept[call]
            entries = [(held.longest(place, before, time), size) for place, size, _ in marks]
            at, most = max(entries, default=(NOWHERE, 0))
            if at != NOWHERE:
                found[call], read[call] = held.places[at], min(held.tokens[at], most)
                held.ends[at] = time + held.kept_for[at]
            for place, size, seconds in marks:
                held.keep(place, size, time, seconds)
    return found, read


def _recorded(context: ContextLayout, count: int) -> list[int]:
    return [call for call in context.calls.tolist() if call < count]
