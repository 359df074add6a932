"""Memory and open files of closed sessions and of earlier states are freed."""

from __future__ import annotations

import gc
from pathlib import Path

import pytest

from inspector.strategies.plan import Plan
from tests.ui.recordings import recording, this_hour

pytestmark = pytest.mark.usefixtures("screens_noted")

DESCRIPTORS = Path("/proc/self/fd")


def open_files(folder: Path) -> set[Path]:
    found = {each.resolve() for each in DESCRIPTORS.iterdir()} if DESCRIPTORS.is_dir() else set()
    return {path for path in found if path.parent == folder.resolve()}


async def test_closed_sessions_are_gone_and_their_files_are_closed(running, tmp_path) -> None:
    folder = tmp_path / "sessions"
    folder.mkdir()
    first, *others = [recording(folder / f"{place}.jsonl", turns=3).path for place in range(4)]
    async with running([first, *others]) as run:
        await run.until(lambda: run.tab_count == 4)
        for path in (*others, first, others[0]):
            await run.tap("ctrl+pagedown")
            await run.until(lambda path=path: run.path == path and run.has_replay)
        await run.at_rest()
        for following in (*others[1:], first):
            await run.tap("w", "c")
            await run.until(lambda path=following: run.on_top == "session" and run.path == path)
        await run.until(lambda: run.tab_count == 1)

        await run.until_closed_are_gone(folder)
        assert not open_files(folder) - {first.resolve()}


async def test_the_session_the_program_began_with_is_gone_like_any_other_once_it_is_closed(running, tmp_path) -> None:
    folder = tmp_path / "sessions"
    folder.mkdir()
    first, second = [recording(folder / f"{place}.jsonl", turns=3).path for place in range(2)]
    async with running([first, second]) as run:
        await run.until(lambda: run.tab_count == 2 and run.path == first and run.has_replay)
        await run.tap("w", "c")
        await run.until(lambda: run.path == second and run.has_replay)
        await run.until_closed_are_gone(folder)
        assert not open_files(folder) - {second.resolve()}


async def test_what_a_session_was_before_it_grew_is_freed_at_once_and_not_when_garbage_is_collected(
    running, session_file
) -> None:
    session_file.hour = this_hour()
    async with running(session_file.path, plan=Plan.from_specs(["tiered-stale"])) as run:
        await run.until(lambda: run.has_replay)
        await run.at_rest()
        run.left_to_the_collector()
        gc.disable()
        try:
            for _ in range(3):
                calls = run.happened.count("appended")
                session_file.turn()
                await run.until(lambda calls=calls: run.happened.count("appended") > calls and run.explains_newest)
            await run.at_rest()
            assert run.left_to_the_collector() == []
        finally:
            gc.enable()
