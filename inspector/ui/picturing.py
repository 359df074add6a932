"""The key that saves a picture, on whatever screen is shown."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from inspector.ui.delivery import deliver_in_browser
from inspector.ui.pictures import Subject, picture_of_chart, picture_of_screen, save_picture, suggested_path

if TYPE_CHECKING:
    from textual.app import App

    from inspector.ui.screens.inspect import InspectScreen


async def save_a_picture(app: App[Any], session_screen: InspectScreen | None) -> str:
    """Ask what to draw and where to, and save it.

    The screen is drawn first, so that the dialog is not on it.

    Args:
        app: The app.
        session_screen: The main screen, where a session is open.

    Returns:
        What to tell the user; empty when it was called off.

    Raises:
        OSError: The picture cannot be written.
    """
    from inspector.ui.screens.picture_dialog import PictureDialog

    pictures = {Subject.SCREEN: picture_of_screen(app)}
    if (
        session_screen is not None
        and session_screen.parts is not None
        and session_screen.parts.chart.series is not None
    ):
        title = session_screen.header.heading.title
        pictures[Subject.CHART] = picture_of_chart(session_screen.parts.chart, title=title)
    source = Path("sessions") if session_screen is None else session_screen.path
    now = datetime.now().astimezone()
    paths = {subject: suggested_path(source, subject, now) for subject in pictures}
    answer = await app.push_screen_wait(PictureDialog(paths))
    if answer is None:
        return ""
    subject, path = answer
    if deliver_in_browser(app, pictures[subject], path, "image/svg+xml"):
        return "picture sent to the browser"
    return f"picture saved to {save_picture(pictures[subject], path)}"
