"""Terminal input that never ends the screen, and a clean exit when the terminal is closed.

Textual 8.2 stops reading the terminal on bytes that are not UTF-8 and on numbers out of range in an escape sequence.
Any program that writes to the terminal can send either. Remove that part once Textual handles both.
If a browser shows the screen, the pipe from the server is the terminal.
"""

from __future__ import annotations

import asyncio
import os
import select
import selectors
import signal
import sys
import termios
import threading
import time
from codecs import getincrementaldecoder
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from rich.text import Text
from textual import events, on
from textual._context import active_message_pump
from textual._xterm_parser import XTermParser
from textual.app import App
from textual.driver import Driver
from textual.drivers.linux_driver import LinuxDriver
from textual.keys import Keys

from inspector.ui.toolkit.failures import contain_pump_failure, keep_running, log_failure, reason_of

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable
    from pathlib import Path

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


SECONDS_OF_SIGNALS_SENT_TOGETHER = 0.03


class TerminalDriver(LinuxDriver):
    """Textual's driver for Unix terminals, with input that never ends it and signals that take effect in their order.

    Textual's handlers of job control run at any point. Within a write, suspending would wait for that write forever.
    Here the event loop runs them. Threads may report signals in another order than they were sent: a SIGTSTP together
    with a SIGCONT is taken for the earlier one. Otherwise the process might suspend itself after the last SIGCONT.
    """

    _is_continued = False
    _continued_at = _stopped_at = float("-inf")

    def handle_job_control(self) -> None:
        """Handle SIGTSTP and SIGCONT in the event loop."""
        self._loop.add_signal_handler(signal.SIGTSTP, self._loop.call_soon, self._suspend)
        self._loop.add_signal_handler(signal.SIGCONT, self._loop.call_soon, self._resume)
        # These handlers run before the loop does, which may be busy for longer than signals are apart.
        signal.signal(signal.SIGTSTP, self._note_stop)
        signal.signal(signal.SIGCONT, self._note_continue)

    def _note_stop(self, *_: object) -> None:
        self._stopped_at = time.monotonic()

    def _note_continue(self, *_: object) -> None:
        self._is_continued, self._continued_at = True, time.monotonic()

    def _suspend(self) -> None:
        process, together = os.getpid(), self._stopped_at - SECONDS_OF_SIGNALS_SENT_TOGETHER
        if self._continued_at > together:
            return
        self._leave()
        # Python runs handlers after a call, then other threads. The second call is for signals that came meanwhile.
        os.getpid()
        os.getpid()
        if self._continued_at < together:
            os.kill(process, signal.SIGSTOP)

    def _resume(self) -> None:
        if not self._is_continued:
            return
        self._is_continued = False
        with suppress(termios.error):  # stops a process in the background until it is in the foreground
            termios.tcsetattr(self.fileno, termios.TCSANOW, termios.tcgetattr(self.fileno))
        # After a SIGSTOP the terminal's modes may be anyone's: set all of them again.
        self._leave()
        self._must_signal_resume = True
        self.resume_application_mode()

    def _leave(self) -> None:
        if self._writer_thread is not None and self._writer_thread.is_alive():
            self.suspend_application_mode()

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


SECONDS_TO_LEAVE = 2.0
"""Time to save state before the process is killed. A thread still busy then is blocked writing to the terminal."""

SECONDS_TO_END = 5.0
"""Time to save state and restore the terminal after a signal before the process is killed."""


