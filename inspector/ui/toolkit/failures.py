"""Failures contained in a part of the screen: the part shows a notice, everything else continues.

The failing part is the one around the innermost widget in the traceback. A failure outside all parts (the app, a
session's screen) ends the program.
"""

from __future__ import annotations

import traceback
from datetime import datetime
from typing import TYPE_CHECKING, ClassVar, NamedTuple, Protocol, runtime_checkable

from textual.content import Content
from textual.dom import DOMNode
from textual.message import Message
from textual.screen import Screen
from textual.widget import Widget

from inspector.atomic_files import APPLICATION, replacing
from inspector.safe_text import one_line
from inspector.ui.actions.action import bindings
from inspector.ui.actions.parts import FAILURE

if TYPE_CHECKING:
    from collections.abc import Awaitable
    from pathlib import Path

    from textual import events
    from textual.binding import BindingType
    from textual.message_pump import MessagePump

LOG_NAME = "failures.log"
MOST_KEPT = 200_000
"""Maximum size of earlier entries in the log, in bytes."""


def failures_log() -> Path:
    from platformdirs import user_state_path

    return user_state_path(APPLICATION) / LOG_NAME


def log_failure(error: BaseException) -> Path | None:
    """Append a traceback to the log; return its path, None if it could not be written."""
    path = failures_log()
    text = "".join(traceback.format_exception(error))
    try:
        before = path.read_bytes()[-MOST_KEPT:] if path.exists() else b""
        with replacing(path) as file:
            file.write(before + f"{datetime.now().astimezone():%Y-%m-%d %H:%M:%S}\n{text}\n".encode(errors="replace"))
    except OSError:
        return None
    return path


def reason_of(error: BaseException) -> str:
    """Describe an error in one line, safe to show; may contain session text."""
    return one_line(f"{type(error).__name__}: {error}".rstrip(": "))


class Failure(NamedTuple):
    """A failure of a part of the screen.

    Attributes:
        reason: One safe line; may contain session text.
        log: Log with the traceback; None if it could not be written.
    """

    reason: str
    log: Path | None

    @classmethod
    def logged(cls, error: BaseException) -> Failure:
        return cls(reason_of(error), log_failure(error))

    @property
    def details(self) -> str:
        """Location of the details, in a few words."""
        return "its details could not be saved" if self.log is None else f"details in {one_line(str(self.log))}"


@runtime_checkable
class Part(Protocol):
    """A part that may fail alone: a pane of the main screen, or a screen over another one."""

    @property
    def fails_alone(self) -> bool:
        """True if everything else continues without it."""

    def fail(self, error: Exception) -> None:
        """Log a failure and show it; do nothing if the part has failed before and was not retried."""


def part_around(node: object) -> Part | None:
    """Return the nearest part that may fail alone; None if there is none."""
    nodes = node.ancestors_with_self if isinstance(node, DOMNode) else ()
    return next((each for each in nodes if isinstance(each, Part) and each.fails_alone), None)


def contain(error: Exception) -> bool:
    """Assign a failure to the part around the innermost widget in the traceback.

    Returns:
        True if everything else can continue. That includes failures of widgets already removed from the screen, which
        are drawn once more until the next layout.
    """
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    for frame in reversed(frames):
        node = frame.f_locals.get("self")
        part = part_around(node)
        if part is not None:
            part.fail(error)
            return True
        if isinstance(node, Widget) and not node.is_attached:
            return True
    return False


async def keep_running(dispatch: Awaitable[None]) -> None:
    """Dispatch a message and keep the receiver running: Textual ends any message pump that fails.

    Raises:
        Exception: The failure belongs to no part.
    """
    try:
        await dispatch
    except Exception as error:
        if not contain(error):
            raise


def contain_pump_failure(pump: MessagePump | None, error: Exception) -> bool:
    """Contain a failure that may have ended a widget's message pump; return True if everything else can continue.

    An ended widget must be rebuilt, so the part around it fails too, wherever the error occurred.
    """
    if not contain(error):
        return False
    if isinstance(pump, Widget) and not isinstance(pump, Screen):
        part = part_around(pump)
        if part is None:
            return False
        part.fail(error)
    return True


class FailureNotice(Widget, can_focus=True):
    """Shown in place of a failed part."""

    HELP = "Something in this part of the screen failed. Everything else still works."

    DEFAULT_CSS = """
    FailureNotice {
        height: 1fr;
        width: 1fr;
        padding: 0 1;
        pointer: pointer;
        & > .failure--problem { color: $error; text-style: bold; }
        & > .failure--key { color: $accent; text-style: bold; }
        & > .failure--details { color: $text-muted; }
    }
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = {"failure--problem", "failure--key", "failure--details"}

    BINDINGS: ClassVar[list[BindingType]] = bindings(FAILURE)

    class RetryRequested(Message):
        """Posted to retry the failed part."""

    def __init__(self, failure: Failure) -> None:
        super().__init__()
        self._failure = failure

    def render(self) -> Content:
        """Render the reason, the key to retry and the location of details; small parts cut the end."""
        return Content.assemble(
            (f"this part failed: {self._failure.reason}", self.get_visual_style("failure--problem")),
            "; ",
            ("enter retries", self.get_visual_style("failure--key")),
            (f"; {self._failure.details}", self.get_visual_style("failure--details")),
        )

    def action_retry(self) -> None:
        self.post_message(self.RetryRequested())

    def on_click(self, event: events.Click) -> None:
        event.stop()
        self.action_retry()
