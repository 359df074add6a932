"""`inspector files`: changes a session made to its files, from its own records."""

from __future__ import annotations

import re
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from inspector.cli.output import CommandError, ExitCode, narrate, write, write_json, write_recorded
from inspector.cli.reading import read_session
from inspector.errors import InspectorError

if TYPE_CHECKING:
    from inspector.file_history.history import FileHistory

FORMATS = {"text": "for people", "md": "Markdown", "json": "for programs"}
LAST = "last"
_NUMBER = re.compile(r"[0-9]{1,9}")


class SessionPoint(NamedTuple):
    """A moment for a file state, by one field: a turn from 1 (-1: the last), a call from 1, or a time."""

    turn: int | None = None
    call: int | None = None
    time: float | None = None

    def turn_in(self, history: FileHistory) -> int:
        """Return the moment's turn in a session; raise `UnknownTurnError` if there is no such moment."""
        if self.call is not None:
            return history.turn_of_call(self.call)
        if self.time is not None:
            return history.turn_at(self.time)
        return history.turns if self.turn is None or self.turn < 0 else history.check_turn(self.turn)


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("path", metavar="PATH", type=Path, help="a session file or folder")
    parser.add_argument("file", nargs="?", metavar="FILE", help="one file: its path or the end of its path")
    points = f"a turn as numbered in the timeline, call:N, a time such as 2026-11-23T14:05, or {LAST}"
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--at", metavar="N", type=_session_point, help=f"its content at N as the agent knew it: {points}")
    what.add_argument(
        "--diff",
        nargs=2,
        metavar=("N", "M"),
        type=_session_point,
        help="the difference between its content at two of these",
    )
    what.add_argument("--changelog", action="store_true", help="changes with their purpose; only of FILE, if given")
    named = (f"{name}: {use}{' (default)' if name == 'text' else ''}" for name, use in FORMATS.items())
    parser.add_argument("--format", choices=FORMATS, default="text", help="; ".join(named))


def run(options: Namespace) -> int:
    if options.file is None and (options.at is not None or options.diff is not None):
        raise CommandError("--at and --diff need a FILE: add one after PATH", ExitCode.WRONG_USAGE)
    from inspector.file_history.history import file_history

    history = file_history(read_session(options.path))
    try:
        _print(history, options)
    except InspectorError as error:
        raise CommandError(error.explanation) from None
    return ExitCode.FINE


def _print(history: FileHistory, options: Namespace) -> None:
    if options.changelog:
        _print_changelog(history, options)
    elif options.file is None:
        _print_files(history, options.format)
    elif options.at is not None:
        _print_state(history, options)
    elif options.diff is not None:
        _print_difference(history, options)
    else:
        _print_events(history, options)


def _print_files(history: FileHistory, form: str) -> None:
    from inspector.report.listings import files_document, files_markdown, files_text

    if form == "json":
        write_json(files_document(history))
    else:
        write(files_markdown(history) if form == "md" else files_text(history))


def _print_events(history: FileHistory, options: Namespace) -> None:
    from inspector.report.listings import events_document, events_text

    path = history.find(options.file)
    if options.format == "json":
        write_json(events_document(history, path))
    else:
        _write_in(options.format, events_text(history, path))


def _print_changelog(history: FileHistory, options: Namespace) -> None:
    from inspector.file_history.changelog import generate_changelog
    from inspector.report.listings import changelog_document, changelog_markdown, changelog_text

    changes = generate_changelog(history, options.file)
    if options.format == "json":
        write_json(changelog_document(history, changes))
    else:
        write((changelog_markdown if options.format == "md" else changelog_text)(history, changes))


def _print_state(history: FileHistory, options: Namespace) -> None:
    from inspector.report.listings import state_document, state_notes, state_text

    state = history.file_state_at(options.file, options.at.turn_in(history))
    if options.format == "json":
        write_json(state_document(state))
        return
    for note in state_notes(state):
        narrate(note)
    _write_in(options.format, state_text(state.content))


def _print_difference(history: FileHistory, options: Namespace) -> None:
    from inspector.report.listings import difference_text, state_notes

    path = history.find(options.file)
    old, new = (history.file_state_at(path, point.turn_in(history)) for point in options.diff)
    difference = difference_text(path, old, new)
    if options.format == "json":
        write_json({"path": path, "from_turn": old.turn, "to_turn": new.turn, "difference": difference})
        return
    for state in (old, new):
        narrate(state_notes(state)[0])
    if not difference:
        narrate(f"its known content does not differ between turns {old.turn:,} and {new.turn:,}")
    _write_in(options.format, difference, "diff")


def _write_in(form: str, text: str, language: str = "") -> None:
    """Write text unchanged to a file or program, sanitized to a terminal, or fenced in Markdown."""
    if form == "md":
        fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", text)), default=0))
        text = f"{fence}{language}\n{text}{'' if text.endswith(chr(10)) or not text else chr(10)}{fence}\n"
    write_recorded(text)


def _session_point(text: str) -> SessionPoint:
    if text == LAST:
        return SessionPoint(turn=-1)
    kind, _, number = text.rpartition(":")
    if kind in ("", "turn", "call") and _NUMBER.fullmatch(number):
        return SessionPoint(call=int(number)) if kind == "call" else SessionPoint(turn=int(number))
    try:
        return SessionPoint(time=datetime.fromisoformat(text).timestamp())
    except (ValueError, OverflowError, OSError):
        message = f"{text!r} is not a turn, call or time; use 50, call:12, 2026-11-23T14:05 or {LAST}"
        raise ArgumentTypeError(message) from None
