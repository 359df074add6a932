"""The exact tokens of a text put together from parts of another, without encoding those parts again.

Only the text around each seam is encoded: from the last boundary before it to the first one after it. What lies between
two boundaries of a part has the tokens it has in the whole text, and those are known.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from inspector.tokens.boundaries import first_boundary, last_boundary

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from inspector.tokens.texts import TextColumns


class Known(NamedTuple):
    """A text whose tokens are known, and where."""

    text: str
    columns: TextColumns
    row: int

    def tokens_between(self, start: int, stop: int) -> int:
        """Tokens of the text between two boundaries, or its ends."""
        return self.columns.tokens_before(self.row, stop) - self.columns.tokens_before(self.row, start)


def tokens_of_pieces(known: Known, pieces: Sequence[tuple[int, int] | str], count: Callable[[str], int]) -> int:
    """Tokens of the text that `pieces` make up.

    Args:
        known: The text that the parts are of.
        pieces: In order: positions `(start, stop)` in the text, or texts of their own.
        count: Counts a text by encoding it.
    """
    total = 0
    loose: list[str] = []
    for index, piece in enumerate(pieces):
        if isinstance(piece, str):
            loose.append(piece)
            continue
        start, stop, _ = slice(*piece).indices(len(known.text))
        is_first, is_last = not any(loose) and not total, index == len(pieces) - 1
        inner_start = 0 if start == 0 and is_first else first_boundary(known.text, start, stop)
        inner_stop = stop if stop == len(known.text) and is_last else last_boundary(known.text, start, stop)
        if not 0 <= inner_start < inner_stop:
            loose.append(known.text[start:stop])
            continue
        total += count("".join((*loose, known.text[start:inner_start])))
        total += known.tokens_between(inner_start, inner_stop)
        loose = [known.text[inner_stop:stop]]
    return total + count("".join(loose))
