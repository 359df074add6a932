"""The calculation of a figure in words and numbers, shown for the figure under the cursor."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from inspector.replay.figure import Band, Figure, HowKnown


@dataclass(frozen=True, slots=True)
class Input:
    """A number that enters a figure, or a setting that decides it.

    Attributes:
        label: Its label.
        value: The number, or a few words; None if unknown. May contain session text: a model's name.
        unit: Its unit: `tokens`, `$`, `$ per million tokens`, `seconds`, `calls`; empty for none.
        is_part: True if it and the other parts add up to the figure.
    """

    label: str
    value: float | str | None
    unit: str = ""
    is_part: bool = False


@dataclass(frozen=True, slots=True)
class Explanation:
    """Explanation of one figure.

    Attributes:
        value: The figure; None if unknown.
        unit: Its unit, as for `Input`; `share` for a part of 1.
        known: Its confidence.
        formula: The calculation, in one sentence.
        inputs: Numbers of the calculation, in the order of the formula.
        source: Source of the rule and the numbers.
        band: Uncertainty of a projected figure, None for others.
        is_lower_bound: True if the figure is a lower bound.
    """

    value: float | None
    unit: str
    known: HowKnown
    formula: str
    inputs: tuple[Input, ...]
    source: str
    band: Band | None = None
    is_lower_bound: bool = False

    @classmethod
    def of(cls, figure: Figure, unit: str, formula: str, inputs: tuple[Input, ...], source: str) -> Explanation:
        """Create an explanation with the confidence of the figure itself."""
        return cls(figure.value, unit, figure.known, formula, inputs, source, is_lower_bound=figure.is_lower_bound)
