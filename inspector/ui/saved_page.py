"""Open a saved page in the user's browser. Only the file is passed to it.

The browser starts in a separate process without a terminal. Otherwise its output would appear on the screen, and a
browser that runs in a terminal would take over this one. If the screen is shown on another machine, no browser is
started.
"""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

SECONDS_TO_START: Final = 10.0
"""A browser command that still runs after this time counts as started; some commands only exit with the browser."""

_IN_TERMINALS: Final = frozenset({"elinks", "links", "lynx", "w3m", "www-browser"})
_HAS_NO_DISPLAY_SERVER: Final = frozenset({"darwin", "win32"})

_OPENS: Final = "import sys, webbrowser; sys.exit(not webbrowser.open(sys.argv[1]))"


def why_not_shown(environment: Mapping[str, str], platform: str = sys.platform) -> str:
    """Return in a few words why a browser started here would be invisible; empty if it would be visible.

    Args:
        environment: Environment variables of the program.
        platform: Value of `sys.platform`.
    """
    if any(environment.get(name) for name in ("SSH_CONNECTION", "SSH_TTY", "SSH_CLIENT")):
        return "cannot open a browser over SSH"
    has_display = environment.get("DISPLAY") or environment.get("WAYLAND_DISPLAY")
    if platform not in _HAS_NO_DISPLAY_SERVER and not has_display:
        return "cannot open a browser without a display"
    return ""


def open_in_browser(page: Path) -> str:
    """Open a file in the user's browser. Blocks briefly, so call it in a thread.

    Args:
        page: The file.

    Returns:
        The reason for a failure in a few words; empty on success.
    """
    reason = why_not_shown(os.environ)
    if reason:
        return reason
    import webbrowser

    try:
        browser = webbrowser.get()
    except webbrowser.Error:
        return "no browser was found"
    if Path(getattr(browser, "name", "")).name in _IN_TERMINALS:
        return "the only browser found runs in a terminal"
    command = [sys.executable, "-I", "-c", _OPENS, page.absolute().as_uri()]
    nowhere = subprocess.DEVNULL
    with suppress(subprocess.TimeoutExpired):
        try:
            started = subprocess.Popen(  # noqa: S603  runs Python with a file as the argument
                command, stdin=nowhere, stdout=nowhere, stderr=nowhere, start_new_session=True
            )
        except OSError as error:
            return f"cannot start a browser ({error.strerror})"
        if started.wait(SECONDS_TO_START):
            return "cannot open the browser"
    return ""
