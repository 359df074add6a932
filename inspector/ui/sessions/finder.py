"""The work behind the list of sessions: finding them again and again, and reading those first that are looked at.

Runs in a thread of its own as long as the list is open, and posts frozen results. Heavy modules are imported here.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from inspector.session.files import exists, is_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from inspector.replay.pricing.prices import Pricing
    from inspector.report.session_summary import ReadSummary, SessionSummary
    from inspector.session.discovery import Header, SniffedFiles

SECONDS_BETWEEN_LOOKS = 2.0
"""The folders are looked through this often at most."""

SHARE_OF_LOOKS = 10
"""Looking through them again waits at least so many times as long as it took."""

SHARE_OF_READING = 20
"""A session that grows is read again after so many times as long as reading it took."""

SECONDS_OF_BATCH = 0.25
"""What was read is told together."""

SECONDS_OF_REST = 0.1

SECONDS_WORTH_KEEPING = 0.5
"""What took less to read is read again the next time; while reading goes on, it is kept after ten times as long."""


@dataclass
class SessionFinder:
    """Finds and reads sessions for one list.

    Attributes:
        named: Sessions to list in any case; a folder that is none is looked through.
        folders: Where to look; None for where agents keep theirs on this machine.
        read: What was read by earlier lists too, by path.
        seen: What is looked at now, the most important first. Set by the screen, from its own thread.
        keeps: What is read is kept for the next run, and what an earlier run kept is used.
        looked_in: The folders that were looked through; None for where agents keep theirs.
        problem: Why one of the places to look in cannot be listed, in one line; empty where all can.
    """

    named: Sequence[Path]
    folders: Sequence[Path] | None
    read: dict[Path, ReadSummary] = field(default_factory=dict)
    seen: tuple[Path, ...] = ()
    keeps: bool = False
    looked_in: tuple[Path, ...] | None = None
    problem: str = ""
    _known: SniffedFiles = field(default_factory=dict)
    _headers: dict[Path, Header] = field(default_factory=dict)
    _waiting: list[SessionSummary] = field(default_factory=list)
    _pricing: Pricing | None = None
    _due: Iterator[Header] = field(default_factory=lambda: iter(()))
    _kept: dict[Path, ReadSummary] | None = None
    _unkept: float = 0.0

    def run(
        self,
        tell_found: Callable[[tuple[Header, ...], bool], object],
        tell_read: Callable[[tuple[SessionSummary, ...]], object],
        is_cancelled: Callable[[], bool],
    ) -> None:
        """Find and read until nobody waits any more.

        Args:
            tell_found: Takes all sessions there are, and whether that is all; from this thread.
            tell_read: Takes what reading some of them told.
            is_cancelled: True when the list is closed.
        """
        next_look = 0.0
        self._pricing = self._pricing or _pricing()
        while not is_cancelled():
            if time.monotonic() >= next_look:
                began = time.monotonic()
                self._look(tell_found, is_cancelled)
                took = time.monotonic() - began
                next_look = time.monotonic() + max(SECONDS_BETWEEN_LOOKS, took * SHARE_OF_LOOKS)
            batch = self._read_some(min(next_look, time.monotonic() + SECONDS_OF_BATCH), is_cancelled)
            if batch:
                tell_read(tuple(batch))
            else:
                self._keep(SECONDS_WORTH_KEEPING)
                time.sleep(SECONDS_OF_REST)
            self._keep(SECONDS_WORTH_KEEPING * 10)
        self._keep(SECONDS_WORTH_KEEPING)

    def _look(self, tell_found: Callable[[tuple[Header, ...], bool], object], is_cancelled: Callable[[], bool]) -> None:
        from inspector.session.discovery import header_of, list_sessions, places

        found: dict[Path, Header] = {}
        folders = list(self.folders or ())
        for path in self.named:
            before = self._headers.get(path)
            header = _again(before) if before is not None else header_of(path)
            if header is not None:
                found[path] = header
            elif is_folder(path):
                folders.append(path)
        told, last = False, time.monotonic()
        self.looked_in = tuple(folders) or None
        looked_in = places(self.looked_in)
        self.problem = next(filter(None, (_why_not_listed(place) for place, _ in looked_in)), "")
        for batch in list_sessions(looked_in, self._known):
            if is_cancelled():
                return
            found |= {header.path: header for header in batch if header.path not in found}
            is_first = not self._headers
            if is_first and (not told or time.monotonic() - last > SECONDS_OF_BATCH) and found:
                told, last = True, time.monotonic()
                tell_found(tuple(found.values()), False)  # a callback's one flag
        before_all, self._headers = self._headers, found
        if found != before_all or not found:
            tell_found(tuple(found.values()), True)  # a callback's one flag
        self._remember()
        self._due = iter(found.values())
        known = [entry.summary for path, entry in self.read.items() if path in found and path not in before_all]
        self._waiting += known

    def _read_some(self, until: float, is_cancelled: Callable[[], bool]) -> list[SessionSummary]:
        """Read what is looked at, then the newest, until a time."""
        from inspector.report.session_summary import FIRST_BYTES, ReadSummary, summarise

        made, self._waiting = self._waiting, []
        while not is_cancelled() and (not made or time.monotonic() < until):
            header, is_seen = self._next()
            if header is None:
                break
            began = time.monotonic()
            before = self.read.get(header.path)
            is_whole_wanted = is_seen and before is not None
            most = None if is_whole_wanted else FIRST_BYTES
            summary = summarise(header.path, self._pricing, is_cancelled=is_cancelled, most_bytes=most)
            ended = time.monotonic()
            took = ended - began
            self.read[header.path] = ReadSummary(summary, header.size, header.modified, header.inode, took, ended)
            self._unkept += took
            made.append(summary)
        return made

    def _remember(self) -> None:
        """Take up what an earlier run read of sessions that have not changed since, once."""
        if self._kept is not None or self._pricing is None:
            return
        from inspector.report.session_summary import SummaryCache

        cache = SummaryCache()
        if not self.keeps:
            cache.forget()
        self._kept = cache.load(self._pricing) if self.keeps else {}
        for path, header in self._headers.items():
            kept = self._kept.get(path)
            if kept is not None and path not in self.read and not _is_due(kept, header, is_seen=False):
                self.read[path] = kept

    def _keep(self, seconds: float) -> None:
        """Keep what was read for the next run, where reading it took that long."""
        if not self.keeps or self._pricing is None or self._unkept < seconds:
            return
        from inspector.report.session_summary import SummaryCache
        from inspector.session.files import Locator

        now = {path: entry for path, entry in self.read.items() if not entry.summary.problem}
        others = (kept for path, kept in (self._kept or {}).items() if path not in now)
        there = (kept for kept in others if exists(Locator.of(kept.summary.path).file))
        SummaryCache().save((*now.values(), *there), self._pricing)
        self._unkept = 0.0

    def _next(self) -> tuple[Header | None, bool]:
        """What to read next, and whether somebody looks at it."""
        for path in self.seen:
            header = self._headers.get(path)
            if header is not None and ((known := self.read.get(path)) is None or _is_due(known, header, is_seen=True)):
                return header, True
        # Whether more sessions are due is found out with every look at the folders, not with every session read.
        for header in self._due:
            if (known := self.read.get(header.path)) is None or _is_due(known, header, is_seen=False):
                return header, False
        return None, False


def _is_due(known: ReadSummary, header: Header, *, is_seen: bool) -> bool:
    """Whether a session should be read again: it changed, or it is looked at and was read in part."""
    has_changed = (header.size, header.modified, header.inode) != (known.size, known.modified, known.inode)
    is_partial = is_seen and not known.summary.is_whole
    return (has_changed or is_partial) and time.monotonic() - known.ended > known.took * SHARE_OF_READING


def _why_not_listed(place: Path) -> str:
    from inspector.session.files import why_not_opened

    try:
        if is_folder(place):
            os.scandir(place).close()
    except OSError as error:
        return why_not_opened(place, error)
    return ""


def _again(header: Header) -> Header | None:
    """A named session as it is now."""
    from dataclasses import replace

    from inspector.session.files import Locator

    try:
        status = Locator.of(header.path).file.stat()
    except OSError:
        return header
    return replace(header, size=status.st_size, modified=status.st_mtime)


def _pricing() -> Pricing:
    """The user's prices; the bundled ones where their file cannot be used, which reports say."""
    from inspector.replay.pricing.price_file import PriceFileError
    from inspector.replay.pricing.prices import Pricing

    try:
        return Pricing.load()
    except PriceFileError:
        return Pricing()
