"""List with a filter line. The highlighted entry is described, and `enter` selects it."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.content import Content
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from inspector.safe_text import clip_cells, one_line, safe_text
from inspector.ui.actions.action import bindings
from inspector.ui.actions.screens import PICKER
from inspector.ui.dialogs.dialog import Dialog, framed, move_in_list

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from textual.app import ComposeResult
    from textual.binding import BindingType

    from inspector.ui.dialogs.choice import DialogChoice

NAME_WIDTH = 27


class Picker(Dialog[str | None]):
    """Dialog that returns the identifier of a choice, or None if cancelled."""

    DEFAULT_CSS = """
    Picker {
        #picker Input { border: none; height: 1; background: $panel; padding: 0 1; }
        #picker OptionList {
            height: 1fr;
            margin: 1 0;
            border: none;
            background: $surface;
            text-wrap: nowrap;
            text-overflow: ellipsis;
        }
        #picker-help { height: 6; margin-bottom: 0; }
        &.-short #picker-help { height: 4; }
    }
    """

    VERTICAL_BREAKPOINTS = [(0, "-short"), (32, "-medium")]  # noqa: RUF012  as Textual declares it

    BINDINGS: ClassVar[list[BindingType]] = bindings(PICKER)

    def __init__(
        self,
        title: str,
        choices: Sequence[DialogChoice],
        *,
        verb: str = "selects",
        hint: str = "filter",
        typed: Callable[[str], DialogChoice | None] | None = None,
    ) -> None:
        """Create the list.

        Args:
            title: Title.
            choices: Entries in display order.
            verb: Effect of `enter`.
            hint: Placeholder of the filter line.
            typed: Returns a choice for typed text that is not listed, for example a path; None if the text is not one.
        """
        super().__init__()
        self._title = title
        self._choices = choices
        self._verb = verb
        self._hint = hint
        self._typed = typed
        self._shown: list[DialogChoice] = []

    def compose(self) -> ComposeResult:
        with framed(
            self._title, ("type to filter", ""), (f"enter {self._verb}", "take"), ("esc cancels", "cancel"), id="picker"
        ):
            yield Input(placeholder=self._hint)
            yield OptionList(markup=False)
            yield Static(Content(""), classes="dialog-help", id="picker-help", markup=False)

    def on_mount(self) -> None:
        self._fill("")
        self.query_one(Input).focus()

    def _fill(self, wanted: str) -> None:
        words = wanted.lower().split()
        self._shown = [each for each in self._choices if _matches(each, words)]
        typed = self._typed(wanted.strip()) if self._typed is not None and wanted.strip() else None
        if typed is not None:
            self._shown.insert(0, typed)
        options = self.query_one(OptionList)
        options.clear_options()
        for each in self._shown:
            name = clip_cells(one_line(each.name), NAME_WIDTH)
            prompt = Content.assemble((f"{name:<{NAME_WIDTH}} ", "bold"), (one_line(each.title), "dim"))
            options.add_option(Option(prompt))
        options.highlighted = 0 if self._shown else None
        self._explain(0)

    def _explain(self, place: int) -> None:
        text = self._shown[place].help if place < len(self._shown) else "no match"
        self.query_one("#picker-help", Static).update(Content(safe_text(text)))

    @on(Input.Changed)
    def _filter(self, event: Input.Changed) -> None:
        self._fill(event.value)

    @on(OptionList.OptionHighlighted)
    def _highlighted(self, event: OptionList.OptionHighlighted) -> None:
        self._explain(event.option_index)

    @on(Input.Submitted)
    def _choose_highlighted(self) -> None:
        place = self.query_one(OptionList).highlighted
        if place is not None:
            self.dismiss(self._shown[place].identifier)

    @on(OptionList.OptionSelected)
    def _choose(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(self._shown[event.option_index].identifier)

    def action_move(self, places: int) -> None:
        """Move the highlight while the filter keeps the focus."""
        move_in_list(self.query_one(OptionList), places)

    async def action_page(self, pages: int) -> None:
        """Move by a page. Does nothing if the list has no room, because Textual would fail on its missing lines."""
        choices = self.query_one(OptionList)
        if choices.scrollable_content_region:
            await choices.run_action("page_down" if pages > 0 else "page_up")

    def action_take(self) -> None:
        """Select the highlighted entry."""
        self._choose_highlighted()


def _matches(choice: DialogChoice, words: Sequence[str]) -> bool:
    text = f"{choice.name} {choice.title} {choice.help}".lower()
    return all(word in text for word in words)
