"""What happens when the terminal is gone, or the program fails: it ends at once, and leaves a line, not a page.

Where a browser shows the screen, the pipe from the server is its terminal.
"""

from __future__ import annotations

import asyncio
import os
import select
import signal
import sys
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from rich.text import Text
from textual import on
from textual._context import active_message_pump
from textual.app import App
from textual.driver import Driver

from inspector.ui.toolkit.failures import contain_end_of, note_failure, outliving, reason_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from textual.message import Message

SECONDS_TO_LEAVE = 2.0
"""What there is to keep is kept in that time; whoever still waits then waits to write to a terminal that is gone."""

ASIDE = {"SIGTSTP": "_sigtstp_application", "SIGCONT": "_sigcont_application"}
"""Signals that put the program aside and take it up again, and what of Textual's driver does that."""


class EndingApp(App[None]):
    """An application that ends with its terminal, and tells of a failure in a line."""

    _is_put_aside_early = False

    def _build_driver(self, headless: bool, inline: bool, mouse: bool, size: tuple[int, int] | None) -> Driver:
        driver = super()._build_driver(headless, inline, mouse, size)
        if not headless and ASIDE["SIGTSTP"] in dir(driver):
            # Textual would stop there and then what it has not started; it is put aside once it is.
            signal.signal(signal.SIGTSTP, self._put_aside_early)
            signal.signal(signal.SIGCONT, signal.SIG_DFL)
        return driver

    def _put_aside_early(self, *_: object) -> None:
        self._is_put_aside_early = True

    def on_mount(self) -> None:
        """Watch the terminal, or the pipe from the server: one that was killed tells nothing but by its end.

        It may be gone by now, and is then no terminal any more.
        """
        if self.is_headless or sys.__stdin__ is None:
            return
        loop = asyncio.get_running_loop()
        watch_terminal(sys.__stdin__.fileno(), loop, self.leave_for_good)
        # Textual puts the program aside wherever it is: within a write it then waits for itself, for ever.
        for name, handler in ASIDE.items():
            if (do := getattr(self._driver, handler, None)) is not None:
                loop.add_signal_handler(signal.Signals[name], do)
        if self._is_put_aside_early:
            os.kill(os.getpid(), signal.SIGTSTP)

    @on(Driver.SignalResume)
    def _paint_again(self) -> None:
        """Whoever had the terminal meanwhile has written over everything."""
        self.refresh(layout=True)

    def leave_for_good(self) -> None:
        """The terminal was closed, or the program is to end."""
        self.exit()

    async def _dispatch_message(self, message: Message) -> None:
        await outliving(super()._dispatch_message(message))

    def _handle_exception(self, error: Exception) -> None:
        if not contain_end_of(active_message_pump.get(None), error):
            super()._handle_exception(error)

    def _fatal_error(self) -> None:
        error = self._exception
        if error is not None:
            self._exit_renderables.append(Text(told_of(error, note_failure(error))))
        self._close_messages_no_wait()

    def _print_error_renderables(self) -> None:
        for told in self._exit_renderables:
            # A line that is broken or cut names a file that nobody can open.
            self.error_console.print(told, soft_wrap=isinstance(told, Text))
        self._exit_renderables.clear()


def watch_terminal(terminal: int, loop: asyncio.AbstractEventLoop, leave: Callable[[], Any]) -> None:
    """Leave when a terminal or a pipe is gone, in a thread of its own; end the process where that takes long.

    Nobody but the kernel tells of it where the signal for it is ignored. To read gives nothing then, for ever, and to
    write may wait for ever.

    Args:
        terminal: Its descriptor.
        loop: What the application runs in.
        leave: Keeps what is to be kept and ends the application; called in the loop.
    """

    def watch() -> None:
        poll = select.poll()
        poll.register(terminal, 0)
        while not any(happened & select.POLLHUP for _, happened in poll.poll()):
            time.sleep(SECONDS_TO_LEAVE)
        with suppress(RuntimeError):  # the application has ended, and the process not yet
            loop.call_soon_threadsafe(leave)
        time.sleep(SECONDS_TO_LEAVE)
        os._exit(128 + signal.SIGHUP)

    threading.Thread(target=watch, name="terminal", daemon=True).start()


def told_of(error: BaseException, path: Path | None) -> str:
    """What is told of a failure, in a line."""
    where = f"its traceback is in {path}" if path is not None else "its traceback could not be kept"
    return f"inspector: this is a bug: {reason_of(error)}; {where}"
