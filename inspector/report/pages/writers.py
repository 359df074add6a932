"""Write a page as HTML, and as Markdown for pull requests and wikis: GitHub's tables, with foreign text escaped."""

from __future__ import annotations

import base64
import hashlib
import re
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, StrictUndefined, Template
from markupsafe import Markup

import inspector
from inspector.report.charts.drawing import can_draw, script, still, svg
from inspector.report.pages.model import Chart, Code, Line, PageContent, Part, Tile
from inspector.report.tables import Cell, Table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping


MOST_ROWS = 25
"""Tables with this many rows or more are folded."""

FEW_ROWS = 14
"""Tables that repeat the figures of a chart are folded from this many rows."""


def html(
    content: PageContent,
    charts: Mapping[str, dict[str, Any]],
    *,
    is_interactive: bool = True,
    progress: Callable[[int, int], None] = lambda done, total: None,  # noqa: ARG005  no-op default
) -> str:
    """Write the page. Without the chart library, charts are drawn by `plain_svg`, and the page notes it.

    Args:
        charts: Vega-Lite specifications by name; charts that are missing here are left out.
        is_interactive: Include the script that redraws charts: most of the page's size, useless if scripts are off.
        progress: Called with the number of drawn charts and their total, which is most of the work.
    """
    parts = [content.chart, *(part for section in content.sections for part in section.parts)]
    named = {part.name for part in parts if isinstance(part, Chart)}
    specified = {name: specification for name, specification in charts.items() if name in named}
    is_plain = not can_draw()
    pictures = {}
    for done, (name, specification) in enumerate(specified.items()):
        progress(done, len(specified))
        picture = svg(specification if is_plain and is_interactive else still(specification))
        pictures[name] = Markup(picture)  # noqa: S704  generated here with foreign text escaped
    style = _asset("page.css")
    code = script(_asset("charts.js")) if specified and is_interactive and not is_plain else ""
    # Pictures, style and script are generated here; foreign text in pictures is escaped already.
    return _template().render(
        content=content,
        most_rows=MOST_ROWS,
        few_rows=FEW_ROWS,
        version=inspector.__version__,
        policy=_policy(style, code),
        is_plain=is_plain and bool(specified),
        style=Markup(style),  # noqa: S704  generated here
        script=Markup(code),  # noqa: S704  generated here
        pictures=pictures,
        specifications=specified,
    )


@cache
def _template() -> Template:
    environment = Environment(autoescape=True, undefined=StrictUndefined, keep_trailing_newline=True)
    return environment.from_string(_asset("page.html.jinja"))


def _asset(name: str) -> str:
    return (files("inspector.report.pages") / "assets" / name).read_text(encoding="utf-8")


def _policy(style: str, code: str) -> str:
    scripts = f"'{_digest(code)}'" if code else "'none'"
    return (
        f"default-src 'none'; script-src {scripts}; style-src '{_digest(style)}'; base-uri 'none'; form-action 'none'"
    )


def _digest(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


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
