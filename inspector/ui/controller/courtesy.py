"""How long work that nobody waits for lets others go first: what is done behind a key is to hold up no key.

Python's threads take turns. One that works and never waits takes as many turns as whoever draws the screen, and two of
them, one that reads files and one that computes, leave those who only want a moment none for a tenth of a second.
"""

from __future__ import annotations

from time import monotonic, sleep
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from inspector.ui.controller.host_protocols import IsCancelled

SECONDS_AT_WORK: Final = 0.004
"""At a stretch."""
SECONDS_TO_YIELD: Final = 0.002
"""In which other threads go first then."""
LONGEST_PAUSE: Final = 0.25
"""Between two plans, as long as the first of them took, and no longer."""


class Courtesy:
    """Lets other threads go first, whenever it is asked whether the work is called off."""

    def __init__(self, is_cancelled: IsCancelled) -> None:
        """Begin to work.

        Args:
            is_cancelled: Whether the work is called off.
        """
        self._is_cancelled = is_cancelled
        self._yielded = monotonic()

    def is_cancelled(self) -> bool:
        """Whether the work is called off; other threads get their turn now and then."""
        if monotonic() - self._yielded > SECONDS_AT_WORK:
            sleep(SECONDS_TO_YIELD)
            self._yielded = monotonic()
        return self._is_cancelled()

    def pause(self, took: float) -> None:
        """Rest as long as a plan took to replay, for a while at most."""
        if not self._is_cancelled():
            sleep(min(took, LONGEST_PAUSE))
