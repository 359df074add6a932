"""Where every block stands in the prompts of one context."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


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
