"""Words found in a text: where, which of the places is looked at, and how a row shows them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from inspector.ui.numbers import whole

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from rich.style import Style

    Pieces = tuple[tuple[str, str | Style], ...]


def _no_rows() -> NDArray[np.int64]:
    return np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class FoundPlaces:
    """Where words were found.

    Attributes:
        words: What is looked for; empty for nothing.
        rows: The row of every place, rising.
        at: Which of them is looked at.
    """

    words: str = ""
    rows: NDArray[np.int64] = field(default_factory=_no_rows)
    at: int = 0

    @property
    def row(self) -> int | None:
        """The row looked at, None where there is none."""
        return int(self.rows[self.at]) if len(self.rows) else None

    @property
    def told(self) -> str:
        """Which of how many places is looked at."""
        return f"{whole(self.at + 1)} of {whole(len(self.rows))}" if len(self.rows) else "not in this text"

    def at_rows(self, rows: NDArray[np.int64], first: int) -> FoundPlaces:
        """The places, the first of them from a row on looked at; the first of all where none follows."""
        at = int(np.searchsorted(rows, first))
        return replace(self, rows=rows, at=at if at < len(rows) else 0)

    def moved(self, step: int) -> FoundPlaces:
        """Another place looked at, around the ends."""
        return replace(self, at=(self.at + step) % len(self.rows)) if len(self.rows) else self


def highlighted(pieces: Pieces, words: str, *, is_here: bool) -> Pieces:
    """The pieces of a row with the words in them drawn apart.

    Args:
        pieces: Safe texts and their styles.
        words: What is looked for, safe.
        is_here: The row is the one looked at.
    """
    style = "detail--found-here" if is_here else "detail--found"
    marked: list[tuple[str, str | Style]] = []
    wanted = words.lower()
    for text, own in pieces:
        lowered = text.lower()
        # A few letters change their length with their case; such a row is not taken apart.
        if not wanted or wanted not in lowered or len(lowered) != len(text):
            marked.append((text, own))
            continue
        position = 0
        while (found := lowered.find(wanted, position)) >= 0:
            marked += [(text[position:found], own), (text[found : found + len(wanted)], style)]
            position = found + len(wanted)
        marked.append((text[position:], own))
    return tuple(piece for piece in marked if piece[0])
