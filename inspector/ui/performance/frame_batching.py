"""When things are painted: what belongs together in one frame, and what is done after it."""

from __future__ import annotations

import asyncio
from contextlib import ExitStack, asynccontextmanager
from functools import partial
from inspect import isawaitable
from typing import TYPE_CHECKING, Any

from textual.app import App
from textual.widget import Widget

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from textual.message_pump import MessagePump
    from textual.timer import Timer

FRAME = 1 / 60
"""Seconds of a frame on most screens."""

SECONDS_HELD = 0.05
"""Painting is held back for so long at most."""

SECONDS_UNPAINTED = 0.25
"""What is to be done after a frame is done without one after so long."""

TURNS_OF_WIDGETS = 3
"""Turns of the event loop within which every widget has said that it wants painting."""


class PaintingApp(App[None]):
    """An application that can hold its painting back.

    A frame of its own for the first part of a change would hold up the rest of it, which then waits for its turn.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._held: ExitStack | None = None
        self._is_owed = False
        self._is_late = False

    def hold_painting(self) -> None:
        """Paint nothing until it is let go, or for a few frames at most.

        What was let go is painted before anything is held back again, so that dragging never stops the screen. Where
        the rest of a change took longer than that, nothing more is held back until it has come.
        """
        if self._held is None and not self._is_owed and not self._is_late:
            self._held = ExitStack()
            self._held.enter_context(self.batch_update())
            self.set_timer(SECONDS_HELD, partial(self._give_up, self._held))

    def let_painting_go(self) -> None:
        """Paint again."""
        if self._held is not None:
            self._held.close()
            self._held = None
            self._is_owed = True
            self._ask_for_painting()

    def _ask_for_painting(self) -> None:
        """Have what waits painted; an application that is closing has no screen any more."""
        if self.screen_stack:
            self.screen.check_idle()

    def _give_up(self, held: ExitStack) -> None:
        if held is self._held:
            self._is_late = True
            self.let_painting_go()

    def post_display_hook(self) -> None:
        """Nothing that was let go waits any more."""
        self._is_owed = False

    @asynccontextmanager
    async def in_one_frame(self) -> AsyncIterator[None]:
        """Have painted together what is changed within, and what was held back.

        Every widget says from a task of its own that it wants painting; whoever came late would wait for two frames.
        """
        with self.batch_update():
            self.let_painting_go()
            self._is_late = False
            yield
            for _ in range(TURNS_OF_WIDGETS):
                await asyncio.sleep(0)
            self._is_owed = True
        # A screen that had nothing left to do meanwhile has found that it may not paint yet, and asks no more.
        self._ask_for_painting()


def hold_painting(widget: Widget) -> None:
    """Hold back the painting of the application a widget is in; see `PaintingApp.hold_painting`."""
    if isinstance(widget.app, PaintingApp):
        widget.app.hold_painting()


@asynccontextmanager
async def in_one_frame(widget: Widget) -> AsyncIterator[None]:
    """Have painted together what is changed within; see `PaintingApp.in_one_frame`."""
    if isinstance(widget.app, PaintingApp):
        async with widget.app.in_one_frame():
            yield
    else:
        yield


def after_frame(asker: MessagePump, do: Callable[[], object]) -> None:
    """Do something once everything that waits to be painted is on the screen.

    Textual's own `call_after_refresh` leaves it with the screen in front, which keeps it unpainted until it is in front
    again, or for good, where another one comes to the front or it closes meanwhile. For one that is closed itself by
    then nothing is done.

    Args:
        asker: In whose turn it is done.
        do: What is done, once; may be a coroutine function.
    """
    # Both are taken out when it is done: the timer refers to what it calls, and what that holds would else wait for
    # garbage to be collected.
    due = [do]
    timers: list[Timer] = []

    async def once() -> None:
        while timers:
            timers.pop().stop()
        if due:
            what = due.pop()
            if isinstance(asker, Widget) and not asker.is_attached:
                return
            done = what()
            if isawaitable(done):
                await done

    timers.append(asker.set_timer(SECONDS_UNPAINTED, once))
    asker.call_after_refresh(once)
