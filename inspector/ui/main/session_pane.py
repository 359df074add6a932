"""Base classes for the main screen's panes, with failure handling."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from textual import on
from textual.widget import Widget

from inspector.ui.controller.changes import Change
from inspector.ui.toolkit.failures import Failure, FailureNotice, keep_running
from inspector.ui.toolkit.pane import Pane
from inspector.ui.toolkit.single_result_screen import run_dialog

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping

    from textual.message import Message

    from inspector.ui.controller.session import SessionController


class FailSafePane(Widget):
    """A pane that fails alone: it shows a failure notice in place of its content until the user retries.

    A failed pane is in the same state as before a session was opened: it has no widgets and receives no changes.

    Attributes:
        has_failed: The failure notice is shown.
    """

    has_failed = False
    fails_alone = True
    _is_opening_again = False
    _wanted: Mapping[Change, Callable[[], object]] = {}

    def listen(self, controller: SessionController, wanted: Mapping[Change, Callable[[], object]]) -> None:
        """Register callbacks by change; a failure affects only this pane, and a retry calls all of them in order."""
        self._wanted = wanted
        controller.changes.listen({change: partial(self._attempt, do) for change, do in wanted.items()})

    def _attempt(self, do: Callable[[], object]) -> None:
        # A pane that is being rebuilt shows everything once it is mounted and cannot show anything before that.
        if not (self.has_failed or self._is_opening_again):
            try:
                do()
            except Exception as error:  # noqa: BLE001  the other listeners must still receive the change
                self.fail(error)

    async def _dispatch_message(self, message: Message) -> None:
        await keep_running(super()._dispatch_message(message))

    async def open(self) -> None:
        """Mount the widgets that need a session."""

    def close(self) -> None:
        """Drop the widgets."""

    async def begin(self) -> None:
        """Mount the widgets that need a session, or show a failure notice."""
        try:
            await self.open()
        except Exception as error:  # noqa: BLE001  the other panes must still be opened
            # After the session is closed the widgets have no parent to mount in.
            if self.is_attached:
                self.fail(error)

    @property
    def target(self) -> Widget:
        """The widget that takes the pane's focus."""
        return self

    def take_focus(self) -> None:
        """Take the focus immediately, so that the next key press arrives here."""
        notice = next(iter(self.query(FailureNotice)), None)
        self.screen.set_focus(notice or self.target)

    def fail(self, error: Exception) -> None:
        """Log a failure and show a notice in place of the content."""
        if self.has_failed:
            return
        self.has_failed = True
        failure = Failure.logged(error)
        held = self.app.mouse_captured
        if held is not None and self in held.ancestors_with_self:
            self.app.capture_mouse(None)
        had_focus = self.has_focus_within
        self.close()
        for child in self.children:
            child.display = False
        self.call_later(self._report_failure, failure, had_focus)

    async def _report_failure(self, failure: Failure, had_focus: bool) -> None:
        """Replace the content by a failure notice."""
        await self._clear()
        await self.mount(FailureNotice(failure))
        if had_focus:
            self.take_focus()
        # A failure while drawing loses track of the regions to paint.
        self.screen.refresh(layout=True)

    async def _clear(self) -> None:
        await self.remove_children()
        for ended in tuple(self.children):  # a widget that failed before it was mounted cannot be removed normally
            self._nodes._remove(ended)  # noqa: SLF001  there is no public way

    @on(FailureNotice.RetryRequested)
    async def _retry(self, event: FailureNotice.RetryRequested) -> None:
        """Rebuild the widgets and run all change callbacks."""
        event.stop()
        had_focus = self.has_focus_within
        await self._clear()
        self.has_failed, self._is_opening_again = False, True
        try:
            await self.begin()
        finally:
            self._is_opening_again = False
        for show in dict.fromkeys(self._wanted[change] for change in Change if change in self._wanted):
            self._attempt(show)
        if had_focus:
            self.call_after_refresh(self.take_focus)


class SessionPane(Pane, FailSafePane):
    """A framed pane with its own actions. Its widgets need numpy, so they are built once there is something to show."""

    def __init__(self, title: str, *children: Widget, id: str, controller: SessionController) -> None:  # noqa: A002  Textual's own name
        super().__init__(title, *children, id=id)
        self.controller = controller

    def show_notice(self, notice: str, *, is_problem: bool = False) -> None:
        """Show a notice in the status line for a while; it may contain session text."""
        self.controller.host.show_notice(notice, is_problem=is_problem)

    def run_dialog(self, dialog: Coroutine[Any, Any, None], description: str) -> None:
        """Run a dialog, one at a time; the screen reports failures as "could not {description}"."""
        run_dialog(self.screen, dialog, description)
