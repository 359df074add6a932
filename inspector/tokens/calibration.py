"""Calibrate local token counts to the usage that the provider reported for this session.

The provider reports the size of every prompt. A prompt's tokens are modeled as

    overhead + ratio * counted tokens + per block * blocks + per signature character * signature characters
    + per media token * tokens of images and documents

with one set of coefficients per model, and one overhead (system prompt, tool definitions, hidden additions of the
agent) per context. Sessions are incomplete: unrecorded reminders, cleared results and re-injected files shift the
overhead within a context.

Coefficients are fitted robustly to the growth from one call to the next, in which the overhead cancels out. If the
added blocks do not explain the growth, the overhead is assumed to have shifted. Overheads are then fitted together with
the coefficients, which may change only a little: otherwise unrecorded tokens that accumulate over many calls would be
attributed to recorded ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from inspector.tokens.model_names import (
    Categorical,
    Coefficients,
    parse_model_name,
    tokenizer_family,
    typical_coefficients,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]


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
    """A call with a prompt that grew by unexplained tokens; negative if by less than the additions."""

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
    """Prior distribution of the coefficients. `deviations`: standard deviation per coefficient."""

    values: Floats
    deviations: Floats


@dataclass(frozen=True)
class Fit:
    """Coefficients, and the level of every segment of rows. `coefficients`: one per feature, not negative."""

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
        segments: Per observation, its segment, numbered from 0 without gaps; None for no levels.
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


class ResponseModel(StrEnum):
    """Model of the tokens of earlier responses in a prompt.

    A provider reports the length of a response, including reasoning, and later prompts contain the response again. How
    much of its reasoning they contain depends on the provider, the model and the agent, and is not recorded: all of it,
    the reasoning since the user's last message, only the last response's, or none. Every reading is tried on the
    session's reports. If lengths were not reported or are placeholders, responses are measured by their texts, and
    reasoning by its signature.
    """

    SIGNATURES = "texts and signatures"
    """Texts as counted locally, reasoning by the characters of its signature."""
    KEPT = "reported length, reasoning kept"
    """The reported length."""
    SINCE_USER = "reported length, reasoning since the user's last message"
    """The reported length, without reasoning from before the user's last message."""
    LAST = "reported length, reasoning of the last response"
    """The reported length, without reasoning of all responses except the last."""
    DROPPED = "reported length, reasoning dropped"
    """The reported length without its reasoning."""


class PromptContents(NamedTuple):
    """Contents of each call's prompt under one reading, int64.

    Attributes:
        counted: Counted tokens of everything not measured otherwise.
        reasoning: Characters of signatures; for the other readings, reported tokens of responses.
        media: Provider tokens of images and documents, by the published rule.
    """

    counted: NDArray[np.int64]
    blocks: NDArray[np.int64]
    reasoning: NDArray[np.int64]
    media: NDArray[np.int64]


class BorrowedCalibration(NamedTuple):
    """Coefficients of a related model with enough reports, of this session or another."""

    model: str
    coefficients: Coefficients
    reading: ResponseModel
    calls: int
    is_from_other_session: bool = False

    def scaled_to(self, model: str) -> Coefficients:
        """Return the coefficients for another model of the family, scaled by their typical ratios."""
        ratio = typical_coefficients(model).ratio / typical_coefficients(self.model).ratio
        return self.coefficients._replace(ratio=self.coefficients.ratio * ratio)


@dataclass(frozen=True)
class Calibration:
    """Calibration of a session's counted tokens to provider tokens.

    Attributes:
        ratio: Provider tokens per counted token, for the model with the most calls.
        overhead: Unrecorded tokens at the beginning of the newest prompt, as of the start of its context.
        residual: Median relative error of fitted prompts, NaN without a fit.
        residual_p90: 90th percentile of the relative error.
        calls: Number of calls in the residual.
        is_fitted: True if the model with the most calls was fitted; otherwise its coefficients are borrowed or typical
            of its family, and the figures are estimates.
        main_model: Name of that model as recorded; empty without calls.
        own_fits: Fits to the session's own calls, most calls first.
        shifts: Shifts of the overhead within a context, in call order.
        call_ratio: Per call, the ratio of its model, float64.
        call_overhead: Per call, the overhead of its model at the start of its context or of the model's use in it,
            float64.
        prompt: Per call, its prompt in provider tokens, float64.
    """

    ratio: float
    overhead: float
    residual: float
    residual_p90: float
    calls: int
    is_fitted: bool
    coefficients: Mapping[str, Coefficients]
    main: Coefficients
    main_model: str
    readings: Mapping[str, ResponseModel]
    own_fits: tuple[BorrowedCalibration, ...]
    borrowed: Mapping[str, BorrowedCalibration]
    shifts: tuple[Shift, ...]
    call_ratio: Floats
    call_overhead: Floats
    prompt: Floats

    @property
    def main_reading(self) -> ResponseModel:
        return self.readings.get(self.main_model, ResponseModel.SIGNATURES)

    @property
    def main_borrowed(self) -> BorrowedCalibration | None:
        """Borrowed fit of the model with the most calls; None if it is fitted or typical."""
        return self.borrowed.get(self.main_model)


