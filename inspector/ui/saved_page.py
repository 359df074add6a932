"""Opening a page that was saved here, in the user's browser: a file of theirs, and nothing but that file is named.

The browser is started by a process of its own without a terminal: what it prints would stand on the screen, and one
that runs in a terminal would take it. Where the screen is shown elsewhere than programs are started there is none.
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
"""A browser that is still there then was started: some commands wait until it is closed."""

_IN_TERMINALS: Final = frozenset({"elinks", "links", "lynx", "w3m", "www-browser"})
_HAS_NO_DISPLAY_SERVER: Final = frozenset({"darwin", "win32"})

_OPENS: Final = "import sys, webbrowser; sys.exit(not webbrowser.open(sys.argv[1]))"


def why_not_shown(environment: Mapping[str, str], platform: str = sys.platform) -> str:
    """Why a browser started here would be seen by nobody, in a few words; empty where it would be seen.

    Args:
        environment: The program's environment.
        platform: As `sys.platform` names it.
    """
    if any(environment.get(name) for name in ("SSH_CONNECTION", "SSH_TTY", "SSH_CLIENT")):
        return "over SSH no browser can be opened"
    has_display = environment.get("DISPLAY") or environment.get("WAYLAND_DISPLAY")
    if platform not in _HAS_NO_DISPLAY_SERVER and not has_display:
        return "without a display no browser can be opened"
    return ""


def open_in_browser(page: Path) -> str:
    """Open a file in the user's browser. Takes a moment: called in a thread.

    Args:
        page: The file.

    Returns:
        Why it was not, in a few words; empty where it was.
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
            started = subprocess.Popen(  # noqa: S603  Python itself, and a file as an argument
                command, stdin=nowhere, stdout=nowhere, stderr=nowhere, start_new_session=True
            )
        except OSError as error:
            return f"no browser could be started ({error.strerror})"
        if started.wait(SECONDS_TO_START):
            return "the browser could not be opened"
    return ""
