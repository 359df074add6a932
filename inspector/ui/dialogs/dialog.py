"""Dialogs: the base class, one for a value, and one with diagnostics of a file.

A click outside a dialog closes it, and the keys named in its frame are clickable.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, TypeVar

from textual import on
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, OptionList, Static

from inspector.safe_text import one_line
from inspector.ui.actions.action import bindings
from inspector.ui.actions.screens import DIAGNOSTICS, VALUE
from inspector.ui.toolkit.one_line import ACTION, clickable
from inspector.ui.toolkit.single_result_screen import SingleResultScreen

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual import events
    from textual.app import ComposeResult
    from textual.binding import BindingType


Answer = TypeVar("Answer")


class Dialog(ModalScreen[Answer], SingleResultScreen[Answer]):
    """Modal screen that returns an answer, or None if closed without one."""

    DEFAULT_CSS = """
    Dialog {
        & > .dialog { width: 76; max-width: 95%; height: auto; max-height: 90%; }
        .dialog-help { color: $text-muted; margin-bottom: 1; }
        .dialog-problem { color: $error; height: auto; min-height: 1; }
        .dialog-problem.-remark { color: $warning; }
    }
    """

    async def on_click(self, event: events.Click) -> None:
        """Run the clicked action; close the dialog on a click outside."""
        if action := event.style.meta.get(ACTION):
            event.stop()
            await self.run_action(action)
        elif event.widget is self:
            event.stop()
            if event.chain == 1:  # the second click of a double click is meant for the screen below
                self.action_cancel()

    def action_cancel(self) -> None:
        """Close without an answer."""
        self.dismiss(None)


def framed(title: str, *hints: tuple[str, str], id: str | None = None) -> Vertical:  # noqa: A002  Textual's own name
    """Build the frame of a dialog, for use in `compose`.

    Args:
        title: Title.
        hints: Key hints, see `key_words`.
        id: Widget id.
    """
    box = Vertical(classes="dialog section", id=id)
    box.border_title = Content(title)
    box.border_subtitle = key_words(*hints)
    return box


def move_in_list(options: OptionList, places: int) -> None:
    """Move the highlight one entry up or down while another widget has the focus."""
    if places > 0:
        options.action_cursor_down()
    else:
        options.action_cursor_up()


def key_words(*hints: tuple[str, str]) -> Content:
    """Build clickable key hints for the frame of a dialog.

    Args:
        hints: Pairs of a text and the action run on a click; empty for no action.
    """
    return Content(" · ").join([clickable(text, action) for text, action in hints])


class ValueDialog(Dialog[str | None]):
    """Dialog for a line of text. Returns None if cancelled."""

    BINDINGS: ClassVar[list[BindingType]] = bindings(VALUE)

    def __init__(
        self,
        title: str,
        help_text: str,
        value: str,
        check: Callable[[str], str] | None = None,
        *,
        remark: Callable[[str], str] | None = None,
    ) -> None:
        """Create the dialog.

        Args:
            title: Title.
            help_text: Description of valid input.
            value: Initial text.
            check: Returns a one-line error for a text; empty if valid.
            remark: Returns a one-line consequence of a valid text; empty if obvious.
        """
        super().__init__()
        self._title = title
        self._help = help_text
        self._value = value
        self._check = check
        self._remark = remark

    def compose(self) -> ComposeResult:
        with framed(self._title, ("enter applies", "answer"), ("esc cancels", "screen.cancel")):
            yield Static(Content(self._help), classes="dialog-help", markup=False)
            yield Input(self._value, select_on_focus=True)
            yield Static(Content(""), classes="dialog-problem", markup=False)

    def on_mount(self) -> None:
        self.query_one(Input).focus()

    @on(Input.Changed)
    def _check_answer(self, event: Input.Changed) -> None:
        problem = self._check(event.value) if self._check else ""
        remark = self._remark(event.value) if self._remark and not problem else ""
        below = self.query_one(".dialog-problem", Static)
        below.set_class(not problem, "-remark")
        below.update(Content(one_line(problem or remark)))

    @on(Input.Submitted)
    def _answer(self, event: Input.Submitted) -> None:
        if not (self._check and self._check(event.value)):
            self.dismiss(event.value)

    async def action_answer(self) -> None:
        """Accept the text."""
        await self.query_one(Input).action_submit()


SAME_IN_PRINT = "inspector formats FILE prints the same"


class DiagnosticsScreen(Dialog[None]):
    """Page of plain text over the screen."""

    BINDINGS: ClassVar[list[BindingType]] = bindings(DIAGNOSTICS)

    def __init__(self, text: str, title: str = "How the file was read", also: str = SAME_IN_PRINT) -> None:
        """Create the page.

        Args:
            text: Content; safe and wrapped.
            title: Title.
            also: Command that prints the same.
        """
        super().__init__()
        self._text, self._title, self._also = text, title, also

    def compose(self) -> ComposeResult:
        with VerticalScroll(classes="dialog section", id="diagnostics") as box:
            box.border_title = Content(self._title)
            box.border_subtitle = key_words(("esc closes", "dismiss"), (self._also, ""))
            yield Static(Content(self._text), markup=False)
