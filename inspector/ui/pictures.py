"""Pictures of the screen, and of the context chart alone, as SVG that fetches nothing when it is looked at.

From a running app: `picture_of_screen(app)` and `picture_of_chart(chart, background)`. Without a terminal, for commands
and scripts: `await picture_of_session(path, plan, size=(120, 36), theme="dark", what=Subject.SCREEN)`, or
`running_session(path, plan, size)` for a pilot that presses keys before a picture is taken.
"""

from __future__ import annotations

import io
import re
from contextlib import asynccontextmanager
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from inspector.ui.settings import APPLICATION, Settings

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from datetime import datetime
    from pathlib import Path

    from textual.app import App
    from textual.pilot import Pilot

    from inspector.strategies.plan import Plan
    from inspector.ui.widgets.context_chart import ContextChart

SUFFIX = ".svg"

CHART_SIZE = (120, 20)
"""Columns and rows of a picture of the chart alone."""

SCREEN_SIZE = (120, 36)

LONGEST_STEM = 60

SECONDS_BETWEEN_LOOKS = 0.02
MOST_LOOKS = 15_000
"""Five minutes of looking before a session is taken never to be ready."""

_WEB_FONT = re.compile(r"\s*@font-face \{.*?\}", re.DOTALL)
_RICH_BACKGROUND = 'fill="#292929"'
"""What the frame around every picture is filled with, whatever the theme of what is in it."""


class Subject(StrEnum):
    """What there may be a picture of."""

    SCREEN = "screen"
    CHART = "chart"


def picture_of_screen(app: App[Any]) -> str:
    """The screen as it is, dialogs included.

    Args:
        app: A running app.

    Returns:
        An SVG document with a line end.
    """
    picture = app.export_screenshot(title=APPLICATION, simplify=True)
    return _without_fetching(picture, app.theme_variables.get("background", ""))


def picture_of_chart(chart: ContextChart, size: tuple[int, int] = CHART_SIZE, title: str = "Context") -> str:
    """The context chart alone, drawn anew in a size of its own with the colours it has on the screen.

    Args:
        chart: A chart with a series, in a running app.
        size: Columns and rows.
        title: What stands over it; may hold session text.

    Returns:
        An SVG document with a line end.

    Raises:
        ValueError: The chart has no series.
    """
    from rich.console import Console
    from rich.segment import Segment, Segments

    from inspector.safe_text import one_line
    from inspector.ui.chart_drawing import draw_chart
    from inspector.ui.widgets.line_view import strip_of

    if chart.series is None:
        raise ValueError("a chart without a series has nothing on it")
    width, height = size
    console = Console(
        width=width,
        height=height,
        file=io.StringIO(),
        force_terminal=True,
        color_system="truecolor",
        record=True,
        legacy_windows=False,
    )
    segments: list[Segment] = []
    for row in draw_chart(chart.series, width, height):
        parts = (
            (run.text, chart.get_component_rich_style(run.style) if run.style else chart.rich_style) for run in row
        )
        segments += [*strip_of(parts, width, chart.rich_style), Segment.line()]
    console.print(Segments(segments), end="")
    background = chart.app.theme_variables.get("background", "")
    return _without_fetching(console.export_svg(title=one_line(title)), background)


def _without_fetching(picture: str, background: str) -> str:
    """The picture in the reader's own fonts, in a frame of the theme's background."""
    picture = _WEB_FONT.sub("", picture).replace("Fira Code", "monospace")
    if re.fullmatch(r"#[0-9A-Fa-f]{6}", background):
        picture = picture.replace(_RICH_BACKGROUND, f'fill="{background}"')
    return f"{picture.rstrip()}\n"


def pictures_folder() -> Path:
    """Where pictures go unless the user says otherwise: never beside a session."""
    from platformdirs import user_data_path

    return user_data_path(APPLICATION) / "pictures"


