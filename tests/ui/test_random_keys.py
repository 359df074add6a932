"""Keys and clicks that come faster than screens do: each reaches the screen it is for, once."""

from __future__ import annotations

import asyncio
from threading import Event
from typing import TYPE_CHECKING, Any

import pytest
from textual.events import MouseDown, MouseUp
from textual.widgets import Input, Static

from inspector.ui import dialogs as dialog
from inspector.ui.controller import replaying
from inspector.ui.part_names import DialogChoice
from inspector.ui.toolkit.input_gate import GatedApp
from inspector.ui.toolkit.single_result_screen import open_over, run_dialog
from tests.ui.waiting import until

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual.app import App, ComposeResult

    from tests.ui.recordings import Recording


class Asking(GatedApp):
    BINDINGS = [("v", "value"), ("p", "picker"), ("x", "note('x')")]  # noqa: RUF012  as Textual declares it

    def __init__(self) -> None:
        super().__init__()
        self.told: list[Any] = []

    def action_value(self) -> None:
        run_dialog(self, self._ask(lambda: dialog.ValueDialog("Value", "", "")), "ask for a value")

    def action_picker(self) -> None:
        choices = [DialogChoice(name, name, "", "") for name in ("one", "two")]
        run_dialog(self, self._ask(lambda: dialog.Picker("Pick", choices)), "pick")

    async def _ask(self, asked: Callable[[], dialog.Dialog[Any]]) -> None:
        self.told.append(await self.push_screen_wait(asked()))

    def action_note(self, what: str) -> None:
        self.told.append(what)


def send(app: App[Any], *keys: str) -> None:
    for key in keys:
        app.simulate_key(key)


async def test_keys_sent_at_once_go_to_the_dialog_they_open_and_then_to_what_is_below() -> None:
    app = Asking()
    async with app.run_test() as pilot:
        send(app, "v", "x", "7", "enter", "x", "p", "t", "w", "enter", "p", "down", "enter", "x")
        await until(pilot, lambda: len(app.told) == 5)
        assert app.told == ["x7", "x", "two", "two", "x"]


async def test_a_dialog_answers_once_whatever_is_pressed_how_often() -> None:
    app = Asking()
    async with app.run_test() as pilot:
        for keys in (["enter"] * 3, ["escape"] * 3, ["enter", "escape", "enter"]):
            send(app, "v")
            await until(pilot, lambda: app.screen.query(Input))
            for key in keys:
                app.screen.post_message(Input.Submitted(app.screen.query_one(Input), key))
                app.screen.call_later(app.screen.dismiss, key)
            await until(pilot, lambda: len(app.screen_stack) == 1)
            await pilot.pause()
        assert app.told == ["enter", "escape", "enter"]
        assert len(app.screen_stack) == 1


async def test_a_dialog_that_opens_while_the_application_is_left_fails_nothing() -> None:
    app = Asking()
    async with app.run_test() as pilot:
        opened = dialog.ValueDialog("Value", "", "")
        app.push_screen(opened)
        app.exit()  # from now on Textual gives no screen its widgets
        await until(pilot, lambda: opened.is_mounted)
        assert not opened.query(Input)
    assert app.told == []


async def test_of_two_dialogs_asked_for_at_once_the_first_is_opened() -> None:
    app = Asking()
    async with app.run_test() as pilot:
        app.action_value()
        app.action_picker()
        await until(pilot, lambda: isinstance(app.screen, dialog.ValueDialog))
        await pilot.pause()
        assert len(app.screen_stack) == 2
        send(app, "5", "enter")
        await until(pilot, lambda: app.told)
        assert app.told == ["5"]


class Slow(dialog.Dialog[None]):
    """Takes its time to come."""

    def compose(self) -> ComposeResult:
        with dialog.framed("Slow"):
            yield Static("here")


async def test_a_screen_answers_only_while_it_is_in_front_and_opens_another_one_only_then() -> None:
    app = Asking()
    async with app.run_test() as pilot:
        first, second = Slow(), Slow()
        await app.push_screen(first)
        await app.push_screen(second)
        first.dismiss(None)
        open_over(first, Slow())
        await pilot.pause()
        assert app.screen_stack[1:] == [first, second]
        second.dismiss(None)
        second.dismiss(None)
        await pilot.pause()
        assert app.screen_stack[1:] == [first]
        await pilot.click(first, offset=(0, 0), times=1)
        await pilot.pause()
        assert len(app.screen_stack) == 1


async def test_what_a_screen_wants_done_after_a_frame_is_done_though_the_dialog_over_it_goes_before_that() -> None:
    app = Asking()
    async with app.run_test() as pilot:
        below = dialog.ValueDialog("Below", "", "")
        await app.push_screen(below)
        await app.push_screen(dialog.ValueDialog("Above", "", ""))
        await pilot.pause()
        above = app.screen
        busy = asyncio.Event()

        def go() -> None:
            above.dismiss(None)
            busy.set()

        above.call_later(busy.wait)
        below.call_after_refresh(app.action_note, "painted")
        below.call_later(go)
        await until(pilot, lambda: app.told)
        assert app.told == ["painted"]


