"""The line to search one text with, under it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.containers import Horizontal
from textual.content import Content
from textual.message import Message
from textual.widgets import Input, Static

from inspector.ui.actions.action import bindings
from inspector.ui.actions.parts import TEXT_FIND

if TYPE_CHECKING:
    from textual.app import ComposeResult
    from textual.binding import BindingType


class TextFind(Horizontal):
    """Asks what to look for in a text, and reports it as it is typed."""

    HELP = "Words to look for in the text shown, in any case. Enter goes back to it, where n and N go on."

    DEFAULT_CSS = """
    TextFind {
        height: 1;
        display: none;
        background: $panel;
        &.-open { display: block; }
        & > .find-label { width: auto; padding: 0 1; text-style: bold; color: $accent; }
        & > .find-count { width: auto; padding: 0 1; color: $text-muted; }
        & > Input { border: none; height: 1; width: 1fr; padding: 0; background: $panel; }
    }
    """

    BINDINGS: ClassVar[list[BindingType]] = bindings(TEXT_FIND)

    @dataclass
    class Changed(Message):
        """Something else is looked for; nothing where it is empty."""

        text: str

    class Done(Message):
        """Keys go to the text again."""

    def compose(self) -> ComposeResult:
        """What is asked for, the words, and how many places hold them."""
        yield Static(Content("find in text"), classes="find-label", markup=False)
        yield Input(placeholder="words", select_on_focus=True)
        yield Static(Content(""), classes="find-count", markup=False)

    def open(self) -> None:
        """Ask."""
        self.add_class("-open")
        self.query_one(Input).focus()

    def say(self, text: str) -> None:
        """Show how many places hold the words."""
        self.query_one(".find-count", Static).update(Content(text))

    @on(Input.Changed)
    def _changed(self, event: Input.Changed) -> None:
        event.stop()
        if not event.value:
            self.say("")
        self.post_message(self.Changed(event.value))

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.post_message(self.Done())

    def action_close(self) -> None:
        """Search no more."""
        self.remove_class("-open")
        self.query_one(Input).value = ""
        self.post_message(self.Done())