def calibrate(
    models: Sequence[str] | Categorical,
    contexts: NDArray[np.integer],
    contents: Mapping[ResponseModel, PromptContents],
    reported: Integers,
    borrowed_fit: Sequence[BorrowedCalibration] = (),
) -> Calibration:
    """Fit local counts to the reported usage. All columns are per call, in call order, for any number of contexts.

    A model with too few reports uses, in this order: a borrowed fit of the same model; the session's fit of the model
    of the same family with the most calls; a borrowed fit of the same family; the typical coefficients of the family.

    Args:
        models: Model names as recorded.
        contexts: Context of each call's prompt; prompts of one context extend each other.
        contents: Contents of the whole prompt under every reading, `ResponseModel.SIGNATURES` first, without the
            counted tokens of thinking that has a signature; each model gets the reading that explains its reports best.
        reported: Reported prompt tokens, 0 for calls without a report, which are predicted.
        borrowed_fit: Fits of another session.
    """
    features = {reading: np.column_stack(each).astype(np.float64) for reading, each in contents.items()}
    values = reported.astype(np.float64)
    names, code = Categorical.of(models)
    usable = np.bincount(code[values > 0], minlength=len(names)) if names else np.zeros(0, dtype=np.int64)
    rows = [np.flatnonzero(code == number) for number in range(len(names))]
    readings: dict[str, ResponseModel] = {}
    parts: dict[str, ModelCalibration] = {}
    for model, own in zip(names, rows, strict=True):
        mine = {reading: each[own] for reading, each in features.items()}
        typical = typical_coefficients(model)
        readings[model] = best_reading(typical, contexts[own], mine, values[own])
        expected = typical_for_reading(readings[model], typical)
        parts[model] = calibrate_model(expected, contexts[own], mine[readings[model]], values[own])
    fitted = {name: calls for name, calls in zip(names, usable.tolist(), strict=True) if parts[name].is_fitted}
    ours = [
        BorrowedCalibration(name, parts[name].coefficients, readings[name], calls) for name, calls in fitted.items()
    ]
    ours.sort(key=lambda fit: -fit.calls)
    borrowed: dict[str, BorrowedCalibration] = {}
    for number, (model, own) in enumerate(zip(names, rows, strict=True)):
        source_fit = _borrowed_fit(model, ours, borrowed_fit) if usable[number] < LEAST_CALLS else None
        if source_fit is None:
            continue
        borrowed[model], coefficients = source_fit, source_fit.scaled_to(model)
        readings[model] = source_fit.reading
        if source_fit.reading not in features:  # no response length is reported
            readings[model] = ResponseModel.SIGNATURES
            coefficients = coefficients._replace(
                per_signature_character=typical_coefficients(model).per_signature_character
            )
        parts[model] = calibrate_model(coefficients, contexts[own], features[readings[model]][own], values[own])
    prompt, overhead = np.zeros(len(values)), np.zeros(len(values))
    ratio, distance = np.ones(len(values)), np.full(len(values), np.nan)
    shifts: list[Shift] = []
    for model, own in zip(names, rows, strict=True):
        part = parts[model]
        prompt[own], distance[own] = part.prompt, part.distance
        _, firsts, place = np.unique(contexts[own], return_index=True, return_inverse=True)
        overhead[own] = part.overhead[firsts][place]
        ratio[own] = part.coefficients.ratio
        shifts += [Shift(int(own[shift.call]), shift.tokens) for shift in part.shifts]
    main = names[int(usable.argmax())] if names else ""
    judged = np.isfinite(distance)
    coefficients = parts[main].coefficients if names else Coefficients(1.0, 0.0, 0.0)
    return Calibration(
        ratio=coefficients.ratio,
        overhead=float(overhead[-1]) if len(values) else 0.0,
        residual=float(np.median(distance[judged])) if judged.any() else float("nan"),
        residual_p90=float(np.quantile(distance[judged], 0.9)) if judged.any() else float("nan"),
        calls=int(judged.sum()),
        is_fitted=bool(names) and parts[main].is_fitted,
        coefficients={model: part.coefficients for model, part in parts.items()},
        main=coefficients,
        main_model=main,
        readings=readings,
        own_fits=tuple(ours),
        borrowed=borrowed,
        shifts=tuple(sorted(shifts)),
        call_ratio=ratio,
        call_overhead=overhead,
        prompt=prompt,
    )


def _borrowed_fit(
    model: str, ours: Sequence[BorrowedCalibration], borrowed: Sequence[BorrowedCalibration]
) -> BorrowedCalibration | None:
    """Return the fit that a model borrows; fits are sorted by calls, descending."""
    name, family = parse_model_name(model).name, tokenizer_family(model)
    same_model = (fit for fit in borrowed if name and parse_model_name(fit.model).name == name)
    same_family = (fit for fit in (*ours, *borrowed) if family and tokenizer_family(fit.model) == family)
    return next(same_model, None) or next(same_family, None)


_BETTER = 0.9
"""A reading is preferred to an earlier one if its error is below this share of the other's."""


def best_reading(
    typical: Coefficients, contexts: NDArray[np.integer], features: Mapping[ResponseModel, Floats], values: Floats
) -> ResponseModel:
    """Return the reading that explains the growth between calls best; the first if no other is clearly better.

    Args:
        typical: Typical coefficients of the model's family.
        contexts: Per call, the context of its prompt.
        features: By reading, the columns of `PromptContents` per call.
        values: Per call, reported prompt tokens, 0 without a report.
    """
    best, least = ResponseModel.SIGNATURES, float("inf")
    tried: list[Floats] = []
    for reading, each in features.items():
        if any(np.array_equal(each, other) for other in tried):
            continue
        tried.append(each)
        error = growth_error(typical_for_reading(reading, typical), contexts, each, values)
        if error < _BETTER * least or (not np.isfinite(least) and np.isfinite(error)):
            best, least = reading, error
    return best


def typical_for_reading(reading: ResponseModel, typical: Coefficients) -> Coefficients:
    """Return the typical coefficients of a family under a reading: a reported token counts as one."""
    return typical if reading is ResponseModel.SIGNATURES else typical._replace(per_signature_character=1.0)
