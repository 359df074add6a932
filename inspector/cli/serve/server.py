"""Server that runs the screen once per browser window, through textual-serve, and ends it with the window.

Access is limited to the browser that opens the printed address first. The address holds a one-time token, which is
exchanged for a cookie that is invisible to scripts and not sent by other sites' pages; all further requests need it.
Every server has its own path and cookie name, because browsers send cookies to all ports of a host: another local
server neither receives the cookie nor replaces it.
Requests for another host name are refused to prevent DNS rebinding, and so are websockets opened by other sites' pages,
which browsers would allow.
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import logging
import secrets
import shlex
import signal
import socket
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import aiohttp_jinja2
import jinja2
from aiohttp import WSCloseCode, WSMsgType, web
from aiohttp.http_exceptions import HttpProcessingError
from textual_serve.server import Server

from inspector.cli.serve.screen_process import MOST_SENT, DownloadLostError, Downloads, ScreenProcess, size_in_address

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aiohttp.typedefs import Handler, Middleware


COOKIE = "inspector-{port}"
"""Name of the cookie for a port."""

TOKEN = "token"  # noqa: S105  name of a parameter

TOKEN_BYTES = 24

PATH_BYTES = 9
"""Random bytes of a server's path."""

ENDINGS = ("SIGINT", "SIGTERM", "SIGHUP")
"""Signals that end the server, unless it was started with them ignored."""

SECONDS_TO_END = 6.0
"""Timeout for open screens to end; each needs less."""

SECONDS_BETWEEN_PINGS = 6.0
"""Ping interval; a page that does not reply within half as long again is gone."""

SECONDS_TO_CLOSE = 3.0
"""Timeout for a page to receive the closing message."""

SECONDS_FOR_ROOM = 4.0
"""Timeout for a free slot: a reloaded page requests a screen before its previous one has ended."""

PAGES = Path(__file__).parent / "pages"

REFUSED = "This address was used already, or is incomplete. Start `inspector serve` again for a new one.\n"


def listening_socket(host: str, port: int) -> socket.socket:
    """Open a listening socket, on any free port for 0; raise `OSError` if the port is not available."""
    family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    listening = socket.socket(family, socket.SOCK_STREAM)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen()
    except OSError:
        listening.close()
        raise
    return listening


class CloseReason(NamedTuple):
    """Reason for closing a window's websocket: a close code, and a message on the page, at most 123 bytes."""

    code: WSCloseCode
    reason: str


LEFT = CloseReason(WSCloseCode.OK, "The screen was closed.")
FAILED = CloseReason(WSCloseCode.INTERNAL_ERROR, "The screen failed; see the terminal of inspector serve.")
TOO_MUCH_INPUT = CloseReason(
    WSCloseCode.POLICY_VIOLATION, "The screen was closed: it received more input than it could process."
)
ENDED = CloseReason(WSCloseCode.GOING_AWAY, "inspector serve was stopped.")


