"""Controls for a plan's parameters: sliders, switches, choices and texts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from textual.content import Content
from textual.message import Message
from textual.reactive import reactive
from textual.widget import Widget

from inspector.report.numbers import ON_SCREEN
from inspector.safe_text import safe_text
from inspector.strategies.core.parameters import Parameter, ParameterError, ParameterKind, ParameterValue
from inspector.ui.actions.action import bindings
from inspector.ui.actions.parts import CHOICE, MORE_SETTINGS, SLIDER, SWITCH, TEXT
from inspector.ui.performance.painting import hold_painting
from inspector.ui.plan.limits import (
    NO_EFFECT,
    Effect,
    KnobHold,
    LimitTrack,
    Piece,
    clipped,
    counts_sizes,
    histogram,
    name_row,
    number_text,
    range_of,
    sizes_row,
    track_row,
    value_text,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from textual import events
    from textual.binding import BindingType
    from textual.css.styles import RenderStyles
    from textual.geometry import Size

    from inspector.replay.analysis.sweep import LimitSizes


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


MARGIN = 2
"""Cells left of the track, below the focus mark."""
TRACK = 1
"""Line of the control with the track; the name is above it."""
LONGEST_TYPED = 12
END_REACHED = "End of the slider: no result is larger. To go beyond it, type a number and press enter."


class LimitSlider(ParameterControl):
    """Slider with three lines: name, effect and value; the track; a histogram of the results it applies to.

    The histogram places each size where the knob would be at that limit. The height never changes.
    """

    HELP = """Drag the knob, or use the arrow keys for coarse steps, and shift with the arrow keys or the mouse wheel
    for fine steps. The slider ends a little above the largest result; to go beyond it, type a number and press enter.
    The bars below count results by size: results right of the mark are over the limit."""

    DEFAULT_CSS = """
    LimitSlider { height: auto; }
    """

    BINDINGS: ClassVar[list[BindingType]] = bindings(SLIDER)

    effect: reactive[Effect] = reactive(NO_EFFECT)
    """Effect of the limit on the session."""
    sizes: reactive[LimitSizes | None] = reactive(None)
    """Sizes to compare with; None if the limit is not a size or the sizes are not computed yet."""
    largest: reactive[int | None] = reactive(None)
    """The largest of the compared sizes; None if unknown."""
    is_moving: reactive[bool] = reactive(False)
    """True during a drag: the value is shown next to the knob."""
    unit: reactive[str] = reactive("")
    """Unit of the value, which may depend on other settings of the strategy."""

    class RangeChanged(Message):
        """Posted when the end of the track changes."""

        def __init__(self, slider: LimitSlider) -> None:
            super().__init__()
            self.slider = slider
            """The slider."""

    def __init__(self, entry: int, parameter: Parameter, value: ParameterValue, unit: str = "") -> None:
        super().__init__(entry, parameter, value)
        self.set_reactive(LimitSlider.unit, unit)
        self._counts_sizes = counts_sizes(parameter)
        self.scale = range_of(parameter, self.number, None)
        """Range of the track."""
        self._hold: KnobHold | None = None
        self._pointer = 0
        self._is_range_held = False
        self._typed = ""
        self._bars: tuple[object, str] = (None, "")

    @property
    def number(self) -> float:
        return float(self.value) if isinstance(self.value, int | float) else 0.0

    @property
    def is_held(self) -> bool:
        """True while the mouse holds the knob."""
        return self._hold is not None

    @property
    def track(self) -> LimitTrack:
        return LimitTrack(self.scale, max(self.content_size.width - MARGIN, 2))

    @property
    def explanation(self) -> str:
        """Help, valid range, default, and the end of the track."""
        ends = "" if self.largest is None else f"; slider ends at {number_text(self.scale.maximum)}"
        return f"{self.parameter.help} {self.parameter.range}; default {self.default_text}{ends}."

    def watch_value(self) -> None:
        """Extend the range if the value was set beyond its end."""
        self._fit_range()

    def watch_largest(self) -> None:
        """Extend the range if the session grew and has larger results."""
        self._fit_range()

    def _fit_range(self) -> None:
        """Fit the range to the largest result, except while the mouse is on the track: nothing may move under it."""
        scale = self.scale if self._is_range_held else range_of(self.parameter, self.number, self.largest)
        if scale != self.scale:
            self.scale = scale
            self.refresh()
            self.post_message(self.RangeChanged(self))

    def _let_range_go(self) -> None:
        if self._is_range_held and self._hold is None:
            self._is_range_held = False
            self._fit_range()

    def render(self) -> Content:
        track, number = self.track, self.number
        default = self.parameter.default
        shown = self._typed + "▏" if self._typed else value_text(number, self.unit, self.parameter.name)
        value = shown, "parameter--typed" if self._typed else "parameter--value"
        name = f"{self.mark} {self.label}"
        doing = self.effect if self.effect.is_known else Effect(brief=self._count)
        origin = float(default) if isinstance(default, int | float) else None
        lines: list[Iterable[Piece]] = [
            name_row(name, doing, value, MARGIN + track.cells),
            [(" " * MARGIN, ""), *track_row(track, number, origin, is_moving=self.is_moving)],
        ]
        if self._counts_sizes:
            bars = self._histogram(track)
            lines.append([(" " * MARGIN, ""), *sizes_row(bars, track.cell(number))] if bars else [])
        return Content("\n").join([self._styled(line) for line in lines])

    def _styled(self, pieces: Iterable[Piece]) -> Content:
        return Content.assemble(
            *((text, self.get_visual_style(name)) if name else Content(text) for text, name in pieces)
        )

    @property
    def _count(self) -> str:
        return "" if self.sizes is None else ON_SCREEN.plural(len(self.sizes.values), self.sizes.noun)

    def _histogram(self, track: LimitTrack) -> str:
        """Return a glyph for every cell; empty while the sizes are unknown."""
        if self.sizes is None:
            return ""
        key = (self.sizes, track)
        if key != self._bars[0]:
            self._bars = key, histogram(self.sizes, track)
        return self._bars[1]

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:  # noqa: ARG002  the height is fixed
        """Return two lines, or three if the limit can be compared with sizes."""
        return 3 if self._counts_sizes else 2

    def choose(self, value: ParameterValue, *, is_final: bool = True) -> None:
        """Show a value, and post it if it is new."""
        self.is_moving = not is_final or self.is_held
        super().choose(value, is_final=is_final)
        if is_final and self._hold is not None:
            self._hold = self._hold.resting(self._pointer, self.number)

    def action_step(self, steps: int) -> None:
        """Move by fine steps."""
        self._move_by(steps, coarse=False)

    def action_stride(self, steps: int) -> None:
        """Move by coarse steps."""
        self._move_by(steps, coarse=True)

    def _move_by(self, steps: int, *, coarse: bool) -> None:
        self._typed = ""
        self._let_range_go()
        value = self._proper(self.track.stepped(self.number, steps, coarse=coarse))
        if steps > 0 and value == self.value and self.scale.maximum < (self.parameter.maximum or 0):
            self.post_message(self.Refused(END_REACHED))
        self.choose(value)

    def action_edge(self, end: int) -> None:
        """Move to the start or the end of the track."""
        self._typed = ""
        self._let_range_go()
        self.choose(self._proper(self.scale.maximum if end else self.scale.minimum))

    def action_reset(self) -> None:
        self._typed = ""
        self.reset()

    def on_key(self, event: events.Key) -> None:
        """Edit a typed value: digits append, enter sets it, escape discards it."""
        character = event.character or ""
        if character.isdigit() or (character in "._-" and character):
            self._typed = (self._typed + character)[:LONGEST_TYPED]
        elif not self._typed:
            return
        elif event.key == "backspace":
            self._typed = self._typed[:-1]
        elif event.key == "enter":
            self._set_typed()
        elif event.key == "escape":
            self._typed = ""
        else:
            return
        event.stop()
        event.prevent_default()
        self.refresh()

    def on_blur(self) -> None:
        """Discard an unfinished typed value."""
        self._typed = ""

    def _set_typed(self) -> None:
        typed, self._typed = self._typed, ""
        try:
            value = self.parameter.parsed(typed)
        except ParameterError as error:
            self.post_message(self.Refused(str(error)))
        else:
            self.choose(value)

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """Grab the knob, on the track or in the histogram."""
        track, cell = self.track, event.x - MARGIN
        if event.button != 1 or event.y < TRACK or not 0 <= cell < track.cells:
            return
        event.stop()
        self.capture_mouse()
        self._is_range_held = True
        self._hold = KnobHold.taken(track, self.number, cell)
        self._follow(cell)
        self.is_moving = True

    def on_mouse_move(self, event: events.MouseMove) -> None:
        if self._hold is not None:
            event.stop()
            self._follow(event.x - MARGIN)

    def on_mouse_up(self, event: events.MouseUp) -> None:
        """Release the knob. The value under the mouse is final, even if some moves were not delivered."""
        if self._hold is not None:
            event.stop()
            self._follow(event.x - MARGIN)
            self._hold = None
            self.release_mouse()
            self.choose(self.value)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        """Raise the limit by a fine step."""
        self._turn(event, 1)

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        """Lower the limit by a fine step."""
        self._turn(event, -1)

    def _turn(self, event: events.MouseScrollUp | events.MouseScrollDown, steps: int) -> None:
        """Step by the wheel if the limit has the focus; otherwise let the wheel scroll the list."""
        if not self.has_focus:
            return
        event.stop()
        event.prevent_default()
        self._pointer = event.x - MARGIN
        self.action_step(steps)

    def on_leave(self) -> None:
        """Update the range, which is frozen while the mouse is on the track."""
        self._let_range_go()

    def _follow(self, cell: int) -> None:
        if self._hold is not None:
            self._typed, self._pointer = "", cell
            self.choose(self._proper(self._hold.value(cell)), is_final=False)

    def _proper(self, number: float) -> ParameterValue:
        """Convert the number to the parameter's type."""
        if self.parameter.kind is ParameterKind.WHOLE_NUMBER:
            return round(number)
        return number
