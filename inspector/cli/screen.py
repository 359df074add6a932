"""The screen: `inspector [PATH ...]` and `inspector demo`."""

from __future__ import annotations

import gc
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from inspector.cli.output import CommandError, ExitCode, ProgressLine, is_terminal, leave_terminal, wants_color, write
from inspector.cli.reading import newest, resolve_targets
from inspector.process_memory import too_little_memory_for_screen
from inspector.session.reading_process import ReadingProcess

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Sequence

    from textual.driver import Driver

MOST_LISTED = 1000
"""Maximum sessions in a plain list, newest first."""

FRAMES_PER_SECOND = "240"
"""Frame rate at which Textual checks for changes; a missed frame waits for the next one."""

WEB_DRIVER = "textual.drivers.web_driver:WebDriver"
"""Textual driver used under textual-serve."""


def run(options: Namespace) -> int:
    """Open the screen on the given paths. Read errors are reported before the screen is drawn."""
    paths = [Path(path) for path in options.paths]
    if options.last:
        found = [newest(folder) for folder in paths or (None,)]
        session = max(found, key=lambda header: header.modified).path
        require_terminal(f"inspector report {session}")
        return open_screen([session])
    asked = resolve_targets(paths, waits=is_terminal(sys.stdin) and is_terminal(sys.stdout))
    if not asked.sessions and not is_terminal(sys.stdout) and not is_served():
        return print_list(asked.folders)
    require_terminal(f"inspector report {asked.sessions[0] if asked.sessions else 'PATH'}")
    return open_screen(asked.sessions, folders=asked.folders)


def print_list(folders: Sequence[Path] | None) -> int:
    """Print the sessions in folders, or of this machine's agents, newest first."""
    from inspector.replay.pricing.price_tables import PriceFileError
    from inspector.replay.pricing.prices import Pricing
    from inspector.report.listings import sessions_text
    from inspector.report.session_summary import summarize
    from inspector.session.discovery import list_sessions, search_places

    found = [header for batch in list_sessions(search_places(folders)) for header in batch]
    found.sort(key=lambda header: -header.modified)
    try:
        pricing = Pricing.load()
    except PriceFileError as error:
        raise CommandError(str(error)) from None
    rows = []
    with ProgressLine("reading") as progress:
        for place, header in enumerate(found[:MOST_LISTED]):
            summary = summarize(header.path, pricing)
            if summary.format or header.is_sniffed or summary.is_unreadable:
                rows.append((header, summary))
            progress(place + 1, min(len(found), MOST_LISTED))
    if not rows:
        where = ", ".join(map(str, folders)) if folders else "on this machine"
        raise CommandError(f"no sessions found: {where}. `inspector formats` lists the supported formats.")
    write(sessions_text(rows, max(len(found) - MOST_LISTED, 0), color=wants_color(sys.stdout)))
    return ExitCode.FINE


def is_served() -> bool:
    """Return True if a browser shows the screen, see `inspector serve`."""
    return os.environ.get("TEXTUAL_DRIVER") == WEB_DRIVER


def require_terminal(instead: str) -> None:
    """Require an interactive terminal, not redirected and not dumb; raise `CommandError` otherwise."""
    if is_served():
        return
    if os.environ.get("TERM") == "dumb" or not all(map(is_terminal, (sys.stdin, sys.stdout, sys.__stderr__))):
        message = f"the screen needs a terminal for input and output; for a text report, run: {instead}"
        raise CommandError(message, ExitCode.WRONG_USAGE)


def open_screen(
    paths: Sequence[Path],
    *,
    folders: Sequence[Path] | None = None,
    listed: Sequence[Path] = (),
    starts_live: bool = False,
) -> int:
    """Run the screen until it is closed, and return the exit code.

    Args:
        paths: Sessions to open, each in a tab.
        folders: Folders of listed sessions; None for this machine's agents.
        listed: Sessions that come first in the list.
        starts_live: Without paths, show the running sessions instead of the session list.

    Raises:
        CommandError: The memory limit is too small for the screen.
    """
    if reported := too_little_memory_for_screen():
        raise CommandError(reported)
    process = ReadingProcess.begin(paths[0]) if paths else None
    # Read by Textual at import.
    os.environ.setdefault("TEXTUAL_FPS", FRAMES_PER_SECOND)
    # Imported objects are permanent: the collector would scan all of them during startup, before the first paint, and
    # again later. The application collects when it is idle.
    gc.disable()
    try:
        from inspector.ui.app import InspectorApp
        from inspector.ui.performance.memory import share_one_heap

        driver: type[Driver] | None = None
        if is_served():
            from inspector.ui.served import ServedDriver

            driver = ServedDriver
        app = InspectorApp(
            paths, folders=folders, listed=listed, starts_live=starts_live, process=process, driver=driver
        )
        gc.freeze()
        share_one_heap()
        app.run()
    finally:
        leave_terminal()
        if process is not None:
            process.stop()
        gc.enable()
        gc.unfreeze()
    return app.return_code or ExitCode.FINE
