"""Memory of a program that is left open: cyclic garbage is collected when nobody waits, and what is free stays whole.

The collector stops every thread, and looks through whatever is young first: while a session is followed, that is each
state of it with all its messages, ten milliseconds at a hundred thousand; and now and then through everything, a tenth
of a second. Left to itself it does so in the middle of a frame, because that is when things are made.
"""

from __future__ import annotations

import gc
import sys
from time import monotonic
from typing import TYPE_CHECKING, Any, Final

from textual import events
from textual.app import App

if TYPE_CHECKING:
    from collections.abc import Callable

SECONDS_BETWEEN = 1.0
SECONDS_OF_IDLENESS = 0.3
"""Since the last key or move of the mouse."""

MOST_SECONDS_BETWEEN = 10.0
"""Where nobody is ever idle."""

SECONDS_OF_ABSENCE = 3.0
"""The same, before everything is looked through."""

SECONDS_TO_FIRST_FULL = 5.0
SECONDS_BETWEEN_FULL = 600.0

MOST_HEAPS: Final = -8
"""What glibc calls the setting of how many heaps threads take memory from (`M_ARENA_MAX` of its `malloc.h`)."""


def give_memory_back() -> None:
    """Have the C library give back what it keeps of freed memory, where it can be asked: up to as much as is in use."""
    trim = _of_the_c_library("malloc_trim")
    if trim is not None:
        trim(0)


def share_one_heap() -> None:
    """Have all threads of this process take memory from one heap, where the C library can be told to, once and for all.

    By itself it gives every thread one of its own: what a replay leaves free in one, the next replay in another thread
    does not find. After hours a third of what threads were given lies free in such heaps, in pieces too small to be
    given back. Python's threads mostly take turns, so that they seldom wait for the one.

    How many there may be is settled with the first thread that needs one, and cannot be taken back: only for a process
    that is this program's own.
    """
    tell = _of_the_c_library("mallopt")
    if tell is not None:
        tell(MOST_HEAPS, 1)


def _of_the_c_library(name: str) -> Callable[..., int] | None:
    """A function of Linux's C library, None where there is none; ctypes is loaded by whoever needs it alone."""
    if sys.platform != "linux":
        return None
    import ctypes

    return getattr(ctypes.CDLL(None), name, None)


class CollectingApp(App[None]):
    """An application that collects when it is idle, if the collector was switched off for it."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._last_input = self._collected = monotonic()
        self._next_full = self._collected + SECONDS_TO_FIRST_FULL

    def on_mount(self) -> None:
        """Begin to look for a moment."""
        if not gc.isenabled():
            self.set_interval(SECONDS_BETWEEN, self._collect_when_idle)

    async def on_event(self, event: events.Event) -> None:
        """Know when somebody is there."""
        if isinstance(event, events.InputEvent):
            self._last_input = monotonic()
        await super().on_event(event)

    def collect_everything_soon(self) -> None:
        """Collect everything at the next idle moment: something large is held by nothing but itself any more."""
        self._next_full = monotonic()

    @property
    def is_opening(self) -> bool:
        """Whether something large is being read or worked out that mostly stays, and is waited for."""
        return False

    def _collect_when_idle(self) -> None:
        if self.is_opening:
            # To look through it for the first time would hold all threads up for a tenth of a second.
            gc.freeze()
            return
        now = monotonic()
        is_idle = now - self._last_input > SECONDS_OF_IDLENESS
        if now - self._last_input > SECONDS_OF_ABSENCE and now > self._next_full:
            gc.unfreeze()
            gc.collect()
            # What is there now mostly stays, and need not be looked through again before long.
            gc.freeze()
            give_memory_back()
            self._collected, self._next_full = now, now + SECONDS_BETWEEN_FULL
        elif is_idle or now - self._collected > MOST_SECONDS_BETWEEN:
            gc.collect(1)
            self._collected = now
