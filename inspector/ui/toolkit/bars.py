"""Token bars with two lengths, sent and cut, distinguished by glyph and not only by color."""

from __future__ import annotations

import math
from typing import Final, NamedTuple

EIGHTHS: Final = ("", "▏", "▎", "▍", "▌", "▋", "▊", "▉", "█")
"""Left fractions of a cell, from empty to full."""

CUT: Final = "░"
OUTSIDE: Final = "╌"
BEYOND: Final = "»"
"""Ends a bar that is longer than the column."""


class Bar(NamedTuple):
    """Glyphs of a bar.

    Attributes:
        sent: The tokens sent.
        rest: The tokens cut, or the mark of a bar longer than its column.
    """

    sent: str
    rest: str


def length(tokens: float, full: float, *, logarithmic: bool = False) -> float:
    """Return the fraction of the column that an amount fills; more than 1 if it does not fit."""
    tokens, full = max(tokens, 0.0), max(full, 1.0)
    return math.log1p(tokens) / math.log1p(full) if logarithmic else tokens / full


def bar(sent: int, recorded: int, full: int, width: int, *, logarithmic: bool = False) -> Bar:
    """Draw the bar of a block in the prompt; the excess of `recorded` over `sent` was cut, `full` fills the column.

    Any non-zero amount is visible: at least an eighth of a cell for sent tokens, and one cell for cut tokens if space
    remains. Equal sent amounts have equal lengths in every row.
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
    """Draw the hollow bar of a block that is not in the prompt."""
    if width <= 0 or recorded <= 0:
        return Bar("", "")
    total = length(recorded, full, logarithmic=logarithmic)
    if total > 1:
        return Bar(OUTSIDE * (width - 1), BEYOND)
    return Bar(OUTSIDE * max(math.ceil(total * width), 1), "")
