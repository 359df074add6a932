"""Mouse moves while dragging, coalesced: of those that come within half a frame, the newest stands for all."""

from __future__ import annotations

import asyncio
from time import monotonic
from typing import TYPE_CHECKING, Any

from textual import events
from textual.app import App

from inspector.ui.performance.frame_batching import FRAME

if TYPE_CHECKING:
    from textual.timer import Timer
    from textual.widget import Widget

BETWEEN_MOVES = FRAME / 2
"""Seconds: what a move leads to is worked out once a frame, from the newest place there is by then."""

TURNS_OF_INPUT = 3
"""Turns of the event loop within which input that was read reaches the application."""


class DraggingApp(App[None]):
    """An application that takes two moves of the mouse a frame at most while a widget holds it.

    Terminals tell of every cell the mouse passes, mice of up to a thousand places a second: looking each of them up,
    and following it, would leave no time to paint.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._newest_move: events.MouseMove | None = None
        self._move_timer: Timer | None = None
        self._moved = 0.0

    async def on_event(self, event: events.Event) -> None:
        """Keep a move that comes soon after the one before; whatever else comes, comes after it."""
        if isinstance(event, events.InputEvent) and not event.is_forwarded:
            if isinstance(event, events.MouseMove) and self.mouse_captured is not None:
                wait = self._moved + BETWEEN_MOVES - monotonic()
                if wait > 0:
                    self._newest_move = event
                    if self._move_timer is None:
                        self._move_timer = self.set_timer(wait, self.take_newest_move)
                    return
                self._newest_move = None
                self._moved = monotonic()
            else:
                await self.take_newest_move()
        await super().on_event(event)

    async def take_newest_move(self) -> None:
        """Follow the mouse to where it is, as far as that is known."""
        if self._move_timer is not None:
            self._move_timer.stop()
            self._move_timer = None
        move, self._newest_move = self._newest_move, None
        if move is not None:
            self._moved = monotonic()
            await super().on_event(move)


async def take_newest_move(widget: Widget) -> None:
    """Follow the mouse to where it is, in the application a widget is in; see `DraggingApp.take_newest_move`."""
    if isinstance(widget.app, DraggingApp):
        for _ in range(TURNS_OF_INPUT):
            await asyncio.sleep(0)
        await widget.app.take_newest_move()
