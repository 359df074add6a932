"""What cache control marks would hold: per call and over a session, for every rule of where to put them.

A projection at best: entries are kept for as long as the provider says, and none is missed. A call reads the longest
entry that an earlier call of its thread, to the same model, left at one of its own marks, where nothing before that
changed since and it stands at one of a call's marks or within the positions that are looked back from it. It writes
from there to the last of its marks; what stands behind that is neither read nor written. Marks with fewer tokens before
them than the model keeps do nothing. What other sessions and other threads left is not counted.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from inspector.replay.analysis.miss_evidence import lifetimes
from inspector.replay.cache.mark_rules import LOOK_BACK, MOST_MARKS, MarkPlacer, MarkRule, PromptEntries
from inspector.replay.cache.prompt_usage import PromptUsage
from inspector.replay.engine.recorded_calls import recorded_calls
from inspector.replay.figure import Figure, HowKnown

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from inspector.replay.engine.prompt_layout import ContextLayout
    from inspector.replay.engine.replay import Replay

    Integers = NDArray[np.int64]

NOWHERE = -1
"""Stands for a mark, or an entry, that is not there."""


@dataclass(frozen=True, slots=True)
class CacheMark:
    """A mark of one call.

    Attributes:
        blocks: How many blocks of the prompt stand before it.
        block: The last of them, block index; -1 where the file shows none: behind the system prompt and the tools.
        tokens: Prompt tokens before it, on the provider's scale.
        is_kept: They reach the model's minimum, so that there is an entry.
    """

    blocks: int
    block: int
    tokens: int
    is_kept: bool


@dataclass(frozen=True, eq=False)
class MarkedCalls:
    """One rule over every call of a session, as columns in call order; equal only to itself.

    Read, written and uncached tokens add up to the prompt, and are 0 for calls that take no marks.

    Attributes:
        rule: Where the marks are put.
        blocks: Per call and mark, how many blocks stand before it, rising, -1 for no mark, int64.
        tokens: Prompt tokens before it, rising, int64.
        is_kept: They reach the model's minimum, bool.
        found: Per call, how many blocks the entry it reads holds, -1 where it reads none, int64.
        read: Tokens read, int64.
        written: Tokens written, int64.
        uncached: Tokens neither read nor written, int64.
        usd: Dollars of the prompts of calls that take marks; None without a price.
    """

    rule: MarkRule
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
        rules: The rules, in the order of `MarkRule`; none where no call takes marks.
        replayed_usd: Dollars of the same prompts as the replay has them; None without a price.
    """

    replay: Replay
    takes_marks: NDArray[np.bool_]
    rules: tuple[MarkedCalls, ...]
    replayed_usd: Figure

    def marks_at(self, found: MarkedCalls, call: int) -> tuple[CacheMark, ...]:
        """The marks of one call, in the order of the prompt; none of a call that takes none.

        Args:
            found: One of `rules`.
            call: The call.
        """
        if not self.takes_marks[call]:
            return ()
        prompt = self.replay.history.prompt(call)
        columns = (found.blocks[call].tolist(), found.tokens[call].tolist(), found.is_kept[call].tolist())
        return tuple(
            CacheMark(blocks, int(prompt[blocks - 1]) if blocks else NOWHERE, tokens, is_kept)
            for blocks, tokens, is_kept in zip(*columns, strict=True)
            if blocks != NOWHERE
        )


def cache_marks(replay: Replay) -> CacheMarks:
    """What every rule's marks would hold in a replay.

    Args:
        replay: The session under a plan.
    """
    inputs, ledger = replay.inputs, replay.ledger
    calls = replay.history.session.calls
    takes = np.array([inputs.cache_models[call.model].takes_marks for call in calls], dtype=np.bool_)
    if not takes.any():
        return CacheMarks(replay, takes, (), Figure(None, HowKnown.PROJECTED))
    usage = PromptUsage(ledger.uncached, ledger.cache_read, ledger.cache_write_5m, ledger.cache_write_1h)
    replayed = float(inputs.rates.cost(usage)[takes].sum())
    placers = [
        MarkPlacer(
            PromptEntries.of(replay.history.kind[each.blocks].tolist(), replay.history.message[each.blocks].tolist())
        )
        for each in inputs.layout.contexts
    ]
    rules = tuple(_marked(replay, takes, placers, rule) for rule in MarkRule)
    return CacheMarks(replay, takes, rules, Figure.of(replayed, replay.figures.cost_usd.known))


