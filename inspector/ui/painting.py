"""Painting together what belongs together: a control that was moved, and what that comes to."""

from __future__ import annotations

import asyncio
from contextlib import ExitStack, asynccontextmanager
from time import monotonic
from typing import TYPE_CHECKING, Any

from textual.app import App

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from textual.widget import Widget

FRAME = 1 / 60
"""Seconds of a frame on most screens."""

SECONDS_HELD = 0.05
"""Painting is held back for so long at most."""

SECONDS_SHOWN = 0.033
"""What was let go is painted before anything is held back again, so that dragging never stops the screen."""

TURNS_OF_WIDGETS = 3
"""Turns of the event loop within which every widget has said that it wants painting."""


class PaintingApp(App[None]):
    """An application that can hold its painting back.

    A frame of its own for the first part of a change would hold up the rest of it, which then waits for its turn.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._held: ExitStack | None = None
        self._let_go = 0.0

    def hold_painting(self) -> None:
        """Paint nothing until it is let go, or for a few frames at most."""
        if self._held is None and monotonic() - self._let_go > SECONDS_SHOWN:
            self._held = ExitStack()
            self._held.enter_context(self.batch_update())
            self.set_timer(SECONDS_HELD, self.let_painting_go)

    def let_painting_go(self) -> None:
        """Paint again."""
        if self._held is not None:
            self._held.close()
            self._held = None
            self._let_go = monotonic()
            self.screen.check_idle()

    @asynccontextmanager
    async def in_one_frame(self) -> AsyncIterator[None]:
        """Have painted together what is changed within, and what was held back.

        Every widget says from a task of its own that it wants painting; whoever came late would wait for two frames.
        """
        with self.batch_update():
            self.let_painting_go()
            yield
            for _ in range(TURNS_OF_WIDGETS):
                await asyncio.sleep(0)
        # A screen that had nothing left to do meanwhile has found that it may not paint yet, and asks no more.
        self.screen.check_idle()


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
