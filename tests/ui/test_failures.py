"""A failing part of the screen shows its error and offers a retry while everything else continues."""

from __future__ import annotations

import asyncio
import sys
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from textual.widget import Widget

from inspector.ui.controller.host import Change
from inspector.ui.main.session_pane import FailSafePane
from inspector.ui.plan.panel import PlanPanel
from inspector.ui.toolkit.failures import failures_log
from tests.conftest import ROOT
from tests.terminal import TerminalProgram
from tests.ui.waiting import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from textual.app import ComposeResult

    from tests.ui.recordings import Recording

pytestmark = [pytest.mark.failures, pytest.mark.paints]

REASON = "out of luck"
TOLD = "this part failed: RuntimeError"


class BrokenPart(NamedTuple):
    what: str
    part: str
    keys: tuple[str, ...]
    shows: str


WAYS = {
    "a line is drawn": BrokenPart("timeline.widget.Timeline.draw_line", "timeline", ("up",), "The guard"),
    "a header is drawn": BrokenPart("detail.widget.Detail.draw_header", "detail", ("down",), "raw"),
    "a chart is drawn": BrokenPart("chart.widget.ContextChart.render_line", "chart", ("left",), "█"),
    "a widget is drawn": BrokenPart("main.cost_pane.CostPane._line", "cost", ("1",), "Cost $"),
    "a key is pressed": BrokenPart("chart.widget.ContextChart.action_select", "chart", ("left",), "█"),
    "the wheel is turned": BrokenPart("chart.widget.ContextChart.on_mouse_scroll_down", "chart", ("wheel",), "█"),
    "a widget is told something": BrokenPart(
        "plan.panel.PlanPanel.on_descendant_focus", "plan", ("down",), "tiered-stale"
    ),
    "a pane is told something": BrokenPart(
        "main.plan_pane.PlanPane.on_plan_panel_value_changed", "plan", ("down", "right"), "tiered-stale"
    ),
    "a change is listened to": BrokenPart("cost.summary.summarize", "cost", ("1",), "Cost $"),
    "a value is watched": BrokenPart("detail.widget.Detail.watch_shown", "detail", ("right",), "raw"),
    "a frame was drawn": BrokenPart("plan.panel.PlanList.scroll_to_focus", "plan", ("down",), "tiered-stale"),
    "a timer runs": BrokenPart("main.chart_pane.ChartPane._play_on", "chart", ("g", "space"), "█"),
    "work is done": BrokenPart(
        "main.timeline_pane.TimelinePane._take_token_calls", "timeline", ("z", "s", "z", "s"), "The guard"
    ),
}


def fail(self: object = None, *_: object, **__: object) -> Any:
    raise RuntimeError(REASON)


def composed_after(happens: Callable[[], None]) -> Callable[[PlanPanel], ComposeResult]:
    compose = PlanPanel.compose

    def late(self: PlanPanel) -> ComposeResult:
        happens()
        return compose(self)

    return late


def is_told(run: Any) -> bool:
    try:
        return bool(run.failed_parts) and TOLD in run.text()
    except RuntimeError:
        return False


def is_told_last(run: Any, told: str) -> bool:
    return told in "".join(run.toasts[-1:])


async def until_told(run: Any) -> None:
    """Wait for it without asking every widget whether it has nothing left to do: one that has ended never answers."""
    end = monotonic() + PATIENCE
    while not is_told(run):
        assert monotonic() < end
        await asyncio.sleep(0.01)


async def use(run: Any, file: Recording) -> None:
    calls, is_on = run.history.call_count, run.plan.entries[0].enabled
    file.turn()
    await run.until(lambda: run.history.call_count > calls)
    run.send("1")
    await run.until(lambda: run.replayed_plan.entries[0].enabled is not is_on)
    run.send("question_mark")
    await run.until_open("help")
    run.send("escape")
    await run.until_open("session")


