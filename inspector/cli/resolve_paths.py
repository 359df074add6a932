"""Sessions that the screen opens or lists: by path, in a folder, or from this machine's agents."""

from __future__ import annotations

import difflib
import os
from typing import TYPE_CHECKING, NamedTuple

from inspector.cli.commands import COMMANDS
from inspector.cli.exit_codes import CommandError
from inspector.cli.reading import detect_format
from inspector.session.files import Locator, is_folder

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from inspector.session.discovery import Header


LOOKS_ALIKE = 0.9
"""Similarity at or above which a name counts as a typo of another, between 0 and 1."""

LIKE_A_COMMAND = 0.75
"""Similarity at or above which a missing path counts as a mistyped command."""


class ScreenTargets(NamedTuple):
    """Targets of a command line.

    Attributes:
        sessions: Sessions to open.
        folders: Folders to list; None for the agents' own.
    """

    sessions: tuple[Path, ...] = ()
    folders: tuple[Path, ...] | None = None


def resolve_targets(paths: Sequence[Path], *, waits: bool = False) -> ScreenTargets:
    """Return the sessions to open and the folders to list; without paths, the agents' folders.

    Args:
        paths: The given paths.
        waits: Accept sessions that do not exist yet, and an empty list: the screen waits for them.

    Raises:
        CommandError: A path does not exist or is not a session, or there are no sessions.
    """
    if not paths:
        if not waits:
            _require_files(None)
        return ScreenTargets()
    sessions, folders = [], []
    for path in dict.fromkeys(paths):
        if waits and may_appear_later(path):
            sessions.append(path)
        elif is_list(path):
            _require_files(path)
            folders.append(path)
        else:
            sessions.append(path)
    return ScreenTargets(tuple(sessions), tuple(folders) or None)


def may_appear_later(path: Path) -> bool:
    """Return True if a session may yet appear at a path, and the path does not look like a typo.

    A single word may be a mistyped command, and a name similar to a neighboring file a mistyped name.
    """
    from inspector.session.awaiting import may_appear

    if not may_appear(path):
        return False
    file = Locator.of(path).file
    if os.path.lexists(file):
        return True
    try:
        others = [one.name for one in file.parent.iterdir()]
    except OSError:
        return False
    is_file_name = bool(file.suffix) or file.parent != type(file)()
    return is_file_name and not difflib.get_close_matches(file.name, others, n=1, cutoff=LOOKS_ALIKE)


def newest(folder: Path | None) -> Header:
    """Return the most recently written session of a folder, or of the agents' own folders.

    Raises:
        CommandError: There is none.
    """
    from inspector.session.discovery import list_sessions, search_places

    best: Header | None = None
    for batch in list_sessions(search_places(None if folder is None else [folder])):
        own = [header for header in batch if header.parent is None and not header.problem]
        best = max([*own, *([best] if best is not None else [])], key=lambda header: header.modified, default=None)
        if best is not None:
            return best
    raise CommandError(_nothing_in(folder))


def _require_files(folder: Path | None) -> None:
    """Reject an empty list. The list itself determines which files are sessions."""
    from inspector.session.discovery import may_hold_sessions, search_places

    if not may_hold_sessions(search_places(None if folder is None else [folder])):
        raise CommandError(_nothing_in(folder))


def is_list(path: Path) -> bool:
    """Return True if a path is a folder of sessions, and not a session itself.

    Raises:
        CommandError: It does not exist, or is not a session.
    """
    try:
        os.lstat(Locator.of(path).file)
    except PermissionError as error:
        from inspector.session.files import open_error_message

        raise CommandError(open_error_message(path, error)) from error
    except (OSError, ValueError):
        near = difflib.get_close_matches(str(path), COMMANDS, n=1, cutoff=LIKE_A_COMMAND)
        meant = f"Did you mean the command {near[0]}?" if near else "Check the path, or see: inspector --help"
        raise CommandError(f"{path}: no such file or directory. {meant}") from None
    if not is_folder(path):
        detect_format(path)
        return False
    from inspector.session.discovery import is_session_list

    return is_session_list(path)


def _nothing_in(folder: Path | None) -> str:
    from inspector.session.discovery import describe_folder

    if folder is not None:
        return describe_folder(folder)
    return "no sessions on this machine: pass a file, or run: inspector demo (searched folders: inspector formats)"
