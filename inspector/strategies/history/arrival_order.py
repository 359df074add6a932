"""The order in which blocks arrive in a context: what "the newest three" and "read again later" are counted on.

A rule that looks at the whole prompt at every call ("keep the newest N") can be turned around: a block is dropped at
the call that brings the N-th block after it. A context that began with a compaction or a rewind counts anew, from what
was carried into it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from inspector.strategies.history.history import NEVER

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from inspector.strategies.history.history import History


class Arrivals(NamedTuple):
    """Some blocks of one context, in the order they are sent.

    Attributes:
        context: Index of the context.
        blocks: Block indices, int32.
        calls: Per block, the first call of this context whose prompt holds it, int32, never decreasing.
        carried: How many of them came from an earlier context.
    """

    context: int
    blocks: NDArray[np.int32]
    calls: NDArray[np.int32]
    carried: int


def arrivals(history: History, chosen: NDArray[np.bool_]) -> Iterator[Arrivals]:
    """The chosen blocks of every context.

    Args:
        history: What was recorded.
        chosen: Per block, whether it counts.
    """
    for index, (members, own_calls) in enumerate(history.calls_of_contexts()):
        sent = history.call_prompt_messages[own_calls]
        entering = np.append(own_calls, NEVER)[np.searchsorted(sent, np.arange(len(members)), side="right")]
        blocks = history.blocks_of(members)
        counts = history.message_first_block[members + 1] - history.message_first_block[members]
        calls = np.repeat(entering, counts).astype(np.int32)
        keep = chosen[blocks] & (calls != NEVER)
        carried = int(np.count_nonzero(keep[: int(counts[: history.session.contexts[index].carried].sum())]))
        yield Arrivals(index, blocks[keep], calls[keep], carried)


def later(calls: NDArray[np.int32], by: int) -> NDArray[np.int32]:
    """Per arrival, given the call of each, the call of the arrival `by` places later.

    `NEVER` where none does.
    """
    return np.append(calls[by:], np.full(min(by, len(calls)), NEVER, dtype=np.int32))
