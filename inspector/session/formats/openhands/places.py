"""Where a conversation's events are, and in which order."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

from inspector.session.decoding import lenient_json
from inspector.session.opening import open_for_reading
from inspector.session.paths import is_file, is_folder

if TYPE_CHECKING:
    from pathlib import Path

CURRENT, VERSION_0 = "current", "version 0"

NAMES = {
    CURRENT: re.compile(r"event-(\d+)(?:-[0-9a-fA-F-]+)?\.json"),
    VERSION_0: re.compile(r"(\d+)\.json"),
}

FOLDERS = ("events", "event_service/events")

STATE = "base_state.json"

MOST_LOOKED_AT = 5


def number_in(name: str, style: str) -> int | None:
    """The number of the event that a file holds; None for a file that holds none."""
    found = NAMES[style].fullmatch(name)
    return int(found[1]) if found is not None and len(found[1]) < 19 else None


def events_folder(path: Path, style: str) -> Path | None:
    """The folder with a conversation's events: below the given one, or itself; None where there are none.

    Raises:
        OSError: It cannot be listed.
    """
    for folder in (*(path / name for name in FOLDERS), path):
        if is_folder(folder) and _names(folder, style):
            return folder
    return None


def conversation_of(path: Path) -> Path:
    """The folder of a conversation, given the document with its state, or the folder itself."""
    return path.parent if path.name == STATE and is_file(path) else path


def state_of(folder: Path) -> Path:
    """The document with the state of the conversation whose events are in `folder`."""
    return folder.parent / STATE


def first_events(folder: Path, style: str) -> list[Any]:
    """Some events of a folder.

    Raises:
        OSError: It cannot be read.
        SessionError: A file cannot be opened.
    """
    found = []
    for name in _names(folder, style):
        with open_for_reading(folder / name) as file:
            found.append(lenient_json(file.read())[0])
    return found


def _names(folder: Path, style: str) -> list[str]:
    """The names of a few events: not all of them, for there may be very many."""
    names: list[str] = []
    with os.scandir(folder) as entries:
        for entry in entries:
            if number_in(entry.name, style) is not None:
                names.append(entry.name)
            if len(names) == MOST_LOOKED_AT:
                break
    return names
