import re
from pathlib import Path

import pytest

from inspector.ui.actions.action import key_name
from inspector.ui.actions.main_screen import MAIN
from inspector.ui.tour import LAST_WORD, STEPS, Tour, TourStep
from tests.ui.facade import toured

PATIENCE = 180
"""Seconds until a tour is taken never to end."""

SAMPLE = Path(__file__).resolve().parents[2] / "sample_sessions" / "coding-agent.jsonl"


async def test_the_tour_shows_every_screen_and_leaves_a_strategy_on() -> None:
    seen: list[str] = []

    async def look(_: int) -> None:
        seen.append(run.on_top)

    async with toured(SAMPLE, STEPS, seen=look) as run:
        await run.until(lambda: not run.is_touring, PATIENCE)
        assert [name for name in seen if name != "session"] == ["compare", "tune", "composition"]
        assert seen[-1] == "session"
        assert len(seen) == len(STEPS)
        assert run.replay is not run.baseline
        assert run.caption == LAST_WORD


async def endless(tour: Tour) -> None:
    await tour.until(lambda: False, 60)


@pytest.mark.parametrize("key", ["1", "space", "escape"])
async def test_any_key_takes_over_and_does_nothing_else(session_file, key: str) -> None:
    async with toured(session_file.path, [TourStep("watch", 1, endless)]) as run:
        await run.until(lambda: run.caption and run.plan is not None, PATIENCE)
        plan = run.plan
        await run.tap(key)
        await run.until(lambda: not run.is_touring, PATIENCE)
        assert run.plan == plan
        assert run.caption == LAST_WORD
        await run.tap("1")
        await run.until(lambda: run.plan != plan, PATIENCE)


async def test_q_leaves_a_tour_at_once(session_file) -> None:
    async with toured(session_file.path, [TourStep("watch", 1, endless)]) as run:
        await run.until(lambda: run.caption, PATIENCE)
        await run.tap("q")
        await run.until(lambda: run.is_over, PATIENCE)


def test_every_key_a_caption_names_is_a_key_of_the_screen() -> None:
    keys = {key for action in MAIN for key in action.each_key} | {action.menu for action in MAIN}
    named = {key for text in (*(step.text for step in STEPS), LAST_WORD) for key in re.findall("`(.|. .)`", text)}

    assert named
    assert {key if " " in key else key_name(key) for key in named} <= keys
