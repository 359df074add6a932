"""All prompts of a session as columns, the contexts end to end: the part of a replay that no plan changes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from inspector.replay.context_layout import ContextLayout

Number = TypeVar("Number", np.bool_, np.int32, np.int64, np.float64)


@dataclass(frozen=True, eq=False)
class PromptColumns:
    """Every call and every place a block has in a context.

    Places count the blocks of all contexts in the order they are sent, one context after the other, with a further
    place behind the last block of each. Calls stand context by context, too, which is an order of their own where
    threads take turns.

    Attributes:
        call_count: Calls of the session, the next one included.
        block_count: Blocks of the session.
        calls: The calls, int64.
        context: Per entry of `calls`, its context, int64.
        first_call: Per context, the entry of its first call, and at the end how many there are, int64.
        first_place: Per context, the place of its first block, int64.
        end: Per entry of `calls`, the place behind the last block of its prompt, int64.
        previous_end: The same of the blocks that its thread's previous prompt began with, too, int64.
        begins: Per context, the first call whose changes are seen in it: the one after its thread's last call before
            it, int64.
        block: Per place, the block's index, -1 behind the last one, int64.
        tokens_before: Per place, counted tokens of the blocks before it in its context, whole, int64.
        beside_before: Per place, provider's tokens that those take beside their counted ones, float64.
    """

    call_count: int
    block_count: int
    calls: NDArray[np.int64]
    context: NDArray[np.int64]
    first_call: NDArray[np.int64]
    first_place: NDArray[np.int64]
    end: NDArray[np.int64]
    previous_end: NDArray[np.int64]
    begins: NDArray[np.int64]
    block: NDArray[np.int64]
    tokens_before: NDArray[np.int64]
    beside_before: NDArray[np.float64]

    @classmethod
    def of(cls, contexts: Sequence[ContextLayout], call_count: int, block_count: int) -> PromptColumns:
        """The columns of contexts."""
        first_call = _ends([len(each.calls) for each in contexts])
        first_place = _ends([len(each.blocks) + 1 for each in contexts])[:-1]
        context = np.repeat(np.arange(len(contexts)), np.diff(first_call))
        begins = [
            each.call_before + 1 if each.call_before >= 0 else int(each.calls[0]) if len(each.calls) else 0
            for each in contexts
        ]
        return cls(
            call_count=call_count,
            block_count=block_count,
            calls=_joined([each.calls for each in contexts], np.int64),
            context=context,
            first_call=first_call,
            first_place=first_place,
            end=first_place[context] + _joined([each.prompt_blocks for each in contexts], np.int64),
            previous_end=first_place[context] + _joined([_previous_blocks(each) for each in contexts], np.int64),
            begins=np.array(begins, dtype=np.int64),
            block=_joined([part for each in contexts for part in (each.blocks, (-1,))], np.int64),
            tokens_before=_joined([part for each in contexts for part in ((0,), np.cumsum(each.tokens))], np.int64),
            beside_before=_joined([each.beside for each in contexts], np.float64),
        )

    def by_call(self, column: NDArray[Number], otherwise: float = 0) -> NDArray[Number]:
        """A column over the entries of `calls` as one over all calls, the next one included."""
        if self._in_call_order:
            return column
        spread = np.full(self.call_count, otherwise, dtype=column.dtype)
        spread[self.calls] = column
        return spread

    def of_calls(self, column: NDArray[Number]) -> NDArray[Number]:
        """A column over all calls as one over the entries of `calls`."""
        return column if self._in_call_order else column[self.calls]

    @cached_property
    def _in_call_order(self) -> bool:
        return len(self.calls) == self.call_count and bool((self.calls == np.arange(self.call_count)).all())

    def places(self, context: NDArray[np.int64], block: NDArray[np.int32]) -> NDArray[np.int64]:
        """The place that each block has in the context beside it, -1 where it has none."""
        keys, order = self._blocks_sorted
        wanted = context * (self.block_count + 1) + block
        found = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        return np.where(keys[found] == wanted, order[found], -1)

    @cached_property
    def _blocks_sorted(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Context and block of every place as one number, sorted, and the places in that order."""
        sizes = np.diff(np.append(self.first_place, len(self.block)))
        # Behind a context's last block comes a number that no block has.
        blocks = np.where(self.block < 0, self.block_count, self.block)
        keys = np.repeat(np.arange(len(sizes)), sizes) * (self.block_count + 1) + blocks
        order = np.argsort(keys, kind="stable")
        return keys[order], order

    def entries(self, context: NDArray[np.int64], call: NDArray[np.int32]) -> NDArray[np.int64]:
        """The entry of the first call at or after each call in the context beside it."""
        found: NDArray[np.int64] = np.searchsorted(self._calls_sorted, context * self.call_count + call)
        return found

    @cached_property
    def _calls_sorted(self) -> NDArray[np.int64]:
        return self.context * self.call_count + self.calls

    @cached_property
    def last_calls(self) -> NDArray[np.int64]:
        """Per context, its last call, -1 for a context without any."""
        last = np.full(len(self.first_place), -1, dtype=np.int64)
        last[self.context] = self.calls
        return last


def _previous_blocks(context: ContextLayout) -> NDArray[np.int64]:
    """Per call, how many blocks its thread's previous prompt began with, too."""
    first = np.minimum(context.shared, context.prompt_blocks[:1])
    return np.concatenate((first, context.prompt_blocks[:-1]))


def _ends(counts: list[int]) -> NDArray[np.int64]:
    return np.concatenate(([0], np.cumsum(counts))).astype(np.int64)


def _joined(parts: Sequence[ArrayLike], kind: type[Number]) -> NDArray[Number]:
    return np.concatenate([np.zeros(0, dtype=kind), *map(np.asarray, parts)]).astype(kind, copy=False)
