"""A linear fit that a few odd rows do not move: sessions do not show everything that was sent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

MAD_TO_DEVIATION = 1.4826
"""The standard deviation of normal errors for a median absolute deviation of one."""

_HUBER = 1.345
"""Residuals beyond so many deviations count linearly, not squared (P. J. Huber, "Robust Statistics")."""

_ROUNDS = 40


@dataclass(frozen=True)
class Expectation:
    """What coefficients are expected to be before anything was seen.

    Attributes:
        values: One a coefficient.
        deviations: How far each may well be from that.
    """

    values: Floats
    deviations: Floats


@dataclass(frozen=True)
class Fit:
    """Coefficients, and the level of every segment of rows.

    Attributes:
        coefficients: One a feature, not negative.
        levels: One a segment.
    """

    coefficients: Floats
    levels: Floats


def robust_fit(features: Floats, values: Floats, segments: NDArray[np.intp] | None, expected: Expectation) -> Fit:
    """Fit `values ≈ features @ coefficients + level of the row's segment`.

    Huber's loss, minimised by reweighting; what is expected of the coefficients counts as one more observation each.

    Args:
        features: One row an observation, one column a feature.
        values: One an observation.
        segments: Per observation, the segment whose level applies, counted from 0 without gaps; None for no levels.
        expected: What the coefficients are expected to be.
    """
    coefficients = expected.values
    precision = np.diag(1 / expected.deviations**2)
    count = 0 if segments is None else int(segments.max(initial=-1)) + 1
    levels = np.zeros(count)
    if segments is not None:
        levels = segment_medians(values - features @ coefficients, segments, count)
    for _ in range(_ROUNDS):
        residuals = values - features @ coefficients
        if segments is not None:
            residuals = residuals - levels[segments]
        deviation = max(MAD_TO_DEVIATION * float(np.median(np.abs(residuals))), 1.0)
        weights = np.minimum(1.0, _HUBER * deviation / np.maximum(np.abs(residuals), 1e-9))
        centred, centred_values = features, values
        if segments is not None:
            centred = features - _weighted_means(features, weights, segments, count)[segments]
            centred_values = values - _weighted_means(values[:, None], weights, segments, count)[segments, 0]
        weighted = centred * (weights / deviation**2)[:, None]
        found = np.linalg.solve(
            weighted.T @ centred + precision, weighted.T @ centred_values + precision @ expected.values
        )
        found = np.maximum(found, 0.0)
        if segments is not None:
            levels = _weighted_means((values - features @ found)[:, None], weights, segments, count)[:, 0]
        settled = bool(np.all(np.abs(found - coefficients) <= 1e-3 * expected.deviations))
        coefficients = found
        if settled:
            break
    return Fit(coefficients, levels)


def segment_medians(values: Floats, segments: NDArray[np.intp], count: int) -> Floats:
    """The median of each segment's values; 0 for a segment without any."""
    order = np.lexsort((values, segments))
    ordered = values[order]
    starts = np.searchsorted(segments[order], np.arange(count + 1))
    sizes = np.diff(starts)
    if not len(values):
        return np.zeros(count)
    lower = ordered[np.minimum(starts[:-1] + np.maximum(sizes - 1, 0) // 2, len(values) - 1)]
    upper = ordered[np.minimum(starts[:-1] + sizes // 2, len(values) - 1)]
    return np.where(sizes > 0, (lower + upper) / 2, 0.0)


def _weighted_means(columns: Floats, weights: Floats, segments: NDArray[np.intp], count: int) -> Floats:
    total = np.bincount(segments, weights=weights, minlength=count)
    sums = np.stack([np.bincount(segments, weights=weights * column, minlength=count) for column in columns.T], axis=1)
    means: Floats = sums / np.maximum(total, 1e-12)[:, None]
    return means
