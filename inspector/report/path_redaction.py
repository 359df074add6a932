"""Paths as reports show them: without the name of whoever made the report.

Agents keep a project's sessions in a folder named after the project's own path (`-home-ada-shop` for `/home/ada/shop`),
so the home folder may stand in a path a second time.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

_NOT_IN_FOLDER_NAMES = re.compile("[^A-Za-z0-9]")


def shown_path(path: Path) -> str:
    """A path with the home folder as `~`, wherever it stands in it."""
    return without_home(os.fsencode(path).decode("utf-8", "replace"))


def without_home(text: str) -> str:
    """A text with every mention of the home folder, as a path or in a folder's name, as `~`."""
    home = _home()
    if not home:
        return text
    folder_name = _NOT_IN_FOLDER_NAMES.sub("-", home)
    text = re.sub(rf"(?<![\w.-]){re.escape(home)}(?![\w.-])", "~", text)
    return re.sub(rf"(?<![\w-]){re.escape(folder_name)}(?![A-Za-z0-9])", "-~", text)


def _home() -> str:
    try:
        home = str(Path.home())
    except (RuntimeError, KeyError):  # nobody knows where it is
        return ""
    return home if len(Path(home).parts) > 1 else ""
