"""Where every block stands in every prompt: the part of a replay that no plan changes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from inspector.replay.context_ledger import context_sums
from inspector.replay.realignment import blocks_alike
from inspector.strategies.rendition import Action

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from inspector.replay.changes import Changes
    from inspector.replay.context_ledger import ContextSums
    from inspector.strategies.history import History


@dataclass(frozen=True, eq=False, slots=True)
class ContextLayout:
    """One context.

    Attributes:
        thread: Its thread.
        blocks: Block indices in the order they are sent, int32.
        tokens: Their tokens, whole, int32.
        beside: Provider's tokens that the first so many blocks take beside their counted ones, float64, one longer.
        carried: How many of them were there when the context began.
        shared: How many of them, from the first, were also first in the thread's prompt before the context's first.
        call_before: That prompt's call, -1 for none.
        calls: Its calls, int64. The last may be the next one, not yet made.
        prompt_blocks: Per call, how many of `blocks` its prompt holds, int64.
        in_block_order: `blocks` is sorted, so that a block's position can be searched for.
    """

    thread: int
    blocks: NDArray[np.int32]
    tokens: NDArray[np.int32]
    beside: NDArray[np.float64]
    carried: int
    shared: int
    call_before: int
    calls: NDArray[np.int64]
    prompt_blocks: NDArray[np.int64]
    in_block_order: bool

    def positions(self, blocks: NDArray[np.int32]) -> NDArray[np.int64]:
        """Position in the context of each given block, -1 for those that are not in it."""
        if not len(self.blocks):
            return np.full(len(blocks), -1, dtype=np.int64)
        if self.in_block_order:
            found = np.searchsorted(self.blocks, blocks)
            places = np.minimum(found, len(self.blocks) - 1)
            return np.where(self.blocks[places] == blocks, places, -1)
        order = np.argsort(self.blocks, kind="stable")
        found = np.searchsorted(self.blocks, blocks, sorter=order)
        places = order[np.minimum(found, len(self.blocks) - 1)]
        return np.where(self.blocks[places] == blocks, places, -1)


@dataclass(frozen=True, eq=False, slots=True)
class PromptSums:
    """Per call, the next one included, in counted tokens.

    Attributes:
        whole: The prompt with every block whole, int64.
        removed: What the plan left out of it, int64.
        first_changed: Block the plan changed among those it shares with its thread's previous prompt, the first of
            them, -1 for none, int32.
        reusable: How many blocks at its beginning a cache could hold, int64.
        shortened: A change stands before the end of what a cache could hold, bool.
        lengthened: A cache could hold more than of what was recorded, because the plan had left out before what the
            new context leaves out, bool.
        reusable_whole: Tokens, with every block whole, of the blocks at its beginning that a cache could hold, int64.
        reusable_removed: What the plan left out of those blocks, int64.
        reusable_beside: Provider's tokens that those blocks take beside their counted ones, float64.
        edits: Blocks whose rendition changed at this call, int32.
    """

    whole: NDArray[np.int64]
    removed: NDArray[np.int64]
    first_changed: NDArray[np.int32]
    reusable: NDArray[np.int64]
    shortened: NDArray[np.bool_]
    lengthened: NDArray[np.bool_]
    reusable_whole: NDArray[np.int64]
    reusable_removed: NDArray[np.int64]
    reusable_beside: NDArray[np.float64]
    edits: NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Layout:
    """All contexts of a session.

    Attributes:
        history: What they are contexts of.
        contexts: In the session's order.
        previous_call: Per call, the call before it in the same context, -1 for the first, int64.
        tokens: Per block, counted tokens, whole, int32.
        envelopes: Per block, counted tokens that go with it when it is removed, beside its own, int64.
    """

    history: History
    contexts: tuple[ContextLayout, ...]
    previous_call: NDArray[np.int64]
    tokens: NDArray[np.int32]
    envelopes: NDArray[np.int64]

    @classmethod
    def of(cls, history: History, tokens: NDArray[np.int32]) -> Layout:
        """Lay out a session whose blocks have the given tokens and take nothing beside them."""
        order = np.argsort(history.call_context, kind="stable")
        bounds = np.searchsorted(history.call_context[order], np.arange(len(history.session.contexts) + 1))
        previous = np.full(history.call_count + 1, -1, dtype=np.int64)
        contexts: list[ContextLayout] = []
        last_of_thread: dict[int, ContextLayout] = {}
        for index, context in enumerate(history.session.contexts):
            members = history.context_members[index]
            blocks = history.blocks_of(members)
            ends = np.cumsum(history.message_first_block[members + 1] - history.message_first_block[members])
            ends = np.concatenate(([0], ends)).astype(np.int64)
            calls = order[bounds[index] : bounds[index + 1]]
            previous[calls[1:]] = calls[:-1]
            before = last_of_thread.get(context.thread)
            contexts.append(
                ContextLayout(
                    thread=context.thread,
                    blocks=blocks,
                    tokens=tokens[blocks],
                    beside=np.zeros(len(blocks) + 1),
                    carried=int(ends[context.carried]),
                    shared=0 if before is None else _shared(before.blocks[: before.prompt_blocks[-1]], blocks),
                    call_before=-1 if before is None else int(before.calls[-1]),
                    calls=calls,
                    prompt_blocks=ends[history.call_prompt_messages[calls]],
                    in_block_order=bool((members[1:] > members[:-1]).all()),
                )
            )
            if len(calls):
                last_of_thread[context.thread] = contexts[-1]
        return cls(history, tuple(contexts), previous, tokens, np.zeros(len(tokens), dtype=np.int64))

    def with_beside(self, beside: NDArray[np.float64], ratio: float) -> Layout:
        """The same, with what every block takes beside its counted tokens.

        Args:
            beside: Per block, the provider's tokens, float64.
            ratio: The provider's tokens for one counted token.
        """
        contexts = tuple(
            replace(context, beside=np.concatenate(([0.0], np.cumsum(beside[context.blocks]))))
            for context in self.contexts
        )
        return replace(self, contexts=contexts, envelopes=np.rint(beside / ratio).astype(np.int64))

    def previous_in_thread(self) -> NDArray[np.int64]:
        """Per recorded call, the call before it in its thread, whatever the context, -1 for the first. int64."""
        previous = self.previous_call.copy()
        for context in self.contexts:
            if len(context.calls):
                previous[context.calls[0]] = context.call_before
        return previous[:-1]

    def whole_tokens(self) -> NDArray[np.int64]:
        """Per call, the counted tokens of its prompt with every block whole. int64."""
        whole = np.zeros(self.history.call_count + 1, dtype=np.int64)
        for context in self.contexts:
            before = np.concatenate(([0], np.cumsum(context.tokens, dtype=np.int64)))
            whole[context.calls] = before[context.prompt_blocks]
        return whole

    def beside_prompts(self) -> NDArray[np.float64]:
        """Per call, the provider's tokens that the blocks of its prompt take beside their counted ones. float64."""
        beside = np.zeros(self.history.call_count + 1)
        for context in self.contexts:
            beside[context.calls] = context.beside[context.prompt_blocks]
        return beside

    def previous_blocks(self) -> NDArray[np.int64]:
        """Per call, how many blocks at its beginning were also first in its thread's previous prompt. int64."""
        blocks = np.zeros(self.history.call_count + 1, dtype=np.int64)
        for context in self.contexts:
            blocks[context.calls[1:]] = context.prompt_blocks[:-1]
            blocks[context.calls[:1]] = np.minimum(context.shared, context.prompt_blocks[:1])
        return blocks

    def blocks_before(
        self, tail: NDArray[np.float64], ratio: NDArray[np.float64], changes: Changes
    ) -> NDArray[np.int64]:
        """Per call, how many blocks of its prompt come before its last so many tokens, to the nearest block. int64.

        Args:
            tail: Per call, the provider's tokens at the end of its prompt.
            ratio: Per call, the provider's tokens for one counted token.
            changes: How its blocks are sent.
        """
        if len(changes.block):
            return self._blocks_before_changed(tail, ratio, changes)
        blocks = np.zeros(self.history.call_count + 1, dtype=np.int64)
        for context in self.contexts:
            if not len(context.calls) or not len(context.blocks):
                continue
            counted = np.concatenate(([0], np.cumsum(context.tokens, dtype=np.int64)))
            for each in np.unique(ratio[context.calls]).tolist():
                calls = context.calls[ratio[context.calls] == each]
                prompt_blocks = context.prompt_blocks[ratio[context.calls] == each]
                ends = np.maximum.accumulate(each * counted + context.beside)
                middles = (ends[1:] + ends[:-1]) / 2
                found = np.searchsorted(middles, ends[prompt_blocks] - tail[calls])
                blocks[calls] = np.minimum(found, prompt_blocks)
        return blocks

    def _blocks_before_changed(
        self, tail: NDArray[np.float64], ratio: NDArray[np.float64], changes: Changes
    ) -> NDArray[np.int64]:
        """The same where blocks are not sent whole: their sizes differ from call to call, so ends are searched for."""
        everything = np.full(self.history.call_count + 1, len(self.tokens), dtype=np.int64)
        whole = self.sums(changes, everything, unbroken=True)
        target = _begins(whole, ratio) - tail
        # The fewest blocks that take so many tokens lie above `low` and no higher than `high`.
        low, high = np.full_like(everything, -1), whole.reusable
        while bool((high - low > 1).any()):
            middle = (low + high) // 2
            enough = _begins(self.sums(changes, np.maximum(middle, 0), unbroken=True), ratio) >= target
            low, high = np.where(enough, low, middle), np.where(enough, middle, high)
        low = np.maximum(low, 0)
        below, above = (_begins(self.sums(changes, each, unbroken=True), ratio) for each in (low, high))
        return np.where(target - below < above - target, low, high)

    def sums(self, changes: Changes, cached_blocks: NDArray[np.int64], *, unbroken: bool = False) -> PromptSums:
        """Prompt sizes and first changes under a plan.

        Args:
            changes: What the plan changes.
            cached_blocks: Per call, how many blocks at its beginning a cache could hold if nothing in them changed.
            unbroken: Let a cache hold them though something in them changed: what prompts would be served from if
                changes broke nothing.
        """
        count = self.history.call_count + 1
        reusable_beside = np.zeros(count)
        whole, removed, reusable, reusable_whole, reusable_removed = (np.zeros(count, dtype=np.int64) for _ in range(5))
        first_changed = np.full(count, -1, dtype=np.int32)
        edits = np.zeros(count, dtype=np.int32)
        shortened, lengthened = (np.zeros(count, dtype=bool) for _ in range(2))
        rows_of_context = self._rows_by_context(changes)
        last_of_thread: dict[int, ContextLayout] = {}
        for context, rows in zip(self.contexts, rows_of_context, strict=True):
            if not len(context.calls):
                continue
            before, last_of_thread[context.thread] = last_of_thread.get(context.thread), context
            calls = context.calls
            alike = 0 if before is None else _alike(changes, before, context, int(cached_blocks[calls[0]]))
            part = self._context_sums(context, changes, rows, cached_blocks, alike, unbroken=unbroken)
            lengthened[calls[0]] = alike > 0
            whole[calls], removed[calls] = part.whole, part.removed
            reusable[calls] = part.reusable
            reusable_whole[calls], reusable_removed[calls] = part.reusable_whole, part.reusable_removed
            reusable_beside[calls] = context.beside[part.reusable]
            edits[calls] = part.edits
            shortened[calls] = part.reusable < np.minimum(cached_blocks[calls], context.prompt_blocks)
            broken = part.first_changed >= 0
            first_changed[calls[broken]] = context.blocks[part.first_changed[broken]]
        return PromptSums(
            whole,
            removed,
            first_changed,
            reusable,
            shortened,
            lengthened,
            reusable_whole,
            reusable_removed,
            reusable_beside,
            edits,
        )

    def _rows_by_context(self, changes: Changes) -> list[NDArray[np.int64]]:
        """Rows of `changes` that take effect within each context, sorted by call.

        A change is due at a call of its block's thread or, where a strategy named another, at the thread's next one.
        """
        by_call = changes.by_call
        if len(self.contexts) == 1:
            return [by_call]
        calls = changes.call[by_call]
        rows = []
        for context in self.contexts:
            if not len(context.calls):
                rows.append(by_call[:0])
                continue
            # A change made between the last call of the context before and the first of this one is seen at that.
            begins = context.calls[0] if context.call_before < 0 else context.call_before + 1
            first, last = np.searchsorted(calls, (begins, context.calls[-1] + 1))
            rows.append(by_call[first:last])
        return rows

    def _context_sums(
        self,
        context: ContextLayout,
        changes: Changes,
        rows: NDArray[np.int64],
        cached_blocks: NDArray[np.int64],
        alike: int,
        *,
        unbroken: bool,
    ) -> ContextSums:
        positions = context.positions(changes.block[rows])
        here = positions >= 0
        rows, positions = rows[here], positions[here]
        calls = np.searchsorted(context.calls, changes.call[rows])
        removed = (changes.previous_tokens[rows] - changes.tokens[rows]).astype(np.int64)
        if changes.removes_blocks:
            removed += changes.removals[rows] * self.envelopes[changes.block[rows]]
        carried = np.zeros(len(context.blocks), dtype=np.int64)
        if context.carried and len(context.calls):
            blocks = context.blocks[: context.carried]
            in_force = changes.in_force(context.call_before)
            changed = changes.block[in_force]
            left_out = np.zeros(len(self.history.kind), dtype=np.int64)
            left_out[changed] = self.tokens[changed] - changes.tokens[in_force]
            left_out[changed] += (changes.action[in_force] == Action.REMOVED) * self.envelopes[changed]
            carried[: context.carried] = left_out[blocks]
        cached = np.minimum(cached_blocks[context.calls], context.prompt_blocks)
        return context_sums(
            context.tokens,
            context.prompt_blocks,
            min(context.shared, int(context.prompt_blocks[0])),
            carried,
            cached,
            positions,
            calls,
            removed,
            alike,
            unbroken=unbroken,
        )


