"""Search lines: below the rows, which they may also filter, and below the text of a block."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from rich.cells import cell_len
from textual import on
from textual.containers import Horizontal
from textual.content import Content
from textual.message import Message
from textual.suggester import Suggester
from textual.widgets import Input, Static

from inspector.ui.actions.action import bindings
from inspector.ui.actions.parts import FIND_BAR, TEXT_FIND
from inspector.ui.toolkit.pane import BETWEEN

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual.binding import BindingType
    from textual.widget import Widget


WORDS = ("words", '"a phrase"', "tool:bash", "who:user", "tier:data", "is:cut", "is:error", "tokens>1000")
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
        """Return the query with its last word completed, or None."""
        last = value.rpartition(" ")[2].lower()
        word = next((word for word in self.words if last and word.startswith(last) and word != last), None)
        return None if word is None else value + word[len(last) :]


class FindEntry(Input):
    """Input of a query."""

    def __init__(self, *examples: str, select_on_focus: bool, suggester: Suggester | None = None) -> None:
        """Initialize an empty input with as many placeholder examples as fit."""
        super().__init__(placeholder=BETWEEN.join(examples), select_on_focus=select_on_focus, suggester=suggester)
        self._examples = examples

    def on_resize(self) -> None:
        room = [count for count in range(1, len(self._examples) + 1) if self._width_of(count) <= self.size.width]
        self.placeholder = BETWEEN.join(self._examples[: max(room, default=1)])

    def _width_of(self, count: int) -> int:
        return cell_len(BETWEEN.join(self._examples[:count]))

    async def action_submit(self) -> None:
        """Focus the searched widget directly: a message would arrive after a key pressed right away."""
        if isinstance(self.parent, FindLine):
            self.parent.leave()


class FindLine(Horizontal):
    """A search line that reports its text while it is typed."""

    DEFAULT_CSS = """
    FindLine {
        height: 1;
        display: none;
        background: $panel;
        &.-open { display: block; }
        & > .find-label { width: auto; padding: 0 1; text-style: bold; color: $accent; }
        & > .find-count { width: auto; padding: 0 1; color: $text-muted; }
        & > Input, & > Input:focus { border: none; height: 1; width: 1fr; padding: 0; background: $panel; }
    }
    """

    @dataclass
    class Changed(Message):
        """Posted when the text changes; empty text ends the search.

        Attributes:
            text: The text as typed.
        """

        text: str

    text = ""

    def __init__(self, label: str, entry: FindEntry, searched: Callable[[], Widget | None]) -> None:
        """Initialize the line; `searched` returns the widget that gets the focus back, if it still exists."""
        super().__init__(
            Static(Content(label), classes="find-label", markup=False),
            entry,
            Static(Content(""), classes="find-count", markup=False),
        )
        self.entry = entry
        self._searched = searched

    def show_message(self, text: str) -> None:
        self.query_one(".find-count", Static).update(Content(text))

    @on(Input.Changed)
    def _changed(self, event: Input.Changed) -> None:
        event.stop()
        self.text = event.value
        self.post_message(self.Changed(event.value))

    def leave(self) -> None:
        """Focus the searched widget at once, since the next key may already be waiting."""
        self.screen.set_focus(self._searched())

    def action_close(self) -> None:
        """Close the line and end the search."""
        self.remove_class("-open")
        self.entry.value = self.text = ""
        self.post_message(self.Changed(""))
        self.leave()


class FindBar(FindLine):
    """The search and filter line of the rows."""

    HELP = f"Rows that match all words: {ALL_WORDS}"

    BINDINGS: ClassVar[list[BindingType]] = bindings(FIND_BAR)

    is_filter = False
    """Hide rows that do not match."""

    def __init__(self, searched: Callable[[], Widget | None]) -> None:
        self._completion = Completion()
        entry = FindEntry(*WORDS, select_on_focus=False, suggester=self._completion)
        super().__init__("/", entry, searched)

    def open(self, *, is_filter: bool, words: tuple[str, ...] = ()) -> None:
        """Open the line for a search or filter query; `words` are completions in lower case."""
        changed = self.is_filter != is_filter
        self._prepare(is_filter=is_filter, words=words)
        self.entry.focus()
        if changed and self.entry.value:
            self.post_message(self.Changed(self.entry.value))

    def put(self, text: str, *, words: tuple[str, ...] = ()) -> None:
        """Filter by an earlier query without moving the focus; see `open`."""
        self._prepare(is_filter=True, words=words)
        self.entry.value = self.text = text

    def _prepare(self, *, is_filter: bool, words: tuple[str, ...]) -> None:
        self._completion.words = words
        self.is_filter = is_filter
        self.add_class("-open")
        self.query_one(".find-label", Static).update(Content("filter" if is_filter else "find"))


class TextFind(FindLine):
    """The search line of a text."""

    HELP = "Text to find in this view, ignoring case. Enter returns to the view, where n and N go to other matches."

    BINDINGS: ClassVar[list[BindingType]] = bindings(TEXT_FIND)

    def __init__(self, searched: Callable[[], Widget | None]) -> None:
        super().__init__("find in text", FindEntry("words", select_on_focus=True), searched)

    def open(self) -> None:
        self.add_class("-open")
        self.entry.focus()
