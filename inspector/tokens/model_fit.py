"""One model's share of a calibration: coefficients from how prompts grow, and overheads from how long they are.

Coefficients are fitted, robustly, to the growth from one call to the next, where the overhead cancels out. Where growth
cannot be explained by what was added, the overhead is taken to have shifted. Then the overheads are fitted, and the
coefficients with them, but these may move little: what accumulates unseen over many calls would pass for tokens that
were seen.
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
"""Calls of a model with reported usage below which a fit is borrowed, or what is typical of its family is used."""

_SHIFT_DEVIATIONS = 5.0

_SHIFT_SHARE = 0.005
"""Growth is unexplained when it is off by so many deviations, and by this share of the prompt."""

_RATIO_SHARE, _BLOCK_TOKENS, _SIGNATURE_TOKENS, _MEDIA_TOKENS = 0.01, 5.0, 0.01, 0.01
"""How far coefficients may well move from what growth shows: the ratio by a share, the others by tokens."""

_MEDIA_SPREAD = 0.1
"""How far images may well be from what their provider's rule says.

Agents scale them down, and the size of some is not known. One report of an image tells it better than the rule does.
"""

_TEXT_SPREAD, _SMALL_ERROR = 0.03, 50.0
"""Growth is off by a share of the added text, whose own ratio differs, and by so many tokens whatever was added.

It keeps the largest texts, which an agent may have cut before it sent them, from deciding the ratio alone.
"""

_LEAST_RATIO, _LARGEST_RATIO = 0.5, 2.5
"""Ratios outside these multiples of the typical one say that the file does not show what was sent, or not when."""

_CALLS_PER_SHIFT = 10
"""At most one shift is assumed for so many calls; more would explain anything."""

_MOST_UNEXPLAINED = 0.05
"""A share of the prompt; what is off by more came or went unseen, and by how much says nothing of a fit."""

_MOST_GROWTHS = 4_000
"""Steps from call to call that coefficients are fitted to; of more, every second, third or so on."""

_JUDGED_TOGETHER = 3
"""Calls between two shifts that count towards the residual: fewer are met by their own overhead."""

MAD_TO_DEVIATION = 1.4826
"""The standard deviation of normal errors for a median absolute deviation of one."""

_HUBER = 1.345
"""Residuals beyond so many deviations count linearly, not squared (P. J. Huber, "Robust Statistics")."""

_ROUNDS = 40


class Shift(NamedTuple):
    """A call whose prompt differs from the one before it by more than what the session shows was added.

    Attributes:
        call: Call index.
        tokens: How many tokens more (or, negative, fewer) than explained.
    """

    call: int
    tokens: int


class ModelCalibration(NamedTuple):
    """What was found for one model; rows are its calls, in call order.

    Attributes:
        coefficients: Fitted, or what is typical of the family where nothing could be fitted.
        is_fitted: Whether they were fitted.
        prompt: Per row, the prompt on the provider's scale.
        overhead: Per row, what is in it beside what the session shows.
        distance: Per row, how far it is from what was reported, as a share; NaN where that says nothing.
        shifts: Where the overhead shifted inside a context; calls are rows.
    """

    coefficients: Coefficients
    is_fitted: bool
    prompt: Floats
    overhead: Floats
    distance: Floats
    shifts: tuple[Shift, ...]


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


def calibrate_model(
    typical: Coefficients, contexts: NDArray[np.integer], features: Floats, values: Floats
) -> ModelCalibration:
    """Fit the calls of one model.

    Args:
        typical: What is typical of the model's family.
        contexts: Per call, the context its prompt belongs to.
        features: Per call, what its prompt holds, a column for each of the coefficients.
        values: Per call, prompt tokens reported, 0 where none were.
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
    """How badly growth from call to call is explained at best, as a mean share of the prompt; infinite where unknown.

    Args are those of `calibrate_model`. No shift is assumed, but none counts for more than a twentieth of a prompt.
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
    """The calls with a report, context after context; `rows` are their places among the model's calls."""

    rows: NDArray[np.intp]
    contexts: NDArray[np.integer]
    features: Floats
    values: Floats

    def segments(self) -> NDArray[np.intp]:
        """Per call, the number of its context, counted from 0."""
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
    """What growth from row to row shows: rows left unexplained, by how much, and what coefficients to expect."""

    unexplained: NDArray[np.intp]
    sizes: Floats
    expected: Expectation


def _typical_fit(typical: Coefficients, reported: _Reported) -> _Found:
    segments = reported.segments()
    beside = reported.values - reported.features @ np.array(typical)
    return _Found(typical, segments, segment_medians(beside, segments, int(segments.max(initial=-1)) + 1))


def _fit(typical: Coefficients, reported: _Reported) -> _Found | None:
    """The fit; None where it would be far from anything a provider counts."""
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
    """Per call, the level of its segment; of the nearest of its context, or what is usual, where it has none."""
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
    """Fit `values ≈ features @ coefficients + level of the row's segment`; a few odd rows do not move it.

    Sessions do not show everything that was sent. Huber's loss, minimised by reweighting; what is expected of the
    coefficients counts as one more observation each.

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
