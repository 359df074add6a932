"""Mouse moves while dragging, coalesced: of those that come within a frame, the newest stands for all."""

from __future__ import annotations

import asyncio
from time import monotonic
from typing import TYPE_CHECKING, Any

from textual import events
from textual.app import App
from textual.widget import Widget

from inspector.ui.performance.frame_batching import FRAME

if TYPE_CHECKING:
    from textual.timer import Timer

BETWEEN_MOVES = FRAME
"""Seconds: what a move leads to is worked out once a frame. To follow more of them would only hold that up."""

TURNS_OF_INPUT = 3
"""Turns of the event loop within which input that was read reaches the application."""

TURNS_OF_MESSAGES = 40
"""Turns of the event loop within which what a widget makes of a move reaches whoever acts on it."""


class DraggingApp(App[None]):
    """An application that takes one move of the mouse a frame while a widget holds it.

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

    async def follow_at_once(self) -> None:
        """Follow the mouse to where it is, or the next move as soon as it comes: what the one before led to is done."""
        if self._newest_move is None:
            self._moved = 0.0
        await self.take_newest_move()


async def take_newest_move(widget: Widget) -> None:
    """Follow the mouse to where it is, in the application a widget is in, and wait until that has been acted on.

    A move becomes a message of the widget that holds the mouse, which its ancestors take one after another: whoever
    went on before would go on with the place before.
    """
    app = widget.app
    if not isinstance(app, DraggingApp):
        return
    for _ in range(TURNS_OF_INPUT):
        await asyncio.sleep(0)
    await app.follow_at_once()
    holder = app.mouse_captured
    if holder is None:
        return
    # The screen may be who waits here, and take no message until then.
    on_the_way = [node for node in holder.ancestors_with_self if isinstance(node, Widget) and node is not holder.screen]
    for _ in range(TURNS_OF_MESSAGES):
        await asyncio.sleep(0)
        if not any(node.message_queue_size for node in on_the_way):
            break
