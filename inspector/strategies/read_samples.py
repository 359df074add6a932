"""Which reads of a file stay when it is read many times: the first, the last and some between, at every call.

As more reads arrive, the last one moves and so do the samples between, so a read can be left out at one call and be
back at a later one. All of it is worked out at once from the order in which the reads arrive.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


class ReadChanges(NamedTuple):
    """Which reads are left out or brought back, and when, as columns of one length.

    Attributes:
        places: Positions in the columns that were asked about.
        calls: The call it happens at, int32.
        left_out: True where the read is left out from then on, False where it is back.
    """

    places: NDArray[np.int64]
    calls: NDArray[np.int32]
    left_out: NDArray[np.bool_]


def kept_reads(counts: NDArray[np.int64], maximum: int) -> NDArray[np.int64]:
    """Per number of reads, the positions that stay: the first, the last and `maximum - 2` between.

    The positions between are those of the document's `select_reads_to_keep`: the middle divided evenly, rounded down,
    so that they lean to the front. Up to `maximum` reads have none between.

    Args:
        counts: Numbers of reads, at least 2 each, shape (n,).
        maximum: How many stay of a file read more often than that, at least 2.

    Returns:
        Positions, shape (n, maximum), in no order, some repeated.
    """
    between = maximum - 2
    kept = np.zeros((len(counts), maximum), dtype=np.int64)
    kept[:, 1] = counts - 1
    if between:
        step = (counts - 2) / between
        sampled = 1 + (np.arange(between) * step[:, None]).astype(np.int64)
        kept[:, 2:] = np.where(counts[:, None] > maximum, sampled, 0)
    return kept


def read_changes(files: NDArray[np.int32], calls: NDArray[np.int32], maximum: int, active_from: int) -> ReadChanges:
    """When each read is left out and brought back.

    Args:
        files: Per read, in the order they are sent, the file's number.
        calls: Per read, the call it arrives at, never decreasing.
        maximum: As for `kept_reads`.
        active_from: The number of reads of a file from which on any is left out, at least 3.
    """
    order = np.argsort(files, kind="stable")
    files, calls = files[order], calls[order]
    new_file = np.append(True, files[1:] != files[:-1])[: len(files)]
    base = np.flatnonzero(new_file)[np.cumsum(new_file) - 1]
    count = np.arange(len(files)) - base + 1
    # One step for each file and call: what stays depends on the last count of the call only.
    ends = np.append((files[1:] != files[:-1]) | (calls[1:] != calls[:-1]), True)[: len(files)]
    at = np.flatnonzero(ends & (count >= active_from))
    steps, first, call, file = count[at], base[at], calls[at], files[at]
    kept = kept_reads(steps, maximum)
    follows = np.append(False, file[1:] == file[:-1])[: len(at)]
    before = np.where(follows[:, None], np.roll(kept, 1, axis=0), -1)
    seen = np.where(follows, np.roll(steps, 1), 0)
    same = kept[:, :, None] == before[:, None, :]
    dropped = ~same.any(axis=1) & (before >= 0)
    back = ~same.any(axis=2) & (kept < seen[:, None])
    fresh = np.maximum(steps - 1 - seen, 0)
    owner = np.repeat(np.arange(len(at)), fresh)
    place = np.arange(len(owner)) - np.repeat(np.cumsum(fresh) - fresh, fresh) + seen[owner]
    out = ~(place[:, None] == kept[owner]).any(axis=1)
    drop_step, drop_column = np.nonzero(dropped)
    back_step, back_column = np.nonzero(back)
    step_of = np.concatenate((owner[out], drop_step, back_step))
    place_of = np.concatenate((place[out], before[drop_step, drop_column], kept[back_step, back_column]))
    left_out = np.ones(len(step_of), dtype=np.bool_)
    left_out[len(step_of) - len(back_step) :] = False
    return ReadChanges(order[first[step_of] + place_of], call[step_of], left_out)
