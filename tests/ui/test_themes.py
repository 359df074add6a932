from itertools import combinations

import pytest
from textual.app import ComposeResult
from textual.color import Color

from inspector.ui.themes import ANSI, CONTRAST, MEANINGS, THEME_WORDS, THEMES, ThemedApp
from inspector.ui.timeline.widget import Timeline

DRAWN = {name: theme for name, theme in THEMES.items() if theme is not ANSI}

# Machado, Oliveira, Fernandes 2009, severity 1.0: linear RGB as eyes without one kind of cone see it.
EYES = {
    "protanopia": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "deuteranopia": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.01182, 0.04294, 0.968881)),
    "tritanopia": ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.3039)),
}


def linear(part: float) -> float:
    return part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4


def luminance(color: Color) -> float:
    red, green, blue = (linear(part) for part in color.normalized)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    lower, upper = sorted(luminance(Color.parse(each)) for each in (one, other))
    return (upper + 0.05) / (lower + 0.05)


def seen(color: str, eyes: str) -> tuple[float, float, float]:
    parts = [linear(part) for part in Color.parse(color).normalized]
    mixed = [min(max(sum(a * b for a, b in zip(row, parts, strict=True)), 0.0), 1.0) for row in EYES[eyes]]
    x = 0.4124 * mixed[0] + 0.3576 * mixed[1] + 0.1805 * mixed[2]
    y = 0.2126 * mixed[0] + 0.7152 * mixed[1] + 0.0722 * mixed[2]
    z = 0.0193 * mixed[0] + 0.1192 * mixed[1] + 0.9505 * mixed[2]
    fx, fy, fz = (max(part, 1e-6) ** (1 / 3) for part in (x / 0.9505, y, z / 1.089))
    return 116 * fy - 16, 500 * (fx - fy), 200 * (fy - fz)


@pytest.mark.parametrize("name", DRAWN)
def test_text_can_be_read_on_every_background(name: str) -> None:
    theme = DRAWN[name]
    for background in (theme.background, theme.surface, theme.panel):
        assert contrast(theme.foreground, background) >= 7
        for color in (theme.primary, theme.accent, theme.success, theme.warning, theme.error):
            assert contrast(color, background) >= (4.5 if name != "colour-blind" else 3)


async def test_faint_text_can_be_read_on_every_background_and_under_the_cursor() -> None:
    for name, theme in DRAWN.items():
        app = ThemedApp()
        async with app.run_test():
            app.theme = theme.name
            found = app.get_css_variables()
        backgrounds = ("background", "surface", "panel", "primary-muted")
        muted, waiting = (Color.parse(found[each]) for each in ("text-muted", "text-disabled"))
        for background in (Color.parse(found[each]) for each in backgrounds):
            assert contrast(muted.hex, background.hex) >= 4.5, (name, background)
        for background in (Color.parse(found[each]) for each in backgrounds[:3]):
            assert contrast(waiting.hex, background.hex) >= 4.5, (name, background)


def test_the_contrast_theme_has_no_faint_text() -> None:
    for name in ("text-muted", "text-disabled", "border-blurred"):
        assert contrast(CONTRAST.variables[name], CONTRAST.background) >= (4.5 if name == "border-blurred" else 7)


@pytest.mark.parametrize("eyes", EYES)
def test_saved_cut_and_failed_are_distinguished_without_one_kind_of_cone(eyes: str) -> None:
    theme = THEMES["colour-blind"]
    for one, other in combinations((theme.success, theme.warning, theme.error), 2):
        distance = sum((a - b) ** 2 for a, b in zip(seen(one, eyes), seen(other, eyes), strict=True)) ** 0.5
        assert distance > 30, (one, other, distance)


def test_every_theme_is_described() -> None:
    assert list(THEME_WORDS) == list(THEMES)


@pytest.mark.parametrize("name", THEMES)
async def test_every_theme_draws_the_screen(running, session_file, name: str) -> None:
    async with running(session_file.path) as run:
        run.use_theme(name)
        await run.press("1")
        assert run.theme == THEMES[name].name
        assert "Timeline" in run.text()


async def test_what_is_reported_by_a_colour_has_one_in_every_theme_textuals_own_included() -> None:
    app = ThemedApp()
    for name in app.available_themes:
        app.set_reactive(ThemedApp.theme, name)
        assert MEANINGS.keys() <= app.get_css_variables().keys(), name


async def test_a_colour_a_theme_has_for_a_meaning_reaches_what_has_it(running, session_file, monkeypatch) -> None:
    monkeypatch.setitem(THEMES["dark"].variables, "cut", "#123456")
    async with running(session_file.path) as run:
        await run.press("1")
        assert "#123456" in run.all_colors()


@pytest.mark.parametrize("name", DRAWN)
async def test_rows_that_are_no_longer_sent_are_faint_and_can_be_read(name: str) -> None:
    class Rows(ThemedApp):
        def compose(self) -> ComposeResult:
            yield Timeline()

    app = Rows()
    async with app.run_test():
        app.theme = DRAWN[name].name
        timeline = app.query_one(Timeline)
        outside, usual = (
            timeline.get_component_rich_style(f"timeline--{each}").color for each in ("outside", "tokens")
        )
        behind = timeline.rich_style.bgcolor
        assert outside is not None
        assert usual is not None
        assert behind is not None
        back = behind.get_truecolor().hex

        assert contrast(outside.get_truecolor().hex, back) >= 4.5
        assert contrast(outside.get_truecolor().hex, back) < contrast(usual.get_truecolor().hex, back)
