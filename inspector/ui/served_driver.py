"""Textual driver for the browser. It reads input only as fast as the app processes it."""

from __future__ import annotations

import asyncio
import os
from concurrent.futures import wait
from contextlib import closing, suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from textual import events
from textual.drivers._byte_stream import ByteStream
from textual.drivers.web_driver import WebDriver, _ExitInput

from inspector.ui.terminal_input import InputDecoder

if TYPE_CHECKING:
    from collections.abc import Iterable

    from textual.app import App
    from textual.message import Message

KEYS = "D"
"""Type of a packet with terminal input; the others hold events as JSON."""

MOST_AT_ONCE = 100
"""Number of events read between two checks of the message queues."""

MOST_LEFT = 100
"""Maximum number of messages that may be queued at a check before reading pauses."""

SECONDS_BETWEEN_LOOKS = 0.02

MOST_DELIVERIES = 4
"""Maximum number of files offered to the browser; limits memory if it fetches none."""


class ServedDriver(WebDriver):
    """Driver that draws to a pipe to the server, and reads the browser's input from another."""

    def __init__(self, app: App[Any], **options: Any) -> None:
        super().__init__(app, **options)
        self._given = 0
        self._write = partial(_write_while_read, self.fileno)

    def run_input_thread(self) -> None:
        """Read packets of the server until it ends the app."""
        decoder, packets = InputDecoder(debug=self._debug), ByteStream()
        with closing(self._input_reader), suppress(_ExitInput, RuntimeError):  # the event loop has ended
            for data in self._input_reader:
                for kind, payload in packets.feed(data) if data else ():
                    if kind == KEYS:
                        self._process_all(decoder.feed(payload))
                    else:
                        self._on_meta(kind, payload)
                self._process_all(decoder.tick())

    def _process_all(self, messages: Iterable[Message]) -> None:
        for message in messages:
            self.process_message(message)

    def process_message(self, message: Message) -> None:
        """Handle terminal input. Sizes among the keys are dropped: only the server's are checked against limits."""
        if not isinstance(message, events.Resize):
            super().process_message(message)

    def send_message(self, message: Message) -> None:
        """Send a message to the app, once most earlier messages are processed."""
        self._keep_pace()
        super().send_message(message)

    def on_meta(self, packet_type: str, payload: dict[str, object]) -> None:
        """Handle a server packet, once most earlier messages are processed."""
        self._keep_pace()
        super().on_meta(packet_type, payload)

    def deliver_binary(self, *given: Any, **options: Any) -> None:
        """Offer a file to the browser, and drop the oldest one it has not fetched."""
        if len(self._deliveries) >= MOST_DELIVERIES:
            oldest = next(iter(self._deliveries))
            self._deliveries.pop(oldest).close()
            # An empty chunk would mean a complete download. The encoding supports None, the type annotation does not.
            self.write_binary_encoded(("deliver_chunk", oldest, None))  # type: ignore[arg-type]
        super().deliver_binary(*given, **options)

    def _keep_pace(self) -> None:
        """Block the reader thread. Unread input queues in the pipe and then in the server, which limits it."""
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
        """Count queued messages of the app and of the widgets on the top screen."""
        screens = self._app.screen_stack[-1:]
        widgets = [widget for screen in screens for widget in screen.walk_children(with_self=True)]
        return sum(node.message_queue_size for node in (self._app, *widgets))


def _write_while_read(file: int, data: bytes) -> int:
    """Write to the server. A closed pipe is ignored: the app exits at the end of its input."""
    try:
        return os.write(file, data)
    except BrokenPipeError:
        return 0
