"""What the tune screen draws of a limit: curves over its range, the sizes it is about, and the values to be marked."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

    from inspector.replay.analysis.tunable_limits import LimitSizes
    from inspector.strategies.core.scale import ValueScale


FLATTEST = 0.2
"""How much of its height a curve has at least beside the level of nothing cut, or the level is left out."""


@dataclass(frozen=True, eq=False)
class Curve:
    """One figure over a limit's range; equal only to itself.

    Attributes:
        name: What it is, in a word.
        known: A letter for how it is known; empty where it is exact.
        style: Component class it is drawn in.
        fractions: Where its points stand, 0 to 1, rising.
        amounts: Their heights.
        level: The height with nothing cut, None where unknown.
        written: Writes an amount in few cells.
    """

    name: str
    known: str
    style: str
    fractions: NDArray[np.float64]
    amounts: NDArray[np.float64]
    level: float | None
    written: Callable[[float], str]

    @property
    def range(self) -> tuple[float, float]:
        """The least and the most, the level included unless that would leave the curve flat."""
        low, high = float(self.amounts.min()), float(self.amounts.max())
        if self.level is None or high == low:
            return low, high
        with_level = min(low, self.level), max(high, self.level)
        return with_level if high - low >= FLATTEST * (with_level[1] - with_level[0]) else (low, high)


@dataclass(frozen=True, eq=False)
class TuneChart:
    """What is drawn; equal only to itself.

    Attributes:
        scale: The limit's range.
        curves: From the top, the most important first.
        sizes: What the limit is about, None for nothing.
        here: The value looked at.
        plan: The plan's value.
        knee: The knee's value, or None.
        least: The value of the least amount, or None.
    """

    scale: ValueScale
    curves: tuple[Curve, ...]
    sizes: LimitSizes | None
    here: float
    plan: float
    knee: float | None = None
    least: float | None = None

    def column(self, value: float, columns: int) -> int:
        """The column of a value, of so many."""
        return min(int(self.scale.fraction(value) * columns), columns - 1)

    def value_at(self, column: int, columns: int) -> float:
        """The value a column of so many stands for; the ends of the range at the ends."""
        column = min(max(column, 0), columns - 1)
        if column in (0, columns - 1):
            return self.scale.value(0.0 if column == 0 else 1.0)
        return self.scale.value((column + 0.5) / columns)


def ticks(scale: ValueScale) -> list[float]:
    """Values to be named on the axis: powers of ten, or a few equal steps; the ends of the range first and last."""
    low, high = scale.minimum, scale.maximum
    if scale.logarithmic:
        exponents = range(math.ceil(math.log10(max(low, 1.0))), math.floor(math.log10(high)) + 1)
        inner = [10.0**exponent for exponent in exponents]
    else:
        rough = (high - low) / 5
        unit = 10.0 ** math.floor(math.log10(rough))
        unit = next(unit * factor for factor in (1, 2, 5, 10) if unit * factor >= rough)
        inner = [unit * place for place in range(math.ceil(low / unit), math.floor(high / unit) + 1)]
    return sorted({low, *(value for value in inner if low < value < high), high})


def short_value(value: float) -> str:
    """A limit's value in few cells: `400`, `5.3k`, `100k`, `1M`, `0.25`."""
    for size, suffix in ((1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:.4g}{suffix}"
    return f"{value:.3g}"
