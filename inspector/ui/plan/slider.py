"""Slider for a strategy's limit. It can be dragged, stepped or typed, and shows a histogram of result sizes."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.content import Content
from textual.message import Message
from textual.reactive import reactive

from inspector.report.numbers import ON_SCREEN
from inspector.strategies.core.parameters import ParameterError, ParameterKind
from inspector.ui.actions.action import bindings
from inspector.ui.actions.parts import SLIDER
from inspector.ui.plan.controls import ParameterControl
from inspector.ui.plan.sizes import counts_sizes, histogram, range_of
from inspector.ui.plan.slider_drawing import NO_EFFECT, Effect, Piece, name_row, number_text, sizes_row, track_row
from inspector.ui.plan.track import KnobHold, LimitTrack

if TYPE_CHECKING:
    from collections.abc import Iterable

    from textual import events
    from textual.binding import BindingType
    from textual.geometry import Size

    from inspector.replay.analysis.tunable_limits import LimitSizes
    from inspector.strategies.core.parameters import Parameter, ParameterValue

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

    class RangeChanged(Message):
        """Posted when the end of the track changes."""

        def __init__(self, slider: LimitSlider) -> None:
            super().__init__()
            self.slider = slider
            """The slider."""

    def __init__(self, entry: int, parameter: Parameter, value: ParameterValue) -> None:
        super().__init__(entry, parameter, value)
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
        value = (self._typed + "▏", "parameter--typed") if self._typed else (number_text(number), "parameter--value")
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
