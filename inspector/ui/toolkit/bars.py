"""Token bars: two lengths in one, what is sent and what was cut, told apart by glyph before any colour."""

from __future__ import annotations

import math
from typing import Final, NamedTuple

EIGHTHS: Final = ("", "▏", "▎", "▍", "▌", "▋", "▊", "▉", "█")
"""Left parts of a cell, from nothing to all of it."""

CUT: Final = "░"
OUTSIDE: Final = "╌"
BEYOND: Final = "»"
"""Ends a bar that is longer than the column."""


class Bar(NamedTuple):
    """A bar's glyphs.

    Attributes:
        sent: What is sent.
        rest: What follows it: what was cut, or the mark of a bar that goes on beyond its column.
    """

    sent: str
    rest: str


def length(tokens: float, full: float, *, logarithmic: bool = False) -> float:
    """How much of a bar's column an amount fills; more than 1 where it does not fit.

    Args:
        tokens: The amount.
        full: The amount that fills the column.
        logarithmic: Equal lengths are equal ratios; otherwise equal amounts.
    """
    tokens, full = max(tokens, 0.0), max(full, 1.0)
    return math.log1p(tokens) / math.log1p(full) if logarithmic else tokens / full


def bar(sent: int, recorded: int, full: int, width: int, *, logarithmic: bool = False) -> Bar:
    """The bar of a block in its prompt.

    Anything above nothing shows: at least an eighth of a cell of what is sent, and a cell of what was cut where there
    is one left. What is sent reaches as far as the same amount does in every other row.

    Args:
        sent: Tokens sent.
        recorded: Tokens of the whole block; what is above `sent` was cut.
        full: Tokens that fill the column.
        width: Cells of the column.
        logarithmic: Equal lengths are equal ratios.
    """
    if width <= 0:
        return Bar("", "")
    total = length(max(sent, recorded), full, logarithmic=logarithmic)
    room = width - 1 if total > 1 else width
    eighths = min(math.floor(length(sent, full, logarithmic=logarithmic) * width * 8), room * 8)
    if sent > 0:
        eighths = max(eighths, 1)
    cells, eighth = divmod(eighths, 8)
    sent_glyphs = EIGHTHS[8] * cells + EIGHTHS[eighth]
    cut = 0
    if recorded > sent:
        cut = max(min(math.ceil(total * width), room) - len(sent_glyphs), 1)
    mark = BEYOND if total > 1 else ""
    return Bar(sent_glyphs[:width], (CUT * cut + mark)[: width - len(sent_glyphs)])


def outside_bar(recorded: int, full: int, width: int, *, logarithmic: bool = False) -> Bar:
    """The bar of a block that is not in the prompt: as long as it would be, and hollow."""
    if width <= 0 or recorded <= 0:
        return Bar("", "")
    total = length(recorded, full, logarithmic=logarithmic)
    if total > 1:
        return Bar(OUTSIDE * (width - 1), BEYOND)
    return Bar(OUTSIDE * max(math.ceil(total * width), 1), "")
