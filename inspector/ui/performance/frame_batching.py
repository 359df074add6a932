"""Frame batching: paint related changes together, and run code after a frame."""

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
"""Seconds per frame on most screens."""

SECONDS_HELD = 0.05
"""Maximum seconds for which painting is suspended."""

SECONDS_UNPAINTED = 0.25
"""Timeout for a frame before code that waits for it runs anyway."""

TURNS_OF_WIDGETS = 3
"""Event loop turns in which every widget has requested its repaint."""


class PaintingApp(App[None]):
    """An app that can suspend painting.

    Painting the first part of a change separately would delay the rest of it.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._held: ExitStack | None = None
        self._is_owed = False
        self._is_late = False

    def hold_painting(self) -> None:
        """Suspend painting until it is resumed, for a few frames at most.

        Resumed changes are painted before painting is suspended again, so that dragging never stops the screen. If the
        rest of a change took longer than that, nothing more is suspended until it has arrived.
        """
        if self._held is None and not self._is_owed and not self._is_late:
            self._held = ExitStack()
            self._held.enter_context(self.batch_update())
            self.set_timer(SECONDS_HELD, partial(self._give_up, self._held))

    def resume_painting(self) -> None:
        if self._held is not None:
            self._held.close()
            self._held = None
            self._is_owed = True
            self._ask_for_painting()

    def _ask_for_painting(self) -> None:
        """Request a paint of pending changes; an exiting app has no screen."""
        if self.screen_stack:
            self.screen.check_idle()

    def _give_up(self, held: ExitStack) -> None:
        if held is self._held:
            self._is_late = True
            self.resume_painting()

    def post_display_hook(self) -> None:
        """Record that resumed changes have been painted."""
        self._is_owed = False

    @asynccontextmanager
    async def in_one_frame(self) -> AsyncIterator[None]:
        """Paint all changes made within the context in one frame, including suspended ones.

        Each widget requests its repaint in its own task; late requests would wait for another frame.
        """
        with self.batch_update():
            self.resume_painting()
            self._is_late = False
            yield
            for _ in range(TURNS_OF_WIDGETS):
                await asyncio.sleep(0)
            self._is_owed = True
        # A screen that was idle while painting was suspended does not request a paint again.
        self._ask_for_painting()


def hold_painting(widget: Widget) -> None:
    """Suspend painting of the widget's app; see `PaintingApp.hold_painting`."""
    if isinstance(widget.app, PaintingApp):
        widget.app.hold_painting()


@asynccontextmanager
async def in_one_frame(widget: Widget) -> AsyncIterator[None]:
    """Paint all changes made within the context together; see `PaintingApp.in_one_frame`."""
    if isinstance(widget.app, PaintingApp):
        async with widget.app.in_one_frame():
            yield
    else:
        yield


def after_frame(asker: MessagePump, do: Callable[[], object]) -> None:
    """Call a function once, in the turn of `asker`, after all pending changes are on the screen.

    Textual's `call_after_refresh` leaves the callback with the screen on top, which delays it while another screen is
    on top and drops it when it closes. Nothing is called if `asker` has been closed by then. The function may be a
    coroutine function.
    """
    # Both lists are emptied afterwards: the timer refers to its callback, and the callback's references would otherwise
    # stay alive until garbage collection.
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
