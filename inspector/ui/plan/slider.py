"""The slider of a strategy's limit: dragged, stepped or typed, with the sizes of the results it is about below."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.content import Content
from textual.reactive import reactive

from inspector.report.numbers import ON_SCREEN
from inspector.strategies.core.parameters import ParameterError, ParameterKind
from inspector.strategies.core.scale import ValueScale
from inspector.ui.actions.action import bindings
from inspector.ui.actions.parts import SLIDER
from inspector.ui.plan.controls import ParameterControl

if TYPE_CHECKING:
    from textual import events
    from textual.binding import BindingType
    from textual.geometry import Size
    from textual.style import Style

    from inspector.replay.analysis.tunable_limits import LimitSizes
    from inspector.strategies.core.parameters import Parameter, ParameterValue
    from inspector.ui.plan.controls import Effect

VALUE_WIDTH = 8

MARK = "│"
"""Where the limit is among the sizes."""


class LimitSlider(ParameterControl):
    """One row: label, track, value. Below it, where that is known, what the limit does, and to results of which sizes.

    A size is counted where the limit would stand if it were as large.
    """

    HELP = """Drag the knob, step with the arrow keys, or type a number and press enter. The bars below the line count
    results by size: those to the right of the mark are over the limit."""

    BINDINGS: ClassVar[list[BindingType]] = bindings(SLIDER)

    sizes: reactive[LimitSizes | None] = reactive(None)
    """What the limit is about; None where that is no size, or not known yet."""

    def __init__(self, entry: int, parameter: Parameter, value: ParameterValue) -> None:
        super().__init__(entry, parameter, value)
        self.scale = ValueScale.of(parameter, self.number)
        """Where values stand on the track."""
        self._typed = ""
        self._dragging = False
        self._bars: tuple[object, str] = (None, "")

    @property
    def number(self) -> float:
        """The value as a number."""
        return float(self.value) if isinstance(self.value, int | float) else 0.0

    def watch_value(self) -> None:
        """A value given from outside may lie beyond an open range's end."""
        if not self._dragging and not self.scale.minimum <= self.number <= self.scale.maximum:
            self.scale = ValueScale.of(self.parameter, self.number)

    def watch_sizes(self, before: LimitSizes | None, sizes: LimitSizes | None) -> None:
        """Sizes have a row of their own."""
        if (before is None) != (sizes is None):
            self.refresh(layout=True)

    def watch_effect(self, before: Effect, effect: Effect) -> None:
        """The sizes have their row whether there is an effect or not."""
        if self.sizes is None:
            super().watch_effect(before, effect)

    @property
    def _track(self) -> tuple[int, int]:
        """First cell and width of the track."""
        first = 2 + self.label_width + 1
        return first, max(self.content_size.width - first - VALUE_WIDTH, 4)

    def render(self) -> Content:
        """The row, and the effect below."""
        _, width = self._track
        thumb = round(self.scale.fraction(self.number) * (width - 1))
        default = self.parameter.default
        origin = round(self.scale.fraction(default) * (width - 1)) if isinstance(default, int | float) else -1
        rest = "".join("┼" if cell == origin else "─" for cell in range(thumb + 1, width))
        row = Content.assemble(
            self.label_content(),
            ("━" * thumb, self.get_visual_style("parameter--filled")),
            ("●", self.get_visual_style("parameter--thumb")),
            (rest, self.get_visual_style("parameter--track")),
            self._value_content(),
        )
        return Content("\n").join([row, self._sizes_row(thumb, width)]) if self.sizes else self.with_effect(row)

    def _sizes_row(self, thumb: int, width: int) -> Content:
        """What is touched, below the label; sizes, below the track; what is left out, below the value."""
        style = self.get_visual_style("parameter--effect")
        touched = (self.effect.brief or self._count)[: self.label_width]
        bars = self._histogram(width)
        return Content.assemble(
            (f"  {touched:<{self.label_width}} ", style),
            (bars[:thumb], self.get_visual_style("parameter--kept")),
            (MARK, self.get_visual_style("parameter--thumb")),
            (bars[thumb + 1 :], self.get_visual_style("parameter--over")),
            (f"{self.effect.tokens:>{VALUE_WIDTH}}", style),
        )

    @property
    def _count(self) -> str:
        return "" if self.sizes is None else ON_SCREEN.plural(len(self.sizes.values), self.sizes.noun)

    def _histogram(self, width: int) -> str:
        from inspector.ui.plan.sizes import histogram

        key = (self.sizes, self.scale, width)
        if self.sizes is not None and key != self._bars[0]:
            self._bars = key, histogram(self.sizes, self.scale, width)
        return self._bars[1]

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:  # noqa: ARG002  rows alone decide
        """Two rows when there is anything to tell."""
        return 2 if self.effect.is_known or self.sizes is not None else 1

    def _value_content(self) -> tuple[str, Style]:
        if self._typed:
            return f"{self._typed + '▏':>{VALUE_WIDTH}}", self.get_visual_style("parameter--typed")
        return f"{self.value_text:>{VALUE_WIDTH}}", self.get_visual_style("parameter--value")

    @property
    def value_text(self) -> str:
        """The value as shown: `24,000`, `0.7`."""
        number = self.number
        return f"{number:,.0f}" if number == int(number) else f"{number:,.4g}"

    def action_step(self, steps: int) -> None:
        """Move by a number of steps."""
        self._typed = ""
        self.choose(self._proper(self.scale.stepped(self.number, steps)))

    def action_edge(self, end: int) -> None:
        """Move to the lowest or highest value."""
        self._typed = ""
        self.choose(self._proper(self.scale.maximum if end else self.scale.minimum))

    def action_reset(self) -> None:
        """Back to the default."""
        self._typed = ""
        self.reset()

    def on_key(self, event: events.Key) -> None:
        """Digits type a value; enter sets it, escape forgets it."""
        character = event.character or ""
        if character.isdigit() or (character in "._-" and character):
            self._typed = (self._typed + character)[: VALUE_WIDTH - 1]
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
        """Take hold of the knob."""
        first, width = self._track
        if event.button != 1 or event.y != 0 or not first <= event.x < first + width:
            return
        event.stop()
        self.capture_mouse()
        self._dragging = True
        self._move_to(event.x)

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """Follow the mouse."""
        if self._dragging:
            event.stop()
            self._move_to(event.x)

    def on_mouse_up(self, event: events.MouseUp) -> None:
        """Let go: the value below the mouse is final, whether every move on the way there was seen or not."""
        if self._dragging:
            event.stop()
            self._move_to(event.x)
            self._dragging = False
            self.release_mouse()
            self.choose(self.value)

    def _move_to(self, cell: int) -> None:
        first, width = self._track
        self._typed = ""
        self.choose(self._proper(self.scale.value((cell - first) / (width - 1))), is_final=False)

    def _proper(self, number: float) -> ParameterValue:
        """The number in the parameter's type, inside its own range where the track is wider or narrower."""
        if self.parameter.kind is ParameterKind.WHOLE_NUMBER:
            return round(number)
        return number
