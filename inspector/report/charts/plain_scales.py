"""Scales and ticks of plainly drawn charts, as Vega-Lite has them: nice ends, round steps, short numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

PREFIXES = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))

MINUS = "\N{MINUS SIGN}"


SMALLEST_SHARE = 1e-9
"""Differences below this share of what differs are none, and so are dollars below it."""


@dataclass(frozen=True, slots=True)
class Scale:
    """Values to pixels.

    Attributes:
        least: Value at the beginning.
        most: Value at the end; more than `least`.
        begin: Pixel of `least`.
        end: Pixel of `most`.
        ratio: Below this distance from zero a scale of ratios is even, as a symmetric logarithm; 0 for an even scale.
    """

    least: float
    most: float
    begin: float
    end: float
    ratio: float = 0.0

    def at(self, value: float) -> float:
        """The pixel of a value."""
        low, high = self._bent(self.least), self._bent(self.most)
        return self.begin + (self._bent(value) - low) / (high - low) * (self.end - self.begin)

    def _bent(self, value: float) -> float:
        if not self.ratio:
            return value
        return math.copysign(math.log1p(abs(value) / self.ratio), value)

    def ticks(self, count: int = 10, least_step: float = 0.0) -> list[float]:
        """About `count` round values; each is a multiple of one step, which is 1, 2 or 5 times a power of ten."""
        if self.ratio:
            powers = [10.0**power for power in range(math.floor(math.log10(self.ratio)), 16)]
            return [value for value in (0.0, *powers) if self.least <= value <= self.most]
        step = max(round_step(self.most - self.least, count), least_step)
        first = math.ceil(self.least / step - 1e-9)
        last = math.floor(self.most / step + 1e-9)
        return [place * step for place in range(first, last + 1)]


def round_step(length: float, count: int) -> float:
    """A step of 1, 2 or 5 times a power of ten that divides a length into about `count` parts."""
    rough = length / max(count, 1)
    power = 10.0 ** math.floor(math.log10(rough))
    share = rough / power
    factor = 10 if share >= math.sqrt(50) else 5 if share >= math.sqrt(10) else 2 if share >= math.sqrt(2) else 1
    return factor * power


def domain(
    values: Sequence[float], *, with_zero: bool, is_nice: bool, least: float | None, most: float | None
) -> tuple[float, float]:
    """The least and the most value of a scale, the most above the least.

    Args:
        values: What is drawn.
        with_zero: Zero is on it.
        is_nice: It ends at round values.
        least: Where it begins whatever is drawn; None for what is drawn.
        most: Where it ends; None for what is drawn.
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
    """A number in one of the forms that charts use (`,d`, `~s`, `$~f`, `,.3~r`, and others), as D3 writes it.

    Raises:
        ValueError: The form is another.
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
