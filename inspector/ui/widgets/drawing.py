"""The base of widgets that are one drawing: drawn as a whole when its size or subject changes, and dragged on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.strip import Strip
from textual.widget import Widget

from inspector.ui.widgets.line_view import strip_of

if TYPE_CHECKING:
    from textual import events

    from inspector.ui.chart.drawing import Run


class Drawing(Widget, can_focus=True):
    """A subclass says what is drawn (`subject`), draws it (`draw`), and answers the mouse (`point`)."""

    DEFAULT_CSS = """
    Drawing {
        height: 1fr;
        background: $background;
        color: $foreground;
    }
    """

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002  Textual's name
        super().__init__(id=id, classes=classes)
        self._drawn: tuple[tuple[Run, ...], ...] = ()
        self._drawn_of: tuple[object, int, int] | None = None
        self._is_dragging = False

    @property
    def subject(self) -> object | None:
        """What is drawn, another object whenever it is to be drawn anew; None for nothing."""
        raise NotImplementedError

    def draw(self, width: int, height: int) -> tuple[tuple[Run, ...], ...]:
        """The drawing, as `height` rows of exactly `width` cells."""
        raise NotImplementedError

    def point(self, x: int, y: int) -> None:
        """The mouse is held at a cell of the drawing, or was dragged beyond it."""
        raise NotImplementedError

    def render_line(self, y: int) -> Strip:
        """One row."""
        width, height = self.size
        if self.subject is None or y >= height:
            return Strip.blank(width, self.rich_style)
        if self._drawn_of != (self.subject, width, height):
            self._drawn, self._drawn_of = self.draw(width, height), (self.subject, width, height)
        parts = (
            (run.text, self.get_component_rich_style(run.style) if run.style else self.rich_style)
            for run in self._drawn[y]
        )
        return strip_of(parts, width, self.rich_style)

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """Point, and follow the mouse as long as it is held."""
        offset = event.get_content_offset(self)
        if offset is not None and event.button == 1 and self.subject is not None:
            self.capture_mouse()
            self._is_dragging = True
            self.point(offset.x, offset.y)

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """Follow the mouse."""
        if self._is_dragging:
            self.point(event.x - self.gutter.left, event.y - self.gutter.top)

    def on_mouse_up(self) -> None:
        """Let go."""
        if self._is_dragging:
            self._is_dragging = False
            self.release_mouse()
