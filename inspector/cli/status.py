"""`inspector status`: one line about the session that runs, for a prompt, tmux, or Claude Code's status line.

`quick` answers the common forms from a kept snapshot without importing the readers. Text is read again whenever a file
changed; the status lines of tmux and Claude Code show the kept snapshot at once, and a process in the background
refreshes it for the next line.
"""

from __future__ import annotations

import os
import sys
import time
from typing import TYPE_CHECKING, Any

from inspector import __version__
from inspector.live import status_line

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Sequence

    from inspector.live.status import LiveSession

FORMATS = ("text", "json", "tmux", "claude")
TARGETS = ("claude", "tmux")


def quick(arguments: Sequence[str]) -> int | None:
    """Print a kept snapshot's line; return the exit code, or None if the command has to run in full."""
    style, session = "text", ""
    words = list(arguments)
    while words:
        name, equals, value = words.pop(0).partition("=")
        if name not in ("--format", "--session") or not (equals or words):
            return None
        value = value if equals else words.pop(0)
        style, session = (value, session) if name == "--format" else (style, value)
    if style not in status_line.FRESH_SECONDS:
        return None
    key, path, directory, reported = _subject(style, session)
    kept, now = status_line.read_kept(key, __version__), time.time()
    is_current = bool(kept) and status_line.is_current(kept, style, now)
    if not kept or (style == "text" and not is_current):
        return None
    if not is_current:
        _refresh_in_background(key, path, directory)
    _print(_line(kept.get("entry"), style, reported, now))
    return 0


def _subject(style: str, session: str) -> tuple[str, str, str, status_line.Json]:
    """Return the key of the snapshot, the session's path or nothing, the directory, and Claude Code's report."""
    reported = status_line.read_reported() if style == "claude" else {}
    transcript = reported.get("transcript_path")
    path = session or (transcript if isinstance(transcript, str) else "")
    if "\0" in path:
        path = ""
    directory = _directory(reported)
    return (os.path.abspath(path) if path else f"{directory}/", path, directory, reported)  # noqa: PTH100  light


def _directory(reported: status_line.Json) -> str:
    workspace = reported.get("workspace")
    named = workspace.get("project_dir") if isinstance(workspace, dict) else None
    try:
        return named if isinstance(named, str) and named else os.getcwd()  # noqa: PTH109  light
    except OSError:  # deleted
        return "/"


def _line(entry: Any, style: str, reported: status_line.Json, now: float) -> str:
    """Format a session, or the fact that there is none."""
    found: status_line.Json = entry if isinstance(entry, dict) else {}
    if reported:
        found = status_line.with_reported(found, reported, now)
    if not found:
        return status_line.NO_SESSION
    columns = os.environ.get("COLUMNS", "") if style == "claude" else ""
    width = int(columns) if columns.isdecimal() and len(columns) < 6 else 0
    no_color = bool(os.environ.get("NO_COLOR"))
    color = not no_color and (style == "claude" or (style == "text" and _is_color_terminal()))
    return status_line.line(found, now, style, color=color, width=width)


def _is_color_terminal() -> bool:
    return sys.stdout is not None and sys.stdout.isatty() and os.environ.get("TERM", "") not in ("", "dumb")


def _print(text: str) -> None:
    """Print a line; a closed pipe is no error of a status line."""
    if sys.stdout is None:
        return
    if sys.stdout.encoding.lower() not in ("utf-8", "utf8"):
        from inspector.cli.output import prepare_streams, write

        prepare_streams()
        write(f"{text}\n")
        return
    try:
        os.write(1, f"{text}\n".encode("utf-8", "replace"))
    except OSError:
        return


def refresh(key: str, path: str, directory: str) -> dict[str, Any]:
    """Take and keep a snapshot, by default of a folder's newest session; raise `SessionError` without one."""
    from pathlib import Path

    from inspector.live.snapshot import keep

    return keep(key, path=Path(path) if path else None, directory=Path(directory))


def refresh_and_unlock(key: str, path: str, directory: str) -> None:
    """Refresh a snapshot in a process of the background."""
    try:
        refresh(key, path, directory)
    finally:
        status_line.release_lock(key)


def _refresh_in_background(key: str, path: str, directory: str) -> None:
    if not status_line.take_lock(key):
        return
    program = "import sys; from inspector.cli.status import refresh_and_unlock; refresh_and_unlock(*sys.argv[1:])"
    words = [sys.executable, "-c", program, key, path, directory]
    nowhere = [(os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_RDWR, 0) for number in range(3)]
    try:
        os.posix_spawn(sys.executable, words, _environment(), file_actions=nowhere, setsid=True)
    except (OSError, NotImplementedError, AttributeError):
        status_line.release_lock(key)


