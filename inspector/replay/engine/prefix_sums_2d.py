"""Sums of weights over two-dimensional prefixes, for many points and queries at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

Weight = TypeVar("Weight", np.int64, np.float64)


def prefix_sums(
    rows: NDArray[np.int64],
    weights: NDArray[Weight],
    query_counts: NDArray[np.int64],
    query_rows: NDArray[np.int64],
) -> NDArray[Weight]:
    """Return, for every query `(n, r)`, the sum of the first `n` weights with a row below `r`.

    Walks a wavelet matrix for all queries together: one stable partition and one running sum for every bit of the
    largest row. The work is (points + queries) times bits, all of it in numpy.

    Args:
        rows: Row of each point, 0 or more, in the order of the points' other coordinate.
        weights: Weight of each point.
        query_counts: Number of leading points of each query.
        query_rows: Exclusive upper bound on the row of each query.

    Returns:
        One sum per query.
    """
    result = np.zeros(len(query_counts), dtype=weights.dtype)
    if not len(rows) or not len(query_counts):
        return result
    bits = int(rows.max()).bit_length()
    beyond = query_rows >= (1 << bits)
    running = np.concatenate((np.zeros(1, dtype=weights.dtype), np.cumsum(weights, dtype=weights.dtype)))
    result[beyond] = running[query_counts[beyond]]
    first = np.zeros(len(query_counts), dtype=np.int64)
    last = np.where(beyond, 0, query_counts)
    for bit in range(bits - 1, -1, -1):
        is_one = (rows >> bit & 1).astype(bool)
        zeros_before = np.concatenate(([0], np.cumsum(~is_one)))
        zero_weight = np.cumsum(np.where(is_one, 0, weights), dtype=weights.dtype)
        zero_weight = np.concatenate((np.zeros(1, dtype=weights.dtype), zero_weight))
        takes_ones = (query_rows >> bit & 1).astype(bool)
        # Points with bit 0 where the query has 1 are below it, regardless of their lower bits.
        result += np.where(takes_ones, zero_weight[last] - zero_weight[first], 0)
        zero_count = zeros_before[-1]
        first_zeros, last_zeros = zeros_before[first], zeros_before[last]
        first = np.where(takes_ones, zero_count + first - first_zeros, first_zeros)
        last = np.where(takes_ones, zero_count + last - last_zeros, last_zeros)
        order = np.concatenate((np.flatnonzero(~is_one), np.flatnonzero(is_one)))
        rows, weights = rows[order], weights[order]
    return result
