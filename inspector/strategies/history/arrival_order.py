"""Arrival order of blocks in a context, the basis of "the newest three" and "read again later".

A rule that looks at the whole prompt at every call ("keep the newest N") can be inverted: a block is dropped at the
call that adds the N-th block after it. A context that began with a compaction or a rewind counts again from the blocks
carried into it.
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
        blocks: Block indices, int32.
        calls: Per block, the first call of this context that sends it, int32, non-decreasing.
        retained: Number of blocks that came from an earlier context.
    """

    context: int
    blocks: NDArray[np.int32]
    calls: NDArray[np.int32]
    retained: int


def arrivals(history: History, chosen: NDArray[np.bool_]) -> Iterator[Arrivals]:
    """Yield the chosen blocks of every context.

    Args:
        history: The recorded history.
        chosen: Per block, True to include it.
    """
    for index, (members, own_calls) in enumerate(history.calls_of_contexts()):
        sent = history.call_prompt_messages[own_calls]
        entering = np.append(own_calls, NEVER)[np.searchsorted(sent, np.arange(len(members)), side="right")]
        blocks = history.blocks_of(members)
        counts = history.message_first_block[members + 1] - history.message_first_block[members]
        calls = np.repeat(entering, counts).astype(np.int32)
        keep = chosen[blocks] & (calls != NEVER)
        retained = int(np.count_nonzero(keep[: int(counts[: history.session.contexts[index].retained].sum())]))
        yield Arrivals(index, blocks[keep], calls[keep], retained)


def later(calls: NDArray[np.int32], by: int) -> NDArray[np.int32]:
    """Return, per arrival, the call of the arrival `by` places later, or `NEVER` if there is none.

    Args:
        calls: The call of each arrival.
        by: Distance in arrivals.
    """
    return np.append(calls[by:], np.full(min(by, len(calls)), NEVER, dtype=np.int32))