async def test_the_part_that_failed_says_so_and_comes_back_when_it_is_tried_again(
    running: Callable[..., Any], session_file: Recording
) -> None:
    used_without: set[str] = set()
    async with running(session_file.path) as run:
        for way, broken in WAYS.items():
            run.focus_part(broken.part)
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(f"inspector.ui.{broken.what}", fail)
                for key in broken.keys:
                    if key == "wheel":
                        run.send_mouse("wheel down", 0.5, 0.15)
                    else:
                        run.send(key)
                await until_told(run)
                assert run.failed_parts == {broken.part}, way
                assert not run.is_over, way
                noted = failures_log().read_text()
                assert f"in fail\n    raise RuntimeError(REASON)\nRuntimeError: {REASON}" in noted, way
                assert noted.count("Traceback") == 1, way

                if broken.part not in used_without:
                    used_without.add(broken.part)
                    await use(run, session_file)
                    assert run.failed_parts == {broken.part}, way

            failures_log().unlink()
            run.focus_part(broken.part)
            await run.press("enter")
            await run.until(lambda: not run.failed_parts)
            await run.until_shown(broken.shows)
            assert TOLD not in run.text(), way
            assert not run.stale_lines(), way
            run.check_figures()


async def test_a_part_that_fails_again_says_so_again_and_a_click_tries_it_too(
    running: Callable[..., Any], session_file: Recording, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running(session_file.path) as run:
        with monkeypatch.context() as patch:
            patch.setattr("inspector.ui.timeline.widget.Timeline.on_mount", fail)
            patch.setattr("inspector.ui.timeline.widget.Timeline.draw_line", fail)
            run.send("up")
            for _ in range(2):
                await until_told(run)
                await run.click(TOLD)
            await until_told(run)
            assert run.failed_parts == {"timeline"}
        await run.click(TOLD)
        await run.until_shown("The guard")
        assert not run.failed_parts


async def test_a_change_while_a_part_is_rebuilt_is_shown_once_it_is_there(
    running: Callable[..., Any], session_file: Recording, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running(session_file.path) as run:
        run.focus_part("plan")
        with monkeypatch.context() as patch:
            patch.setattr("inspector.ui.plan.panel.PlanPanel.on_descendant_focus", fail)
            run.send("down")
            await until_told(run)

        late = composed_after(lambda: run.publish(Change.RISKS))
        monkeypatch.setattr("inspector.ui.plan.panel.PlanPanel.compose", late)
        failures_log().unlink()
        await run.press("enter")
        await run.until(lambda: not run.failed_parts)
        await run.until_shown("tiered-stale")
        assert not failures_log().exists()


@pytest.mark.parametrize("keys", [("pageup", "up"), ("end",)])
async def test_rows_that_are_rebuilt_have_the_cursor_where_it_was(
    running: Callable[..., Any], session_file: Recording, monkeypatch: pytest.MonkeyPatch, keys: tuple[str, ...]
) -> None:
    async with running(session_file.path) as run:
        await run.press(*keys)
        row, is_followed = run.timeline.cursor_row, run.timeline.is_followed
        with monkeypatch.context() as patch:
            patch.setattr("inspector.ui.main.timeline_pane.TimelinePane.name_rows", fail)
            run.publish(Change.OUTCOME)
            await until_told(run)
        session_file.turn()
        await run.until(lambda: run.history.call_count == 31)
        await run.press("enter")
        await run.until(lambda: not run.failed_parts and run.timeline.view is not None)
        await run.settled()
        assert run.timeline.is_followed is is_followed
        assert run.timeline.cursor_row == (run.timeline.count - 1 if is_followed else row)


async def test_a_part_that_cannot_be_made_leaves_the_others(
    running: Callable[..., Any], session_file: Recording, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("inspector.ui.timeline.widget.Timeline.__init__", fail)
        async with running(session_file.path) as run:
            assert run.failed_parts == {"timeline"}
            await run.press("1")
            assert run.replayed_plan.entries[0].enabled
            patch.undo()
            run.focus_part("timeline")
            await run.press("enter")
            await run.until_shown("The guard")


async def test_what_waits_for_a_frame_is_done_though_something_else_that_waited_fails(
    running: Callable[..., Any], session_file: Recording, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[bool] = []
    async with running(session_file.path) as run:
        run.open_plan()
        await run.pause()
        monkeypatch.setattr("inspector.ui.plan.panel.PlanList.scroll_to_focus", fail)
        run.after_frame(run.keep_entries_in_sight)
        run.after_frame(lambda: done.append(True))
        await until_told(run)
        assert done
        assert run.failed_parts == {"plan"}


STUDIES = {
    "compare": ("c", "inspector.ui.compare.screen.CompareScreen.show_outcome"),
    "tune": ("t", "inspector.ui.tune.screen.TuneScreen.show_outcome"),
    "a dialog": ("g t", "inspector.ui.dialogs.ValueDialog.on_mount"),
    "a dialog's widgets": ("g t", "inspector.ui.dialogs.framed"),
    "what is drawn in a study": ("v", "inspector.ui.figure_table.widget.FigureTable.draw_line"),
}


async def test_a_screen_over_the_session_that_fails_is_closed_with_a_word_why(
    running: Callable[..., Any], session_file: Recording
) -> None:
    async with running(session_file.path, size=(80, 24)) as run:
        for name, (key, what) in STUDIES.items():
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(what, fail)
                for each in key.split():
                    run.send(each)
                await run.until(lambda: failures_log().exists() and run.on_top == "session")
                assert REASON in failures_log().read_text(), name
            told = f"failed and was closed: RuntimeError: {REASON}; details in"
            await run.until(partial(is_told_last, run, told))
            failures_log().unlink()

            is_on = run.plan.entries[0].enabled
            await run.press("1")
            assert run.replayed_plan.entries[0].enabled is not is_on, name
            for each in key.split():
                run.send(each)
            await run.until(lambda: run.on_top not in ("session", "menu"))
            run.send("escape")
            await run.until_open("session")
            assert not failures_log().exists(), name


BREAKING = """
import sys
from inspector.cli import main
from inspector.ui.timeline.widget import Timeline

draw, left = Timeline.draw_line, [True]

def draw_line(self, line, width):
    if left and self.cursor >= 0 and self.is_wanted:
        left.clear()
        raise LookupError("no such thing")
    return draw(self, line, width)

def fold(self, *_):
    self.is_wanted = True
    self.forget_lines()

Timeline.is_wanted = False
Timeline.draw_line, Timeline.action_fold = draw_line, fold
sys.exit(main(sys.argv[1:]))
"""


def test_in_a_terminal_a_part_that_failed_reports_it_in_its_place_alone(tmp_path: Path) -> None:
    sample = ROOT / "sample_sessions" / "terminal-agent.jsonl"
    with TerminalProgram(tmp_path, "-c", BREAKING, str(sample), command=(sys.executable,)) as program:
        program.until(lambda: "Cost $0.20" in program.text, "the costs")
        program.press("left", shows="this part failed: LookupError: no such thing")
        assert "Traceback" not in program.text
        assert b"Traceback" not in program.written
        log = tmp_path / "STATE" / "inspector" / "failures.log"
        assert log.read_text().count("Traceback") == 1
        program.press("enter", hides="this part failed")
        program.press("q")
        program.until(lambda: not program.child.isalive(), "the end")
        assert b"Traceback" not in program.written


async def test_parts_that_were_to_be_made_for_a_session_closed_meanwhile_have_not_failed() -> None:
    class Closed(FailSafePane):
        async def open(self) -> None:
            await self.mount(Widget())

    part = Closed()
    await part.begin()
    assert not part.has_failed
    assert not failures_log().exists()
