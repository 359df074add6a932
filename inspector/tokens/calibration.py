"""Our token counts brought to the scale of what the provider reported for this very session.

The provider reports what every prompt measured. A prompt's tokens are taken to be

    overhead + ratio * counted tokens + per block * blocks + per signature character * signature characters
    + per media token * tokens of images and documents

with one set of coefficients for every model, and an overhead (system prompt, tool definitions, what the agent adds
unseen) for every context. Sessions do not show everything: reminders, cleared results and re-injected files shift the
overhead in the middle of a context; `inspector.tokens.model_fit` says how that is found.
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


class Reading(StrEnum):
    """What stands for responses in the prompts after them.

    A provider reports how long a response was, reasoning included, and the prompts after it hold it again. What they
    hold of its reasoning differs by provider, by model and by how the agent sends it back, and files do not say: all of
    it, that since the user's last message, that of the last response, or none. So each is tried on the session's own
    reports. Where lengths were not reported, or are placeholders, responses are measured by their texts, and reasoning
    by its signature.
    """

    SIGNATURES = "texts and signatures"
    """Texts as counted locally, reasoning by the characters of its signature."""
    KEPT = "reported length, reasoning kept"
    """The reported length."""
    SINCE_USER = "reported length, reasoning since the user's last message"
    """The reported length; without its reasoning, once the user has said something more."""
    LAST = "reported length, reasoning of the last response"
    """The reported length; without its reasoning, once there is a later response."""
    DROPPED = "reported length, reasoning dropped"
    """The reported length without its reasoning."""


class PromptContents(NamedTuple):
    """Per call, what its prompt holds on one reading, int64.

    Attributes:
        counted: Tokens as counted, of what is not measured otherwise.
        blocks: Blocks.
        reasoning: Characters of signatures; on the other readings, reported tokens of responses.
        media: The provider's tokens of images and documents, by its published rule.
    """

    counted: NDArray[np.int64]
    blocks: NDArray[np.int64]
    reasoning: NDArray[np.int64]
    media: NDArray[np.int64]


class LentFit(NamedTuple):
    """What was found for a model, for one of its family of which too little is reported.

    Attributes:
        model: The model that it was found for.
        coefficients: What was found.
        reading: What stands for responses in its prompts.
        calls: How many calls it was found by.
        is_elsewhere: They are another session's.
    """

    model: str
    coefficients: Coefficients
    reading: Reading
    calls: int
    is_elsewhere: bool = False

    def scaled_to(self, model: str) -> Coefficients:
        """What it says of a model of the family, whose ratio is typically another."""
        ratio = typical_coefficients(model).ratio / typical_coefficients(self.model).ratio
        return self.coefficients._replace(ratio=self.coefficients.ratio * ratio)


@dataclass(frozen=True)
class Calibration:
    """How a session's counted tokens measure at its provider.

    Attributes:
        ratio: The provider's tokens for one of ours, of the model with most calls.
        overhead: Tokens of what begins the newest prompt and is not in the session, when its context began.
        residual: Median distance of fitted from reported prompts as a share of the prompt, NaN when nothing was fitted.
        residual_p90: Its 90th percentile.
        calls: How many calls the residual is of.
        is_fitted: The model with most calls was fitted; otherwise the figures are borrowed, or what is typical of its
            family, and estimates.
        coefficients: What was found, by model.
        main: The coefficients of the model with most calls.
        main_model: That model's name as recorded; empty where there are no calls.
        readings: What stands for responses in prompts, by model.
        own_fits: What was fitted to the session's own calls, the model with most of them first.
        borrowed: By model, the fit that it was lent.
        shifts: Where the overhead shifted inside a context, in call order.
        call_ratio: Per call, the ratio of its model, float64.
        call_overhead: Per call, the overhead of its model when its context began, or the model began in it, float64.
        prompt: Per call, its prompt on the provider's scale, float64.
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
    readings: Mapping[str, Reading]
    own_fits: tuple[LentFit, ...]
    borrowed: Mapping[str, LentFit]
    shifts: tuple[Shift, ...]
    call_ratio: Floats
    call_overhead: Floats
    prompt: Floats

    @property
    def main_reading(self) -> Reading:
        """What stands for responses in the prompts of the model with most calls."""
        return self.readings.get(self.main_model, Reading.SIGNATURES)

    @property
    def main_borrowed(self) -> LentFit | None:
        """The fit that the model with most calls was lent; None where it has its own, or what is typical."""
        return self.borrowed.get(self.main_model)


