"""Scales of parameter values, for sliders, curves and sweeps: the position of a value and the next value.

A logarithmic scale moves in ratios, so that 150 and 600 are as far apart as 15,000 and 60,000. Its lower end may be 0:
positions use `value - minimum + 1`. Steps are round numbers of the value's own magnitude: a fine one leads from 40 to
41 and from 40,000 to 41,000, a coarse one from 40 to 50 and from 40,000 to 50,000.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from inspector.strategies.core.parameters import Parameter

LARGE_STEP = 10
"""Fine steps per coarse step on a logarithmic scale."""

_LINEAR_STEPS = 200
_COARSE_LINEAR_STEPS = 20


@dataclass(frozen=True, slots=True)
class ValueScale:
    """A range of numbers mapped to a line.

    Attributes:
        maximum: Value at the right end, above `minimum`.
        logarithmic: True if equal distances are equal ratios.
    """

    minimum: float
    maximum: float
    logarithmic: bool = False
    whole: bool = True

    @classmethod
    def of(cls, parameter: Parameter, value: float) -> ValueScale:
        """Build the scale of a parameter, wide enough to hold `value`.

        An open range ends at sixteen times the larger of default and value, so that there is always room to move.
        """
        default = parameter.default if isinstance(parameter.default, int | float) else 0
        minimum = parameter.minimum if parameter.minimum is not None else min(0, value, default)
        maximum = parameter.maximum
        if maximum is None:
            reach = max(abs(default), abs(value), 1)
            maximum = minimum + 16 * 2 ** math.ceil(math.log2(reach))
        whole = parameter.kind == "whole number"
        return cls(float(minimum), float(maximum if maximum > minimum else minimum + 1), parameter.logarithmic, whole)

    def fraction(self, value: float) -> float:
        """Return the position of a value on the line, 0 to 1."""
        span = self.maximum - self.minimum
        above = min(max(value - self.minimum, 0.0), span)
        if self.logarithmic:
            return math.log1p(above) / math.log1p(span)
        return above / span

    def value(self, fraction: float) -> float:
        """Return the value at a position on the line, rounded to at most two significant digits."""
        span = self.maximum - self.minimum
        fraction = min(max(fraction, 0.0), 1.0)
        if fraction in (0.0, 1.0):
            return self._fitted(self.minimum + span * fraction)
        above = math.expm1(fraction * math.log1p(span)) if self.logarithmic else span * fraction
        raw = self.minimum + above
        unit = self._unit_at(raw)
        return self._fitted(round(raw / unit) * unit)

    def stepped(self, value: float, steps: int, *, coarse: bool = False) -> float:
        """Return the value a number of steps up, or down if negative, clamped to the ends.

        A step from a value between two round ones goes to the next round one.

        Args:
            coarse: Round to one significant digit instead of two.
        """
        upward = steps > 0
        for _ in range(abs(steps)):
            unit = self._unit_at(value if upward else value * (1 - 1e-9), coarse=coarse)
            position = value / unit
            value = (math.floor(position + 1e-6) + 1 if upward else math.ceil(position - 1e-6) - 1) * unit
        return self._fitted(value)

    def _unit_at(self, value: float, *, coarse: bool = False) -> float:
        """Return the unit that values near this one are multiples of."""
        if not self.logarithmic:
            return self._linear_step(_COARSE_LINEAR_STEPS if coarse else _LINEAR_STEPS)
        unit = 10.0 ** math.floor(math.log10(max(abs(value), 1.0))) / (1 if coarse else LARGE_STEP)
        finest = 10.0 ** math.floor(math.log10((self.maximum - self.minimum) / 1e6))
        return max(unit, 1.0 if self.whole else finest)

    def _linear_step(self, steps: int) -> float:
        rough = (self.maximum - self.minimum) / steps
        unit = 10 ** math.floor(math.log10(rough)) if rough > 0 else 1.0
        unit = next((unit * factor for factor in (1, 2, 5, 10) if unit * factor >= rough), unit * 10)
        return max(unit, 1.0) if self.whole else unit

    def _fitted(self, value: float) -> float:
        if value <= self.minimum or value >= self.maximum:
            return self.minimum if value <= self.minimum else self.maximum
        rounded = float(round(value)) if self.whole else float(f"{value:.6g}")
        return min(max(rounded, self.minimum), self.maximum)
