"""Lines and tables of plain text through Rich; foreign text is sanitized and never parsed as markup."""

from __future__ import annotations

import re
from io import StringIO
from typing import TYPE_CHECKING

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from inspector.safe_text import one_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

WIDTH = 80
"""Columns of every report, regardless of the terminal, because reports are mailed and pasted."""

_WIDEST = 1000
"""Columns of a table of figures that does not fit into the page: better wide than cut."""

LONGEST = 4000
"""Maximum characters shown of one foreign text."""

HEADING = "bold"
LABEL = "dim"
WARNING = "yellow"
LOSS = "red"

LEFT = "<"
RIGHT = ">"
WRAPPED = "~"
"""Column styles of a table: left, right, and left with wrapping."""


class Page:
    """A page written from top to bottom."""

    def __init__(self, width: int = WIDTH, *, color: bool = False) -> None:
        self._width = width
        self._file = StringIO()
        self._console = Console(
            file=self._file,
            width=_WIDEST,
            force_terminal=color,
            color_system="standard" if color else None,
            no_color=not color,
            markup=False,
            highlight=False,
            emoji=False,
            legacy_windows=False,
        )

    def text(self) -> str:
        """Return the written text without trailing spaces."""
        return "".join(f"{line.rstrip()}\n" for line in self._file.getvalue().split("\n")[:-1])

    def line(self, text: str = "", style: str = "", indent: int = 0) -> None:
        """Write one paragraph, wrapped at the page's width; an empty line without text."""
        if not text:
            self._console.print()
            return
        paragraph = Padding(Text(plain(text), style, overflow="fold"), (0, 0, 0, indent), expand=False)
        self._console.print(paragraph, width=self._width)

    def pairs(self, rows: Iterable[tuple[str, str]], indent: int = 2) -> None:
        """Write labels with values, which are wrapped in their own column."""
        self.table(None, [(Text(label, LABEL), value) for label, value in rows], LEFT + WRAPPED, indent=indent)

    def table(
        self,
        head: Sequence[str] | None,
        rows: Iterable[Sequence[str | Text]],
        columns: str,
        indent: int = 2,
        gap: int = 2,
    ) -> None:
        """Write a table without rules.

        Args:
            head: Titles of the columns, or None.
            rows: Cells; a `Text` has its own style and must be sanitized already.
            columns: One letter per column: `LEFT`, `RIGHT` or `WRAPPED`.
            indent: Spaces before the first column.
            gap: Spaces between columns; one fewer if the rows are wider than the page.
        """
        table = Table(
            box=None, padding=(0, gap, 0, 0), pad_edge=False, show_header=head is not None, header_style=LABEL
        )
        for index, setting in enumerate(columns):
            table.add_column(
                Text(head[index] if head is not None else ""),
                justify="right" if setting == RIGHT else "left",
                no_wrap=setting != WRAPPED,
                overflow="fold" if setting == WRAPPED else "ellipsis",
            )
        for row in rows:
            table.add_row(*(cell if isinstance(cell, Text) else Text(plain(cell)) for cell in row))
        if self._console.measure(table).maximum + indent > self._width and WRAPPED not in columns:
            table.padding = (0, max(gap - 1, 1), 0, 0)
        width = self._width if WRAPPED in columns else _WIDEST
        self._console.print(Padding(table, (0, 0, 0, indent), expand=False), width=width)


def plain(text: str) -> str:
    """Sanitize foreign text for a report: one line, with a limited length."""
    return one_line(text, LONGEST)


def capitalized(text: str) -> str:
    """Capitalize the first letter and leave the rest unchanged."""
    return f"{text[:1].upper()}{text[1:]}"


def broken_after_commas(text: str, width: int) -> list[str]:
    """Break a text without spaces after commas into lines of at most `width` characters, if possible."""
    lines = [""]
    for part in re.findall("[^,]*,|[^,]+$", text):
        if lines[-1] and len(lines[-1]) + len(part) > width:
            lines.append("")
        lines[-1] += part
    return lines
