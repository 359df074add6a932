"""Find the running sessions of all agents and keep their status.

`LiveBook` holds the sessions; it only reads files when told that something changed. `LiveWatch` tells it, from the
operating system's events: nothing runs while no agent writes. On file systems without events it polls.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import aclosing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from inspector.errors import SessionError
from inspector.live.figures import ENDED_SECONDS, LiveFigures
from inspector.live.reading import LiveReader
from inspector.session.discovery import RESULT_FOLDERS, SniffedFiles, list_sessions, search_places
from inspector.session.files import FileState, exists, is_folder
from inspector.session.model import LinkKind
from inspector.session.related import locate, parent_of
from inspector.session.watching import has_events

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Sequence

    from inspector.live.status import LiveSession
    from inspector.replay.pricing.prices import Pricing
    from inspector.session.format import Format

GONE_SECONDS: Final = 30.0
"""How long the row of a deleted session stays."""

COALESCE_SECONDS: Final = 0.3
"""Smallest time between two snapshots."""

PLACES_SECONDS: Final = 10.0
"""How often folders of agents that were not installed before are looked for."""

POLL_SECONDS: Final = 1.0
"""Interval on file systems without events."""

INSPECTION_SECONDS: Final = 1.0
"""A changed file that is not a known session is inspected at most this often."""

RESTING_SECONDS: Final = 0.4
"""How soon a changed session is checked again that was not read because reading it is costly."""

HEARTBEAT_SECONDS: Final = 30.0
"""Largest time between two snapshots: rates of the last minutes change without new records."""

DATABASE_ENDINGS: Final = ("-wal", "-shm", "-journal")


@dataclass(frozen=True, slots=True)
class LiveSnapshot:
    """All running sessions at one time.

    Attributes:
        sessions: The sessions that the user started, most urgent first; subagents count in their parents.
        time: Seconds since the epoch.
        unread: Sessions that could not be read, each with the problem in one line.
    """

    sessions: tuple[LiveSession, ...]
    time: float
    unread: tuple[tuple[Path, str], ...] = ()


class _Entry(NamedTuple):
    """A session that is kept: its reader, its figures, and the path of the session that started it."""

    reader: LiveReader
    figures: LiveFigures
    parent: Path | None


class LiveBook:
    """The running sessions below some folders. Not thread-safe."""

    def __init__(
        self,
        folders: Iterable[Path] | None = None,
        pricing: Pricing | None = None,
        *,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Start without sessions.

        Args:
            folders: Folders and files to search; the homes of all agents by default.
            pricing: Prices; by default the user's price file and the bundled table.
            clock: Returns the time in seconds since the epoch.
        """
        self._folders = None if folders is None else list(folders)
        self._given_pricing = pricing
        self._clock = clock
        self._entries: dict[Path, _Entry] = {}
        self._sniffed: SniffedFiles = {}
        self._unread: dict[Path, tuple[float, str]] = {}
        self._gone: dict[Path, float] = {}
        self._inspected: dict[Path, float] = {}
        self._due: set[Path] = set()
        self._resting: set[Path] = set()
        self._identities: list[tuple[int, int] | None] = []
        self.places: list[tuple[Path, Format | None]] = []

    @property
    def _pricing(self) -> Pricing:
        if self._given_pricing is None:
            from inspector.replay.pricing.prices import Pricing

            self._given_pricing = Pricing.load()
        return self._given_pricing

    def discover(self) -> None:
        """Search all folders for running sessions."""
        self.places = search_places(self._folders)
        self._identities = _identities(self.places)
        self._search(self.places, self._sniffed)

    def has_new_places(self) -> bool:
        """Return True if the folders to search are not those of the last search, or were replaced."""
        places = search_places(self._folders)
        return places != self.places or _identities(places) != self._identities

    def touch(self, paths: Iterable[Path]) -> None:
        """Read what changed at some paths: known sessions, and new ones."""
        changed = {_without_ending(path) for path in paths} | self._resting
        folders = {path.parent for path in changed}
        files, self._resting = set(), set()
        for path, entry in list(self._entries.items()):
            reader = entry.reader
            is_inside = reader.file in changed or not changed.isdisjoint(reader.session.files)
            if is_inside or reader.watched() in folders:
                if time.monotonic() < reader.rests_until:
                    self._resting.add(reader.file)
                elif reader.refresh():
                    self._update(entry)
            if path == reader.file:
                files.add(reader.file)
        now, self._due, unknown = self._clock(), set(), self._due | (changed - files)
        for path in unknown:
            if not files.isdisjoint(path.parents) or not RESULT_FOLDERS.isdisjoint(path.parts):
                continue
            if now - self._inspected.get(path, 0.0) < INSPECTION_SECONDS:
                self._due.add(path)
            elif exists(path):
                self._inspected[path] = now
                self._search(self._around(path), {})
        self._inspected = {path: at for path, at in self._inspected.items() if now - at < INSPECTION_SECONDS}

    def files(self) -> list[Path]:
        return [entry.reader.file for entry in list(self._entries.values())]

    def refresh(self) -> None:
        for entry in list(self._entries.values()):
            if entry.reader.refresh():
                self._update(entry)

    def snapshot(self) -> LiveSnapshot:
        """Return the status of all running sessions, and forget those that have ended."""
        now = self._clock()
        self._forget(now)
        children: dict[Path, list[LiveFigures]] = {}
        for path, entry in self._entries.items():
            if (root := self._root(path)) != path:
                children.setdefault(root, []).append(entry.figures)
        continued = self._continued()
        pauses = [pause for entry in self._entries.values() for pause in entry.figures.pauses]
        rows = [
            entry.figures.row(now, children.get(path, ()), pauses)
            for path, entry in self._entries.items()
            if self._root(path) == path and path not in continued
        ]
        rows.sort(key=lambda row: row.urgency(now))
        unread = tuple((path, problem) for path, (_, problem) in self._unread.items())
        return LiveSnapshot(tuple(rows), now, unread)

    def next_change(self) -> float:
        """Return the time at which some row changes without a new record, seconds since the epoch."""
        now = self._clock()
        due = now + (RESTING_SECONDS if self._resting else INSPECTION_SECONDS if self._due else HEARTBEAT_SECONDS)
        return min([due, *(entry.figures.next_change(now) for entry in self._entries.values())])

    def _search(self, places: Sequence[tuple[Path, Format | None]], sniffed: SniffedFiles) -> None:
        oldest = self._clock() - ENDED_SECONDS
        for headers in list_sessions(places, sniffed):
            for header in headers:
                if header.problem or not header.format or header.modified < oldest:
                    continue
                self._add(header.path, header.format, header.parent)

    def _add(self, path: Path, known: str, parent: Path | None) -> None:
        entry = self._entries.get(path)
        if entry is not None:
            if entry.reader.refresh():
                self._update(entry)
            return
        try:
            reader = LiveReader(path, known)
        except (SessionError, OSError) as error:
            self._unread[path] = (self._clock(), str(error))
            return
        self._unread.pop(path, None)
        link = parent_of(reader.session)
        parent = locate(reader.session, link) if parent is None and link is not None else parent
        self._entries[path] = _Entry(reader, LiveFigures(self._pricing, reader, self._longest_prompt), parent)
        if parent is not None and parent not in self._entries:
            self._add(parent, known, None)

    def _longest_prompt(self, model: str) -> int:
        found = (entry.figures.longest for entry in self._entries.values() if entry.figures.model == model)
        return max(found, default=0)

    def _update(self, entry: _Entry) -> None:
        if entry.reader.is_gone:
            self._gone[entry.reader.path] = self._clock()
        else:
            self._gone.pop(entry.reader.path, None)
            entry.figures.take()

    def _forget(self, now: float) -> None:
        """Drop ended sessions; a parent stays as long as one of its subagents."""
        last: dict[Path, float] = {}
        for path, entry in self._entries.items():
            root = self._root(path)
            last[root] = max(last.get(root, 0.0), entry.figures.last_activity)
        for path in list(self._entries):
            is_gone = now - self._gone.get(path, now) > GONE_SECONDS
            if is_gone or now - last[self._root(path)] > ENDED_SECONDS:
                del self._entries[path]
                self._gone.pop(path, None)
        for path, (since, _) in list(self._unread.items()):
            if now - since > ENDED_SECONDS:
                del self._unread[path]

    def _root(self, path: Path) -> Path:
        """Return the known session that started this one, directly or not."""
        for _ in range(len(self._entries)):
            entry = self._entries.get(path)
            if entry is None or entry.parent is None or entry.parent not in self._entries:
                break
            path = entry.parent
        return path

    def _continued(self) -> set[Path]:
        """Return the sessions that another one continues, if nothing was added to them since."""
        found = set()
        for entry in self._entries.values():
            for link in entry.reader.session.links:
                other = self._entries.get(link.path) if link.kind is LinkKind.CONTINUED and link.path else None
                if other is not None and other.figures.last_activity <= entry.figures.own_start:
                    found.add(other.reader.path)
        return found

    def _around(self, path: Path) -> list[tuple[Path, Format | None]]:
        """Return the places to search for a session that a changed path belongs to."""
        for place, format_ in self.places:
            if path == place or place in path.parents:
                # The outermost folder that is itself a session, otherwise the path.
                above = [each for each in reversed(path.parents) if place in each.parents]
                found = next((each for each in above if _is_session_folder(each, format_)), path)
                return [(found, format_)]
        return []


