"""`inspector serve` with clients that are not browsers: bad requests, many connections, and disconnects."""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import signal
import subprocess
import sys
from asyncio.subprocess import PIPE
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from http.cookies import SimpleCookie
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Any, cast
from unittest import mock

import pytest
from aiohttp import (
    ClientConnectionResetError,
    ClientSession,
    ClientWebSocketResponse,
    CookieJar,
    WSCloseCode,
    WSMessage,
    WSMsgType,
)
from hypothesis import given
from hypothesis import strategies as st
from yarl import URL

from inspector.cli import main
from inspector.cli.output import ExitCode
from inspector.cli.serve.screen_process import (
    MOST_COLUMNS,
    MOST_ROWS,
    MOST_SENT,
    Downloads,
    Focused,
    Resized,
    ScreenProcess,
    TerminalInput,
    TerminalSize,
    sent_by_page,
    size_in_address,
)
from inspector.ui.served import MOST_DELIVERIES
from inspector.ui.toolkit.failures import LOG_NAME
from tests.conftest import ROOT
from tests.program import COMMAND, environment

if TYPE_CHECKING:
    from asyncio.subprocess import Process
    from collections.abc import AsyncIterator, Callable

    from aiohttp.web import WebSocketResponse

SAMPLE = ROOT / "sample_sessions/terminal-agent.jsonl"
PATIENCE = 60.0
"""Seconds until something that does not come is given up."""

SECONDS_A_LIBRARY_WAITS = 5

MOST_MEGABYTES = 400
"""A screen on a small session takes a third of this."""

NO_PAGE_SENDS = (
    "",
    "x",
    "null",
    "[]",
    "{}",
    '"stdin"',
    '["stdin"]',
    '["stdin", 1]',
    '["stdin", ""]',
    '["stdin", null]',
    '["stdin", {"a": 1}]',
    '["stdin", "\\ud800"]',
    '["stdin", "j", "k"]',
    '["resize"]',
    '["resize", "80x24"]',
    '["resize", {"width": -1, "height": -1}]',
    '["resize", {"width": 0, "height": 24}]',
    '["resize", {"width": true, "height": 24}]',
    '["resize", {"width": 80.5, "height": 24}]',
    '["resize", {"width": "80", "height": 24}]',
    '["resize", {"width": 1e400, "height": 24}]',
    f'["resize", {{"width": {"9" * 5000}, "height": 24}}]',
    '["quit"]',
    '["exit", {}]',
    '[["stdin"], "q"]',
    '["blur", 1]',
    "[" * 100_000,
    '["resize", {"width": 80, "height": 24, "depth": ' + "[" * 100_000,
)


@dataclass
class Server:
    """The program serving, and a client it has let in."""

    process: Process
    origin: str
    client: ClientSession

    @asynccontextmanager
    async def window(self, **options: Any) -> AsyncIterator[Window]:
        """A websocket as a page opens it, and the screen behind it once there is one."""
        others = children(self.process.pid)
        options = {"autoping": False, **options}
        async with self.client.ws_connect(f"{self.origin}/ws?width=80&height=24", **options) as socket:
            yield Window(socket, self.process.pid, others)

    async def answer_to(self, request: bytes) -> bytes:
        """The first line of the answer to any bytes."""
        host, port = URL(self.origin).host, URL(self.origin).port
        reader, writer = await asyncio.open_connection(host, port)
        writer.write(request)
        answer = await reader.readline()
        writer.close()
        return answer


@dataclass
class Window:
    """A websocket as a page opens it."""

    socket: ClientWebSocketResponse
    server: int
    others: frozenset[int]

    async def screen(self) -> int:
        """The process behind it, once it draws."""
        await self.read_until(b"Timeline")
        (screen,) = children(self.server) - self.others
        return screen

    async def send(self, *frame: object) -> None:
        await self.socket.send_str(json.dumps(frame))

    async def read_until(self, words: bytes) -> bytes:
        drawn = b""
        while words not in drawn:
            message = await self.received()
            assert message.type in {WSMsgType.BINARY, WSMsgType.TEXT}, (message, drawn[-500:])
            drawn += message.data if message.type is WSMsgType.BINARY else message.data.encode()
        return drawn

    async def received(self) -> WSMessage:
        while True:
            message = await self.socket.receive(PATIENCE)
            if message.type is not WSMsgType.PING:
                return message
            with suppress(ClientConnectionResetError):
                await self.socket.pong(message.data)

    async def farewell(self) -> tuple[int | None, str]:
        while True:
            message = await self.received()
            if message.type is WSMsgType.CLOSE:
                return message.data, message.extra
            assert message.type in {WSMsgType.BINARY, WSMsgType.TEXT}, message


