import pytest

from inspector.strategies.plan import Plan
from inspector.ui.chart.drawing import HERE
from inspector.ui.main.chart_pane import SPEEDS


async def test_it_plays_from_the_first_call_stops_where_it_is_and_is_the_present_again_at_the_end(
    running, session_file
) -> None:
    async with running(session_file.path) as run:
        seen = set()
        await run.press("g", "space")
        assert run.is_playing
        assert "▶ call " in run.text()
        await run.until(lambda: seen.add(run.call) or len(seen) > 2)
        await run.press("g", "space")
        assert not run.is_playing
        stopped = run.call
        await run.pause(0.3)
        assert run.call == stopped
        timeline = run.timeline
        assert timeline.rows.history.enters[timeline.cursor_block] == stopped
        await run.press("g", "space")
        await run.until(lambda: run.call > stopped)

        await run.press("g", "space", *["g", "less_than_sign"] * len(SPEEDS))
        assert "0.5 calls per second" in run.text()
        assert run.speed == SPEEDS[0]
        await run.press(*["g", "greater_than_sign"] * len(SPEEDS), "g", "space")
        await run.until(lambda: not run.is_playing)
        assert run.call is None
        assert f"next prompt after {session_file.turns} calls" in run.text()


async def test_while_it_is_played_the_file_is_followed_and_the_plan_can_be_changed(running, session_file) -> None:
    async with running(session_file.path, plan=Plan.from_specs(["tiered-stale"])) as run:
        await run.press("g", "space")
        count = len(run.session.messages)
        session_file.turn()
        await run.until(lambda: len(run.session.messages) > count)
        assert run.is_playing
        await run.press("1")
        assert run.is_playing
        call = run.call
        await run.until(lambda: run.call is not None and run.call > call)
        assert run.state_call == run.call


async def test_the_call_looked_at_and_what_is_saved_are_reported_however_narrow_the_screen(
    running, session_file
) -> None:
    async with running(session_file.path, plan=Plan.from_specs(["tiered-stale"]), size=(80, 24)) as run:
        await run.press("left_square_bracket")
        for width in (80, 46):
            await run.resize(width, 24)
            await run.until_shown(f"call {session_file.turns} of {session_file.turns}")
        assert any("by then" in line and "$0." in line for line in run.lines())


async def test_the_chart_marks_the_call_of_the_row_under_the_cursor_which_stays_where_that_is_looked_at(
    running, session_file, monkeypatch
) -> None:
    async with running(session_file.path) as run:
        timeline, chart = run.timeline, run.chart
        await run.press("home", "pagedown")
        history = timeline.rows.history
        assert chart.here == history.enters[timeline.cursor_block]
        axis = next(line for line in chart.lines() if HERE in line)
        assert chart.call_at(axis.index(HERE)) == chart.here

        await run.press("home", "down", "down", "down")
        block = timeline.cursor_block
        await run.press("g", "h")
        assert run.call is not None
        assert timeline.cursor_block == block

        # Calls made meanwhile are counted next to the one looked at.
        await run.press("end", "left_square_bracket")
        before = session_file.turns
        assert f"call {before} of {before}" in run.text()
        run.hold_replays(monkeypatch)
        session_file.turn()
        await run.until(lambda: run.rows.history.call_count == before + 1)
        await run.until(lambda: f"call {before} of {before + 1}" in run.text())


async def test_the_cost_is_as_of_the_call_looked_at(running, session_file) -> None:
    async with running(session_file.path, plan=Plan.from_specs(["tiered-stale"])) as run:
        before, after = run.baseline.ledger.cost, run.replay.ledger.cost
        assert "up to call" not in run.text()
        for call in (0, 11, 28):
            run.look_at(call)
            await run.pause()
            until = run.costs.until
            assert until.call == call + 1
            assert until.recorded.value == pytest.approx(sum(before.tolist()[: call + 1]))
            assert until.saved.value == pytest.approx(
                sum(before.tolist()[: call + 1]) - sum(after.tolist()[: call + 1])
            )
            assert f"up to call {call + 1} " in run.text()
        run.look_at(None)
        await run.pause()
        assert "up to call" not in run.text()
