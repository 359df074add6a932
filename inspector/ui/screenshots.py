"""SVG pictures of the screen or of the context chart. Viewing them loads nothing from the network.

Pictures are meant to be shared: secrets and user names are masked unless the user turns masking off.
"""

from __future__ import annotations

import asyncio
import io
import re
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from textual.widget import Widget

from inspector.atomic_files import APPLICATION, write_user_file
from inspector.session.files import expand_user
from inspector.session.registry import problem_with_target
from inspector.ui.actions.action import bindings
from inspector.ui.actions.screens import PICTURE
from inspector.ui.dialogs import SaveChoice, SaveDialog
from inspector.ui.picture_masking import Area, masked_picture
from inspector.ui.served import deliver_in_browser, display_path, file_stem

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from textual.app import App
    from textual.binding import BindingType

    from inspector.report.secret_redaction import SecretRedactor
    from inspector.ui.chart.widget import ContextChart
    from inspector.ui.main.screen import InspectScreen


SUFFIX = ".svg"

CHART_SIZE = (120, 20)
"""Columns and rows of a picture of the chart."""

_WEB_FONT = re.compile(r"\s*@font-face \{.*?\}", re.DOTALL)
_RICH_BACKGROUND = 'fill="#292929"'
"""Fill of Rich's frame around the picture, independent of the theme."""


class PictureSubject(StrEnum):
    """Possible subjects of a picture."""

    SCREEN = "screen"
    CHART = "chart"
    SCREEN_AS_IT_IS = "screen-as-it-is"


def picture_of_screen(app: App[Any]) -> str:
    """Return the screen with its dialogs as an SVG document that ends with a newline.

    Args:
        app: A running app.
    """
    picture = app.export_screenshot(title=APPLICATION, simplify=True)
    return _without_fetching(picture, app.theme_variables.get("background", ""))


def masking_of_screen(app: App[Any], picture: str) -> Callable[[SecretRedactor], str]:
    """Capture the screen, and return a function that masks secrets and user names in its picture.

    Args:
        app: A running app.
        picture: Picture of its screen.

    Returns:
        Function from a redactor to an SVG document. It takes up to a second and may run in a thread.
    """
    areas, behind = tuple(_areas(app)), _texts_behind(app)
    return lambda redactor: masked_picture(picture, areas, redactor, behind())


def _areas(app: App[Any]) -> Iterator[Area]:
    """Yield the areas of the widgets on the screen that show text."""
    from inspector.ui.detail.widget import Detail

    for screen in app.screen_stack:
        for widget in screen.walk_children(Widget):
            region = widget.scrollable_content_region
            if region and not widget.is_container:
                # The detail pane puts a sign in front of each line.
                left = region.x + isinstance(widget, Detail)
                yield Area(left, region.y, region.right, region.bottom)


def _texts_behind(app: App[Any]) -> Callable[[], list[str]]:
    """Return a function that reads the session texts that are partly visible on the screen."""
    from inspector.report.secret_redaction import LOOKED_AT
    from inspector.session.model import TextUnavailableError, session_name

    screen = session_screen_of(app)
    session = None if screen is None else screen.controller.session
    view = None if screen is None else screen.timeline.view
    if screen is None or session is None or view is None:
        return list
    timeline, detail = screen.timeline.timeline, screen.detail.detail
    lines = range(timeline.first_line, min(timeline.first_line + timeline.page_height, view.count))
    rows = [view.row_at(line) for line in lines]
    blocks = [session.blocks[int(view.rows.block[row])] for row in rows if view.rows.is_block[row]]
    shown = [session_name(session), *(view.preview(row) for row in rows)]
    if detail is not None:
        shown.append(detail.document.whole())

    def texts() -> list[str]:
        found = list(shown)
        for block in blocks:
            try:
                found.append(session.text(block)[:LOOKED_AT])
            except TextUnavailableError:
                found.append(block.preview)
        return found

    return texts


def session_screen_of(app: App[Any]) -> InspectScreen | None:
    """Return the main screen of the open session, even below other screens; None if there is none."""
    from inspector.ui.main.screen import InspectScreen

    return next((each for each in app.screen_stack if isinstance(each, InspectScreen)), None)


