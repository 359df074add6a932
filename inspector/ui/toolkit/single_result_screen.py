"""Screens shown over another screen that return one result and ignore messages after that."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from functools import partial
from inspect import isawaitable
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec import Struct
from textual import events, messages
from textual._callback import invoke
from textual.await_complete import AwaitComplete
from textual.dom import DOMNode
from textual.message import Message
from textual.screen import Screen
from textual.worker import Worker, get_current_worker

from inspector.ui.toolkit.failures import Failure, keep_running

if TYPE_CHECKING:
    from textual._types import CallbackType
    from textual.app import App
    from textual.await_remove import AwaitRemove
    from textual.geometry import Size
    from textual.message_pump import MessagePump


Answer = TypeVar("Answer")

DIALOG = "dialog"
"""Worker group of dialogs."""

SECONDS_OF_FAILURE = 20.0
"""Duration of the notice about a failed screen."""

CLOSING_MESSAGES = (messages.CloseMessages, messages.Prune, events.Callback, events.ScreenSuspend, events.Unmount)
"""Messages still delivered to a closing screen."""


class SingleResultScreen(Screen[Answer]):
    """A screen that returns one result.

    Repeated keys or clicks, results of threads and timers that arrive after the result would reach widgets that are
    being removed, so they are dropped.
    """

    _is_closing = False
    _resumed: events.ScreenResume | None = None

    def post_message(self, message: Message) -> bool:
        """Post a message, but `ScreenResume` only once while one is pending.

        Textual posts it twice to the screen of a new mode, and each one restyles every widget.
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
    def is_closing(self) -> bool:
        """True if the screen has returned its result or the app is exiting, when Textual mounts no more widgets."""
        return self._is_closing or not self.app.is_running or self.app.return_code is not None

    def dismiss(self, result: Answer | None = None) -> AwaitComplete:
        """Return the result and close; do nothing if the screen is already closing or not on top."""
        if self._is_closing or not self.is_active:
            return AwaitComplete()
        self._go()
        return super().dismiss(result)

    def remove(self) -> AwaitRemove:
        self._go()
        return super().remove()

    def _go(self) -> None:
        if not self._is_closing:
            self._is_closing = True
            self.workers.cancel_node(self)

    def open_over(self, screen: Screen[Any], then: Callable[[Any], None] | None = None) -> None:
        """Show another screen over this one, unless it is no longer on top; `then` receives the result."""
        open_over(self, screen, then)

    @property
    def fails_alone(self) -> bool:
        """True if the screen lies over another one, which continues without it."""
        return self._is_closing or any(self in stack[1:] for stack in self.app._screen_stacks.values())  # noqa: SLF001  there is no public way to access the stacks of other tabs

    def fail(self, error: Exception) -> None:
        """Close this screen and any above it, and show the reason."""
        failure = Failure.logged(error)
        if self._is_closing:
            return
        if self in self.app.screen_stack:
            for above in reversed(self.app.screen_stack[self.app.screen_stack.index(self) :]):
                above.dismiss(None)
        text = f"this screen failed and was closed: {failure.reason}; {failure.details}"
        self.app.notify(text, severity="error", timeout=SECONDS_OF_FAILURE, markup=False)

    async def _dispatch_message(self, message: Message) -> None:
        if message is self._resumed:
            self._resumed = None
        await keep_running(super()._dispatch_message(message))

    def _invoke_later(self, callback: CallbackType, sender: MessagePump) -> None:
        # Textual runs all callbacks of a frame together, so a failing one would stop the others.
        super()._invoke_later(lambda: keep_running(invoke(callback)), sender)

    def on_unmount(self) -> None:
        """Hand other widgets' after-refresh callbacks to the screen now on top.

        Textual stores them on the screen that was on top when they were requested, where they would be lost.
        """
        waiting, self._callbacks = self._callbacks, []
        for callback, sender in waiting:
            if self.app.is_running and sender.is_running and not self._holds(sender) and self.app.screen is not self:
                self.app.screen._invoke_later(callback, sender)  # noqa: SLF001  as Textual would have called it

    def _holds(self, pump: MessagePump) -> bool:
        return pump is self or (isinstance(pump, DOMNode) and self in pump.ancestors)

    def _screen_resized(self, size: Size) -> None:  # noqa: ARG002  Textual's signature
        # A size may arrive after the terminal has already changed again: arranged for both in turn, a screen below
        # another one would send itself both sizes forever. A screen that already has this layout would paint a part of
        # itself before the pending updates.
        if self._compositor.size != self.app.size:
            super()._screen_resized(self.app.size)

    async def _on_message(self, message: Message) -> None:
        if not self.is_closing or isinstance(message, CLOSING_MESSAGES):
            await super()._on_message(message)


