"""Widgets of the tune screen: the curves of a limit and the map of two, moved by keys or dragging."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from textual.message import Message
from textual.reactive import reactive
from textual.strip import Strip
from textual.widget import Widget

from inspector.ui.actions.action import bindings
from inspector.ui.actions.screens import TUNE_CURVES, TUNE_MAP
from inspector.ui.toolkit.line_view import strip_of
from inspector.ui.tune.drawing import (
    LABELS,
    HeatChart,
    Place,
    TuneChart,
    draw_heat,
    draw_tuning,
    place_at,
    plot_columns,
)

if TYPE_CHECKING:
    from textual import events
    from textual.binding import BindingType

    from inspector.replay.analysis.sweep import Grid
    from inspector.ui.chart.drawing import ChartRun


class CurveWidget(Widget, can_focus=True):
    """Base of the curves and the map. A subclass defines `subject`, `draw` and `point`."""

    DEFAULT_CSS = """
    CurveWidget {
        height: 1fr;
        background: $background;
        color: $foreground;
    }
    """

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002  Textual's name
        super().__init__(id=id, classes=classes)
        self._drawn: tuple[tuple[ChartRun, ...], ...] = ()
        self._drawn_of: tuple[object, int, int] | None = None
        self._is_dragging = False

    @property
    def subject(self) -> object | None:
        """Data to draw, replaced whenever it must be redrawn; None for nothing."""
        raise NotImplementedError

    def draw(self, width: int, height: int) -> tuple[tuple[ChartRun, ...], ...]:
        """Return `height` rows of exactly `width` cells."""
        raise NotImplementedError

    def point(self, x: int, y: int) -> None:
        """Handle a press or drag at a cell, which may lie outside the drawing."""
        raise NotImplementedError

    def render_line(self, y: int) -> Strip:
        width, height = self.size
        if self.subject is None or y >= height:
            return Strip.blank(width, self.rich_style)
        if self._drawn_of != (self.subject, width, height):
            self._drawn, self._drawn_of = self.draw(width, height), (self.subject, width, height)
        plain = self.rich_style
        parts = ((run.text, self.get_component_rich_style(run.style) if run.style else plain) for run in self._drawn[y])
        return strip_of(parts, width, plain)

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """Point at the cell, and follow the mouse until released."""
        offset = event.get_content_offset(self)
        if offset is not None and event.button == 1 and self.subject is not None:
            self.capture_mouse()
            self._is_dragging = True
            self.point(offset.x, offset.y)

    def on_mouse_move(self, event: events.MouseMove) -> None:
        if self._is_dragging:
            self.point(event.x - self.gutter.left, event.y - self.gutter.top)

    def on_mouse_up(self) -> None:
        if self._is_dragging:
            self._is_dragging = False
            self.release_mouse()


class TuneCurves(CurveWidget):
    """Curves of a sweep, set as `chart`. The mouse posts another value; the parent then sets a new chart."""

    HELP = """Cost, prompt tokens and changed prompts of this session over the whole range of one limit. Each dot is a
    replay or interpolated between two. Each curve is scaled from its minimum to its maximum, which are shown next to
    it; the dotted line is the session with nothing cut. ~ marks estimates. ◆ is the selected value, ▲ the plan's, ▾ the
    value with the lowest cost. ◇ is the knee: the point where the curve is furthest below the straight line between its
    ends, with both axes scaled to the same length. Beyond it, loosening the limit costs more than on average. The
    histogram below shows the sizes the limit applies to: everything right of the value is cut."""

    DEFAULT_CSS = """
    TuneCurves {
        & > .tune--cost { color: $cost; }
        & > .tune--tokens { color: $sent; }
        & > .tune--breaks { color: $miss; }
        & > .tune--net { color: $success; }
        & > .tune--refetch { color: $warning; }
        & > .tune--level { color: $text-muted; }
        & > .tune--number { color: $text-muted; }
        & > .tune--label { color: $text-muted; }
        & > .tune--axis { color: $text-disabled; }
        & > .tune--cursor { color: $foreground; }
        & > .tune--here { color: $foreground; text-style: bold; }
        & > .tune--plan { color: $text-primary; text-style: bold; }
        & > .tune--knee { color: $knee; }
        & > .tune--least { color: $least; text-style: bold; }
        & > .tune--whole { color: $sent; }
        & > .tune--cut { color: $cut; }
        &:focus > .tune--cursor { color: $primary; }
        &:focus > .tune--here { color: $primary; }
        &:nocolor > .tune--here { text-style: bold reverse; }
    }
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "tune--cost",
        "tune--tokens",
        "tune--breaks",
        "tune--net",
        "tune--refetch",
        "tune--level",
        "tune--number",
        "tune--label",
        "tune--axis",
        "tune--cursor",
        "tune--here",
        "tune--plan",
        "tune--knee",
        "tune--least",
        "tune--whole",
        "tune--cut",
    }

    BINDINGS: ClassVar[list[BindingType]] = bindings(TUNE_CURVES)

    chart: reactive[TuneChart | None] = reactive[TuneChart | None](None, init=False)
    """The data on display."""

    @dataclass
    class Moved(Message):
        """Posted to select another value.

        Attributes:
            curves: The widget.
            chart: The chart at the time of the event; it may have been replaced since.
            value: The value.
        """

        curves: TuneCurves
        chart: TuneChart
        value: float

        @property
        def control(self) -> TuneCurves:
            return self.curves

        def can_replace(self, message: Message) -> bool:
            """Replace pending messages, because only the newest value matters during a drag."""
            return isinstance(message, TuneCurves.Moved) and message.curves is self.curves

    @property
    def subject(self) -> TuneChart | None:
        return self.chart

    def draw(self, width: int, height: int) -> tuple[tuple[ChartRun, ...], ...]:
        return draw_tuning(self.chart, width, height) if self.chart is not None else ()

    def point(self, x: int, y: int) -> None:  # noqa: ARG002  a value has no height
        """Post the value under the mouse."""
        if self.chart is not None:
            value = self.chart.value_at(x - LABELS, plot_columns(self.size.width))
            if value != self.chart.here:
                self.post_message(self.Moved(self, self.chart, value))


