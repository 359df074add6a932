"""Waiting in tests of an application: for a fact, or until all that is due is done.

For the latter Textual's own test driver looks at the processor's clock: it takes an application for idle that used
little of it for a fiftieth of a second. That makes every pause and every key wait that long several times over, and on
a busy machine it takes one for idle that waits for its turn. Here the event loop itself is asked what is left to do.
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
"""Of the processor, so that a busy machine paints no more than a quiet one. An application without a terminal paints
for nobody: so often is enough to see that nothing it paints fails."""
LOOKS = (0.002, 0.005, 0.01, 0.02)
"""Seconds between looks whether something has happened, the last of them from then on."""
SOON = 0.025
"""Seconds ahead in which what is timed is waited for: a frame is painted, a debounced key taken."""
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
    """Return once nothing is to be done now or within a frame, in place of Textual's function of that name.

    What threads and other processes will hand over later is not waited for: a test waits for the fact itself.

    Args:
        min_sleep: Not needed here.
        max_sleep: Seconds after which to return though something is always to be done, such as an animation. Where it
            is to be done at once they are seconds of the processor: on a busy machine the answer to a key may take
            longer than that by the clock.
    """
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
    """Work out few frames a second: what changed in those between is painted with the next.

    What a test reads of the screen is asked of the widgets, not of a frame.
    """
    painted: WeakKeyDictionary[Compositor, float] = WeakKeyDictionary()

    def is_due(compositor: Compositor) -> bool:
        now = time.process_time()
        if now - painted.get(compositor, -SECONDS_BETWEEN_FRAMES) < SECONDS_BETWEEN_FRAMES:
            return False
        painted[compositor] = now
        return True

    return _frames_where(is_due)


def few_frames(asked: int) -> AbstractContextManager[None]:
    """Work out only one in so many of the frames that are asked for; what changed in the others is painted with it."""
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
