"""`inspector live`: every running session on one screen, or only alerts, or one snapshot as JSON."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from inspector.cli.output import CommandError, ExitCode, is_terminal, narrate, wants_color, write, write_json
from inspector.live.status_line import NO_SESSION, add_texts, line

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from inspector.live.alerts import Alert, AlertRules, Notifier
    from inspector.live.watch import LiveWatch


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--home",
        metavar="FOLDER",
        type=Path,
        nargs="+",
        help="watch these folders; by default the homes of all agents on this machine",
    )
    parser.add_argument(
        "--alerts",
        action="store_true",
        help="no screen: print each alert as one line and deliver it, until the process is ended",
    )
    parser.add_argument("--json", action="store_true", help="no screen: print the running sessions once as JSON")


def run(options: Namespace) -> int:
    for folder in options.home or ():
        if not os.path.lexists(folder):
            raise CommandError(f"{folder}: no such folder", ExitCode.WRONG_USAGE)
    if options.alerts:
        return asyncio.run(_alerts(options.home))
    if options.json or not is_terminal(sys.stdout):
        return print_sessions(options.home, as_json=options.json)
    from inspector.cli.screen import open_screen, require_terminal

    require_terminal("inspector live --json")
    return open_screen([], folders=options.home, starts_live=True)


def print_sessions(folders: list[Path] | None, *, as_json: bool) -> int:
    """Print the running sessions once, most urgent first."""
    from inspector.live.snapshot import to_document, to_entry
    from inspector.live.watch import scan

    found = scan(folders)
    if as_json:
        write_json(to_document(found.sessions, found.time))
        return ExitCode.FINE
    entries = [add_texts(to_entry(session, found.time)) for session in found.sessions]
    lines = [line(entry, found.time, color=wants_color(sys.stdout)) for entry in entries]
    write("".join(f"{text}\n" for text in lines or [NO_SESSION]))
    return ExitCode.FINE


async def _alerts(folders: list[Path] | None) -> int:
    """Deliver alerts until SIGTERM or SIGINT."""
    from inspector.live.alerts import AlertRules, Notifier
    from inspector.live.watch import LiveWatch
    from inspector.settings import load_settings

    settings = load_settings()
    for problem in settings.problems:
        narrate(problem)
    terminal = write if is_terminal(sys.stdout) else None
    notifier = Notifier(settings.alert_by, settings.alert_command, write=terminal, report=narrate)
    following = asyncio.ensure_future(_follow(LiveWatch(folders), AlertRules(settings), notifier))
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, following.cancel)
    try:
        await following
    except asyncio.CancelledError:
        if not following.cancelled():
            raise
    return ExitCode.FINE


async def _follow(watch: LiveWatch, rules: AlertRules, notifier: Notifier) -> None:
    reported: set[str] = set()
    async for snapshot in watch.snapshots(asyncio.Event()):
        for _, problem in snapshot.unread:
            if problem not in reported:
                reported.add(problem)
                narrate(problem)
        for alert in rules.check(snapshot.sessions, snapshot.time):
            write(_line(alert))
            notifier.send(alert)
        notifier.poll()


def _line(alert: Alert) -> str:
    """Return an alert as one line, on a terminal with its time."""
    at = time.strftime("%H:%M  ", time.localtime(alert.time)) if is_terminal(sys.stdout) else ""
    return f"{at}{alert.text}\n"
