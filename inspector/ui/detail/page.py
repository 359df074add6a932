"""Rows of text: wrapping by position, and the page protocol of all views."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

import numpy as np

from inspector.safe_text import cell_width, safe_text

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from rich.style import Style


MOST_FOUND: Final = 100_000


class PageRow(NamedTuple):
    """One row of a page.

    Attributes:
        pieces: Safe texts, each with a component class or style.
        rest: Component class of the remaining width; empty for the page's style.
    """

    pieces: tuple[tuple[str, str | Style], ...]
    rest: str = ""


class DetailPage(Protocol):
    """A text wrapped to a width, including its notes."""

    def __len__(self) -> int:
        """Return the number of rows."""
        ...

    def shown(self, index: int) -> PageRow:
        """Return one row, safe to show."""
        ...

    def note_rows(self) -> tuple[int, ...]:
        """Return the rows with notes, ascending."""
        ...

    def find(self, words: str) -> NDArray[np.int64]:
        """Return the row of every match, ignoring case, ascending; a row repeats for each of its matches."""
        ...

    def whole(self) -> str:
        """Return the whole text, not yet safe."""
        ...


def places_of(words: str, text: str) -> NDArray[np.int64]:
    """Return the positions of the first hundred thousand matches, ignoring case."""
    found: list[int] = []
    for match in re.finditer(re.escape(words), text, re.IGNORECASE):
        found.append(match.start())
        if len(found) >= MOST_FOUND:
            break
    return np.array(found, dtype=np.int64)


def rows_of_words(words: str, folded: Wrapped) -> NDArray[np.int64]:
    places = places_of(words, folded.text) if words else np.zeros(0, dtype=np.int64)
    if not len(places):
        return places
    rows: NDArray[np.int64] = np.searchsorted(folded.starts, places, side="right").astype(np.int64) - 1
    return rows


_UNMEASURED: Final = 255
_NEW_LINE: Final = 10
_CELLS = np.full(0x110000, _UNMEASURED, dtype=np.uint8)
_CELLS[_NEW_LINE] = 0


@dataclass(frozen=True, eq=False)
class Wrapped:
    """A text wrapped to a width.

    Attributes:
        text: The original text, not safe to show.
        starts: First character of each row, int32.
        ends: End (exclusive) of each row, int32. The blank at a wrap may exceed the width.
    """

    text: str
    starts: NDArray[np.int32]
    ends: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.starts)

    def row(self, index: int) -> str:
        """Return one row, safe to show."""
        return safe_text(self.text[self.starts[index] : self.ends[index]])


def wrap(text: str, width: int) -> Wrapped:
    """Wrap a text to rows of at most `width` cells.

    Returns at least one row, unless the text is empty. A trailing line break adds no row.
    """
    width = max(width, 1)
    if not text:
        none = np.zeros(0, dtype=np.int32)
        return Wrapped(text, none, none)
    codes = _codes(text)
    cells = _cells(codes)
    breaks = np.flatnonzero(codes == _NEW_LINE)
    starts = np.concatenate(([0], breaks + 1))
    ends = np.append(breaks, len(text))
    if starts[-1] == len(text):
        starts, ends = starts[:-1], ends[:-1]
    totals = np.add.reduceat(cells, starts, dtype=np.int64)
    # Combining marks take no cells, and a row of nothing else must end too.
    longest = 16 * width + 64
    long = np.flatnonzero((totals > width) | (ends - starts > longest))
    if not len(long):
        return Wrapped(text, starts.astype(np.int32), ends.astype(np.int32))
    is_odd = cells != 1
    is_odd[breaks] = False
    odd = np.flatnonzero(is_odd)
    has_odd = np.searchsorted(odd, ends[long]) > np.searchsorted(odd, starts[long])
    rows: list[tuple[int, int]] = []
    for first, last, measured in zip(starts[long].tolist(), ends[long].tolist(), has_odd.tolist(), strict=True):
        if measured:
            _fold_measured(rows, text, first, last, cells[first:last], width, longest)
        else:
            _fold_narrow(rows, text, first, last, width)
    folded = np.array(rows, dtype=np.int32)
    starts = np.concatenate((np.delete(starts, long), folded[:, 0]))
    ends = np.concatenate((np.delete(ends, long), folded[:, 1]))
    order = np.argsort(starts, kind="stable")
    return Wrapped(text, starts[order].astype(np.int32), ends[order].astype(np.int32))


def _codes(text: str) -> NDArray[np.uint8] | NDArray[np.uint32]:
    if text.isascii():
        return np.frombuffer(text.encode("ascii"), dtype=np.uint8)
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)


def _cells(codes: NDArray[np.uint8] | NDArray[np.uint32]) -> NDArray[np.uint8]:
    """Return the width of each character's safe form in cells; every character is measured once per process."""
    present = np.zeros(128 if codes.dtype == np.uint8 else len(_CELLS), dtype=np.bool_)
    present[codes] = True
    for code in np.flatnonzero(present & (_CELLS[: len(present)] == _UNMEASURED)).tolist():
        _CELLS[code] = cell_width(safe_text(chr(code)))
    return _CELLS[codes]


