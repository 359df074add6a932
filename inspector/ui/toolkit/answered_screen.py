"""Screens that come and go over another one: each answers once, and from then on takes nothing but its own end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from textual import events, messages
from textual._callback import invoke
from textual.await_complete import AwaitComplete
from textual.dom import DOMNode
from textual.screen import Screen

from inspector.ui.toolkit.failures import Failure, outliving

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from textual._types import CallbackType
    from textual.app import App
    from textual.await_remove import AwaitRemove
    from textual.geometry import Size
    from textual.message import Message
    from textual.message_pump import MessagePump

Answer = TypeVar("Answer")

DIALOG = "dialog"
"""The group of workers that ask the user for something."""

SECONDS_OF_FAILURE = 20.0
"""How long it is told that a screen failed."""

OF_AN_END = (messages.CloseMessages, messages.Prune, events.Callback, events.ScreenSuspend, events.Unmount)
"""What a screen is still told that is going."""


class AnsweredScreen(Screen[Answer]):
    """A screen that answers once.

    A key or a click that comes twice, a result from a thread, a timer: whatever reaches the screen after its answer
    finds widgets that are being taken away, so it is dropped.
    """

    _is_going = False
    _resumed: events.ScreenResume | None = None

    def post_message(self, message: Message) -> bool:
        """Take a message; that it comes to the front only once, where it waits to be told of that already.

        Textual tells it to the screen of a new mode twice, which styles every widget each time.
        """
        waiting = self._resumed
        if isinstance(message, events.ScreenResume):
            if waiting is not None and waiting.refresh_styles >= message.refresh_styles:
                return True
            self._resumed = message
        elif isinstance(message, events.ScreenSuspend):
            self._resumed = None
        is_taken = super().post_message(message)
        if not is_taken and message is self._resumed:
            self._resumed = None
        return is_taken

    @property
    def is_going(self) -> bool:
        """It has answered, or the application is closing: one that was told to exit gives no screen its widgets."""
        return self._is_going or not self.app.is_running or self.app.return_code is not None

    def dismiss(self, result: Answer | None = None) -> AwaitComplete:
        """Answer and go; nothing where that was done before, or where another screen stands above this one."""
        if self._is_going or not self.is_active:
            return AwaitComplete()
        self._go()
        return super().dismiss(result)

    def remove(self) -> AwaitRemove:
        """Go without an answer."""
        self._go()
        return super().remove()

    def _go(self) -> None:
        if not self._is_going:
            self._is_going = True
            self.workers.cancel_node(self)

    def open_over(self, screen: Screen[Any], then: Callable[[Any], None] | None = None) -> None:
        """Show another screen over this one, unless something else has come in the meantime.

        Args:
            screen: What is shown.
            then: Takes its answer.
        """
        open_over(self, screen, then)

    @property
    def fails_alone(self) -> bool:
        """Whether it stands over another screen, which goes on without it."""
        return self._is_going or any(self in stack[1:] for stack in self.app._screen_stacks.values())  # noqa: SLF001  there is no public way to those of other tabs

    def fail(self, error: Exception) -> None:
        """Go, with what was opened over it, and tell why."""
        failure = Failure.noted(error)
        if self._is_going:
            return
        if self in self.app.screen_stack:
            for above in reversed(self.app.screen_stack[self.app.screen_stack.index(self) :]):
                above.dismiss(None)
        told = f"this screen failed and was closed: {failure.reason}; {failure.details}"
        self.app.notify(told, severity="error", timeout=SECONDS_OF_FAILURE, markup=False)

    async def _dispatch_message(self, message: Message) -> None:
        if message is self._resumed:
            self._resumed = None
        await outliving(super()._dispatch_message(message))

    def _invoke_later(self, callback: CallbackType, sender: MessagePump) -> None:
        # All that wait for a frame are called in one go, which one that fails would end.
        super()._invoke_later(lambda: outliving(invoke(callback)), sender)

    def on_unmount(self) -> None:
        """Leave what others want done after a frame to the screen that is shown now.

        Textual keeps it with whatever screen is in front when it is asked for, and it would be lost with that.
        """
        waiting, self._callbacks = self._callbacks, []
        for callback, sender in waiting:
            if self.app.is_running and sender.is_running and not self._holds(sender) and self.app.screen is not self:
                self.app.screen._invoke_later(callback, sender)  # noqa: SLF001  what it would have been asked itself

    def _holds(self, pump: MessagePump) -> bool:
        return pump is self or (isinstance(pump, DOMNode) and self in pump.ancestors)

    def _screen_resized(self, size: Size) -> None:  # noqa: ARG002  Textual tells it
        # What is told of a size may come after the terminal has another one: laid out for both in turn, a screen below
        # another one would tell itself of both for ever.
        # One that is laid out for it already would paint a part of itself before all that waits to be painted.
        if self._compositor.size != self.app.size:
            super()._screen_resized(self.app.size)

    async def _on_message(self, message: Message) -> None:
        if not self.is_going or isinstance(message, OF_AN_END):
            await super()._on_message(message)


def open_over(below: Screen[Any], screen: Screen[Any], then: Callable[[Any], None] | None = None) -> None:
    """Show a screen over the one that asked for it, unless that is not the one in front any more.

    Args:
        below: The screen that asked.
        screen: What is shown.
        then: Takes its answer.
    """
    if below.is_active:
        # The answer goes to what is at work here: a menu that opens something is gone by then.
        with below._context():  # noqa: SLF001  there is no public way to say who asks
            below.app.push_screen(screen, then)


def run_dialog(asking: Screen[Any] | App[Any], dialog: Coroutine[Any, Any, None], description: str) -> None:
    """Run what asks the user for something; nothing where something is being asked already.

    Args:
        asking: What asks, and tells of failures: a screen, which has to be in front, or the application.
        dialog: Opens dialogs and does what is answered.
        description: What it is about, as an infinitive.
    """
    is_asking = any(each.group == DIALOG and each.node is asking and not each.is_finished for each in asking.workers)
    if is_asking or (isinstance(asking, Screen) and not asking.is_active):
        dialog.close()
    else:
        asking.run_worker(dialog, group=DIALOG, description=description, exit_on_error=False)
