"""Calibrate one model: fit coefficients to the growth of prompts, and overheads to their sizes.

Coefficients are fitted robustly to the growth from one call to the next, in which the overhead cancels out. If the
added blocks do not explain the growth, the overhead is assumed to have shifted. Overheads are then fitted together with
the coefficients, which may change only a little: otherwise unrecorded tokens that accumulate over many calls would be
attributed to recorded ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from inspector.tokens.typical_ratios import Coefficients

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

LEAST_CALLS = 10
"""Minimum number of calls with reported usage for fitting a model."""

_SHIFT_DEVIATIONS = 5.0

_SHIFT_SHARE = 0.005
"""Growth is unexplained if its residual exceeds `_SHIFT_DEVIATIONS` deviations and this share of the prompt."""

_RATIO_SHARE, _BLOCK_TOKENS, _SIGNATURE_TOKENS, _MEDIA_TOKENS = 0.01, 5.0, 0.01, 0.01
"""Prior deviations of the coefficients from the growth fit: relative for the ratio, tokens for the others."""

_MEDIA_SPREAD = 0.1
"""Prior relative deviation of image tokens from the provider's rule.

Agents scale images down, and the size of some is unknown. A single report is more accurate than the rule.
"""

_TEXT_SPREAD, _SMALL_ERROR = 0.03, 50.0
"""Error model of growth: a share of the added text, because its ratio varies, and a constant number of tokens.

