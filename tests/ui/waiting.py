"""Waiting in tests of an application: for a condition, or until all pending work is done.

For the latter Textual's test driver reads the processor's clock: it treats an application as idle if it used little of
it for a fiftieth of a second. So every pause and every key takes several times that long, and on a busy machine an
application that waits for its turn looks idle. Here the event loop itself reports the pending work.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from contextlib import contextmanager
from itertools import chain, repeat
from typing import TYPE_CHECKING, Any
from unittest import mock
from weakref import WeakKeyDictionary

from textual._compositor import Compositor

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    import pytest
    from rich.console import RenderableType
    from textual.pilot import Pilot
    from textual.screen import Screen

PATIENCE = 60
"""Seconds before something is taken never to happen: many, for a machine that is busy with other things."""
SECONDS_BETWEEN_FRAMES = 0.25
LOOKS = (0.002, 0.005, 0.01, 0.02)
"""Seconds between looks whether something has happened, the last of them from then on."""
SOON = 0.025
TURNS = 3
"""Turns of the loop without anything to do, after which there is nothing left that one thing hands to the next."""


async def until(pilot: Pilot[Any], fact: Callable[[], Any], patience: float = PATIENCE) -> bool:
    """Wait until something is true, for at most so many seconds; whether it is."""
    end = time.monotonic() + patience
    for wait in chain(LOOKS, repeat(LOOKS[-1])):
        if fact():
            return True
        if time.monotonic() > end:
            break
        await pilot.pause(wait)
    return False


async def wait_for_idle(min_sleep: float = 0, max_sleep: float = 1) -> None:
    loop: Any = asyncio.get_running_loop()
    began, end = time.thread_time(), loop.time() + max_sleep
    quiet = 0
    while quiet < TURNS:
        await asyncio.sleep(0)
        if loop._ready:
            if time.thread_time() - began > max_sleep:
                return
            quiet = 0
            continue
        quiet += 1
        due = min((timed.when() for timed in loop._scheduled if not timed.cancelled()), default=end)
        now = loop.time()
        if due - now < SOON and now < end:
            await asyncio.sleep(max(due - now, 0))
            quiet = 0


def paint_seldom() -> AbstractContextManager[None]:
    painted: WeakKeyDictionary[Compositor, float] = WeakKeyDictionary()

    def is_due(compositor: Compositor) -> bool:
        now = time.process_time()
        if now - painted.get(compositor, -SECONDS_BETWEEN_FRAMES) < SECONDS_BETWEEN_FRAMES:
            return False
        painted[compositor] = now
        return True

    return _frames_where(is_due)


def few_frames(asked: int) -> AbstractContextManager[None]:
    since: Counter[Compositor] = Counter()

    def is_due(compositor: Compositor) -> bool:
        since[compositor] += 1
        return since[compositor] % asked == 0

    return _frames_where(is_due)


@contextmanager
def _frames_where(is_due: Callable[[Compositor], bool]) -> Iterator[None]:
    """Leave out frames that are not due, but never a whole one."""
    render_update = Compositor.render_update

    def seldom(
        compositor: Compositor,
        full: bool = False,
        screen_stack: list[Screen[Any]] | None = None,
        simplify: bool = False,
    ) -> RenderableType | None:
        if not full and not is_due(compositor):
            return None
        return render_update(compositor, full, screen_stack, simplify)

    with mock.patch.object(Compositor, "render_update", seldom):
        yield


def use_in_textual(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the test driver wait like this."""
    for module in ("textual.app", "textual.pilot"):
        monkeypatch.setattr(f"{module}.wait_for_idle", wait_for_idle)
