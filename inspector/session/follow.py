"""Follow a session: read appended data, survive any change to its file, wait for one that may appear."""

from __future__ import annotations

import asyncio
import math
import stat
import time
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from inspector.errors import SessionError
from inspector.session.files import FileState, Locator, is_folder, is_link, may_appear
from inspector.session.open import Loading, load_in_parts, open_reader
from inspector.session.reader import FileChange
from inspector.session.registry import detect
from inspector.session.watching import watch_folders

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

    from inspector.session.model import Session
    from inspector.session.reading_process import ReadingProcess


def why_not_ready(path: Path) -> str:
    """Return a short reason why an awaited path cannot be opened yet, or an empty string once it can.

    A new file may hold half a line at first, and a new folder no files, so unrecognized content is waited for too.
    """
    file = Locator.of(path).file
    try:
        status = file.stat()
    except FileNotFoundError:
        return "the file does not exist yet" if is_folder(file.parent) else "its folder no longer exists"
    except (OSError, ValueError):
        return "it is not accessible"
    if stat.S_ISDIR(status.st_mode) and _holds_sessions(file):
        return ""
    if stat.S_ISREG(status.st_mode) and status.st_size == 0:
        return "the file is still empty"
    try:
        detect(path)
    except SessionError:
        return "it is not a session yet"
    return ""


def _holds_sessions(folder: Path) -> bool:
    from inspector.session.discovery import sessions_in

    return any(True for _ in sessions_in(folder))


AWAITED_SECONDS = 0.25
"""Polling interval while there is no session yet."""

UNREADABLE_SECONDS = 3.0
"""Delay before an unreadable file is reported: while being written, a file may be unreadable for a moment."""


class Update(Struct, frozen=True):
    """A change: `loaded`, `appended`, `reloaded`, `vanished`, `returned`, or only a `notice` for the user."""

    session: Session
    change: str
    notice: str = ""


