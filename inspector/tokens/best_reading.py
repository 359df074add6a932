"""Which reading of responses explains a model's reported prompts best."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from inspector.tokens.model_calibration import growth_error
from inspector.tokens.readings import Reading

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from inspector.tokens.ratios import Coefficients

    Floats = NDArray[np.float64]

_BETTER = 0.9
"""A reading is preferred to one before it when it leaves less than this share of its error."""


def typical_on(reading: Reading, typical: Coefficients) -> Coefficients:
    """What is typical of a model's family on a reading: a token that was reported counts as one."""
    return typical if reading is Reading.SIGNATURES else typical._replace(per_signature_character=1.0)


def best_reading(
    typical: Coefficients, contexts: NDArray[np.integer], features: Mapping[Reading, Floats], values: Floats
) -> Reading:
    """The reading on which growth from call to call is explained best; the first where no other is clearly better.

    Args:
        typical: What is typical of the model's family.
        contexts: Per call, the context its prompt belongs to.
        features: On every reading, per call, counted tokens, blocks, and signature characters or reported tokens.
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