def _environment() -> dict[str, str]:
    """Return the environment, in which this package can be imported."""
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))  # noqa: PTH100, PTH120  light
    paths = [root, os.environ.get("PYTHONPATH", "")]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in paths if path)}


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--format",
        choices=FORMATS,
        default="text",
        help="text: for people; json: for programs; tmux: with tmux's colors; claude: for Claude Code's status line, "
        "with the JSON object that it writes to standard input",
    )
    parser.add_argument("--all", action="store_true", help="one line for every running session, most urgent first")
    parser.add_argument(
        "--session", metavar="PATH", help="a session; by default the newest one of this folder's project, or of all"
    )
    parser.add_argument(
        "--away",
        action="store_true",
        help="what a pause costs: leave the session, keep it warm, compact it, or start another",
    )
    parser.add_argument("--install", choices=TARGETS, help="print the setting that shows the line there")
    parser.add_argument("--uninstall", choices=TARGETS, help="remove that setting")
    parser.add_argument("--yes", action="store_true", help="with --install: write the setting, with a backup")
    parser.add_argument(
        "--if-none", action="store_true", help="with --install claude: leave another status line as it is"
    )


def run(options: Namespace) -> int:
    """Read the sessions and print them, or change the setting."""
    from inspector.cli.output import CommandError, ExitCode

    if options.install or options.uninstall:
        return _install(options)
    if options.all and options.session:
        raise CommandError("--all and --session exclude each other", ExitCode.WRONG_USAGE)
    if options.away and options.format != "text":
        raise CommandError("--away prints text; --format json always has these figures", ExitCode.WRONG_USAGE)
    if options.all or options.away or options.format == "json":
        return _print_sessions(options)
    from inspector.errors import SessionError

    key, path, directory, reported = _subject(options.format, options.session or "")
    entry: Any = {}
    try:
        entry = refresh(key, path, directory)["entry"]
    except Exception as error:  # noqa: BLE001  no content of a session may end a status line in an error
        if options.format == "text":
            raise (CommandError(error.message) if isinstance(error, SessionError) else error) from None
    _print(_line(entry, options.format, reported, time.time()))
    return ExitCode.FINE


def _print_sessions(options: Namespace) -> int:
    from pathlib import Path

    from inspector.cli.output import CommandError, ExitCode, write, write_json
    from inspector.errors import SessionError
    from inspector.live.snapshot import session_of, to_document, to_entry
    from inspector.live.watch import scan, session_status

    try:
        found = [session_status(Path(options.session))] if options.session else list(scan().sessions)
    except SessionError as error:
        raise CommandError(error.message) from None
    if not options.all and not options.session:
        newest = session_of(Path(_directory({})), found)
        found = [newest] if newest else []
    now = time.time()
    if options.format == "json":
        write_json(to_document(found, now))
        return ExitCode.FINE
    if options.away:
        write("".join(f"{line}\n" for each in found for line in _away_lines(each)) or f"{status_line.NO_SESSION}\n")
        return ExitCode.FINE
    lines = [_line(status_line.add_texts(to_entry(each, now)), options.format, {}, now) for each in found]
    write("".join(f"{line}\n" for line in lines or [status_line.NO_SESSION]))
    return ExitCode.FINE


def _away_lines(session: LiveSession) -> list[str]:
    from inspector.live.alerts import session_name
    from inspector.live.away import advice_lines

    if session.away is None:
        reason = "is working" if session.state == "working" else "has no price or cache"
        return [f"{session_name(session)} {reason}: no cost of a pause"]
    return advice_lines(session_name(session), session.away)


def _install(options: Namespace) -> int:
    """Print the setting; with `--yes` write it."""
    import json

    from inspector.cli.hook import make_changes
    from inspector.cli.output import CommandError, narrate, write
    from inspector.hook.install import (
        SettingsError,
        home_of,
        status_line_changes,
        status_line_removal,
        status_line_setting,
        tmux_file,
        tmux_setting,
    )

    target = options.install or options.uninstall
    path = tmux_file() if target == "tmux" else home_of("claude-code").absolute() / "settings.json"
    try:
        if options.uninstall:
            return make_changes(status_line_removal(path), options, "the status line is not installed there")
        if options.yes:
            changes = status_line_changes(path, only_if_none=options.if_none)
            return make_changes(changes, options, "the status line is already installed")
    except SettingsError as error:
        raise CommandError(error.message) from None
    except OSError as error:
        raise CommandError(f"{error.filename or path}: {error.strerror}. Nothing was changed") from None
    write(tmux_setting() if target == "tmux" else json.dumps(status_line_setting(), indent=2) + "\n")
    narrate(f"add this to {path}, or let --yes do it")
    return 0
