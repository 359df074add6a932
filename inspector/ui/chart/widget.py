"""The context chart widget: prompt tokens per call, recorded and under the plan, and the selected call."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final

from textual.content import Content
from textual.geometry import Region
from textual.message import Message
from textual.reactive import reactive
from textual.strip import Strip
from textual.widget import Widget

from inspector.ui.actions.action import bindings
from inspector.ui.actions.parts import CHART
from inspector.ui.chart.drawing import AXIS, FIRING, HERE, ChartRun, draw_chart, layout_of
from inspector.ui.chart.view import ChartSeries, FillText, columns_of, place_of
from inspector.ui.miss_glyphs import COMPACTED, MARKS
from inspector.ui.toolkit.line_view import component_classes, strip_of

if TYPE_CHECKING:
    from textual import events
    from textual.binding import BindingType


class ContextChart(Widget, can_focus=True):
    """Tokens over calls. Set `series` to show a session.

    A click, a drag or an arrow key requests another call; the handler sets `series` with a new cursor.
    """

    DEFAULT_CSS = """
    ContextChart {
        background: $surface;
        color: $foreground;
        & > .chart--planned { color: $sent; }
        & > .chart--recorded { color: $recorded 50%; }
        & > .chart--recorded-whole { color: $recorded 0%; background: $recorded 50%; }
        & > .chart--edge { color: $sent; background: $recorded 50%; }
        & > .chart--grown { color: $grown 60%; }
        & > .chart--grown-whole { color: $grown 0%; background: $grown 60%; }
        & > .chart--grown-edge { color: $sent; background: $grown 60%; }
        & > .chart--planned-later { color: $foreground 40%; }
        & > .chart--recorded-later { color: $foreground 20%; }
        & > .chart--recorded-whole-later { color: $foreground 0%; background: $foreground 20%; }
        & > .chart--edge-later { color: $foreground 25%; background: $foreground 20%; }
        & > .chart--grown-later { color: $foreground 20%; }
        & > .chart--grown-whole-later { color: $foreground 0%; background: $foreground 20%; }
        & > .chart--grown-edge-later { color: $foreground 25%; background: $foreground 20%; }
        & > .chart--window { color: $text-muted; }
        & > .chart--level { color: $limit; }
        & > .chart--level-within { color: $background; background: $sent; }
        & > .chart--firing { color: $acts; text-style: bold; }
        & > .chart--axis { color: $text-disabled; }
        & > .chart--label { color: $text-muted; }
        & > .chart--compaction { color: $compaction; text-style: bold; }
        & > .chart--miss { color: $miss; text-style: bold; }
        & > .chart--cursor { color: $foreground; text-style: bold; }
        & > .chart--cursor-edge { color: $foreground; background: $recorded 50%; text-style: bold; }
        & > .chart--cursor-grown { color: $foreground; background: $grown 60%; text-style: bold; }
        &:ansi > .chart--recorded { color: $recorded; }
        &:ansi > .chart--grown { color: $grown; }
        &:ansi > .chart--planned-later { color: $outside; }
        &:ansi > .chart--recorded-later { color: $outside; }
        &:ansi > .chart--grown-later { color: $outside; }
        &:ansi > .chart--level-within { color: ansi_default; background: transparent; text-style: reverse; }
        &:nocolor > .chart--level-within { color: $foreground; background: $surface; text-style: reverse; }
        &:focus > .chart--cursor { color: $primary; }
    }
    """

    HELP = (
        "Prompt tokens of every call. Marks below the axis: "
        f"{COMPACTED.glyph} {COMPACTED.label}, {FIRING} plan acts, and cache misses: "
        f"{', '.join(f'{mark.glyph} {mark.label}' for mark in MARKS)}. M shows the cost of each."
    )

    COMPONENT_CLASSES: ClassVar[set[str]] = component_classes(DEFAULT_CSS)

    BINDINGS: ClassVar[list[BindingType]] = bindings(CHART)

    series: reactive[ChartSeries | None] = reactive[ChartSeries | None](None, init=False, repaint=False)
    here: reactive[int | None] = reactive[int | None](None, init=False, repaint=False)
    """The call of the row under the timeline's cursor; None if there is none."""

    @dataclass
    class CallSelected(Message):
        """Posted to select a call.

        Attributes:
            chart: The chart.
            call: Index of the call; the number of calls for the next prompt.
        """

        chart: ContextChart
        call: int

        @property
        def control(self) -> ContextChart:
            return self.chart

        def can_replace(self, message: Message) -> bool:
            """Return True, so that only the latest call is delivered while dragging."""
            return isinstance(message, ContextChart.CallSelected) and message.chart is self.chart

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002  Textual's name
        super().__init__(id=id, classes=classes)
        self._drawn: tuple[tuple[ChartRun, ...], ...] = ()
        self._drawn_as: tuple[int, int, bool] | None = None
        self._dragged_to: int | None = None

    def watch_series(self, before: ChartSeries | None, series: ChartSeries | None) -> None:
        """Redraw; after a small change to the plan, only the rows that differ."""
        drawn, size = self._drawn, self.size
        if before is None or series is None or self._drawn_as != (*size, self.by_glyph):
            self._drawn_as = None
            self.refresh()
            return
        self._draw(series)
        changed = {y for y, (row, old) in enumerate(zip(self._drawn, drawn, strict=True)) if row != old}
        if self.here is not None:
            changed.add(layout_of(series, *size).rows)
        if changed:
            self.refresh(*(Region(0, y, size[0], 1) for y in sorted(changed)))

    @property
    def by_glyph(self) -> bool:
        """True if areas are distinguished by glyph: without colors, or with only the terminal's own."""
        return self.app.no_color or self.app.current_theme.ansi

    def _draw(self, series: ChartSeries) -> None:
        width, height = self.size
        self._drawn_as = (width, height, self.by_glyph)
        self._drawn = draw_chart(series, width, height, by_glyph=self.by_glyph)

    def watch_here(self) -> None:
        """Redraw the axis only, because the timeline's cursor moves far more often than the chart changes."""
        if self.series is not None:
            rows = layout_of(self.series, *self.size).rows
            self.refresh(Region(0, rows, self.size.width, 1))

    def _with_here(self, row: tuple[ChartRun, ...]) -> tuple[ChartRun, ...]:
        """Mark the call of the timeline's cursor in the axis row, unless another mark is there."""
        series = self.series
        if series is None or self.here is None or not 0 <= self.here < series.call_count:
            return row
        layout = layout_of(series, *self.size)
        column = layout.labels + place_of(series, self.here, layout.columns)
        text = "".join(run.text for run in row)
        if column >= len(text) or text[column] != AXIS:
            return row
        marked: list[ChartRun] = []
        for run in row:
            if 0 <= column < len(run.text):
                marked += [ChartRun(run.text[:column], run.style), ChartRun(HERE, "chart--cursor")]
                marked.append(ChartRun(run.text[column + 1 :], run.style))
            else:
                marked.append(run)
            column -= len(run.text)
        return tuple(marked)

    class AxisClicked(Message):
        """Posted on a click on the axis labels, to switch between time and calls."""

    def call_at(self, x: int) -> int | None:
        """Return the call at a column of the widget, or None."""
        if self.series is None or not self.series.call_count:
            return None
        layout = layout_of(self.series, self.size.width, self.size.height)
        if not layout.columns:
            return None
        column = min(max(x - layout.labels, 0), layout.columns - 1)
        return int(columns_of(self.series, layout.columns).call[column])

    def render_line(self, y: int) -> Strip:
        """Render one row; the whole chart is drawn when its size or series changes."""
        width, height = self.size
        if self.series is None:
            return Strip.blank(width, self.rich_style)
        if self._drawn_as != (width, height, self.by_glyph):
            self._draw(self.series)
        if y >= len(self._drawn):
            return Strip.blank(width, self.rich_style)
        row = self._drawn[y]
        if self.here is not None and y == layout_of(self.series, width, height).rows:
            row = self._with_here(row)
        plain = self.rich_style
        parts = ((run.text, self.get_component_rich_style(run.style) if run.style else plain) for run in row)
        return strip_of(parts, width, plain)

    def on_mouse_down(self, event: events.MouseDown) -> None:
        offset = event.get_content_offset(self)
        if offset is not None and self.series is not None and offset.y > layout_of(self.series, *self.size).rows:
            self.post_message(self.AxisClicked())
            return
        call = self.call_at(offset.x) if offset is not None and event.button == 1 else None
        if call is not None:
            self.capture_mouse()
            self._dragged_to = call
            self._select(call)

    def on_mouse_move(self, event: events.MouseMove) -> None:
        if self._dragged_to is None:
            return
        call = self.call_at(event.x - self.gutter.left)
        if call is not None and call != self._dragged_to:
            self._dragged_to = call
            self._select(call)

    def on_mouse_up(self) -> None:
        if self._dragged_to is not None:
            self.release_mouse()
            self._dragged_to = None

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        event.stop()
        self.action_select(1)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        event.stop()
        self.action_select(-1)

    def action_select(self, step: int) -> None:
        if self.series is not None and self.series.call_count:
            count = self.series.call_count
            cursor = count if self.series.cursor is None else self.series.cursor
            self._select(min(max(cursor + step, 0), count))

    def action_edge(self, end: int) -> None:
        """Select the first call or the next prompt."""
        if self.series is not None and self.series.call_count:
            self._select(self.series.call_count if end else 0)

    def _select(self, call: int) -> None:
        self.post_message(self.CallSelected(self, call))


