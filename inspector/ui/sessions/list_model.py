"""Model of the session list: sessions with their subagents, a filter and a sort order."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from math import inf
from typing import TYPE_CHECKING, Final

from inspector.report.numbers import AT_LEAST, ON_SCREEN, age, file_size
from inspector.safe_text import one_line
from inspector.session.files import exists, is_live, last_written
from inspector.session.model import first_name
from inspector.session.registry import all_formats
from inspector.ui.figure_table.table import Cell, Column, FigureRow

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from inspector.report.session_summary import SessionSummary
    from inspector.session.discovery import Header


class SessionOrder(Enum):
    """Sort order of the list; the value names the column."""

    NEWEST = "age"
    COST = "cost"

    @property
    def next(self) -> SessionOrder:
        return SessionOrder.COST if self is SessionOrder.NEWEST else SessionOrder.NEWEST


@dataclass(frozen=True, slots=True)
class SessionEntry:
    """One session of the list.

    Attributes:
        header: Header found by discovery.
        summary: Summary of its content; None until it is read.
    """

    header: Header
    summary: SessionSummary | None = None

    @property
    def parent(self) -> Path | None:
        """Path of the session that started it; None if a person did."""
        reported = self.summary.parent if self.summary is not None else None
        return reported or self.header.parent

    @property
    def written(self) -> float:
        """Last known time an agent wrote to it, seconds since the epoch."""
        recorded = None if self.summary is None else self.summary.last_recorded
        return last_written(self.header.modified, recorded)

    @property
    def usd(self) -> float:
        """Cost of the part read so far; minus infinity if unknown."""
        usd = None if self.summary is None else self.summary.usd
        return -inf if usd is None else usd

    @property
    def words(self) -> str:
        """Text the filter searches, in lower case."""
        header, summary = self.header, self.summary
        parts = (summary.title, summary.working_directory, summary.model, summary.prompt) if summary is not None else ()
        return " ".join((str(header.path), header.format, header.title, header.working_directory, *parts)).lower()


@dataclass(frozen=True, slots=True)
class SessionLine:
    """Line of the list.

    Attributes:
        entry: The session.
        depth: 0 for a top-level session, 1 for a subagent.
        subagents: Number of sessions it started.
        is_open: True if these are listed below it.
    """

    entry: SessionEntry
    depth: int = 0
    subagents: int = 0
    is_open: bool = False


@dataclass
class SessionListModel:
    """Sessions of a list and their summaries."""

    named: frozenset[Path] = frozenset()
    """Sessions listed first, regardless of age."""
    _entries: dict[Path, SessionEntry] = field(default_factory=dict)
    _words: dict[Path, str] = field(default_factory=dict)
    _refused: dict[Path, Header] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def read(self) -> int:
        """Number of sessions read."""
        return sum(entry.summary is not None for entry in self._entries.values())

    def entry(self, path: Path) -> SessionEntry | None:
        return self._entries.get(path)

    def list(self, headers: Iterable[Header]) -> None:
        """Replace the sessions, and keep the summaries of those still listed."""
        before, self._entries = self._entries, {}
        for header in headers:
            path = header.path
            known = before.get(path)
            if self._refused.get(path) == header:
                continue
            if known is None or known.header != header:
                self._words.pop(path, None)
                known = SessionEntry(header, known.summary if known is not None else None)
            self._entries[path] = known

    def read_into(self, summaries: Iterable[SessionSummary]) -> bool:
        """Store summaries, and drop files that are not sessions.

        Returns:
            True if lines were added, removed or reordered; False if only their text changed.
        """
        has_other_lines = False
        for summary in summaries:
            entry = self._entries.get(summary.path)
            if entry is None:
                continue
            self._words.pop(summary.path, None)
            if summary.format or entry.header.is_sniffed or summary.is_unreadable:
                now = self._entries[summary.path] = SessionEntry(entry.header, summary)
                has_other_lines = has_other_lines or (now.parent, now.written) != (entry.parent, entry.written)
            else:
                self._refused[summary.path] = self._entries.pop(summary.path).header
                has_other_lines = True
        return has_other_lines

    def lines(
        self, filter_text: str = "", opened: frozenset[Path] = frozenset(), order: SessionOrder = SessionOrder.NEWEST
    ) -> Sequence[SessionLine]:
        """Return the lines to show: named sessions first, then by age or by cost.

        A family is as old as its newest member. The cost is a session's own cost, as in its line.

        Args:
            filter_text: Words that must all occur in `Entry.words`.
            opened: Sessions with listed subagents, in addition to those with a matching subagent.
            order: Sort order.
        """
        by_cost = order is SessionOrder.COST
        words = filter_text.lower().split()
        children: dict[Path, list[SessionEntry]] = {}
        heads: list[SessionEntry] = []
        for entry in self._entries.values():
            head = self._head_of(entry.header.path)
            if head == entry.header.path:
                heads.append(entry)
            else:
                children.setdefault(head, []).append(entry)
        shown: list[tuple[bool, float, float, SessionLine, list[SessionEntry]]] = []
        for entry in heads:
            path = entry.header.path
            below = children.get(path, [])
            found = [child for child in below if self._matches(child, words)] if words else below
            if not words or self._matches(entry, words) or found:
                is_open = path in opened or (bool(words) and bool(found))
                newest = max((child.written for child in below), default=0.0)
                line = SessionLine(entry, subagents=len(below), is_open=is_open and bool(found))
                cost = -entry.usd if by_cost else 0.0
                is_later = path not in self.named and not by_cost
                shown.append((is_later, cost, -max(entry.written, newest), line, found))
        shown.sort(key=lambda each: each[:3])
        lines: list[SessionLine] = []
        for _, _, _, line, found in shown:
            lines.append(line)
            if line.is_open:
                found.sort(key=lambda child: (-child.usd if by_cost else 0.0, -child.written))
                lines += (SessionLine(child, depth=1) for child in found)
        return lines

    def _head_of(self, path: Path) -> Path:
        """Return the root of a family of sessions. In a cycle, each session is its own root."""
        seen = [path]
        while (parent := self._entries[seen[-1]].parent) is not None and parent in self._entries:
            if parent in seen:
                return path
            seen.append(parent)
        return seen[-1]

    def _matches(self, entry: SessionEntry, words: Sequence[str]) -> bool:
        path = entry.header.path
        known = self._words.get(path)
        if known is None:
            known = self._words[path] = entry.words
        return all(word in known for word in words)


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
            cells["tokens"] = Cell(ON_SCREEN.qualified(ON_SCREEN.short(summary.tokens), "", is_lower_bound=is_part))
        if summary.usd is not None:
            dollars = ON_SCREEN.dollars(summary.usd)
            cells["cost"] = Cell(ON_SCREEN.qualified(dollars, "", is_lower_bound=is_part or summary.is_lower_bound))
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
    parts = (
        (summary.title, header.title, summary.prompt, summary.identifier) if summary is not None else (header.title,)
    )
    title = one_line(first_name(*parts, header.path.name))
    if line.depth:
        return f"{BRANCH} {title}"
    if line.subagents:
        return f"{UNFOLDED if line.is_open else FOLDED}{line.subagents} {title}"
    return title


def first_steps(folders: Sequence[Path] | None) -> tuple[str, str, str]:
    """Return three lines of advice for the case that no session was found.

    Args:
        folders: Searched folders; None for the agents' own folders on this machine.
    """
    where = "on this machine" if folders is None else "in the folders named"
    return (
        f"No sessions found {where} · ctrl+o shows the searched folders",
        "Run your agent, and its session appears here. Or open a file: inspector FILE",
        "To try it without an agent: inspector demo",
    )


def places_text(folders: Sequence[Path] | None, home: Path) -> str:
    """Describe the searched folders, one per line, and whether they exist.

    Args:
        folders: Searched folders; None for the agents' own folders on this machine.
        home: The user's home folder, displayed as `~`.
    """
    if folders is not None:
        looked_in = [("Folders", folder) for folder in folders]
    else:
        looked_in = [(format_.title, place) for format_ in all_formats() for place in format_.homes()]
    lines: list[str] = []
    before = ""
    for title, place in looked_in:
        lines += [] if title == before else [title]
        lines.append(f"  {'exists   ' if exists(place) else 'missing  '}  {_short(place, home)}")
        before = title
    return "\n".join(lines)


def _short(place: Path, home: Path) -> str:
    try:
        return one_line(f"~/{place.relative_to(home).as_posix()}")
    except ValueError:
        return one_line(str(place))