def picture_of_chart(chart: ContextChart, size: tuple[int, int] = CHART_SIZE, title: str = "Context") -> str:
    """Redraw the context chart in the given size, in its colors on the screen.

    Args:
        chart: A chart with a series, in a running app.
        size: Columns and rows.
        title: Title; may hold session text.

    Returns:
        An SVG document that ends with a newline.

    Raises:
        ValueError: The chart has no series.
    """
    from rich.console import Console
    from rich.segment import Segment, Segments

    from inspector.safe_text import one_line
    from inspector.ui.chart.drawing import draw_chart
    from inspector.ui.toolkit.line_view import strip_of

    if chart.series is None:
        raise ValueError("cannot draw a chart without data")
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
    for row in draw_chart(chart.series, width, height, by_glyph=chart.by_glyph):
        parts = (
            (run.text, chart.get_component_rich_style(run.style) if run.style else chart.rich_style) for run in row
        )
        segments += [*strip_of(parts, width, chart.rich_style), Segment.line()]
    console.print(Segments(segments), end="")
    background = chart.app.theme_variables.get("background", "")
    return _without_fetching(console.export_svg(title=one_line(title)), background)


def _without_fetching(picture: str, background: str) -> str:
    """Replace web fonts with the reader's own, and use the theme's background for the frame."""
    picture = _WEB_FONT.sub("", picture).replace("Fira Code", "monospace")
    if re.fullmatch(r"#[0-9A-Fa-f]{6}", background):
        picture = picture.replace(_RICH_BACKGROUND, f'fill="{background}"')
    return f"{picture.rstrip()}\n"


def pictures_folder() -> Path:
    """Return the default folder for pictures, never the folder of a session."""
    from platformdirs import user_data_path

    return user_data_path(APPLICATION) / "pictures"


def suggested_path(session: Path, subject: PictureSubject, now: datetime, folder: Path | None = None) -> Path:
    """Suggest a file for a picture, named after the session, the subject and the time.

    Args:
        session: The session's file; its name may hold any character.
        subject: Subject of the picture.
        now: Time in the file name.
        folder: Target folder; by default `pictures_folder`.
    """
    return (folder or pictures_folder()) / f"{file_stem(session)}-{subject}-{now:%Y%m%d-%H%M%S}{SUFFIX}"


WORDS = {
    PictureSubject.SCREEN: "the screen, secrets masked",
    PictureSubject.CHART: "the context chart only",
    PictureSubject.SCREEN_AS_IT_IS: "the screen, unmasked",
}

HELP = "An SVG picture for any browser. Masking hides detected secrets and user names; check it before you share it."


class PictureDialog(SaveDialog):  # its bindings have their own names in keymaps
    """Dialog for the subject and the path of a picture."""

    BINDINGS: ClassVar[list[BindingType]] = bindings(PICTURE)

    def __init__(self, paths: Mapping[PictureSubject, Path]) -> None:
        """Create the dialog.

        Args:
            paths: Available subjects, each with its suggested path.
        """
        subjects = [SaveChoice(WORDS[subject], HELP, path) for subject, path in paths.items()]
        super().__init__("Save a picture", "of", subjects, problem_with_picture, turns="tab switches")


def problem_with_picture(text: str) -> str:
    """Return why the picture cannot be saved at this path, or an empty string."""
    if not text.strip():
        return "is not a valid file name"
    path = expand_user(text)
    if path.suffix.lower() not in ("", SUFFIX):
        return f"is not a {SUFFIX} file"
    return problem_with_target(path)


async def save_a_picture(app: App[Any]) -> str:
    """Let the user choose a subject and a path, and save a picture.

    The screen is captured first so that the dialog is not in it.

    Args:
        app: The app.

    Returns:
        Message for the user; empty if cancelled.

    Raises:
        OSError: The picture cannot be written.
    """
    as_it_is = picture_of_screen(app)
    masking = masking_of_screen(app, as_it_is)
    screen = session_screen_of(app)
    chart = None if screen is None else screen.chart.chart
    title = "" if screen is None else screen.header.heading.title
    subjects = list(PictureSubject)
    if chart is None or chart.series is None:
        subjects.remove(PictureSubject.CHART)
    source = Path("sessions") if screen is None else screen.controller.path
    now = datetime.now().astimezone()
    answer = await app.push_screen_wait(PictureDialog({each: suggested_path(source, each, now) for each in subjects}))
    if answer is None:
        return ""
    subject, path = subjects[answer[0]], answer[1]
    picture = as_it_is
    if subject is not PictureSubject.SCREEN_AS_IT_IS:
        redactor = await asyncio.to_thread(_best_redactor)
        if chart is not None and subject is PictureSubject.CHART:
            picture = picture_of_chart(chart, title=redactor(title))
        else:
            picture = await asyncio.to_thread(masking, redactor)
    if deliver_in_browser(app, picture, path, "image/svg+xml"):
        return "picture sent to the browser"
    path.parent.mkdir(parents=True, exist_ok=True)
    write_user_file(path, picture.encode())
    return f"picture saved to {display_path(path)}"


def _best_redactor() -> SecretRedactor:
    """Return the best installed detector of secrets. The built-in rules always apply."""
    from inspector.report.secret_redaction import SecretRedactor

    return SecretRedactor(needs_detector=False)
