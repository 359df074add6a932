"""What the keys do, the mouse does too."""

import pytest
from textual.screen import ModalScreen

from inspector.strategies.plan import Plan
from inspector.ui.dialogs.picker import Picker
from inspector.ui.dialogs.value_dialog import ValueDialog
from inspector.ui.help.screen import HelpScreen
from inspector.ui.plan.entry import StrategyToggle
from inspector.ui.timeline.arrangement import Order
from inspector.ui.toolkit.pane import Pane

PLAN = Plan.from_specs(["tiered-stale", "clear-old", "token-budget"])


def place_of(run, words: str, after: str = "") -> tuple[int, int]:
    """Where the screen says something, by the first line that also says something else before it."""
    for y, line in enumerate(run.text().split("\n")):
        if words in line and after in line:
            return line.index(words, line.index(after)), y
    raise AssertionError(f"{words} is not on the screen\n{run.text()}")


async def click(run, words: str, after: str = "", times: int = 1) -> None:
    await run.pilot.click(offset=place_of(run, words, after), times=times)
    await run.pilot.pause()


async def test_the_names_of_columns_order_the_rows_and_scale_the_bars(running, session_file) -> None:
    async with running(session_file.path) as run:
        timeline = run.screen.parts.timeline
        await click(run, "tokens", after="who")
        await run.until(lambda: timeline.view.order is Order.SIZE)
        await click(run, "sent", after="who")
        assert timeline.logarithmic


async def test_the_first_cell_of_a_row_pins_it(running, session_file) -> None:
    async with running(session_file.path) as run:
        timeline = run.screen.parts.timeline
        await run.press("home")
        await run.pilot.click(timeline, offset=(0, 3))
        await run.until(lambda: run.screen.arrangement.pins == {timeline.cursor_block})


async def test_a_strategy_is_moved_and_taken_out_by_the_glyphs_in_its_row(running, session_file) -> None:
    async with running(session_file.path, plan=PLAN, size=(120, 50)) as run:
        toggles = list(run.app.screen.query(StrategyToggle))
        await run.pilot.hover(toggles[0])
        await click(run, "↓", after="tiered-stale")
        await run.until(lambda: [each.name for each in run.screen.plan.strategies][:2] == ["clear-old", "tiered-stale"])
        await run.settled()
        await run.pilot.hover(next(iter(run.app.screen.query(StrategyToggle))))
        await click(run, "×", after="clear-old")  # noqa: RUF001  the sign in the row
        await run.until(lambda: [each.name for each in run.screen.plan.strategies] == ["tiered-stale", "token-budget"])


async def test_the_plan_is_put_aside_by_a_click(running, session_file) -> None:
    async with running(session_file.path, size=(120, 50)) as run:
        await click(run, "a A/B")
        await run.until(lambda: run.screen.plan_letter == "B")


async def test_two_clicks_on_a_frame_give_its_part_the_screen_and_take_it_back(running, session_file) -> None:
    async with running(session_file.path) as run:
        await run.pilot.click(Pane, offset=(3, 0), times=2)
        await run.until(lambda: run.screen.zoomed)
        await run.pilot.click("#chart-pane", offset=(3, 0), times=2)
        await run.until(lambda: not run.screen.zoomed)


async def test_the_names_below_the_chart_change_its_axis(running, session_file) -> None:
    async with running(session_file.path) as run:
        await click(run, "call 1")
        assert run.screen.by_time


async def test_what_the_last_line_says_can_be_clicked(running, session_file) -> None:
    async with running(session_file.path) as run:
        await run.press("end", "left_square_bracket")
        await run.pilot.click(offset=(run.text().split("\n")[-1].index(" call 30 of 30 "), 35))
        await run.until(lambda: run.screen.call is None)
        await run.press("minus")
        await click(run, "hidden ")
        await run.until(lambda: not run.screen.view.hidden)
        run.screen.parts.detail.focus()
        await run.pilot.pause()
        await click(run, "raw", after="? help")
        await run.until(lambda: run.screen.parts.detail.shown == "raw")


async def test_a_row_of_the_help_does_what_it_says(running, session_file) -> None:
    async with running(session_file.path, size=(120, 50)) as run:
        await click(run, "? help")
        await run.until(lambda: isinstance(run.app.screen, HelpScreen))
        await click(run, "Fold every message, or none")
        await run.until(lambda: not isinstance(run.app.screen, ModalScreen))
        await run.until(lambda: run.screen.arrangement.folds.all_messages)


@pytest.mark.parametrize("words", ["esc cancels", ""])
async def test_a_dialog_is_left_by_a_click_on_its_frame_or_beside_it(running, session_file, words) -> None:
    async with running(session_file.path) as run:
        await run.press("plus")
        await run.until(lambda: isinstance(run.app.screen, Picker))
        await run.pilot.pause()
        await (click(run, words) if words else run.pilot.click(offset=(0, 0)))
        await run.until(lambda: run.app.screen is run.screen)


async def test_a_dialog_is_answered_by_a_click_on_its_frame(running, session_file) -> None:
    async with running(session_file.path) as run:
        await run.press("d")
        await run.until(lambda: isinstance(run.app.screen, ValueDialog))
        await run.pilot.press(*"77")
        await click(run, "enter sets")
        await run.until(lambda: run.screen.settings.runs_per_day == 77)


async def test_arrows_reach_every_row_of_the_plan_that_is_shown_and_no_other(running, session_file) -> None:
    async with running(session_file.path, size=(120, 50)) as run:
        await run.press("p")
        seen = []
        for _ in range(12):
            seen.append(run.app.focused)
            await run.pilot.press("down")
        assert all(widget.region.height for widget in seen)
        names = [type(widget).__name__ for widget in dict.fromkeys(seen)]
        assert names == ["StrategyToggle", *["LimitSlider"] * 5, "FoldRow", "AddStrategy"]
        await run.pilot.press("up", "enter", "down")
        assert type(run.app.focused).__name__ not in ("FoldRow", "AddStrategy")
