"""What one cell of the context chart shows of what is sent and what was recorded, in the two colours a cell can have.

Both areas stand on the axis. Up to the lower of the two, a column is what is sent; between them it is the difference:
recorded and not sent, or sent and not recorded. Where both end within the same cell, three parts would need a third
colour: the one that has less far to go gives way, the upper to the end of the cell or the lower to its start.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

Cell: TypeAlias = tuple[str, str]
"""A glyph and the component class it is drawn in, empty for none."""

PLANNED: Final = "█"
RECORDED: Final = "░"
"""Recorded and not sent. In colours it is of the colour behind it: seen where a screen is copied as text."""
GROWN: Final = "+"
"""The same of what is sent and was not recorded."""

EIGHTHS: Final = " ▁▂▃▄▅▆▇█"
_RECORDED_EIGHTHS: Final = " ..:::░░░"

_RECORDED: Final = (RECORDED, "chart--recorded", "chart--edge")
_GROWN: Final = (GROWN, "chart--grown", "chart--grown-edge")
"""The glyph of a difference, its class, and that of a cell in which something is sent, too."""

_FURTHEST: Final = 3
"""Eighths an area may be drawn off its height, so that a difference within a cell is seen."""

_PARTS: Final = 9
"""Heights within a cell: none to eight eighths."""
_KIND: Final = _PARTS * _PARTS
_KINDS: Final = 4
"""More was recorded or more is sent, each in any row and in the lowest one."""

_CURSOR: Final = {
    "": "chart--cursor",
    "chart--planned": "chart--cursor",
    "chart--edge": "chart--cursor-edge",
    "chart--grown-edge": "chart--cursor-grown",
    "chart--recorded-whole": "chart--cursor-edge",
    "chart--grown-whole": "chart--cursor-grown",
}
"""Classes in the column of the call looked at, for those that have another one there."""
_LINE_ON: Final = {
    f"chart--{whole}{later}": f"chart--{edge}{later}"
    for whole, edge in (("recorded-whole", "edge"), ("grown-whole", "grown-edge"))
    for later in ("", "-later")
}
"""Classes of a line, by that of a cell whose own glyph is not seen."""


def outlined(planned: NDArray[np.int64], recorded: NDArray[np.int64], rows: int) -> NDArray[np.int64]:
    """What was recorded, moved to the row above where it ends in a cell whose only glyph is needed for what is sent.

    Args:
        planned: Per column, eighths of a row that are sent.
        recorded: Per column, eighths of a row that were recorded.
        rows: Rows of the plot.
    """
    row = planned // 8
    low, high = planned - row * 8, recorded - row * 8
    has_no_glyph = (low > 0) & (high > low) & (high <= 8) & ((row == 0) | (2 * low >= high))
    above = np.minimum(row * 8 + 9, rows * 8)
    return np.where(has_no_glyph & (high >= 8 - _FURTHEST), above, recorded)


def places_in_table(planned: NDArray[np.int64], recorded: NDArray[np.int64], rows: int) -> NDArray[np.int64]:
    """For every cell of a plot, rows from the top, where a table of cells has it.

    Args:
        planned: Per column, eighths of a row that are sent.
        recorded: Per column, eighths of a row that were recorded.
        rows: Rows of the plot.
    """
    bottoms = np.arange(rows - 1, -1, -1, dtype=np.int64)[:, None] * 8
    low = np.clip(np.minimum(planned, recorded) - bottoms, 0, 8)
    high = np.clip(np.maximum(planned, recorded) - bottoms, 0, 8)
    places = low * _PARTS + high + (planned > recorded) * _KIND
    places[-1:] += 2 * _KIND
    return places


@cache
def cells(*, by_glyph: bool) -> tuple[Cell, ...]:
    """What every cell there can be shows.

    Args:
        by_glyph: There are no colours to tell the areas by.
    """
    draw = _glyph_cell if by_glyph else _colour_cell
    return tuple(
        draw(low, max(low, high), is_grown=kind % 2 == 1, is_lowest=kind >= 2)
        for kind in range(_KINDS)
        for low in range(_PARTS)
        for high in range(_PARTS)
    )


@cache
def cells_after_cursor(*, by_glyph: bool) -> tuple[Cell, ...]:
    """The same of calls after the one looked at."""
    return tuple((glyph, f"{style}-later" if style else "") for glyph, style in cells(by_glyph=by_glyph))


@cache
def cells_at_cursor(cursor: str, *, by_glyph: bool) -> tuple[Cell, ...]:
    """The same in the column of the call looked at, with a line where a cell has no glyph that is seen."""
    return tuple(
        (cursor if not style or style in _LINE_ON else glyph, _CURSOR.get(style, style))
        for glyph, style in cells(by_glyph=by_glyph)
    )


def with_line(table: tuple[Cell, ...], line: Cell, *, within: Cell | None) -> tuple[Cell, ...]:
    """A table of cells for a row that a line runs through.

    Args:
        table: The cells without it.
        line: The line where nothing else is.
        within: The line where all of a cell is sent, or None for a line that is behind the areas.
    """
    changed = list(table)
    for first in range(0, len(table), _KIND):
        changed[first] = line
        if within is not None:
            changed[first + _KIND - 1] = within
            _, style = table[first + 8]
            if style in _LINE_ON:
                changed[first + 8] = (line[0], _LINE_ON[style])
    return tuple(changed)


def _colour_cell(low: int, high: int, *, is_grown: bool, is_lowest: bool) -> Cell:
    glyph, alone, edge = _GROWN if is_grown else _RECORDED
    if 0 < low < high < 8:
        up, down = 8 - high, low
        if is_lowest or up <= down:
            low, high = (low, 8) if up <= _FURTHEST else _as_sent(low, high, is_grown=is_grown)
        else:
            low = 0
    if high == 0:
        return " ", ""
    if low == high:
        return EIGHTHS[high], "chart--planned"
    if high == 8:
        return (EIGHTHS[low], edge) if low else (glyph, f"{alone}-whole")
    return EIGHTHS[high], alone


def _glyph_cell(low: int, high: int, *, is_grown: bool, is_lowest: bool) -> Cell:
    """One glyph: the difference where there is more of it than of what is below it, though never all of a column."""
    if high == 0:
        return " ", ""
    if low == high or (low and (is_lowest or 2 * low >= high)):
        sent, _ = _as_sent(low, high, is_grown=is_grown)
        return EIGHTHS[sent], "chart--planned"
    return (GROWN, "chart--grown") if is_grown else (_RECORDED_EIGHTHS[high], "chart--recorded")


def _as_sent(low: int, high: int, *, is_grown: bool) -> tuple[int, int]:
    """Both ends where what is sent ends."""
    sent = high if is_grown else low
    return sent, sent
