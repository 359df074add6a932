"""The lines to search with: under the rows, where it may filter them too, and under the text of a block."""

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
        """The query with its last word completed, or None."""
        last = value.rpartition(" ")[2].lower()
        word = next((word for word in self.words if last and word.startswith(last) and word != last), None)
        return None if word is None else value + word[len(last) :]


class FindEntry(Input):
    """What a query is typed into."""

    def __init__(self, *examples: str, select_on_focus: bool, suggester: Suggester | None = None) -> None:
        """Make an empty one.

        Args:
            examples: What may be typed: said, as many as there is room for, while nothing is.
            select_on_focus: What was typed before is typed over.
            suggester: Completes what is typed.
        """
        super().__init__(placeholder=BETWEEN.join(examples), select_on_focus=select_on_focus, suggester=suggester)
        self._examples = examples

    def on_resize(self) -> None:
        """There is room for more examples, or for fewer."""
        room = [count for count in range(1, len(self._examples) + 1) if self._said(count) <= self.size.width]
        self.placeholder = BETWEEN.join(self._examples[: max(room, default=1)])

    def _said(self, count: int) -> int:
        """Cells that so many examples take."""
        return cell_len(BETWEEN.join(self._examples[:count]))

    async def action_submit(self) -> None:
        """Go back to what is searched. A message that says so would come after a key that follows at once."""
        if isinstance(self.parent, FindLine):
            self.parent.leave()


class FindLine(Horizontal):
    """Asks what to look for, and reports it as it is typed."""

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
        """Something else is looked for; nothing where the text is empty.

        Attributes:
            text: The text as typed.
        """

        text: str

    text = ""
    """The text as typed."""

    def __init__(self, label: str, entry: FindEntry, searched: Callable[[], Widget | None]) -> None:
        """Make a line.

        Args:
            label: What is asked for.
            entry: What it is typed into.
            searched: What keys go to again afterwards, as long as it is there.
        """
        super().__init__(
            Static(Content(label), classes="find-label", markup=False),
            entry,
            Static(Content(""), classes="find-count", markup=False),
        )
        self.entry = entry
        self._searched = searched

    def say(self, text: str) -> None:
        """Show how many places match, or what is wrong."""
        self.query_one(".find-count", Static).update(Content(text))

    @on(Input.Changed)
    def _changed(self, event: Input.Changed) -> None:
        event.stop()
        self.text = event.value
        self.post_message(self.Changed(event.value))

    def leave(self) -> None:
        """Have keys go again to what is searched, from the next one on, which may have come already."""
        self.screen.set_focus(self._searched())

    def action_close(self) -> None:
        """Close the search."""
        self.remove_class("-open")
        self.entry.value = self.text = ""
        self.post_message(self.Changed(""))
        self.leave()


class FindBar(FindLine):
    """Asks for a query that rows are searched or filtered with."""

    HELP = f"Rows that match all of it: {ALL_WORDS}"

    BINDINGS: ClassVar[list[BindingType]] = bindings(FIND_BAR)

    is_filter = False
    """Rows that do not match are hidden."""

    def __init__(self, searched: Callable[[], Widget | None]) -> None:
        self._completion = Completion()
        entry = FindEntry(*WORDS, select_on_focus=False, suggester=self._completion)
        super().__init__("/", entry, searched)

    def open(self, *, is_filter: bool, words: tuple[str, ...] = ()) -> None:
        """Ask for a query to search or filter with.

        Args:
            is_filter: Rows that do not match are to be hidden.
            words: What the last word may be completed to, in lower case.
        """
        changed = self.is_filter != is_filter
        self._prepare(is_filter=is_filter, words=words)
        self.entry.focus()
        if changed and self.entry.value:
            self.post_message(self.Changed(self.entry.value))

    def put(self, text: str, *, words: tuple[str, ...] = ()) -> None:
        """Filter with a query that was typed before, without asking; see `open`."""
        self._prepare(is_filter=True, words=words)
        self.entry.value = self.text = text

    def _prepare(self, *, is_filter: bool, words: tuple[str, ...]) -> None:
        self._completion.words = words
        self.is_filter = is_filter
        self.add_class("-open")
        self.query_one(".find-label", Static).update(Content("show only" if is_filter else "find"))


class TextFind(FindLine):
    """Asks for words to look for in a text."""

    HELP = "Words to look for in the text shown, in any case. Enter goes back to it, where n and N go on."

    BINDINGS: ClassVar[list[BindingType]] = bindings(TEXT_FIND)

    def __init__(self, searched: Callable[[], Widget | None]) -> None:
        super().__init__("find in text", FindEntry("words", select_on_focus=True), searched)

    def open(self) -> None:
        """Ask."""
        self.add_class("-open")
        self.entry.focus()
