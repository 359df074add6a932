"""The screen: `inspector [PATH ...]`, and what `inspector demo` opens."""

from __future__ import annotations

import difflib
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from inspector.cli.commands import COMMANDS
from inspector.cli.console import is_terminal
from inspector.cli.exits import CommandError, ExitCode
from inspector.cli.reading import detect_format

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Sequence


def run(options: Namespace) -> int:
    """Open the screen on the named paths. What cannot be read is told before the screen is drawn."""
    paths = [Path(path) for path in options.paths]
    for path in paths:
        _check(path)
    require_terminal(f"inspector report {options.paths[0]}" if paths else "inspector report PATH")
    return open_screen(paths)


def _check(path: Path) -> None:
    if not os.path.lexists(path):
        near = difflib.get_close_matches(str(path), COMMANDS, n=1)
        meant = f"Did you mean the command {near[0]}?" if near else "Check the path, or see: inspector --help"
        raise CommandError(f"{path}: no such file or directory. {meant}")
    if not path.is_dir():
        detect_format(path)


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