async def test_the_second_click_of_two_that_opened_a_dialog_does_not_close_it() -> None:
    app = Asking()
    app.CLICK_CHAIN_TIME_THRESHOLD = 60
    async with app.run_test() as pilot:
        for is_open in (False, True):
            if is_open:
                await app.push_screen(Slow())
            for kind in (MouseDown, MouseUp):
                app.post_message(kind(None, 0, 0, 0, 0, 1, False, False, False, 0, 0))
            await pilot.pause()
        assert len(app.screen_stack) == 2


async def test_whatever_opens_is_closed_by_keys_sent_at_once(
    running: Callable[..., Any], session_file: Recording
) -> None:
    async with running(session_file.path, folders=[session_file.path.parent]) as run:
        for opening in ("ctrl+p", "plus", "w", "o", "c"):
            for _ in range(2):
                run.send(opening)
                run.send("escape")
                run.send("escape")
        await run.pause()
        await run.until(lambda: run.on_top == "session")
        await run.settled()
        assert not run.is_over


async def test_the_palette_shows_what_commands_say_as_it_is_written(
    running: Callable[..., Any], session_file: Recording
) -> None:
    async with running(session_file.path) as run:
        run.send("dollar_sign")
        run.send("ctrl+p")
        for character in "price":
            run.send(character)
        await run.until_shown("[/CACHE-READ[/CACHE-WRITE]")


async def test_commands_are_not_looked_up_for_a_palette_that_was_closed_meanwhile(
    running: Callable[..., Any], session_file: Recording
) -> None:
    async with running(session_file.path) as run:
        run.send("ctrl+p")
        await run.until(lambda: run.has_line)
        await run.close_while_commands_are_looked_up()
        await run.until(lambda: run.on_top == "session")
        await run.settled()


async def test_paging_through_a_list_that_has_no_room_does_nothing(
    running: Callable[..., Any], session_file: Recording
) -> None:
    async with running(session_file.path, size=(20, 3)) as run:
        for opens in (lambda: run.send("ctrl+p"), run.choose_theme, lambda: run.send("plus")):
            opens()
            await run.until(lambda: run.has_line)
            await run.pause()
            for key in ("pageup", "pagedown", "pageup"):
                run.send(key)
            await run.pause()
            while run.has_line:
                await run.tap("escape")
                await run.pause()


async def test_a_click_where_the_list_of_commands_was_before_the_terminal_became_smaller_does_nothing(
    running: Callable[..., Any], session_file: Recording
) -> None:
    async with running(session_file.path) as run:
        run.send("ctrl+p")
        await run.until(lambda: run.has_line)
        run.send_click(93, 90)
        await run.pause()
        assert run.has_line


async def test_sizes_that_are_reported_late_lay_screens_out_no_more_than_once_each(
    running: Callable[..., Any], session_file: Recording
) -> None:
    async with running(session_file.path) as run:
        await run.press("plus")
        await run.until(lambda: run.has_dialog)
        for _ in range(3):
            run.send_late_sizes((60, 20), (200, 60), (80, 24))
            await run.pause()
            told = run.sizes_told
            await run.pause()
            assert run.sizes_told == told


@pytest.mark.parametrize("key", ["", "escape", "down"])
async def test_a_study_asked_for_before_the_first_replay_opens_after_it_unless_another_key_was_pressed(
    running: Callable[..., Any], session_file: Recording, monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    may_replay, replay_plan = Event(), replaying.replay_plan

    def late(*given: Any) -> None:
        may_replay.wait()
        replay_plan(*given)

    monkeypatch.setattr(replaying, "replay_plan", late)
    async with running(session_file.path, ready=False) as run:
        try:
            await run.until(lambda: run.has_rows_pane)
            await run.tap("c")
            await run.until(lambda: "this opens when done" in run.notice)
            if key:
                await run.tap(key)
        finally:
            may_replay.set()
        await run.until(lambda: run.has_replay)
        await run.settled()
        assert (run.on_top == "compare") is not bool(key)


async def test_a_strategy_whose_key_came_before_there_was_a_plan_is_switched_once_there_is_one(
    running: Callable[..., Any], session_file: Recording, monkeypatch: pytest.MonkeyPatch
) -> None:
    may_go_on = Event()

    def late(_host: object) -> None:
        may_go_on.wait(60)

    monkeypatch.setattr("inspector.ui.main.base_screen.ScreenHost.warm_up_rest", late)
    async with running(session_file.path, ready=False) as run:
        try:
            await run.until_shown("Find out why the router")
            assert run.plan is None
            await run.tap("1")
        finally:
            may_go_on.set()
        await run.until(lambda: run.plan is not None and run.plan.entries[0].enabled)
        await run.press("1")
        assert not run.plan.entries[0].enabled
