"""What cache control marks would hold: per call and over a session, as requests had them and for every rule of them.

A projection at best: entries are kept for as long as the provider says, and none is missed. A call reads the longest
entry that an earlier call of its thread, to the same model, left at one of its own marks, where nothing before that
changed since and it stands at one of a call's marks or within the positions that are looked back from it. It writes
from there to the last of its marks; what stands behind that is neither read nor written. Marks with fewer tokens before
them than the model keeps do nothing. What other sessions and other threads left is not counted. Recorded marks name
how long their entries are kept, and mean five minutes where they do not; those of rules are kept as the replay's are.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from inspector.replay.analysis.miss_evidence import FIVE_MINUTES, HOUR, lifetimes
from inspector.replay.cache.mark_rules import LOOK_BACK, MOST_MARKS, MarkPlacer, MarkRule, PromptEntries
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
"""Stands for a mark, or an entry, that is not there."""

ONE_HOUR: Final = "1h"
"""The word in which a mark asks for an hour."""


@dataclass(frozen=True, slots=True)
class CacheMark:
    """A mark of one call.

    Attributes:
        blocks: How many blocks of the prompt stand before it.
        block: The last of them, block index; -1 where the file shows none: behind the system prompt and the tools.
        tokens: Prompt tokens before it, on the provider's scale.
        is_kept: They reach the model's minimum, so that there is an entry.
        lifetime: How long it asks to keep the entry, where a recorded one names it; empty otherwise.
    """

    blocks: int
    block: int
    tokens: int
    is_kept: bool
    lifetime: str = ""


@dataclass(frozen=True, eq=False)
class MarkedCalls:
    """One rule over every call of a session, as columns in call order; equal only to itself.

    Read, written and uncached tokens add up to the prompt, and are 0 for calls that it does not cover.

    Attributes:
        rule: Where the marks are put.
        covers: Per call, whether its marks are known: its provider takes them, and where recorded ones are asked for,
            the request is recorded; bool.
        blocks: Per call and mark, how many blocks stand before it, rising, -1 for no mark, int64.
        tokens: Prompt tokens before it, rising, int64.
        is_kept: They reach the model's minimum, bool.
        found: Per call, how many blocks the entry it reads holds, -1 where it reads none, int64.
        read: Tokens read, int64.
        written: Tokens written, int64.
        uncached: Tokens neither read nor written, int64.
        usd: Dollars of the prompts of the calls it covers; None without a price.
    """

    rule: MarkRule
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
class CacheMarks:
    """Every rule on one replay; equal only to itself.

    Attributes:
        replay: The session under a plan.
        takes_marks: Per call, whether its provider keeps what is marked, bool. Others keep what they choose.
        are_recorded: Per call, whether its request is recorded as it was sent, with its marks or without any, bool.
        rules: The rules, in the order of `MarkRule`; none where no call takes marks, and the recorded one only where a
            recorded request of a call that takes marks has one.
        replayed_usd: Dollars of the same prompts as the replay has them; None without a price.
    """

    replay: Replay
    takes_marks: NDArray[np.bool_]
    are_recorded: NDArray[np.bool_]
    rules: tuple[MarkedCalls, ...]
    replayed_usd: Figure

    def marks_at(self, found: MarkedCalls, call: int) -> tuple[CacheMark, ...]:
        """The marks of one call, in the order of the prompt; none of a call that takes none.

        Args:
            found: One of `rules`.
            call: The call.
        """
        if not found.covers[call]:
            return ()
        prompt = self.replay.history.prompt(call)
        named = {}
        if found.rule is MarkRule.RECORDED:
            named = {mark.blocks: mark.lifetime for mark in self.replay.history.session.calls[call].marks or ()}
        columns = (found.blocks[call].tolist(), found.tokens[call].tolist(), found.is_kept[call].tolist())
        return tuple(
            CacheMark(blocks, int(prompt[blocks - 1]) if blocks else NOWHERE, tokens, is_kept, named.get(blocks, ""))
            for blocks, tokens, is_kept in zip(*columns, strict=True)
            if blocks != NOWHERE
        )


def cache_marks(replay: Replay) -> CacheMarks:
    """What recorded marks, and every rule's, would hold in a replay.

    Args:
        replay: The session under a plan.
    """
    inputs, ledger = replay.inputs, replay.ledger
    calls = replay.history.session.calls
    takes = np.array([inputs.cache_models[call.model].takes_marks for call in calls], dtype=np.bool_)
    recorded = np.array([call.marks is not None for call in calls], dtype=np.bool_)
    if not takes.any():
        return CacheMarks(replay, takes, recorded, (), Figure(None, HowKnown.PROJECTED))
    usage = PromptUsage(ledger.uncached, ledger.cache_read, ledger.cache_write_5m, ledger.cache_write_1h)
    replayed = float(inputs.rates.cost(usage)[takes].sum())
    placers = [
        MarkPlacer(
            PromptEntries.of(replay.history.kind[each.blocks].tolist(), replay.history.message[each.blocks].tolist())
        )
        for each in inputs.layout.contexts
    ]
    rules = [
        _marked(replay, rule, takes, _placed(replay, takes, placers, rule))
        for rule in MarkRule
        if rule is not MarkRule.RECORDED
    ]
    covers = takes & recorded
    if any(covers[number] and call.marks for number, call in enumerate(calls)):
        blocks, hour = _recorded_places(calls, covers)
        rules.insert(0, _marked(replay, MarkRule.RECORDED, covers, blocks, hour))
    return CacheMarks(replay, takes, recorded, tuple(rules), Figure.of(replayed, replay.figures.cost_usd.known))


def _marked(
    replay: Replay,
    rule: MarkRule,
    covers: NDArray[np.bool_],
    blocks: Integers,
    for_hour: NDArray[np.bool_] | None = None,
) -> MarkedCalls:
    """What marks would hold.

    Args:
        replay: The session under a plan.
        rule: Where they are put.
        covers: As in `MarkedCalls`.
        blocks: Per call and mark, how many blocks stand before it.
        for_hour: Per call and mark, whether its entry is kept for an hour and not for five minutes; None where entries
            are kept as those of the replay.
    """
    inputs, prompt = replay.inputs, replay.ledger.prompt_tokens
    tokens = _tokens_before(replay, blocks)
    # Where nothing stands before a mark there is nothing to mark.
    blocks = np.where(tokens > 0, blocks, NOWHERE)
    is_kept = (blocks != NOWHERE) & (tokens >= inputs.caches.minimum_prefix[:, np.newaxis])
    kept_for = lifetimes(replay)[:, np.newaxis] if for_hour is None else np.where(for_hour, HOUR, FIVE_MINUTES)
    found, read = _found(replay, blocks, tokens, is_kept, np.broadcast_to(kept_for, blocks.shape))
    last, last_place = (np.where(is_kept, column, 0).max(axis=1, initial=0) for column in (tokens, blocks))
    # An entry is as long as it was when it was left, whatever the same blocks are measured as now.
    written = np.where(found == last_place, 0, np.maximum(last - read, 0))
    uncached = np.where(covers, prompt - read - written, 0)
    if for_hour is None:
        share = inputs.recorded.one_hour_share
        share = np.where(np.isnan(share), inputs.caches.writes_one_hour, share)
        hour = np.rint(written * share).astype(np.int64)
    else:
        # What stands before the last mark that asks for an hour is written for one, the rest for five minutes.
        hour = np.clip(np.where(is_kept & for_hour, tokens, 0).max(axis=1, initial=0) - read, 0, written)
    cost = inputs.rates.cost(PromptUsage(uncached, read, written - hour, hour))
    usd = Figure.of(float(cost[covers].sum()), HowKnown.PROJECTED)
    return MarkedCalls(rule, covers, blocks, tokens, is_kept, found, read, written, uncached, usd)


def _recorded_places(calls: Sequence[Call], covers: NDArray[np.bool_]) -> tuple[Integers, NDArray[np.bool_]]:
    """Per call and mark that was recorded, how many blocks stand before it, and whether it asks for an hour."""
    blocks = np.full((len(calls), MOST_MARKS), NOWHERE, dtype=np.int64)
    for_hour = np.zeros((len(calls), MOST_MARKS), dtype=np.bool_)
    for number, call in enumerate(calls):
        if covers[number]:
            # A gateway may send on fewer than it is given; the API takes no more.
            for place, mark in enumerate((call.marks or ())[-MOST_MARKS:]):
                blocks[number, place] = mark.blocks
                for_hour[number, place] = mark.lifetime == ONE_HOUR
    return blocks, for_hour


def _placed(replay: Replay, takes: NDArray[np.bool_], placers: list[MarkPlacer], rule: MarkRule) -> Integers:
    """Per call and mark, how many blocks stand before it."""
    blocks = np.full((len(takes), MOST_MARKS), NOWHERE, dtype=np.int64)
    for context, placer in zip(replay.inputs.layout.contexts, placers, strict=True):
        for call, count in zip(context.calls.tolist(), context.prompt_blocks.tolist(), strict=True):
            if call < len(takes) and takes[call]:
                marks = placer.marks(rule, count)
                blocks[call, : len(marks)] = marks
    return blocks


def _tokens_before(replay: Replay, blocks: Integers) -> Integers:
    """Per call and mark, prompt tokens before it under the plan, rising; 0 where there is none."""
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
    """The entries that the calls of one thread to one model left, by rising place: behind how many blocks each ends."""

    places: list[int]
    tokens: list[int]
    ends: list[float]
    """When each expires, seconds since the epoch; NaN where that is not known."""
    kept_for: list[float]
    """Seconds that each is kept after it was used last."""

    def forget_behind(self, blocks: int) -> None:
        """Prompts begin with so many blocks that are as they were."""
        kept = bisect_right(self.places, blocks)
        del self.places[kept:], self.tokens[kept:], self.ends[kept:], self.kept_for[kept:]

    def longest(self, place: int, before: list[int], time: float) -> int:
        """The longest entry found from a mark: its index, -1 for none."""
        at = bisect_right(self.places, place) - 1
        while at >= 0 and before[place] - before[self.places[at]] < LOOK_BACK:
            if not time > self.ends[at]:
                return at
            at -= 1
        return NOWHERE

    def keep(self, place: int, tokens: int, time: float, kept_for: float) -> None:
        """There is an entry, now or still."""
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
    """Per call, how many blocks the entry it reads holds, -1 for none, and its tokens.

    Args:
        replay: The session under a plan.
        blocks: As in `MarkedCalls`.
        tokens: The same.
        is_kept: The same.
        kept_for: Per call and mark, seconds that its entry is kept.
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
