"""Paths at which there is no session yet."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from inspector.cli.exit_codes import CommandError
from inspector.cli.resolve_paths import resolve_targets
from inspector.session.errors import SessionError
from inspector.session.follow import Update, follow, is_awaited, why_still_awaited
from tests.session.codex_lines import Rollout

if TYPE_CHECKING:
    from pathlib import Path


def rollout() -> Rollout:
    made = Rollout()
    made.header()
    made.prompt("go")
    return made


def test_a_session_is_awaited_until_there_is_one(tmp_path: Path) -> None:
    path = tmp_path / "later.jsonl"
    assert is_awaited(path)
    assert why_still_awaited(path) == "there is no such file yet"
    path.touch()
    assert is_awaited(path)
    assert why_still_awaited(path) == "the file is empty so far"
    path.write_bytes(rollout().encoded()[0][:30])
    assert why_still_awaited(path) == "what is there is no session so far"
    rollout().write(path)
    assert why_still_awaited(path) == ""
    assert not is_awaited(path)


def test_a_folder_is_awaited_until_a_session_is_in_it(tmp_path: Path) -> None:
    folder = tmp_path / "later"
    assert is_awaited(folder)
    folder.mkdir()
    assert why_still_awaited(folder)
    rollout().write(folder / "rollout.jsonl")
    assert why_still_awaited(folder) == ""


async def test_a_session_that_is_not_there_yet_can_be_waited_for_and_followed(tmp_path: Path) -> None:
    path = tmp_path / "later.jsonl"
    stop = asyncio.Event()
    updates: list[Update] = []

    async def listen() -> None:
        async for update in follow(path, stop, waits=True):
            updates.append(update)
            if len(updates) == 2:
                stop.set()

    async with asyncio.timeout(60):
        listening = asyncio.create_task(listen())
        await asyncio.sleep(0.05)
        path.write_bytes(rollout().encoded()[0][:30])
        await asyncio.sleep(0.05)
        assert updates == []
        made = rollout()
        made.write(path)
        while not updates:
            await asyncio.sleep(0.02)
        made.response("c1")
        made.write(path)
        await listening
    assert [len(update.session.calls) for update in updates] == [0, 1]


async def test_waiting_for_a_session_ends_when_told_and_a_slip_is_an_error(tmp_path: Path) -> None:
    stop = asyncio.Event()
    stop.set()
    assert [update async for update in follow(tmp_path / "later.jsonl", stop, waits=True)] == []
    with pytest.raises(SessionError, match="no such file"):
        await anext(follow(tmp_path / "later.jsonl"))
    with pytest.raises(SessionError, match="no such file"):
        await anext(follow(tmp_path / "nowhere" / "later.jsonl", waits=True))


def test_nothing_is_awaited_where_there_is_no_folder_or_something_else(tmp_path: Path) -> None:
    assert not is_awaited(tmp_path / "nowhere" / "later.jsonl")
    assert not is_awaited(tmp_path)
    (tmp_path / "notes.txt").write_text("notes")
    assert not is_awaited(tmp_path / "notes.txt")
    assert not is_awaited(tmp_path / "notes.txt" / "later.jsonl")
    assert not is_awaited(tmp_path / ("x" * 5000))


def test_the_screen_waits_for_a_named_path_but_not_for_a_slip(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "later.jsonl"
    assert resolve_targets([path], waits=True).sessions == (path,)
    with pytest.raises(CommandError, match="no such file"):
        resolve_targets([path])
    rollout().write(tmp_path / "rollout-1.jsonl")
    with pytest.raises(CommandError, match="no such file"):
        resolve_targets([tmp_path / "rolout-1.jsonl"], waits=True)
    with pytest.raises(CommandError, match="Did you mean the command report"):
        resolve_targets([tmp_path.relative_to(tmp_path) / "reprot"], waits=True)
