"""Paths at which there is no session yet."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from inspector.cli.exits import CommandError
from inspector.cli.finding import wanted
from inspector.session.awaiting import is_awaited, why_still_awaited
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
    assert wanted([path], waits=True).sessions == (path,)
    with pytest.raises(CommandError, match="no such file"):
        wanted([path])
    rollout().write(tmp_path / "rollout-1.jsonl")
    with pytest.raises(CommandError, match="no such file"):
        wanted([tmp_path / "rolout-1.jsonl"], waits=True)
    with pytest.raises(CommandError, match="Did you mean the command report"):
        wanted([tmp_path.relative_to(tmp_path) / "reprot"], waits=True)