def calibrate(
    models: Sequence[str] | Categorical,
    contexts: NDArray[np.integer],
    contents: Mapping[Reading, PromptContents],
    reported: Integers,
    lent: Sequence[LentFit] = (),
) -> Calibration:
    """Fit local counts to what was reported. All columns are per call, in call order, of any number of contexts.

    A model of which too little is reported borrows: what was lent for it from elsewhere, else the fit of the session's
    model of its family with most calls, else what was lent for one of its family, else what is typical of that.

    Args:
        models: The model's name as recorded.
        contexts: Which context the call's prompt belongs to; prompts of one context grow from one another.
        contents: What the whole prompt holds on every reading, `Reading.SIGNATURES` first, thinking that has a
            signature left out of the counted tokens; each model gets the reading that explains its reports best.
        reported: Prompt tokens the provider reported, 0 where it reported nothing: such calls are predicted.
        lent: Fits of another session.
    """
    features = {reading: np.column_stack(each).astype(np.float64) for reading, each in contents.items()}
    values = reported.astype(np.float64)
    names, code = Categorical.of(models)
    usable = np.bincount(code[values > 0], minlength=len(names)) if names else np.zeros(0, dtype=np.int64)
    rows = [np.flatnonzero(code == number) for number in range(len(names))]
    readings: dict[str, Reading] = {}
    parts: dict[str, ModelCalibration] = {}
    for model, own in zip(names, rows, strict=True):
        mine = {reading: each[own] for reading, each in features.items()}
        typical = typical_coefficients(model)
        readings[model] = best_reading(typical, contexts[own], mine, values[own])
        expected = typical_on(readings[model], typical)
        parts[model] = calibrate_model(expected, contexts[own], mine[readings[model]], values[own])
    fitted = {name: calls for name, calls in zip(names, usable.tolist(), strict=True) if parts[name].is_fitted}
    ours = [LentFit(name, parts[name].coefficients, readings[name], calls) for name, calls in fitted.items()]
    ours.sort(key=lambda fit: -fit.calls)
    borrowed: dict[str, LentFit] = {}
    for number, (model, own) in enumerate(zip(names, rows, strict=True)):
        lender = _lender(model, ours, lent) if usable[number] < LEAST_CALLS else None
        if lender is None:
            continue
        borrowed[model], coefficients = lender, lender.scaled_to(model)
        readings[model] = lender.reading
        if lender.reading not in features:  # no length of a response is reported
            readings[model] = Reading.SIGNATURES
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


def _lender(model: str, ours: Sequence[LentFit], lent: Sequence[LentFit]) -> LentFit | None:
    """Whose fit a model borrows; the first of each is the one with most calls."""
    name, family = parse_model_name(model).name, tokenizer_family(model)
    same_model = (fit for fit in lent if name and parse_model_name(fit.model).name == name)
    same_family = (fit for fit in (*ours, *lent) if family and tokenizer_family(fit.model) == family)
    return next(same_model, None) or next(same_family, None)


_BETTER = 0.9
"""A reading is preferred to one before it when it leaves less than this share of its error."""


def best_reading(
    typical: Coefficients, contexts: NDArray[np.integer], features: Mapping[Reading, Floats], values: Floats
) -> Reading:
    """The reading on which growth from call to call is explained best; the first where no other is clearly better.

    Args:
        typical: What is typical of the model's family.
        contexts: Per call, the context its prompt belongs to.
        features: On every reading, per call, what `PromptContents` has, a column each.
        values: Per call, prompt tokens reported, 0 where none were.
    """
    best, least = Reading.SIGNATURES, float("inf")
    tried: list[Floats] = []
    for reading, each in features.items():
        if any(np.array_equal(each, other) for other in tried):
            continue
        tried.append(each)
        error = growth_error(typical_on(reading, typical), contexts, each, values)
        if error < _BETTER * least or (not np.isfinite(least) and np.isfinite(error)):
            best, least = reading, error
    return best


def typical_on(reading: Reading, typical: Coefficients) -> Coefficients:
    """What is typical of a model's family on a reading: a token that was reported counts as one."""
    return typical if reading is Reading.SIGNATURES else typical._replace(per_signature_character=1.0)