It keeps the largest texts, which an agent may have cut before sending, from determining the ratio alone.
"""

_LEAST_RATIO, _LARGEST_RATIO = 0.5, 2.5
"""Ratios outside these multiples of the typical one mean that the file does not show the prompts as they were sent."""

_CALLS_PER_SHIFT = 10
"""At most one shift per this many calls; more would overfit."""

_MOST_UNEXPLAINED = 0.05
"""Upper limit on the error as a share of the prompt: a larger one is an unrecorded change, not a poor fit."""

_MOST_GROWTHS = 4_000
"""Maximum number of growth steps to fit; longer sessions are subsampled evenly."""

_JUDGED_TOGETHER = 3
"""Minimum calls between two shifts for the residual: fewer are fitted by their own overhead."""

MAD_TO_DEVIATION = 1.4826
"""Ratio of the standard deviation to the median absolute deviation for normal errors."""

_HUBER = 1.345
"""Residuals beyond this many deviations count linearly, not squared (P. J. Huber, "Robust Statistics")."""

_ROUNDS = 40


class Shift(NamedTuple):
    """A call with a prompt that grew by more or less than the recorded additions.

    Attributes:
        call: Call index.
        tokens: Unexplained tokens; negative if the prompt grew less.
    """

    call: int
    tokens: int


class ModelCalibration(NamedTuple):
    """Calibration of one model; rows are its calls, in call order.

    Attributes:
        coefficients: Fitted coefficients, or typical ones of the family without a fit.
        is_fitted: True if they were fitted.
        prompt: Per row, the prompt in provider tokens.
        overhead: Per row, its unrecorded tokens.
        distance: Per row, the relative error; NaN if not meaningful.
        shifts: Shifts of the overhead within a context; calls are rows.
    """

    coefficients: Coefficients
    is_fitted: bool
    prompt: Floats
    overhead: Floats
    distance: Floats
    shifts: tuple[Shift, ...]


@dataclass(frozen=True)
class Expectation:
    """Prior distribution of the coefficients.

    Attributes:
        values: Expected value per coefficient.
        deviations: Standard deviation per coefficient.
    """

    values: Floats
    deviations: Floats


@dataclass(frozen=True)
class Fit:
    """Coefficients, and the level of every segment of rows.

    Attributes:
        coefficients: One per feature, not negative.
        levels: One per segment.
    """

    coefficients: Floats
    levels: Floats


def calibrate_model(
    typical: Coefficients, contexts: NDArray[np.integer], features: Floats, values: Floats
) -> ModelCalibration:
    """Fit the calls of one model.

    Args:
        typical: Typical coefficients of the model's family.
        contexts: Per call, the context of its prompt.
        features: Per call, the contents of its prompt, one column per coefficient.
        values: Per call, reported prompt tokens, 0 without a report.
    """
    order = np.argsort(contexts, kind="stable")
    rows = order[values[order] > 0]
    reported = _Reported(rows, contexts[rows], features[rows], values[rows])
    fit = _fit(typical, reported) if len(rows) >= LEAST_CALLS else None
    found = fit or _typical_fit(typical, reported)
    overhead = _overhead_of_calls(contexts, rows, found.segments, found.levels)
    distance = np.full(len(values), np.nan)
    if fit:
        judged = np.bincount(found.segments)[found.segments] >= _JUDGED_TOGETHER
        fitted = reported.features @ np.array(found.coefficients) + found.levels[found.segments]
        distance[rows[judged]] = (np.abs(reported.values - fitted) / reported.values)[judged]
    return ModelCalibration(
        coefficients=found.coefficients,
        is_fitted=fit is not None,
        prompt=features @ np.array(found.coefficients) + overhead,
        overhead=overhead,
        distance=distance,
        shifts=found.shifts,
    )


def growth_error(typical: Coefficients, contexts: NDArray[np.integer], features: Floats, values: Floats) -> float:
    """Return the mean unexplained growth as a share of the prompt, for the best fit; infinite if unknown.

    Args as in `calibrate_model`. Shifts are not modeled, but each call's error is limited to a twentieth of its prompt.
    """
    order = np.argsort(contexts, kind="stable")
    rows = order[values[order] > 0]
    if len(rows) < LEAST_CALLS:
        return float("inf")
    reported = _Reported(rows, contexts[rows], features[rows], values[rows])
    segments = reported.segments()
    growth = _fit_growth(reported.features, reported.values, segments, _expected(typical))
    grown = np.flatnonzero(segments[1:] == segments[:-1]) + 1
    if len(grown) < LEAST_CALLS // 2:
        return float("inf")
    added = reported.features[grown] - reported.features[grown - 1]
    unexplained = reported.values[grown] - reported.values[grown - 1] - added @ growth.expected.values
    return float(np.minimum(np.abs(unexplained) / reported.values[grown], _MOST_UNEXPLAINED).mean())


class _Reported(NamedTuple):
    """Calls with a report, sorted by context; `rows` are their indices among the model's calls."""

    rows: NDArray[np.intp]
    contexts: NDArray[np.integer]
    features: Floats
    values: Floats

    def segments(self) -> NDArray[np.intp]:
        """Return the context number of each call, counted from 0."""
        if not len(self.rows):
            return np.zeros(0, dtype=np.intp)
        return np.cumsum(np.append(False, self.contexts[1:] != self.contexts[:-1]))


class _Found(NamedTuple):
    """Coefficients, the segment of each reported call, and every segment's level."""

    coefficients: Coefficients
    segments: NDArray[np.intp]
    levels: Floats
    shifts: tuple[Shift, ...] = ()


class _Growth(NamedTuple):
    """Result of the growth fit: unexplained rows, their residuals, and the prior for the coefficients."""

    unexplained: NDArray[np.intp]
    sizes: Floats
    expected: Expectation


def _typical_fit(typical: Coefficients, reported: _Reported) -> _Found:
    segments = reported.segments()
    uncounted = reported.values - reported.features @ np.array(typical)
    return _Found(typical, segments, segment_medians(uncounted, segments, int(segments.max(initial=-1)) + 1))


