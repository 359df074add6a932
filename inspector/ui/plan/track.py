"""Track of a slider: map values to cells, compute steps, and hold the knob during a drag."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from inspector.strategies.core.scale import ValueScale


@dataclass(frozen=True, slots=True)
class LimitTrack:
    """Range of values on a number of cells.

    Attributes:
        scale: The range.
        cells: Number of cells, at least two.
    """

    scale: ValueScale
    cells: int

    def cell(self, value: float) -> int:
        """Return the cell of a value; the last one if it is beyond the range."""
        return round(self.scale.fraction(value) * (self.cells - 1))

    def value(self, cell: int) -> float:
        """Return the value of a cell, clamped to the ends of the range."""
        return self.scale.value(cell / (self.cells - 1))

    def is_beyond(self, value: float) -> bool:
        """Return True if a value is above the range."""
        return value > self.scale.maximum

    def stepped(self, value: float, steps: int, *, coarse: bool = False) -> float:
        """Return the value after `steps` steps; negative steps go down.

        Steps up stop at the end of the range. A step down from beyond the range goes to its end.
        """
        if self.is_beyond(value):
            return value if steps > 0 else self.scale.maximum
        return self.scale.stepped(value, steps, coarse=coarse)


@dataclass(frozen=True, slots=True)
class KnobHold:
    """Knob held by the mouse. Its range is frozen, even if the session grows.

    Attributes:
        track: The track.
        cell: Cell with a known exact value, so that pressing the knob changes nothing.
        exact: Value of that cell.
    """

    track: LimitTrack
    cell: int
    exact: float

    @classmethod
    def taken(cls, track: LimitTrack, value: float, cell: int) -> KnobHold:
        """Hold the knob after a press on a cell, which moves it there if it was elsewhere.

        Args:
            track: The track.
            value: Value before the press.
            cell: Pressed cell.
        """
        return cls(track, cell, value if cell == track.cell(value) else track.value(cell))

    def value(self, cell: int) -> float:
        """Return the value at the mouse, clamped to the track."""
        cell = min(max(cell, 0), self.track.cells - 1)
        return self.exact if cell == self.cell else self.track.value(cell)

    def resting(self, cell: int, value: float) -> KnobHold:
        """Return the hold after another input changed the value while the mouse rests on a cell."""
        return KnobHold(self.track, min(max(cell, 0), self.track.cells - 1), value)
