"""Side-by-side comparison of a block as recorded and as sent, in paired rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from inspector.safe_text import fit_cells
from inspector.strategies.core.rendition import Action, Slice
from inspector.ui.detail.content import DetailContent, DetailSection, Document, SectionKind, cut_note, note_section
from inspector.ui.detail.page import PageRow, Wrapped, rows_of_words, wrap

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from inspector.ui.detail.page import DetailPage

LEAST_WIDTH: Final = 64
"""Minimum width for two columns in cells; below, cut text is shown above its replacement."""

SENT_WHOLE: Final = "⋯ sent as recorded: no difference ⋯"
_RULE: Final = " │ "
_NOTHING: Final = Wrapped("", np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.int32))


@dataclass(frozen=True, slots=True)
class DiffRun:
    """A run of text: either unchanged, or cut from the left side and replaced on the right.

    Attributes:
        kept: Text on both sides.
        cut: Text on the recorded side only.
        put_in: Text on the sent side only.
        note: Reason of the cut, shown across both sides; empty for none.
    """

    kept: str = ""
    cut: str = ""
    put_in: str = ""
    note: str = ""


def stretches_of(recorded: str, content: DetailContent) -> tuple[DiffRun, ...]:
    """Split a recorded text into unchanged and cut runs, in order."""
    if content.absent:
        return (DiffRun(cut=recorded, note=content.absent),)
    rendition = content.sent
    if rendition is None or rendition.action is Action.WHOLE:
        return (DiffRun(kept=recorded, note=SENT_WHOLE),)
    if rendition.action is Action.REMOVED:
        return (DiffRun(cut=recorded, note=cut_note("removed", len(recorded), content.note)),)
    verb = "replaced" if rendition.action is Action.REPLACED else "cut here"
    stretches: list[DiffRun] = []
    position, put_in, is_shown = 0, "", False
    for piece in (*rendition.pieces, Slice(len(recorded), len(recorded))):
        if isinstance(piece, str):
            put_in += piece
            continue
        gap = recorded[position : max(piece.start, position)]
        if gap or put_in:
            note = cut_note(verb, len(gap), None if is_shown else content.note)
            is_shown = True
            stretches.append(DiffRun(cut=gap, put_in=put_in, note=note))
        if piece.stop > piece.start:
            stretches.append(DiffRun(kept=recorded[piece.start : piece.stop]))
        position, put_in = max(piece.stop, position), ""
    return tuple(stretches)


def difference_page(recorded: str, content: DetailContent, width: int) -> DetailPage:
    """Compare both texts side by side, or one above the other if the width (without the gutter) is too small."""
    stretches = stretches_of(recorded, content)
    if width < LEAST_WIDTH:
        return Document.of(_under_one_another(stretches), width)
    return Difference.of(stretches, (width - len(_RULE)) // 2, width)


def _under_one_another(stretches: Iterable[DiffRun]) -> Iterable[DetailSection]:
    for stretch in stretches:
        if stretch.note:
            yield note_section(stretch.note)
        for text, kind in (
            (stretch.cut, SectionKind.TAKEN),
            (stretch.put_in, SectionKind.INSERTED),
            (stretch.kept, SectionKind.RECORDED),
        ):
            if text:
                yield DetailSection(text, kind)


@dataclass(frozen=True, eq=False)
class FoldedStretch:
    """A wrapped run.

    Attributes:
        left: Recorded side.
        right: Sent side.
        styles: Component classes of both sides.
        gutters: Gutter characters of both sides.
        is_note: A note across both sides, stored in `left`.
    """

    left: Wrapped
    right: Wrapped
    styles: tuple[str, str] = ("detail--recorded", "detail--recorded")
    gutters: tuple[str, str] = (" ", " ")
    is_note: bool = False

    def __len__(self) -> int:
        return max(len(self.left), len(self.right))


@dataclass(frozen=True, eq=False)
class Difference:
    """Paired rows.

    Attributes:
        sides: The wrapped runs.
        first_rows: First row of each run, followed by the total number of rows.
        column: Width of each side in cells.
    """

    sides: tuple[FoldedStretch, ...]
    first_rows: tuple[int, ...]
    column: int

    @classmethod
    def of(cls, stretches: Iterable[DiffRun], column: int, width: int) -> Difference:
        """Wrap runs to two columns, notes to `width`."""
        sides: list[FoldedStretch] = []
        for stretch in stretches:
            if stretch.note:
                sides.append(FoldedStretch(wrap(note_section(stretch.note).text, width), _NOTHING, is_note=True))
            if stretch.kept:
                kept = wrap(stretch.kept, column - 1)
                sides.append(FoldedStretch(kept, kept))
            elif stretch.cut or stretch.put_in:
                cut, put_in = wrap(stretch.cut, column - 1), wrap(stretch.put_in, column - 1)
                sides.append(FoldedStretch(cut, put_in, ("detail--taken", "detail--inserted"), ("-", "▎")))
        first_rows = [0]
        for side in sides:
            first_rows.append(first_rows[-1] + len(side))
        return cls(tuple(sides), tuple(first_rows), column)

    def __len__(self) -> int:
        return self.first_rows[-1]

    def shown(self, index: int) -> PageRow:
        place = int(np.searchsorted(self.first_rows, index, side="right")) - 1
        side, row = self.sides[place], index - self.first_rows[place]
        if side.is_note:
            return PageRow(((" ", "detail--note"), (side.left.row(row), "detail--note")))
        pieces: list[tuple[str, str]] = []
        for folded, style, gutter in zip((side.left, side.right), side.styles, side.gutters, strict=True):
            if pieces:
                pieces.append((_RULE, "detail--header"))
            has_row = row < len(folded)
            text = gutter + folded.row(row) if has_row else ""
            pieces.append((fit_cells(text, self.column, ellipsis=""), style if has_row else "detail--recorded"))
        return PageRow(tuple(pieces))

    def note_rows(self) -> tuple[int, ...]:
        return tuple(first for first, side in zip(self.first_rows, self.sides, strict=False) if side.is_note)

    def find(self, words: str) -> NDArray[np.int64]:
        """Return the rows with matches on either side, ascending."""
        found = [np.zeros(0, dtype=np.int64)]
        for first, side in zip(self.first_rows, self.sides, strict=False):
            found.append(first + rows_of_words(words, side.left))
            if side.right is not side.left:
                found.append(first + rows_of_words(words, side.right))
        return np.sort(np.concatenate(found))

    def whole(self) -> str:
        """Return a text diff: `-` before cut text, `+` before its replacement."""
        lines: list[str] = []
        for side in self.sides:
            if side.is_note:
                lines.append(side.left.text)
            elif side.left is side.right:
                lines += [f" {line}" for line in side.left.text.splitlines()]
            else:
                lines += [f"-{line}" for line in side.left.text.splitlines()]
                lines += [f"+{line}" for line in side.right.text.splitlines()]
        return "\n".join(lines) + "\n"