def _fold_narrow(rows: list[tuple[int, int]], text: str, first: int, last: int, width: int) -> None:
    while last - first > width:
        end = _blank_before(text, first, first + width)
        rows.append((first, end))
        first = end
    if first < last:
        rows.append((first, last))


def _fold_measured(
    rows: list[tuple[int, int]], text: str, first: int, last: int, cells: NDArray[np.uint8], width: int, longest: int
) -> None:
    """Append the rows of a line of any characters, given their widths."""
    reach = np.concatenate(([0], np.cumsum(cells, dtype=np.int64)))
    offset = first
    while first < last:
        position = first - offset
        within = reach[position : position + longest + 1]
        fitting = int(within.searchsorted(within[0] + width, side="right")) - 1
        end = min(first + max(fitting, 1), last)
        if end < last:
            end = min(_blank_before(text, first, end), last)
        rows.append((first, end))
        first = end


def _blank_before(text: str, first: int, end: int) -> int:
    """Return the wrap position of a row that could reach `end`: after the last blank in its second half, if any."""
    blank = text.rfind(" ", first + (end - first) // 2, end + 1)
    return blank + 1 if blank >= 0 else end


LONGEST: Final = 100_000
"""Maximum number of characters rendered: parsing takes a thousand times as long as wrapping."""


@dataclass(frozen=True, eq=False)
class Rendered:
    """Rendered lines.

    Attributes:
        lines: Safe texts with their styles; None for the page's style.
        note: Note above the lines; empty for none.
    """

    lines: tuple[tuple[tuple[str, Style | None], ...], ...]
    note: str = ""

    @classmethod
    def of(cls, text: str, width: int) -> Rendered:
        note = "" if len(text) <= LONGEST else f"⋯ the first {LONGEST:,} characters of {len(text):,} ⋯"
        from rich.console import Console
        from rich.markdown import Markdown  # slow to import

        console = Console(width=max(width, 1), force_terminal=True, color_system="truecolor", legacy_windows=False)
        drawn = console.render_lines(Markdown(safe_text(text[:LONGEST]), hyperlinks=False), pad=False)
        # Markdown entities can reintroduce unsafe characters.
        lines = tuple(
            tuple((safe_text(segment.text.replace("\n", "")), segment.style) for segment in line if not segment.control)
            for line in drawn
        )
        return cls(lines, note)

    def __len__(self) -> int:
        return len(self.lines) + bool(self.note)

    def shown(self, index: int) -> PageRow:
        if self.note and not index:
            return PageRow(((" " + self.note, "detail--note"),))
        line = self.lines[index - bool(self.note)]
        return PageRow(((" ", "detail--recorded"), *((text, style or "detail--recorded") for text, style in line)))

    def note_rows(self) -> tuple[int, ...]:
        return (0,) if self.note else ()

    def find(self, words: str) -> NDArray[np.int64]:
        rows = [
            index + bool(self.note)
            for index, line in enumerate(self.lines)
            for _ in places_of(words, "".join(text for text, _ in line))
        ]
        return np.array(rows if words else [], dtype=np.int64)

    def whole(self) -> str:
        return "\n".join("".join(text for text, _ in line).rstrip() for line in self.lines) + "\n"
