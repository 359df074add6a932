"""Screens with a single result: one resume event, and one layout per size."""

from textual.app import App
from textual.events import Resize
from textual.geometry import Size
from textual.screen import Screen

from inspector.ui.toolkit.single_result_screen import SingleResultScreen


class Told(SingleResultScreen[None]):
    def __init__(self) -> None:
        super().__init__()
        self.resumes = self.layouts = 0

    def on_mount(self) -> None:
        self.screen_layout_refresh_signal.subscribe(self, self.format_json)

    def format_json(self, _: object) -> None:
        self.layouts += 1

    def on_screen_resume(self) -> None:
        self.resumes += 1


async def test_the_screen_of_a_new_mode_is_styled_as_the_one_in_front_once_and_each_time_it_comes_back() -> None:
    async with App[None]().run_test() as pilot:
        told = Told()
        pilot.app.add_mode("told", lambda: told)
        await pilot.app.switch_mode("told")
        await pilot.pause()
        assert told.resumes == 1
        for times in (2, 3):
            pilot.app.push_screen(Screen())
            await pilot.pause()
            await pilot.app.pop_screen()
            await pilot.pause()
            assert told.resumes == times


async def test_a_screen_is_not_laid_out_again_for_the_size_it_has() -> None:
    async with App[None]().run_test(size=(80, 24)) as pilot:
        told = Told()
        await pilot.app.push_screen(told)
        await pilot.pause()
        before = told.layouts
        pilot.app.post_message(Resize(Size(80, 24), Size(80, 24)))
        await pilot.pause()
        assert told.layouts == before
        await pilot.resize_terminal(90, 24)
        assert told.layouts > before
        assert told.size == (90, 24)
