"""The screen: `inspector [PATH ...]`, and what `inspector demo` opens."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from inspector.cli.console import is_terminal
from inspector.cli.exits import CommandError, ExitCode
from inspector.cli.finding import sessions_to_open

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Sequence


def run(options: Namespace) -> int:
    """Open the screen on the named paths. What cannot be read is told before the screen is drawn."""
    if not options.paths:
        require_terminal("inspector report PATH")
    sessions = sessions_to_open([Path(path) for path in options.paths])
    require_terminal(f"inspector report {sessions[0]}")
    return open_screen(sessions)


def require_terminal(instead: str) -> None:
    """Refuse to draw a screen where there is none.

    Raises:
        CommandError: Input, output or errors are no terminal, or one that can only print lines.
    """
    if os.environ.get("TERM") == "dumb" or not all(map(is_terminal, (sys.stdin, sys.stdout, sys.__stderr__))):
        message = f"the screen needs a terminal for input and output; for a report as text: {instead}"
        raise CommandError(message, ExitCode.WRONG_USAGE)


def open_screen(paths: Sequence[Path]) -> int:
    """Run the screen until it is left; the exit code."""
    from inspector.ui.app import InspectorApp

    app = InspectorApp(paths)
    app.run()
    return app.return_code or ExitCode.FINE