@asynccontextmanager
async def serving(*options: str) -> AsyncIterator[Server]:
    with TemporaryFile() as said:
        process = await asyncio.create_subprocess_exec(
            *COMMAND, "serve", *options, str(SAMPLE), env=environment(), stdout=PIPE, stderr=said
        )
        assert process.stdout is not None
        address = (await process.stdout.readline()).decode().strip()
        origin = address.partition("/?")[0]
        async with ClientSession(cookie_jar=CookieJar(unsafe=True)) as client:
            async with client.get(address) as page:
                assert page.status == 200
            try:
                yield Server(process, origin, client)
            finally:
                if process.returncode is None:
                    process.terminate()
                await process.wait()
        said.seek(0)
        assert b"Traceback" not in said.read()
        assert await process.stdout.read() == b""


def children(parent: int) -> frozenset[int]:
    """Processes that another one has started and that are not gone."""
    listed = subprocess.run(["ps", "-A", "-o", "pid=,ppid=,stat="], capture_output=True, text=True, check=True).stdout
    rows = [line.split() for line in listed.splitlines()]
    return frozenset(int(row[0]) for row in rows if int(row[1]) == parent and not row[2].startswith("Z"))


def is_gone(process: int) -> bool:
    state = subprocess.run(
        ["ps", "-o", "stat=", "-p", str(process)], capture_output=True, text=True, check=False
    ).stdout.strip()
    return not state or state.startswith("Z")


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not holds():
            await asyncio.sleep(0.1)