def suggested_path(session: Path, subject: Subject, now: datetime, folder: Path | None = None) -> Path:
    """A file for a picture: named after the session, what is on it and the time.

    Args:
        session: The session's file; its name may hold anything a file system allows.
        subject: What is on the picture.
        now: The time.
        folder: Where it goes; the platform's own place where not given.
    """
    stem = re.sub(r"[^\w.-]+", "-", session.name.partition(".")[0]).strip("-.")[:LONGEST_STEM] or "session"
    return (folder or pictures_folder()) / f"{stem}-{subject}-{now:%Y%m%d-%H%M%S}{SUFFIX}"


def save_picture(picture: str, path: Path) -> Path:
    """Write a picture; the folder is made where there is none.

    Args:
        picture: An SVG document.
        path: Where; `.svg` is added to a name without an ending.

    Returns:
        What was written.

    Raises:
        OSError: The file cannot be written.
    """
    path = path.expanduser()
    path = path if path.suffix else path.with_suffix(SUFFIX)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(picture, encoding="utf-8")
    return path


@asynccontextmanager
async def running_session(
    session: Path, plan: Plan | None, size: tuple[int, int] = SCREEN_SIZE, settings: Settings | None = None
) -> AsyncIterator[Pilot[None]]:
    """The app on a session without a terminal, once everything is counted and replayed.

    Args:
        session: What is opened.
        plan: The plan to begin with; None for the one offered.
        size: Columns and lines.
        settings: Settings; the defaults, kept nowhere, where not given. The user's own are never read.

    Raises:
        SessionError: The session cannot be read.
        TimeoutError: It was never ready.
    """
    from inspector.ui.app import InspectorApp

    app = InspectorApp(session, plan=plan, settings=settings or Settings())
    async with app.run_test(size=size) as pilot:
        await settled(pilot)
        yield pilot


async def settled(pilot: Pilot[None]) -> None:
    """Wait until the newest plan has been replayed on exact counts, and shown.

    Raises:
        SessionError: The session cannot be read.
        TimeoutError: It never was.
    """
    from inspector.session.errors import SessionError
    from inspector.ui.screens.inspect import InspectScreen

    for _ in range(MOST_LOOKS):
        await pilot.pause(SECONDS_BETWEEN_LOOKS)
        screen = next((each for each in pilot.app.screen_stack if isinstance(each, InspectScreen)), None)
        if screen is not None and screen.state in ("failed", "waiting"):
            raise SessionError(screen.failure)
        if screen is None or screen.outcome is None or screen.table is None or screen.is_counting:
            continue
        if screen.outcome.replay.table is screen.table and screen.outcome.plan == screen.plan:
            await pilot.pause(5 * SECONDS_BETWEEN_LOOKS)
            return
    raise TimeoutError("the session was not ready in time")


async def picture_of_session(
    session: Path,
    plan: Plan | None,
    *,
    size: tuple[int, int] | None = None,
    theme: str = "dark",
    what: Subject = Subject.SCREEN,
    call: int | None = None,
) -> str:
    """A picture of a session as the app shows it, without a terminal.

    Args:
        session: What is opened.
        plan: The plan; None for the one offered.
        size: Columns and lines; as fits the subject where not given.
        theme: A theme's name in the settings.
        what: The screen, or the context chart alone.
        call: The call looked at, from 0; None for the next one, not yet made.

    Returns:
        An SVG document with a line end.

    Raises:
        SessionError: The session cannot be read.
        TimeoutError: It was never ready.
    """
    from inspector.ui.screens.inspect import InspectScreen

    shown = size if size is not None and what is Subject.SCREEN else SCREEN_SIZE
    async with running_session(session, plan, shown, Settings(theme=theme)) as pilot:
        screen = pilot.app.screen
        if call is not None and isinstance(screen, InspectScreen):
            screen.look_at(call)
            await pilot.pause(5 * SECONDS_BETWEEN_LOOKS)
        if what is Subject.CHART and isinstance(screen, InspectScreen) and screen.parts is not None:
            return picture_of_chart(screen.parts.chart, size or CHART_SIZE, screen.header.heading.title)
        return picture_of_screen(pilot.app)
