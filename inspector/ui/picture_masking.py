"""Secrets and names of users masked in a picture of the screen, each character by one sign, so that nothing moves.

What stands on a screen is cut at its edges and folded within its parts, and half a secret is seldom known for one. So
every part is read by itself, its folded lines joined; and where the whole texts behind the screen are at hand, pieces
of the secrets in them are masked wherever they stand.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from html import escape, unescape
from typing import TYPE_CHECKING, NamedTuple

from rich.cells import cell_len

from inspector.report.path_redaction import USER_NAME
from inspector.safe_text import safe_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from inspector.report.secret_redaction import SecretRedactor

SIGN = "•"

SHORTEST_PIECE = 6
"""Characters of a piece of a secret that are masked by themselves, at least."""

MOST_READ = 200_000
"""Characters of a text behind the screen that are searched."""

_CELL_WIDTH = 12.2
"""What Rich draws a cell as wide as."""

_RUN = re.compile(
    r'<text class="[^"]*" x="(?P<x>[0-9.e+]+)"[^>]*clip-path="url\(#[^"]*-line-(?P<line>\d+)\)">(?P<text>[^<]*)'
)
_FOLDED_NO_MORE = (" ", "…")


class Area(NamedTuple):
    """A part of the screen that is read by itself, in cells: its first column and line, and those behind its last."""

    left: int
    top: int
    right: int
    bottom: int


@dataclass(frozen=True, slots=True)
class _Cell:
    """A character on the picture: its column, and which character of which run of text it is."""

    column: int
    run: int
    place: int
    character: str


def masked_picture(picture: str, areas: Iterable[Area], redactor: SecretRedactor, behind: Iterable[str] = ()) -> str:
    """A picture with secrets and names of users masked.

    Args:
        picture: An SVG document as Rich writes it.
        areas: The parts of the screen.
        redactor: Finds secrets.
        behind: Texts of which parts may stand on the screen.
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
    """The characters of each line, from the left."""
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
    """What stands in an area, and the cell of every character of that; blanks between runs have none.

    Args:
        rows: The cells of each of its lines.
        area: Where it is.
        is_folded: Whether a line that fills it goes on in the next one.
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
    """Every piece of the secrets in some texts, as they are shown, of the length that is masked by itself."""
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