class EndingApp(App[None]):
    """App that exits with its terminal and reports a crash in one line."""

    _is_suspended_early = False

    def get_driver_class(self) -> type[Driver]:
        """Return the driver named in the environment, or one that invalid input does not end."""
        driver = super().get_driver_class()
        return TerminalDriver if driver is LinuxDriver else driver

    def _build_driver(self, headless: bool, inline: bool, mouse: bool, size: tuple[int, int] | None) -> Driver:
        driver = super()._build_driver(headless, inline, mouse, size)
        if isinstance(driver, TerminalDriver):
            # Textual would suspend at once and stop a driver that has not started. Suspend once it has.
            signal.signal(signal.SIGTSTP, self._suspend_early)
            signal.signal(signal.SIGCONT, signal.SIG_DFL)
        return driver

    def _suspend_early(self, *_: object) -> None:
        self._is_suspended_early = True

    def on_mount(self) -> None:
        """Watch the terminal, or the pipe from the server: a killed server only closes its pipe.

        If it is already gone, it is no longer a terminal, so watch it in any case.
        """
        if self.is_headless or sys.__stdin__ is None:
            return
        loop = asyncio.get_running_loop()
        watch_terminal(sys.__stdin__.fileno(), loop, self.exit_saving_state)
        if isinstance(self._driver, TerminalDriver):
            self._driver.handle_job_control()
        if self._is_suspended_early:
            os.kill(os.getpid(), signal.SIGTSTP)

    @on(Driver.SignalResume)
    def _paint_again(self) -> None:
        """Repaint, because other programs wrote over the screen."""
        self.refresh(layout=True)

    def exit_saving_state(self) -> None:
        self.exit()

    async def _dispatch_message(self, message: Message) -> None:
        await keep_running(super()._dispatch_message(message))

    def _handle_exception(self, error: Exception) -> None:
        if not contain_pump_failure(active_message_pump.get(None), error):
            super()._handle_exception(error)

    def _fatal_error(self) -> None:
        error = self._exception
        if error is not None:
            self._exit_renderables.append(Text(crash_message(error, log_failure(error))))
        self._close_messages_no_wait()

    def _print_error_renderables(self) -> None:
        for reported in self._exit_renderables:
            # A wrapped or truncated path could not be opened.
            self.error_console.print(reported, soft_wrap=isinstance(reported, Text))
        self._exit_renderables.clear()


def watch_terminal(terminal: int, loop: asyncio.AbstractEventLoop, leave: Callable[[], Any]) -> None:
    """Leave when a terminal or a pipe is closed. Runs in a thread, and kills the process if leaving takes too long.

    If SIGHUP is ignored, only `poll` reports it. Reads then return nothing forever, and writes may block forever.

    Args:
        terminal: File descriptor.
        loop: Event loop of the application.
        leave: Saves state and exits the application; called in the loop.
    """

    def watch() -> None:
        poll = select.poll()
        poll.register(terminal, 0)
        while not any(happened & select.POLLHUP for _, happened in poll.poll()):
            time.sleep(SECONDS_TO_LEAVE)
        with suppress(RuntimeError):  # the application has ended, but the process has not
            loop.call_soon_threadsafe(leave)
        time.sleep(SECONDS_TO_LEAVE)
        os._exit(128 + signal.SIGHUP)

    threading.Thread(target=watch, name="terminal", daemon=True).start()


def exit_on_signal(number: signal.Signals, loop: asyncio.AbstractEventLoop, leave: Callable[[], Any]) -> None:
    """Leave on a signal, and kill the process if leaving takes too long: writes to a paused terminal block forever.

    A loop blocked in such a write runs no handler of its own, so the signal is handled by Python, within the write.

    Args:
        number: The signal.
        loop: Event loop of the application.
        leave: Saves state and exits the application; called in the loop.

    Raises:
        ValueError: Called outside the main thread.
    """

    def kill() -> None:
        time.sleep(SECONDS_TO_END)
        os._exit(128 + number)

    def handle(*_: object) -> None:
        try:
            loop.call_soon_threadsafe(leave)
        except RuntimeError:  # the application has ended, but the process has not
            signal.signal(number, signal.SIG_DFL)
            signal.raise_signal(number)
        else:
            threading.Thread(target=kill, name="exit", daemon=True).start()

    signal.signal(number, handle)


def crash_message(error: BaseException, path: Path | None) -> str:
    """Describe a crash in one line."""
    where = f"traceback in {path}" if path is not None else "the traceback could not be saved"
    return f"inspector crashed: {reason_of(error)}; {where}"
