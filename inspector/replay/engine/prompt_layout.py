"""Place of every block in every prompt: the part of a replay that no plan changes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from inspector.replay.engine.recorded_calls import recorded_calls
from inspector.session.model import BlockKind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from inspector.strategies.history.history import History

Number = TypeVar("Number", np.bool_, np.int32, np.int64, np.float64)

_RUNS = (BlockKind.TOOL_CALL, BlockKind.TOOL_RESULT)
"""Block kinds that form one prompt-cache position per run."""


@dataclass(frozen=True, eq=False)
class PromptLayout:
    """All contexts of a session.

    Attributes:
        contexts: In the session's order.
        previous_call: Per call, the previous call in the same context, -1 for the first, int64.
        tokens: Per block, counted tokens, whole, int32.
        envelopes: Per block, counted tokens removed with it in addition to its own, int64.
    """

    history: History
    contexts: tuple[ContextLayout, ...]
    previous_call: NDArray[np.int64]
    tokens: NDArray[np.int32]
    envelopes: NDArray[np.int64]

    @classmethod
    def of(cls, history: History, tokens: NDArray[np.int32]) -> PromptLayout:
        """Lay out a session with the given block tokens and empty envelopes."""
        previous = np.full(history.call_count + 1, -1, dtype=np.int64)
        contexts: list[ContextLayout] = []
        last_of_thread: dict[int, ContextLayout] = {}
        models = recorded_calls(history).models.and_again()
        for context, (members, calls) in zip(history.session.contexts, history.calls_of_contexts(), strict=True):
            blocks = history.blocks_of(members)
            ends = np.cumsum(history.message_first_block[members + 1] - history.message_first_block[members])
            ends = np.concatenate(([0], ends)).astype(np.int64)
            previous[calls[1:]] = calls[:-1]
            before = last_of_thread.get(context.thread)
            contexts.append(
                ContextLayout(
                    thread=context.thread,
                    blocks=blocks,
                    tokens=tokens[blocks],
                    uncounted=np.zeros(len(blocks) + 1),
                    retained=int(ends[context.retained]),
                    shared=0 if before is None else _shared(before.blocks[: before.prompt_blocks[-1]], blocks),
                    call_before=-1 if before is None else int(before.calls[-1]),
                    calls=calls,
                    prompt_blocks=ends[history.call_prompt_messages[calls]],
                    entry_rows=_entry_rows(models.code[calls], models.names),
                    in_block_order=bool((members[1:] > members[:-1]).all()),
                )
            )
            if len(calls):
                last_of_thread[context.thread] = contexts[-1]
        return cls(history, tuple(contexts), previous, tokens, np.zeros(len(tokens), dtype=np.int64))

    def with_uncounted(self, uncounted: NDArray[np.float64], ratio: float) -> PromptLayout:
        """Return a copy with the provider tokens of each block beyond its counted ones, float64."""
        contexts = tuple(
            replace(context, uncounted=np.concatenate(([0.0], np.cumsum(uncounted[context.blocks]))))
            for context in self.contexts
        )
        return replace(self, contexts=contexts, envelopes=np.rint(uncounted / ratio).astype(np.int64))

    @cached_property
    def columns(self) -> PromptColumns:
        """The prompts of all contexts, concatenated."""
        return PromptColumns.of(self.contexts, self.history.call_count + 1, len(self.tokens))

    def previous_in_thread(self) -> NDArray[np.int64]:
        """Return the previous call in the thread of each recorded call, across contexts, -1 for the first. int64."""
        previous = self.previous_call.copy()
        for context in self.contexts:
            if len(context.calls):
                previous[context.calls[0]] = context.call_before
        return previous[:-1]

    def entry_calls(self) -> NDArray[np.int64]:
        """Return the call whose cache entry each recorded call can read, -1 for the first of a thread. int64.

        It is the previous call in the thread or, if that went to another model, the last one of the same model in the
        context: each model has its own cache.
        """
        entries = self.previous_in_thread()
        for context in self.contexts:
            recorded = np.flatnonzero(context.calls < len(entries))[1:]
            entries[context.calls[recorded]] = context.calls[context.entry_rows[recorded]]
        return entries

    @cached_property
    def whole_tokens(self) -> NDArray[np.int64]:
        """Counted tokens of each call's prompt with every block whole. int64."""
        columns = self.columns
        return columns.by_call(columns.tokens_before[columns.end])

    @cached_property
    def uncounted_in_prompts(self) -> NDArray[np.float64]:
        """Provider tokens of each call's prompt beyond the counted tokens of its blocks. float64."""
        columns = self.columns
        return columns.by_call(columns.uncounted_before[columns.end])

    @cached_property
    def thinking_uncounted(self) -> NDArray[np.int64]:
        """Counted tokens of each thinking block beyond its own, 0 for other blocks. int64.

        In a prompt, the signature or the reported length of the response represents the thinking; its recorded text
        adds nothing.
        """
        return np.where(self.history.kind == BlockKind.THINKING, self.envelopes, 0)

    @cached_property
    def with_envelopes(self) -> NDArray[np.int64]:
        """Counted tokens of each call's prompt with every block whole, including envelopes. int64."""
        return self.whole_tokens + self._over_prompts(self.envelopes)

    @cached_property
    def with_thinking(self) -> NDArray[np.int64]:
        """Counted tokens of each call's prompt with every block whole, without envelopes except thinking's. int64."""
        return self.whole_tokens + self._over_prompts(self.thinking_uncounted)

    def _over_prompts(self, per_block: NDArray[np.int64]) -> NDArray[np.int64]:
        sums = np.zeros(self.history.call_count + 1, dtype=np.int64)
        for context in self.contexts:
            before = np.concatenate(([0], np.cumsum(per_block[context.blocks])))
            sums[context.calls] = before[context.prompt_blocks]
        return sums

    @cached_property
    def previous_blocks(self) -> NDArray[np.int64]:
        """Number of leading blocks shared with the prompt whose cache entry a call can read, per call. int64."""
        columns = self.columns
        return columns.by_call(columns.previous_end - columns.first_place[columns.context])

    def positions_after(self, blocks: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the cache positions after a prefix of `blocks` blocks, for all calls and the next. int64."""
        after = np.zeros(self.history.call_count + 1, dtype=np.int64)
        for context in self.contexts:
            before = self.positions_before(context)
            prefix = np.minimum(blocks[context.calls], context.prompt_blocks)
            after[context.calls] = before[context.prompt_blocks] - before[prefix]
        return after

    def positions_before(self, context: ContextLayout) -> NDArray[np.int64]:
        """Return the cache positions for each number of leading blocks of a context. int64, one longer than the blocks.

        Anthropic searches a number of positions back from a breakpoint. A block is one position, and so is a run of
        tool calls or of tool results (its documentation on prompt caching). Removed blocks still count, so no plan
        brings an entry within reach.

        Args:
            context: One of `contexts`.
        """
        kind = self.history.kind[context.blocks]
        begins = kind != BlockKind.OTHER
        begins[1:] &= ~((kind[1:] == kind[:-1]) & np.isin(kind[1:], _RUNS))
        return np.concatenate(([0], np.cumsum(begins, dtype=np.int64)))

    @cached_property
    def system_blocks(self) -> NDArray[np.int64]:
        """Number of leading blocks before the first message, per context. int64."""
        counts = []
        for context in self.contexts:
            kind = self.history.kind[context.blocks]
            is_message = (kind != BlockKind.SYSTEM_TEXT) & (kind != BlockKind.OTHER)
            counts.append(int(is_message.argmax()) if is_message.any() else len(kind))
        return np.array(counts, dtype=np.int64)


@dataclass(frozen=True, eq=False, slots=True)
class ContextLayout:
    """Place of every block in the prompts of one context.

    Attributes:
        blocks: Block indices in the order they are sent, int32.
        tokens: Their tokens, whole, int32.
        uncounted: Running sum of provider tokens beyond the counted ones, float64, one longer than `blocks`.
        retained: Number of blocks present when the context began.
        shared: Number of leading blocks shared with the thread's last prompt before this context.
        call_before: That prompt's call, -1 for none.
        calls: Its calls, int64. The last may be the next one, not yet made.
        prompt_blocks: Per call, number of `blocks` in its prompt, int64.
        entry_rows: Per call, index in `calls` of the one whose cache entry it can read, -1 for the first, int64.
        in_block_order: `blocks` is sorted, so that positions can be found by binary search.
    """

    thread: int
    blocks: NDArray[np.int32]
    tokens: NDArray[np.int32]
    uncounted: NDArray[np.float64]
    retained: int
    shared: int
    call_before: int
    calls: NDArray[np.int64]
    prompt_blocks: NDArray[np.int64]
    entry_rows: NDArray[np.int64]
    in_block_order: bool

    def positions(self, blocks: NDArray[np.int32]) -> NDArray[np.int64]:
        """Return the position in the context of each given block, -1 if it is absent."""
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


def _shared(before: NDArray[np.int32], after: NDArray[np.int32]) -> int:
    length = min(len(before), len(after))
    differs = np.flatnonzero(before[:length] != after[:length])
    return int(differs[0]) if len(differs) else length


@dataclass(frozen=True, eq=False)
class PromptColumns:
    """All prompts of a session as columns over calls and over places of blocks, with contexts concatenated.

    Places number the blocks of all contexts in sent order, with an extra place after the last block of each context.
    Calls are grouped by context, so they are not in session order when threads alternate.

    Attributes:
        call_count: Number of calls in the session, including the next one.
        block_count: Number of blocks in the session.
        calls: The calls, int64.
        context: Per entry of `calls`, its context, int64.
        first_call: Per context, the entry of its first call, with a final total, int64.
        first_place: Per context, the place of its first block, int64.
        end: Per entry of `calls`, the place after the last block of its prompt, int64.
        previous: Per entry of `calls`, the entry of the call whose cache entry it can read, -1 for the first of a
            context, int64.
        previous_end: Per entry of `calls`, the place after the blocks shared with that call's prompt, int64.
        begins: Per context, the first call with edits that take effect in it: the one after its thread's previous call,
            int64.
        block: Per place, the block's index, -1 after the last one, int64.
        tokens_before: Per place, counted tokens of the blocks before it in its context, whole, int64.
        uncounted_before: Per place, provider tokens of these blocks beyond their counted ones, float64.
    """

    call_count: int
    block_count: int
    calls: NDArray[np.int64]
    context: NDArray[np.int64]
    first_call: NDArray[np.int64]
    first_place: NDArray[np.int64]
    end: NDArray[np.int64]
    previous: NDArray[np.int64]
    previous_end: NDArray[np.int64]
    begins: NDArray[np.int64]
    block: NDArray[np.int64]
    tokens_before: NDArray[np.int64]
    uncounted_before: NDArray[np.float64]

    @classmethod
    def of(cls, contexts: Sequence[ContextLayout], call_count: int, block_count: int) -> PromptColumns:
        first_call = _ends([len(each.calls) for each in contexts])
        first_place = _ends([len(each.blocks) + 1 for each in contexts])[:-1]
        context = np.repeat(np.arange(len(contexts)), np.diff(first_call))
        begins = [
            each.call_before + 1 if each.call_before >= 0 else int(each.calls[0]) if len(each.calls) else 0
            for each in contexts
        ]
        rows = _joined([each.entry_rows for each in contexts], np.int64)
        return cls(
            call_count=call_count,
            block_count=block_count,
            calls=_joined([each.calls for each in contexts], np.int64),
            context=context,
            first_call=first_call,
            first_place=first_place,
            end=first_place[context] + _joined([each.prompt_blocks for each in contexts], np.int64),
            previous=np.where(rows < 0, -1, first_call[context] + rows),
            previous_end=first_place[context] + _joined([_previous_blocks(each) for each in contexts], np.int64),
            begins=np.array(begins, dtype=np.int64),
            block=_joined([part for each in contexts for part in (each.blocks, (-1,))], np.int64),
            tokens_before=_joined([part for each in contexts for part in ((0,), np.cumsum(each.tokens))], np.int64),
            uncounted_before=_joined([each.uncounted for each in contexts], np.float64),
        )

    def by_call(self, column: NDArray[Number], otherwise: float = 0) -> NDArray[Number]:
        """Reorder a column over the entries of `calls` to all calls in session order, including the next one."""
        if self._in_call_order:
            return column
        spread = np.full(self.call_count, otherwise, dtype=column.dtype)
        spread[self.calls] = column
        return spread

    def of_calls(self, column: NDArray[Number]) -> NDArray[Number]:
        """Reorder a column over all calls to the entries of `calls`."""
        return column if self._in_call_order else column[self.calls]

    @cached_property
    def _in_call_order(self) -> bool:
        return len(self.calls) == self.call_count and bool((self.calls == np.arange(self.call_count)).all())

    def places(self, context: NDArray[np.int64], block: NDArray[np.int32]) -> NDArray[np.int64]:
        """Return the place of each block in the context at the same index, -1 if it has none."""
        keys, order = self._blocks_sorted
        wanted = context * (self.block_count + 1) + block
        found = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        return np.where(keys[found] == wanted, order[found], -1)

    @cached_property
    def _blocks_sorted(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Sorted keys of context and block for every place, and the places in that order."""
        sizes = np.diff(np.append(self.first_place, len(self.block)))
        # The place after a context's last block gets an unused block number.
        blocks = np.where(self.block < 0, self.block_count, self.block)
        keys = np.repeat(np.arange(len(sizes)), sizes) * (self.block_count + 1) + blocks
        order = np.argsort(keys, kind="stable")
        return keys[order], order

    def entries(self, context: NDArray[np.int64], call: NDArray[np.int32]) -> NDArray[np.int64]:
        """Return the entry of the first call at or after each call, in the context at the same index."""
        found: NDArray[np.int64] = np.searchsorted(self._calls_sorted, context * self.call_count + call)
        return found

    @cached_property
    def _calls_sorted(self) -> NDArray[np.int64]:
        return self.context * self.call_count + self.calls

    @cached_property
    def last_calls(self) -> NDArray[np.int64]:
        """Last call of each context, -1 for a context without calls."""
        last = np.full(len(self.first_place), -1, dtype=np.int64)
        last[self.context] = self.calls
        return last


def _previous_blocks(context: ContextLayout) -> NDArray[np.int64]:
    """Count the leading blocks shared with the prompt whose cache entry a call can read, per call."""
    first = np.minimum(context.shared, context.prompt_blocks[:1])
    return np.concatenate((first, context.prompt_blocks[context.entry_rows[1:]]))


def _entry_rows(code: NDArray[np.intp], names: Sequence[str]) -> NDArray[np.int64]:
    """Return, per call of a context, the last earlier call of its model if the one before it has another; -1 first."""
    rows = np.arange(len(code), dtype=np.int64) - 1
    switched = np.flatnonzero(code[1:] != code[:-1]) + 1
    for row in switched.tolist():
        model = int(code[row])
        if names[model] and names[int(code[row - 1])]:
            earlier = np.flatnonzero(code[:row] == model)
            rows[row] = earlier[-1] if len(earlier) else row - 1
    return rows


def _ends(counts: list[int]) -> NDArray[np.int64]:
    return np.concatenate(([0], np.cumsum(counts))).astype(np.int64)


def _joined(parts: Sequence[ArrayLike], kind: type[Number]) -> NDArray[Number]:
    return np.concatenate([np.zeros(0, dtype=kind), *map(np.asarray, parts)]).astype(kind, copy=False)
