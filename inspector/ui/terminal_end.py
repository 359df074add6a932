"""What happens when the terminal is gone, or the program fails: it ends at once, and leaves a line, not a page."""

from __future__ import annotations

import asyncio
import os
import select
import signal
import sys
import threading
import time
import traceback
from datetime import datetime
from typing import TYPE_CHECKING, Any

from rich.text import Text
from textual.app import App

from inspector.atomic_files import APPLICATION, replacing
from inspector.safe_text import one_line

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

LOG_NAME = "failures.log"
MOST_KEPT = 200_000
"""Bytes of earlier failures that are kept."""

SECONDS_TO_LEAVE = 2.0
"""What there is to keep is kept in that time; whoever still waits then waits to write to a terminal that is gone."""


class EndingApp(App[None]):
    """An application that ends with its terminal, and tells of a failure in a line."""

    def on_mount(self) -> None:
        """Watch the terminal."""
        if not self.is_headless and sys.__stdin__ is not None and sys.__stdin__.isatty():
            watch_terminal(sys.__stdin__.fileno(), asyncio.get_running_loop(), self.leave_for_good)

    def leave_for_good(self) -> None:
        """The terminal was closed, or the program is to end."""
        self.exit()

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
    """Leave when a terminal is gone, in a thread of its own; end the process where that takes long.

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
        loop.call_soon_threadsafe(leave)
        time.sleep(SECONDS_TO_LEAVE)
        os._exit(128 + signal.SIGHUP)

    threading.Thread(target=watch, name="terminal", daemon=True).start()


def failures_log() -> Path:
    """Where failures are noted."""
    from platformdirs import user_state_path

    return user_state_path(APPLICATION) / LOG_NAME


def note_failure(error: BaseException) -> Path | None:
    """Note the traceback of a failure after those before it; where, None where that is not possible."""
    path = failures_log()
    told = "".join(traceback.format_exception(error))
    try:
        before = path.read_bytes()[-MOST_KEPT:] if path.exists() else b""
        with replacing(path) as file:
            file.write(before + f"{datetime.now().astimezone():%Y-%m-%d %H:%M:%S}\n{told}\n".encode(errors="replace"))
    except OSError:
        return None
    return path


def told_of(error: BaseException, path: Path | None) -> str:
    """What is told of a failure, in a line."""
    reason = one_line(f"{type(error).__name__}: {error}".rstrip(": "))
    where = f"its traceback is in {path}" if path is not None else "its traceback could not be kept"
    return f"inspector: this is a bug: {reason}; {where}"
