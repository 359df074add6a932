"""Where every block stands in every prompt: the part of a replay that no plan changes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from inspector.replay.placed_changes import PlacedChanges
from inspector.replay.prompt_columns import PromptColumns

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from inspector.replay.changes import Changes
    from inspector.replay.placed_changes import ReusablePrefix
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

    @cached_property
    def columns(self) -> PromptColumns:
        """The prompts of all contexts end to end."""
        return PromptColumns.of(self.contexts, self.history.call_count + 1, len(self.tokens))

    def previous_in_thread(self) -> NDArray[np.int64]:
        """Per recorded call, the call before it in its thread, whatever the context, -1 for the first. int64."""
        previous = self.previous_call.copy()
        for context in self.contexts:
            if len(context.calls):
                previous[context.calls[0]] = context.call_before
        return previous[:-1]

    @cached_property
    def whole_tokens(self) -> NDArray[np.int64]:
        """Per call, the counted tokens of its prompt with every block whole. int64."""
        columns = self.columns
        return columns.by_call(columns.tokens_before[columns.end])

    @cached_property
    def beside_prompts(self) -> NDArray[np.float64]:
        """Per call, the provider's tokens that the blocks of its prompt take beside their counted ones. float64."""
        columns = self.columns
        return columns.by_call(columns.beside_before[columns.end])

    @cached_property
    def previous_blocks(self) -> NDArray[np.int64]:
        """Per call, how many blocks at its beginning were also first in its thread's previous prompt. int64."""
        columns = self.columns
        return columns.by_call(columns.previous_end - columns.first_place[columns.context])

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
        placed = PlacedChanges.of(self, changes)
        whole = placed.reusable(everything, unbroken=True)
        target = _tokens(whole, ratio) - tail
        # The fewest blocks that take so many tokens lie above `low` and no higher than `high`.
        low, high = np.full_like(everything, -1), whole.blocks
        while bool((high - low > 1).any()):
            middle = (low + high) // 2
            enough = _tokens(placed.reusable(np.maximum(middle, 0), unbroken=True), ratio) >= target
            low, high = np.where(enough, low, middle), np.where(enough, middle, high)
        low = np.maximum(low, 0)
        below, above = (_tokens(placed.reusable(each, unbroken=True), ratio) for each in (low, high))
        return np.where(target - below < above - target, low, high)


def _tokens(prefix: ReusablePrefix, ratio: NDArray[np.float64]) -> NDArray[np.float64]:
    """Per call, the provider's tokens of a prompt's beginning."""
    tokens: NDArray[np.float64] = ratio * (prefix.whole - prefix.removed) + prefix.beside
    return tokens


def _shared(before: NDArray[np.int32], after: NDArray[np.int32]) -> int:
    """How many blocks at the beginning of two prompts are the same."""
    length = min(len(before), len(after))
    differs = np.flatnonzero(before[:length] != after[:length])
    return int(differs[0]) if len(differs) else length
