"""Sizes the provider itself measured, by the difference between one call and the next."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Integers = NDArray[np.int64]


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
