"""The line to search or filter with, under the rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.containers import Horizontal
from textual.content import Content
from textual.message import Message
from textual.suggester import Suggester
from textual.widgets import Input, Static

from inspector.ui.actions.action import bindings
from inspector.ui.actions.parts import FIND_BAR

if TYPE_CHECKING:
    from textual.app import ComposeResult
    from textual.binding import BindingType

WORDS = 'words · "a phrase" · tool:bash · who:user · tier:data · is:cut · is:error · tokens>1000'
ALL_WORDS = (
    'words · "a phrase" · tool:NAME · tier:NAME · by:STRATEGY · tokens>1000'
    " · who:system, user, assistant, thinking, call, result, image"
    " · is:changed, whole, cut, replaced, removed, error, out (of the prompt), pinned. → completes a word"
)


class Completion(Suggester):
    """Completes the last word of a query."""

    def __init__(self) -> None:
        super().__init__(use_cache=False)
        self.words: tuple[str, ...] = ()

    async def get_suggestion(self, value: str) -> str | None:
        """The query with its last word completed, or None."""
        last = value.rpartition(" ")[2].lower()
        word = next((word for word in self.words if last and word.startswith(last) and word != last), None)
        return None if word is None else value + word[len(last) :]


class FindBar(Horizontal):
    """Asks for a query and reports it as it is typed."""

    HELP = f"Rows that match all of it: {ALL_WORDS}"

    DEFAULT_CSS = """
    FindBar {
        height: 1;
        display: none;
        background: $panel;
        &.-open { display: block; }
        & > #find-label { width: auto; padding: 0 1; text-style: bold; color: $accent; }
        & > #find-count { width: auto; padding: 0 1; color: $text-muted; }
        & > Input, & > Input:focus { border: none; height: 1; width: 1fr; padding: 0; background: $panel; }
    }
    """

    BINDINGS: ClassVar[list[BindingType]] = bindings(FIND_BAR)

    @dataclass
    class Changed(Message):
        """The query is another one; empty when there is none any more.

        Attributes:
            text: The query as typed.
            is_filter: Rows that do not match are hidden.
        """

        text: str
        is_filter: bool

    class Done(Message):
        """The query stands; keys go to the rows again."""

    is_filter = False
    """Rows that do not match are hidden."""
    text = ""
    """The query as typed."""

    def __init__(self) -> None:
        super().__init__()
        self.completion = Completion()

    def compose(self) -> ComposeResult:
        """What is asked for, the query, and how many rows match."""
        yield Static(Content("/"), id="find-label", markup=False)
        yield Input(placeholder=WORDS, select_on_focus=False, suggester=self.completion)
        yield Static(Content(""), id="find-count", markup=False)

    def open(self, *, is_filter: bool, words: tuple[str, ...] = ()) -> None:
        """Ask for a query to search or filter with.

        Args:
            is_filter: Rows that do not match are to be hidden.
            words: What the last word may be completed to, in lower case.
        """
        changed = self.is_filter != is_filter
        self._prepare(is_filter=is_filter, words=words)
        entry = self.query_one(Input)
        entry.focus()
        if changed and entry.value:
            self.post_message(self.Changed(entry.value, is_filter))

    def put(self, text: str, *, words: tuple[str, ...] = ()) -> None:
        """Filter with a query that was typed before, without asking; see `open`."""
        self._prepare(is_filter=True, words=words)
        self.query_one(Input).value = self.text = text

    def _prepare(self, *, is_filter: bool, words: tuple[str, ...]) -> None:
        self.completion.words = words
        self.is_filter = is_filter
        self.add_class("-open")
        self.query_one("#find-label", Static).update(Content("show only" if is_filter else "find"))

    def say(self, text: str) -> None:
        """Show how many rows match, or what is wrong."""
        self.query_one("#find-count", Static).update(Content(text))

    @on(Input.Changed)
    def _changed(self, event: Input.Changed) -> None:
        event.stop()
        self.text = event.value
        self.post_message(self.Changed(event.value, self.is_filter))

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.post_message(self.Done())

    def action_close(self) -> None:
        """Forget the query."""
        self.remove_class("-open")
        self.query_one(Input).value = ""
        self.post_message(self.Changed("", self.is_filter))
        self.post_message(self.Done())