_PIXELS: Final = {
    "0": "111101101101111",
    "1": "010110010010111",
    "2": "111001111100111",
    "3": "111001111001111",
    "4": "101101111001001",
    "5": "111100111001111",
    "6": "111100111101111",
    "7": "111001010010010",
    "8": "111101111101111",
    "9": "111101111001111",
    "%": "101001010100101",
}
"""Glyphs of the large figures, three by five pixels."""
_HALVES: Final = {"00": " ", "10": "▀", "01": "▄", "11": "█"}
"""Glyphs of two pixels, one above the other."""


def large_figures(text: str, scale: int) -> list[str]:
    """Draw digits and percent signs as rows of block glyphs; the scale is 1 or 2."""
    rows = [
        (" " * scale).join(
            "".join(pixel * scale for pixel in _PIXELS[letter][row * 3 : row * 3 + 3]) for letter in text
        )
        for row in range(5)
        for _ in range(scale)
    ]
    rows = [row.replace(" ", "0") for row in rows]
    rows += ["0" * len(rows[0])] * (len(rows) % 2)
    return [
        "".join(_HALVES[above + below] for above, below in zip(upper, lower, strict=True))
        for upper, lower in zip(rows[::2], rows[1::2], strict=True)
    ]


class FillGauge(Widget):
    """The fill in large figures, colored by its level, above the sizes it compares."""

    DEFAULT_CSS = """
    FillGauge { width: 26; height: 1fr; padding: 0 1; color: $text-muted; }
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = {"fill--calm", "fill--warning", "fill--alarm"}

    fill: reactive[FillText | None] = reactive[FillText | None](None)
    """The fill and its sizes; None until computed."""

    def render(self) -> Content:
        """Render the figures, as large as there is room for."""
        fill, (width, height) = self.fill, self.content_size
        if fill is None:
            return Content("")
        lines = [Content(line) for line in fill.lines]
        if fill.percent:
            style = self.get_visual_style(f"fill--{fill.level}")
            rows = next(
                (
                    rows
                    for scale in (2, 1)
                    if len(rows := large_figures(fill.percent, scale)) + len(lines) <= height and len(rows[0]) <= width
                ),
                [fill.percent],
            )
            lines = [*(Content.styled(row, style) for row in rows), *lines]
        return Content("\n").join(lines[:height])