def _begins(sums: PromptSums, ratio: NDArray[np.float64]) -> NDArray[np.float64]:
    """Per call, the provider's tokens of the blocks at its beginning that `sums` takes a cache to hold."""
    begins: NDArray[np.float64] = ratio * (sums.reusable_whole - sums.reusable_removed) + sums.reusable_beside
    return begins


def _alike(changes: Changes, before: ContextLayout, context: ContextLayout, cached: int) -> int:
    """How many blocks at its beginning a context's first prompt shares with the one before it under a plan.

    0 where these are no more than were recorded, or the provider's cache held less than it could have.
    """
    prompt = int(context.prompt_blocks[0])
    shared = min(context.shared, prompt)
    if not changes.removes_blocks or context.carried <= shared or cached < shared:
        return 0
    earlier = before.blocks[: int(before.prompt_blocks[-1])]
    alike = blocks_alike(changes, (context.call_before, earlier), (int(context.calls[0]), context.blocks[:prompt]))
    return alike if alike > shared else 0


def _shared(before: NDArray[np.int32], after: NDArray[np.int32]) -> int:
    """How many blocks at the beginning of two prompts are the same."""
    length = min(len(before), len(after))
    differs = np.flatnonzero(before[:length] != after[:length])
    return int(differs[0]) if len(differs) else length
