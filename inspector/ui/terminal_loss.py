"""Handling of a closed terminal and of crashes: exit at once, with one line instead of a traceback.

If a browser shows the screen, the pipe from the server is the terminal.
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
from textual.drivers.linux_driver import LinuxDriver

from inspector.ui.terminal_input import TerminalDriver
from inspector.ui.toolkit.failures import contain_pump_failure, keep_running, log_failure, reason_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from textual.message import Message

SECONDS_TO_LEAVE = 2.0
"""Time to save state before the process is killed. A thread still busy then is blocked writing to the terminal."""

SECONDS_TO_END = 5.0
"""Time to save state and restore the terminal after a signal before the process is killed."""

JOB_CONTROL_SIGNALS = {"SIGTSTP": "_sigtstp_application", "SIGCONT": "_sigcont_application"}
"""Job control signals (suspend, resume) and the methods of Textual's driver that handle them."""


class EndingApp(App[None]):
    """App that exits with its terminal and reports a crash in one line."""

    _is_suspended_early = False

    def get_driver_class(self) -> type[Driver]:
        """Return the driver named in the environment, or one that invalid input does not end."""
        driver = super().get_driver_class()
        return TerminalDriver if driver is LinuxDriver else driver

    def _build_driver(self, headless: bool, inline: bool, mouse: bool, size: tuple[int, int] | None) -> Driver:
        driver = super()._build_driver(headless, inline, mouse, size)
        if not headless and JOB_CONTROL_SIGNALS["SIGTSTP"] in dir(driver):
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
        # Textual's handlers run at any point. Within a write, suspending would wait for that write forever.
        for name, handler in JOB_CONTROL_SIGNALS.items():
            if (do := getattr(self._driver, handler, None)) is not None:
                loop.add_signal_handler(signal.Signals[name], do)
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
