"""Where every block stands in every prompt: the part of a replay that no plan changes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from inspector.replay.context_ledger import context_sums

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
        carried: How many of them were there when the context began.
        calls: Its calls, int64. The last may be the next one, not yet made.
        prompt_blocks: Per call, how many of `blocks` its prompt holds, int64.
        in_block_order: `blocks` is sorted, so that a block's position can be searched for.
    """

    thread: int
    blocks: NDArray[np.int32]
    tokens: NDArray[np.int32]
    carried: int
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
        first_changed: Block at which it departs from the previous prompt of its context, -1 for none, int32.
        reusable: How many blocks at its beginning a cache could hold, int64.
        shortened: A change stands before the end of what a cache could hold, bool.
        reusable_whole: Tokens, with every block whole, of the blocks at its beginning that a cache could hold, int64.
        reusable_removed: What the plan left out of those blocks, int64.
        edits: Blocks whose rendition changed at this call, int32.
    """

    whole: NDArray[np.int64]
    removed: NDArray[np.int64]
    first_changed: NDArray[np.int32]
    reusable: NDArray[np.int64]
    shortened: NDArray[np.bool_]
    reusable_whole: NDArray[np.int64]
    reusable_removed: NDArray[np.int64]
    edits: NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Layout:
    """All contexts of a session.

    Attributes:
        history: What they are contexts of.
        contexts: In the session's order.
        previous_call: Per call, the call before it in the same context, -1 for the first, int64.
    """

    history: History
    contexts: tuple[ContextLayout, ...]
    previous_call: NDArray[np.int64]

    @classmethod
    def of(cls, history: History, tokens: NDArray[np.int32]) -> Layout:
        """Lay out a session whose blocks have the given tokens."""
        order = np.argsort(history.call_context, kind="stable")
        bounds = np.searchsorted(history.call_context[order], np.arange(len(history.session.contexts) + 1))
        previous = np.full(history.call_count + 1, -1, dtype=np.int64)
        contexts = []
        for index, context in enumerate(history.session.contexts):
            members = history.context_members[index]
            blocks = history.blocks_of(members)
            ends = np.cumsum(history.message_first_block[members + 1] - history.message_first_block[members])
            ends = np.concatenate(([0], ends)).astype(np.int64)
            calls = order[bounds[index] : bounds[index + 1]]
            previous[calls[1:]] = calls[:-1]
            contexts.append(
                ContextLayout(
                    thread=context.thread,
                    blocks=blocks,
                    tokens=tokens[blocks],
                    carried=int(ends[context.carried]),
                    calls=calls,
                    prompt_blocks=ends[history.call_prompt_messages[calls]],
                    in_block_order=bool((members[1:] > members[:-1]).all()),
                )
            )
        return cls(history, tuple(contexts), previous)

    def previous_in_thread(self) -> NDArray[np.int64]:
        """Per recorded call, the call before it in its thread, whatever the context, -1 for the first. int64."""
        previous = self.previous_call.copy()
        last_of_thread: dict[int, int] = {}
        for context in self.contexts:
            if not len(context.calls):
                continue
            previous[context.calls[0]] = last_of_thread.get(context.thread, -1)
            last_of_thread[context.thread] = int(context.calls[-1])
        return previous[:-1]

    def whole_tokens(self) -> NDArray[np.int64]:
        """Per call, the counted tokens of its prompt with every block whole. int64."""
        whole = np.zeros(self.history.call_count + 1, dtype=np.int64)
        for context in self.contexts:
            before = np.concatenate(([0], np.cumsum(context.tokens, dtype=np.int64)))
            whole[context.calls] = before[context.prompt_blocks]
        return whole

    def previous_blocks(self) -> NDArray[np.int64]:
        """Per call, how many blocks the previous prompt of its context held; 0 for the first. int64."""
        blocks = np.zeros(self.history.call_count + 1, dtype=np.int64)
        for context in self.contexts:
            blocks[context.calls[1:]] = context.prompt_blocks[:-1]
        return blocks

    def blocks_within(self, whole_tokens: NDArray[np.float64]) -> NDArray[np.int64]:
        """Per call, how many blocks at its beginning fit in so many counted tokens, to the nearest block. int64."""
        blocks = np.zeros(self.history.call_count + 1, dtype=np.int64)
        for context in self.contexts:
            if len(context.calls) and len(context.blocks):
                before = np.concatenate(([0], np.cumsum(context.tokens, dtype=np.int64)))
                middles = (before[1:] + before[:-1]) / 2
                found = np.searchsorted(middles, whole_tokens[context.calls])
                blocks[context.calls] = np.minimum(found, context.prompt_blocks)
        return blocks

    def sums(self, changes: Changes, cached_blocks: NDArray[np.int64]) -> PromptSums:
        """Prompt sizes and first changes under a plan.

        Args:
            changes: What the plan changes.
            cached_blocks: Per call, how many blocks at its beginning a cache could hold if nothing in them changed.
        """
        count = self.history.call_count + 1
        whole, removed, reusable, reusable_whole, reusable_removed = (np.zeros(count, dtype=np.int64) for _ in range(5))
        first_changed = np.full(count, -1, dtype=np.int32)
        edits = np.zeros(count, dtype=np.int32)
        shortened = np.zeros(count, dtype=bool)
        rows_of_context = self._rows_by_context(changes)
        for context, rows in zip(self.contexts, rows_of_context, strict=True):
            if not len(context.calls):
                continue
            part = self._context_sums(context, changes, rows, cached_blocks)
            calls = context.calls
            whole[calls], removed[calls] = part.whole, part.removed
            reusable[calls] = part.reusable
            reusable_whole[calls], reusable_removed[calls] = part.reusable_whole, part.reusable_removed
            edits[calls] = part.edits
            shortened[calls] = part.reusable < np.minimum(cached_blocks[calls], context.prompt_blocks)
            broken = part.first_changed >= 0
            first_changed[calls[broken]] = context.blocks[part.first_changed[broken]]
        return PromptSums(whole, removed, first_changed, reusable, shortened, reusable_whole, reusable_removed, edits)

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
            first, last = np.searchsorted(calls, (context.calls[0], context.calls[-1] + 1))
            # A change that takes effect between the last call of the context before and this one's first is carried in.
            rows.append(by_call[first:last])
        return rows

    def _context_sums(
        self, context: ContextLayout, changes: Changes, rows: NDArray[np.int64], cached_blocks: NDArray[np.int64]
    ) -> ContextSums:
        positions = context.positions(changes.block[rows])
        here = positions >= 0
        rows, positions = rows[here], positions[here]
        calls = np.searchsorted(context.calls, changes.call[rows])
        removed = (changes.previous_tokens[rows] - changes.tokens[rows]).astype(np.int64)
        carried = np.zeros(len(context.blocks), dtype=np.int64)
        if context.carried and len(context.calls):
            blocks = context.blocks[: context.carried]
            in_force = changes.in_force(int(context.calls[0]) - 1)
            left_out = np.zeros(len(self.history.kind), dtype=np.int64)
            left_out[changes.block[in_force]] = changes.tokens[in_force]
            changed = np.zeros(len(self.history.kind), dtype=bool)
            changed[changes.block[in_force]] = True
            carried[: context.carried] = np.where(
                changed[blocks], context.tokens[: context.carried] - left_out[blocks], 0
            )
        cached = np.minimum(cached_blocks[context.calls], context.prompt_blocks)
        return context_sums(context.tokens, context.prompt_blocks, carried, cached, positions, calls, removed)
