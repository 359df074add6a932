"""A folder of sessions as text for people, and as a sheet."""

from __future__ import annotations

from typing import TYPE_CHECKING

from inspector.report.csv_text import written
from inspector.report.figures_table import MARKS
from inspector.report.folder_page import folder_content
from inspector.report.layout import HEADING, LEFT, LOSS, RIGHT, WIDTH, Page
from inspector.report.pages.model import Line, Table
from inspector.safe_text import clip_cells

if TYPE_CHECKING:
    from inspector.report.folder_document import FolderReport
    from inspector.report.pages.model import Cell

NAME_WIDTH = 28
_FIGURES = (
    "prompt_tokens",
    "peak_prompt_tokens",
    "cache_read_tokens",
    "cache_write_tokens",
    "uncached_tokens",
    "output_tokens",
    "cache_breaks",
    "cost_usd",
)
_OF_PLANS = ("saved_tokens", "saved_usd", "saved_percent", "edits", "hazards")


def folder_text(report: FolderReport, width: int = WIDTH, *, color: bool = False) -> str:
    """The same tables as the page's, in plain characters."""
    from rich.text import Text

    content = folder_content(report)
    page = Page(width, color=color)

    def shown(cell: Cell) -> Text:
        return Text(f"{cell.text} {MARKS.get(cell.known, '')}".rstrip(), LOSS if cell.is_loss else "")

    page.line(content.title, HEADING)
    for line in content.lead:
        page.line("".join(cell.text for cell in line.cells), indent=2)
    for section in content.sections:
        page.line()
        page.line(section.title, HEADING)
        for part in section.parts:
            if isinstance(part, Line):
                page.line("".join(cell.text for cell in part.cells), indent=2)
            elif isinstance(part, Table) and part.rows:
                page.line(part.caption, indent=2)
                columns = "".join(RIGHT if at in part.right else LEFT for at in range(len(part.head)))
                rows = [[Text(clip_cells(row[0].text, NAME_WIDTH)), *map(shown, row[1:])] for row in part.rows]
                page.table(part.head, rows, columns)
    return page.text()


def folder_csv(report: FolderReport, *, color: bool = False) -> str:  # noqa: ARG001  a sheet has no colours
    """One row a session."""
    plans = range(len(report.plans))
    head = ["path", "format", "id", "model", "messages", "calls"]
    head += [f"baseline_{name}" for name in _FIGURES]
    for index in plans:
        head += [f"plan_{index + 1}_{name}" for name in _FIGURES]
        head += [f"plan_{index + 1}_{name}" for name in _OF_PLANS]
    rows = []
    for row in report.sessions:
        cells: list[object] = [row.path, row.format, row.id, row.model, row.messages, row.calls]
        cells += [getattr(row.baseline, name) for name in _FIGURES]
        for each in row.plans:
            cells += [getattr(each.figures, name) for name in _FIGURES]
            cells += [each.saved.tokens, each.saved.usd, each.saved.percent, each.edits, each.hazards]
        rows.append(cells)
    return written(head, rows)
