"""Coalescing of mouse moves while dragging: only the newest move per frame is processed."""

from __future__ import annotations

import asyncio
from time import monotonic
from typing import TYPE_CHECKING, Any

from textual import events
from textual.app import App
from textual.widget import Widget

from inspector.ui.performance.painting import FRAME

if TYPE_CHECKING:
    from textual.timer import Timer

BETWEEN_MOVES = FRAME
"""Minimum seconds between two processed moves: more than one per frame would only add delay."""

TURNS_OF_INPUT = 3
"""Event loop turns in which input that was read reaches the app."""

TURNS_OF_MESSAGES = 40
"""Event loop turns in which a widget's messages about a move reach their handlers."""


class DraggingApp(App[None]):
    """An app that processes one mouse move per frame while a widget captures the mouse.

    Terminals report every cell that the mouse passes, up to a thousand per second: processing each one would leave no
    time to paint.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._newest_move: events.MouseMove | None = None
        self._move_timer: Timer | None = None
        self._moved = 0.0

    async def on_event(self, event: events.Event) -> None:
        """Hold back a move soon after the previous one; any other event is processed after it."""
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
        if self._move_timer is not None:
            self._move_timer.stop()
            self._move_timer = None
        move, self._newest_move = self._newest_move, None
        if move is not None:
            self._moved = monotonic()
            await super().on_event(move)

    async def follow_at_once(self) -> None:
        """Process the held move now, or the next one on arrival, because the previous move has been handled."""
        if self._newest_move is None:
            self._moved = 0.0
        await self.take_newest_move()


async def take_newest_move(widget: Widget) -> None:
    """Process the newest move of the widget's app and wait until it has been handled.

    A move becomes a message of the capturing widget, which its ancestors handle in turn; without waiting, the caller
    would use the previous position.
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
    # The screen may be waiting here itself and handles no messages until then.
    on_the_way = [node for node in holder.ancestors_with_self if isinstance(node, Widget) and node is not holder.screen]
    for _ in range(TURNS_OF_MESSAGES):
        await asyncio.sleep(0)
        if not any(node.message_queue_size for node in on_the_way):
            break
