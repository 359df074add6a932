"""Run the screen of a browser tab in its own process, validate its input, and make sure that it ends."""

from __future__ import annotations

import asyncio
import shlex
import signal
from asyncio.subprocess import PIPE, Process
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated

import msgspec
from msgspec import Meta, Struct
from textual_serve.app_service import AppService
from textual_serve.download_manager import Download, DownloadManager

from inspector.errors import InspectorError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping

    from aiohttp import web


USUAL_COLUMNS = 80
USUAL_ROWS = 24
MOST_COLUMNS = 1_000
MOST_ROWS = 400
"""Maximum rows and columns of a terminal: more than the largest monitors show in readable type."""

MOST_SENT = 262_144
"""Maximum bytes of one message from a page, which limits a paste."""

MOST_WAITING = 1_048_576
"""Maximum bytes of input queued for a busy screen: hours of typing, minutes of mouse movement."""

SECONDS_TO_END = 2.5
"""Timeout for a screen to end; the screen itself gives up slightly earlier."""

BYTES_OF_PIECE = 65_536

SECONDS_FOR_PIECE = 120.0
"""Timeout for a piece of a download from a busy screen; an ended screen is not waited for."""

EXIT_AFTER_HANGUP = 128 + signal.SIGHUP
"""Exit code of a screen that was slow to end after its input closed."""

PASTE_BEGINS = "\x1b[200~"
PASTE_ENDS = "\x1b[201~"


class TerminalSize(Struct, frozen=True):
    """Columns and rows of the terminal reported by a page."""

    width: Annotated[int, Meta(ge=1)] = USUAL_COLUMNS
    height: Annotated[int, Meta(ge=1)] = USUAL_ROWS

    def drawn(self) -> tuple[int, int]:
        """Return columns and rows, limited to the largest terminal."""
        return min(self.width, MOST_COLUMNS), min(self.height, MOST_ROWS)


class TerminalInput(Struct, frozen=True, array_like=True, forbid_unknown_fields=True, tag="stdin"):
    """Keys, mouse events or a paste, as terminal sequences. An empty text would end a screen's input."""

    text: Annotated[str, Meta(min_length=1)]


class Resized(Struct, frozen=True, array_like=True, forbid_unknown_fields=True, tag="resize"):
    """A change to the terminal's size."""

    size: TerminalSize


class Focused(Struct, frozen=True, array_like=True, forbid_unknown_fields=True, tag="focus"):
    """The page gained the focus."""


class Blurred(Struct, frozen=True, array_like=True, forbid_unknown_fields=True, tag="blur"):
    """The page lost the focus."""


Sent = TerminalInput | Resized | Focused | Blurred

DECODER: msgspec.json.Decoder[Sent] = msgspec.json.Decoder(Sent)


def sent_by_page(text: str) -> Sent | None:
    """Parse a websocket message; None for any that pages do not send, that is invalid, or that has no effect."""
    try:
        return DECODER.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return None


def size_in_address(query: Mapping[str, str]) -> TerminalSize:
    """Return the size in the query of a page's websocket address, or the default."""
    try:
        return msgspec.convert(dict(query), TerminalSize, strict=False)
    except msgspec.ValidationError:
        return TerminalSize()


class DownloadLostError(InspectorError):
    """A download is unavailable: it was fetched already, replaced by another, or its screen is gone."""

    advice = "this file was downloaded already, or its screen is closed: save it again"


class Downloads(DownloadManager):
    """Downloads that screens offer to the browser: each is fetched once, and ends with its screen."""

    def __init__(self) -> None:
        super().__init__()
        self._fetched: set[str] = set()

    async def download(self, delivery_key: str) -> AsyncGenerator[bytes, None]:
        """Yield a file's bytes as fast as its screen delivers them; raise `DownloadLostError` if incomplete."""
        download = self._active_downloads.get(delivery_key)
        if download is None or delivery_key in self._fetched:
            raise DownloadLostError
        self._fetched.add(delivery_key)
        try:
            while piece := await _next_piece(download):
                yield piece
        finally:
            self._fetched.discard(delivery_key)
            self._active_downloads.pop(delivery_key, None)

    async def cancel_app_downloads(self, app_service_id: str) -> None:
        """End the downloads of a screen, and drop its unfetched files."""
        await super().cancel_app_downloads(app_service_id)
        for key, download in list(self._active_downloads.items()):
            if key not in self._fetched and download.app_service.app_service_id == app_service_id:
                del self._active_downloads[key]


