import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from textual.binding import Binding
from textual.pilot import Pilot

from inspector.ui.main.keys import INSPECT_BINDINGS
from inspector.ui.settings import Settings
from inspector.ui.tour.player import LAST_WORD, Caption, Step, Tour, TouringApp
from inspector.ui.tour.steps import STEPS

SAMPLE = Path(__file__).resolve().parents[2] / "sample_sessions" / "coding-agent.jsonl"


@asynccontextmanager
async def touring(path: Path, steps: Any, **more: Any) -> AsyncIterator[tuple[TouringApp, Pilot[None]]]:
    app = TouringApp(path, steps, speed=20, settings=Settings(), **more)
    async with app.run_test(size=(120, 36)) as pilot:
        yield app, pilot


async def until(pilot: Pilot[None], fact: Any) -> None:
    for _ in range(1500):
        if fact():
            return
        await pilot.pause(0.02)
    raise AssertionError("it never became true")


async def test_the_tour_shows_every_screen_and_leaves_a_strategy_on() -> None:
    seen: list[str] = []

    async def look(_: int) -> None:
        seen.append(type(app.screen).__name__)

    async with touring(SAMPLE, STEPS, seen=look) as (app, pilot):
        await until(pilot, lambda: not app.is_touring)
        assert [name for name in seen if name != "InspectScreen"] == [
            "CompareScreen",
            "TuneScreen",
            "CompositionScreen",
        ]
        assert seen[-1] == "InspectScreen"
        assert len(seen) == len(STEPS)
        assert app.screen.outcome.replay is not app.screen.outcome.baseline
        assert app.screen.query_one(Caption).text == LAST_WORD


async def endless(tour: Tour) -> None:
    await tour.until(lambda: False, 60)


@pytest.mark.parametrize("key", ["1", "space", "escape"])
async def test_any_key_takes_over_and_does_nothing_else(session_file, key: str) -> None:
    async with touring(session_file.path, [Step("watch", 1, endless)]) as (app, pilot):
        await until(pilot, lambda: app.screen.query(Caption) and app.screen.plan is not None)
        plan = app.screen.plan
        await pilot.press(key)
        await until(pilot, lambda: not app.is_touring)
        assert app.screen.plan == plan
        assert app.screen.query_one(Caption).text == LAST_WORD
        await pilot.press("1")
        await until(pilot, lambda: app.screen.plan != plan)


async def test_q_leaves_a_tour_at_once(session_file) -> None:
    async with touring(session_file.path, [Step("watch", 1, endless)]) as (app, pilot):
        await until(pilot, lambda: app.screen.query(Caption))
        await pilot.press("q")
        await until(pilot, lambda: not app.is_running)


def test_every_key_a_caption_names_is_a_key_of_the_screen() -> None:
    keys = {binding.key for binding in Binding.make_bindings(INSPECT_BINDINGS)}
    named = {key for text in (*(step.text for step in STEPS), LAST_WORD) for key in re.findall("`(.)`", text)}
    written = {binding.key for key in named for binding in Binding.make_bindings([Binding(key, "")])}

    assert named
    assert written <= keys
