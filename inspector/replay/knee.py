"""The knee of a curve: the point after which more brings little."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

NOTICEABLE = 0.05
"""How far below the straight line, as a share of the curve's height, a knee lies at least."""


def knee_of(fractions: NDArray[np.float64], amounts: NDArray[np.float64]) -> int | None:
    """Where a curve lies furthest below the straight line between its ends: the knee.

    Both directions are taken as shares of the curve's own width and height, so that the unit of neither matters. This
    is how Satopää, Albrecht, Irwin and Raghavan find a knee ("Finding a Kneedle in a Haystack", 2011), without their
    smoothing.

    Args:
        fractions: Where the points stand, rising.
        amounts: Their heights.

    Returns:
        Index of the point, None where the curve nowhere lies below that line by a twentieth of its height.
    """
    if len(amounts) < 3 or np.isnan(amounts).any():
        return None
    x, y = fractions, amounts
    width, height = float(x[-1] - x[0]), float(y.max() - y.min())
    if width <= 0 or height <= 0:
        return None
    line = y[0] + (y[-1] - y[0]) * (x - x[0]) / width
    below = (line - y) / height
    knee = int(np.argmax(below))
    return knee if below[knee] >= NOTICEABLE else None
