"""A failure in a part of the screen: the part says so, and everything else goes on.

Whatever was at work when something failed stands in the traceback, so that tells which part it belongs to: the part
around the innermost widget. What belongs to no part (the application, the screen of a session) is nobody's to tell of:
there the program ends.
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
"""Bytes of earlier failures that are kept."""


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


def reason_of(error: BaseException) -> str:
    """What failed, in a line that is safe to show; may hold session text."""
    return one_line(f"{type(error).__name__}: {error}".rstrip(": "))


class Failure(NamedTuple):
    """What a part of the screen failed with.

    Attributes:
        reason: In a line; may hold session text, made safe.
        log: Where its traceback is kept; None where it could not be.
    """

    reason: str
    log: Path | None

    @classmethod
    def noted(cls, error: BaseException) -> Failure:
        """Note a failure."""
        return cls(reason_of(error), note_failure(error))

    @property
    def details(self) -> str:
        """Where more is said of it, in a few words."""
        return "its details could not be kept" if self.log is None else f"details in {one_line(str(self.log))}"


@runtime_checkable
class Part(Protocol):
    """What may fail without anything else: a pane of the main screen, or a screen over another one."""

    @property
    def fails_alone(self) -> bool:
        """Whether everything else goes on without it."""

    def fail(self, error: Exception) -> None:
        """Note a failure and tell the user of it; one that has failed before and was not tried again does nothing."""


def part_around(node: object) -> Part | None:
    """The nearest part of the screen that may fail alone; None where there is none."""
    nodes = node.ancestors_with_self if isinstance(node, DOMNode) else ()
    return next((each for each in nodes if isinstance(each, Part) and each.fails_alone), None)


def contain(error: Exception) -> bool:
    """Have the part of the screen tell of a failure that was at work: that of the innermost widget in the traceback.

    Returns:
        Whether everything else can go on. It can, too, where the widget is none of the screen's any more: until the
        next layout it is drawn once more.
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


async def outliving(dispatch: Awaitable[None]) -> None:
    """Hand a message on so that whoever takes it can take the next one too: Textual ends whatever fails at a message.

    Raises:
        Exception: A failure that belongs to no part of the screen.
    """
    try:
        await dispatch
    except Exception as error:
        if not contain(error):
            raise


def contain_end_of(pump: MessagePump | None, error: Exception) -> bool:
    """Have a part of the screen tell of a failure by which a widget may have ended.

    A widget that has ended has to be made anew, so the part it is in has failed too, whoever was at work.

    Args:
        pump: What failed at a message; None where that is not known.
        error: The failure.

    Returns:
        Whether everything else can go on.
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
    """Stands in a part of the screen in place of what failed there."""

    HELP = "Something in this part of the screen failed. Everything else goes on."

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

    class RetryAsked(Message):
        """The part is to be tried again."""

    def __init__(self, failure: Failure) -> None:
        """Tell of a failure.

        Args:
            failure: Which one.
        """
        super().__init__()
        self._failure = failure

    def render(self) -> Content:
        """What failed, what to do, and where more is said of it: in small parts the end is cut."""
        return Content.assemble(
            (f"this part failed: {self._failure.reason}", self.get_visual_style("failure--problem")),
            "; ",
            ("enter tries again", self.get_visual_style("failure--key")),
            (f"; {self._failure.details}", self.get_visual_style("failure--details")),
        )

    def action_retry(self) -> None:
        """Ask for another try."""
        self.post_message(self.RetryAsked())

    def on_click(self, event: events.Click) -> None:
        """The same with the mouse."""
        event.stop()
        self.action_retry()
