"""How the screen is drawn in a browser: input is taken in as fast as the application works it off, and no faster."""

from __future__ import annotations

import asyncio
import os
from concurrent.futures import wait
from functools import partial
from typing import TYPE_CHECKING, Any

from textual import events
from textual.drivers.web_driver import WebDriver

if TYPE_CHECKING:
    from textual.app import App
    from textual.message import Message

MOST_AT_ONCE = 100
"""Events that are read before it is asked whether those before them are worked off."""

MOST_LEFT = 100
"""So many messages of the application and its widgets may still wait then."""

SECONDS_BETWEEN_LOOKS = 0.02

MOST_DELIVERIES = 4
"""Files that are kept for a browser to fetch; one that fetches none would have them all kept."""


class ServedDriver(WebDriver):
    """Draws through a pipe to the server, and reads from one what a browser sends."""

    def __init__(self, app: App[Any], **options: Any) -> None:
        super().__init__(app, **options)
        self._given = 0
        self._write = partial(_write_while_read, self.fileno)

    def process_message(self, message: Message) -> None:
        """Take in what a terminal sent. A size is told by the server; one among the keys would pass its limits."""
        if not isinstance(message, events.Resize):
            super().process_message(message)

    def send_message(self, message: Message) -> None:
        """Give the application a message, once it has worked off most of those before."""
        self._keep_pace()
        super().send_message(message)

    def on_meta(self, packet_type: str, payload: dict[str, object]) -> None:
        """Do what the server says, once the application has worked off most of what came before."""
        self._keep_pace()
        super().on_meta(packet_type, payload)

    def deliver_binary(self, *given: Any, **options: Any) -> None:
        """Offer the browser a file; the oldest of those it has not fetched is then given up."""
        if len(self._deliveries) >= MOST_DELIVERIES:
            oldest = next(iter(self._deliveries))
            self._deliveries.pop(oldest).close()
            # An empty piece would be the end of a file that is being fetched. Its encoding has None, its type has not.
            self.write_binary_encoded(("deliver_chunk", oldest, None))  # type: ignore[arg-type]
        super().deliver_binary(*given, **options)

    def _keep_pace(self) -> None:
        """Wait, in the thread that reads; what is not read waits in the pipe, then with the server, which counts it."""
        self._given += 1
        if self._given % MOST_AT_ONCE or self.exit_event.is_set():
            return
        worked_off = asyncio.run_coroutine_threadsafe(self._work_off(), self._loop)
        while not worked_off.done() and not self.exit_event.is_set():
            wait((worked_off,), SECONDS_BETWEEN_LOOKS)

    async def _work_off(self) -> None:
        while self._count_waiting() > MOST_LEFT:
            await asyncio.sleep(SECONDS_BETWEEN_LOOKS)

    def _count_waiting(self) -> int:
        """Messages that wait for the application and for the widgets of the screen in front."""
        screens = self._app.screen_stack[-1:]
        widgets = [widget for screen in screens for widget in screen.walk_children(with_self=True)]
        return sum(node.message_queue_size for node in (self._app, *widgets))


def _write_while_read(file: int, data: bytes) -> int:
    """Write to the server. One that is gone is no failure: the application ends by the end of its input."""
    try:
        return os.write(file, data)
    except BrokenPipeError:
        return 0
