"""Following a session: reading what is added, and surviving whatever happens to its file."""

from __future__ import annotations

import asyncio
import math
import time
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from inspector.session.awaiting import is_awaited, why_still_awaited
from inspector.session.errors import SessionError
from inspector.session.files import FileState, Locator, is_link
from inspector.session.loading import load_in_parts
from inspector.session.open import open_reader
from inspector.session.reader import FileChange
from inspector.session.watching import wake_ups

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

    from inspector.session.loading import Loading
    from inspector.session.model import Session
    from inspector.session.reading_process import ReadingProcess


AWAITED_SECONDS = 0.25
"""How often a path is looked at where there is no session yet."""

UNREADABLE_SECONDS = 3.0
"""A file that cannot be read for longer is said to be so; while it is written that may be for a moment."""


@dataclass(frozen=True)
class Update:
    """Something that happened to a followed session.

    Attributes:
        session: As it stands now.
        change: `loaded`, `appended`, `reloaded`, `vanished`, `returned`, or `notice` when only something is to be said.
        notice: One line for a person; empty when there is nothing to say.
    """

    session: Session
    change: str
    notice: str = ""


class Follower:
    """Keeps a session up to date with its file.

    To be used by one thread at a time. Nothing a file may become makes it raise once it has been loaded.

    Attributes:
        path: What is followed.
        state: `live`; or, while the last session that was read is all there is, `vanished` where there is no file,
            `replaced` where something else stands in its place, `unreadable` where it is empty or cannot be read.
        change: What the last `poll` found: as in `Update.change`, empty for nothing.
        notice: What the last `poll` has to say; empty for nothing.
    """

    def __init__(self, path: Path | str, *, on_notice: Callable[[str], None] | None = None, load: bool = True) -> None:
        """Open a session and read it.

        Args:
            path: Its file or folder.
            on_notice: Called with every notice.
            load: Read it now. Otherwise `load` has to be called, and exhausted, before anything else.

        Raises:
            SessionError: It cannot be read as a session.
        """
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
        """The session as it was last read."""
        if self._session is None:
            self._session = self._reader.snapshot()
        return self._session

    def load(self, process: ReadingProcess | None = None) -> Iterator[Loading]:
        """Read the session in slices; what has been read comes along after a first part and whenever it has doubled.

        Args:
            process: Reads it, where it can; it has ended afterwards.

        Raises:
            SessionError: It cannot be read.
        """
        for loading in self._loadings(process):
            if loading.is_complete:
                self._session = loading.session
            yield loading

    def _loadings(self, process: ReadingProcess | None) -> Iterator[Loading]:
        if process is not None:
            with closing(process.parts()) as parts:
                for part in parts:
                    loading = part.taken_up_by(self._reader)
                    if loading is None:
                        break
                    yield loading
                    if loading.is_complete:
                        return
        yield from load_in_parts(self._reader)

    def watched(self) -> tuple[Path, ...]:
        """The folders in which something happens when the session changes."""
        folder = self._reader.watched()
        behind_link = self.path.resolve().parent if is_link(self.path) else folder
        return tuple(dict.fromkeys((folder, behind_link)))

    def time_of_change(self) -> float | None:
        """When the session was last written to, in seconds since the epoch; None where there is nothing."""
        files = [*self.session.files, *(file.with_name(f"{file.name}-wal") for file in self.session.files)]
        times = []
        for file in files:
            with suppress(OSError):
                times.append(file.stat().st_mtime)
        return max(times, default=None)

    def poll(self) -> Session | None:
        """Look at the file and read what was added; the new session, None when it is the same as before."""
        self.change = self.notice = ""
        found = self._reader.refresh()
        if found is not FileChange.UNREADABLE:
            self._unreadable_since = None
        match found:
            case FileChange.VANISHED:
                if self.state != "vanished":
                    self.state = self.change = "vanished"
                    self._notify(f"{self.path.name} is gone; what was read of it is still shown.")
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
        """Say once that the file cannot be read, where that is more than a moment of writing."""
        now = time.monotonic()
        if self._unreadable_since is None:
            self._unreadable_since = now
        elif now - self._unreadable_since >= UNREADABLE_SECONDS:
            self._unreadable_since = math.inf
            self.state, self.change = "unreadable", "notice"
            self._notify(
                f"{self.path.name} is empty or cannot be read at the moment; what was read of it is still shown."
            )

    def _reload(self) -> Session | None:
        """Read the file that stands in the place of the one that was read."""
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
            self._notify(f"The file was replaced by something else; the last session is still shown. {error.message}")
            return None
        self._failed = None
        self._reader = reader
        self._session = reader.snapshot()
        self._note_live("reloaded")
        if self.change == "reloaded":
            self._notify(f"{self.path.name} was rewritten and has been read again.")
        return self._session

    def _note_live(self, change: str) -> None:
        before, self.state, self.change = self.state, "live", change
        if before == "vanished":
            self.change = "returned"
            self._notify(f"{self.path.name} is back.")
        elif before == "unreadable":
            self._notify(f"{self.path.name} can be read again.")

    def _notify(self, notice: str) -> None:
        self.notice = notice
        if self._on_notice is not None:
            self._on_notice(notice)


def _messages(count: int) -> str:
    return "1 message that was shown is" if count == 1 else f"{count:,} messages that were shown are"


async def follow(
    path: Path | str, stop_event: asyncio.Event | None = None, *, waits: bool = False
) -> AsyncIterator[Update]:
    """Read a session and go on reading it; the first update has change `loaded`.

    Reading happens in a worker thread.

    Args:
        path: Its file or folder.
        stop_event: Ends the iteration when set.
        waits: Where there is nothing yet in a folder that exists, or an empty file, wait for a session to appear.

    Raises:
        SessionError: It cannot be read as a session.
    """
    stop = stop_event or asyncio.Event()
    if waits and not await _appears(Path(path), stop):
        return
    follower = await asyncio.to_thread(Follower, path)
    yield Update(follower.session, "loaded")
    async for update in follow_loaded(follower, stop):
        yield update


async def _appears(path: Path, stop: asyncio.Event) -> bool:
    """Wait until there is a session at an awaited path; False where the waiting was ended."""
    if await asyncio.to_thread(is_awaited, path):
        while await asyncio.to_thread(why_still_awaited, path):
            with suppress(TimeoutError):
                await asyncio.wait_for(stop.wait(), AWAITED_SECONDS)
            if stop.is_set():
                return False
    return True


async def follow_loaded(follower: Follower, stop_event: asyncio.Event | None = None) -> AsyncIterator[Update]:
    """Go on reading a session that has been loaded: what `follow` gives after its first update."""
    async for _ in wake_ups(follower.watched(), stop_event or asyncio.Event()):
        await asyncio.to_thread(follower.poll)
        if follower.change:
            yield Update(follower.session, follower.change, follower.notice)
