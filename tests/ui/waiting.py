"""Waiting in tests of an application: for a condition, or until all pending work is done.

For the latter Textual's test driver reads the processor's clock: it treats an application as idle if it used little of
it for a fiftieth of a second. So every pause and every key takes several times that long, and on a busy machine an
application that waits for its turn looks idle. Here the event loop itself reports the pending work.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import contextmanager
from itertools import chain, count, repeat
from typing import TYPE_CHECKING, Any
from unittest import mock
from weakref import WeakKeyDictionary

from textual._compositor import Compositor
from textual.app import ScreenError
from textual.pilot import Pilot

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    import pytest
    from rich.console import RenderableType
    from textual.screen import Screen

PATIENCE = 60
"""Seconds before something is taken never to happen: many, for a machine that is busy with other things."""
FRAMES_A_PAINTED_ONE = 30
"""Frames of a screen of which the last is painted."""
LOOKS = (0.002, 0.005, 0.01, 0.02)
"""Seconds between looks whether something has happened, the last of them from then on."""
SECONDS_UNTOLD = 0.1
"""Seconds after which a fact is looked at though no message came: a file or a thread may have changed it."""
SOON = 0.025
TURNS = 3
"""Turns of the loop without anything to do, after which there is nothing left that one thing hands to the next."""
NUMBERS = count()
"""Counts messages where the test does not: there may always be another."""
TURNS_BETWEEN_CLOCKS = 100
"""Busy turns of the loop between readings of the processor's clock, which take as long as many turns."""


async def until(
    pilot: Pilot[Any],
    fact: Callable[[], Any],
    patience: float = PATIENCE,
    messages: Callable[[], int] = NUMBERS.__next__,
) -> bool:
    """Wait until something is true, for at most so many seconds; whether it is.

    `messages` counts what the application was sent: until that grows, the fact is looked at seldom.
    """
    end, looked, known = time.monotonic() + patience, 0.0, -1
    for wait in chain(LOOKS, repeat(LOOKS[-1])):
        now, newest = time.monotonic(), messages()
        if newest != known or now - looked > SECONDS_UNTOLD:
            if fact():
                return True
            looked, known = now, newest
        if now > end:
            return bool(fact())
        await asyncio.sleep(wait)
    return False


async def wait_for_idle(min_sleep: float = 0, max_sleep: float = 1) -> None:
    loop: Any = asyncio.get_running_loop()
    began, end = None, loop.time() + max_sleep
    quiet = busy = 0
    while quiet < TURNS:
        await asyncio.sleep(0)
        if loop._ready:
            quiet, busy = 0, busy + 1
            if busy % TURNS_BETWEEN_CLOCKS == 0:
                began = began or time.thread_time()
                if time.thread_time() - began > max_sleep:
                    return
            continue
        quiet += 1
        due = min((timed.when() for timed in loop._scheduled if not timed.cancelled()), default=end)
        now = loop.time()
        if due - now < SOON and now < end:
            await asyncio.sleep(max(due - now, 0))
            quiet = 0


async def wait_for_screen(pilot: Pilot[Any], timeout: float = 30.0) -> bool:
    """Wait until every widget has handled its messages, without sending each another one as Textual does."""
    await wait_for_idle()
    try:
        waiting = (pilot.app, *pilot.app.screen.walk_children(with_self=True))
    except ScreenError:
        return False
    if any(each.message_queue_size for each in waiting):
        return await send_each_a_message(pilot, timeout)
    return True


send_each_a_message = Pilot._wait_for_screen
"""Textual's own way: every widget has then let go of the message it handled before."""


def few_frames(asked: int = FRAMES_A_PAINTED_ONE) -> AbstractContextManager[None]:
    """Paint one of so many frames of each screen, for tests that read the screen themselves."""
    since: WeakKeyDictionary[Compositor, Iterator[int]] = WeakKeyDictionary()
    return _frames_where(lambda compositor: next(since.setdefault(compositor, count(1))) % asked == 0)


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


class NothingKept:
    """A cache of a strip that stays empty: most strips are drawn once, and making their seven caches takes longer."""

    def get(self, *_: object) -> None:
        """Find nothing."""

    def __setitem__(self, *_: object) -> None:
        pass


NOTHING_KEPT_FOR_SIZE = dict.fromkeys((1, 4, 16), NothingKept()).__getitem__
"""Called for every cache of every strip: a method of a dictionary is the fastest."""


def use_in_textual(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the test driver wait like this."""
    monkeypatch.setattr("textual.strip.FIFOCache", NOTHING_KEPT_FOR_SIZE)
    for module in ("textual.app", "textual.pilot"):
        monkeypatch.setattr(f"{module}.wait_for_idle", wait_for_idle)
    monkeypatch.setattr(Pilot, "_wait_for_screen", wait_for_screen)
