"""A toast notification that survives a negative remaining time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from textual.notifications import Notification

SHORTEST: Final = 0.01


@dataclass
class CornerNotice(Notification):
    """A notification that may already have expired when it is shown.

    That happens if the program was held up by the terminal, a busy machine or the computer's sleep. Textual's toast
    sets a timer for the remaining time, and with a negative one the app hangs (`Timer._run` of textual 8.2.8).
    """

    @property
    def time_left(self) -> float:
        """Seconds until it disappears, always positive."""
        return max(super().time_left, SHORTEST)

    @property
    def has_expired(self) -> bool:
        return super().time_left <= 0