def _marked(replay: Replay, takes: NDArray[np.bool_], placers: list[MarkPlacer], rule: MarkRule) -> MarkedCalls:
    inputs, prompt = replay.inputs, replay.ledger.prompt_tokens
    blocks = _placed(replay, takes, placers, rule)
    tokens = _tokens_before(replay, blocks)
    # Where nothing stands before a mark there is nothing to mark.
    blocks = np.where(tokens > 0, blocks, NOWHERE)
    is_kept = (blocks != NOWHERE) & (tokens >= inputs.caches.minimum_prefix[:, np.newaxis])
    found, read = _found(replay, blocks, tokens, is_kept)
    last, last_place = (np.where(is_kept, column, 0).max(axis=1, initial=0) for column in (tokens, blocks))
    # An entry is as long as it was when it was left, whatever the same blocks are measured as now.
    written = np.where(found == last_place, 0, np.maximum(last - read, 0))
    uncached = np.where(takes, prompt - read - written, 0)
    share = inputs.recorded.one_hour_share
    share = np.where(np.isnan(share), inputs.caches.writes_one_hour, share)
    hour = np.rint(written * share).astype(np.int64)
    cost = inputs.rates.cost(PromptUsage(uncached, read, written - hour, hour))
    usd = Figure.of(float(cost[takes].sum()), HowKnown.PROJECTED)
    return MarkedCalls(rule, blocks, tokens, is_kept, found, read, written, uncached, usd)


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

    def forget_behind(self, blocks: int) -> None:
        """Prompts begin with so many blocks that are as they were."""
        kept = bisect_right(self.places, blocks)
        del self.places[kept:], self.tokens[kept:], self.ends[kept:]

    def longest(self, place: int, before: list[int], time: float) -> int:
        """The longest entry found from a mark: its index, -1 for none."""
        at = bisect_right(self.places, place) - 1
        while at >= 0 and before[place] - before[self.places[at]] < LOOK_BACK:
            if not time > self.ends[at]:
                return at
            at -= 1
        return NOWHERE

    def keep(self, place: int, tokens: int, end: float) -> None:
        """There is an entry, now or still."""
        at = bisect_left(self.places, place)
        if at < len(self.places) and self.places[at] == place:
            self.tokens[at], self.ends[at] = tokens, end
        else:
            self.places.insert(at, place)
            self.tokens.insert(at, tokens)
            self.ends.insert(at, end)


def _found(replay: Replay, blocks: Integers, tokens: Integers, is_kept: NDArray[np.bool_]) -> tuple[Integers, Integers]:
    """Per call, how many blocks the entry it reads holds, -1 for none, and its tokens."""
    layout, history = replay.inputs.layout, replay.history
    same = replay.prompt_edits.reusable(layout.previous_blocks).blocks
    models = recorded_calls(history).models.code
    times, expiry = history.call_time[:-1], history.call_time[:-1] + lifetimes(replay)
    kept = [
        [(place, size) for place, size, is_one in zip(*marks, strict=True) if is_one]
        for marks in zip(blocks.tolist(), tokens.tolist(), is_kept.tolist(), strict=True)
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
            held = of_model.setdefault(int(models[call]), _Held([], [], []))
            time, end = float(times[call]), float(expiry[call])
            marks = kept[call]
            entries = [(held.longest(place, before, time), size) for place, size in marks]
            at, most = max(entries, default=(NOWHERE, 0))
            if at != NOWHERE:
                found[call], read[call] = held.places[at], min(held.tokens[at], most)
                held.ends[at] = end
            for place, size in marks:
                held.keep(place, size, end)
    return found, read


def _recorded(context: ContextLayout, count: int) -> list[int]:
    return [call for call in context.calls.tolist() if call < count]
