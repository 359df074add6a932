"""`w b` opens a saved page; without a visible browser its path is shown and copied."""

import os
import subprocess
import sys
import webbrowser
from pathlib import Path

import pytest

from inspector.ui import saved_page
from inspector.ui.saved_page import open_in_browser, why_not_shown

REMOTE = ("SSH_CONNECTION", "SSH_TTY", "SSH_CLIENT", "DISPLAY", "WAYLAND_DISPLAY", "BROWSER")


@pytest.fixture
def desk(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in REMOTE:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("DISPLAY", ":0")


class Started:
    def __init__(self, monkeypatch: pytest.MonkeyPatch, code: int | None = 0) -> None:
        self.commands: list[list[str]] = []
        self.options: dict[str, object] = {}
        self._code = code
        monkeypatch.setattr(webbrowser, "get", lambda: webbrowser.BackgroundBrowser("xdg-open"))
        monkeypatch.setattr(subprocess, "Popen", self._start)

    def _start(self, command: list[str], **options: object) -> "Started":
        self.commands.append(command)
        self.options = options
        return self

    def wait(self, timeout: float) -> int:
        if self._code is None:
            raise subprocess.TimeoutExpired("browser", timeout)
        return self._code


@pytest.mark.parametrize(
    ("environment", "platform", "reason"),
    [
        ({"DISPLAY": ":0"}, "linux", ""),
        ({"WAYLAND_DISPLAY": "wayland-0"}, "linux", ""),
        ({}, "linux", "cannot open a browser without a display"),
        ({}, "darwin", ""),
        ({"SSH_TTY": "/dev/pts/1", "DISPLAY": "localhost:10.0"}, "linux", "cannot open a browser over SSH"),
        ({"SSH_CONNECTION": "10.0.0.1 1 10.0.0.2 22"}, "darwin", "cannot open a browser over SSH"),
    ],
)
def test_a_browser_is_opened_only_where_it_would_be_seen(
    environment: dict[str, str], platform: str, reason: str
) -> None:
    assert why_not_shown(environment, platform) == reason


@pytest.mark.usefixtures("desk")
def test_a_page_is_opened_as_a_file_without_the_terminal(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    started = Started(monkeypatch)
    page = tmp_path / "a page #1?.html"

    assert open_in_browser(page) == ""
    ((program, *_, address),) = started.commands
    assert program == sys.executable
    assert address == page.as_uri()
    assert address.startswith("file:///")
    assert "#" not in address
    assert {started.options[name] for name in ("stdin", "stdout", "stderr")} == {subprocess.DEVNULL}


@pytest.mark.usefixtures("desk")
@pytest.mark.parametrize(("code", "reason"), [(None, ""), (1, "cannot open the browser")])
def test_a_browser_that_stays_was_opened_and_one_that_fails_was_not(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, code: int | None, reason: str
) -> None:
    Started(monkeypatch, code)

    assert open_in_browser(tmp_path / "page.html") == reason


@pytest.mark.usefixtures("desk")
def test_a_browser_that_would_take_the_terminal_is_not_opened(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    started = Started(monkeypatch)
    monkeypatch.setattr(webbrowser, "get", lambda: webbrowser.GenericBrowser("/usr/bin/lynx"))

    assert open_in_browser(tmp_path / "page.html") == "the only browser found runs in a terminal"
    assert not started.commands


@pytest.mark.usefixtures("desk")
def test_the_address_reaches_a_browser_the_user_names_whatever_is_in_the_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    seen = tmp_path / "seen"
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\necho "$1" > "{seen}"\n')
    browser.chmod(0o755)
    (tmp_path / "webbrowser.py").write_text("raise SystemExit(3)\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BROWSER", f"{browser} %s")
    monkeypatch.setattr(webbrowser, "_tryorder", None)
    page = tmp_path / "page.html"

    assert open_in_browser(page) == ""
    assert seen.read_text().strip() == page.as_uri()


async def _save(run, target: Path) -> None:
    await run.tap("w", "w")
    await run.until_open("report")
    run.line = str(target)
    await run.tap("enter")
    await run.until(target.exists)
    await run.until_shown("report saved")


@pytest.mark.usefixtures("desk")
async def test_the_message_names_the_key_and_the_key_opens_the_page(
    running, session_file, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[Path] = []
    monkeypatch.setattr("inspector.ui.reports.open_in_browser", lambda page: opened.append(page) or "")
    async with running(session_file.path) as run:
        await run.tap("w", "b")
        await run.until_shown("no saved page yet: w w saves one")
        await _save(run, tmp_path / "mine.html")
        await run.until_shown("report saved, w b opens it, in")
        await run.until(lambda: any(toast.endswith("mine.html\nw b opens it") for toast in run.toasts))
        await run.tap("w", "b")
        await run.until_shown("opened in the browser: mine.html")
        assert opened == [tmp_path / "mine.html"]
        (tmp_path / "mine.html").unlink()
        await run.tap("w", "b")
        await run.until_shown("no longer exists")
        assert len(opened) == 1


async def test_over_ssh_the_path_is_reported_and_copied(
    running, session_file, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSH_CONNECTION", "10.0.0.1 1 10.0.0.2 22")
    monkeypatch.setattr(saved_page.subprocess, "Popen", lambda *_, **__: pytest.fail("a browser was started"))
    async with running(session_file.path, size=(200, 40)) as run:
        await _save(run, tmp_path / "mine.html")
        await run.until_shown("report saved, w b copies the path, in")
        await run.tap("w", "b")
        await run.until_shown("cannot open a browser over SSH; copied, if the terminal allows it: ")
        assert run.clipboard == os.fspath(tmp_path / "mine.html")
