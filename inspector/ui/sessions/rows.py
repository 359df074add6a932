"""Lines of the session list, in columns that are dropped on narrow screens."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from inspector.report.numbers import AT_LEAST, ON_SCREEN, age, file_size
from inspector.safe_text import one_line
from inspector.session.files import is_live
from inspector.session.session_name import named
from inspector.ui.figure_table.table import Cell, Column, FigureRow

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from inspector.session.discovery import Header
    from inspector.ui.sessions.list_model import SessionLine

LIVE, FOLDED, UNFOLDED, BRANCH = "●", "▸", "▾", "└"

UNKNOWN: Final = "unknown"
"""Shown for facts that are not in the session's file."""
NO_USAGE: Final = "no data"
"""Shown for tokens and cost if the provider reported none; they are estimated once the session is opened."""
NO_PRICE: Final = "no price"
"""Shown for the cost of a model without a known price."""

COLUMNS: Final = (
    Column("age", "age", 7),
    Column("agent", "agent", 8, 12, is_text=True, rank=3),
    Column("title", "session", 20, 70, is_text=True),
    Column("project", "project", 10, 20, is_text=True, rank=4),
    Column("model", "model", 10, 18, is_text=True, rank=6),
    Column("size", "size", 8, rank=7),
    Column("tokens", "tokens", 7, rank=5),
    Column("cost", "cost", 9, rank=2),
)


def row_of(line: SessionLine, now: float) -> FigureRow:
    """Build the cells of a line.

    Args:
        line: The session.
        now: Seconds since the epoch.
    """
    entry = line.entry
    header, summary = entry.header, entry.summary
    waits = "table--waiting"
    cells = {
        "age": Cell(age(now - entry.written)),
        "agent": Cell(one_line(agent_of(header)), style="table--faint"),
        "title": Cell(_title(line)),
        "size": Cell(file_size(header.size), style="table--faint"),
    }
    if summary is None:
        cells["project"] = Cell(one_line(project_of(header.working_directory)), style="table--faint")
        cells |= {name: Cell("…", style=waits) for name in ("model", "tokens", "cost")}
    elif summary.problem:
        # Uses the agent column, which is the last one dropped after the title.
        cells["agent"] = Cell("unreadable", style="table--lost")
    else:
        folder = summary.working_directory or header.working_directory
        cells["project"] = Cell(one_line(project_of(folder)) or UNKNOWN, style="table--faint")
        cells["model"] = Cell(one_line(summary.model) or UNKNOWN, style="table--faint")
        cells |= {name: Cell(NO_USAGE, style="table--faint") for name in ("tokens", "cost")}
        is_part = not summary.is_whole
        if summary.tokens is not None:
            cells["tokens"] = Cell(ON_SCREEN.marked(ON_SCREEN.short(summary.tokens), "", is_lower_bound=is_part))
        if summary.usd is not None:
            dollars = ON_SCREEN.dollars(summary.usd)
            cells["cost"] = Cell(ON_SCREEN.marked(dollars, "", is_lower_bound=is_part or summary.is_lower_bound))
        elif summary.tokens is not None:
            cells["cost"] = Cell(NO_PRICE, style="table--faint")
    return FigureRow(header.path, cells, mark=LIVE if is_live(entry.written, now) else " ")


def agent_of(header: Header) -> str:
    """Return the agent's display name, which is its format's name."""
    return header.format


def project_of(folder: str) -> str:
    """Return the last part of an agent's working folder, for paths of any operating system."""
    return folder.replace("\\", "/").rstrip("/").rpartition("/")[2]


def preview_lines(line: SessionLine, home: Path) -> Sequence[str]:
    """Return five safe lines about a session: path, agent and folder, size, first prompt, last answer."""
    entry = line.entry
    header, summary = entry.header, entry.summary
    path = header.path
    shown = f"~/{path.relative_to(home)}" if path.is_relative_to(home) else str(path)
    if summary is None:
        return (one_line(shown), "reading…", "", "", "")
    if summary.problem:
        return (one_line(shown), one_line(summary.problem.replace(f"{path}: ", "")), "", "", "")
    who = [summary.agent or header.format, summary.model, summary.working_directory or header.working_directory]
    much = [ON_SCREEN.plural(summary.messages, "message"), ON_SCREEN.plural(summary.calls, "call")]
    if summary.context is not None:
        much.append(f"{ON_SCREEN.short(summary.context)} tokens in context")
    if line.subagents:
        much.append(ON_SCREEN.plural(line.subagents, "subagent"))
    if not summary.is_whole:
        much.append(f"{AT_LEAST} lower bound: only the start was read")
    return (
        one_line(shown),
        one_line(" · ".join(part for part in who if part)),
        one_line(" · ".join(much)),
        one_line(f"first: {summary.prompt.strip()}") if summary.prompt.strip() else "",
        one_line(f"last: {summary.last.strip()}") if summary.last.strip() else "",
    )


def _title(line: SessionLine) -> str:
    entry = line.entry
    header, summary = entry.header, entry.summary
    told = (summary.title, header.title, summary.prompt, summary.identifier) if summary is not None else (header.title,)
    title = one_line(named(*told, header.path.name))
    if line.depth:
        return f"{BRANCH} {title}"
    if line.subagents:
        return f"{UNFOLDED if line.is_open else FOLDED}{line.subagents} {title}"
    return title
