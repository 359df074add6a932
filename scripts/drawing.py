"""Fixed environment for pictures of the screen: constant time, an empty home, and an idle screen."""

from __future__ import annotations

import os
import tempfile
import time
from datetime import UTC, datetime
from time import monotonic
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    from textual.pilot import Pilot

NOW = datetime(2026, 9, 23, 9, 0, tzinfo=UTC).timestamp()
"""The time on every picture: two days after the newest record of the samples that are drawn."""

LASTING = frozenset({"follow", "tour", "dialog"})
"""Work of the application that goes on as long as it is open."""

AT_ONCE = 0.001

SECONDS_AT_REST = 0.2
"""Time without work after which the application starts none."""

SECONDS_BETWEEN_LOOKS = 0.05
MOST_SECONDS = 300.0


def always_the_same(homes: Path) -> None:
    """Let this process know one time, an empty home and nothing of who draws; called before the screen is imported.

    Args:
        homes: A folder in which one is made for this process.
    """
    kept = {name: value for name, value in os.environ.items() if name in ("PATH", "PYTHONPATH")}
    home = tempfile.mkdtemp(dir=homes)
    os.environ.clear()
    os.environ.update(kept, HOME=home, LANG="C.UTF-8", TERM="xterm-256color", TZ="UTC")
    time.tzset()
    # Modules take the function by its name when they are imported.
    time.time = lambda: NOW

    from inspector.session.follow import Follower
    from inspector.ui.controller import answers

    Follower.time_of_change = lambda _: NOW  # type: ignore[method-assign]
    # Search for answers at once and without pauses, because no user is active.
    answers.SECONDS_TO_IDLE = answers.SECONDS_TO_REST = AT_ONCE
    answers.LONGEST_PAUSE = answers.SECONDS_TO_YIELD = 0.0


async def picture_at_rest(pilot: Pilot[Any]) -> str:
    """Return the idle screen as SVG, in the reader's own fonts.

    Raises:
        TimeoutError: The screen did not become idle.
    """
    from inspector.ui.screenshots import picture_of_screen

    end = monotonic() + MOST_SECONDS
    while monotonic() < end:
        await at_rest(pilot)
        first = picture_of_screen(pilot.app)
        await pilot.pause(3 * SECONDS_BETWEEN_LOOKS)
        if picture_of_screen(pilot.app) == first:
            return first
    raise TimeoutError("the screen did not become idle")


async def at_rest(pilot: Pilot[Any], seconds: float = SECONDS_AT_REST) -> None:
    """Wait until nothing was worked on for so long.

    Raises:
        TimeoutError: Something always was.
    """
    end = monotonic() + MOST_SECONDS
    rested = monotonic()
    while monotonic() < end:
        await pilot.pause(SECONDS_BETWEEN_LOOKS)
        if any(worker.group not in LASTING and not worker.is_finished for worker in pilot.app.workers):
            rested = monotonic()
        elif monotonic() - rested >= seconds:
            return
    raise TimeoutError("the application did not become idle")
