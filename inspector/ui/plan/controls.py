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

if TYPE_CHECKING:
    from textual import events
    from textual.binding import BindingType
    from textual.geometry import Size

    from inspector.strategies.core.parameters import Parameter, ParameterValue


FOCUS_MARK = "▸"
FAINT = 0.6


@dataclass(frozen=True, slots=True)
class Effect:
    """What a limit or a strategy does to the session.

    Attributes:
        touched: How many results it changed, in words; empty while unknown.
        tokens: What that leaves out, signed.
        brief: What is touched in as few letters as stand below a label: `49 of 102`.
    """

    touched: str = ""
    tokens: str = ""
    brief: str = ""

    @property
    def is_known(self) -> bool:
        """Whether there is anything to tell."""
        return bool(self.touched or self.tokens)

    def line(self, width: int) -> str:
        """One line: what is touched on the left, tokens on the right."""
        room = max(width - 4 - len(self.tokens), 0)
        return f"    {self.touched[:room]:<{room}}{self.tokens}"


NO_EFFECT = Effect()


class ParameterControl(Widget, can_focus=True):
    """A control for one parameter of one entry of the plan. It shows a new value at once and reports it."""

    DEFAULT_CSS = """
    ParameterControl {
        height: auto;
        width: 1fr;
        pointer: pointer;
        &:focus { background: $primary 20%; }
        &:focus:ansi { background: ansi_default; }
        &:focus:nocolor { text-style: bold; }
    }
    """

    ALLOW_SELECT = False  # dragging moves a limit, and marks no text

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "parameter--label",
        "parameter--value",
        "parameter--effect",
        "parameter--track",
        "parameter--filled",
        "parameter--thumb",
        "parameter--typed",
        "parameter--kept",
        "parameter--over",
    }

    value: reactive[ParameterValue] = reactive(0, init=False)
    """The value shown."""
    effect: reactive[Effect] = reactive(NO_EFFECT)
    """What the value does to the session."""
    is_off: reactive[bool] = reactive(False)
    """The strategy is switched off."""
    label_width: reactive[int] = reactive(12)
    """Cells for the label, equal for all controls of a panel so that tracks line up."""

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
        """A typed value is not allowed.

        Attributes:
            reason: What the parameter takes, in one line.
        """

        reason: str

    def __init__(self, entry: int, parameter: Parameter, value: ParameterValue) -> None:
        super().__init__()
        self.entry = entry
        """Index of the plan's entry the control belongs to."""
        self.parameter = parameter
        """What it controls."""
        self.set_reactive(ParameterControl.value, value)

    def watch_effect(self, before: Effect, effect: Effect) -> None:
        """Ask for another height only where it is another: that lays out the whole screen."""
        if before.is_known != effect.is_known:
            self.refresh(layout=True)

    def watch_is_off(self, is_off: bool) -> None:
        """Draw it faintly. A class of its own would match every rule of the control anew, and its parts' too."""
        if self.app.no_color or self.app.current_theme.ansi:
            self.styles.text_style = "dim" if is_off else None
        else:
            self.styles.opacity = FAINT if is_off else 1.0

    @property
    def label(self) -> str:
        """The parameter's name in the panel: its group where that says it all."""
        parameter = self.parameter
        return parameter.name.replace("-", " ")

    @property
    def explanation(self) -> str:
        """One sentence, the range and the default."""
        parameter = self.parameter
        default = parameter.default
        if isinstance(default, tuple):
            shown = ", ".join(default) or "none"
        elif isinstance(default, bool):
            shown = "on" if default else "off"
        elif isinstance(default, int):
            shown = f"{default:,}"
        else:
            shown = str(default) or "none"
        return f"{parameter.help} Takes {parameter.range}; default {shown}."

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
        mark = FOCUS_MARK if self.has_focus else " "
        label = self.label
        if len(label) > self.label_width:
            label = label[: self.label_width - 1] + "…"
        return Content.assemble(
            (f"{mark} {label:<{self.label_width}} ", self.get_visual_style("parameter--label")),
        )

    def with_effect(self, row: Content) -> Content:
        """The row, and the effect on a second one where there is any."""
        if not self.effect.is_known:
            return row
        line = self.effect.line(self.content_size.width)
        return Content("\n").join([row, Content.styled(line, self.get_visual_style("parameter--effect"))])

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:  # noqa: ARG002  rows alone decide
        """Two rows when there is an effect to tell."""
        return 2 if self.effect.is_known else 1


BEFORE = "\N{SINGLE LEFT-POINTING ANGLE QUOTATION MARK}"
AFTER = "\N{SINGLE RIGHT-POINTING ANGLE QUOTATION MARK}"


class SwitchControl(ParameterControl):
    """On or off."""

    HELP = "Press enter or click to switch it."

    BINDINGS: ClassVar[list[BindingType]] = bindings(SWITCH)

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


class FoldRow(Widget, can_focus=True):
    """`▸ 11 more settings`."""

    HELP = "Press enter or click to show or hide the strategy's other settings."

    DEFAULT_CSS = """
    FoldRow {
        height: 1;
        width: 1fr;
        pointer: pointer;
        color: $text-muted;
        &:focus { background: $primary 20%; }
        &:focus:ansi { background: ansi_default; }
    }
    """

    ALLOW_SELECT = False  # a click folds, and marks no text

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
