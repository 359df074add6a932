"""Controls for a plan's parameters: the base class, and the controls for non-numeric parameters."""

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
    """Row of the plan pane. Rows share the pane's component styles, which are resolved once."""

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

    ALLOW_SELECT = False  # the mouse operates the control instead of selecting text

    def get_component_styles(self, *names: str) -> RenderStyles:
        """Return the pane's styles of the component classes."""
        return self.query_ancestor("PlanPanel").get_component_styles(*names)


class ParameterControl(PlanControl):
    """Control for one parameter of a plan entry. It shows and posts a new value at once."""

    value: reactive[ParameterValue] = reactive(0, init=False)
    """The current value."""
    is_off: reactive[bool] = reactive(False)
    """True if the strategy is off."""
    label_width: reactive[int] = reactive(12)
    """Width of the label in cells, equal for all controls of a strategy so that they align."""

    @dataclass
    class Changed(Message):
        """Posted when the value changes.

        Attributes:
            sender_control: The control.
            value: Its new value.
            is_final: False during a drag.
        """

        sender_control: ParameterControl
        value: ParameterValue
        is_final: bool

        @property
        def control(self) -> ParameterControl:
            return self.sender_control

    @dataclass
    class Refused(Message):
        """Posted when a value is rejected: invalid input, or a step beyond the end of the slider.

        Attributes:
            reason: Valid values, in one line.
        """

        reason: str

    def __init__(self, entry: int, parameter: Parameter, value: ParameterValue) -> None:
        super().__init__()
        self.entry = entry
        """Index of the plan's entry."""
        self.parameter = parameter
        """The parameter."""
        self.set_reactive(ParameterControl.value, value)

    def watch_is_off(self, is_off: bool) -> None:
        """Dim the control. A CSS class would restyle the control and its children."""
        if self.app.no_color or self.app.current_theme.ansi:
            self.styles.text_style = "dim" if is_off else None
        else:
            self.styles.opacity = FAINT if is_off else 1.0

    @property
    def is_held(self) -> bool:
        """True while the mouse drags a part of the control, which must not scroll then."""
        return False

    @property
    def mark(self) -> str:
        """Prefix of the label that marks the focus."""
        return FOCUS_MARK if self.has_focus else " "

    @property
    def label(self) -> str:
        """Short name of the parameter: its group if that is unambiguous."""
        parameter = self.parameter
        return parameter.name.replace("-", " ")

    @property
    def explanation(self) -> str:
        """Help sentence, range and default."""
        return f"{self.parameter.help} Takes {self.parameter.range}; default {self.default_text}."

    @property
    def default_text(self) -> str:
        default = self.parameter.default
        if isinstance(default, tuple):
            return ", ".join(default) or "none"
        if isinstance(default, bool):
            return "on" if default else "off"
        return f"{default:,}" if isinstance(default, int) else str(default) or "none"

    def choose(self, value: ParameterValue, *, is_final: bool = True) -> None:
        """Show a value, and post it if it is new."""
        if value == self.value and not is_final:
            return
        if value != self.value:
            hold_painting(self)
        self.value = value
        self.post_message(self.Changed(self, value, is_final))

    def reset(self) -> None:
        self.choose(self.parameter.default)

    def label_content(self) -> Content:
        """Return the focus mark and the label, padded to `label_width`."""
        label = clipped(self.label, self.label_width)
        return Content.assemble(
            (f"{self.mark} {label:<{self.label_width}} ", self.get_visual_style("parameter--label")),
        )


BEFORE = "\N{SINGLE LEFT-POINTING ANGLE QUOTATION MARK}"
AFTER = "\N{SINGLE RIGHT-POINTING ANGLE QUOTATION MARK}"


class SwitchControl(ParameterControl):
    """Control for a parameter that is on or off."""

    HELP = "Press enter or click to switch it on or off."

    BINDINGS: ClassVar[list[BindingType]] = bindings(SWITCH)

    def render(self) -> Content:
        """Render the label and the state, as glyph and word."""
        state = "[x] on" if self.value else "[ ] off"
        return Content.assemble(self.label_content(), (state, self.get_visual_style("parameter--value")))

    def action_switch(self) -> None:
        self.choose(not self.value)

    def action_reset(self) -> None:
        self.reset()

    def on_click(self) -> None:
        self.action_switch()


class ChoiceControl(ParameterControl):
    """Control for a parameter with a few values."""

    HELP = "Step through the choices with the arrow keys, or click."

    BINDINGS: ClassVar[list[BindingType]] = bindings(CHOICE)

    def render(self) -> Content:
        """Render the label and the value between two arrows."""
        return Content.assemble(
            self.label_content(),
            (f"{BEFORE} ", self.get_visual_style("parameter--track")),
            (str(self.value), self.get_visual_style("parameter--value")),
            (f" {AFTER}", self.get_visual_style("parameter--track")),
        )

    def action_turn(self, steps: int) -> None:
        """Select another value."""
        choices = self.parameter.choices
        place = choices.index(str(self.value)) if self.value in choices else 0
        self.choose(choices[(place + steps) % len(choices)])

    def action_reset(self) -> None:
        self.reset()

    def on_click(self, event: events.Click) -> None:
        """Select the next value, or the previous one if the left arrow was clicked."""
        self.action_turn(-1 if event.x < 2 + self.label_width + 3 else 1)


class TextControl(ParameterControl):
    """Control for a text or tool names, shown in one row and edited in a dialog."""

    HELP = "Press enter to edit it."

    BINDINGS: ClassVar[list[BindingType]] = bindings(TEXT)

    class EditRequested(Message):
        """Posted to edit the value in a dialog."""

        def __init__(self, control: TextControl) -> None:
            super().__init__()
            self.text_control = control
            """The control to edit."""

    @property
    def editable(self) -> str:
        """The value as one line of text that `Parameter.parsed` can parse."""
        return "+".join(self.value) if isinstance(self.value, tuple) else str(self.value)

    def render(self) -> Content:
        """Render the label and the start of the value."""
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
        self.post_message(self.EditRequested(self))

    def action_reset(self) -> None:
        self.reset()

    def on_click(self) -> None:
        self.action_edit()


class FoldRow(PlanControl):
    """Row such as `▸ 11 more settings`."""

    HELP = "Press enter or click to show or hide the strategy's other settings."

    DEFAULT_CSS = """
    FoldRow { color: $text-muted; }
    """

    BINDINGS: ClassVar[list[BindingType]] = bindings(MORE_SETTINGS)

    is_open: reactive[bool] = reactive(False)
    """True if the settings are shown."""

    @dataclass
    class Folded(Message):
        """Posted to show or hide the settings."""

        is_open: bool

    def __init__(self, count: int) -> None:
        super().__init__()
        self._count = count

    def render(self) -> Content:
        mark = FOCUS_MARK if self.has_focus else " "
        return Content(f"{mark} {'▾' if self.is_open else '▹'} {self._count} more settings")

    def on_click(self) -> None:
        self.action_fold()

    def action_fold(self) -> None:
        self.is_open = not self.is_open
        self.post_message(self.Folded(self.is_open))
