"""A plan's edits in every prompt: tokens removed, and the longest prefix shared with the previous prompt.

All numbers are counted tokens; `ledger` converts them to provider tokens.

The part of a shared prefix that a cache with breakpoints can read.

Without breakpoints, a prompt reads the whole prefix that it shares with earlier prompts. With them, it reads an entry:
a prefix that an earlier request marked, that no edit has changed since, and that ends at most 20 positions before a
breakpoint of this request.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from inspector.replay.cache.agent_breakpoints import (
    LOOKBACK_POSITIONS,
    MAX_PER_REQUEST,
    NOWHERE,
    breakpoints_of_prompts,
)
from inspector.strategies.core.operations import Action

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from inspector.replay.cache.agent_breakpoints import AgentRule
    from inspector.replay.engine.edits import Edits
    from inspector.replay.engine.prompt_layout import ContextLayout, PromptColumns, PromptLayout

    Integers = NDArray[np.int64]


_UNCHANGED = np.iinfo(np.int64).max


@dataclass(frozen=True, eq=False)
class Breakpoints:
    """Breakpoints of all prompts of a session, one row per entry of `PromptColumns.calls`.

    Positions in a prompt are counts of leading blocks, so that they can be compared across the contexts of a thread.

    Attributes:
        applies: True if the call's provider caches at breakpoints, bool.
        everywhere: True if the call's reads are not recorded, so breakpoints decide even without an edit, bool.
        blocks: Per breakpoint, the number of blocks before it, ascending, `NOWHERE` first; shape (calls, 4), int64.
        positions: Cache positions before each of `blocks`, same shape, int64.
        system: Number of blocks before the first message, int64.
        previous: Entry of the thread's previous call, -1 for its first, int64.
        lasting: Number of leading blocks with entries that outlast the pause before the call, and the change of
            context if it is the first of one, int64.
    """

    applies: NDArray[np.bool_]
    everywhere: NDArray[np.bool_]
    blocks: Integers
    positions: Integers
    system: Integers
    previous: Integers
    lasting: Integers

    @classmethod
    def of(
        cls,
        layout: PromptLayout,
        rule: AgentRule,
        uses_breakpoints: NDArray[np.bool_],
        follows: NDArray[np.bool_],
        expired: NDArray[np.bool_],
        recorded: Mapping[int, Integers],
    ) -> Breakpoints:
        """Place the breakpoints of every call.

        Args:
            rule: The rule for requests that are not recorded.
            uses_breakpoints: Per call, True if its provider caches at breakpoints; the next call is like the last one.
            follows: Per call, True if its reads without an edit are known to follow the agent's breakpoints.
            expired: Per call, True if entries of the previous call have expired.
            recorded: Breakpoints of recorded requests by call, as ascending block counts.
        """
        columns, kind, message = layout.columns, layout.history.kind, layout.history.message
        count = len(columns.calls)
        blocks = np.full((count, MAX_PER_REQUEST), NOWHERE, dtype=np.int64)
        positions = np.zeros_like(blocks)
        previous = np.arange(count, dtype=np.int64) - 1
        last_of_thread: dict[int, int] = {}
        for context, entry in zip(layout.contexts, columns.first_call.tolist(), strict=False):
            if not len(context.calls):
                continue
            marks = breakpoints_of_prompts(rule, kind[context.blocks], message[context.blocks], context.prompt_blocks)
            for row, call in enumerate(context.calls.tolist() if recorded else ()):
                if call in recorded:
                    given = recorded[call][-MAX_PER_REQUEST:]
                    marks[row] = NOWHERE
                    marks[row, MAX_PER_REQUEST - len(given) :] = given
            here = slice(entry, entry + len(marks))
            blocks[here] = marks
            positions[here] = layout.positions_before(context)[np.maximum(marks, 0)]
            previous[entry] = last_of_thread.get(context.thread, -1)
            last_of_thread[context.thread] = entry + len(marks) - 1
        last = bool(uses_breakpoints[-1]) if len(uses_breakpoints) else False
        applies = columns.of_calls(np.append(uses_breakpoints, last))
        is_first = np.zeros(count, dtype=np.bool_)
        is_first[columns.first_call[:-1][np.diff(columns.first_call) > 0]] = True
        shared = columns.previous_end - columns.first_place[columns.context]
        lasting = np.where(is_first, shared, _UNCHANGED)
        return cls(
            applies=applies,
            everywhere=columns.of_calls(np.append(~follows, False)) & applies,
            blocks=blocks,
            positions=positions,
            system=layout.system_blocks[columns.context],
            previous=previous,
            lasting=np.where(columns.of_calls(np.append(expired, False)), NOWHERE, lasting),
        )


def readable_blocks(
    breakpoints: Breakpoints, changed: Integers, unchanged: Integers, limited: NDArray[np.bool_]
) -> Integers:
    """Return the number of leading blocks that each prompt reads from the cache; -1 if no entry is in reach.

    Args:
        changed: Per entry of `PromptColumns.calls`, the number of blocks before the first edited block that it shares
            with the previous prompt; the largest integer if there is none.
        unchanged: Per entry, the number of leading blocks that are unchanged and were cached.
        limited: Per entry, True if breakpoints decide what is read.
    """
    reads = unchanged.copy()
    rows = np.flatnonzero(limited & breakpoints.applies)
    if not len(rows):
        return reads
    blocks, positions = breakpoints.blocks, breakpoints.positions
    # A breakpoint before the first message is in every request of the thread, so its entry is always there.
    before_messages = np.where(blocks <= breakpoints.system[:, np.newaxis], blocks, NOWHERE).max(axis=1)
    fixed = before_messages[rows]
    is_repeated = (breakpoints.previous[rows] >= 0) & (fixed <= unchanged[rows])
    best = np.where(is_repeated, fixed, NOWHERE)
    lasting = np.minimum(breakpoints.lasting, changed)
    intact = np.minimum(unchanged[rows], breakpoints.lasting[rows])
    own, own_positions = blocks[rows], positions[rows]
    nearest = np.where(own > fixed[:, np.newaxis], own_positions, _UNCHANGED).min(axis=1)
    active = np.arange(len(rows))
    entries = rows
    while len(active):
        earlier = breakpoints.previous[entries]
        inside = earlier >= 0
        active, entries = active[inside], earlier[inside]
        marks, at = blocks[entries], positions[entries]
        in_reach = np.zeros_like(marks, dtype=np.bool_)
        for column in range(MAX_PER_REQUEST):
            mark, place = own[active, column, np.newaxis], own_positions[active, column, np.newaxis]
            in_reach |= (mark >= marks) & (place - at < LOOKBACK_POSITIONS)
        is_intact = (marks != NOWHERE) & (marks <= intact[active, np.newaxis])
        found = np.where(is_intact & in_reach, marks, NOWHERE).max(axis=1, initial=NOWHERE)
        best[active] = np.maximum(best[active], found)
        # Requests grow within a context, so older entries are shorter and further away.
        newest, newest_at = marks.max(axis=1, initial=NOWHERE), at.max(axis=1, initial=0)
        goes_on = (best[active] < np.minimum(newest, intact[active])) & (
            nearest[active] - newest_at < LOOKBACK_POSITIONS
        )
        intact[active] = np.minimum(intact[active], lasting[entries])
        active, entries = active[goes_on], entries[goes_on]
    reads[rows] = best
    return reads


Weight = TypeVar("Weight", np.int64, np.float64)


def prefix_sums(
    rows: NDArray[np.int64],
    weights: NDArray[Weight],
    query_counts: NDArray[np.int64],
    query_rows: NDArray[np.int64],
) -> NDArray[Weight]:
    """Return, for every query `(n, r)`, the sum of the first `n` weights with a row below `r`.

    Walks a wavelet matrix for all queries together: one stable partition and one running sum for every bit of the
    largest row. The work is (points + queries) times bits, all of it in numpy.

    Args:
        rows: Row of each point, 0 or more, in the order of the points' other coordinate.
        weights: Weight of each point.
        query_counts: Number of leading points of each query.
        query_rows: Exclusive upper bound on the row of each query.

    Returns:
        One sum per query.
    """
    result = np.zeros(len(query_counts), dtype=weights.dtype)
    if not len(rows) or not len(query_counts):
        return result
    bits = int(rows.max()).bit_length()
    beyond = query_rows >= (1 << bits)
    running = np.concatenate((np.zeros(1, dtype=weights.dtype), np.cumsum(weights, dtype=weights.dtype)))
    result[beyond] = running[query_counts[beyond]]
    first = np.zeros(len(query_counts), dtype=np.int64)
    last = np.where(beyond, 0, query_counts)
    for bit in range(bits - 1, -1, -1):
        is_one = (rows >> bit & 1).astype(bool)
        zeros_before = np.concatenate(([0], np.cumsum(~is_one)))
        zero_weight = np.cumsum(np.where(is_one, 0, weights), dtype=weights.dtype)
        zero_weight = np.concatenate((np.zeros(1, dtype=weights.dtype), zero_weight))
        takes_ones = (query_rows >> bit & 1).astype(bool)
        # Points with bit 0 where the query has 1 are below it, regardless of their lower bits.
        result += np.where(takes_ones, zero_weight[last] - zero_weight[first], 0)
        zero_count = zeros_before[-1]
        first_zeros, last_zeros = zeros_before[first], zeros_before[last]
        first = np.where(takes_ones, zero_count + first - first_zeros, first_zeros)
        last = np.where(takes_ones, zero_count + last - last_zeros, last_zeros)
        order = np.concatenate((np.flatnonzero(~is_one), np.flatnonzero(is_one)))
        rows, weights = rows[order], weights[order]
    return result


@dataclass(frozen=True, eq=False, slots=True)
class ReusablePrefix:
    """The cacheable prefix of every prompt, per call including the next one.

    Attributes:
        blocks: Number of blocks, int64.
        shortened: An edit precedes the end of the recorded cacheable prefix, bool.
        lengthened: More of the recorded prompt is cacheable, because the plan had already removed the blocks that the
            new context drops, bool.
        whole: Tokens with every block whole, int64.
        removed: Tokens the plan removed from it, int64.
        uncounted: Provider tokens of its blocks beyond their counted ones, float64.
        unread: No cache entry is in reach, not even that of the system prompt, bool.
    """

    blocks: NDArray[np.int64]
    shortened: NDArray[np.bool_]
    lengthened: NDArray[np.bool_]
    whole: NDArray[np.int64]
    removed: NDArray[np.int64]
    uncounted: NDArray[np.float64]
    unread: NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class PromptEdits:
    """The edits of one plan in all prompts of a session, sorted by context, then call.

    Attributes:
        place: Per edit and context, the place of its block, int64.
        entry: Index in `PromptColumns.calls` of the first call with the edit, int64.
        tokens: Tokens it removes, negative if it restores or adds some, int64.
    """

    layout: PromptLayout
    edits: Edits
    place: NDArray[np.int64]
    entry: NDArray[np.int64]
    tokens: NDArray[np.int64]

    @classmethod
    def of(cls, layout: PromptLayout, edits: Edits) -> PromptEdits:
        """Locate edits in the prompts.

        An edit takes effect at a call of its block's thread or, if the strategy named a call of another thread, at the
        thread's next call. An edit between the last call of a context and the first of the thread's next context takes
        effect at the latter.
        """
        columns = layout.columns
        by_call = edits.by_call
        first, behind = np.searchsorted(edits.call[by_call], (columns.begins, columns.last_calls + 1))
        counts = np.maximum(behind - first, 0)
        context = np.repeat(np.arange(len(counts)), counts)
        rows = by_call[np.arange(len(context)) + (first - np.cumsum(counts) + counts)[context]]
        place = columns.places(context, edits.block[rows])
        if not (here := place >= 0).all():
            rows, context, place = rows[here], context[here], place[here]
        tokens = (edits.previous_tokens[rows] - edits.tokens[rows]).astype(np.int64)
        if edits.removes_blocks:
            tokens += edits.removals[rows] * layout.envelopes[edits.block[rows]]
        return cls(layout, edits, place, columns.entries(context, edits.call[rows]), tokens)

    @cached_property
    def removed(self) -> NDArray[np.int64]:
        """Per call, tokens the plan removed from its prompt, negative if it added. int64."""
        columns = self._columns
        removed = self._tokens_before[self._made[1:]] - self._tokens_before[self._made_before_context]
        if self._removed_before_context is not None:
            removed = removed + self._removed_before_context[columns.end]
        return columns.by_call(removed)

    @cached_property
    def first_changed(self) -> NDArray[np.int32]:
        """Per call, the first edited block among those shared with its thread's previous prompt, -1 for none."""
        place = self._first_changed
        block = np.where(place >= 0, self._columns.block[place], -1).astype(np.int32)
        return self._columns.by_call(block, otherwise=-1)

    @cached_property
    def edited_blocks(self) -> NDArray[np.int32]:
        """Number of blocks with a new rendition, per call. int32."""
        count = len(self._columns.calls)
        return self._columns.by_call(np.bincount(self.entry, minlength=count).astype(np.int32))

    def reusable(
        self, cached_blocks: NDArray[np.int64], *, unbroken: bool = False, breakpoints: Breakpoints | None = None
    ) -> ReusablePrefix:
        """Compute the cacheable prefix of every prompt.

        Args:
            cached_blocks: Per call, number of leading blocks in the cache if nothing in them changed.
            unbroken: Ignore edits, to get the prefixes that would be cached if edits invalidated nothing.
            breakpoints: Where requests ask for cache entries; None if every shared prefix can be read.
        """
        columns = self._columns
        begin = columns.first_place[columns.context]
        cached = np.minimum(begin + columns.of_calls(cached_blocks), columns.end)
        changed = self._first_changed
        ends = cached.copy() if unbroken else np.where((changed >= 0) & (changed < cached), changed, cached)
        lengthened = np.zeros(len(ends), dtype=bool)
        for entry, alike in self._alike(cached - begin).items():
            lengthened[entry] = True
            ends[entry] = max(int(ends[entry]), int(begin[entry]) + alike)
        unread = np.zeros(len(ends), dtype=bool)
        if breakpoints is not None:
            limited = breakpoints.everywhere | ((ends < cached) & ~lengthened)
            before_change = np.where((changed < 0) | unbroken, np.iinfo(np.int64).max, changed - begin)
            blocks = readable_blocks(breakpoints, before_change, ends - begin, limited)
            ends, unread = begin + np.maximum(blocks, 0), blocks < 0
        removed = self._removed_before(ends)
        return ReusablePrefix(
            blocks=columns.by_call(ends - begin),
            shortened=columns.by_call(ends < cached),
            lengthened=columns.by_call(lengthened),
            whole=columns.by_call(columns.tokens_before[ends]),
            removed=columns.by_call(removed),
            uncounted=columns.by_call(columns.uncounted_before[ends]),
            unread=columns.by_call(unread),
        )

    def sent_before(self, blocks: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return the tokens of each prompt's first `blocks`, with the next call: counted, and provider beyond."""
        columns = self._columns
        ends = np.minimum(columns.first_place[columns.context] + columns.of_calls(blocks), columns.end)
        sent = columns.tokens_before[ends] - self._removed_before(ends)
        return columns.by_call(sent), columns.by_call(columns.uncounted_before[ends])

    @property
    def _columns(self) -> PromptColumns:
        return self.layout.columns

    @cached_property
    def _tokens_before(self) -> NDArray[np.int64]:
        """Running sum of tokens removed: entry `i` covers the edits before `i`."""
        return np.concatenate(([0], np.cumsum(self.tokens)))

    @cached_property
    def _changes_before(self) -> NDArray[np.int64]:
        """Per place, the number of edits to blocks before it, with a final total."""
        counts = np.bincount(self.place, minlength=len(self._columns.block))
        return np.concatenate(([0], np.cumsum(counts)))

    @cached_property
    def _made(self) -> NDArray[np.int64]:
        """Running count of edits: entry `i` covers the first `i` entries of `calls`."""
        counts = np.bincount(self.entry, minlength=len(self._columns.calls))
        return np.concatenate(([0], np.cumsum(counts)))

    @cached_property
    def _made_before_context(self) -> NDArray[np.int64]:
        """Per entry of `calls`, the number of edits in earlier contexts."""
        made: NDArray[np.int64] = self._made[self._columns.first_call[self._columns.context]]
        return made

    @cached_property
    def _first_changed(self) -> NDArray[np.int64]:
        """Per entry of `calls`, the place of the first block edited since the prompt whose cache entry it can read."""
        first = np.full(len(self._columns.calls), -1, dtype=np.int64)
        # A block that is new in this prompt cannot invalidate the cached prefix of earlier prompts.
        earlier = np.flatnonzero(self.place < self._columns.previous_end[self.entry])
        if len(earlier):
            entry = self.entry[earlier]
            starts = np.flatnonzero(np.append(True, entry[1:] != entry[:-1]))
            first[entry[starts]] = np.minimum.reduceat(self.place[earlier], starts)
        previous = self._columns.previous
        for each in np.flatnonzero((previous >= 0) & (previous < np.arange(len(first)) - 1)) if len(self.place) else ():
            first[each] = self._first_changed_since(int(previous[each]), int(each))
        return first

    def _first_changed_since(self, before: int, entry: int) -> int:
        """Return the place of the first block that differs between two prompts with others in between, -1 for none."""
        columns, edits = self._columns, self.edits
        made = np.unique(self.place[self._made[before + 1] : self._made[entry + 1]])
        made = made[made < columns.previous_end[entry]]
        blocks = columns.block[made].astype(np.int32)
        then, now = (edits.stack_of(edits.rows(blocks, int(columns.calls[each]))) for each in (before, entry))
        changed = made[then != now]
        return int(changed[0]) if len(changed) else -1

    def _removed_before(self, ends: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the tokens removed before a place, per entry of `calls`, including carried edits."""
        removed = self._left_out_before(ends)
        return removed if self._removed_before_context is None else removed + self._removed_before_context[ends]

    def _left_out_before(self, ends: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the tokens removed before a place by edits made by then, per entry of `calls`."""
        made, before = self._made[1:], self._made_before_context
        falls = np.flatnonzero(self.place[1:] < self.place[:-1])
        if not len(falls):
            # Blocks are edited in sent order, so one running sum respects both bounds.
            until = np.minimum(made, self._changes_before[ends])
            return self._tokens_before[until] - self._tokens_before[before]
        columns = self._columns
        is_mixed = np.zeros(len(columns.first_place), dtype=bool)
        is_mixed[columns.context[self.entry[falls]]] = True
        edits, asked = is_mixed[columns.context[self.entry]], is_mixed[columns.context]
        left_out = np.zeros(len(ends), dtype=np.int64)
        left_out[~asked] = self._sums(~edits, made[~asked], before[~asked], ends[~asked], is_mixed=False)
        left_out[asked] = self._sums(edits, made[asked], before[asked], ends[asked], is_mixed=True)
        return left_out

    def _sums(
        self,
        chosen: NDArray[np.bool_],
        made: NDArray[np.int64],
        before: NDArray[np.int64],
        ends: NDArray[np.int64],
        *,
        is_mixed: bool,
    ) -> NDArray[np.int64]:
        """Sum the tokens removed before places by the chosen edits with indices from `before` to `made`."""
        place, tokens = self.place[chosen], self.tokens[chosen]
        count = np.concatenate(([0], np.cumsum(chosen)))
        running = np.concatenate(([0], np.cumsum(tokens)))
        if is_mixed:
            until = prefix_sums(place, tokens, count[made], ends)
        else:
            until = running[np.minimum(count[made], np.searchsorted(place, ends))]
        sums: NDArray[np.int64] = until - running[count[before]]
        return sums

    @cached_property
    def _removed_before_context(self) -> NDArray[np.int64] | None:
        """Per place, tokens already removed before it when its context began; None if there are none."""
        if not len(self.edits.block):
            return None
        columns, edits, layout = self._columns, self.edits, self.layout
        removed: NDArray[np.int64] | None = None
        for context, first in zip(layout.contexts, columns.first_place.tolist(), strict=True):
            if not context.retained or not len(context.calls):
                continue
            blocks = context.blocks[: context.retained]
            rows = edits.rows(blocks, context.call_before)
            changed = np.flatnonzero(rows >= 0)
            if not len(changed):
                continue
            rows, blocks = rows[changed], blocks[changed]
            if removed is None:
                removed = np.zeros(len(columns.block), dtype=np.int64)
            left_out = np.zeros(len(context.blocks), dtype=np.int64)
            left_out[changed] = layout.tokens[blocks] - edits.tokens[rows]
            left_out[changed] += (edits.action[rows] == Action.REMOVED) * layout.envelopes[blocks]
            removed[first + 1 : first + 1 + len(left_out)] = np.cumsum(left_out)
        return removed

    def _alike(self, cached: NDArray[np.int64]) -> dict[int, int]:
        """Count the blocks shared with the previous prompt for first calls of contexts that match it only as edited.

        Where these are no more than were recorded, or the provider's cache held less than it could have, there is none.
        """
        if not self.edits.removes_blocks:
            return {}
        found: dict[int, int] = {}
        last_of_thread: dict[int, ContextLayout] = {}
        for context, entry in zip(self.layout.contexts, self._columns.first_call.tolist(), strict=False):
            if not len(context.calls):
                continue
            before, last_of_thread[context.thread] = last_of_thread.get(context.thread), context
            prompt = int(context.prompt_blocks[0])
            shared = min(context.shared, prompt)
            if before is None or context.retained <= shared or cached[entry] < shared:
                continue
            earlier = before.blocks[: int(before.prompt_blocks[-1])]
            later = int(context.calls[0]), context.blocks[:prompt]
            alike = shared_prefix(self.edits, (context.call_before, earlier), later)
            if alike > shared:
                found[entry] = alike
        return found


def shared_prefix(
    edits: Edits,
    before: tuple[int, NDArray[np.int32]],
    after: tuple[int, NDArray[np.int32]],
) -> int:
    """Count the leading blocks of a prompt that match the previous prompt, ignoring removed blocks.

    A compaction that keeps the newest messages and drops the ones before shares nothing with the recorded previous
    prompt. If the plan had already removed exactly these messages, both prompts have the same prefix, and a cache entry
    written for one serves the other.

    Args:
        before: The earlier call, and the block indices of its prompt, int32.
        after: The later one's.
    """
    sent_before, rows_before, _ = _sent(edits, *before)
    sent_after, rows_after, places = _sent(edits, *after)
    length = min(len(sent_before), len(sent_after))
    differs = (sent_before[:length] != sent_after[:length]) | (rows_before[:length] != rows_after[:length])
    alike = int(np.argmax(differs)) if differs.any() else length
    return int(places[alike - 1]) + 1 if alike else 0


def _sent(
    edits: Edits, call: int, blocks: NDArray[np.int32]
) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int64]]:
    """Return the blocks of a prompt that are not removed, the rows in force for them, and their places."""
    in_force = edits.in_force(call)
    found = np.searchsorted(edits.block[in_force], blocks)
    rows = np.append(in_force, -1)[found]
    rows = np.where(np.append(edits.block, -1)[rows] == blocks, rows, -1)
    action = np.append(edits.action, np.uint8(Action.WHOLE))
    places = np.flatnonzero((rows < 0) | (action[rows] != Action.REMOVED))
    # A restored block is the same as one that never changed.
    rows = np.where(action[rows] == Action.WHOLE, -1, rows)
    return blocks[places], rows[places], places
