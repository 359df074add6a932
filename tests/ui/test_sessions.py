"""Session list on the screen: its rows while sessions are found and read, and its keys."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from inspector.report.session_summary import SessionSummary
from inspector.session.discovery import Header
from tests.session.growing import GROWING
from tests.ui.recordings import recording, this_hour
from tests.ui.studies import SessionList

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def found(folder: Path, count: int) -> tuple[Header, ...]:
    """Sessions, each newer than the one before."""
    return tuple(Header(folder / f"{number}.jsonl", "pi", 5, 100.0 + number) for number in range(count))


async def test_the_newest_session_stays_under_the_cursor_until_somebody_moves_it(
    running, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("inspector.ui.sessions.finder.SessionFinder.run", lambda *_: None)
    headers = found(tmp_path, 8)
    async with running((), folders=[tmp_path], size=(100, 30), listing=True) as run:
        sessions = SessionList(run)
        await sessions.find(headers[:3], is_complete=False)
        await sessions.find(headers[:6], is_complete=False)
        assert sessions.cursor == (0, "5.jsonl")
        await run.tap("down")
        await sessions.find(headers, is_complete=True)
        assert sessions.cursor == (3, "4.jsonl")


async def test_what_was_read_is_stated_in_its_line_and_found_by_the_filter(
    running, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("inspector.ui.sessions.finder.SessionFinder.run", lambda *_: None)
    async with running((), folders=[tmp_path], size=(100, 30), listing=True) as run:
        headers, sessions = found(tmp_path, 4), SessionList(run)
        await sessions.find(headers, is_complete=True)
        await sessions.read(
            SessionSummary(headers[1].path, "pi", title="A [bold]fence\x1b[31m", model="m-1"),
            SessionSummary(headers[0].path, "pi", problem="it is locked"),
        )
        await run.until_shown("A [bold]fence␛[31m")
        await run.until_shown("unreadable")
        await run.until_shown("2 read so far")
        await run.tap(*"fence")
        await run.until_shown("1 of 4 sessions shown")
        await run.tap(*"zzz")
        await run.until_shown("none of 4 sessions matches")
        await run.tap("escape")
        await run.until_shown("4 of 4 sessions shown")


async def test_the_list_follows_its_folder_while_it_is_open(
    running, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("inspector.ui.sessions.finder.SECONDS_BETWEEN_LOOKS", 0.05)
    codex, folder = GROWING["codex"], tmp_path / "sessions"
    folder.mkdir()
    async with running((), folders=[folder], size=(240, 30), listing=True) as run:
        await run.until_shown("To try it without an agent: inspector demo")
        assert "No sessions found in the folders named · ctrl+o shows the searched folders" in run.text()
        assert "Or open a file: inspector FILE" in run.text()
        await run.tap("ctrl+o")
        # A long path is below its state, not next to it.
        await run.until(lambda: str(folder) in run.text() and "exists" in run.text())
        await run.tap("escape")
        codex.write(tmp_path / "rollout.jsonl", 2)
        written = re.sub(r"\d{4}-\d\d-\d\dT\d\d", this_hour(), (tmp_path / "rollout.jsonl").read_text(encoding="utf-8"))
        (folder / "rollout-1.jsonl").write_text(written, encoding="utf-8")
        await run.until_shown("1 of 1 session shown")
        assert "●" in run.text(), "it is being written"
        codex.write(folder / "rollout-2.jsonl", 2)
        os.utime(folder / "rollout-2.jsonl", (1_700_000_000, 1_700_000_000))
        await run.until_shown("2 of 2 sessions shown")
        (folder / "rollout-1.jsonl").unlink()
        await run.until_shown("1 of 1 session shown")
        assert "●" not in run.text()
        (folder / "rollout-2.jsonl").unlink()
        folder.rmdir()
        await run.until_shown("No sessions found")


async def test_a_folder_that_cannot_be_listed_is_shown_to_be_so(
    running, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scan = os.scandir

    def refused(folder: Path | str) -> object:
        if os.fspath(folder) == str(tmp_path):
            raise PermissionError(13, "Permission denied")
        return scan(folder)

    monkeypatch.setattr(os, "scandir", refused)
    async with running((), folders=[tmp_path], size=(160, 30), listing=True) as run:
        await run.until_shown("permission denied")


async def test_the_list_is_sorted_by_cost_with_a_key_or_a_click_and_by_age_again(
    running, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("inspector.ui.sessions.finder.SessionFinder.run", lambda *_: None)
    async with running((), folders=[tmp_path], size=(100, 30), listing=True) as run:
        headers, sessions = found(tmp_path, 3), SessionList(run)
        await sessions.find(headers, is_complete=True)
        await sessions.read(SessionSummary(headers[0].path, "pi", usd=2.0))
        assert sessions.cursor == (0, "2.jsonl")
        await run.tap("ctrl+s")
        await run.until_shown("▾cost")
        assert sessions.cursor == (0, "0.jsonl")
        await sessions.read(SessionSummary(headers[1].path, "pi", usd=3.0))
        assert sessions.cursor == (1, "0.jsonl")
        await run.click("age")
        assert sessions.cursor == (0, "2.jsonl")
        await run.click("cost", after="session")
        assert sessions.cursor == (0, "1.jsonl")


async def test_a_binary_file_named_like_a_session_is_listed_with_what_is_wrong(running, tmp_path: Path) -> None:
    folder = tmp_path / "sessions"
    folder.mkdir()
    (folder / "damaged.jsonl").write_bytes(b"\x00\x01\x02" * 200)
    (folder / "rollout-2026-01-01T00-00-00-damaged.jsonl").write_bytes(b"\x00\x01\x02" * 200)
    async with running((), folders=[folder], size=(80, 24), listing=True) as run:
        await run.until_shown("2 of 2 sessions shown")
        await run.until(lambda: run.text().count("unreadable") == 2)
        await run.until_shown("an unknown binary file")


async def test_more_sessions_than_there_are_usual_threads_are_all_followed_and_replayed(running, tmp_path) -> None:
    usual = min(32, (os.cpu_count() or 1) + 4)
    made = [recording(tmp_path / f"{number}.jsonl", turns=2) for number in range(usual + 2)]
    async with running(made[0].path) as run:
        for each in made[1:]:
            run.open_in_tab(each.path)
            await run.pause()
        assert run.tab_count == len(made)
        await run.until(lambda: run.has_replay and not run.is_counting)
        calls = run.history.call_count
        made[-1].turn()
        await run.until(lambda: run.history.call_count > calls)


async def test_a_tab_has_the_name_of_its_session_as_soon_as_that_is_known(
    running, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = [recording(tmp_path / f"{number}.jsonl").path for number in range(2)]
    monkeypatch.setattr("inspector.ui.app.InspectorApp.set_interval", lambda *_, **__: None)
    async with running(paths, size=(120, 30)) as run:
        await run.until(lambda: run.lines()[0].count("Find out why") == 2)


async def test_a_tab_shows_that_its_session_is_being_written_as_soon_as_that_is_known(
    running, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = [recording(tmp_path / f"{number}.jsonl") for number in range(2)]
    for each in made:
        os.utime(each.path, (1e9, 1e9))
    monkeypatch.setattr("inspector.ui.app.InspectorApp.set_interval", lambda *_, **__: None)
    async with running([each.path for each in made], size=(120, 30)) as run:
        await run.until(lambda: run.lines()[0].count("Find out why") == 2)
        assert "●" not in run.lines()[0]
        made[1].turn()
        await run.until(lambda: "●" in run.lines()[0])


async def test_its_keys_are_explained_on_a_key_that_is_no_letter_of_the_filter(running, tmp_path: Path) -> None:
    async with running((), folders=[tmp_path], size=(80, 24), listing=True) as run:
        await run.until_shown("f1 help · esc back")
        await run.tap("?")
        assert run.on_top == "sessions"
        await run.tap("f1")
        await run.until(lambda: run.on_top == "help")
        await run.until_shown("Show the searched folders")
        await run.tap("escape")
        await run.until(lambda: run.on_top == "sessions")
