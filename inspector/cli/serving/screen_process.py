"""The process of a screen that a browser shows: it is given what a page may send, and it ends for certain."""

from __future__ import annotations

import asyncio
import shlex
import signal
from asyncio.subprocess import PIPE
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated

import msgspec
from msgspec import Meta, Struct
from textual_serve.app_service import AppService
from textual_serve.download_manager import DownloadManager

from inspector.errors import InspectorError

if TYPE_CHECKING:
    from asyncio.subprocess import Process
    from collections.abc import AsyncGenerator, Mapping

    from aiohttp import web
    from textual_serve.download_manager import Download

USUAL_COLUMNS = 80
USUAL_ROWS = 24
MOST_COLUMNS = 1_000
MOST_ROWS = 400
"""Cells of the largest terminal: more than the largest monitors show in letters that can be read."""

MOST_SENT = 262_144
"""Bytes of one message of a page: the largest paste is one."""

MOST_WAITING = 1_048_576
"""Bytes that wait for a screen which is at work: hours of typing, minutes of moving the mouse."""

SECONDS_TO_END = 2.5
"""A screen that is told to end has so long; it gives up by itself a little before."""

BYTES_OF_PIECE = 65_536

SECONDS_FOR_PIECE = 120.0
"""A screen that is at work hands a piece over when it is done; one that has ended is not waited for."""

HUNG_UP = 128 + signal.SIGHUP
"""The exit code of a screen that was slow to end after its input."""

PASTE_BEGINS = "\x1b[200~"
PASTE_ENDS = "\x1b[201~"


class TerminalSize(Struct, frozen=True):
    """Columns and rows of the terminal a page draws, as it says."""

    width: Annotated[int, Meta(ge=1)] = USUAL_COLUMNS
    height: Annotated[int, Meta(ge=1)] = USUAL_ROWS

    def drawn(self) -> tuple[int, int]:
        """Columns and rows that are drawn: no more than the largest terminal has."""
        return min(self.width, MOST_COLUMNS), min(self.height, MOST_ROWS)


class TerminalInput(Struct, frozen=True, array_like=True, forbid_unknown_fields=True, tag="stdin"):
    """Keys, the mouse or a paste, in the sequences of a terminal. No text at all would end a screen's input."""

    text: Annotated[str, Meta(min_length=1)]


class Resized(Struct, frozen=True, array_like=True, forbid_unknown_fields=True, tag="resize"):
    """The terminal has another size."""

    size: TerminalSize


class Focused(Struct, frozen=True, array_like=True, forbid_unknown_fields=True, tag="focus"):
    """The page has the focus."""


class Blurred(Struct, frozen=True, array_like=True, forbid_unknown_fields=True, tag="blur"):
    """The page has it no longer."""


Sent = TerminalInput | Resized | Focused | Blurred

DECODER: msgspec.json.Decoder[Sent] = msgspec.json.Decoder(Sent)


def sent_by_page(text: str) -> Sent | None:
    """What the text of a websocket's message says.

    Returns:
        None for whatever no page sends of which something would come: other kinds, shapes and types, sizes below one
        cell, characters that are none.
    """
    try:
        return DECODER.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return None


def size_in_address(query: Mapping[str, str]) -> TerminalSize:
    """The size that a page names in the address of its websocket; the usual one where it names none."""
    try:
        return msgspec.convert(dict(query), TerminalSize, strict=False)
    except msgspec.ValidationError:
        return TerminalSize()


class DownloadLostError(InspectorError):
    """A file cannot be had: it was fetched already, another offered since took its place, or its screen is gone."""

    advice = "this file was fetched already, or its screen is closed: save it again"


class Downloads(DownloadManager):
    """Files that screens hand to the browser: each is fetched once, and none outlives its screen."""

    def __init__(self) -> None:
        super().__init__()
        self._fetched: set[str] = set()

    async def download(self, delivery_key: str) -> AsyncGenerator[bytes, None]:
        """The bytes of a file, in pieces, as fast as its screen hands them over.

        Raises:
            DownloadLostError: Before or after some of them: what came until then is not the whole file.
        """
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
        """End the downloads of a screen, and forget the files nobody has asked for."""
        await super().cancel_app_downloads(app_service_id)
        for key, download in list(self._active_downloads.items()):
            if key not in self._fetched and download.app_service.app_service_id == app_service_id:
                del self._active_downloads[key]


async def _next_piece(download: Download) -> bytes:
    """What comes next of a file; nothing after its end.

    Raises:
        DownloadLostError: The screen is gone, gave the file up, or is at work for too long.
    """
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
    """The program, run once for one window of a browser."""

    def __init__(self, command: str, websocket: web.WebSocketResponse, downloads: DownloadManager) -> None:
        """Prepare it.

        Args:
            command: What runs the program, quoted for a shell.
            websocket: Takes what the screen draws.
            downloads: Takes the files it hands out.
        """
        super().__init__(
            command,
            write_bytes=websocket.send_bytes,
            write_str=websocket.send_str,
            close=self._note_leaving,
            download_manager=downloads,
        )
        self._is_left = asyncio.Event()
        self._is_given_up = False
        self._sent_before = ""

    @property
    def has_failed(self) -> bool:
        """Whether the process has ended by itself, and neither as it was asked to nor because its input did."""
        return (
            self._process is not None and not self._is_given_up and self._process.returncode not in {None, 0, HUNG_UP}
        )

    async def left(self) -> None:
        """Wait until it ends by itself."""
        await self._is_left.wait()

    async def give(self, text: str) -> bool:
        """Give it the text of a websocket's message; nothing comes of what no page sends.

        Returns:
            False where so much waits for it that it is given no more.
        """
        if self.stdin.transport.get_write_buffer_size() > MOST_WAITING:
            return False
        match sent_by_page(text):
            case TerminalInput(text=typed):
                # It keeps what is pasted until the paste ends. Pages send a paste as one message, hands none.
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
        """Hand on what it draws until it has ended, or nobody takes it."""
        try:
            await super().run()
        finally:
            self._is_left.set()

    async def stop(self) -> None:
        """End its input, which it hears however busy it is; where it goes on all the same, end the process."""
        if self._task is None or self._process is None:
            return
        try:
            await self._download_manager.cancel_app_downloads(app_service_id=self.app_service_id)
            if not self.stdin.is_closing():
                self.stdin.transport.abort()  # to close it would first have what waits taken in
            if not await self._ends_within(SECONDS_TO_END):
                self._is_given_up = True
                with suppress(ProcessLookupError):
                    self._process.kill()
                self._task.cancel()
                await self._ends_within(SECONDS_TO_END)
        finally:
            # Who is not waited for to the end is killed, and its pipes are closed while there is a loop to do it.
            self._process._transport.close()  # type: ignore[attr-defined]  # noqa: SLF001  there is no public way
            self._task = None

    async def _ends_within(self, seconds: float) -> bool:
        """Whether the process is gone, and what it wrote is read."""
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
        """Start it without a shell, which would be ended in its place."""
        environment = self._build_environment(width, height)
        self._process = process = await asyncio.create_subprocess_exec(
            *shlex.split(self.command), stdin=PIPE, stdout=PIPE, stderr=PIPE, env=environment
        )
        self._stdin = process.stdin
        # Who reads the websocket never waits for the screen: whether the page is still there is learned there.
        self.stdin.transport.set_write_buffer_limits(2 * MOST_WAITING)
        return process
