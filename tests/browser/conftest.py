"""Fixtures for the system's Chromium that record console messages and requests while a page is open."""

from __future__ import annotations

import os
from contextlib import contextmanager
from dataclasses import dataclass, field
from shutil import which
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, Page

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


@dataclass
class Visit:
    page: Page
    requests: list[str] = field(default_factory=list)
    said: list[str] = field(default_factory=list)
    dialogs: list[str] = field(default_factory=list)

    def settle(self) -> None:
        """Wait until nothing moves any more."""
        self.page.wait_for_load_state("networkidle")


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """The browser. It is closed with each file of tests: while it is open, no other event loop runs in the process."""
    program = os.environ.get("INSPECTOR_CHROMIUM") or next(filter(None, map(which, NAMES)), None)
    if program is None:
        pytest.skip("no Chromium here; install the package chromium, or say where one is in INSPECTOR_CHROMIUM")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        # As root, as in most containers, Chromium's own sandbox cannot be had.
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield browser
        browser.close()


@contextmanager
def visiting(browser: Browser, address: str, **options: Any) -> Iterator[Visit]:
    context = browser.new_context(**options)
    visit = Visit(context.new_page())
    visit.page.on("request", lambda request: visit.requests.append(request.url))
    visit.page.on("console", lambda message: visit.said.append(f"{message.type}: {message.text}"))
    visit.page.on("pageerror", lambda error: visit.said.append(f"error: {error}"))

    def dismiss(dialog: Any) -> None:
        visit.dialogs.append(dialog.message)
        dialog.dismiss()

    visit.page.on("dialog", dismiss)
    try:
        visit.page.goto(address)
        yield visit
    finally:
        context.close()
