"""Files the user saves: written where they say, or handed to the browser that shows the screen."""

from __future__ import annotations

import io
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    from textual.app import App

_NOT_IN_NAMES = re.compile(r"[^\w.-]+")
"""A browser is told the name in a header."""
LONGEST_STEM = 24
"""Enough of an id to know it by; the whole path of what is saved is to fit a line of 80 columns."""


def file_stem(session: Path) -> str:
    """How the name of a file about a session may begin, whatever its own name holds; secrets and users left out."""
    # Rules for every secret come with it, which the first paint waits for none of.
    from inspector.report.path_redaction import shown_name

    stem = _NOT_IN_NAMES.sub("-", shown_name(session.name.partition(".")[0])).strip("-.") or "session"
    whole_words = stem[: LONGEST_STEM + 1].rpartition("-")[0]
    return stem if len(stem) <= LONGEST_STEM else whole_words or stem[:LONGEST_STEM]


def told_path(path: Path) -> str:
    """A path as it is told where there is little room: the home folder as `~`."""
    from inspector.report.path_redaction import without_home

    return without_home(str(path))


def deliver_in_browser(app: App[Any], text: str, path: Path, mime_type: str = "text/plain") -> bool:
    """Hand a text to the browser as a download, where a browser shows the screen.

    Args:
        app: The app.
        text: What is saved.
        path: Where it would be written; its name is suggested to the browser.
        mime_type: What it is.

    Returns:
        Whether it was: else there is no browser, and it is to be written.
    """
    if not app.is_web:
        return False
    name = _NOT_IN_NAMES.sub("-", path.name) or "inspector"
    app.deliver_text(io.StringIO(text), save_filename=name, mime_type=mime_type)
    return True
