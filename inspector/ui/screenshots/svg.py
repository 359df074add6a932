"""Pictures of the screen, and of the context chart alone, as SVG that fetches nothing when it is looked at."""

from __future__ import annotations

import io
import re
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from inspector.atomic_files import APPLICATION

if TYPE_CHECKING:
    from datetime import datetime
    from pathlib import Path

    from textual.app import App

    from inspector.ui.chart.widget import ContextChart

SUFFIX = ".svg"

CHART_SIZE = (120, 20)
"""Columns and rows of a picture of the chart alone."""

LONGEST_STEM = 60

_WEB_FONT = re.compile(r"\s*@font-face \{.*?\}", re.DOTALL)
_RICH_BACKGROUND = 'fill="#292929"'
"""What the frame around every picture is filled with, whatever the theme of what is in it."""


class PictureSubject(StrEnum):
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
    from inspector.ui.chart.drawing import draw_chart
    from inspector.ui.toolkit.line_view import strip_of

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


def suggested_path(session: Path, subject: PictureSubject, now: datetime, folder: Path | None = None) -> Path:
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
