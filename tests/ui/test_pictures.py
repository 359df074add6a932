import xml.etree.ElementTree as ElementTree
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.errors import SessionError
from inspector.settings import Settings
from inspector.ui.headless import running_session
from inspector.ui.picture_masking import SIGN
from inspector.ui.screenshots import (
    PictureSubject,
    picture_of_screen,
    problem_with_picture,
    suggested_path,
)
from tests.report.planted_secrets import KINDS, Draw

WHEN = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)


def text_of(picture: str) -> str:
    return " ".join(ElementTree.fromstring(picture).itertext()).replace("\N{NO-BREAK SPACE}", " ")  # noqa: S314


@pytest.mark.parametrize("theme", ["dark", "light", "ansi"])
async def test_a_picture_is_svg_that_fetches_nothing(session_file, theme: str) -> None:
    async with running_session(session_file.path, None, (120, 36), Settings(theme=theme)) as pilot:
        picture = picture_of_screen(pilot.app)

    assert "Timeline" in text_of(picture)
    assert "http" not in picture.replace("http://www.w3.org/2000/svg", "").replace("https://www.textualize.io", "")


async def test_a_session_that_is_none_cannot_be_shown_without_a_terminal_either(tmp_path: Path) -> None:
    with pytest.raises(SessionError, match="does not exist"):
        async with running_session(tmp_path / "absent.jsonl", None, (120, 36), Settings()):
            pass


async def test_the_key_saves_the_screen_as_it_was_before_the_dialog_and_reports_what_would_be_replaced(
    running, session_file, tmp_path: Path
) -> None:
    target = tmp_path / "pictures" / "mine"
    async with running(session_file.path) as run:
        chart = text_of(run.chart.picture((60, 9), "title"))
        for key, name in (("p", "there.svg"), ("w", "there.html")):
            (tmp_path / name).touch()
            await run.tap("w", key)
            await run.until(lambda: run.has_line)
            run.line = str(tmp_path / name)
            await run.until_shown("overwrites ")
            run.line = ""
            await run.until_shown("that is not a valid file name")
            await run.tap("escape")
            await run.until_open("session")
        await run.tap("w", "p")
        await run.pause()
        assert "-screen-" in run.line
        await run.tap("tab")
        assert "-chart-" in run.line
        await run.tap("escape")
        await run.until_open("session")
        await run.tap("w", "p")
        await run.pause()
        run.line = str(target)
        await run.tap("enter")
        await run.until(lambda: target.with_suffix(".svg").exists())

    shown = text_of(target.with_suffix(".svg").read_text())
    assert "Plan A" in shown
    assert "Save a picture" not in shown
    assert "call 1" in chart
    assert "Timeline" not in chart


async def test_a_picture_is_masked_unless_the_screen_is_wanted_as_it_is(running, session_file, tmp_path: Path) -> None:
    secret = KINDS["GitHub"](Draw(2)).secret
    session_file.turn(result=f"cloned with {secret} as ever\n" * 3)
    shown = []
    async with running(session_file.path) as run:
        for place, turns in enumerate(((), ("tab", "tab"))):
            await run.tap("w", "p")
            await run.pause()
            target = tmp_path / f"{place}.svg"
            await run.tap(*turns)
            run.line = str(target)
            await run.tap("enter")
            await run.until(target.exists)
            shown.append(text_of(target.read_text()))

    masked, as_it_is = shown
    assert secret[:12] in as_it_is
    assert secret[:6] not in masked
    assert f"cloned with {SIGN * 6}" in masked


def test_a_suggested_name_tells_no_secret_and_no_user(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/grace")
    secret = KINDS["GitHub"](Draw(2)).secret
    path = suggested_path(Path(f"{secret} of grace.jsonl"), PictureSubject.SCREEN, WHEN, Path("/pictures"))

    assert path.name == "token-masked-of-user-screen-20260304-050607.svg"


def test_a_session_is_never_written_over(session_file) -> None:
    assert "is not a .svg file" in problem_with_picture(str(session_file.path))
    renamed = session_file.path.with_suffix(".svg")
    session_file.path.rename(renamed)

    assert "never overwritten" in problem_with_picture(str(renamed))


@given(st.text(min_size=1))
def test_a_suggested_name_is_one_plain_file_name(name: str) -> None:
    path = suggested_path(Path(name), PictureSubject.SCREEN, WHEN, Path("/pictures"))

    assert path.parent == Path("/pictures")
    assert path.name.endswith("-screen-20260304-050607.svg")
    assert path.name.isprintable()
