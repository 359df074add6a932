import re
from dataclasses import replace

import numpy as np
import pytest
from rich.color import Color
from textual.app import ComposeResult

from inspector.replay.cache.miss_causes import MissCause
from inspector.ui.chart.view import ChartSeries, MarkedMiss
from inspector.ui.chart.widget import ContextChart
from inspector.ui.themes import ThemedApp
from tests.conftest import ROOT

SERIES = ChartSeries(np.arange(1, 101, dtype=np.int64) * 1000, np.arange(1, 101, dtype=np.int64) * 600, 120_000)


class ChartApp(ThemedApp):
    def __init__(self, series: ChartSeries | None) -> None:
        super().__init__()
        self.series = series
        self.selected: list[int] = []

    def compose(self) -> ComposeResult:
        chart = ContextChart()
        chart.styles.height = 8
        chart.series = self.series
        yield chart

    def on_mount(self) -> None:
        self.chart.focus()

    def on_context_chart_call_selected(self, message: ContextChart.CallSelected) -> None:
        self.selected.append(message.call)
        if message.chart.series is not None:
            message.chart.series = replace(message.chart.series, cursor=message.call)

    @property
    def chart(self) -> ContextChart:
        return self.query_one(ContextChart)


def shown(chart: ContextChart) -> list[str]:
    return [chart.render_line(y).text for y in range(chart.size.height)]


def distance(one: Color | None, other: Color | None) -> int:
    assert one is not None
    assert other is not None
    return max(abs(a - b) for a, b in zip(one.get_truecolor(), other.get_truecolor(), strict=True))


async def test_keys_ask_for_the_calls_around_the_one_looked_at() -> None:
    app = ChartApp(SERIES)
    async with app.run_test(size=(80, 12)) as pilot:
        for key in ("left", "left", "shift+left", "right", "end", "right", "home", "left"):
            await pilot.press(key)
            await pilot.pause()
        assert app.selected == [99, 98, 88, 89, 100, 100, 0, 0]


async def test_a_click_asks_for_the_call_under_it() -> None:
    app = ChartApp(SERIES)
    async with app.run_test(size=(105, 12)) as pilot:
        await pilot.click(ContextChart, offset=(5, 3))
        await pilot.click(ContextChart, offset=(54, 3))
        await pilot.click(ContextChart, offset=(104, 3))
        await pilot.click(ContextChart, offset=(0, 3))
        assert app.selected == [0, 49, 99, 0]


async def test_a_drag_asks_for_every_call_it_passes_until_it_ends() -> None:
    app = ChartApp(SERIES)
    async with app.run_test(size=(105, 12)) as pilot:
        await pilot.mouse_down(ContextChart, offset=(15, 3))
        await pilot.hover(ContextChart, offset=(25, 3))
        await pilot.mouse_up(ContextChart, offset=(25, 3))
        await pilot.hover(ContextChart, offset=(45, 3))
        assert app.selected == [10, 20]


async def test_the_call_looked_at_is_marked_and_the_next_one_is_not() -> None:
    app = ChartApp(replace(SERIES, cursor=50))
    async with app.run_test(size=(80, 12)) as pilot:
        assert sum("◆" in row for row in shown(app.chart)) == 1
        app.chart.series = replace(SERIES, cursor=100)
        await pilot.pause()
        assert not any("◆" in row for row in shown(app.chart))


@pytest.mark.parametrize("size", [(12, 3), (40, 3), (80, 6), (200, 12)])
async def test_every_strip_is_as_wide_as_the_chart_and_has_a_background(size: tuple[int, int]) -> None:
    app = ChartApp(
        replace(
            SERIES,
            compactions=(30,),
            misses=tuple(MarkedMiss(call, MissCause.PLAN_EDIT) for call in (7, 60)),
            cursor=70,
        )
    )
    async with app.run_test(size=(size[0], 20)) as pilot:
        app.chart.styles.height = size[1]
        await pilot.pause()
        assert app.chart.size.height == size[1]
        for y in range(size[1]):
            strip = app.chart.render_line(y)
            assert sum(segment.cell_length for segment in strip) == size[0]
            for segment in strip:
                assert not re.search("[\x00-\x1f\x7f-\x9f]", segment.text)
                assert segment.style is not None
                assert segment.style.bgcolor is not None


async def test_without_colours_what_was_recorded_has_a_glyph(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    app = ChartApp(SERIES)
    async with app.run_test(size=(80, 12)):
        assert any("░" in row for row in shown(app.chart)[:-1])
        assert any(":" in row for row in shown(app.chart)[:-1])


async def test_the_chart_is_redrawn_when_the_colours_become_the_terminals_own() -> None:
    app = ChartApp(SERIES)
    async with app.run_test(size=(80, 12)) as pilot:
        assert not any(":" in row for row in shown(app.chart))
        app.theme = "inspector-ansi"
        await pilot.pause()
        assert any(":" in row for row in shown(app.chart)[:-1])


@pytest.mark.parametrize("theme", ["dark", "light", "contrast", "colour-blind"])
async def test_what_was_recorded_is_of_one_colour_and_another_than_what_is_sent(theme: str) -> None:
    app = ChartApp(replace(SERIES, cursor=90))
    async with app.run_test(size=(80, 12)) as pilot:
        app.theme = f"inspector-{theme}"
        await pilot.pause()
        style = app.chart.get_component_rich_style
        for later in ("", "-later"):
            assert style(f"chart--recorded{later}").color == style(f"chart--edge{later}").bgcolor
            assert distance(style(f"chart--planned{later}").color, style(f"chart--edge{later}").color) <= 2
            for whole in ("recorded", "grown"):
                seen = style(f"chart--{whole}-whole{later}")
                assert seen.color == seen.bgcolor == style(f"chart--{whole}{later}").color
            assert style(f"chart--grown{later}").color == style(f"chart--grown-edge{later}").bgcolor
            assert len({style(f"chart--{name}{later}").color for name in ("planned", "recorded")}) == 2
        assert style("chart--cursor-edge").bgcolor == style("chart--edge").bgcolor


async def test_without_calls_nothing_is_asked_for() -> None:
    for series in (None, ChartSeries(np.zeros(0, dtype=np.int64))):
        app = ChartApp(series)
        async with app.run_test(size=(40, 10)) as pilot:
            await pilot.press("left", "right", "home", "end")
            await pilot.click(ContextChart, offset=(20, 2))
            assert app.selected == []


async def test_estimated_prompts_are_marked_next_to_the_fill_and_in_a_low_frame(running) -> None:
    unreported = ROOT / "sample_sessions" / "local-agent.json"
    async with running(unreported, size=(80, 24)) as run:
        await run.press("z", "s")
        await run.until_shown("Timeline, largest first · next prompt: ~")
        await run.resize(120, 36)
        await run.until_shown("next prompt ~15k")


async def test_a_next_prompt_over_the_window_says_so_in_the_frame(running, session_file) -> None:
    session_file.say("a line of a log\n" * 60_000)
    async with running(session_file.path, size=(120, 36)) as run:
        await run.until_shown(", over the window ~200k ─")
