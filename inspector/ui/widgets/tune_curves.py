"""A limit's curves, with the value looked at: moved with the arrow keys or by dragging."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.message import Message
from textual.reactive import reactive

from inspector.strategies.core.scale import LARGE_STEP
from inspector.ui.tune.chart import TuneChart
from inspector.ui.tune.drawing import LABELS, draw_tuning, plot_columns
from inspector.ui.widgets.drawing import Drawing

if TYPE_CHECKING:
    from inspector.ui.chart.drawing import Run


class TuneCurves(Drawing):
    """Set `chart` to show a sweep. Keys and the mouse ask for another value; whoever answers sets another chart."""

    HELP = """What the cost, the prompt tokens and the cache breaks of this session come to over the whole range of one
    limit: a dot is a replay, or lies on the line between two. Each curve goes from its least to its most, written
    beside it; the dotted line is the session with nothing cut. Letters: c calibrated, e estimated. ◆ is the value you
    look at, ▲ the plan's, ▾ that of the least cost. ◇ is the knee: where the cost lies furthest below the straight
    line between both ends of the curve, each direction taken as a share of its own length; beyond it a looser limit
    costs more than it did on average. Below, the sizes the limit is about: what is right of the value is cut."""

    DEFAULT_CSS = """
    TuneCurves {
        & > .tune--cost { color: $text-accent; }
        & > .tune--tokens { color: $text-success; }
        & > .tune--breaks { color: $text-error; }
        & > .tune--level { color: $text-muted; }
        & > .tune--number { color: $text-muted; }
        & > .tune--label { color: $text-muted; }
        & > .tune--axis { color: $text-disabled; }
        & > .tune--cursor { color: $foreground; }
        & > .tune--here { color: $foreground; text-style: bold; }
        & > .tune--plan { color: $text-primary; text-style: bold; }
        & > .tune--knee { color: $text-warning; }
        & > .tune--least { color: $text-success; text-style: bold; }
        & > .tune--whole { color: $text-success; }
        & > .tune--cut { color: $text-warning; }
        &:focus > .tune--cursor { color: $primary; }
        &:focus > .tune--here { color: $primary; }
        &:nocolor > .tune--here { text-style: bold reverse; }
    }
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "tune--cost",
        "tune--tokens",
        "tune--breaks",
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

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "screen.apply", "apply", id="tune.apply", tooltip="Give the plan this value"),
        Binding("left", "step(-1)", "move", id="tune.lower", tooltip="Look at a lower value"),
        Binding("right", "step(1)", "move", id="tune.raise", tooltip="Look at a higher value"),
        Binding(
            "shift+left", f"step(-{LARGE_STEP})", "far", id="tune.far-lower", tooltip="Ten steps lower", show=False
        ),
        Binding(
            "shift+right", f"step({LARGE_STEP})", "far", id="tune.far-higher", tooltip="Ten steps higher", show=False
        ),
        Binding("home", "edge(0)", "lowest", id="tune.lowest", tooltip="To the lowest value", show=False),
        Binding("end", "edge(1)", "highest", id="tune.highest", tooltip="To the highest value", show=False),
        Binding("tab", "screen.next_limit(1)", "limit", id="tune.next", tooltip="The next limit of the plan"),
        Binding(
            "shift+tab", "screen.next_limit(-1)", "limit", id="tune.previous", tooltip="The limit before", show=False
        ),
        Binding("h", "screen.map", "map", id="tune.map", tooltip="Two limits at once, as a map"),
        Binding("o", "screen.one_tool", "one tool", id="tune.tool", tooltip="Find a limit for one tool alone"),
        Binding("k", "screen.mark('knee')", "knee", id="tune.knee", tooltip="To the knee"),
        Binding("l", "screen.mark('least')", "least", id="tune.least", tooltip="To the value of the least cost"),
        Binding("u", "screen.mark('plan')", "plan's", id="tune.plan", tooltip="Back to the plan's value", show=False),
    ]

    chart: reactive[TuneChart | None] = reactive[TuneChart | None](None, init=False)
    """What is shown."""

    @dataclass
    class Moved(Message):
        """Another value should be looked at.

        Attributes:
            curves: Where.
            value: The value.
        """

        curves: TuneCurves
        value: float

        @property
        def control(self) -> TuneCurves:
            """The curves it happened in."""
            return self.curves

        def can_replace(self, message: Message) -> bool:
            """While dragging only the newest value matters."""
            return isinstance(message, TuneCurves.Moved) and message.curves is self.curves

    @property
    def subject(self) -> TuneChart | None:
        """The chart."""
        return self.chart

    def draw(self, width: int, height: int) -> tuple[tuple[Run, ...], ...]:
        """Curves, axis and sizes."""
        return draw_tuning(self.chart, width, height) if self.chart is not None else ()

    def point(self, x: int, y: int) -> None:  # noqa: ARG002  a value has no height
        """Look at the value under the mouse."""
        if self.chart is not None:
            self._move(self.chart.value_at(x - LABELS, plot_columns(self.size.width)))

    def action_step(self, steps: int) -> None:
        """Move by a number of steps."""
        if self.chart is not None:
            self._move(self.chart.scale.stepped(self.chart.here, steps))

    def action_edge(self, end: int) -> None:
        """Move to the lowest or highest value."""
        if self.chart is not None:
            self._move(self.chart.scale.maximum if end else self.chart.scale.minimum)

    def _move(self, value: float) -> None:
        if self.chart is not None and value != self.chart.here:
            self.post_message(self.Moved(self, value))
