"""What lies where in a long timeline, brought to the few cells of its scrollbar."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from inspector.ui.timeline.view import TimelineView


class Mark(NamedTuple):
    """A glyph in the scrollbar and the component class it is drawn in."""

    glyph: str
    style: str


BOUNDARY: Final = Mark("─", "timeline--boundary")
PIN: Final = Mark("•", "timeline--mark")
HIT: Final = Mark("*", "timeline--hit")
ERROR: Final = Mark("!", "timeline--error")
CHANGED: Final = Mark("░", "timeline--cut")


Marks = tuple[Mark | None, ...]


def marks_of(view: TimelineView, height: int, header: int) -> tuple[Marks, Marks]:
    """Per cell of the scrollbar, what is most worth knowing of the rows there.

    Args:
        view: What is shown.
        height: Cells.
        header: Lines above the rows; they scroll with the bar, as it sees it.

    Returns:
        What the plan and the agent did to the context; and beside it failures, what is searched for, and pins.
    """
    lines = max(view.count + header, height)

    def lane(*kinds: tuple[NDArray[np.int32], Mark]) -> Marks:
        marks: list[Mark | None] = [None] * height
        # What comes later covers what was there.
        for positions, mark in kinds:
            for cell in cells_of(positions + header, lines, height).tolist():
                marks[cell] = mark
        return tuple(marks)

    return (
        lane((view.changed_positions, CHANGED), (view.boundary_positions, BOUNDARY)),
        lane((view.error_positions, ERROR), (view.hit_positions, HIT), (view.pin_positions, PIN)),
    )


def cells_of(lines: NDArray[np.int32], line_count: int, height: int) -> NDArray[np.int64]:
    """The cells some of `line_count` lines fall into, each once, rising."""
    if not height or not line_count:
        return np.zeros(0, dtype=np.int64)
    return np.flatnonzero(np.bincount(lines.astype(np.int64) * height // line_count, minlength=height))
