"""Model of the session list: sessions with their subagents, a filter and a sort order."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from math import inf
from typing import TYPE_CHECKING

from inspector.session.files import last_written

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
