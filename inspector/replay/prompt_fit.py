"""How well prompts are met by our counts on the calibrated scale, and which calls stand in the way of better."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from inspector.replay.calibrate import calibrate_columns, columns_of_prompts
from inspector.session.model import BlockKind

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from inspector.replay.inputs import ReplayInputs

MEDIAN_PROMISE = 0.005
NINE_OF_TEN_PROMISE = 0.01
"""A calibrated prompt is promised to be met within these shares of it: by half of the calls, by nine of ten."""

_FOLDS = 5
_MOST_OUTLIERS = 5
_SHOWN_KINDS = (BlockKind.IMAGE, BlockKind.DOCUMENT, BlockKind.TOOL_RESULT, BlockKind.TOOL_CALL, BlockKind.THINKING)


@dataclass(frozen=True, slots=True)
class Outlier:
    """A call whose prompt is not met within the promise.

    Attributes:
        call: Its index.
        reported: Prompt tokens reported.
        predicted: Prompt tokens predicted.
        brought: What came into the context with this call, in words: `image, tool result`.
    """

    call: int
    reported: int
    predicted: int
    brought: str

    @property
    def off(self) -> float:
        """How far the prediction is off, as a share of the prompt."""
        return self.predicted / self.reported - 1


@dataclass(frozen=True, slots=True)
class PromptFit:
    """How prompts are met.

    Attributes:
        calls: Calls that were judged.
        median: The share of the prompt within which half of them are met; NaN where nothing was fitted.
        nine_of_ten: The same for nine of ten.
        held_out_median: The same for calls whose report the fit did not see.
        held_out_nine_of_ten: The same for nine of ten of them.
        outliers: The calls furthest off, furthest first, of those that are off by more than is promised of nine of ten.
        beyond: How many such calls there are.
        shifts: Calls at which the overhead shifted: something came or went that the file does not show; call, tokens.
    """

    calls: int
    median: float
    nine_of_ten: float
    held_out_median: float
    held_out_nine_of_ten: float
    outliers: tuple[Outlier, ...]
    beyond: int
    shifts: tuple[tuple[int, int], ...]

    @property
    def is_judged(self) -> bool:
        """There were calls enough to fit and judge."""
        return not np.isnan(self.median)

    def keeps(self, median: float = MEDIAN_PROMISE, nine_of_ten: float = NINE_OF_TEN_PROMISE) -> bool:
        """Whether prompts are met within these shares of them."""
        return self.is_judged and self.median <= median and self.nine_of_ten <= nine_of_ten


def prompt_fit(inputs: ReplayInputs) -> PromptFit:
    """How well a session's reported prompts are met."""
    fit = inputs.scale.calibration
    reported = inputs.recorded.prompt
    predicted = inputs.scale.prompt[:-1]
    distance = np.where(reported > 0, np.abs(predicted - reported) / np.maximum(reported, 1), 0.0)
    beyond = np.flatnonzero(distance > NINE_OF_TEN_PROMISE) if fit.is_fitted else np.zeros(0, dtype=np.int64)
    furthest = beyond[np.argsort(-distance[beyond], kind="stable")][:_MOST_OUTLIERS].tolist()
    held_out = _held_out(inputs) if fit.is_fitted else np.zeros(0)
    return PromptFit(
        calls=fit.calls,
        median=fit.residual,
        nine_of_ten=fit.residual_p90,
        held_out_median=float(np.median(held_out)) if len(held_out) else float("nan"),
        held_out_nine_of_ten=float(np.quantile(held_out, 0.9)) if len(held_out) else float("nan"),
        outliers=tuple(
            Outlier(call, int(reported[call]), round(float(predicted[call])), _brought(inputs, call))
            for call in furthest
        ),
        beyond=len(beyond),
        shifts=tuple((shift.call, shift.tokens) for shift in fit.shifts),
    )


def _held_out(inputs: ReplayInputs) -> NDArray[np.float64]:
    """How far the fit is off at calls whose report was kept from it, a fifth of them at a time."""
    history, reported = inputs.history, np.append(inputs.recorded.prompt, 0)
    columns = columns_of_prompts(history, inputs.table, inputs.recorded_removed)
    fold = np.arange(len(reported)) % _FOLDS
    found = []
    for each in range(_FOLDS):
        kept = np.where(fold == each, 0, reported)
        fit = calibrate_columns(history, columns, kept)
        mine = (fold == each) & (reported > 0)
        found.append(np.abs(fit.prompt[mine] - reported[mine]) / reported[mine])
    return np.concatenate(found)


def _brought(inputs: ReplayInputs, call: int) -> str:
    history = inputs.history
    kinds = {BlockKind(int(kind)) for kind in history.kind[history.enters == call]}
    media = any(history.session.blocks[block].media for block in np.flatnonzero(history.enters == call).tolist())
    named = [kind.label for kind in _SHOWN_KINDS if kind in kinds]
    return ", ".join(["image or document", *named] if media and BlockKind.IMAGE not in kinds else named)
