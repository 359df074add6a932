"""Cooperative yielding of background work, so that it never delays input.

Python threads take turns. A thread that computes without waiting takes as many turns as the drawing thread; two of
them, one that reads files and one that computes, can block short tasks for a tenth of a second.
"""

from __future__ import annotations

from time import monotonic, sleep
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from inspector.ui.controller.host_protocols import IsCancelled

SECONDS_AT_WORK: Final = 0.004
"""Seconds of work between two yields."""
SECONDS_TO_YIELD: Final = 0.002
"""Seconds of each yield."""
LONGEST_PAUSE: Final = 0.25
"""Maximum pause between two plans; it lasts as long as the previous replay."""


class YieldingTask:
    """Yields to other threads whenever its work checks for cancellation."""

    def __init__(self, is_cancelled: IsCancelled) -> None:
        self._is_cancelled = is_cancelled
        self._yielded = monotonic()

    def is_cancelled(self) -> bool:
        """Return True if the work is cancelled, yielding to other threads at intervals."""
        if monotonic() - self._yielded > SECONDS_AT_WORK:
            sleep(SECONDS_TO_YIELD)
            self._yielded = monotonic()
        return self._is_cancelled()

    def pause(self, took: float) -> None:
        """Sleep as long as a replay took, up to a maximum."""
        if not self._is_cancelled():
            sleep(min(took, LONGEST_PAUSE))
