"""How a figure is calculated, in words and numbers: what screens show for the figure under the cursor."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from inspector.replay.figure import Band, Figure, HowKnown


@dataclass(frozen=True, slots=True)
class Input:
    """A number that goes into a figure, or a setting that decides it.

    Attributes:
        label: What it is.
        value: The number, or a few words; None where it is not known. May hold text of the session: a model's name.
        unit: What it is counted in: `tokens`, `$`, `$ per million tokens`, `seconds`, `calls`; empty for none.
        is_part: It and the other parts add up to the figure.
    """

    label: str
    value: float | str | None
    unit: str = ""
    is_part: bool = False


@dataclass(frozen=True, slots=True)
class Explanation:
    """One figure.

    Attributes:
        value: The figure; None where it is not known.
        unit: What it is counted in, as for `Input`; `share` for a part of 1.
        known: How it is known.
        formula: What was worked out, in one sentence.
        inputs: The numbers it was worked out from, in the order the formula speaks of them.
        source: Where the rule and the numbers come from.
        band: How far a projected figure may be off, None for others.
        is_least: The figure is more than that: nothing tells the rest.
    """

    value: float | None
    unit: str
    known: HowKnown
    formula: str
    inputs: tuple[Input, ...]
    source: str
    band: Band | None = None
    is_least: bool = False

    @classmethod
    def of(cls, figure: Figure, unit: str, formula: str, inputs: tuple[Input, ...], source: str) -> Explanation:
        """How a figure is calculated that knows itself how it is known."""
        return cls(figure.value, unit, figure.known, formula, inputs, source, is_least=figure.is_least)
