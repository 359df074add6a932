"""Playing a session: call after call at a chosen speed, while whoever watches may change anything."""

from __future__ import annotations

from math import ceil
from time import monotonic
from typing import TYPE_CHECKING, Final

from inspector.ui import numbers
from inspector.ui.main.reading import Reading

if TYPE_CHECKING:
    from pathlib import Path

    from textual.timer import Timer

SPEEDS: Final = (0.5, 1, 2, 5, 10, 25, 50, 100)
"""Calls a second."""
USUAL: Final = 3
FRAMES_A_SECOND: Final = 25
"""Faster than this several calls are passed over at once."""


class Playing(Reading):
    """A session screen that can go from call to call by itself.

    What is played is what is looked at: the file is followed underneath, and a call looked at by hand is gone on from.
    """

    _play_timer: Timer | None = None
    _played_at = 0.0
    _speed = USUAL

    @property
    def is_playing(self) -> bool:
        """Whether it goes on by itself."""
        return self._play_timer is not None

    @property
    def speed(self) -> float:
        """Calls a second."""
        return SPEEDS[self._speed]

    def forget(self, path: Path) -> None:
        """Know nothing any more, and of another file."""
        self._pause()
        super().forget(path)

    def action_play(self) -> None:
        """Go on from the call looked at, from the first where that is the present; or stop."""
        outcome = self.outcome
        if outcome is None or not outcome.replay.history.call_count:
            self.show_notice("there is no call to play")
        elif self.is_playing:
            self._pause()
            self.show_standing()
        else:
            if self.call is None:
                self.look_at_and_show(0)
            self._run()

    def action_speed(self, step: int) -> None:
        """Play slower or faster."""
        self._speed = min(max(self._speed + step, 0), len(SPEEDS) - 1)
        self.show_notice(f"{speed_of(self.speed)}: space plays and stops")
        if self.is_playing:
            self._pause()
            self._run()

    def _run(self) -> None:
        self._played_at = monotonic()
        self._play_timer = self.set_interval(1 / min(self.speed, FRAMES_A_SECOND), self._play)
        self.show_standing()

    def _pause(self) -> None:
        if self._play_timer is not None:
            self._play_timer.stop()
            self._play_timer = None

    def _play(self) -> None:
        outcome = self.outcome
        if outcome is None or self.call is None:
            self._pause()
            self.show_standing()
            return
        now = monotonic()
        # A slow machine passes calls over instead of playing slower than it was asked to.
        step = max(ceil((now - self._played_at) * self.speed - 0.5), 1)
        self._played_at = now
        call = self.call + step
        if call >= outcome.replay.history.call_count:
            self._pause()
            self.action_now()
            self.show_standing()
        else:
            self.look_at_and_show(call)

    def moment_told(self) -> tuple[str, str]:
        """Which call is looked at and whether it is played, in full and in short; empty for the present."""
        if self.history is None or self.call is None:
            return "", ""
        count = self.history.call_count
        mark = "▶ " if self.is_playing else ""
        at = f"{mark}call {numbers.whole(self.call + 1)} of {numbers.whole(count)}"
        return f"{at}, {speed_of(self.speed)}" if self.is_playing else at, f"{mark}{self.call + 1}/{count}"


def speed_of(calls_a_second: float) -> str:
    """A speed in words."""
    return f"{calls_a_second:g} {'call' if calls_a_second == 1 else 'calls'} a second"
