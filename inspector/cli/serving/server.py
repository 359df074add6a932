"""A server that runs the screen once for every window of a browser, through textual-serve."""

from __future__ import annotations

import asyncio
import contextlib
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

from inspector.cli.serving.admission import TOKEN, Admission

if TYPE_CHECKING:
    from collections.abc import Sequence

PAGES = Path(__file__).parent / "pages"

SECONDS_TO_END = 3.0
"""Open screens have so long to end."""


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
