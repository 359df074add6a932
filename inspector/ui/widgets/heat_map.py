"""Two limits at once: a map of what pairs of their values cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.message import Message
from textual.reactive import reactive

from inspector.ui.tune.heat_drawing import HeatChart, Place, draw_heat, place_at
from inspector.ui.widgets.drawing import Drawing

if TYPE_CHECKING:
    from inspector.ui.chart.drawing import Run


class HeatMap(Drawing):
    """Set `chart` to show a grid. Keys and the mouse ask for another pair; whoever answers sets another chart."""

    HELP = """What the session costs (or how many prompt tokens it sends, without a price) at pairs of values of two
    limits. More ink is more: · ░ ▒ ▓ █ are equal steps from the least to the most, written below the map. ◆ is the pair
    you look at, ▲ the plan's, ▾ the least. Every pair is a replay of the whole session; those that are faint are not
    replayed yet and shown as their neighbour."""

    DEFAULT_CSS = """
    HeatMap {
        & > .heat--label { color: $text-muted; }
        & > .heat--0 { color: $text-success; }
        & > .heat--1 { color: $text-success; }
        & > .heat--2 { color: $text-warning; }
        & > .heat--3 { color: $text-warning; }
        & > .heat--4 { color: $text-error; }
        & > .heat--waiting { color: $text-disabled; }
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

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "screen.apply", "apply both", id="heat.apply", tooltip="Give the plan both values"),
        Binding("left", "step(0, -1)", "move", id="heat.left", tooltip="A lower value of the limit across"),
        Binding("right", "step(0, 1)", "move", id="heat.right", tooltip="A higher value of the limit across"),
        Binding("up", "step(-1, 0)", "move", id="heat.up", tooltip="A lower value of the limit down"),
        Binding("down", "step(1, 0)", "move", id="heat.down", tooltip="A higher value of the limit down"),
        Binding("tab", "screen.next_limit(1)", "across", id="heat.across", tooltip="Another limit across"),
        Binding("shift+tab", "screen.next_down(1)", "down", id="heat.limit-down", tooltip="Another limit down"),
        Binding("h", "screen.map", "curve", id="heat.curves", tooltip="One limit over its range again"),
        Binding("l", "screen.mark('least')", "least", id="heat.least", tooltip="To the pair of the least cost"),
        Binding("u", "screen.mark('plan')", "plan's", id="heat.plan", tooltip="Back to the plan's pair", show=False),
    ]

    chart: reactive[HeatChart | None] = reactive[HeatChart | None](None, init=False)
    """What is shown."""

    @dataclass
    class Moved(Message):
        """Another pair should be looked at.

        Attributes:
            heat_map: Where.
            place: Its row and column.
        """

        heat_map: HeatMap
        place: Place

        @property
        def control(self) -> HeatMap:
            """The map it happened in."""
            return self.heat_map

        def can_replace(self, message: Message) -> bool:
            """While dragging only the newest pair matters."""
            return isinstance(message, HeatMap.Moved) and message.heat_map is self.heat_map

    @property
    def subject(self) -> HeatChart | None:
        """The chart."""
        return self.chart

    def draw(self, width: int, height: int) -> tuple[tuple[Run, ...], ...]:
        """The map and its legend."""
        return draw_heat(self.chart, width, height) if self.chart is not None else ()

    def point(self, x: int, y: int) -> None:
        """Look at the pair under the mouse."""
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
            self.post_message(self.Moved(self, place))
