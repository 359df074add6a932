"""The list of all strategies, to add one to the plan, and of ready plans, to take one instead."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

READY = "plan:"

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.app import ComposeResult


@dataclass(frozen=True, slots=True)
class Choice:
    """Something that may be chosen.

    Attributes:
        identifier: What is answered.
        name: What it is called.
        title: What it is, in a few words.
        help: What it does and where it comes from.
    """

    identifier: str
    name: str
    title: str
    help: str


def choices() -> tuple[Choice, ...]:
    """Every strategy, then every ready plan, whose identifiers begin with `READY`."""
    from inspector.strategies.presets import PRESETS
    from inspector.strategies.registry import STRATEGIES

    strategies = (
        Choice(each.name, each.name, each.title, f"{each.summary}\nFrom {each.source}") for each in STRATEGIES.values()
    )
    plans = (
        Choice(f"{READY}{preset.name}", preset.name, "ready plan", f"{preset.summary}\n{'  '.join(preset.specs)}")
        for preset in PRESETS.values()
    )
    return (*strategies, *plans)


class StrategyPicker(ModalScreen[str | None]):
    """Answers the identifier of a choice, or None when it was called off."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "cancel", "Cancel", id="picker.cancel", tooltip="Add nothing"),
        Binding("down", "move(1)", "Down", id="picker.down", tooltip="The next strategy", priority=True),
        Binding("up", "move(-1)", "Up", id="picker.up", tooltip="The previous strategy", priority=True),
    ]

    def __init__(self, choices: Sequence[Choice]) -> None:
        """Make a list.

        Args:
            choices: What may be chosen, in the order shown.
        """
        super().__init__()
        self._choices = choices

    def compose(self) -> ComposeResult:
        """A filter, the list, and what the highlighted one does."""
        with Vertical(classes="dialog section", id="picker") as box:
            box.border_title = Content("Add a strategy, or take a ready plan")
            box.border_subtitle = Content("type to filter · enter adds · esc cancels")
            yield Input(placeholder="filter")
            yield OptionList(markup=False)
            yield Static(Content(""), classes="dialog-help", id="picker-help", markup=False)

    def on_mount(self) -> None:
        """Show all of them."""
        self._fill("")
        self.query_one(Input).focus()

    def _fill(self, wanted: str) -> None:
        words = wanted.lower().split()
        options = self.query_one(OptionList)
        options.clear_options()
        for each in self._choices:
            text = f"{each.name} {each.title} {each.help}".lower()
            if all(word in text for word in words):
                prompt = Content.assemble((f"{each.name:<27} ", "bold"), (each.title, "$text-muted"))
                options.add_option(Option(prompt, id=each.identifier))
        options.highlighted = 0 if options.option_count else None

    @on(Input.Changed)
    def _filter(self, event: Input.Changed) -> None:
        self._fill(event.value)

    @on(OptionList.OptionHighlighted)
    def _explain(self, event: OptionList.OptionHighlighted) -> None:
        chosen = next(each for each in self._choices if each.identifier == event.option_id)
        self.query_one("#picker-help", Static).update(Content(chosen.help))

    @on(Input.Submitted)
    def _choose_highlighted(self) -> None:
        option = self.query_one(OptionList).highlighted_option
        self.dismiss(None if option is None else option.id)

    @on(OptionList.OptionSelected)
    def _choose(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(event.option_id)

    def action_move(self, places: int) -> None:
        """Move in the list while the filter keeps the focus."""
        options = self.query_one(OptionList)
        if places > 0:
            options.action_cursor_down()
        else:
            options.action_cursor_up()

    def action_cancel(self) -> None:
        """Answer nothing."""
        self.dismiss(None)
