"""Background work of the session list: repeated discovery, and reading of the visible sessions first.

Runs in a thread while the list is open, and posts frozen results. Imports of heavy modules happen here.
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
"""Minimum interval between two scans of the folders."""

SHARE_OF_LOOKS = 10
"""A scan is repeated after at least this many times its duration."""

SHARE_OF_READING = 20
"""A growing session is read again after this many times the duration of the last read."""

SECONDS_OF_BATCH = 0.25
"""Summaries are posted in batches of this interval."""

SECONDS_OF_REST = 0.1

SECONDS_WORTH_KEEPING = 0.5
"""Minimum reading time worth caching; during reading the cache is written after ten times as much."""


@dataclass
class SessionFinder:
    """Finds and reads sessions for one list.

    Attributes:
        named: Paths that are always listed; a folder that is not a session is scanned.
        folders: Folders to scan; None for the agents' own folders on this machine.
        read: Summaries by path, shared with earlier lists.
        seen: Visible sessions, the most important first. The screen sets it from its own thread.
        keeps: Load and save a cache of summaries.
        looked_in: Scanned folders; None for the agents' own folders.
        problem: Why a folder cannot be listed, in one line; empty if all can.
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
        on_found: Callable[[tuple[Header, ...], bool], object],
        on_read: Callable[[tuple[SessionSummary, ...]], object],
        is_cancelled: Callable[[], bool],
    ) -> None:
        """Scan and read until cancelled.

        Args:
            on_found: Receives all sessions found so far and whether the scan is complete; called in this thread.
            on_read: Receives new summaries.
            is_cancelled: Returns True when the list is closed.
        """
        next_look = 0.0
        self._pricing = self._pricing or _pricing()
        while not is_cancelled():
            if time.monotonic() >= next_look:
                began = time.monotonic()
                self._look(on_found, is_cancelled)
                took = time.monotonic() - began
                next_look = time.monotonic() + max(SECONDS_BETWEEN_LOOKS, took * SHARE_OF_LOOKS)
            batch = self._read_some(min(next_look, time.monotonic() + SECONDS_OF_BATCH), is_cancelled)
            if batch:
                on_read(tuple(batch))
            else:
                self._keep(SECONDS_WORTH_KEEPING)
                time.sleep(SECONDS_OF_REST)
            self._keep(SECONDS_WORTH_KEEPING * 10)
        self._keep(SECONDS_WORTH_KEEPING)

    def _look(self, on_found: Callable[[tuple[Header, ...], bool], object], is_cancelled: Callable[[], bool]) -> None:
        from inspector.session.discovery import list_sessions, read_header, search_places

        found: dict[Path, Header] = {}
        folders = list(self.folders or ())
        for path in self.named:
            before = self._headers.get(path)
            header = _again(before) if before is not None else read_header(path)
            if header is not None:
                found[path] = header
            elif is_folder(path):
                folders.append(path)
        is_shown, last = False, time.monotonic()
        self.looked_in = tuple(folders) or None
        looked_in = search_places(self.looked_in)
        self.problem = next(filter(None, (_why_not_listed(place) for place, _ in looked_in)), "")
        for batch in list_sessions(looked_in, self._known):
            if is_cancelled():
                return
            found |= {header.path: header for header in batch if header.path not in found}
            is_first = not self._headers
            if is_first and (not is_shown or time.monotonic() - last > SECONDS_OF_BATCH) and found:
                is_shown, last = True, time.monotonic()
                on_found(tuple(found.values()), False)  # a callback with one flag
        before_all, self._headers = self._headers, found
        if found != before_all or not found:
            on_found(tuple(found.values()), True)  # a callback with one flag
        self._remember()
        self._due = iter(found.values())
        known = [entry.summary for path, entry in self.read.items() if path in found and path not in before_all]
        self._waiting += known

    def _read_some(self, until: float, is_cancelled: Callable[[], bool]) -> list[SessionSummary]:
        """Read the visible sessions, then the newest, until a deadline."""
        from inspector.report.session_summary import FIRST_BYTES, ReadSummary, summarize

        made, self._waiting = self._waiting, []
        while not is_cancelled() and (not made or time.monotonic() < until):
            header, is_seen = self._next()
            if header is None:
                break
            began = time.monotonic()
            before = self.read.get(header.path)
            is_whole_wanted = is_seen and before is not None
            most = None if is_whole_wanted else FIRST_BYTES
            summary = summarize(header.path, self._pricing, is_cancelled=is_cancelled, most_bytes=most)
            ended = time.monotonic()
            took = ended - began
            self.read[header.path] = ReadSummary(summary, header.size, header.modified, header.inode, took, ended)
            self._unkept += took
            made.append(summary)
        return made

    def _remember(self) -> None:
        """Load the cached summaries of unchanged sessions, once."""
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
        """Cache the summaries if reading them took longer than `seconds`."""
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
        """Return the next session to read, and whether it is visible."""
        for path in self.seen:
            header = self._headers.get(path)
            if header is not None and ((known := self.read.get(path)) is None or _is_due(known, header, is_seen=True)):
                return header, True
        # Due sessions are found once per scan, not once per session read.
        for header in self._due:
            if (known := self.read.get(header.path)) is None or _is_due(known, header, is_seen=False):
                return header, False
        return None, False


def _is_due(known: ReadSummary, header: Header, *, is_seen: bool) -> bool:
    """Return True if a session should be read again: it changed, or it is visible and was only partly read."""
    has_changed = (header.size, header.modified, header.inode) != (known.size, known.modified, known.inode)
    is_partial = is_seen and not known.summary.is_whole
    return (has_changed or is_partial) and time.monotonic() - known.ended > known.took * SHARE_OF_READING


def _why_not_listed(place: Path) -> str:
    from inspector.session.files import open_error_message

    try:
        if is_folder(place):
            os.scandir(place).close()
    except OSError as error:
        return open_error_message(place, error)
    return ""


def _again(header: Header) -> Header | None:
    """Return the header of a named session with its current size and time."""
    from msgspec.structs import replace

    from inspector.session.files import Locator

    try:
        status = Locator.of(header.path).file.stat()
    except OSError:
        return header
    return replace(header, size=status.st_size, modified=status.st_mtime)


def _pricing() -> Pricing:
    """Load the user's prices, or the built-in ones if their file is invalid, which reports mention."""
    from inspector.replay.pricing.price_tables import PriceFileError
    from inspector.replay.pricing.prices import Pricing

    try:
        return Pricing.load()
    except PriceFileError:
        return Pricing()
