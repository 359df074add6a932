"""Terminal input that never ends the screen: invalid bytes and sequences are replaced or dropped.

Textual 8.2 stops reading the terminal on bytes that are not UTF-8 and on numbers out of range in an escape sequence.
Any program that writes to the terminal can send either. Remove this module once Textual handles both.
"""

from __future__ import annotations

import os
import selectors
from codecs import getincrementaldecoder
from typing import TYPE_CHECKING, NamedTuple

from textual import events
from textual._xterm_parser import XTermParser
from textual.drivers.linux_driver import LinuxDriver
from textual.keys import Keys

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable

    from textual._parser import Peek1, Read1, TokenCallback
    from textual.message import Message

MOST_COLUMNS = 1_000
MOST_ROWS = 400
"""Limits on a size in an escape sequence: more than the largest monitors show. Painting takes time per cell."""

READ_BYTES = 4096
SECONDS_BETWEEN_TICKS = 0.1
"""Polling interval for the end of an escape sequence and of the program."""


class _Geometry(NamedTuple):
    """Window properties known to the parser.

    Attributes:
        mouse_pixels: True if the mouse is reported in pixels.
        size: Columns and rows.
        pixel_size: Width and height in pixels.
    """

    mouse_pixels: bool = False
    size: tuple[int, int] | None = None
    pixel_size: tuple[int, int] | None = None


class TolerantParser(XTermParser):
    """Parser that drops invalid escape sequences and continues with the input after them."""

    _geometry = _Geometry()

    def parse(self, token_callback: TokenCallback[Message]) -> Generator[Read1 | Peek1, str, None]:
        """Parse characters into messages."""

        def take(message: Message) -> None:
            if isinstance(message, events.Resize):
                self._take_size(message)
            if not (isinstance(message, events.Key) and _is_surrogate(message.character)):
                token_callback(message)

        is_ended = False
        while not is_ended:
            try:
                yield from super().parse(take)
                is_ended = True
            except (ArithmeticError, ValueError):
                self.mouse_pixels, self.terminal_size, self.terminal_pixel_size = self._geometry

    def _take_size(self, message: events.Resize) -> None:
        """Note a reported size.

        Raises:
            ValueError: No window has this size.
        """
        columns, rows = message.size
        if not (0 < columns <= MOST_COLUMNS and 0 < rows <= MOST_ROWS):
            raise ValueError
        if not message.pixel_size:  # terminals report 0 x 0 if they do not know it
            self.terminal_pixel_size = None
        self._geometry = _Geometry(self.mouse_pixels, self.terminal_size, self.terminal_pixel_size)

    # Textual's method is a cached one, which no method can have the type of.
    def _parse_extended_key(self, sequence: str) -> list[events.Key] | None:  # type: ignore[override]
        try:
            return super()._parse_extended_key(sequence)
        except (ArithmeticError, ValueError):
            return [events.Key(Keys.Ignore, sequence)]


class InputDecoder:
    """Turns bytes of a terminal into messages. Bytes that are not UTF-8 become `U+FFFD`."""

    def __init__(self, *, debug: bool = False) -> None:
        self._parser = TolerantParser(debug)
        self._decode = getincrementaldecoder("utf-8")("replace").decode

    def feed(self, data: bytes, *, is_last: bool = False) -> Iterable[Message]:
        """Yield the messages that the bytes complete."""
        if text := self._decode(data, is_last):
            yield from self._parser.feed(text)

    def tick(self) -> Iterable[Message]:
        """Yield messages that were waiting for the rest of an escape sequence; call it regularly."""
        yield from self._parser.tick()


class TerminalDriver(LinuxDriver):
    """Textual's driver for Unix terminals, with input that never ends it."""

    def run_input_thread(self) -> None:
        """Read the terminal until the app exits."""
        decoder = InputDecoder(debug=self._debug)
        with selectors.SelectSelector() as selector:
            selector.register(self.fileno, selectors.EVENT_READ)
            is_last = False
            while not is_last:
                is_last = self.exit_event.is_set()
                data = os.read(self.fileno, READ_BYTES) if selector.select(SECONDS_BETWEEN_TICKS) else b""
                for messages in (decoder.feed(data, is_last=is_last), decoder.tick()):
                    for message in messages:
                        self.process_message(message)


def _is_surrogate(character: str | None) -> bool:
    return character is not None and len(character) == 1 and "\ud800" <= character <= "\udfff"
