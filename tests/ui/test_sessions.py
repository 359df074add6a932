"""The list of sessions on the screen: what stands where while sessions are found and read, and what keys do."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from inspector.report.session_summary import SessionSummary
from inspector.session.discovery import Header
from inspector.ui.app import InspectorApp
from inspector.ui.sessions.list_widget import SessionList
from inspector.ui.sessions.screen import SessionsScreen
from inspector.ui.settings import Settings
from tests.session.growing import GROWING

if TYPE_CHECKING:
    from pathlib import Path

    import pytest
    from textual.pilot import Pilot


def text(app: InspectorApp) -> str:
    return "\n".join(strip.text for strip in app.screen._compositor.render_strips())


async def until(pilot: Pilot[None], words: str) -> None:
    for _ in range(400):
        if words in text(pilot.app):
            return
        await pilot.pause(0.02)
    raise AssertionError(f"{words!r} never came:\n{text(pilot.app)}")


def found(folder: Path, count: int) -> tuple[Header, ...]:
    """Sessions, each newer than the one before."""
    return tuple(Header(folder / f"{number}.jsonl", "pi", 5, 100.0 + number) for number in range(count))


async def test_the_newest_session_stays_under_the_cursor_until_somebody_moves_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("inspector.ui.sessions.finding.SessionFinder.run", lambda *_: None)
    headers = found(tmp_path, 8)
    app = InspectorApp((), settings=Settings(), folders=[tmp_path])
    async with app.run_test(size=(100, 30)) as pilot:
        screen = app.screen
        shown = screen.query_one(SessionList)
        screen.post_message(SessionsScreen.Listed(headers[:3], is_complete=False))
        await pilot.pause()
        screen.post_message(SessionsScreen.Listed(headers[:6], is_complete=False))
        await pilot.pause()
        assert (shown.cursor, shown.line.entry.header.path.name) == (0, "5.jsonl")
        await pilot.press("down")
        screen.post_message(SessionsScreen.Listed(headers, is_complete=True))
        await pilot.pause()
        assert (shown.cursor, shown.line.entry.header.path.name) == (3, "4.jsonl")


async def test_what_was_read_is_said_in_its_line_and_found_by_the_filter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("inspector.ui.sessions.finding.SessionFinder.run", lambda *_: None)
    app = InspectorApp((), settings=Settings(), folders=[tmp_path])
    async with app.run_test(size=(100, 30)) as pilot:
        headers = found(tmp_path, 4)
        app.screen.post_message(SessionsScreen.Listed(headers, is_complete=True))
        told = (
            SessionSummary(headers[1].path, "pi", title="A [bold]fence\x1b[31m", model="m-1"),
            SessionSummary(headers[0].path, "pi", problem="it is locked"),
        )
        app.screen.post_message(SessionsScreen.WasRead(told))
        await until(pilot, "A [bold]fence␛[31m")
        await until(pilot, "unreadable")
        await until(pilot, "2 read so far")
        await pilot.press(*"fence")
        await until(pilot, "1 shown of 4 sessions")
        await pilot.press(*"zzz")
        await until(pilot, "nothing among 4 sessions matches")
        await pilot.press("escape")
        await until(pilot, "4 shown of 4 sessions")


async def test_the_list_follows_its_folder_while_it_is_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("inspector.ui.sessions.finding.SECONDS_BETWEEN_LOOKS", 0.05)
    codex, folder = GROWING["codex"], tmp_path / "sessions"
    folder.mkdir()
    app = InspectorApp((), settings=Settings(), folders=[folder])
    async with app.run_test(size=(120, 30)) as pilot:
        await until(pilot, "No sessions found")
        codex.write(folder / "rollout-1.jsonl", 2)
        await until(pilot, "1 shown of 1 session")
        assert "●" in text(app), "it is being written"
        codex.write(folder / "rollout-2.jsonl", 2)
        os.utime(folder / "rollout-2.jsonl", (1_700_000_000, 1_700_000_000))
        await until(pilot, "2 shown of 2 sessions")
        (folder / "rollout-1.jsonl").unlink()
        await until(pilot, "1 shown of 1 session")
        assert "●" not in text(app)
        (folder / "rollout-2.jsonl").unlink()
        folder.rmdir()
        await until(pilot, "No sessions found")


async def test_a_folder_that_cannot_be_listed_is_said_to_be_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scan = os.scandir

    def refused(folder: Path | str) -> object:
        if os.fspath(folder) == str(tmp_path):
            raise PermissionError(13, "Permission denied")
        return scan(folder)

    monkeypatch.setattr(os, "scandir", refused)
    app = InspectorApp((), settings=Settings(), folders=[tmp_path])
    async with app.run_test(size=(160, 30)) as pilot:
        await until(pilot, "no permission to read it")