class ScreenServer(Server):
    """Serves the screen for some paths. Its page loads nothing from other hosts."""

    def __init__(self, paths: Sequence[str], host: str, listening: socket.socket, most_screens: int) -> None:
        port = listening.getsockname()[1]
        words = [sys.executable, "-m", "inspector", "--", *paths]
        super().__init__(shlex.join(words), host=_in_address(host), port=port, title="inspector")
        self.public_url = f"http://{self.host}:{port}"
        self.download_manager = Downloads()
        self._listening = listening
        self._windows: set[web.WebSocketResponse] = set()
        self._most_screens = most_screens
        self._room = asyncio.Semaphore(most_screens)
        self._admission = Admission(frozenset({f"{self.host}:{port}", f"localhost:{port}"}), port)

    @property
    def address(self) -> str:
        """Address to open; it works once."""
        return f"{self.public_url}{self._admission.path}/?{TOKEN}={self._admission.token}"

    def run(self) -> None:
        asyncio.run(self._serve())

    async def _serve(self) -> None:
        ended = asyncio.Event()
        loop = asyncio.get_running_loop()
        for each in signal.Signals:
            if each.name in ENDINGS and signal.getsignal(each) is not signal.SIG_IGN:
                with contextlib.suppress(NotImplementedError):
                    loop.add_signal_handler(each, ended.set)
        log = logging.getLogger(__name__)
        log.addFilter(_is_own_fault)
        app = await self._make_app()
        runner = web.AppRunner(app, access_log=None, logger=log, shutdown_timeout=SECONDS_TO_END)
        await runner.setup()
        try:
            await web.SockSite(runner, self._listening).start()
            await ended.wait()
        finally:
            await runner.cleanup()

    async def _make_app(self) -> web.Application:
        headers = _headers(self.public_url)

        async def add_headers(_: web.Request, response: web.StreamResponse) -> None:
            response.headers.update(headers)

        app = web.Application(middlewares=[self._admission.middleware()])
        app.on_response_prepare.append(add_headers)
        app.on_shutdown.append(self._close_windows)
        aiohttp_jinja2.setup(app, loader=jinja2.FileSystemLoader(PAGES), autoescape=True)
        path = self._admission.path
        app.add_routes(
            [
                web.get(f"{path}/", self.handle_index, name="index"),
                web.get(f"{path}/ws", self.handle_websocket, name="websocket"),
                web.get(f"{path}/download/{{key}}", self.handle_download, name="download"),
                web.static(f"{path}/static", self.statics_path, name="static"),
                web.static(f"{path}/page", PAGES, name="page"),
            ]
        )
        return app

    async def handle_download(self, request: web.Request) -> web.StreamResponse:
        """Send a file. An incomplete file results in status 404 or an aborted connection."""
        key = request.match_info["key"]
        async with contextlib.aclosing(self.download_manager.download(key)) as pieces:
            try:
                first = await anext(pieces, b"")
            except DownloadLostError as lost:
                raise web.HTTPNotFound(text=lost.explanation) from lost
            file = await self.download_manager.get_download_metadata(key)
            answer = web.StreamResponse(headers={"Content-Disposition": f'attachment; filename="{file.file_name}"'})
            answer.content_type = file.mime_type
            answer.charset = file.encoding or None
            await answer.prepare(request)
            try:
                await answer.write(first)
                async for piece in pieces:
                    await answer.write(piece)
            except DownloadLostError:
                if request.transport is not None:
                    request.transport.abort()
        return answer

    async def handle_websocket(self, request: web.Request) -> web.WebSocketResponse:
        """Show a screen in a window until one of them ends."""
        # Pages send no pings, and a client that sends pings without reading the replies would block the server.
        window = web.WebSocketResponse(heartbeat=SECONDS_BETWEEN_PINGS, max_msg_size=MOST_SENT, autoping=False)
        await window.prepare(request)
        self._windows.add(window)
        try:
            await _close(window, await self._show_screen(window, request))
        finally:
            self._windows.discard(window)
            if request.transport is not None:
                # Drop output that was not received by now.
                request.transport.abort()
        return window

    async def _show_screen(self, window: web.WebSocketResponse, request: web.Request) -> CloseReason:
        """Run a screen until it ends or the window closes; return the closing reason."""
        try:
            async with asyncio.timeout(SECONDS_FOR_ROOM):
                await self._room.acquire()
        except TimeoutError:
            return self._full
        screen = ScreenProcess(self.command, window, self.download_manager)
        try:
            await screen.start(*size_in_address(request.query).drawn())
            await _run(window, screen)
        except OSError as error:
            return CloseReason(WSCloseCode.INTERNAL_ERROR, f"The screen cannot be started: {error.strerror}")
        finally:
            await screen.stop()
            self._room.release()
        return FAILED if screen.has_failed else LEFT

    @property
    def _full(self) -> CloseReason:
        screens = "1 screen is" if self._most_screens == 1 else f"{self._most_screens} screens are"
        reason = f"{screens} open, which is the limit (--screens). Close one, then reload this page."
        return CloseReason(WSCloseCode.TRY_AGAIN_LATER, reason)

    async def _close_windows(self, _: web.Application) -> None:
        await asyncio.gather(*(_close(window, ENDED) for window in self._windows))


