"""Widget for the chart of the cost per call."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from textual.message import Message
from textual.reactive import reactive
from textual.strip import Strip
from textual.widget import Widget

from inspector.ui.bill.drawing import CostSeries, call_at, draw_bill
from inspector.ui.toolkit.line_view import component_classes, strip_of

if TYPE_CHECKING:
    from textual import events

    from inspector.ui.bill.drawing import BillRun


class BillChart(Widget):
    """Cost per call. Set `series` to show a session. A click posts the call under the pointer."""

    DEFAULT_CSS = """
    BillChart {
        background: $background;
        color: $foreground;
        & > .bill--reads { color: $sent; }
        & > .bill--writes { color: $recorded; }
        & > .bill--uncached { color: $cut; }
        & > .bill--output { color: $assistant; }
        & > .bill--axis { color: $text-disabled; }
        & > .bill--label { color: $text-muted; }
        & > .bill--miss { color: $miss; text-style: bold; }
        & > .bill--compaction { color: $compaction; text-style: bold; }
        & > .bill--here { color: $primary; text-style: bold; }
    }
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = component_classes(DEFAULT_CSS)

    series: reactive[CostSeries | None] = reactive[CostSeries | None](None)
    """The data on display."""

    @dataclass
    class Clicked(Message):
        """Posted when a call is clicked.

        Attributes:
            call: Index of the call.
        """

        call: int

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002  Textual's name
        super().__init__(id=id)
        self._drawn: tuple[tuple[BillRun, ...], ...] = ()
        self._drawn_as: tuple[CostSeries, int, int] | None = None

    def render_line(self, y: int) -> Strip:
        """Return one row. The chart is drawn again when its size or series changes."""
        (width, height), series, plain = self.size, self.series, self.rich_style
        if series is None:
            return Strip.blank(width, plain)
        if self._drawn_as is None or self._drawn_as[0] is not series or self._drawn_as[1:] != (width, height):
            self._drawn, self._drawn_as = draw_bill(series, width, height), (series, width, height)
        if y >= len(self._drawn):
            return Strip.blank(width, plain)
        parts = ((run.text, self.get_component_rich_style(run.style) if run.style else plain) for run in self._drawn[y])
        return strip_of(parts, width, plain)

    def on_click(self, event: events.Click) -> None:
        """Post the clicked call."""
        offset, series = event.get_content_offset(self), self.series
        call = None if offset is None or series is None else call_at(series, offset.x, self.size.width)
        if call is not None:
            self.post_message(self.Clicked(call))
