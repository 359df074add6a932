"""Partial repaints leave the same screen as a full one."""

import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual._compositor import Compositor
from textual.app import App, ComposeResult
from textual.geometry import Region
from textual.screen import Screen
from textual.widgets import Static

from inspector.ui.performance.painting import (
    changed_widgets_compositor,
    paint_changed_widgets_only,
    visible_in,
)
from tests.terminal import TerminalProgram

SAMPLE = Path(__file__).parents[2] / "sample_sessions" / "coding-agent.jsonl"
EDGE = st.integers(0, 12)
REGIONS = st.builds(Region, EDGE, EDGE, st.integers(1, 12), st.integers(1, 12))


def cells(region: Region) -> set[tuple[int, int]]:
    return {(x, y) for x in region.column_range for y in region.line_range}


@given(st.lists(st.tuples(REGIONS, REGIONS), max_size=8), st.lists(REGIONS, max_size=4))
def test_whatever_shows_in_a_part_is_seen_and_nothing_that_does_not_reach_it(places, parts):
    widgets = dict(enumerate(places))

    seen = visible_in(widgets, parts)

    for part in parts:
        for cell in cells(part):
            reaching = (each for each, (region, clip) in widgets.items() if cell in cells(region.intersection(clip)))
            assert next(reaching, None) in {None, *seen}
    changed = set().union(*map(cells, parts))
    assert all(cells(region.intersection(clip)) & changed for region, clip in seen.values())
    assert list(seen) == [each for each in widgets if each in seen]


def test_what_a_part_hides_behind_one_widget_is_not_seen():
    whole, part = Region(0, 0, 20, 20), Region(3, 3, 4, 2)
    assert list(visible_in({"front": (whole, whole), "behind": (whole, whole)}, [part])) == ["front"]


class Asked(Static):
    """Notes that it was asked for its lines."""

    asked = 0

    def render_lines(self, crop):
        self.asked += 1
        return super().render_lines(crop)


class ThreeLines(Screen[None]):
    def __init__(self) -> None:
        super().__init__()
        assert paint_changed_widgets_only(self)

    def compose(self) -> ComposeResult:
        yield from (Asked(name, id=name) for name in ("first", "second", "third"))


@pytest.mark.paints
async def test_a_widget_between_two_that_changed_is_not_asked_for_its_lines():
    app = App[None]()
    async with app.run_test() as pilot:
        await app.push_screen(ThreeLines())
        await pilot.pause()
        first, second, third = app.screen.query(Asked)
        before = [each.asked for each in (first, second, third)]
        first.update("other")
        third.update("other")
        await pilot.pause()
        assert [each.asked - was for each, was in zip((first, second, third), before, strict=True)] == [1, 0, 1]


@pytest.mark.parametrize("lacking", ["the module", "an attribute", "the screen's own"])
async def test_where_textual_keeps_its_compositor_otherwise_all_widgets_are_asked_and_nothing_fails(
    lacking, monkeypatch
):
    changed_widgets_compositor.cache_clear()
    if lacking == "the module":
        monkeypatch.setitem(sys.modules, "textual._compositor", None)
    elif lacking == "an attribute":
        monkeypatch.delattr(Compositor, "visible_widgets")
    screen = Screen[None]()
    if lacking == "the screen's own":
        monkeypatch.delattr(screen, "_compositor")
    assert not paint_changed_widgets_only(screen)
    changed_widgets_compositor.cache_clear()


def test_the_terminal_shows_what_it_shows_once_everything_is_painted_again(tmp_path):
    with TerminalProgram(tmp_path, str(SAMPLE)) as program:
        program.until(lambda: "Cost $" in program.text, "a replay")
        program.press("1", shows="saves")
        for key in ("p", "down", "right", "right", "?", "escape", "v", "tab", "down", "[", "["):
            program.press(key)
            program.rest()
        program.press("escape", shows="up to call")
        program.rest()
        painted = program.picture()
        program.resize(100, 30)
        program.rest()
        program.resize(120, 36)
        program.until(lambda: program.picture() == painted, "the screen as it was")
