"""Calibrate local token counts to the usage that the provider reported for this session.

The provider reports the size of every prompt. A prompt's tokens are modeled as

    overhead + ratio * counted tokens + per block * blocks + per signature character * signature characters
    + per media token * tokens of images and documents

with one set of coefficients per model, and one overhead (system prompt, tool definitions, hidden additions of the
agent) per context. Sessions are incomplete: unrecorded reminders, cleared results and re-injected files shift the
overhead within a context; see `inspector.tokens.model_fit` for the detection of shifts.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from inspector.tokens.model_fit import LEAST_CALLS, ModelCalibration, Shift, calibrate_model, growth_error
from inspector.tokens.model_names import Categorical, parse_model_name
from inspector.tokens.typical_ratios import Coefficients, tokenizer_family, typical_coefficients

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]


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
        blocks: Number of blocks.
        reasoning: Characters of signatures; for the other readings, reported tokens of responses.
        media: Provider tokens of images and documents, by the published rule.
    """

    counted: NDArray[np.int64]
    blocks: NDArray[np.int64]
    reasoning: NDArray[np.int64]
    media: NDArray[np.int64]


class BorrowedCalibration(NamedTuple):
    """Coefficients fitted for one model and used for a related one with too few reports.

    Attributes:
        model: The fitted model.
        coefficients: Its coefficients.
        reading: Its reading.
        calls: Number of calls used for the fit.
        is_from_other_session: True if the calls are another session's.
    """

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
        coefficients: Coefficients by model.
        main: The coefficients of the model with the most calls.
        main_model: Name of that model as recorded; empty without calls.
        readings: Readings by model.
        own_fits: Fits to the session's own calls, most calls first.
        borrowed: Borrowed fits by model.
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
        """Reading of the model with the most calls."""
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
