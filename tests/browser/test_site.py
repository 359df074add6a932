"""The site of documentation in a real browser: built with every link checked, nothing asked for elsewhere, searched."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

import pytest

from tests.browser.conftest import visiting
from tests.conftest import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser

pytestmark = pytest.mark.long

pytest.importorskip("mkdocs")

PAGES = ("index", "start", "strategies", "strategies/insertion", "readme")

DESKTOP = {"width": 1280, "height": 800}
PHONE = {"width": 390, "height": 844}


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Suppress the request log."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the site, as it is built by one command."""
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", folder],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=folder)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pages_say_nothing_to_the_console_and_ask_for_nothing_outside(
    chromium: Browser, site: str, size: dict[str, int], scheme: str
) -> None:
    with visiting(chromium, f"{site}/index.html", viewport=size, color_scheme=scheme) as visit:
        for name in PAGES:
            visit.page.goto(f"{site}/{name}.html")
            visit.settle()
            assert visit.page.locator("h1").count() >= 1
            wide = visit.page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
            assert wide <= 0, f"{name} is wider than the window"
        assert [said for said in visit.said if said.startswith(("error", "warning"))] == []
        assert [url for url in visit.requests if not url.startswith((site, "data:", "blob:"))] == []
        background = visit.page.evaluate("getComputedStyle(document.body).backgroundColor")
        lightest = max(int(part) for part in background.removeprefix("rgb(").rstrip(")").split(",")[:3])
        assert (lightest > 128) == (scheme == "light")


def test_a_word_is_found(chromium: Browser, site: str) -> None:
    with visiting(chromium, f"{site}/index.html", viewport=DESKTOP) as visit:
        visit.page.keyboard.press("/")
        visit.page.locator("input.md-search__input").press_sequentially("dedupe-reads")
        found = visit.page.locator(".md-search-result__link").first
        found.wait_for()
        assert "strategies" in (found.get_attribute("href") or "")