async def _next_piece(download: Download) -> bytes:
    """Return the next piece of a file, empty after its end; raise `DownloadLostError` if its screen is lost."""
    request: dict[str, str | int | bool | None] = {
        "type": "deliver_chunk_request",
        "key": download.delivery_key,
        "size": BYTES_OF_PIECE,
        "name": download.name,
    }
    if await download.app_service.send_meta(request):
        with suppress(TimeoutError):
            async with asyncio.timeout(SECONDS_FOR_PIECE):
                piece = await download.incoming_chunks.get()
            if piece is not None:
                return piece
    raise DownloadLostError


class ScreenProcess(AppService):
    """The program, run once per browser window."""

    def __init__(self, command: str, websocket: web.WebSocketResponse, downloads: DownloadManager) -> None:
        """Prepare the process; `command` is quoted for a shell."""
        super().__init__(
            command,
            write_bytes=websocket.send_bytes,
            write_str=websocket.send_str,
            close=self._note_leaving,
            download_manager=downloads,
        )
        self._is_left = asyncio.Event()
        self._is_past_grace = False
        self._sent_before = ""

    @property
    def has_failed(self) -> bool:
        """True if the process ended on its own, neither on request nor because its input ended."""
        return (
            self._process is not None
            and not self._is_past_grace
            and self._process.returncode not in {None, 0, EXIT_AFTER_HANGUP}
        )

    async def left(self) -> None:
        """Wait until the process ends on its own."""
        await self._is_left.wait()

    async def give(self, text: str) -> bool:
        """Forward a websocket message, ignoring invalid ones; return False if too much input is queued."""
        if self.stdin.transport.get_write_buffer_size() > MOST_WAITING:
            return False
        match sent_by_page(text):
            case TerminalInput(text=typed):
                # The screen buffers a paste until its end. Pages send a paste as one message; no user types one.
                sent = self._sent_before + typed
                if sent.rfind(PASTE_BEGINS) <= sent.rfind(PASTE_ENDS):
                    self._sent_before = sent[1 - len(PASTE_BEGINS) :]
                    await self.send_bytes(typed.encode())
            case Resized(size=size):
                await self.set_terminal_size(*size.drawn())
            case Focused():
                await self.focus()
            case Blurred():
                await self.blur()
        return True

    async def run(self) -> None:
        """Forward output until the process ends, or the window is gone."""
        try:
            await super().run()
        finally:
            self._is_left.set()

    async def stop(self) -> None:
        """Close the input, which even a busy screen notices; kill the process if it continues."""
        if self._task is None or self._process is None:
            return
        try:
            await self._download_manager.cancel_app_downloads(app_service_id=self.app_service_id)
            if not self.stdin.is_closing():
                self.stdin.transport.abort()  # closing would first flush the queued input
            if not await self._ends_within(SECONDS_TO_END):
                self._is_past_grace = True
                with suppress(ProcessLookupError):
                    self._process.kill()
                self._task.cancel()
                await self._ends_within(SECONDS_TO_END)
        finally:
            # Without waiting for its end, kill it, and close its pipes while the event loop runs.
            self._process._transport.close()  # type: ignore[attr-defined]  # noqa: SLF001  there is no public way
            self._task = None

    async def _ends_within(self, seconds: float) -> bool:
        """Return True if the process ended and its output is read, within a timeout."""
        if self._task is None or self._process is None:
            return True
        try:
            async with asyncio.timeout(seconds):
                await asyncio.wait({self._task})
                await self._process.wait()
        except TimeoutError:
            return False
        return True

    async def _note_leaving(self) -> None:
        self._is_left.set()

    async def _open_app_process(self, width: int = USUAL_COLUMNS, height: int = USUAL_ROWS) -> Process:
        """Start the process without a shell, which would receive the signals in its place."""
        environment = self._build_environment(width, height)
        self._process = process = await asyncio.create_subprocess_exec(
            *shlex.split(self.command), stdin=PIPE, stdout=PIPE, stderr=PIPE, env=environment
        )
        self._stdin = process.stdin
        # The websocket reader never waits for the screen, because it also detects that the page is gone.
        self.stdin.transport.set_write_buffer_limits(2 * MOST_WAITING)
        return process