def _fit(typical: Coefficients, reported: _Reported) -> _Found | None:
    """Return the fit, or None if its ratio is implausible."""
    segments = reported.segments()
    growth = _fit_growth(reported.features, reported.values, segments, _expected(typical))
    starts = np.append(False, segments[1:] != segments[:-1])
    starts[growth.unexplained] = True
    segments = np.cumsum(starts)
    fit = robust_fit(reported.features, reported.values, segments, growth.expected)
    coefficients = Coefficients(*fit.coefficients.tolist())
    if not _LEAST_RATIO <= coefficients.ratio / typical.ratio <= _LARGEST_RATIO:
        return None
    calls = reported.rows[growth.unexplained].tolist()
    shifts = tuple(Shift(call, round(size)) for call, size in zip(calls, growth.sizes.tolist(), strict=True))
    return _Found(coefficients, segments, fit.levels, shifts)


def _expected(typical: Coefficients) -> Expectation:
    return Expectation(np.array(typical), np.array((0.3 * typical.ratio, 25.0, 0.1, _MEDIA_SPREAD)))


def _fit_growth(features: Floats, values: Floats, segments: NDArray[np.intp], expected: Expectation) -> _Growth:
    grown = np.flatnonzero(segments[1:] == segments[:-1]) + 1
    if len(grown) < LEAST_CALLS // 2:
        return _Growth(grown[:0], np.zeros(0), expected)
    growth, added = values[grown] - values[grown - 1], features[grown] - features[grown - 1]
    some = slice(None, None, len(grown) // _MOST_GROWTHS + 1)
    spread = np.hypot(1.0, _TEXT_SPREAD * expected.values[0] * added[:, 0] / _SMALL_ERROR)
    fit = robust_fit((added / spread[:, None])[some], (growth / spread)[some], None, expected)
    coefficients = fit.coefficients
    unexplained = growth - added @ coefficients
    deviation = MAD_TO_DEVIATION * float(np.median(np.abs(unexplained)))
    limit = np.maximum(_SHIFT_DEVIATIONS * deviation, _SHIFT_SHARE * values[grown])
    places = np.flatnonzero(np.abs(unexplained) > limit)
    most = len(values) // _CALLS_PER_SHIFT
    largest = places[np.argsort(-np.abs(unexplained[places]), kind="stable")[:most]]
    largest.sort()
    deviations = np.array((_RATIO_SHARE * max(coefficients[0], 0.1), _BLOCK_TOKENS, _SIGNATURE_TOKENS, _MEDIA_TOKENS))
    return _Growth(grown[largest], unexplained[largest], Expectation(coefficients, deviations))


def _overhead_of_calls(
    contexts: NDArray[np.integer], rows: NDArray[np.intp], segments: NDArray[np.intp], levels: Floats
) -> Floats:
    """Return the level of each call's segment; without one, of the nearest in its context or the median."""
    overhead = np.zeros(len(contexts))
    if not len(rows):
        return overhead
    firsts = np.append(True, contexts[rows[1:]] != contexts[rows[:-1]])
    overhead[:] = np.median(levels[segments[firsts]])
    order = np.argsort(contexts, kind="stable")
    ordered = contexts[order]
    bounds = np.append(np.flatnonzero(firsts), len(rows))
    for first, last in pairwise(bounds.tolist()):
        here = order[slice(*np.searchsorted(ordered, (contexts[rows[first]], contexts[rows[first]] + 1)))]
        place = np.searchsorted(rows[first:last], here, side="right") - 1
        overhead[here] = levels[segments[first:last]][np.maximum(place, 0)]
    return overhead


def robust_fit(features: Floats, values: Floats, segments: NDArray[np.intp] | None, expected: Expectation) -> Fit:
    """Fit `values ≈ features @ coefficients + level of the row's segment`, robust to outliers.

    Sessions do not show everything that was sent. Uses Huber's loss, minimized by reweighting; the prior counts as one
    more observation per coefficient.

    Args:
        features: One row per observation, one column per feature.
        values: One per observation.
        segments: Per observation, its segment, numbered from 0 without gaps; None for no levels.
        expected: Prior of the coefficients.
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
    """Return the median of each segment's values; 0 for an empty segment."""
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
