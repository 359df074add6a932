"""A notice in a corner of the screen: Textual's, for a time that is never less than nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from textual.notifications import Notification

SHORTEST: Final = 0.01


@dataclass
class CornerNotice(Notification):
    """A notification whose time may be over when it is shown.

    It is where the program was held up in that moment, by the terminal, a busy machine or a computer's sleep. Textual's
    toast counts the time down that is left, and from below nothing never comes to an end: the application hangs
    (`Timer._run` of textual 8.2.8).
    """

    @property
    def time_left(self) -> float:
        """Seconds until it goes, some always."""
        return max(super().time_left, SHORTEST)

    @property
    def has_expired(self) -> bool:
        """Whether its time is over."""
        return super().time_left <= 0
