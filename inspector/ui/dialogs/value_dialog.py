"""A dialog that asks for one value."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Input, Static

from inspector.safe_text import one_line
from inspector.ui.actions.action import bindings
from inspector.ui.actions.screens import VALUE
from inspector.ui.dialogs.dialog import Dialog, key_words

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual.app import ComposeResult
    from textual.binding import BindingType


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
        with Vertical(classes="dialog section") as box:
            box.border_title = Content(self._title)
            box.border_subtitle = key_words(("enter sets", "answer"), ("esc cancels", "screen.cancel"))
            yield Static(Content(self._help), classes="dialog-help", markup=False)
            yield Input(self._value, select_on_focus=True)
            yield Static(Content(""), classes="dialog-problem", markup=False)

    def on_mount(self) -> None:
        """Start typing at once."""
        self.query_one(Input).focus()

    @on(Input.Changed)
    def _judge(self, event: Input.Changed) -> None:
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

    def action_cancel(self) -> None:
        """Answer nothing."""
        self.dismiss(None)
