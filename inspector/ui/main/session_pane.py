"""The parts of the main screen that show something of the open session, and what they do when something fails."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from textual import on
from textual.widget import Widget

from inspector.ui.controller.changes import Change
from inspector.ui.toolkit.answered_screen import run_dialog
from inspector.ui.toolkit.failures import Failure, FailureNotice, outliving
from inspector.ui.toolkit.pane import Pane

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping

    from textual.message import Message

    from inspector.ui.controller.session import SessionController


class FailingPart(Widget):
    """A part of the main screen that fails alone: it says so in place of what it shows, until it is tried again.

    Having failed, it is as it was before there was a session: it has no widgets, and is told of no changes.

    Attributes:
        has_failed: It says so.
    """

    has_failed = False
    fails_alone = True
    _is_opening_again = False
    _wanted: Mapping[Change, Callable[[], object]] = {}

    def listen(self, controller: SessionController, wanted: Mapping[Change, Callable[[], object]]) -> None:
        """Have something called after each change of a kind; a failure there is this part's alone.

        Args:
            controller: The open session.
            wanted: What is called. Trying again after a failure calls all of it, in the order of the changes.
        """
        self._wanted = wanted
        controller.changes.listen({change: partial(self._attempt, do) for change, do in wanted.items()})

    def _attempt(self, do: Callable[[], object]) -> None:
        # What is being made anew is shown everything once it is there; until then it cannot show anything.
        if not (self.has_failed or self._is_opening_again):
            try:
                do()
            except Exception as error:  # noqa: BLE001  whatever it is, the others are still to be told of the change
                self.fail(error)

    async def _dispatch_message(self, message: Message) -> None:
        await outliving(super()._dispatch_message(message))

    async def open(self) -> None:
        """Make the widgets that need a session."""

    def close(self) -> None:
        """Forget them."""

    async def begin(self) -> None:
        """Make the widgets that need a session, or say that this has failed."""
        try:
            await self.open()
        except Exception as error:  # noqa: BLE001  whatever it is, the other parts are still to be opened
            # A session that was closed meanwhile has no place for them any more.
            if self.is_attached:
                self.fail(error)

    @property
    def target(self) -> Widget:
        """What takes the focus where the part is asked to."""
        return self

    def take_focus(self) -> None:
        """Take the focus at once, so that a key pressed next comes here too."""
        notice = next(iter(self.query(FailureNotice)), None)
        self.screen.set_focus(notice or self.target)

    def fail(self, error: Exception) -> None:
        """Note a failure and tell of it in place of what is shown."""
        if self.has_failed:
            return
        self.has_failed = True
        failure = Failure.noted(error)
        held = self.app.mouse_captured
        if held is not None and self in held.ancestors_with_self:
            self.app.capture_mouse(None)
        had_focus = self.has_focus_within
        self.close()
        for child in self.children:
            child.display = False
        self.call_later(self._tell_of, failure, had_focus)

    async def _tell_of(self, failure: Failure, had_focus: bool) -> None:
        """Say that something failed, in place of everything else."""
        await self._clear()
        await self.mount(FailureNotice(failure))
        if had_focus:
            self.take_focus()
        # What was to be painted when drawing failed is not known any more.
        self.screen.refresh(layout=True)

    async def _clear(self) -> None:
        """Take all widgets away."""
        await self.remove_children()
        for ended in tuple(self.children):  # what failed before it was mounted cannot be told to go
            self._nodes._remove(ended)  # noqa: SLF001  there is no public way

    @on(FailureNotice.RetryAsked)
    async def _retry(self, event: FailureNotice.RetryAsked) -> None:
        """Make the widgets anew, and show everything as if all of it had changed."""
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


class SessionPane(Pane, FailingPart):
    """Owns what can be done there. Its widgets need numpy, so they are made when there is something to show."""

    def __init__(self, title: str, *children: Widget, id: str, controller: SessionController) -> None:  # noqa: A002  Textual's own name
        """Make a frame.

        Args:
            title: What is in it.
            children: What is in it at first.
            id: Widget id.
            controller: The open session.
        """
        super().__init__(title, *children, id=id)
        self.controller = controller

    def tell(self, notice: str, *, is_problem: bool = False) -> None:
        """Say something in the last line for a while; may hold session text."""
        self.controller.host.tell(notice, is_problem=is_problem)

    def run_dialog(self, dialog: Coroutine[Any, Any, None], description: str) -> None:
        """Run what asks the user for something: one at a time, on the screen, which tells of failures.

        Args:
            dialog: Opens a dialog and does what is answered.
            description: What it is about, as an infinitive.
        """
        run_dialog(self.screen, dialog, description)