def most_megabytes(process: int) -> int:
    """The most memory a process has had; 0 for one that has ended."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return next((int(line.split()[1]) for line in lines if line.startswith("VmHWM")), 0) // 1024


async def flood(window: Window, screen: int) -> int:
    """Press keys as fast as they are taken in; the most memory the screen has had, in megabytes."""
    most = 0
    with suppress(ConnectionError):
        while not window.socket.closed:
            for _ in range(100):
                await window.send("stdin", "j" * 1_000)
            await asyncio.sleep(0)  # to send alone would leave no time to receive
            if sys.platform == "linux":
                with suppress(OSError):  # it is gone
                    most = max(most, most_megabytes(screen))
    return most


async def test_two_servers_on_one_host_admit_the_same_browser() -> None:
    async with serving() as first, serving() as second:
        cookies = CookieJar(unsafe=True)
        for server in (first, second):
            for cookie in server.client.cookie_jar:
                at = URL(server.origin)
                assert cookie.key == f"inspector-{at.port}"
                assert (cookie["httponly"], cookie["samesite"], cookie["path"]) == (True, "Strict", f"{at.path}/")
                assert len(at.path) > 10
                cookies.update_cookies(SimpleCookie({cookie.key: cookie}), at)
        async with ClientSession(cookie_jar=cookies) as browser:
            for server in (first, second):
                async with browser.get(f"{server.origin}/") as page:
                    assert page.status == 200
                # Another server on the host receives neither of the cookies, on any port.
                assert not cookies.filter_cookies(URL(server.origin).origin())
                assert len(cookies.filter_cookies(URL(f"{server.origin}/"))) == 1
                async with browser.get(URL(server.origin).origin()) as page:
                    assert page.status == 403


@pytest.mark.parametrize("how", ["SIGKILL", "SIGHUP", "SIGTERM"])
async def test_screens_end_with_their_server_and_note_no_failure(how: str, private_home: Path) -> None:
    async with serving() as server, server.window() as window:
        screen = await window.screen()
        server.process.send_signal(signal.Signals[how])
        if how != "SIGKILL":
            assert await window.farewell() == (WSCloseCode.GOING_AWAY, "inspector serve was stopped.")
        await until(lambda: is_gone(screen))
        assert await server.process.wait() == (-signal.SIGKILL if how == "SIGKILL" else 0)
        assert not list(private_home.rglob(LOG_NAME))


async def test_a_screen_that_does_not_react_ends_with_its_window() -> None:
    async with serving() as server:
        async with server.window() as window:
            screen = await window.screen()
            os.kill(screen, signal.SIGSTOP)
        await until(lambda: is_gone(screen))


@pytest.mark.long
async def test_a_screen_ends_with_a_client_that_takes_nothing_in_and_answers_nothing() -> None:
    async with serving() as server, server.window(autoping=False) as window:
        screen = await window.screen()
        await window.send("resize", {"width": MOST_COLUMNS, "height": MOST_ROWS})
        await until(lambda: is_gone(screen))


async def test_what_no_page_sends_changes_nothing() -> None:
    async with serving() as server, server.window() as window:
        screen = await window.screen()
        for frame in NO_PAGE_SENDS:
            await window.socket.send_str(frame)
        await window.socket.send_bytes(b'["stdin", "q"]')
        await window.socket.ping()
        await window.send("stdin", "\x1b[200~pasted and never ended")
        await window.send("stdin", "\x1b[48;100000;100000;1;1t")
        await window.send("resize", {"width": 100_000, "height": 100_000})
        await window.send("resize", {"width": 1, "height": 1})
        await window.send("resize", {"width": 120, "height": 36})
        await window.send("focus")
        await window.send("stdin", "?")
        await window.read_until(b"Help")
        assert not is_gone(screen)
        if sys.platform == "linux":
            assert most_megabytes(screen) < MOST_MEGABYTES
        async with server.client.get(f"{server.origin}/ws") as answer:
            assert answer.status == 400
        async with server.client.get(f"{server.origin}/download/none") as answer:
            assert answer.status == 404
        host = URL(server.origin).authority.encode()
        odd_cookie = (
            b"GET / HTTP/1.1\r\nHost: " + host + b"\r\nCookie: inspector-" + host.rpartition(b":")[2] + b"=\xff\r\n\r\n"
        )
        assert b"403" in await server.answer_to(odd_cookie)
        assert b"400" in await server.answer_to(b"GET / HTTP/1.1\r\nno header\r\n\r\n")
        assert b"400" in await server.answer_to(b"GET / HTTP/1.1\r\nlong: " + b"x" * 100_000 + b"\r\n\r\n")


async def test_a_window_is_reported_that_too_much_was_sent_at_once_or_that_its_screen_failed() -> None:
    async with serving() as server:
        async with server.window() as window:
            screen = await window.screen()
            await window.send("stdin", "x" * MOST_SENT)
            code, _ = await window.farewell()
            assert code == WSCloseCode.MESSAGE_TOO_BIG
            await until(lambda: is_gone(screen))
        async with server.window() as window:
            os.kill(await window.screen(), signal.SIGKILL)
            code, reason = await window.farewell()
        assert code == WSCloseCode.INTERNAL_ERROR
        assert "failed" in reason


SLOW_TO_END = """
import json, signal, sys, time
said = json.dumps({"type": "exit"}).encode()
sys.stdout.buffer.write(b"__GANGLION__\\nM" + len(said).to_bytes(4, "big") + said)
sys.stdout.flush()
signal.pause()
"""


async def test_a_screen_that_is_slow_to_end_once_it_was_left_has_not_failed() -> None:
    window = cast("WebSocketResponse", mock.AsyncMock())
    screen = ScreenProcess(shlex.join([sys.executable, "-c", SLOW_TO_END]), window, Downloads())
    await screen.start(80, 24)
    async with asyncio.timeout(PATIENCE):
        await screen.left()
        await screen.stop()
    assert not screen.has_failed


async def test_a_flood_of_keys_takes_little_memory_and_closes_the_window() -> None:
    async with serving() as server, server.window() as window:
        screen = await window.screen()
        flooding = asyncio.create_task(flood(window, screen))
        code, reason = await window.farewell()
        most = await flooding
        assert code == WSCloseCode.POLICY_VIOLATION
        assert "more input than it could process" in reason
        assert most < MOST_MEGABYTES
        await until(lambda: is_gone(screen))


async def fetch(server: Server, key: str) -> tuple[int, bytes]:
    """Status and body of a file that a screen offered."""
    async with server.client.get(f"{server.origin}/download/{key}") as answer:
        return answer.status, await answer.read()


async def test_of_files_that_are_not_fetched_few_are_kept_and_each_is_fetched_once() -> None:
    async with serving() as server, server.window() as window:
        await window.screen()
        offered = []
        for _ in range(MOST_DELIVERIES + 1):
            await window.send("stdin", "w")
            await window.send("stdin", "p")
            await window.read_until(b"Save a picture")
            await window.send("stdin", "\r")
            told = await window.read_until(b"deliver_file_start")
            offered.append(json.loads(told[told.rindex(b"[") :])[1])

        status, told = await fetch(server, offered[0])
        assert (status, b"save it again" in told) == (404, True)
        twice = await asyncio.gather(fetch(server, offered[1]), fetch(server, offered[1]))
        assert sorted((status, text.count(b"</svg>")) for status, text in twice) == [(200, 1), (404, 0)]


@pytest.mark.long
async def test_a_file_whose_screen_is_held_up_comes_whole_once_it_goes_on_or_not_at_all() -> None:
    async with serving() as server, server.window() as window:
        screen = await window.screen()
        for kept in (True, False):
            await window.send("stdin", "w")
            await window.send("stdin", "p")
            await window.read_until(b"Save a picture")
            await window.send("stdin", "\r")
            told = await window.read_until(b"deliver_file_start")
            key = json.loads(told[told.rindex(b"[") :])[1]
            os.kill(screen, signal.SIGSTOP)
            fetching = asyncio.create_task(fetch(server, key))
            if kept:
                with suppress(TimeoutError):  # who reads nothing answers no pings, and is taken for gone
                    async with asyncio.timeout(SECONDS_A_LIBRARY_WAITS):
                        await window.farewell()
                os.kill(screen, signal.SIGCONT)
                status, picture = await fetching
                assert (status, picture.count(b"</svg>")) == (200, 1)
            else:
                os.kill(screen, signal.SIGKILL)
                status, _ = await fetching
                assert status == 404


@pytest.mark.long
async def test_there_are_no_more_screens_than_asked_for() -> None:
    async with serving("--screens", "1") as server:
        async with server.window() as window:
            screen = await window.screen()
            async with server.window() as second:
                code, reason = await second.farewell()
                assert code == WSCloseCode.TRY_AGAIN_LATER
                assert "1 screen is open" in reason
            assert not is_gone(screen)
        async with server.window() as third:
            assert await third.screen() != screen


def test_a_number_of_screens_that_is_none_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    for odd in ("0", "-1", "many", "1001"):
        assert main(["serve", str(SAMPLE), f"--screens={odd}"]) == ExitCode.WRONG_USAGE
        assert "use 1 to 1,000" in capsys.readouterr().err


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | st.text(), st.lists, max_leaves=5))
def test_whatever_is_sent_is_understood_or_refused(sent: object) -> None:
    sent_by_page(json.dumps(sent))
    sent_by_page(json.dumps(["stdin", sent]))
    sent_by_page(json.dumps(["resize", {"width": sent, "height": sent}]))


def test_what_pages_send_is_understood() -> None:
    assert sent_by_page('["stdin", "\\u001b[A"]') == TerminalInput("\x1b[A")
    assert sent_by_page('["focus"]') == Focused()
    resized = sent_by_page('["resize", {"width": 2000, "height": 9}]')
    assert isinstance(resized, Resized)
    assert resized.size.drawn() == (MOST_COLUMNS, 9)
    assert size_in_address({"width": "132", "height": "43"}) == TerminalSize(132, 43)
    for odd in ({}, {"width": "-1"}, {"height": "x"}, {"width": "9" * 5_000}):
        assert size_in_address(odd) == TerminalSize(80, 24)


def test_what_no_page_sends_is_refused() -> None:
    assert [frame for frame in NO_PAGE_SENDS if sent_by_page(frame) is not None] == []