def open_over(below: Screen[Any], screen: Screen[Any], then: Callable[[Any], None] | None = None) -> None:
    """Show a screen over the requesting one, unless that is no longer on top; `then` receives the result."""
    if below.is_active:
        # The result goes to the active message pump; a menu that opened the screen no longer exists by then.
        with below._context():  # noqa: SLF001  there is no public way to set the requester
            below.app.push_screen(screen, then)


def run_dialog(asking: Screen[Any] | App[Any], dialog: Coroutine[Any, Any, None], description: str) -> None:
    """Run a dialog, unless one is already open.

    Args:
        asking: Runs the dialog and reports failures: the screen on top, or the app.
        dialog: Opens dialogs and acts on their results.
        description: Infinitive phrase for error messages.
    """
    is_asking = any(each.group == DIALOG and each.node is asking and not each.is_finished for each in asking.workers)
    if is_asking or (isinstance(asking, Screen) and not asking.is_active):
        dialog.close()
    else:
        asking.run_worker(dialog, group=DIALOG, description=description, exit_on_error=False)


Result = TypeVar("Result")
IsCancelled = Callable[[], bool]
Work = Callable[[Callable[[Any], object], IsCancelled], None]


class JobRun(Struct, frozen=True, eq=False):
    """One run of some work.

    Attributes:
        group: Group with at most one active run.
        take: Receives each result.
        failed: Called on failure; None for no action.
    """

    group: str
    take: Callable[[Any], object]
    failed: Callable[[], object] | None


class JobResult(Message, bubble=False):
    """A result of a run.

    Attributes:
        run: The run.
        result: The result, frozen. If its class sets `only_newest_counts`, newer results replace older ones.
    """

    def __init__(self, run: JobRun, result: Any) -> None:
        super().__init__()
        self.run = run
        self.result = result

    def can_replace(self, message: Message) -> bool:
        """Return True if both are progress results of the same run, so that only the newest is delivered."""
        return (
            isinstance(message, JobResult)
            and message.run is self.run
            and type(message.result) is type(self.result)
            and getattr(self.result, "only_newest_counts", False)
        )


class ScreenJobs:
    """Runs work in threads and delivers results on a screen, which calls `deliver` and `fail`."""

    def __init__(self, screen: Screen[Any]) -> None:
        self._screen = screen
        self._runs: dict[str, JobRun] = {}
        self._not_begun: dict[str, list[tuple[Work, JobRun]]] = {}
        """Work of each group's newest run that has not started."""

    def run(
        self,
        work: Callable[[Callable[[Result], object], IsCancelled], None],
        take: Callable[[Result], object],
        *,
        group: str,
        description: str,
        failed: Callable[[], object] | None = None,
    ) -> None:
        """Run work in a thread. A newer run of a group cancels the previous one and drops its results.

        Args:
            work: The work; receives a function to post results and one that returns True once it is cancelled.
            take: Receives each result in order; may be a coroutine function.
            group: Group with at most one active run.
            description: Infinitive phrase for error messages.
            failed: Called on failure, before it is shown.
        """
        self._forget(group)
        self._runs[group] = run = JobRun(group, take, failed)
        self._not_begun[group] = not_begun = [(work, run)]

        # A worker and its task form a reference cycle. To free the session's data without garbage collection, the
        # worker's function holds no reference to the work after it has started.
        def in_thread() -> None:
            worker = get_current_worker()
            begun = not_begun.copy()
            not_begun.clear()
            for do, by in begun:
                do(partial(self._post, by), lambda: worker.is_cancelled)

        self._screen.run_worker(
            in_thread,
            name=group,
            group=group,
            description=description,
            exclusive=True,
            thread=True,
            exit_on_error=False,
        )

    def stop(self, group: str) -> None:
        self._runs.pop(group, None)
        self._forget(group)
        self._screen.workers.cancel_group(self._screen, group)

    def _forget(self, group: str) -> None:
        """Release work that is cancelled before it started."""
        self._not_begun.pop(group, []).clear()

    def _post(self, run: JobRun, result: object) -> None:
        self._screen.post_message(JobResult(run, result))

    async def deliver(self, message: JobResult) -> None:
        """Deliver a result, unless its run was cancelled."""
        if self._runs.get(message.run.group) is message.run:
            taken = message.run.take(message.result)
            if isawaitable(taken):
                await taken

    def fail(self, worker: Worker[Any]) -> None:
        """Handle a failed worker."""
        run = self._runs.get(worker.group)
        if run is not None and run.failed is not None:
            run.failed()
