"""Mask secrets and user names in a screenshot, one sign per character, so that nothing moves.

Text on the screen is clipped and wrapped, and half a secret is rarely recognized. Therefore each widget's area is
searched separately with its wrapped lines joined. If the full texts behind the screen are available, pieces of their
secrets are masked wherever they appear.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from html import escape, unescape
from typing import TYPE_CHECKING, NamedTuple

from rich.cells import cell_len

from inspector.report.secret_redaction import USER_NAME, SecretRedactor
from inspector.safe_text import safe_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


SIGN = "•"

SHORTEST_PIECE = 6
"""Minimum length of a piece of a secret that is masked, in characters."""

MOST_READ = 200_000
"""Characters searched in each text behind the screen."""

_CELL_WIDTH = 12.2
"""Width of a cell in Rich's SVG."""

_RUN = re.compile(
    r'<text class="[^"]*" x="(?P<x>[0-9.e+]+)"[^>]*clip-path="url\(#[^"]*-line-(?P<line>\d+)\)">(?P<text>[^<]*)'
)
_FOLDED_NO_MORE = (" ", "…")


class Area(NamedTuple):
    """A separately searched part of the screen, in cells. `right` and `bottom` are exclusive."""

    left: int
    top: int
    right: int
    bottom: int


@dataclass(frozen=True, slots=True)
class _Cell:
    """A character in the picture: its column, its text run and its index in the run."""

    column: int
    run: int
    place: int
    character: str


def masked_picture(picture: str, areas: Iterable[Area], redactor: SecretRedactor, behind: Iterable[str] = ()) -> str:
    """Mask secrets and user names in a picture.

    Args:
        picture: SVG document exported by Rich.
        areas: Areas of the screen.
        redactor: Detector of secrets.
        behind: Full texts that may be visible in part.
    """
    runs = list(_RUN.finditer(picture))
    texts = [list(unescape(run["text"]).replace("\N{NO-BREAK SPACE}", " ")) for run in runs]
    lines = _lines(runs, texts)
    pieces = _pieces(redactor, behind)
    everything = Area(0, 0, 10**6, max(lines, default=-1) + 1)
    for area in (everything, *areas):
        rows = [
            [cell for cell in lines.get(line, ()) if area.left <= cell.column < area.right]
            for line in range(area.top, area.bottom)
        ]
        for cell in _secret_cells(rows, area, redactor, pieces):
            if cell.character != " ":
                texts[cell.run][cell.place] = SIGN
    parts: list[str] = []
    end = 0
    for run, text in zip(runs, texts, strict=True):
        parts += (picture[end : run.start("text")], escape("".join(text)).replace(" ", "&#160;"))
        end = run.end()
    return "".join((*parts, picture[end:]))


def _lines(runs: Iterable[re.Match[str]], texts: Iterable[list[str]]) -> dict[int, list[_Cell]]:
    """Group the characters by line, from left to right."""
    lines: dict[int, list[_Cell]] = {}
    for index, (run, text) in enumerate(zip(runs, texts, strict=True)):
        column = round(float(run["x"]) / _CELL_WIDTH)
        line = lines.setdefault(int(run["line"]), [])
        for place, character in enumerate(text):
            line.append(_Cell(column, index, place, character))
            column += cell_len(character)
    return lines


def _secret_cells(
    rows: list[list[_Cell]], area: Area, redactor: SecretRedactor, pieces: frozenset[str]
) -> Iterator[_Cell]:
    for is_folded in (False, True):
        text, cells = _read(rows, area, is_folded=is_folded)
        for found in redactor.in_place(text):
            yield from (cell for cell in cells[found.start : found.stop] if cell is not None)
        for length in {len(piece) for piece in pieces}:
            for start in range(len(text) - length + 1):
                if text[start : start + length] in pieces:
                    yield from (cell for cell in cells[start : start + length] if cell is not None)


def _read(rows: list[list[_Cell]], area: Area, *, is_folded: bool) -> tuple[str, list[_Cell | None]]:
    """Read the text of an area and the cell of each character. Blanks between runs have no cell.

    Args:
        rows: Cells of each line.
        area: The area.
        is_folded: Join a line that fills the area with the next one.
    """
    text: list[str] = []
    cells: list[_Cell | None] = []
    for row in rows:
        column = area.left
        for cell in row:
            blank = cell.column - column
            text += [" "] * blank + [cell.character]
            cells += [*[None] * blank, cell]
            column = cell.column + cell_len(cell.character)
        is_full = column >= area.right and row and row[-1].character not in _FOLDED_NO_MORE
        if not (is_folded and is_full):
            text.append("\n")
            cells.append(None)
    return "".join(text), cells


def _pieces(redactor: SecretRedactor, behind: Iterable[str]) -> frozenset[str]:
    """Return every piece of the secrets in the texts, as displayed, of the length that is masked."""
    pieces: set[str] = set()
    for text in behind:
        text = text[:MOST_READ]
        for found in redactor.in_place(text):
            if found.kind == USER_NAME:
                continue
            for line in text[found.start : found.stop].splitlines():
                shown = safe_text(line.strip())
                length = min(SHORTEST_PIECE, len(shown))
                pieces |= {shown[start : start + length] for start in range(len(shown) - length + 1)}
    return frozenset(piece for piece in pieces if len(piece) > 3 and " " not in piece)
