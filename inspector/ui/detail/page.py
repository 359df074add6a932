"""What the detail shows, row by row, whatever view of a block it is: every view is a page."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from rich.style import Style

    from inspector.ui.detail.wrapping import Wrapped

MOST_FOUND: Final = 100_000


class PageRow(NamedTuple):
    """One row of a page.

    Attributes:
        pieces: Safe texts, each with its component class or a style of its own.
        rest: Component class of what they leave blank; empty for the page's own.
    """

    pieces: tuple[tuple[str, str | Style], ...]
    rest: str = ""


class Page(Protocol):
    """A text folded to a width, with everything said about it."""

    def __len__(self) -> int:
        """Rows."""
        ...

    def shown(self, index: int) -> PageRow:
        """One row, safe to show."""
        ...

    def note_rows(self) -> tuple[int, ...]:
        """Rows at which something was cut or is said, rising."""
        ...

    def find(self, words: str) -> NDArray[np.int64]:
        """The row of every place that holds the words, in any case, rising; a row may stand there several times."""
        ...

    def whole(self) -> str:
        """All of it as text, not yet safe."""
        ...


def places_of(words: str, text: str) -> NDArray[np.int64]:
    """Where a text holds the words, in any case; the first hundred thousand places."""
    found: list[int] = []
    for match in re.finditer(re.escape(words), text, re.IGNORECASE):
        found.append(match.start())
        if len(found) >= MOST_FOUND:
            break
    return np.array(found, dtype=np.int64)


def rows_of_words(words: str, folded: Wrapped) -> NDArray[np.int64]:
    """The rows of a folded text that words begin in."""
    places = places_of(words, folded.text) if words else np.zeros(0, dtype=np.int64)
    if not len(places):
        return places
    rows: NDArray[np.int64] = np.searchsorted(folded.starts, places, side="right").astype(np.int64) - 1
    return rows
