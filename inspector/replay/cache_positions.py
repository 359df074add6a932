"""Where cache entries can be found by position: how far the end of a prompt is from what it shares with an earlier one.

Anthropic looks back a number of positions from a breakpoint. A block is a position; a run of tool calls, or of tool
results, is one together (its documentation on prompt caching). Blocks that a plan removes are counted as if they stood
there, so that a plan is never taken to bring an entry within reach.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from inspector.session.model import BlockKind

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from inspector.replay.layout import Layout

_RUNS = (BlockKind.TOOL_CALL, BlockKind.TOOL_RESULT)


def positions_after(layout: Layout, blocks: NDArray[np.int64]) -> NDArray[np.int64]:
    """Per call, the next one included, how many positions its last block stands behind the end of a prefix. int64.

    Args:
        layout: Where blocks stand in prompts.
        blocks: Per call, how many blocks of its prompt the prefix holds.
    """
    after = np.zeros(layout.history.call_count + 1, dtype=np.int64)
    for context in layout.contexts:
        kind = layout.history.kind[context.blocks]
        begins = kind != BlockKind.OTHER
        begins[1:] &= ~((kind[1:] == kind[:-1]) & np.isin(kind[1:], _RUNS))
        before = np.concatenate(([0], np.cumsum(begins, dtype=np.int64)))
        prefix = np.minimum(blocks[context.calls], context.prompt_blocks)
        after[context.calls] = before[context.prompt_blocks] - before[prefix]
    return after
