"""A screen has the classes of its size from the beginning, the same that Textual gives it with its first layout."""

from typing import Any

import pytest
from textual.app import App
from textual.geometry import Size
from textual.screen import Screen

from inspector.ui.session_screen import SessionScreen, size_classes

ACROSS, DOWN = SessionScreen.HORIZONTAL_BREAKPOINTS, SessionScreen.VERTICAL_BREAKPOINTS


class Measured(Screen[None]):
    HORIZONTAL_BREAKPOINTS = ACROSS
    VERTICAL_BREAKPOINTS = DOWN


class Bare(App[None]):
    def get_default_screen(self) -> Screen[Any]:
        return Measured()


@pytest.mark.parametrize(
    ("size", "classes"),
    [
        ((99, 31), ["-narrow", "-short"]),
        ((100, 49), ["-normal", "-medium"]),
        ((160, 50), ["-wide", "-tall"]),
    ],
)
async def test_the_classes_of_a_size_are_those_that_textual_gives(size: tuple[int, int], classes: list[str]) -> None:
    of_a_size = {name for _, name in (*ACROSS, *DOWN)}
    async with Bare().run_test(size=size) as pilot:
        await pilot.pause()
        given = of_a_size & pilot.app.screen.classes
    assert size_classes(Size(*size), ACROSS, DOWN) == classes
    assert given == set(classes)
