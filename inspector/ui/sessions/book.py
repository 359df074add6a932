"""The sessions of a list: found, read bit by bit, folded under those that started them, filtered as somebody types."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from math import inf
from typing import TYPE_CHECKING

from inspector.session.files import time_of_writing

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from inspector.report.session_summary import SessionSummary
    from inspector.session.discovery import Header


class SessionOrder(Enum):
    """What the sessions of a list follow one another by; the value names the column it is in."""

    NEWEST = "age"
    COST = "cost"

    @property
    def next(self) -> SessionOrder:
        """The other one."""
        return SessionOrder.COST if self is SessionOrder.NEWEST else SessionOrder.NEWEST


@dataclass(frozen=True, slots=True)
class Entry:
    """One session of the list.

    Attributes:
        header: As it was found.
        summary: What reading it told; None as long as it was not read.
    """

    header: Header
    summary: SessionSummary | None = None

    @property
    def parent(self) -> Path | None:
        """The session that started it; None for one a person began."""
        told = self.summary.parent if self.summary is not None else None
        return told or self.header.parent

    @property
    def written(self) -> float:
        """When an agent last wrote to it, as far as is known, seconds since the epoch."""
        recorded = None if self.summary is None else self.summary.last_recorded
        return time_of_writing(self.header.modified, recorded)

    @property
    def usd(self) -> float:
        """What it cost, as far as it was read; less than nothing where that is not known."""
        usd = None if self.summary is None else self.summary.usd
        return -inf if usd is None else usd

    @property
    def words(self) -> str:
        """What a filter looks at."""
        header, summary = self.header, self.summary
        told = (summary.title, summary.working_directory, summary.model, summary.prompt) if summary is not None else ()
        return " ".join((str(header.path), header.format, header.title, header.working_directory, *told)).lower()


@dataclass(frozen=True, slots=True)
class SessionLine:
    """One line of the list.

    Attributes:
        entry: The session.
        depth: 0 for one at the left, 1 for one below the session that started it.
        subagents: How many sessions it started.
        is_open: These are listed below it.
    """

    entry: Entry
    depth: int = 0
    subagents: int = 0
    is_open: bool = False


@dataclass
class SessionBook:
    """What is known of the sessions of a list."""

    named: frozenset[Path] = frozenset()
    """Sessions that stand first, whatever their age."""
    _entries: dict[Path, Entry] = field(default_factory=dict)
    _words: dict[Path, str] = field(default_factory=dict)
    _refused: dict[Path, Header] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def read(self) -> int:
        """How many sessions were read."""
        return sum(entry.summary is not None for entry in self._entries.values())

    def entry(self, path: Path) -> Entry | None:
        """The session at a path."""
        return self._entries.get(path)

    def list(self, headers: Iterable[Header]) -> None:
        """Take the sessions that there are now; of those that stay, what was read stays too."""
        before, self._entries = self._entries, {}
        for header in headers:
            path = header.path
            known = before.get(path)
            if self._refused.get(path) == header:
                continue
            if known is None or known.header != header:
                self._words.pop(path, None)
                known = Entry(header, known.summary if known is not None else None)
            self._entries[path] = known

    def read_into(self, summaries: Iterable[SessionSummary]) -> bool:
        """Take what reading sessions told. What turned out to be none goes.

        Returns:
            Whether the list has other lines now, and not only other words in them.
        """
        has_other_lines = False
        for summary in summaries:
            entry = self._entries.get(summary.path)
            if entry is None:
                continue
            self._words.pop(summary.path, None)
            if summary.format or entry.header.is_sniffed or summary.is_unreadable:
                now = self._entries[summary.path] = Entry(entry.header, summary)
                has_other_lines = has_other_lines or (now.parent, now.written) != (entry.parent, entry.written)
            else:
                self._refused[summary.path] = self._entries.pop(summary.path).header
                has_other_lines = True
        return has_other_lines

    def lines(
        self, filter_text: str = "", opened: frozenset[Path] = frozenset(), order: SessionOrder = SessionOrder.NEWEST
    ) -> Sequence[SessionLine]:
        """The lines to show, the newest first, the named sessions before them; or those first that cost most.

        A family is as new as its newest member. What a session costs is what it cost itself, as its line says.

        Args:
            filter_text: Words that all have to be found in what is known of a session.
            opened: Sessions whose subagents are listed, besides those with a subagent that the filter finds.
            order: What they follow one another by.
        """
        by_cost = order is SessionOrder.COST
        words = filter_text.lower().split()
        children: dict[Path, list[Entry]] = {}
        heads: list[Entry] = []
        for entry in self._entries.values():
            head = self._head_of(entry.header.path)
            if head == entry.header.path:
                heads.append(entry)
            else:
                children.setdefault(head, []).append(entry)
        shown: list[tuple[bool, float, float, SessionLine, list[Entry]]] = []
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
        """The session at the beginning of a family: subagents start subagents. In a circle, each is its own."""
        seen = [path]
        while (parent := self._entries[seen[-1]].parent) is not None and parent in self._entries:
            if parent in seen:
                return path
            seen.append(parent)
        return seen[-1]

    def _matches(self, entry: Entry, words: Sequence[str]) -> bool:
        path = entry.header.path
        known = self._words.get(path)
        if known is None:
            known = self._words[path] = entry.words
        return all(word in known for word in words)