async def _run(window: web.WebSocketResponse, screen: ScreenProcess) -> None:
    """Forward a window's messages to its screen until one of them is gone."""
    giving = asyncio.create_task(_forward_input(window, screen))
    leaving = asyncio.create_task(screen.left())
    try:
        await asyncio.wait((giving, leaving), return_when=asyncio.FIRST_COMPLETED)
    finally:
        giving.cancel()
        leaving.cancel()
        await asyncio.wait((giving, leaving))
    if not giving.cancelled() and not giving.result():
        await _close(window, TOO_MUCH_INPUT)


async def _forward_input(window: web.WebSocketResponse, screen: ScreenProcess) -> bool:
    """Forward all messages of a window; return False if it sends too much."""
    async for message in window:
        if message.type is WSMsgType.TEXT and not await screen.give(message.data):
            return False
    return True


async def _close(window: web.WebSocketResponse, close_reason: CloseReason) -> None:
    """Close a window's websocket if it is open, without waiting for an unresponsive page."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(SECONDS_TO_CLOSE):
            await window.close(code=close_reason.code, message=close_reason.reason.encode())


def _is_own_fault(logged: logging.LogRecord) -> bool:
    """Return True if a log record matters: it was not caused by an unreadable client request."""
    return logged.exc_info is None or not isinstance(logged.exc_info[1], HttpProcessingError)


def _in_address(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _headers(address: str) -> dict[str, str]:
    """Return headers that forbid loading from other hosts, caching, and referrers."""
    rules = (
        "default-src 'none'",
        "script-src 'self'",
        # The terminal sets cell sizes with an inline style.
        "style-src 'self' 'unsafe-inline'",
        "font-src 'self'",
        "img-src 'self' data:",
        f"connect-src 'self' {address.replace('http', 'ws', 1)}",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    )
    return {
        "Content-Security-Policy": "; ".join(rules),
        "Cache-Control": "no-store",
        "Referrer-Policy": "no-referrer",
        "X-Content-Type-Options": "nosniff",
    }


class Admission:
    """One token, the cookie it is exchanged for, and the start of all paths, which the cookie is sent to."""

    def __init__(self, hosts: frozenset[str], port: int) -> None:
        """Create a token; `hosts` are accepted host names with port."""
        self._name = COOKIE.format(port=port)
        self.path = f"/{secrets.token_urlsafe(PATH_BYTES)}"
        self.token = secrets.token_urlsafe(TOKEN_BYTES)
        self._cookie = secrets.token_urlsafe(TOKEN_BYTES)
        self._hosts = hosts
        self._is_spent = False

    def middleware(self) -> Middleware:
        @web.middleware
        async def admit(request: web.Request, handler: Handler) -> web.StreamResponse:
            if request.host not in self._hosts:
                return _refused()
            home = f"{self.path}/"
            if request.path == home and self._spend(request.query.get(TOKEN, "")):
                welcome = web.Response(status=303, headers={"Location": home})
                welcome.set_cookie(self._name, self._cookie, httponly=True, samesite="Strict", path=home)
                return welcome
            if not _is_same(request.cookies.get(self._name, ""), self._cookie):
                return _refused()
            origin = request.headers.get("Origin")
            if origin is not None and origin.partition("://")[2] not in self._hosts:
                return _refused()
            return await handler(request)

        return admit

    def _spend(self, token: str) -> bool:
        if self._is_spent or not _is_same(token, self.token):
            return False
        self._is_spent = True
        return True


def _is_same(given: str, secret: str) -> bool:
    """Compare secrets in constant time; `given` may be any bytes, decoded."""
    return hmac.compare_digest(given.encode(errors="surrogateescape"), secret.encode())


def _refused() -> web.Response:
    return web.Response(status=403, text=REFUSED)
