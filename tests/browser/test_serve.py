"""The screen in a real browser, served by the program as its users start it."""

from __future__ import annotations

import re
import subprocess
import sys
import time
import urllib.error
import urllib.request
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

import pyte
import pytest

from inspector.cli import main
from tests.browser.conftest import visiting
from tests.conftest import ROOT
from tests.program import COMMAND, environment

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from playwright.sync_api import Browser, Page, WebSocket

pytestmark = pytest.mark.long

SAMPLE = ROOT / "sample_sessions/coding-agent.jsonl"
DESK = {"width": 1280, "height": 800}
PATIENCE = 120.0
"""Seconds until a screen that does not come is given up."""


@contextmanager
def served(*options: str) -> Iterator[str]:
    command = [*COMMAND, "serve", *options, str(SAMPLE)]
    with subprocess.Popen(
        command, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as program:
        assert program.stdout is not None
        try:
            yield program.stdout.readline().strip()
        finally:
            program.terminate()
            assert program.wait(PATIENCE) == 0


@pytest.fixture
def address() -> Iterator[str]:
    with served() as address:
        yield address


@dataclass
class Terminal:
    screen: pyte.Screen | None = None
    stream: pyte.ByteStream | None = None
    sockets: list[str] = field(default_factory=list)

    def opened(self, socket: WebSocket) -> None:
        self.sockets.append(socket.url)
        size = parse_qs(urlsplit(socket.url).query)
        self.screen = pyte.Screen(int(size["width"][0]), int(size["height"][0]))
        self.stream = pyte.ByteStream(self.screen)
        socket.on("framereceived", self.feed)

    def feed(self, frame: bytes | str) -> None:
        if isinstance(frame, bytes) and self.stream is not None:
            # pyte supports few of the mode report and query sequences.
            self.stream.feed(re.sub(rb"\x1b\[[<>=?][0-9;]*[a-zA-Z$]+", b"", frame))

    def text(self) -> str:
        return "" if self.screen is None else "\n".join(self.screen.display)


@contextmanager
def opened(chromium: Browser, address: str) -> Iterator[tuple[Page, Terminal, list[str], list[str]]]:
    terminal = Terminal()
    with visiting(
        chromium, "about:blank", viewport=DESK, accept_downloads=True, permissions=["clipboard-read", "clipboard-write"]
    ) as visit:
        visit.page.on("websocket", terminal.opened)
        visit.page.goto(address)
        yield visit.page, terminal, visit.requests, visit.said


def until(page: Page, holds: Callable[[], object]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not holds() and time.monotonic() < deadline:
        page.wait_for_timeout(50)
    assert holds(), f"the page says: {page.locator('body').inner_text()}"


def until_it_takes_keys(page: Page, terminal: Terminal) -> None:
    """Wait until the screen is shown and the page gives its keys to it, which is a little later."""
    until(page, lambda: "Billing audit for March 2024" in terminal.text())
    page.wait_for_function("document.activeElement?.matches('.xterm-helper-textarea')", timeout=PATIENCE * 1000)


def cost_with_plan(text: str) -> str | None:
    found = re.search(r"with plan \w+ ~?(\$[0-9.]+)", text)
    return found[1] if found else None


def test_the_screen_is_shown_with_its_bars_and_a_strategy_switched_on_changes_a_figure(chromium: Browser, address: str):
    origin = "{0.scheme}://{0.netloc}".format(urlsplit(address))
    with opened(chromium, address) as (page, terminal, requests, said):
        until_it_takes_keys(page, terminal)
        until(page, lambda: "█" in terminal.text())
        before = terminal.text()
        assert cost_with_plan(before) is None
        page.keyboard.press("1")
        until(page, lambda: cost_with_plan(terminal.text()))
        assert page.locator("canvas").count() > 0

        for asked in requests:
            assert asked.startswith((f"{origin}/", "about:", "data:")), asked
        for socket in terminal.sockets:
            assert socket.startswith(origin.replace("http", "ws")), socket
        # How far a slow machine was behind is no fault of the page.
        assert not [line for line in said if not line.startswith(("log:", "warning: task queue exceeded"))]


def test_a_picture_is_saved_by_the_browser(chromium: Browser, address: str, private_home: Path, tmp_path: Path):
    with opened(chromium, address) as (page, terminal, _, _):
        until_it_takes_keys(page, terminal)
        page.keyboard.press("w")
        page.keyboard.press("p")
        until(page, lambda: "Save a picture" in terminal.text())
        with page.expect_download() as download:
            page.keyboard.press("Enter")
        target = tmp_path / download.value.suggested_filename
        download.value.save_as(target)

        assert target.suffix == ".svg"
        assert "Billing" in target.read_text(encoding="utf-8")
        assert not list(private_home.rglob("*.svg"))


def test_what_is_copied_is_in_the_clipboard_of_the_browser(chromium: Browser, address: str):
    with opened(chromium, address) as (page, terminal, _, _):
        until_it_takes_keys(page, terminal)
        page.keyboard.press("1")
        until(page, lambda: cost_with_plan(terminal.text()))
        page.keyboard.press("w")
        page.keyboard.press("e")
        until(page, lambda: "compact(messages, PLAN)" in terminal.text())
        page.keyboard.press("y")
        # For a moment the status line shows only the copy confirmation.
        until(page, lambda: page.evaluate("navigator.clipboard.readText()").startswith("from inspector import Plan"))


def test_a_window_beyond_the_last_says_so_and_one_that_is_loaded_again_is_none(chromium: Browser):
    with served("--screens", "1") as address, opened(chromium, address) as (page, terminal, _, _):
        until(page, lambda: "Billing audit for March 2024" in terminal.text())
        second = page.context.new_page()
        second.goto(page.url)
        second.get_by_text("1 screen is open, which is the limit").wait_for(timeout=PATIENCE * 1000)
        page.bring_to_front()  # a browser rarely paints a window behind another one, so nothing becomes visible
        page.reload()
        until(page, lambda: len(terminal.sockets) == 2)
        until_it_takes_keys(page, terminal)
        ended = page.get_by_text("The screen was closed.")

        def has_ended() -> bool:
            # A page that is just loaded again may be shown a moment before its keys are sent.
            page.keyboard.press("q")
            page.wait_for_timeout(1000)
            return ended.is_visible()

        until(page, has_ended)


def test_the_address_works_once_and_nothing_is_shown_without_it(address: str):
    parts = urlsplit(address)
    origin = f"{parts.scheme}://{parts.netloc}"

    def status(url: str, **headers: str) -> int:
        opener = urllib.request.build_opener(_Unfollowed)
        try:
            return opener.open(urllib.request.Request(url, headers=headers), timeout=PATIENCE).status  # noqa: S310  the address is this machine's
        except urllib.error.HTTPError as error:
            return error.code

    assert parts.hostname == "127.0.0.1"
    assert status(origin) == 403
    for home in (origin, f"{origin}{parts.path.removesuffix('/')}"):
        assert status(f"{home}/static/js/textual.js") == 403
        assert status(f"{home}/ws") == 403
    assert status(f"{address}x") == 403
    assert status(address, Host="rebound.example:80") == 403
    assert status(address) == 303
    assert status(address) == 403


def test_what_no_browser_could_open_is_refused(capsys):
    assert main(["serve", str(SAMPLE), "--host", "0.0.0.0"]) == 2  # noqa: S104  refused
    assert "use one that reaches" in capsys.readouterr().err


def test_without_what_serves_it_is_stated_how_to_install_it(monkeypatch: pytest.MonkeyPatch, capsys):
    monkeypatch.setitem(sys.modules, "inspector.cli.serve.server", None)

    assert main(["serve", str(SAMPLE)]) == 1
    assert "pip install 'session-inspector[serve]'" in capsys.readouterr().err


def test_a_session_that_is_not_there_is_reported_before_anything_is_served(capsys):
    assert main(["serve", "nowhere.jsonl"]) == 1
    assert "nowhere.jsonl" in capsys.readouterr().err


class _Unfollowed(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: object) -> None:
        return None
