"""What a session's file was taken for, what is in it, and what could not be read: as `inspector formats FILE` says."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Static

from inspector.ui.actions.action import bindings
from inspector.ui.actions.screens import DIAGNOSTICS
from inspector.ui.dialogs.dialog import Dialog, key_words

if TYPE_CHECKING:
    from textual.app import ComposeResult
    from textual.binding import BindingType


class DiagnosticsScreen(Dialog[None]):
    """Shown over the session it is about."""

    BINDINGS: ClassVar[list[BindingType]] = bindings(DIAGNOSTICS)

    def __init__(self, text: str) -> None:
        """Make a page.

        Args:
            text: What is said, safe and in lines already.
        """
        super().__init__()
        self._text = text

    def compose(self) -> ComposeResult:
        """Everything in one scrolled text."""
        with VerticalScroll(classes="dialog section", id="diagnostics") as box:
            box.border_title = Content("How the file was read")
            box.border_subtitle = key_words(("esc closes", "dismiss"), ("inspector formats FILE prints the same", ""))
            yield Static(Content(self._text), markup=False)
