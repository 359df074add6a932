"""Several pages under one another, each below the name of what it shows: all blocks of a folded message."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from inspector.ui.detail.content import Document, Section, SectionKind

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from inspector.ui.detail.page import Page, PageRow


@dataclass(frozen=True, eq=False)
class Joined:
    """Pages one below the other.

    Attributes:
        pages: They, in order.
        names: Whether each is the name of the one after it, which is no part of the text.
        first_rows: Per page, its first row, and at the end the number of rows.
    """

    pages: tuple[Page, ...]
    names: tuple[bool, ...]
    first_rows: tuple[int, ...]

    @classmethod
    def of(cls, named: Iterable[tuple[str, Page]], width: int) -> Joined:
        """Put pages below their names.

        Args:
            named: What each page shows, not yet safe, and the page.
            width: Cells of a row, the first of them left out.
        """
        pages: list[Page] = []
        first_rows = [0]
        for name, page in named:
            heading = Section(f"\n{name}" if pages else name, SectionKind.NAME)
            for each in (Document.of((heading,), width), page):
                pages.append(each)
                first_rows.append(first_rows[-1] + len(each))
        return cls(tuple(pages), tuple(place % 2 == 0 for place in range(len(pages))), tuple(first_rows))

    def __len__(self) -> int:
        return self.first_rows[-1]

    def shown(self, index: int) -> PageRow:
        """One row, safe to show."""
        place = int(np.searchsorted(self.first_rows, index, side="right")) - 1
        return self.pages[place].shown(index - self.first_rows[place])

    def note_rows(self) -> tuple[int, ...]:
        """Rows at which something was cut or is said, rising."""
        rows = zip(self.first_rows, self.pages, strict=False)
        return tuple(first + row for first, page in rows for row in page.note_rows())

    def find(self, words: str) -> NDArray[np.int64]:
        """The row of every place that holds the words, in any case, rising; names are not looked through."""
        found = [np.zeros(0, dtype=np.int64)]
        for first, page, is_name in zip(self.first_rows, self.pages, self.names, strict=False):
            if not is_name:
                found.append(page.find(words) + first)
        return np.concatenate(found)

    def whole(self) -> str:
        """All texts, without their names."""
        texts = (page.whole() for page, is_name in zip(self.pages, self.names, strict=True) if not is_name)
        return "\n".join(texts)
