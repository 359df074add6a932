"""The line a limit is moved along: which value stands on which cell, how far a step leads, and what the mouse holds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from inspector.strategies.core.scale import ValueScale


@dataclass(frozen=True, slots=True)
class LimitTrack:
    """A range of values on so many cells.

    Attributes:
        scale: The range.
        cells: How many cells it takes, at least two.
    """

    scale: ValueScale
    cells: int

    def cell(self, value: float) -> int:
        """Where a value stands; on the last cell where it lies beyond the range."""
        return round(self.scale.fraction(value) * (self.cells - 1))

    def value(self, cell: int) -> float:
        """The value on a cell, of those left and right of the line the nearest."""
        return self.scale.value(cell / (self.cells - 1))

    def is_beyond(self, value: float) -> bool:
        """Whether a value lies above the range."""
        return value > self.scale.maximum

    def stepped(self, value: float, steps: int, *, coarse: bool = False) -> float:
        """The value so many steps up, or down when negative.

        A step up leads no further than the range's end, and one down from beyond it to the end.
        """
        if self.is_beyond(value):
            return value if steps > 0 else self.scale.maximum
        return self.scale.stepped(value, steps, coarse=coarse)


@dataclass(frozen=True, slots=True)
class KnobHold:
    """The knob while the mouse holds it: its range stays what it was, whatever a growing session adds.

    Attributes:
        track: What it is moved along.
        cell: A cell whose value is known better than the track knows it: a press on the knob changes nothing.
        exact: The value of that cell.
    """

    track: LimitTrack
    cell: int
    exact: float

    @classmethod
    def taken(cls, track: LimitTrack, value: float, cell: int) -> KnobHold:
        """The knob after a press on a cell: where it was, or drawn there.

        Args:
            track: What it is moved along.
            value: The value before.
            cell: What was pressed.
        """
        return cls(track, cell, value if cell == track.cell(value) else track.value(cell))

    def value(self, cell: int) -> float:
        """The value while the mouse is on a cell, left and right of the line too."""
        cell = min(max(cell, 0), self.track.cells - 1)
        return self.exact if cell == self.cell else self.track.value(cell)

    def resting(self, cell: int, value: float) -> KnobHold:
        """The hold after the value was changed by other means while the mouse rests on a cell."""
        return KnobHold(self.track, min(max(cell, 0), self.track.cells - 1), value)
