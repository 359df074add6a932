"""Our token counts brought to the scale of what the provider reported for this very session.

The provider reports what every prompt measured. A prompt's tokens are taken to be

    overhead + ratio * counted tokens + per block * blocks + per signature character * signature characters

with one set of coefficients for every model, and an overhead (system prompt, tool definitions, what the agent adds
unseen) for every context. Sessions do not show everything: reminders, cleared results and re-injected files move the
overhead in the middle of a context, and such a call would spoil a plain least-squares fit. So coefficients are fitted,
robustly, to the growth from one call to the next, where the overhead cancels out. Where growth cannot be explained by
what was added, the overhead is taken to have shifted. Then the overheads are fitted, and the coefficients with them,
but these may move little: what accumulates unseen over many calls would pass for tokens that were seen.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from inspector.tokens.ratios import Coefficients, typical_coefficients
from inspector.tokens.robust_fit import MAD_TO_DEVIATION, Expectation, robust_fit, segment_medians

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    Integers = NDArray[np.int64]
    Floats = NDArray[np.float64]

LEAST_CALLS = 10
"""Calls of a model with reported usage below which its family's typical coefficients are used."""

_SHIFT_DEVIATIONS = 8.0
_SHIFT_SHARE = 0.005
"""Growth is unexplained when it is off by so many deviations, and by this share of the prompt."""

_RATIO_SHARE, _BLOCK_TOKENS, _SIGNATURE_TOKENS = 0.01, 5.0, 0.01
"""How far coefficients may well move from what growth shows: the ratio by a share, the others by tokens."""

_CALLS_PER_SHIFT = 10
"""At most one shift is assumed for so many calls; more would explain anything."""

_JUDGED_TOGETHER = 3
"""Calls between two shifts that count towards the residual: fewer are met by their own overhead."""


class Shift(NamedTuple):
    """A call whose prompt differs from the one before it by more than what the session shows was added.

    Attributes:
        call: Call index.
        tokens: How many tokens more (or, negative, fewer) than explained.
    """

    call: int
    tokens: int


@dataclass(frozen=True)
class Calibration:
    """How a session's counted tokens measure at its provider.

    Attributes:
        ratio: The provider's tokens for one of ours, of the model with most calls.
        overhead: Tokens of what begins every prompt of the latest context and is not in the session, when it began.
        residual: Median distance of fitted from reported prompts as a share of the prompt, NaN when nothing was fitted.
        residual_p90: Its 90th percentile.
        calls: How many calls the residual is of.
        is_fitted: The model with most calls was fitted; otherwise the figures are its family's, and estimates.
        coefficients: What was found, by model.
        shifts: Where the overhead shifted inside a context, in call order.
        call_ratio: Per call, the ratio of its model, float64.
        prompt: Per call, its prompt on the provider's scale, float64.
    """

    ratio: float
    overhead: float
    residual: float
    residual_p90: float
    calls: int
    is_fitted: bool
    coefficients: Mapping[str, Coefficients]
    shifts: tuple[Shift, ...]
    call_ratio: Floats
    prompt: Floats


def calibrate(
    models: Sequence[str],
    contexts: NDArray[np.integer],
    counted: Integers,
    blocks: Integers,
    signature_characters: Integers,
    reported: Integers,
) -> Calibration:
    """Fit our counts to what was reported. All columns are per call, in call order, of any number of contexts.

    Args:
        models: The model's name as recorded.
        contexts: Which context the call's prompt belongs to; prompts of one context grow from one another.
        counted: Counted tokens of the whole prompt, thinking that has a signature left out.
        blocks: Blocks of the prompt.
        signature_characters: Characters of signatures and encrypted content in the prompt.
        reported: Prompt tokens the provider reported, 0 where it reported nothing: such calls are predicted.
    """
    features = np.column_stack((counted, blocks, signature_characters)).astype(np.float64)
    values = reported.astype(np.float64)
    codes: dict[str, int] = {}
    code = np.array([codes.setdefault(model, len(codes)) for model in models], dtype=np.intp)
    found: dict[str, Coefficients] = {}
    prompt = np.zeros(len(values))
    ratio = np.ones(len(values))
    distance = np.full(len(values), np.nan)
    overhead = np.zeros(len(values))
    shifts: list[Shift] = []
    for model, number in codes.items():
        own = np.flatnonzero(code == number)
        part = _calibrate_model(typical_coefficients(model), contexts[own], features[own], values[own])
        found[model] = part.coefficients
        prompt[own], overhead[own], distance[own] = part.prompt, part.overhead, part.distance
        ratio[own] = part.coefficients.ratio
        shifts += [Shift(int(own[shift.call]), shift.tokens) for shift in part.shifts]
    usable = np.bincount(code[values > 0], minlength=len(codes)) if codes else np.zeros(0, dtype=np.int64)
    main = int(usable.argmax()) if len(usable) else -1
    judged = np.isfinite(distance)
    return Calibration(
        ratio=found[list(codes)[main]].ratio if found else 1.0,
        overhead=float(overhead[np.flatnonzero(contexts == contexts[-1])[0]]) if len(values) else 0.0,
        residual=float(np.median(distance[judged])) if judged.any() else float("nan"),
        residual_p90=float(np.quantile(distance[judged], 0.9)) if judged.any() else float("nan"),
        calls=int(judged.sum()),
        is_fitted=main >= 0 and int(usable[main]) >= LEAST_CALLS,
        coefficients=found,
        shifts=tuple(sorted(shifts)),
        call_ratio=ratio,
        prompt=prompt,
    )


