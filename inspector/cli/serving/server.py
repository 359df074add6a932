"""A server that runs the screen once for every window of a browser, through textual-serve.

Who may see the screen: whoever opened the printed address first, and nobody else. The address holds a token that works
once. Whoever brings it gets a cookie, which scripts cannot read and other sites' pages do not send; everything after
that needs the cookie. Requests that name another host are refused, or a page could point its own name at this machine
(DNS rebinding), and so are sockets opened by other sites' pages, which browsers allow otherwise.
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import secrets
import shlex
import signal
import socket
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import aiohttp_jinja2
import jinja2
from aiohttp import web
from textual_serve.server import Server

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aiohttp.typedefs import Handler, Middleware

COOKIE = "inspector"

TOKEN = "token"  # noqa: S105  the name of a parameter

TOKEN_BYTES = 24

SECONDS_TO_END = 3.0
"""Open screens have so long to end."""

PAGES = Path(__file__).parent / "pages"

REFUSED = "This address was used already, or is not whole. Start `inspector serve` again for a new one.\n"


def listening_socket(host: str, port: int) -> socket.socket:
    """A socket that listens: from here on the port is ours.

    Args:
        host: An address or a name.
        port: 0 for any that is free.

    Raises:
        OSError: It cannot be had.
    """
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


class ScreenServer(Server):
    """Serves the screen on some paths, with a page that loads nothing from anywhere else."""

    def __init__(self, paths: Sequence[str], host: str, listening: socket.socket) -> None:
        """Prepare a server.

        Args:
            paths: What the screen is opened on.
            host: What it is called in its address.
            listening: Where it listens.
        """
        port = listening.getsockname()[1]
        words = [sys.executable, "-m", "inspector", "--", *paths]
        super().__init__(shlex.join(words), host=_in_address(host), port=port, title="inspector")
        self.public_url = f"http://{self.host}:{port}"
        self._listening = listening
        self._admission = Admission(frozenset({f"{self.host}:{port}", f"localhost:{port}"}))

    @property
    def address(self) -> str:
        """What to open; it works once."""
        return f"{self.public_url}/?{TOKEN}={self._admission.token}"

    def run(self) -> None:
        """Serve until interrupted."""
        asyncio.run(self._serve())

    async def _serve(self) -> None:
        ended = asyncio.Event()
        loop = asyncio.get_running_loop()
        for each in (signal.SIGINT, signal.SIGTERM):
            with contextlib.suppress(NotImplementedError):
                loop.add_signal_handler(each, ended.set)
        runner = web.AppRunner(await self._make_app(), access_log=None, shutdown_timeout=SECONDS_TO_END)
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
        aiohttp_jinja2.setup(app, loader=jinja2.FileSystemLoader(PAGES), autoescape=True)
        app.add_routes(
            [
                web.get("/", self.handle_index, name="index"),
                web.get("/ws", self.handle_websocket, name="websocket"),
                web.get("/download/{key}", self.handle_download, name="download"),
                web.static("/static", self.statics_path, name="static"),
                web.static("/page", PAGES, name="page"),
            ]
        )
        return app


def _in_address(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _headers(address: str) -> dict[str, str]:
    """What tells the browser to load nothing from elsewhere, to keep nothing, and to tell nobody."""
    rules = (
        "default-src 'none'",
        "script-src 'self'",
        # The terminal sets the size of every cell in a style of its own.
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
    """One token, and the cookie it is exchanged for."""

    def __init__(self, hosts: frozenset[str]) -> None:
        """Make a new token.

        Args:
            hosts: Names with port by which the server may be asked.
        """
        self.token = secrets.token_urlsafe(TOKEN_BYTES)
        self._cookie = secrets.token_urlsafe(TOKEN_BYTES)
        self._hosts = hosts
        self._is_spent = False

    def middleware(self) -> Middleware:
        """What every request passes through."""

        @web.middleware
        async def admit(request: web.Request, handler: Handler) -> web.StreamResponse:
            if request.host not in self._hosts:
                return _refused()
            if request.path == "/" and self._spend(request.query.get(TOKEN, "")):
                welcome = web.Response(status=303, headers={"Location": "/"})
                welcome.set_cookie(COOKIE, self._cookie, httponly=True, samesite="Strict", path="/")
                return welcome
            if not hmac.compare_digest(request.cookies.get(COOKIE, "").encode(), self._cookie.encode()):
                return _refused()
            origin = request.headers.get("Origin")
            if origin is not None and origin.partition("://")[2] not in self._hosts:
                return _refused()
            return await handler(request)

        return admit

    def _spend(self, token: str) -> bool:
        if self._is_spent or not hmac.compare_digest(token.encode(), self.token.encode()):
            return False
        self._is_spent = True
        return True


def _refused() -> web.Response:
    return web.Response(status=403, text=REFUSED)
