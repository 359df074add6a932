"""Scales and ticks of plain charts as in Vega-Lite: nice ends, round steps, short numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

PREFIXES = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))

MINUS = "\N{MINUS SIGN}"


SMALLEST_SHARE = 1e-9
"""Relative differences below this, and dollars below it, count as zero."""


@dataclass(frozen=True, slots=True)
class Scale:
    """Mapping of values to pixels.

    Attributes:
        least: First value.
        most: Last value; more than `least`.
        begin: Pixel of `least`.
        end: Pixel of `most`.
        ratio: Width of the linear part around zero of a symmetric logarithmic scale; 0 for a linear scale.
    """

    least: float
    most: float
    begin: float
    end: float
    ratio: float = 0.0

    def at(self, value: float) -> float:
        """Return the pixel of a value."""
        low, high = self._bent(self.least), self._bent(self.most)
        return self.begin + (self._bent(value) - low) / (high - low) * (self.end - self.begin)

    def _bent(self, value: float) -> float:
        if not self.ratio:
            return value
        return math.copysign(math.log1p(abs(value) / self.ratio), value)

    def ticks(self, count: int = 10, least_step: float = 0.0) -> list[float]:
        """Return about `count` round values: multiples of a step of 1, 2 or 5 times a power of ten."""
        if self.ratio:
            powers = [10.0**power for power in range(math.floor(math.log10(self.ratio)), 16)]
            return [value for value in (0.0, *powers) if self.least <= value <= self.most]
        step = max(round_step(self.most - self.least, count), least_step)
        first = math.ceil(self.least / step - 1e-9)
        last = math.floor(self.most / step + 1e-9)
        return [place * step for place in range(first, last + 1)]


def round_step(length: float, count: int) -> float:
    """Return a step of 1, 2 or 5 times a power of ten that divides a length into about `count` parts."""
    rough = length / max(count, 1)
    power = 10.0 ** math.floor(math.log10(rough))
    share = rough / power
    factor = 10 if share >= math.sqrt(50) else 5 if share >= math.sqrt(10) else 2 if share >= math.sqrt(2) else 1
    return factor * power


def domain(
    values: Sequence[float], *, with_zero: bool, is_nice: bool, least: float | None, most: float | None
) -> tuple[float, float]:
    """Return the first and last value of a scale; the last is greater than the first.

    Args:
        values: The values to draw.
        with_zero: Include zero.
        is_nice: Round both ends.
        least: Fixed first value; None to use the values.
        most: Fixed last value; None to use the values.
    """
    drawn = [*values, 0.0] if with_zero or not values else list(values)
    low = min(drawn) if least is None else least
    high = max(drawn) if most is None else most
    if high - low <= SMALLEST_SHARE * max(abs(low), abs(high), SMALLEST_SHARE):
        high = low + (abs(low) if abs(low) > SMALLEST_SHARE else 1.0)
    if is_nice:
        step = round_step(high - low, 10)
        low = low if least is not None else math.floor(low / step + 1e-9) * step
        high = high if most is not None else math.ceil(high / step - 1e-9) * step
    return low, high


def number(value: float, form: str) -> str:
    """Format a number like D3 in one of the formats that charts use (`,d`, `~s`, `$~f`, `,.3~r`, and others).

    Raises:
        ValueError: The format is not supported.
    """
    size = abs(value)
    match form.removeprefix("$"):
        case ",d":
            text = f"{round(size):,}"
        case "~s":
            text = _short(size)
        case "~f":
            text = _trimmed(f"{size:.6f}")
        case ",~f" | "":
            text = _trimmed(f"{size:,.6f}")
        case ",.3~r":
            text = _trimmed(f"{float(f'{size:.3g}'):,.6f}")
        case ",.1f" | ",.2f" as grouped:
            text = format(size, grouped)
        case ",.4~f":
            text = _trimmed(f"{size:,.4f}")
        case _:
            raise ValueError(form)
    sign = MINUS if value < 0 and any(digit in text for digit in "123456789") else ""
    return f"{sign}{'$' if form.startswith('$') else ''}{text}"


def _short(size: float) -> str:
    for unit, prefix in PREFIXES:
        if size >= unit:
            return f"{_trimmed(f'{size / unit:.3f}')}{prefix}"
    return _trimmed(f"{size:.6f}")


def _trimmed(text: str) -> str:
    return text.rstrip("0").rstrip(".") if "." in text else text
