from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from textual.app import App, ComposeResult
from textual.screen import Screen
from textual.widgets import Static

from inspector.ui.performance import painting as frame_batching
from inspector.ui.performance.painting import FRAME, PaintingApp, after_frame, hold_painting, in_one_frame
from tests.ui.waiting import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from textual.pilot import Pilot


class Drawn(Static):
    def __init__(self, identifier: str, drawn: list[str]) -> None:
        super().__init__("before", id=identifier)
        self.drawn = drawn

    def render(self) -> str:
        self.drawn.append(f"{self.id} {self.content}")
        return str(self.content)


class TwoLines(PaintingApp):
    """Two lines that change."""

    def __init__(self) -> None:
        super().__init__()
        self.drawn: list[str] = []

    def compose(self) -> ComposeResult:
        yield Drawn("first", self.drawn)
        yield Drawn("second", self.drawn)


async def until_drawn(pilot: Pilot[None], drawn: list[str], wanted: set[str]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not wanted <= set(drawn):
            await pilot.pause(2 * FRAME)


async def test_what_is_held_back_is_painted_when_the_rest_of_it_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frame_batching, "SECONDS_HELD", 60.0)
    app = TwoLines()
    async with app.run_test() as pilot:
        await pilot.pause(2 * FRAME)
        app.drawn.clear()
        first, second = app.query(Drawn)
        hold_painting(first)
        first.update("after")
        await asyncio.sleep(2 * FRAME)
        assert app.drawn == []
        async with in_one_frame(second):
            second.update("after")
        await until_drawn(pilot, app.drawn, {"first after", "second after"})
        assert set(app.drawn) == {"first after", "second after"}


async def test_what_was_ready_before_the_frame_is_painted_after_it_though_nothing_else_happens(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(frame_batching, "SECONDS_HELD", 60.0)
    app = TwoLines()
    async with app.run_test() as pilot:
        await pilot.pause(2 * FRAME)
        app.drawn.clear()
        async with app.in_one_frame():
            app.query_one("#first", Drawn).update("after")
            await asyncio.sleep(2 * FRAME)
            assert app.drawn == []
        async with asyncio.timeout(PATIENCE):
            while not app.drawn:
                await asyncio.sleep(2 * FRAME)
        assert set(app.drawn) == {"first after"}


async def test_painting_is_not_held_back_for_ever() -> None:
    app = TwoLines()
    async with app.run_test() as pilot:
        await pilot.pause(2 * FRAME)
        app.drawn.clear()
        app.hold_painting()
        first = app.query_one("#first", Drawn)
        first.update("after")
        await until_drawn(pilot, app.drawn, {"first after"})


async def test_what_was_let_go_is_painted_before_anything_is_held_back_again() -> None:
    app = TwoLines()
    async with app.run_test() as pilot:
        await pilot.pause(2 * FRAME)
        app.drawn.clear()
        first = app.query_one("#first", Drawn)
        for number in range(20):  # as fast as a mouse moves
            app.hold_painting()
            first.update(str(number))
            app.resume_painting()
            await asyncio.sleep(FRAME / 4)
        assert len(app.drawn) > 1


async def test_nothing_is_held_back_again_before_the_rest_of_a_change_that_takes_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    app = TwoLines()
    async with app.run_test() as pilot:
        first, second = app.query(Drawn)
        app.hold_painting()
        first.update("late")
        await until_drawn(pilot, app.drawn, {"first late"})
        monkeypatch.setattr(frame_batching, "SECONDS_HELD", 60.0)
        app.hold_painting()
        first.update("at once")
        await until_drawn(pilot, app.drawn, {"first at once"})
        async with app.in_one_frame():
            second.update("after")
        await until_drawn(pilot, app.drawn, {"second after"})
        app.drawn.clear()
        app.hold_painting()
        first.update("held")
        await asyncio.sleep(2 * FRAME)
        assert app.drawn == []


async def test_a_widget_of_another_application_paints_as_ever() -> None:
    class Other(App[None]):
        def compose(self) -> ComposeResult:
            yield Drawn("first", [])

    app = Other()
    async with app.run_test() as pilot:
        first = app.query_one("#first", Drawn)
        hold_painting(first)
        async with in_one_frame(first):
            first.update("after")
        await pilot.pause()
        assert "first after" in first.drawn


async def test_what_is_due_after_a_frame_is_done_when_the_screen_in_front_gives_way_before_it_is_painted() -> None:
    app = App[None]()
    async with app.run_test() as pilot:
        own, other = app.screen, Screen[None]()
        await app.push_screen(other)
        done: list[str] = []
        other.refresh(layout=True)
        after_frame(own, lambda: done.append("done"))
        # Textual has queued it for the screen in front, which has not painted, and never will while it is behind.
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        await app.push_screen(Screen[None]())
        async with asyncio.timeout(PATIENCE):
            while not done:
                await pilot.pause(FRAME)


async def test_what_is_due_after_a_frame_is_done_once_and_not_before_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frame_batching, "SECONDS_UNPAINTED", 0.5)
    app = TwoLines()
    async with app.run_test() as pilot:
        await pilot.pause(2 * FRAME)
        first = app.query(Drawn).first()
        app.drawn.clear()
        seen: list[list[str]] = []

        async def note() -> None:
            seen.append(list(app.drawn))

        first.update("after")
        after_frame(first, note)
        async with asyncio.timeout(PATIENCE):
            while not seen:
                await pilot.pause(FRAME)
        await asyncio.sleep(2 * frame_batching.SECONDS_UNPAINTED)
    assert seen == [["first after"]]


async def test_nothing_is_done_after_a_frame_for_what_is_gone_by_then(monkeypatch: pytest.MonkeyPatch) -> None:
    app = TwoLines()
    async with app.run_test():
        first = app.query(Drawn).first()
        after_the_frame: list[Callable[[], Awaitable[None]]] = []
        monkeypatch.setattr(first, "call_after_refresh", after_the_frame.append)
        after_frame(first, lambda: pytest.fail("done for a widget that is gone"))
        await first.remove()
        await after_the_frame[0]()
