"""The slider of a strategy's limit: dragged, stepped or typed, with the sizes of the results it is about below."""

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
"""Cells left of the line, where the focus is marked above."""
TRACK = 1
"""The line of the control the knob moves along; its name stands above."""
LONGEST_TYPED = 12
END_REACHED = "The slider ends here: nothing is larger. Type a number and press enter to go beyond."


class LimitSlider(ParameterControl):
    """Its name, what it does and its value; a line as wide as the plan; below it the sizes of the results it is about.

    A size is counted where the limit would stand if it were as large. However much becomes known of the limit, its
    height stays the same.
    """

    HELP = """Drag the knob, or step with the arrow keys: far with an arrow alone, finely with shift or the mouse's
    wheel. The line ends a little above the largest result; type a number and press enter to go beyond. The bars below
    count results by size: those to the right of the mark are over the limit."""

    DEFAULT_CSS = """
    LimitSlider { height: auto; }
    """

    BINDINGS: ClassVar[list[BindingType]] = bindings(SLIDER)

    effect: reactive[Effect] = reactive(NO_EFFECT)
    """What the limit does to the session."""
    sizes: reactive[LimitSizes | None] = reactive(None)
    """What the limit is about; None where that is no size, or not known yet."""
    largest: reactive[int | None] = reactive(None)
    """The largest thing it is held against; None where that is not known."""
    is_moving: reactive[bool] = reactive(False)
    """It is being dragged: the value stands beside the knob."""

    class RangeChanged(Message):
        """The line ends elsewhere now."""

        def __init__(self, slider: LimitSlider) -> None:
            super().__init__()
            self.slider = slider
            """Whose line."""

    def __init__(self, entry: int, parameter: Parameter, value: ParameterValue) -> None:
        super().__init__(entry, parameter, value)
        self._counts_sizes = counts_sizes(parameter)
        self.scale = range_of(parameter, self.number, None)
        """What the line covers."""
        self._hold: KnobHold | None = None
        self._pointer = 0
        self._is_range_held = False
        self._typed = ""
        self._bars: tuple[object, str] = (None, "")

    @property
    def number(self) -> float:
        """The value as a number."""
        return float(self.value) if isinstance(self.value, int | float) else 0.0

    @property
    def is_held(self) -> bool:
        """Whether the mouse holds the knob."""
        return self._hold is not None

    @property
    def track(self) -> LimitTrack:
        """The line with its cells."""
        return LimitTrack(self.scale, max(self.content_size.width - MARGIN, 2))

    @property
    def explanation(self) -> str:
        """What it is, what it takes, and where its line ends."""
        ends = "" if self.largest is None else f"; slider to {number_text(self.scale.maximum)}"
        return f"{self.parameter.help} {self.parameter.range}; default {self.default_text}{ends}."

    def watch_value(self) -> None:
        """A value given from outside may lie beyond an open range's end."""
        self._fit_range()

    def watch_largest(self) -> None:
        """A session that grows may have larger results."""
        self._fit_range()

    def _fit_range(self) -> None:
        """End a little above the largest result; never while the mouse is on the line: nothing moves under it."""
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
        """The control's lines."""
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
        """A glyph for every cell; empty while sizes are not known."""
        if self.sizes is None:
            return ""
        key = (self.sizes, track)
        if key != self._bars[0]:
            self._bars = key, histogram(self.sizes, track)
        return self._bars[1]

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:  # noqa: ARG002  rows alone decide
        """Two lines, and one for sizes where the limit may be held against any."""
        return 3 if self._counts_sizes else 2

    def choose(self, value: ParameterValue, *, is_final: bool = True) -> None:
        """Show `value` and report it, where it is another one."""
        self.is_moving = not is_final or self.is_held
        super().choose(value, is_final=is_final)
        if is_final and self._hold is not None:
            self._hold = self._hold.resting(self._pointer, self.number)

    def action_step(self, steps: int) -> None:
        """Move by a number of fine steps."""
        self._move_by(steps, coarse=False)

    def action_stride(self, steps: int) -> None:
        """Move by a number of coarse steps."""
        self._move_by(steps, coarse=True)

    def _move_by(self, steps: int, *, coarse: bool) -> None:
        self._typed = ""
        self._let_range_go()
        value = self._proper(self.track.stepped(self.number, steps, coarse=coarse))
        if steps > 0 and value == self.value and self.scale.maximum < (self.parameter.maximum or 0):
            self.post_message(self.Refused(END_REACHED))
        self.choose(value)

    def action_edge(self, end: int) -> None:
        """Move to the beginning or the end of the line."""
        self._typed = ""
        self._let_range_go()
        self.choose(self._proper(self.scale.maximum if end else self.scale.minimum))

    def action_reset(self) -> None:
        """Back to the default."""
        self._typed = ""
        self.reset()

    def on_key(self, event: events.Key) -> None:
        """Digits type a value; enter sets it, escape forgets it."""
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
        """A half-typed value is forgotten."""
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
        """Take hold of the knob, on its line or among the sizes."""
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
        """Follow the mouse."""
        if self._hold is not None:
            event.stop()
            self._follow(event.x - MARGIN)

    def on_mouse_up(self, event: events.MouseUp) -> None:
        """Let go: the value below the mouse is final, whether every move on the way there was seen or not."""
        if self._hold is not None:
            event.stop()
            self._follow(event.x - MARGIN)
            self._hold = None
            self.release_mouse()
            self.choose(self.value)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        """Raise the limit finely."""
        self._turn(event, 1)

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        """Lower the limit finely."""
        self._turn(event, -1)

    def _turn(self, event: events.MouseScrollUp | events.MouseScrollDown, steps: int) -> None:
        """Step by the wheel where the limit has the focus; elsewhere the wheel scrolls, and changes nothing."""
        if not self.has_focus:
            return
        event.stop()
        event.prevent_default()
        self._pointer = event.x - MARGIN
        self.action_step(steps)

    def on_leave(self) -> None:
        """The mouse is elsewhere: the line may end where it should by now."""
        self._let_range_go()

    def _follow(self, cell: int) -> None:
        if self._hold is not None:
            self._typed, self._pointer = "", cell
            self.choose(self._proper(self._hold.value(cell)), is_final=False)

    def _proper(self, number: float) -> ParameterValue:
        """The number in the parameter's type."""
        if self.parameter.kind is ParameterKind.WHOLE_NUMBER:
            return round(number)
        return number