class Follower:
    """Keeps a session up to date with its file.

    Not thread-safe. Once loaded, it never raises on any change to the file.

    Attributes:
        state: `live`; or, if only the last read session is available: `vanished` (no file), `replaced` (not a session
            any more), `unreadable` (empty or not readable).
        change: Result of the last `poll`: as in `Update.change`, or empty.
        notice: Message of the last `poll`, or empty.
    """

    def __init__(self, path: Path | str, *, on_notice: Callable[[str], None] | None = None, load: bool = True) -> None:
        """Open and read a session, or leave reading to `load`. Raises `SessionError` if it is not readable."""
        self.path = Path(path)
        self.state = "live"
        self.change = ""
        self.notice = ""
        self._on_notice = on_notice
        self._reader = open_reader(path)
        self._session: Session | None = None
        self._failed: FileState | None = None
        self._unreadable_since: float | None = None
        if load:
            for _ in self.load():
                pass

    @property
    def session(self) -> Session:
        if self._session is None:
            self._session = self._reader.snapshot()
        return self._session

    def load(self, process: ReadingProcess | None = None) -> Iterator[Loading]:
        """Read in slices, by `process` if it can; yield a part first and at each doubling. Raises `SessionError`."""
        for loading in self._loadings(process):
            if loading.is_complete:
                self._session = loading.session
            yield loading

    def _loadings(self, process: ReadingProcess | None) -> Iterator[Loading]:
        if process is not None:
            with closing(process.parts()) as parts:
                for part in parts:
                    loading = part.resume_with(self._reader)
                    if loading is None:
                        break
                    yield loading
                    if loading.is_complete:
                        return
        yield from load_in_parts(self._reader)

    def watched(self) -> tuple[Path, ...]:
        """Return the folders to watch for changes to the session."""
        folder = self._reader.watched()
        behind_link = self.path.resolve().parent if is_link(self.path) else folder
        return tuple(dict.fromkeys((folder, behind_link)))

    def time_of_change(self) -> float | None:
        """Return the newest modification time of its files in seconds since the epoch, or None if there are none."""
        files = [*self.session.files, *(file.with_name(f"{file.name}-wal") for file in self.session.files)]
        times = []
        for file in files:
            with suppress(OSError):
                times.append(file.stat().st_mtime)
        return max(times, default=None)

    def poll(self) -> Session | None:
        """Read appended data; return the new session, or None if it is unchanged."""
        self.change = self.notice = ""
        found = self._reader.refresh()
        if found is not FileChange.UNREADABLE:
            self._unreadable_since = None
        match found:
            case FileChange.VANISHED:
                if self.state != "vanished":
                    self.state = self.change = "vanished"
                    self._notify(f"{self.path.name} no longer exists; the content read before is still shown.")
            case FileChange.APPENDED:
                before = len(self.session.messages)
                self._session = self._reader.snapshot()
                self._note_live("appended")
                if self.change == "appended" and (lost := before - len(self._session.messages)) > 0:
                    self._notify(f"{_messages(lost)} no longer in {self.path.name}.")
                return self._session
            case FileChange.REPLACED:
                return self._reload()
            case FileChange.NONE if self.state != "live":
                self._note_live("returned")
            case FileChange.UNREADABLE:
                self._note_unreadable()
            case _:
                pass
        return None

    def _note_unreadable(self) -> None:
        """Report once that the file cannot be read, after `UNREADABLE_SECONDS`."""
        now = time.monotonic()
        if self._unreadable_since is None:
            self._unreadable_since = now
        elif now - self._unreadable_since >= UNREADABLE_SECONDS:
            self._unreadable_since = math.inf
            self.state, self.change = "unreadable", "notice"
            self._notify(
                f"{self.path.name} is empty or not readable at the moment; the content read before is still shown."
            )

    def _reload(self) -> Session | None:
        state = FileState.at(Locator.of(self.path).file)
        if state is not None and state == self._failed:
            return None
        try:
            reader = open_reader(self.path)
            for _ in reader.load():
                pass
        except SessionError as error:
            self._failed = state
            self.state, self.change = "replaced", "notice"
            self._notify(
                f"The file no longer contains a session; the content read before is still shown. {error.message}"
            )
            return None
        self._failed = None
        self._reader = reader
        self._session = reader.snapshot()
        self._note_live("reloaded")
        if self.change == "reloaded":
            self._notify(f"{self.path.name} was rewritten and read again.")
        return self._session

    def _note_live(self, change: str) -> None:
        before, self.state, self.change = self.state, "live", change
        if before == "vanished":
            self.change = "returned"
            self._notify(f"{self.path.name} is back.")
        elif before == "unreadable":
            self._notify(f"{self.path.name} is readable again.")

    def _notify(self, notice: str) -> None:
        self.notice = notice
        if self._on_notice is not None:
            self._on_notice(notice)


def _messages(count: int) -> str:
    return "1 message is" if count == 1 else f"{count:,} messages are"


async def follow(
    path: Path | str, stop_event: asyncio.Event | None = None, *, waits: bool = False
) -> AsyncIterator[Update]:
    """Read a session and keep following it in a thread; the first update has change `loaded`.

    `waits` waits for a missing or empty file in an existing folder. Raises `SessionError` if it is not a session.
    """
    stop = stop_event or asyncio.Event()
    if waits and not await _appears(Path(path), stop):
        return
    follower = await asyncio.to_thread(Follower, path)
    yield Update(follower.session, "loaded")
    async for update in follow_loaded(follower, stop):
        yield update


async def _appears(path: Path, stop: asyncio.Event) -> bool:
    """Wait until a session appears at an awaited path; return False if stopped."""
    if await asyncio.to_thread(may_appear, path):
        while await asyncio.to_thread(why_not_ready, path):
            with suppress(TimeoutError):
                await asyncio.wait_for(stop.wait(), AWAITED_SECONDS)
            if stop.is_set():
                return False
    return True


async def follow_loaded(follower: Follower, stop_event: asyncio.Event | None = None) -> AsyncIterator[Update]:
    """Follow a session that has been loaded; yields the updates of `follow` after the first."""
    async for _ in watch_folders(follower.watched(), stop_event or asyncio.Event()):
        await asyncio.to_thread(follower.poll)
        if follower.change:
            yield Update(follower.session, follower.change, follower.notice)
