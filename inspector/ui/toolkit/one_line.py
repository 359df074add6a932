"""A line made of parts; the least important ones are dropped if the line is too narrow."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from textual.content import Content
from textual.style import Style

if TYPE_CHECKING:
    from collections.abc import Sequence


GAP = 3


class LinePiece(NamedTuple):
    """A part of a line.

    Attributes:
        content: The content.
        rank: The highest rank is dropped first; 0 is never dropped.
        right: Aligned to the right.
        shorter: Shorter content to use before dropping the part, or a part with another rank; None if there is none.
        least: Minimum width in cells to which the part is clipped before others are dropped; None for no clipping.
    """

    content: Content
    rank: int = 0
    right: bool = False
    shorter: Content | LinePiece | None = None
    least: int | None = None


def one_line(parts: Sequence[LinePiece], width: int, gap: int = GAP) -> Content:
    """Format as many non-empty parts as fit on exactly `width` cells, in the given order."""
    kept = [part for part in parts if part.content]
    while kept and (excess := _needed(kept, gap) - width) > 0:
        clipped = _clipped(kept, excess)
        if clipped is not None:
            kept = clipped
            break
        place = max(range(len(kept)), key=lambda index: (kept[index].rank, index))
        part, shorter = kept[place], kept[place].shorter
        if isinstance(shorter, Content):
            shorter = LinePiece(shorter, part.rank, part.right)
        if shorter is not None and shorter.content.cell_length < part.content.cell_length:
            kept[place] = shorter
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
    """Clip one part by `excess` cells; None if no part may become that short."""
    for place, part in enumerate(parts):
        room = part.content.cell_length - excess
        if part.least is not None and room >= part.least:
            clipped = part._replace(content=part.content.truncate(room, ellipsis=True))
            return [*parts[:place], clipped, *parts[place + 1 :]]
    return None


def _needed(parts: Sequence[LinePiece], gap: int) -> int:
    return sum(part.content.cell_length for part in parts) + gap * (len(parts) - 1)


ACTION = "inspector_action"
"""Style meta key with the action run by a click. Textual's own `@click` would be drawn as a link."""


def clickable(text: str, action: str) -> Content:
    """Build a text that runs an action when clicked; an empty action does nothing."""
    return Content.styled(text, Style.from_meta({ACTION: action}) if action else "")
