"""Cells of the context chart: the sent and recorded areas in the two colors of a terminal cell.

Both areas start at the axis. A column shows the sent amount up to the lower of the two and the difference between them:
recorded and not sent, or sent and not recorded. If both end within one cell, its three parts would need a third color,
so the end that is nearer to its cell border is moved there: the upper one to the top or the lower one to the bottom.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

Cell: TypeAlias = tuple[str, str]
"""A glyph and its component class, empty for none."""

PLANNED: Final = "█"
RECORDED: Final = "░"
"""Recorded and not sent. With colors it has its background's color and is visible only in text copies."""
GROWN: Final = "+"
"""Sent and not recorded; colored like `RECORDED`."""

EIGHTHS: Final = " ▁▂▃▄▅▆▇█"
_RECORDED_EIGHTHS: Final = " ..:::░░░"

_RECORDED: Final = (RECORDED, "chart--recorded", "chart--edge")
_GROWN: Final = (GROWN, "chart--grown", "chart--grown-edge")
"""Glyph of a difference, its class, and the class of a cell that also contains sent tokens."""

_MAX_SHIFT: Final = 3
"""Maximum error of an area's height in eighths, accepted to show a difference within a cell."""

_PARTS: Final = 9
"""Number of heights within a cell: none to eight eighths."""
_KIND: Final = _PARTS * _PARTS
_KINDS: Final = 4
"""Kinds of cells: recorded or sent is larger, each in the lowest row or another one."""

_CURSOR: Final = {
    "": "chart--cursor",
    "chart--planned": "chart--cursor",
    "chart--edge": "chart--cursor-edge",
    "chart--grown-edge": "chart--cursor-grown",
    "chart--recorded-whole": "chart--cursor-edge",
    "chart--grown-whole": "chart--cursor-grown",
}
"""Classes in the selected call's column, if different."""
_LINE_ON: Final = {
    f"chart--{whole}{later}": f"chart--{edge}{later}"
    for whole, edge in (("recorded-whole", "edge"), ("grown-whole", "grown-edge"))
    for later in ("", "-later")
}
"""Classes of a line through cells without a visible glyph."""


def outlined(planned: NDArray[np.int64], recorded: NDArray[np.int64], rows: int) -> NDArray[np.int64]:
    """Raise the recorded height to the row above if the glyph of its cell is needed for the sent height.

    Heights are per column, in eighths of a row.
    """
    row = planned // 8
    low, high = planned - row * 8, recorded - row * 8
    has_no_glyph = (low > 0) & (high > low) & (high <= 8) & ((row == 0) | (2 * low >= high))
    above = np.minimum(row * 8 + 9, rows * 8)
    return np.where(has_no_glyph & (high >= 8 - _MAX_SHIFT), above, recorded)


def places_in_table(planned: NDArray[np.int64], recorded: NDArray[np.int64], rows: int) -> NDArray[np.int64]:
    """Return the index into a cell table for every cell of a plot, rows from the top.

    Heights are per column, in eighths of a row.
    """
    bottoms = np.arange(rows - 1, -1, -1, dtype=np.int64)[:, None] * 8
    low = np.clip(np.minimum(planned, recorded) - bottoms, 0, 8)
    high = np.clip(np.maximum(planned, recorded) - bottoms, 0, 8)
    places = low * _PARTS + high + (planned > recorded) * _KIND
    places[-1:] += 2 * _KIND
    return places


@cache
def cells(*, by_glyph: bool) -> tuple[Cell, ...]:
    """Return the table of all possible cells; `by_glyph` distinguishes the areas without colors."""
    draw = _glyph_cell if by_glyph else _color_cell
    return tuple(
        draw(low, max(low, high), is_grown=kind % 2 == 1, is_lowest=kind >= 2)
        for kind in range(_KINDS)
        for low in range(_PARTS)
        for high in range(_PARTS)
    )


@cache
def cells_after_cursor(*, by_glyph: bool) -> tuple[Cell, ...]:
    """Return the cell table for calls after the selected one."""
    return tuple((glyph, f"{style}-later" if style else "") for glyph, style in cells(by_glyph=by_glyph))


@cache
def cells_at_cursor(cursor: str, *, by_glyph: bool) -> tuple[Cell, ...]:
    """Return the cell table for the selected call's column, with a line through cells without a visible glyph."""
    return tuple(
        (cursor if not style or style in _LINE_ON else glyph, _CURSOR.get(style, style))
        for glyph, style in cells(by_glyph=by_glyph)
    )


def with_line(table: tuple[Cell, ...], line: Cell, *, within: Cell | None) -> tuple[Cell, ...]:
    """Return a cell table for a row with a line; `within` is used in sent cells, None for a line behind the areas."""
    changed = list(table)
    for first in range(0, len(table), _KIND):
        changed[first] = line
        if within is not None:
            changed[first + _KIND - 1] = within
            _, style = table[first + 8]
            if style in _LINE_ON:
                changed[first + 8] = (line[0], _LINE_ON[style])
    return tuple(changed)


def _color_cell(low: int, high: int, *, is_grown: bool, is_lowest: bool) -> Cell:
    glyph, alone, edge = _GROWN if is_grown else _RECORDED
    if 0 < low < high < 8:
        up, down = 8 - high, low
        if is_lowest or up <= down:
            low, high = (low, 8) if up <= _MAX_SHIFT else _as_sent(low, high, is_grown=is_grown)
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
    """Return one glyph: the difference if it is larger than the part below it, but never for a whole column."""
    if high == 0:
        return " ", ""
    if low == high or (low and (is_lowest or 2 * low >= high)):
        sent, _ = _as_sent(low, high, is_grown=is_grown)
        return EIGHTHS[sent], "chart--planned"
    return (GROWN, "chart--grown") if is_grown else (_RECORDED_EIGHTHS[high], "chart--recorded")


def _as_sent(low: int, high: int, *, is_grown: bool) -> tuple[int, int]:
    sent = high if is_grown else low
    return sent, sent
