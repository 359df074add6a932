"""Save files to disk, or send them as downloads to the browser that shows the screen."""

from __future__ import annotations

import io
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    from textual.app import App

_NOT_IN_NAMES = re.compile(r"[^\w.-]+")
"""The name is sent to the browser in an HTTP header."""
LONGEST_STEM = 24
"""Long enough to identify a session, and short enough that the saved path fits into 80 columns."""


def file_stem(session: Path) -> str:
    """Return the first part of the name of a file about a session. Secrets and user names are left out."""
    # Importing it compiles all secret patterns, which would delay the first paint.
    from inspector.report.path_redaction import shown_name

    stem = _NOT_IN_NAMES.sub("-", shown_name(session.name.partition(".")[0])).strip("-.") or "session"
    whole_words = stem[: LONGEST_STEM + 1].rpartition("-")[0]
    return stem if len(stem) <= LONGEST_STEM else whole_words or stem[:LONGEST_STEM]


def display_path(path: Path) -> str:
    """Return the path with the home folder shortened to `~`."""
    from inspector.report.path_redaction import without_home

    return without_home(str(path))


def deliver_in_browser(app: App[Any], text: str, path: Path, mime_type: str = "text/plain") -> bool:
    """Send a text to the browser as a download, if a browser shows the screen.

    Args:
        app: The app.
        text: The content.
        path: File name suggested to the browser, with the path it would have on disk.
        mime_type: MIME type.

    Returns:
        False if no browser shows the screen, so the caller has to write the file.
    """
    if not app.is_web:
        return False
    name = _NOT_IN_NAMES.sub("-", path.name) or "inspector"
    app.deliver_text(io.StringIO(text), save_filename=name, mime_type=mime_type)
    return True
