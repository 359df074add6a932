"""Mouse actions equal key actions."""

from inspector.strategies.plan import Plan
from inspector.ui.timeline.arrangement import Order

PLAN = Plan.from_specs(["tiered-stale", "clear-old", "token-budget"])


async def test_clicks_pin_a_row_order_the_rows_zoom_a_frame_change_the_axis_and_end_the_look_at_a_call(
    running, session_file
) -> None:
    async with running(session_file.path) as run:
        timeline = run.timeline
        await run.press("home")
        await timeline.click(0, 3)
        await run.until(lambda: run.pins == {timeline.cursor_block})
        await run.click("tokens", after="who")
        await run.until(lambda: timeline.view.order is Order.SIZE)
        await run.click("size", after="who")
        assert timeline.is_logarithmic

        await run.press("end", "left_square_bracket")
        await run.click("call 30 of 30: all panes")
        await run.until(lambda: run.call is None)
        await run.press("enter")
        await run.click("read as", after="? help")
        await run.until_shown("file record")
        await run.click("file record")
        await run.until(lambda: run.detail.shown == "record")

        await run.click("Context", times=2)
        await run.until(lambda: run.is_zoomed)
        await run.click("Context", times=2)
        await run.until(lambda: not run.is_zoomed)
        await run.click("call 1")
        assert run.is_by_time


async def test_a_strategy_is_moved_and_taken_out_by_the_glyphs_in_its_row(running, session_file) -> None:
    async with running(session_file.path, plan=PLAN, size=(120, 50)) as run:
        await run.hover_strategy(0)
        await run.click("↓", after="tiered-stale")
        await run.until(lambda: [each.name for each in run.plan.strategies][:2] == ["clear-old", "tiered-stale"])
        await run.settled()
        await run.hover_strategy(0)
        await run.click("×", after="clear-old")  # noqa: RUF001  the sign in the row
        await run.until(lambda: [each.name for each in run.plan.strategies] == ["tiered-stale", "token-budget"])


async def test_a_dialog_is_left_by_a_click_on_its_frame_or_next_to_it_and_answered_by_one_on_its_frame(
    running, session_file
) -> None:
    async with running(session_file.path) as run:
        for words in ("esc cancels", ""):
            await run.press("plus")
            await run.until_open("picker")
            await run.pause()
            await (run.click(words) if words else run.click_at(0, 0))
            await run.until_open("session")
        await run.press("z", "d")
        await run.until_open("value")
        await run.tap(*"77")
        await run.click("enter applies")
        await run.until(lambda: run.settings.runs_per_day == 77)


async def test_arrows_reach_every_row_of_the_plan_put_aside_by_a_click_and_clicks_press_keys_of_the_help(
    running, session_file
) -> None:
    async with running(session_file.path, size=(120, 50)) as run:
        await run.press("p")
        await run.click("a A/B")
        await run.until(lambda: run.plan_letter == "B")
        seen = []
        for _ in range(12):
            seen.append(run.focus)
            await run.tap("down")
        assert all(each.height for each in seen)
        kinds = [each.kind for each in dict.fromkeys(seen)]
        assert kinds == ["strategy", *["limit"] * 5, "fold", "add"]
        await run.tap("up", "enter", "down")
        assert run.focus.kind not in ("fold", "add")

        await run.press("escape")
        await run.click("? help")
        await run.until_open("help")
        await run.click("Show only rows that match")
        await run.until(lambda: not run.has_dialog)
        await run.until(lambda: run.has_line)
