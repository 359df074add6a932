"""Frame subtitles on screens of any width, and the look of folded controls."""

import pytest
from textual.app import App, ComposeResult
from textual.widgets import Static

from inspector.strategies.plan import Plan
from inspector.ui.plan.controls import FoldRow, ParameterControl
from inspector.ui.plan.panel import PlanPanel
from inspector.ui.toolkit.pane import Pane
from tests.ui.waiting import until

PHRASES = ("~ estimated or projected", "largest: 94,482 tokens at call 169 (P)", "tokens: calibrated by parent session")


class PaneApp(App[None]):
    def compose(self) -> ComposeResult:
        yield Pane("Window", Static("rows"), id="window")


@pytest.mark.parametrize(("width", "said"), [(120, 3), (100, 2), (80, 2), (66, 1), (40, 1), (20, 1)])
async def test_of_what_a_frame_says_below_whole_phrases_are_left_out_the_last_ones_first(width: int, said: int) -> None:
    async with PaneApp().run_test(size=(width, 10)) as pilot:
        pane = pilot.app.query_one(Pane)
        pane.set_subtitle(*PHRASES)
        assert str(pane.border_subtitle) == " · ".join(PHRASES[:said])


async def test_what_was_left_out_is_shown_once_there_is_room() -> None:
    async with PaneApp().run_test(size=(60, 10)) as pilot:
        pane = pilot.app.query_one(Pane)
        pane.set_subtitle("", *PHRASES)
        assert str(pane.border_subtitle) == PHRASES[0]
        await pilot.resize_terminal(120, 10)
        assert await until(pilot, lambda: str(pane.border_subtitle) == " · ".join(PHRASES))


class PlanApp(App[None]):
    def compose(self) -> ComposeResult:
        yield PlanPanel()


async def test_controls_that_were_folded_away_look_as_the_others_do_once_they_are_seen() -> None:
    on = Plan.from_specs(["tiered-stale"])
    async with PlanApp().run_test(size=(60, 80)) as pilot:
        panel = pilot.app.query_one(PlanPanel)
        await panel.show(on.toggled(0))
        fold, controls = panel.query_one(FoldRow), list(panel.query(ParameterControl))
        for plan, is_off in ((on, False), (on.toggled(0), True)):
            await panel.show(plan)
            fold.action_fold()
            assert await until(pilot, lambda: all(each.region.height for each in controls))
            assert {each.is_off for each in controls} == {is_off}
            fold.action_fold()
            assert await until(pilot, lambda: not all(each.region.height for each in controls))
