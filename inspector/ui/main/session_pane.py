"""Panes of the main screen: their base class, focus and zoom."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Final

from textual import on
from textual.content import Content
from textual.reactive import reactive
from textual.widget import Widget

from inspector.ui.controller.host import Change
from inspector.ui.part_names import DETAIL, OPEN_PLAN, PLAN, TIMELINE
from inspector.ui.toolkit.failures import Failure, FailureNotice, keep_running
from inspector.ui.toolkit.pane import Pane
from inspector.ui.toolkit.single_result_screen import run_dialog

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping

    from textual.message import Message
    from textual.screen import Screen

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


class ActionLine(Widget):
    """One line of text that runs an action of the screen when clicked."""

    DEFAULT_CSS = """
    ActionLine { height: 1; width: 1fr; padding: 0 1; pointer: pointer; }
    """

    ALLOW_SELECT = False
    COMPONENT_CLASSES: ClassVar[set[str]] = {"line--title", "line--key", "line--text"}

    pieces: reactive[tuple[tuple[str, str], ...]] = reactive(())
    """Texts, safe to show, with the last part of their component class."""

    def __init__(self, action: str, *, id: str) -> None:  # noqa: A002  Textual's own name
        super().__init__(id=id)
        self._action = action

    def render(self) -> Content:
        parts = ((text, self.get_visual_style(f"line--{style}")) for text, style in self.pieces)
        return Content.assemble(*parts).truncate(self.content_size.width, ellipsis=True)

    async def on_click(self) -> None:
        """Run the action."""
        await self.screen.run_action(self._action)


OPEN_DETAIL: Final = "-detail-open"
"""Screen class while the text of a row is shown below the rows."""
ZOOMS: Final[Mapping[str, str]] = {
    "chart-pane": "-zoom-chart",
    "timeline-pane": "-zoom-timeline",
    "detail-pane": "-zoom-detail",
}
"""Screen class that zooms a pane, by pane id."""


class PaneFocus:
    """Moves the focus between the panes of the main screen.

    Attributes:
        parts: Panes by name, in focus order starting with the timeline; empty before there is a session.
        last: Name of the pane that had the focus last.
    """

    def __init__(self, screen: Screen[Any]) -> None:
        self._screen = screen
        self.parts: dict[str, FailSafePane] = {}
        self.last = ""
        self._opened_zoomed = False

    def note(self) -> None:
        self.last = next((name for name in self.parts if self.is_in(name)), self.last)

    def is_in(self, name: str) -> bool:
        part, focused = self.parts.get(name), self._screen.focused
        return part is not None and focused is not None and part in focused.ancestors_with_self

    @property
    def is_in_rows_or_nowhere(self) -> bool:
        """True if the user has not moved the focus to another pane."""
        return self._screen.focused is None or self.is_in(TIMELINE)

    @property
    def is_plan_open(self) -> bool:
        return self._screen.has_class(OPEN_PLAN)

    @is_plan_open.setter
    def is_plan_open(self, is_open: bool) -> None:
        self._screen.set_class(is_open, OPEN_PLAN)

    @property
    def is_detail_open(self) -> bool:
        return self._screen.has_class(OPEN_DETAIL)

    @is_detail_open.setter
    def is_detail_open(self, is_open: bool) -> None:
        self._screen.set_class(is_open, OPEN_DETAIL)

    def focus_pane(self, name: str) -> None:
        """Focus a pane, opening the plan or the detail if needed."""
        part = self.parts.get(name)
        if part is None:
            return
        self.is_plan_open = name == PLAN
        if name == DETAIL:
            self.is_detail_open = True
        part.take_focus()

    def give_to_next(self, step: int) -> None:
        """Focus the pane that is a number of steps away."""
        names = list(self.parts)
        if len(names) > 1:
            if not self.is_detail_open:
                names.remove(DETAIL)
            here = next((place for place, name in enumerate(names) if self.is_in(name)), -step)
            self.focus_pane(names[(here + step) % len(names)])

    def give_to_plan_or_back(self) -> None:
        """Toggle the focus between plan and rows; on narrow screens this opens and closes the plan drawer."""
        if not self.parts:
            return
        if self.is_in(PLAN):
            self.leave()
        else:
            self.focus_pane(PLAN)

    def leave(self) -> None:
        """Focus the rows, and close the plan drawer and the detail."""
        self.is_plan_open = self.is_detail_open = False
        if TIMELINE in self.parts:
            self.parts[TIMELINE].take_focus()

    @property
    def zooms(self) -> bool:
        return any(self._screen.has_class(name) for name in ZOOMS.values())

    def zoom(self, pane: str | None) -> bool:
        """Zoom a pane by widget id, or end the zoom; return False if the pane cannot be zoomed."""
        if self.zooms:
            self._screen.remove_class(*ZOOMS.values())
            self._opened_zoomed = False
        elif pane is None or pane not in ZOOMS:
            return False
        else:
            self._screen.add_class(ZOOMS[pane])
        return True

    def open_detail_zoomed(self) -> None:
        """Focus the detail over the whole screen; `end_zoom` closes it again."""
        self.focus_pane(DETAIL)
        if not self.zooms:
            self._opened_zoomed = self.zoom("detail-pane")

    def end_zoom(self) -> None:
        """End the zoom, and close a detail that was opened zoomed."""
        was_opened_zoomed = self._opened_zoomed
        self.zoom(None)
        if was_opened_zoomed:
            self.leave()

    @property
    def pane(self) -> str | None:
        """Widget id of the zoomable pane that contains the focus; None if there is none."""
        focused = self._screen.focused
        return None if focused is None else next((node.id for node in focused.ancestors if node.id in ZOOMS), None)