def measured_additions(
    reported: Integers, output: Integers, output_is_known: NDArray[np.bool_], previous_call: Integers
) -> Integers:
    """What the user side added before each call, measured by the provider's own figures: no count of ours is in it.

    Prompt of this call, less prompt and response of the call it grew from. It holds the tokens of new tool results and
    user texts with some twenty tokens around them. Only where nothing else happened between the two calls: no
    compaction, no attachment, no image; the caller leaves such calls out by setting their previous call to -1.

    Args:
        reported: Per call, prompt tokens reported, 0 for none.
        output: Per call, response tokens reported.
        output_is_known: Per call, whether `output` is the response's size and not a streaming placeholder.
        previous_call: Per call, the call its prompt grew from, -1 for none.

    Returns:
        Per call, tokens, -1 where they cannot be known.
    """
    allowed = (previous_call >= 0) & (reported > 0) & (reported[previous_call] > 0) & output_is_known[previous_call]
    added = reported - reported[previous_call] - output[previous_call]
    return np.where(allowed & (added >= 0), added, -1)


class _Part(NamedTuple):
    """One model's share of a calibration; rows are its calls."""

    coefficients: Coefficients
    prompt: Floats
    overhead: Floats
    distance: Floats
    shifts: tuple[Shift, ...]


def _calibrate_model(typical: Coefficients, contexts: NDArray[np.integer], features: Floats, values: Floats) -> _Part:
    order = np.argsort(contexts, kind="stable")
    rows = order[values[order] > 0]
    x, y, context = features[rows], values[rows], contexts[rows]
    coefficients = np.array(typical)
    segments = np.cumsum(np.append(False, context[1:] != context[:-1])) if len(rows) else np.zeros(0, dtype=np.intp)
    count = int(segments.max(initial=-1)) + 1
    distance = np.full(len(values), np.nan)
    shifts: tuple[Shift, ...] = ()
    if len(rows) >= LEAST_CALLS:
        expected = Expectation(coefficients, np.array((0.3 * typical.ratio, 25.0, 0.1)))
        growth = _fit_growth(x, y, segments, expected)
        shifted = growth.unexplained
        shifts = tuple(Shift(int(rows[row]), round(size)) for row, size in zip(shifted, growth.sizes, strict=True))
        starts = np.append(False, segments[1:] != segments[:-1])
        starts[shifted] = True
        segments = np.cumsum(starts)
        fit = robust_fit(x, y, segments, growth.expected)
        coefficients, levels = fit.coefficients, fit.levels
        judged = np.bincount(segments)[segments] >= _JUDGED_TOGETHER
        error = np.abs(y - x @ coefficients - levels[segments]) / y
        distance[rows[judged]] = error[judged]
    else:
        levels = segment_medians(y - x @ coefficients, segments, count)
    overhead = _overhead_of_calls(contexts, rows, segments, levels)
    ratio, per_block, per_signature_character = coefficients.tolist()
    return _Part(
        Coefficients(ratio, per_block, per_signature_character),
        features @ coefficients + overhead,
        overhead,
        distance,
        shifts,
    )


class _Growth(NamedTuple):
    """What growth from row to row shows: rows left unexplained, by how much, and what coefficients to expect."""

    unexplained: NDArray[np.intp]
    sizes: Floats
    expected: Expectation


def _fit_growth(features: Floats, values: Floats, segments: NDArray[np.intp], expected: Expectation) -> _Growth:
    grown = np.flatnonzero(segments[1:] == segments[:-1]) + 1
    if len(grown) < LEAST_CALLS // 2:
        return _Growth(grown[:0], np.zeros(0), expected)
    growth, added = values[grown] - values[grown - 1], features[grown] - features[grown - 1]
    coefficients = robust_fit(added, growth, None, expected).coefficients
    unexplained = growth - added @ coefficients
    deviation = MAD_TO_DEVIATION * float(np.median(np.abs(unexplained)))
    limit = np.maximum(_SHIFT_DEVIATIONS * deviation, _SHIFT_SHARE * values[grown])
    places = np.flatnonzero(np.abs(unexplained) > limit)
    most = len(values) // _CALLS_PER_SHIFT
    largest = places[np.argsort(-np.abs(unexplained[places]), kind="stable")[:most]]
    largest.sort()
    deviations = np.array((_RATIO_SHARE * max(coefficients[0], 0.1), _BLOCK_TOKENS, _SIGNATURE_TOKENS))
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
