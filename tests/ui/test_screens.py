"""Whole screens as stored text: a diff shows the effect of a change on the layout."""

import os
from contextlib import suppress
from pathlib import Path

import pytest
import textual

from inspector.settings import Settings
from tests.hostile import hostile_copy
from tests.ui.facade import Running, stop_clock
from tests.ui.test_themes import contrast

GOLDEN = Path(__file__).parent / "screens"
DRAWN_WITH = "8.2."
"""The version of Textual the screens were drawn with; another one may lay them out differently."""

WELL_READ = 4.5

LEAST_CONTRAST = 3.0

NOW = 1_777_900_000.0

SECONDS_TO_DIFFER = 30
"""After which a screen that is not as it was kept is another one."""

pytestmark = pytest.mark.skipif(
    not textual.__version__.startswith(DRAWN_WITH), reason=f"the screens were drawn with Textual {DRAWN_WITH}x"
)


async def compare(run: Running, name: str) -> None:
    path = GOLDEN / name
    kept = path.read_text(encoding="utf-8") if path.exists() else ""
    with suppress(AssertionError):
        await run.until(lambda: shown_by(run) == kept, SECONDS_TO_DIFFER)
    text = shown_by(run)
    if os.environ.get("INSPECTOR_UPDATE_GOLDEN"):
        path.write_text(text, encoding="utf-8")

    assert text == path.read_text(encoding="utf-8"), "read the difference; INSPECTOR_UPDATE_GOLDEN=1 keeps it"


def shown_by(run: Running) -> str:
    return "\n".join(line.rstrip() for line in run.text().split("\n")) + "\n"


@pytest.fixture
def old_session(session_file, monkeypatch) -> Path:
    os.utime(session_file.path, (NOW - 3 * 86_400, NOW - 3 * 86_400))
    stop_clock(monkeypatch, NOW)
    return session_file.path


@pytest.mark.parametrize(
    ("name", "size", "keys"),
    [
        ("120x36.txt", (120, 36), ("1", "g", "x", "n", "p", "down")),
        ("80x24.txt", (80, 24), ("1", "g", "x", "n")),
        ("80x24-plan.txt", (80, 24), ("1", "p", "down", "down")),
        ("120x36-help.txt", (120, 36), ("question_mark",)),
        ("200x60.txt", (200, 60), ("1", "g", "x", "n", "p", "down")),
    ],
)
async def test_the_screen_is_laid_out_as_kept(
    running, old_session: Path, name: str, size: tuple[int, int], keys: tuple[str, ...]
) -> None:
    async with running(old_session, size=size) as run:
        for key in keys:
            await run.press(key)
        await run.until(lambda: run.risks is None or run.risks.needed is not None)
        run.forget_notice()
        await compare(run, name)


async def test_without_colour_the_same_is_shown(running, old_session: Path, monkeypatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    async with running(old_session, size=(120, 36)) as run:
        for key in ("1", "g", "x", "n", "p", "down"):
            await run.press(key)
        await run.until(lambda: run.knows_needed)
        run.forget_notice()
        await compare(run, "120x36-no-color.txt")


async def test_an_empty_session_says_what_will_happen(running, tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    path.write_text('{"type":"summary","summary":"Nothing yet","leafUuid":"a"}\n')
    async with running(path, size=(80, 24), ready=False) as run:
        await run.until_shown("Rows appear as the agent writes them.")


async def test_a_hostile_session_is_laid_out_as_kept(running, old_session: Path) -> None:
    path = hostile_copy(old_session, old_session.with_name("hostile.jsonl"))
    os.utime(path, (NOW - 3 * 86_400, NOW - 3 * 86_400))
    async with running(path, size=(120, 36)) as run:
        await run.press("home", "down")
        await run.until(lambda: run.best_so_far is not None and run.best_so_far.is_complete)
        await run.pause()
        run.forget_notice()
        await compare(run, "120x36-hostile.txt")


async def test_every_letter_is_distinct_from_what_is_behind_it(running, session_file) -> None:
    async with running(session_file.path) as run:
        await run.press("1")
        await run.press("g", "x", "p", "down")
        seen = set()
        for theme in ("dark", "light", "contrast", "colour-blind"):
            run.use_theme(theme)
            await run.pause()
            ratios = {pair: contrast(*pair) for pair in run.colors()}
            seen.add(frozenset(ratios))
            assert not {pair: ratio for pair, ratio in ratios.items() if ratio < LEAST_CONTRAST}, theme
        assert len(seen) == 4


async def test_figures_and_what_is_assumed_of_them_can_be_read_by_everybody(running, session_file) -> None:
    async with running(session_file.path, size=(120, 40)) as run:
        await run.press("1")
        themes = ["light", "contrast"]
        for keys in (("dollar_sign",), ("g", "a"), ("down", "down"), ("g", "f"), ("c",)):
            await run.tap(*keys)
            await run.settled()
            themes.reverse()  # from the second screen on, begins with the one that is on
            for theme in themes:
                run.use_theme(theme)
                await run.pause()
                ratios = {pair: contrast(*pair) for pair in run.colors()}
                assert not {pair: ratio for pair, ratio in ratios.items() if ratio < WELL_READ}, (keys, theme)


async def test_the_terminals_own_colours_are_all_that_is_used(running, session_file) -> None:
    async with running(session_file.path, settings=Settings(theme="ansi")) as run:
        await run.press("1")
        await run.press("g", "x", "p", "down")
        used = {name for pair in run.colors() for name in pair}
        assert not [name for name in used if name.startswith("#")]
