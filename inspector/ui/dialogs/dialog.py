"""Dialogs: what all of them do, one that asks for a value, and one that says how a file was read.

A click beside a dialog closes it, and the keys its frame names can be clicked.
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
from inspector.ui.toolkit.answered_screen import AnsweredScreen
from inspector.ui.toolkit.one_line import ACTION, clickable

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual import events
    from textual.app import ComposeResult
    from textual.binding import BindingType


Answer = TypeVar("Answer")


class Dialog(ModalScreen[Answer], AnsweredScreen[Answer]):
    """A screen over another one. Closed without an answer it gives None."""

    DEFAULT_CSS = """
    Dialog {
        & > .dialog { width: 76; max-width: 95%; height: auto; max-height: 90%; }
        .dialog-help { color: $text-muted; margin-bottom: 1; }
        .dialog-problem { color: $error; height: auto; min-height: 1; }
        .dialog-problem.-remark { color: $warning; }
    }
    """

    async def on_click(self, event: events.Click) -> None:
        """Do what was clicked; close where the click was beside everything."""
        if action := event.style.meta.get(ACTION):
            event.stop()
            await self.run_action(action)
        elif event.widget is self:
            event.stop()
            if event.chain == 1:  # the second click of two is meant for what the first one was on
                self.action_cancel()

    def action_cancel(self) -> None:
        """Answer nothing."""
        self.dismiss(None)


def framed(title: str, *said: tuple[str, str], id: str | None = None) -> Vertical:  # noqa: A002  Textual's own name
    """The frame of a dialog, to compose it in.

    Args:
        title: What it is about.
        said: What keys do, as `key_words` takes it.
        id: Widget id.
    """
    box = Vertical(classes="dialog section", id=id)
    box.border_title = Content(title)
    box.border_subtitle = key_words(*said)
    return box


def move_in_list(options: OptionList, places: int) -> None:
    """Move in a list by one, down or up, while something else has the focus."""
    if places > 0:
        options.action_cursor_down()
    else:
        options.action_cursor_up()


def key_words(*said: tuple[str, str]) -> Content:
    """What keys do, for the frame of a dialog.

    Args:
        said: Pairs of a few words and the action a click on them runs, empty for none.
    """
    return Content(" · ").join([clickable(text, action) for text, action in said])


class ValueDialog(Dialog[str | None]):
    """Asks for a line of text; answers None when it was called off."""

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
        """Make a dialog.

        Args:
            title: What is asked for.
            help_text: What may be answered.
            value: The answer to start from.
            check: Says in one line what is wrong with an answer; empty when nothing is.
            remark: Says in one line what an answer that is not wrong leads to; empty when that is plain.
        """
        super().__init__()
        self._title = title
        self._help = help_text
        self._value = value
        self._check = check
        self._remark = remark

    def compose(self) -> ComposeResult:
        """The question, the answer, and what is wrong with it."""
        with framed(self._title, ("enter sets", "answer"), ("esc cancels", "screen.cancel")):
            yield Static(Content(self._help), classes="dialog-help", markup=False)
            yield Input(self._value, select_on_focus=True)
            yield Static(Content(""), classes="dialog-problem", markup=False)

    def on_mount(self) -> None:
        """Start typing at once."""
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
        """Take what was typed."""
        await self.query_one(Input).action_submit()


SAME_IN_PRINT = "inspector formats FILE prints the same"


class DiagnosticsScreen(Dialog[None]):
    """A page of plain text over the screen it is about."""

    BINDINGS: ClassVar[list[BindingType]] = bindings(DIAGNOSTICS)

    def __init__(self, text: str, title: str = "How the file was read", also: str = SAME_IN_PRINT) -> None:
        """Make a page.

        Args:
            text: What is said, safe and in lines already.
            title: What it is about.
            also: What prints the same.
        """
        super().__init__()
        self._text, self._title, self._also = text, title, also

    def compose(self) -> ComposeResult:
        """Everything in one scrolled text."""
        with VerticalScroll(classes="dialog section", id="diagnostics") as box:
            box.border_title = Content(self._title)
            box.border_subtitle = key_words(("esc closes", "dismiss"), (self._also, ""))
            yield Static(Content(self._text), markup=False)
