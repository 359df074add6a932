"""A page as Markdown for pull requests and wikis: GitHub's tables, with foreign text escaped."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from inspector.report.pages.model import Chart, Code, Line
from inspector.report.tables import Table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from inspector.report.pages.model import PageContent, Part, Tile
    from inspector.report.tables import Cell

_MEANS_SOMETHING = re.compile(r"[\\`*_{}\[\]<>#|~$!&@]|:(?=\S)|(?<=www)\.")
"""Characters of Markdown syntax, GitHub's mentions and links, and mathematics in dollar signs."""

_FENCE = re.compile("`{3,}")


def markdown(content: PageContent) -> str:
    """Write the page with a trailing newline."""
    lines = [f"# {escaped(content.title)}", ""]
    if content.folds:
        lines += [escaped(content.about), ""]
        lines += [*map(_tile, content.tiles), ""]
    for line in content.lead:
        lines += [_line(line), ""]
    for section in content.sections:
        lines += [f"{'#' * section.level} {escaped(section.title)}", ""]
        for part in section.parts:
            lines += _part(part)
    # Join the items of a list without blank lines.
    text = "\n".join(lines)
    return re.sub(r"(?m)^(- .*)\n\n(?=- )", r"\1\n", text).rstrip("\n") + "\n"


def _tile(tile: Tile) -> str:
    unit = f" {tile.unit}" if tile.unit else ""
    note = "".join(_words(cell) for cell in tile.note)
    return f"- {escaped(tile.title)}: **{escaped(tile.text)}**{unit}{f', {note}' if note else ''}"


def escaped(text: str) -> str:
    return _MEANS_SOMETHING.sub(lambda match: f"\\{match[0]}", text)


def _part(part: Part) -> Iterator[str]:
    match part:
        case Table():
            yield from _table(part)
        case Line():
            yield from (_line(part), "")
        case Code():
            yield from _code(part)
        case Chart():
            return  # the table below has the same figures


def _line(line: Line) -> str:
    text = "".join(_words(cell) for cell in line.cells)
    return f"- {text}" if line.is_item else text


def _words(cell: Cell) -> str:
    return _code_span(cell.text) if cell.is_code else escaped(cell.shown)


def _cell(cell: Cell) -> str:
    return _words(cell)


def _code_span(text: str) -> str:
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * (longest + 1)
    blank = " " if longest or text.startswith(" ") else ""
    return f"{fence}{blank}{text}{blank}{fence}"


def _code(code: Code) -> Iterator[str]:
    fence = "`" * max([3, *(len(run) + 1 for run in _FENCE.findall(code.text))])
    yield from (f"{fence}{code.language}", *code.text.rstrip("\n").split("\n"), fence, "")


def _table(table: Table) -> Iterator[str]:
    yield from (f"**{escaped(table.caption)}**", "")
    yield _row(escaped(title) for title in table.head)
    yield _row("---:" if table.is_number(index) else "---" for index in range(len(table.head)))
    for row in table.rows:
        yield _row(_cell(cell) for cell in row)
    yield ""


def _row(cells: Iterator[str]) -> str:
    return f"| {' | '.join(cells)} |"
