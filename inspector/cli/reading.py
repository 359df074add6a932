"""Sessions and replay inputs from paths, in folders or of this machine's agents, with progress and one-line errors."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from inspector.cli.commands import COMMANDS
from inspector.cli.output import CommandError, ProgressLine
from inspector.session.files import Locator, is_folder, may_appear, open_error_message

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Sequence
    from pathlib import Path

    from inspector.replay.assumptions import Assumptions
    from inspector.replay.engine.inputs import ReplayInputs
    from inspector.replay.pricing.prices import Pricing
    from inspector.session.discovery import Header
    from inspector.session.format import Detection
    from inspector.session.model import Session


def detect_format(path: Path) -> Detection:
    """Detect the format of a file or folder from its beginning; raise `CommandError` if it is not a session."""
    from inspector.errors import SessionError
    from inspector.session.registry import detect

    try:
        return detect(path)
    except SessionError as error:
        raise CommandError(error.message) from None


def read_session(path: Path, *, keeps_texts: bool = False) -> Session:
    """Read the session in a file or folder.

    Args:
        keeps_texts: Cache its texts, up to `session_tasks.KEPT_CHARACTERS`, for counting and searching right away.

    Raises:
        CommandError: It cannot be read, or is not a session.
    """
    from inspector.errors import SessionError
    from inspector.session.open import open_session

    kept = 0
    if keeps_texts:
        from inspector.fleet.session_tasks import KEPT_CHARACTERS

        kept = KEPT_CHARACTERS
    with ProgressLine("reading") as progress:
        try:
            return open_session(path, progress=progress, kept_characters=kept)
        except SessionError as error:
            raise CommandError(error.message) from None


def read_text(path: Path) -> str:
    """Read a small text file the user named, such as a plan; raise `CommandError` if it is not UTF-8."""
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise CommandError(open_error_message(path, error)) from None
    except UnicodeDecodeError as error:
        raise CommandError(f"{path}: not a text file (byte {error.start} is not UTF-8)") from None


def parse_billing_terms(options: Namespace) -> Assumptions:
    """Return the pricing and cache assumptions from the arguments of `inspector.cli.arguments`."""
    from inspector.replay.assumptions import DAYS_PER_MONTH, NEXT_CALLS, Assumptions

    asked = vars(options)
    return Assumptions(
        factor=options.factor,
        model=options.model,
        rates=options.rates,
        cache=asked.get("cache"),
        window=asked.get("window"),
        next_calls=asked.get("next_calls") or NEXT_CALLS,
        days_per_month=asked.get("days_per_month", DAYS_PER_MONTH),
    )


def replay_inputs(
    session: Session,
    terms: Assumptions | None = None,
    *,
    price_file: Path | None = None,
) -> ReplayInputs:
    """Count a session's tokens and look up its prices.

    Args:
        terms: Pricing and cache assumptions; defaults to the recorded ones.
        price_file: A price file that replaces the one in the settings folder.

    Raises:
        CommandError: The user's price file is invalid.
    """
    from inspector.replay.assumptions import Assumptions
    from inspector.replay.sessions import counted_inputs

    terms = terms or Assumptions()
    pricing = pricing_of(terms, price_file)
    with ProgressLine("counting tokens") as progress:
        return counted_inputs(session, pricing, cache=terms.cache, window=terms.window, progress=progress)


def pricing_of(terms: Assumptions, price_file: Path | None = None) -> Pricing:
    """Return the prices under these assumptions; raise `CommandError` for an invalid price file."""
    from inspector.replay.pricing.price_tables import PriceFileError

    try:
        return terms.pricing(price_file)
    except PriceFileError as error:
        raise CommandError(str(error)) from None


def priced_inputs(session: Session, options: Namespace) -> ReplayInputs:
    """Count a session's tokens with the prices and cache of the command line."""
    return replay_inputs(session, parse_billing_terms(options), price_file=options.price_file)


LOOKS_ALIKE = 0.9
"""Similarity at or above which a name counts as a typo of another, between 0 and 1."""

LIKE_A_COMMAND = 0.75
"""Similarity at or above which a missing path counts as a mistyped command."""


class ScreenTargets(NamedTuple):
    """Sessions to open, and folders to list; None for the agents' own."""

    sessions: tuple[Path, ...] = ()
    folders: tuple[Path, ...] | None = None


def resolve_targets(paths: Sequence[Path], *, waits: bool = False) -> ScreenTargets:
    """Return the sessions to open and the folders to list; without paths, the agents' folders.

    Args:
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
    """Return True if a session may yet appear at a path that does not look like a mistyped word or name."""
    if not may_appear(path):
        return False
    file = Locator.of(path).file
    if os.path.lexists(file):
        return True
    try:
        others = [one.name for one in file.parent.iterdir()]
    except OSError:
        return False
    import difflib

    is_file_name = bool(file.suffix) or file.parent != type(file)()
    return is_file_name and not difflib.get_close_matches(file.name, others, n=1, cutoff=LOOKS_ALIKE)


def newest(folder: Path | None) -> Header:
    """Return the newest session of a folder, or of the agents' own. Raises `CommandError` if there is none."""
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
    """Return True for a folder of sessions that is not a session. Raises `CommandError` if it is neither."""
    try:
        os.lstat(Locator.of(path).file)
    except PermissionError as error:
        raise CommandError(open_error_message(path, error)) from error
    except (OSError, ValueError):
        import difflib

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