class HeatMap(CurveWidget):
    """Map of a grid, set as `chart`. Keys and the mouse post another pair; the parent then sets a new chart."""

    HELP = """Cost of the session (or its prompt tokens, without a price) for pairs of values of two limits. Denser
    glyphs mean more: · ░ ▒ ▓ █ are equal steps from the minimum to the maximum, which are shown below the map. ◆ is the
    selected pair, ▲ the plan's, ▾ the minimum. Every pair is a replay of the whole session. Faint pairs are not
    replayed yet and show the value of their neighbor."""

    DEFAULT_CSS = """
    HeatMap {
        & > .heat--label { color: $text-muted; }
        & > .heat--0 { color: $text-success; }
        & > .heat--1 { color: $text-success; }
        & > .heat--2 { color: $text-warning; }
        & > .heat--3 { color: $text-warning; }
        & > .heat--4 { color: $text-error; }
        & > .heat--waiting { color: $waiting; }
        & > .heat--mark { color: $foreground; text-style: bold; }
        & > .heat--here { color: $foreground; text-style: bold; }
        &:focus > .heat--here { color: $primary; text-style: bold reverse; }
    }
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "heat--label",
        *(f"heat--{level}" for level in range(5)),
        "heat--waiting",
        "heat--mark",
        "heat--here",
    }

    BINDINGS: ClassVar[list[BindingType]] = bindings(TUNE_MAP)

    chart: reactive[HeatChart | None] = reactive[HeatChart | None](None, init=False)
    """The data on display."""

    @dataclass
    class Moved(Message):
        """Posted to select another pair.

        Attributes:
            heat_map: The widget.
            grid: The grid at the time of the event; it may have been replaced since.
            place: Row and column of the pair.
        """

        heat_map: HeatMap
        grid: Grid
        place: Place

        @property
        def control(self) -> HeatMap:
            return self.heat_map

        def can_replace(self, message: Message) -> bool:
            """Replace pending messages, because only the newest pair matters during a drag."""
            return isinstance(message, HeatMap.Moved) and message.heat_map is self.heat_map

    @property
    def subject(self) -> HeatChart | None:
        return self.chart

    def draw(self, width: int, height: int) -> tuple[tuple[ChartRun, ...], ...]:
        return draw_heat(self.chart, width, height) if self.chart is not None else ()

    def point(self, x: int, y: int) -> None:
        """Post the pair under the mouse."""
        if self.chart is not None:
            self._move(place_at(self.chart, *self.size, x, y))

    def action_step(self, down: int, across: int) -> None:
        """Move by pairs."""
        if self.chart is not None:
            rows, columns = self.chart.grid.cost.shape
            row, column = self.chart.here
            self._move((min(max(row + down, 0), rows - 1), min(max(column + across, 0), columns - 1)))

    def _move(self, place: Place) -> None:
        if self.chart is not None and place != self.chart.here:
            self.post_message(self.Moved(self, self.chart.grid, place))
