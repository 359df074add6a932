"""Files on a mount that takes its time: the screen never waits for them."""

from __future__ import annotations

import asyncio
import builtins
import io
import os
import threading
import time
import traceback
from typing import TYPE_CHECKING, Any

from tests.ui.recordings import recording
from tests.ui.studies import SessionList

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import pytest

BY_PATH = ("stat", "lstat", "open", "scandir", "listdir", "readlink")
BY_DESCRIPTOR = ("pread", "fstat")

SECONDS = 0.002


class SlowFiles:
    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.waited_for: list[str] = []
        self.looks = 0
        self._folder = os.fspath(folder)
        self._own: set[int] = set()
        self._screen = threading.current_thread()
        for name in BY_PATH:
            monkeypatch.setattr(os, name, self._slowed(getattr(os, name)))
        monkeypatch.setattr(io, "open", self._slowed(io.open))
        monkeypatch.setattr(builtins, "open", self._slowed(builtins.open))
        for name in BY_DESCRIPTOR:
            monkeypatch.setattr(os, name, self._slowed_of_descriptor(getattr(os, name)))

    def _slowed(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def slow(path: Any = ".", *args: Any, **options: Any) -> Any:
            is_below = isinstance(path, (str, os.PathLike)) and os.fspath(path).startswith(self._folder)
            if is_below:
                self._wait(function.__name__)
            made = function(path, *args, **options)
            if is_below and isinstance(made, int):
                self._own.add(made)
            return made

        return slow

    def _slowed_of_descriptor(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def slow(descriptor: int, *args: Any) -> Any:
            if descriptor in self._own:
                self._wait(function.__name__)
            return function(descriptor, *args)

        return slow

    def _wait(self, what: str) -> None:
        self.looks += 1
        if threading.current_thread() is self._screen:
            frames = [
                f"{frame.filename.rpartition('/')[2]}:{frame.lineno} {frame.name}"
                for frame in traceback.extract_stack()[:-2]
            ]
            self.waited_for.append(f"{what}: " + " < ".join(reversed(frames[-8:])))
        time.sleep(SECONDS)


async def test_the_screen_waits_for_no_file(running, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INSPECTOR_WATCH", "stat")
    folder = tmp_path / "mount"
    folder.mkdir()
    made = recording(folder / "session.jsonl", 12)
    other = recording(folder / "other.jsonl", 3)
    slow = SlowFiles(folder, monkeypatch)
    async with running([made.path, other.path], folders=[folder]) as run:
        await run.until(lambda: run.has_replay)
        await run.press("end", "up", "up", "up", "pageup")
        await run.press("tab")
        for view in "rsdjmR":
            await run.tap("r", view, "pagedown")
        await run.press("home", "shift+tab")
        count = len(run.session.messages)
        await asyncio.to_thread(made.turn)
        await run.until(lambda: len(run.session.messages) > count)
        await run.press("1", "slash", *"router", "enter", "n", "escape")
        await run.press("z", "i")
        await run.pause(0.3)
        await run.press("escape")
        await run.tap("o")
        await run.until_open("sessions")
        await run.until(lambda: SessionList(run).paths == {made.path, other.path})
        await run.tap("down", "up", "escape")
        await asyncio.to_thread(made.path.rename, folder / "away.jsonl")
        await run.until(lambda: run.state == "vanished")
        await asyncio.to_thread((folder / "away.jsonl").rename, made.path)
        await run.until(lambda: run.state == "live")
        await run.press("q")
    assert slow.looks > 50
    assert slow.waited_for == []
