"""The app in a browser: its input driver, and files sent as downloads."""

from __future__ import annotations

import asyncio
import io
import os
import re
from concurrent.futures import wait
from contextlib import closing, suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from textual import events
from textual.drivers._byte_stream import ByteStream
from textual.drivers.web_driver import WebDriver, _ExitInput

from inspector.ui.terminal import InputDecoder

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

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


_NOT_IN_NAMES = re.compile(r"[^\w.-]+")
"""The name is sent to the browser in an HTTP header."""
LONGEST_STEM = 24
"""Long enough to identify a session, and short enough that the saved path fits into 80 columns."""


def file_stem(session: Path) -> str:
    """Return the first part of the name of a file about a session. Secrets and user names are left out."""
    # Importing it compiles all secret patterns, which would delay the first paint.
    from inspector.report.secret_redaction import shown_name

    stem = _NOT_IN_NAMES.sub("-", shown_name(session.name.partition(".")[0])).strip("-.") or "session"
    whole_words = stem[: LONGEST_STEM + 1].rpartition("-")[0]
    return stem if len(stem) <= LONGEST_STEM else whole_words or stem[:LONGEST_STEM]


def display_path(path: Path) -> str:
    """Return the path with the home folder shortened to `~`."""
    from inspector.report.secret_redaction import without_home

    return without_home(str(path))


def deliver_in_browser(app: App[Any], text: str, path: Path, mime_type: str = "text/plain") -> bool:
    """Send a text to the browser as a download, if a browser shows the screen.

    Args:
        app: The app.
        text: The content.
        path: File name suggested to the browser, with the path it would have on disk.
        mime_type: MIME type.

    Returns:
        False if no browser shows the screen, so the caller has to write the file.
    """
    if not app.is_web:
        return False
    name = _NOT_IN_NAMES.sub("-", path.name) or "inspector"
    app.deliver_text(io.StringIO(text), save_filename=name, mime_type=mime_type)
    return True
