"""Parameters that are no numbers: a switch, one of several words, a text or a list of tools."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content
from textual.message import Message

from inspector.safe_text import safe_text
from inspector.strategies.core.parameters import ParameterKind
from inspector.ui.widgets.parameter_control import ParameterControl

if TYPE_CHECKING:
    from textual import events

BEFORE = "\N{SINGLE LEFT-POINTING ANGLE QUOTATION MARK}"
AFTER = "\N{SINGLE RIGHT-POINTING ANGLE QUOTATION MARK}"


class SwitchControl(ParameterControl):
    """On or off."""

    HELP = "Press enter or click to switch it."

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "switch", "Switch", id="switch.switch", tooltip="Switch it on or off"),
        Binding("u", "reset", "Reset", id="switch.reset", tooltip="Back to the parameter's default"),
    ]

    def render(self) -> Content:
        """The label and the state, as glyph and word."""
        state = "[x] on" if self.value else "[ ] off"
        return self.with_effect(
            Content.assemble(self.label_content(), (state, self.get_visual_style("parameter--value")))
        )

    def action_switch(self) -> None:
        """The other state."""
        self.choose(not self.value)

    def action_reset(self) -> None:
        """Back to the default."""
        self.reset()

    def on_click(self) -> None:
        """Switch."""
        self.action_switch()


class ChoiceControl(ParameterControl):
    """One of several words."""

    HELP = "Step through the choices with the arrow keys, or click."

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left", "turn(-1)", "Previous", id="choice.previous", tooltip="The previous choice"),
        Binding("right,enter", "turn(1)", "Next", id="choice.next", tooltip="The next choice"),
        Binding("u", "reset", "Reset", id="choice.reset", tooltip="Back to the parameter's default"),
    ]

    def render(self) -> Content:
        """The label and the word between two arrows."""
        return Content.assemble(
            self.label_content(),
            (f"{BEFORE} ", self.get_visual_style("parameter--track")),
            (str(self.value), self.get_visual_style("parameter--value")),
            (f" {AFTER}", self.get_visual_style("parameter--track")),
        )

    def action_turn(self, steps: int) -> None:
        """Another choice."""
        choices = self.parameter.choices
        place = choices.index(str(self.value)) if self.value in choices else 0
        self.choose(choices[(place + steps) % len(choices)])

    def action_reset(self) -> None:
        """Back to the default."""
        self.reset()

    def on_click(self, event: events.Click) -> None:
        """The next choice; the previous one on the left arrow."""
        self.action_turn(-1 if event.x < 2 + self.label_width + 3 else 1)


class TextControl(ParameterControl):
    """A text, or tool names: shown in one row, edited in a dialog."""

    HELP = "Press enter to edit it."

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "edit", "Edit", id="text.edit", tooltip="Edit the value"),
        Binding("u", "reset", "Reset", id="text.reset", tooltip="Back to the parameter's default"),
    ]

    class EditRequested(Message):
        """The value should be edited in a dialog."""

        def __init__(self, control: TextControl) -> None:
            super().__init__()
            self.text_control = control
            """Whose value."""

    @property
    def editable(self) -> str:
        """The value as one line of text that `Parameter.parsed` reads back."""
        return "+".join(self.value) if isinstance(self.value, tuple) else str(self.value)

    def render(self) -> Content:
        """The label and the beginning of the value."""
        if self.parameter.kind is ParameterKind.TOOLS and isinstance(self.value, tuple):
            shown = f"{len(self.value)} tools: " + ", ".join(self.value) if self.value else "no tools"
        else:
            shown = str(self.value) or "empty"
        first = 2 + self.label_width + 1
        content = Content(safe_text(shown).replace("\n", "↵")).truncate(
            max(self.content_size.width - first, 4), ellipsis=True
        )
        return Content.assemble(self.label_content(), content.stylize(self.get_visual_style("parameter--value")))

    def action_edit(self) -> None:
        """Ask for the dialog."""
        self.post_message(self.EditRequested(self))

    def action_reset(self) -> None:
        """Back to the default."""
        self.reset()

    def on_click(self) -> None:
        """Edit."""
        self.action_edit()
