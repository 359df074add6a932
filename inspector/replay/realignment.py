"""Where a new context begins as its thread's last prompt did because of what a plan left out of both.

A compaction that keeps the newest messages and drops those before them shares nothing with the prompt before it, as
recorded. Where the plan had left the very same messages out already, both prompts begin alike after all, and a cache
that held the one holds the beginning of the other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from inspector.strategies.core.rendition import Action

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from inspector.replay.changes import Changes


def blocks_alike(
    changes: Changes,
    before: tuple[int, NDArray[np.int32]],
    after: tuple[int, NDArray[np.int32]],
) -> int:
    """How many blocks at the beginning of a prompt are sent, or left out, as the prompt before it began.

    Args:
        changes: How blocks are sent.
        before: The earlier call, and the block indices of its prompt, int32.
        after: The later one's.
    """
    sent_before, rows_before, _ = _sent(changes, *before)
    sent_after, rows_after, places = _sent(changes, *after)
    length = min(len(sent_before), len(sent_after))
    differs = (sent_before[:length] != sent_after[:length]) | (rows_before[:length] != rows_after[:length])
    alike = int(np.argmax(differs)) if differs.any() else length
    return int(places[alike - 1]) + 1 if alike else 0


def _sent(
    changes: Changes, call: int, blocks: NDArray[np.int32]
) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int64]]:
    """The blocks that a prompt sends anything of, the rows in force for them, and their places in it."""
    in_force = changes.in_force(call)
    found = np.searchsorted(changes.block[in_force], blocks)
    rows = np.append(in_force, -1)[found]
    rows = np.where(np.append(changes.block, -1)[rows] == blocks, rows, -1)
    action = np.append(changes.action, np.uint8(Action.WHOLE))
    places = np.flatnonzero((rows < 0) | (action[rows] != Action.REMOVED))
    # A block sent whole again is sent as one that never changed.
    rows = np.where(action[rows] == Action.WHOLE, -1, rows)
    return blocks[places], rows[places], places