class LiveWatch:
    """Yields the running sessions whenever one of them changes."""

    def __init__(self, folders: Iterable[Path] | None = None, pricing: Pricing | None = None) -> None:
        """Start without reading anything, by default with the homes of all agents and the user's prices."""
        self.book = LiveBook(folders, pricing)
        self._changed: set[Path] = set()
        self._woken = asyncio.Event()

    async def snapshots(self, stop: asyncio.Event) -> AsyncGenerator[LiveSnapshot]:
        """Yield a snapshot now and after every change, until `stop` is set. Files are read in a worker thread."""
        waking = asyncio.create_task(self._wake_on(stop))
        try:
            while not stop.is_set():
                async with aclosing(self._watched(stop)) as snapshots:
                    async for snapshot in snapshots:
                        yield snapshot
        finally:
            waking.cancel()

    async def _watched(self, stop: asyncio.Event) -> AsyncGenerator[LiveSnapshot]:
        """Yield snapshots until the places to watch change."""
        restart = asyncio.Event()
        halt = asyncio.Event()  # set by `awatch` if it is cancelled
        await asyncio.to_thread(self.book.discover)
        watchers = [
            asyncio.create_task(self._watch(places, halt, restart, recursive=recursive))
            for recursive, places in _by_kind(self.book.places).items()
            if places
        ]
        try:
            # Changes between the search and the start of the watch are covered by this.
            await asyncio.sleep(0)
            await asyncio.to_thread(self.book.refresh)
            yield await asyncio.to_thread(self.book.snapshot)
            async for _ in self._changes(stop, restart):
                yield await asyncio.to_thread(self.book.snapshot)
        finally:
            halt.set()
            for watcher in watchers:
                watcher.cancel()
            await asyncio.gather(*watchers, return_exceptions=True)

    async def _wake_on(self, stop: asyncio.Event) -> None:
        await stop.wait()
        self._woken.set()

    async def _changes(self, stop: asyncio.Event, restart: asyncio.Event) -> AsyncIterator[None]:
        """Read changes and yield after each, until the places to watch change."""
        looked = time.monotonic()
        while not (stop.is_set() or restart.is_set()):
            planned = self.book.next_change()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._woken.wait(), max(min(planned - time.time(), PLACES_SECONDS), 0.05))
            self._woken.clear()
            changed, self._changed = self._changed, set()
            if changed or time.time() >= planned:
                await asyncio.to_thread(self.book.touch, changed)
                yield
                await asyncio.sleep(COALESCE_SECONDS)
            if time.monotonic() - looked >= PLACES_SECONDS:
                looked = time.monotonic()
                if await asyncio.to_thread(self.book.has_new_places):
                    return

    async def _watch(self, places: list[Path], halt: asyncio.Event, restart: asyncio.Event, *, recursive: bool) -> None:
        """Collect changed paths until a watched folder is replaced."""
        from watchfiles import awatch

        if not has_events(tuple(places)):
            await self._poll(places, halt)
            return
        began = time.monotonic()
        try:
            events = awatch(
                *places,
                watch_filter=None,
                debounce=200,
                step=50,
                stop_event=halt,
                rust_timeout=int(PLACES_SECONDS * 1000),
                recursive=recursive,
                force_polling=False,
                ignore_permission_denied=True,
            )
            async for changes in events:
                self._note(Path(path) for _, path in changes)
        except (OSError, RuntimeError):  # the folder was deleted, or the system is out of watches
            if time.monotonic() - began < PLACES_SECONDS:
                await self._poll(places, halt)
            restart.set()
            self._woken.set()

    async def _poll(self, places: list[Path], halt: asyncio.Event) -> None:
        """Check known sessions every second, and look for new ones less often."""
        searched = 0.0
        while not halt.is_set():
            await asyncio.sleep(POLL_SECONDS)
            is_due = time.monotonic() - searched >= PLACES_SECONDS
            searched = time.monotonic() if is_due else searched
            self._note([*self.book.files(), *(places if is_due else ())])

    def _note(self, paths: Iterable[Path]) -> None:
        self._changed.update(paths)
        self._woken.set()


