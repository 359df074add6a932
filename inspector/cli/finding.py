"""Which sessions the screen opens: those that were named, those of a folder, or those of this machine's agents."""

from __future__ import annotations

import difflib
import os
from itertools import islice
from typing import TYPE_CHECKING

from inspector.cli.commands import COMMANDS
from inspector.cli.exits import CommandError
from inspector.cli.reading import detect_format
from inspector.session.locator import Locator

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

MOST_SESSIONS = 100
"""So many of a folder's sessions, the newest, are looked for before the screen opens."""


def sessions_to_open(paths: Sequence[Path]) -> list[Path]:
    """The sessions to open: each named one, and the newest of each named folder or, with none named, of this machine.

    Raises:
        CommandError: A path does not exist or is no session, or there is none to be found.
    """
    if not paths:
        return _of_this_machine()
    return list(dict.fromkeys(session for path in paths for session in _at(path)))


def _at(path: Path) -> Iterable[Path]:
    if not os.path.lexists(Locator.of(path).file):
        near = difflib.get_close_matches(str(path), COMMANDS, n=1)
        meant = f"Did you mean the command {near[0]}?" if near else "Check the path, or see: inspector --help"
        raise CommandError(f"{path}: no such file or directory. {meant}")
    if path.is_dir() and (found := _newest_in([path])):
        return found
    detect_format(path)
    return [path]


def _of_this_machine() -> list[Path]:
    from inspector.session.discover import homes
    from inspector.session.formats import FORMATS

    found = _newest_in(homes())
    if not found:
        looked = ", ".join(str(home) for known in FORMATS for home in known.homes())
        raise CommandError(f"no sessions on this machine (looked in {looked}). Name a file, or run: inspector demo")
    return found


def _newest_in(folders: Iterable[Path]) -> list[Path]:
    from inspector.session.discover import sessions_in

    found = [session for folder in folders for session in islice(sessions_in(folder), MOST_SESSIONS)]
    return [session.path for session in sorted(found, key=lambda session: -session.modified)[:MOST_SESSIONS]]
