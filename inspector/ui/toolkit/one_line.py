"""One line made of parts: the ones that matter least give way where the line is narrow."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from textual.content import Content
from textual.style import Style

if TYPE_CHECKING:
    from collections.abc import Sequence


GAP = 3


class LinePiece(NamedTuple):
    """A piece of a line.

    Attributes:
        content: What it shows.
        rank: Parts of the highest rank are left out first; 0 is never left out.
        right: Stands at the right end of the line.
        shorter: What to show before leaving the part out; None for nothing.
        least: It may be clipped to so many cells before any other part gives way; None where it may not.
    """

    content: Content
    rank: int = 0
    right: bool = False
    shorter: Content | None = None
    least: int | None = None


def one_line(parts: Sequence[LinePiece], width: int, gap: int = GAP) -> Content:
    """The parts on one line of exactly `width` cells, as many of them as fit, in the order given.

    Args:
        parts: Pieces; empty ones are skipped.
        width: Cells of the line.
        gap: Cells between two parts.
    """
    kept = [part for part in parts if part.content]
    while kept and (excess := _needed(kept, gap) - width) > 0:
        clipped = _clipped(kept, excess)
        if clipped is not None:
            kept = clipped
            break
        place = max(range(len(kept)), key=lambda index: (kept[index].rank, index))
        part = kept[place]
        if part.shorter is not None and part.shorter.cell_length < part.content.cell_length:
            kept[place] = LinePiece(part.shorter, part.rank, part.right)
        elif part.rank == 0:
            break
        else:
            del kept[place]
    space = Content(" " * gap)
    left = space.join([part.content for part in kept if not part.right])
    right = space.join([part.content for part in kept if part.right])
    if not right:
        return left.truncate(width, ellipsis=True, pad=True)
    room = max(width - right.cell_length, 0)
    return (left.truncate(room, ellipsis=True, pad=True) + right).truncate(width)


def _clipped(parts: Sequence[LinePiece], excess: int) -> list[LinePiece] | None:
    """The parts with one of them clipped by so many cells; None where none may be that short."""
    for place, part in enumerate(parts):
        room = part.content.cell_length - excess
        if part.least is not None and room >= part.least:
            clipped = part._replace(content=part.content.truncate(room, ellipsis=True))
            return [*parts[:place], clipped, *parts[place + 1 :]]
    return None


def _needed(parts: Sequence[LinePiece], gap: int) -> int:
    return sum(part.content.cell_length for part in parts) + gap * (len(parts) - 1)


ACTION = "inspector_action"
"""Says in a cell which action a click on it runs. Textual's own `@click` would draw it as a link."""


def clickable(text: str, action: str) -> Content:
    """A text, and the action a click on it runs; empty for none."""
    return Content.styled(text, Style.from_meta({ACTION: action}) if action else "")