def _by_kind(places: Sequence[tuple[Path, Format | None]]) -> dict[bool, list[Path]]:
    """Return the folders to watch with and without the folders below them: a database's folder may hold much else."""
    found: dict[bool, list[Path]] = {True: [], False: []}
    for place, _ in places:
        if is_folder(place):
            found[True].append(place)
        elif place.parent not in found[False]:
            found[False].append(place.parent)
    return found


def _identities(places: Sequence[tuple[Path, Format | None]]) -> list[tuple[int, int] | None]:
    """Return device and inode number of each place; None if it does not exist."""
    states = (FileState.at(place) for place, _ in places)
    return [None if state is None else state[:2] for state in states]


def _without_ending(path: Path) -> Path:
    """Return the database that a journal belongs to, otherwise the path."""
    for ending in DATABASE_ENDINGS:
        if path.name.endswith(ending):
            return path.with_name(path.name.removesuffix(ending))
    return path


def _is_session_folder(folder: Path, format_: Format | None) -> bool:
    from inspector.session.registry import all_formats

    formats = all_formats() if format_ is None else (format_,)
    if not any(each.session_folders for each in formats):
        return False
    try:
        names = {entry.name for entry in folder.iterdir()}
    except OSError:
        return False
    return any(signs <= names for each in formats for signs in each.session_folders)


def scan(folders: Iterable[Path] | None = None, pricing: Pricing | None = None) -> LiveSnapshot:
    """Return all running sessions, read once."""
    book = LiveBook(folders, pricing)
    book.discover()
    return book.snapshot()


def session_status(path: Path, pricing: Pricing | None = None) -> LiveSession:
    """Return the status of one session, running or not; raise `SessionError` if it cannot be read."""
    from inspector.replay.pricing.prices import Pricing

    reader = LiveReader(path)
    return LiveFigures(pricing or Pricing.load(), reader).row(time.time())
