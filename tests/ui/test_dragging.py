"""A widget that captures the mouse receives only the newest move, and receives it before any other event."""

import pytest
from textual import events
from textual.app import ComposeResult
from textual.containers import Container
from textual.message import Message
from textual.pilot import Pilot
from textual.widget import Widget

from inspector.ui.performance.painting import FRAME
from inspector.ui.toolkit import input_gate as mouse_throttle
from inspector.ui.toolkit.input_gate import DraggingApp, take_newest_move
from tests.ui.waiting import until


class Moved(Message):
    """A widget has followed the mouse."""

    def __init__(self, x: int) -> None:
        super().__init__()
        self.x = x


class Held(Widget):
    def __init__(self) -> None:
        super().__init__()
        self.told: list[tuple[str, int]] = []

    def on_mouse_down(self, event: events.MouseDown) -> None:
        self.capture_mouse()
        self.told.append(("down", event.x))

    def on_mouse_move(self, event: events.MouseMove) -> None:
        self.told.append(("move", event.x))
        self.post_message(Moved(event.x))

    def on_mouse_up(self, event: events.MouseUp) -> None:
        self.release_mouse()
        self.told.append(("up", event.x))


class Passing(Container):
    def __init__(self, *children: Widget) -> None:
        super().__init__(*children)
        self.reached: list[int] = []

    def on_moved(self, message: Moved) -> None:
        self.reached.append(message.x)


class HeldApp(DraggingApp):
    def compose(self) -> ComposeResult:
        yield Passing(Container(Container(Container(Container(Held())))))


def mouse(kind: type[events.MouseEvent], x: int) -> events.MouseEvent:
    return kind(None, x, 2, 0, 0, 1, shift=False, meta=False, ctrl=False)


@pytest.fixture
async def pressed():
    async with HeldApp().run_test(size=(80, 24)) as pilot:
        pilot.app.post_message(mouse(events.MouseDown, 5))
        await pilot.pause()
        yield pilot


@pytest.fixture
def no_second_move_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """However long a test takes, it is less than lies between two moves."""
    monkeypatch.setattr(mouse_throttle, "BETWEEN_MOVES", 3600.0)


async def until_told(pilot: Pilot[None], *told: tuple[str, int]) -> None:
    assert await until(pilot, lambda: pilot.app.query_one(Held).told == list(told))


@pytest.mark.usefixtures("no_second_move_in_time")
async def test_of_many_moves_at_once_the_first_and_the_last_are_reported(pressed):
    for x in range(10, 60):
        pressed.app.post_message(mouse(events.MouseMove, x))
    await until_told(pressed, ("down", 5), ("move", 10))
    await pressed.app.take_newest_move()
    await until_told(pressed, ("down", 5), ("move", 10), ("move", 59))


async def test_the_last_move_is_reported_though_nothing_else_happens(pressed):
    for x in range(10, 60):
        pressed.app.post_message(mouse(events.MouseMove, x))
    assert await until(pressed, lambda: pressed.app.query_one(Held).told[-1] == ("move", 59))


@pytest.mark.usefixtures("no_second_move_in_time")
async def test_a_release_comes_after_the_last_move(pressed):
    for x in (10, 20, 30):
        pressed.app.post_message(mouse(events.MouseMove, x))
    pressed.app.post_message(mouse(events.MouseUp, 30))
    await until_told(pressed, ("down", 5), ("move", 10), ("move", 30), ("up", 30))


@pytest.mark.usefixtures("no_second_move_in_time")
async def test_once_what_a_move_led_to_is_done_the_next_one_is_reported_at_once(pressed):
    pressed.app.post_message(mouse(events.MouseMove, 10))
    await until_told(pressed, ("down", 5), ("move", 10))
    await take_newest_move(pressed.app.query_one(Held))
    pressed.app.post_message(mouse(events.MouseMove, 20))
    await until_told(pressed, ("down", 5), ("move", 10), ("move", 20))


@pytest.mark.usefixtures("no_second_move_in_time")
async def test_who_asks_for_the_newest_move_goes_on_when_it_was_acted_on(pressed):
    outermost, held = pressed.app.query_one(Passing), pressed.app.query_one(Held)
    for x in range(10, 60):
        pressed.app.post_message(mouse(events.MouseMove, x))
    await until_told(pressed, ("down", 5), ("move", 10))
    await take_newest_move(held)
    assert outermost.reached == [10, 59]


async def test_moves_a_frame_apart_are_all_reported(pressed):
    for x in (10, 20, 30):
        pressed.app.post_message(mouse(events.MouseMove, x))
        await pressed.pause(2 * FRAME)
    await until_told(pressed, ("down", 5), ("move", 10), ("move", 20), ("move", 30))


async def test_moves_are_reported_one_by_one_while_no_one_holds_the_mouse():
    async with HeldApp().run_test(size=(80, 24)) as pilot:
        for x in range(10, 60):
            pilot.app.post_message(mouse(events.MouseMove, x))
        await until_told(pilot, *(("move", x) for x in range(10, 60)))
