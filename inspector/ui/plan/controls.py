"""The controls of a plan's parameters: what all have in common, and those that are no numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from textual.content import Content
from textual.message import Message
from textual.reactive import reactive
from textual.widget import Widget

from inspector.safe_text import safe_text
from inspector.strategies.core.parameters import ParameterKind
from inspector.ui.actions.action import bindings
from inspector.ui.actions.parts import CHOICE, MORE_SETTINGS, SWITCH, TEXT
from inspector.ui.performance.frame_batching import hold_painting
from inspector.ui.plan.hint_drawing import clipped

if TYPE_CHECKING:
    from textual import events
    from textual.binding import BindingType
    from textual.css.styles import RenderStyles

    from inspector.strategies.core.parameters import Parameter, ParameterValue


FOCUS_MARK = "▸"
FAINT = 0.6


class PlanControl(Widget, can_focus=True):
    """A row of the plan's panel. Its parts have the panel's styles: one set, found once for all rows."""

    DEFAULT_CSS = """
    PlanControl {
        height: 1;
        width: 1fr;
        pointer: pointer;
        &:focus { background: $primary 20%; }
        &:focus:ansi { background: ansi_default; }
        &:focus:nocolor { text-style: bold; }
    }
    """

    ALLOW_SELECT = False  # the mouse moves and switches, and marks no text

    def get_component_styles(self, *names: str) -> RenderStyles:
        """The panel's styles of some component classes."""
        return self.query_ancestor("PlanPanel").get_component_styles(*names)


class ParameterControl(PlanControl):
    """A control for one parameter of one entry of the plan. It shows a new value at once and reports it."""

    value: reactive[ParameterValue] = reactive(0, init=False)
    """The value shown."""
    is_off: reactive[bool] = reactive(False)
    """The strategy is switched off."""
    label_width: reactive[int] = reactive(12)
    """Cells for the label, equal for all controls of a strategy so that what stands beside it lines up."""

    @dataclass
    class Changed(Message):
        """The control was moved.

        Attributes:
            sender_control: The control.
            value: Its new value.
            is_final: False while it is still being dragged.
        """

        sender_control: ParameterControl
        value: ParameterValue
        is_final: bool

        @property
        def control(self) -> ParameterControl:
            """The control that was moved."""
            return self.sender_control

    @dataclass
    class Refused(Message):
        """A value is not taken: it was typed and is not allowed, or lies beyond the slider's end.

        Attributes:
            reason: What the control takes, in one line.
        """

        reason: str

    def __init__(self, entry: int, parameter: Parameter, value: ParameterValue) -> None:
        super().__init__()
        self.entry = entry
        """Index of the plan's entry the control belongs to."""
        self.parameter = parameter
        """What it controls."""
        self.set_reactive(ParameterControl.value, value)

    def watch_is_off(self, is_off: bool) -> None:
        """Draw it faintly. A class of its own would match every rule of the control anew, and its parts' too."""
        if self.app.no_color or self.app.current_theme.ansi:
            self.styles.text_style = "dim" if is_off else None
        else:
            self.styles.opacity = FAINT if is_off else 1.0

    @property
    def is_held(self) -> bool:
        """Whether the mouse holds a part of it: then it stays where it is."""
        return False

    @property
    def mark(self) -> str:
        """Says before its name whether the control has the focus."""
        return FOCUS_MARK if self.has_focus else " "

    @property
    def label(self) -> str:
        """The parameter's name in the panel: its group where that says it all."""
        parameter = self.parameter
        return parameter.name.replace("-", " ")

    @property
    def explanation(self) -> str:
        """One sentence, the range and the default."""
        return f"{self.parameter.help} Takes {self.parameter.range}; default {self.default_text}."

    @property
    def default_text(self) -> str:
        """The default in words."""
        default = self.parameter.default
        if isinstance(default, tuple):
            return ", ".join(default) or "none"
        if isinstance(default, bool):
            return "on" if default else "off"
        return f"{default:,}" if isinstance(default, int) else str(default) or "none"

    def choose(self, value: ParameterValue, *, is_final: bool = True) -> None:
        """Show `value` and report it, where it is another one."""
        if value == self.value and not is_final:
            return
        if value != self.value:
            hold_painting(self)
        self.value = value
        self.post_message(self.Changed(self, value, is_final))

    def reset(self) -> None:
        """Reset to the default."""
        self.choose(self.parameter.default)

    def label_content(self) -> Content:
        """The focus mark and the label, in the label's width."""
        label = clipped(self.label, self.label_width)
        return Content.assemble(
            (f"{self.mark} {label:<{self.label_width}} ", self.get_visual_style("parameter--label")),
        )


BEFORE = "\N{SINGLE LEFT-POINTING ANGLE QUOTATION MARK}"
AFTER = "\N{SINGLE RIGHT-POINTING ANGLE QUOTATION MARK}"


class SwitchControl(ParameterControl):
    """On or off."""

    HELP = "Press enter or click to switch it."

    BINDINGS: ClassVar[list[BindingType]] = bindings(SWITCH)

    def render(self) -> Content:
        """The label and the state, as glyph and word."""
        state = "[x] on" if self.value else "[ ] off"
        return Content.assemble(self.label_content(), (state, self.get_visual_style("parameter--value")))

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

    BINDINGS: ClassVar[list[BindingType]] = bindings(CHOICE)

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

    BINDINGS: ClassVar[list[BindingType]] = bindings(TEXT)

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


class FoldRow(PlanControl):
    """`▸ 11 more settings`."""

    HELP = "Press enter or click to show or hide the strategy's other settings."

    DEFAULT_CSS = """
    FoldRow { color: $text-muted; }
    """

    BINDINGS: ClassVar[list[BindingType]] = bindings(MORE_SETTINGS)

    is_open: reactive[bool] = reactive(False)
    """Whether they are shown."""

    @dataclass
    class Folded(Message):
        """The settings should be shown or hidden."""

        is_open: bool

    def __init__(self, count: int) -> None:
        super().__init__()
        self._count = count

    def render(self) -> Content:
        """The row."""
        mark = FOCUS_MARK if self.has_focus else " "
        return Content(f"{mark} {'▾' if self.is_open else '▹'} {self._count} more settings")

    def on_click(self) -> None:
        """Show or hide."""
        self.action_fold()

    def action_fold(self) -> None:
        """Show or hide."""
        self.is_open = not self.is_open
        self.post_message(self.Folded(self.is_open))
