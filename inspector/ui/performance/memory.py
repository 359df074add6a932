"""Memory of a long-running app: garbage is collected when idle, and heap fragmentation is limited.

The collector stops all threads. It scans young objects first, which while a session is followed includes each of its
states with all messages (10 ms at a hundred thousand), and sometimes everything (0.1 s). By default it runs in the
middle of a frame, when objects are created.
"""

from __future__ import annotations

import gc
import sys
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import Context
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, ParamSpec, TypeVar

from textual import events
from textual.app import App

if TYPE_CHECKING:
    from collections.abc import Callable


SECONDS_BETWEEN = 1.0
SECONDS_OF_IDLENESS = 0.3
"""Seconds since the last key or mouse event before a partial collection."""

MOST_SECONDS_BETWEEN = 10.0
"""Maximum seconds between partial collections without an idle moment."""

SECONDS_OF_ABSENCE = 3.0
"""Idle seconds before a full collection."""

SECONDS_TO_FIRST_FULL = 5.0
SECONDS_BETWEEN_FULL = 600.0

MOST_HEAPS: Final = -8
"""glibc's constant for the maximum number of heaps (`M_ARENA_MAX` in its `malloc.h`)."""


def release_memory() -> None:
    """Return freed memory to the system if the C library supports it; it may hold as much as is in use."""
    trim = _of_the_c_library("malloc_trim")
    if trim is not None:
        trim(0)


def share_one_heap() -> None:
    """Make all threads share one heap if the C library supports it; this cannot be undone.

    By default glibc gives each thread its own heap, and memory freed by a replay in one thread is not reused by the
    next replay in another. After hours a third of the allocated memory is free in such heaps, in fragments too small to
    return. Python threads mostly take turns, so they rarely contend for the shared heap.

    The limit is fixed once the first thread needs a heap, so call this only in this program's own process.
    """
    set_option = _of_the_c_library("mallopt")
    if set_option is not None:
        set_option(MOST_HEAPS, 1)


def _of_the_c_library(name: str) -> Callable[..., int] | None:
    """Return a function of the C library on Linux, otherwise None; ctypes is imported only when needed."""
    if sys.platform != "linux":
        return None
    import ctypes

    return getattr(ctypes.CDLL(None), name, None)


class CollectingApp(App[None]):
    """An app that collects garbage when idle, if the collector was disabled."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._last_input = self._collected = monotonic()
        self._next_full = self._collected + SECONDS_TO_FIRST_FULL

    def on_mount(self) -> None:
        if not gc.isenabled():
            self.set_interval(SECONDS_BETWEEN, self._collect_when_idle)

    async def on_event(self, event: events.Event) -> None:
        """Record the time of the last input event."""
        if isinstance(event, events.InputEvent):
            self._last_input = monotonic()
        await super().on_event(event)

    def collect_everything_soon(self) -> None:
        """Schedule a full collection at the next idle moment, because a large reference cycle has become garbage."""
        self._next_full = monotonic()

    @property
    def is_opening(self) -> bool:
        """True while a large, long-lived structure is being built and the user waits for it."""
        return False

    def _collect_when_idle(self) -> None:
        if self.is_opening:
            # A first scan of it would stop all threads for a tenth of a second.
            gc.freeze()
            return
        now = monotonic()
        is_idle = now - self._last_input > SECONDS_OF_IDLENESS
        if now - self._last_input > SECONDS_OF_ABSENCE and now > self._next_full:
            gc.unfreeze()
            gc.collect()
            # Most remaining objects are long-lived and need no further scan for a while.
            gc.freeze()
            release_memory()
            self._collected, self._next_full = now, now + SECONDS_BETWEEN_FULL
        elif is_idle or now - self._collected > MOST_SECONDS_BETWEEN:
            gc.collect(1)
            self._collected = now


Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


class CleanContextExecutor(ThreadPoolExecutor):
    """A thread pool in which idle threads hold no references to finished work.

    Textual stores the active worker in the thread's context. The context of an idle thread would hold its last worker
    with its screen and thereby all data of a closed session.
    """

    def submit(
        self, fn: Callable[Parameters, Result], /, *args: Parameters.args, **kwargs: Parameters.kwargs
    ) -> Future[Result]:
        """Run a function in a thread, in a new context."""
        return super().submit(Context().run, partial(fn, *args, **kwargs))
