"""A scrolled widget that draws line by line; base of all views too long for one widget per line."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from rich.cells import cell_len
from rich.segment import Segment
from textual.cache import LRUCache
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from inspector.safe_text import clip_cells

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable

    from rich.style import Style
    from textual import events

CACHED_STRIPS = 1000


def strip_of(parts: Iterable[tuple[str, Style]], width: int, rest: Style) -> Strip:
    """Build a strip of exactly `width` cells from safe texts without line breaks; any excess is cut."""
    segments = []
    left = width
    for text, style in parts:
        if not text:
            continue
        cells = cell_len(text)
        if cells > left:
            text = clip_cells(text, left, "")
            cells = cell_len(text)
        if text:
            segments.append(Segment(text, style))
        left -= cells
        if left <= 0:
            break
    if left > 0:
        segments.append(Segment(" " * left, rest))
    return Strip(segments, width)


def component_classes(css: str) -> set[str]:
    """Return the component classes in a style sheet."""
    return set(re.findall(r"\.([a-z]+--[a-z-]+)", css))


class LineView(ScrollView, can_focus=True):
    """Lines below an optional fixed header. Scrolls without animation.

    Subclasses set the number of lines (`show_lines`) and draw the lines (`draw_line`) and the header (`draw_header`).
    """

    DEFAULT_CSS = """
    LineView {
        overflow-x: hidden;
        overflow-y: scroll;
        scrollbar-size-vertical: 1;
        scrollbar-background: $surface;
        scrollbar-background-hover: $surface;
        scrollbar-background-active: $surface;
        background: $surface;
        color: $foreground;
    }
    """

    HEADER_LINES: ClassVar[int] = 0
    """Number of fixed lines at the top."""
    CURSOR: ClassVar[str] = "table--cursor"
    """Component class of the cursor line while the widget has the focus."""
    CURSOR_BLURRED: ClassVar[str] = "table--cursor-blurred"
    """Component class of the cursor line while another widget has the focus."""

    @dataclass
    class HiddenLinesChanged(Message):
        """Posted when the number of lines out of sight changes.

        Attributes:
            above: Lines above the visible ones.
            below: Lines below the visible ones.
        """

        above: int
        below: int

        def can_replace(self, message: Message) -> bool:
            """Return True, so that only the latest counts are delivered."""
            return isinstance(message, LineView.HiddenLinesChanged)

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002  Textual's name
        super().__init__(id=id, classes=classes)
        self._strips: LRUCache[Hashable, Strip] = LRUCache(CACHED_STRIPS)
        self._piece_styles: dict[tuple[str, bool], Style] = {}
        self._line_count = 0
        self._is_moving = False
        self._cut = (0, 0)

    @property
    def line_count(self) -> int:
        """Number of lines, without the header."""
        return self._line_count

    @property
    def line_width(self) -> int:
        return self.scrollable_content_region.width

    @property
    def page_height(self) -> int:
        """Number of visible lines, without the header; at least 1."""
        return max(self.scrollable_content_region.height - self.HEADER_LINES, 1)

    @property
    def first_line(self) -> int:
        """The line at the top."""
        return self.scroll_offset.y

    def post_hidden_lines(self) -> None:
        """Post the number of lines out of sight if it changed."""
        above = min(self.first_line, self._line_count)
        cut = above, max(self._line_count - above - self.page_height, 0)
        if cut != self._cut:
            self._cut = cut
            self.post_message(self.HiddenLinesChanged(*cut))

    def draw_line(self, line: int, width: int) -> Strip:
        """Draw one line, `width` cells wide."""
        raise NotImplementedError

    def draw_header(self, width: int) -> Strip:
        """Draw the header, `width` cells wide."""
        raise NotImplementedError

    def line_key(self, line: int) -> Hashable:
        """Return the cache key of a line, in addition to its width."""
        return line

    def show_lines(self, count: int, *, keep: bool = False) -> None:
        """Set the number of lines and redraw them; with `keep`, reuse cached lines with an equal `line_key`."""
        self._line_count = count
        self._is_moving = True
        try:
            self._resize(count + self.HEADER_LINES)
        finally:
            self._is_moving = False
        if keep:
            self.refresh()
        else:
            self.forget_lines()

    def _resize(self, height: int) -> None:
        """Set the height of the scrolled content.

        The scrollbar is always visible, so no new layout is needed.
        """
        if height == self.virtual_size.height:
            return
        self.set_reactive(LineView.virtual_size, Size(0, height))
        self.vertical_scrollbar.window_virtual_size = height
        self.scroll_y = self.validate_scroll_y(self.scroll_y)
        self.scroll_target_y = self.validate_scroll_target_y(self.scroll_target_y)

    def forget_lines(self) -> None:
        """Clear the line cache and redraw."""
        self._strips.clear()
        self.refresh()

    def refresh_screen_line(self, line: int) -> None:
        self.refresh(Region(0, line - self.first_line + self.HEADER_LINES, self.size.width, 1))

    def scroll_to_line(self, line: int) -> None:
        """Scroll a line to the top, or as near as the end allows."""
        self._is_moving = True
        try:
            self.scroll_to(y=line, animate=False, force=True)
        finally:
            self._is_moving = False

    def scroll_to_show(self, line: int) -> None:
        if line < self.first_line:
            self.scroll_to_line(line)
        elif line >= self.first_line + self.page_height:
            self.scroll_to_line(line - self.page_height + 1)

    def line_at(self, event: events.MouseEvent) -> int | None:
        """Return the line under the mouse; -1 for the header, None if there is none."""
        offset = event.get_content_offset(self)
        if offset is None:
            return None
        if offset.y < self.HEADER_LINES:
            return -1
        line = self.first_line + offset.y - self.HEADER_LINES
        return line if line < self._line_count else None

    def style_of(self, *names: str) -> Style:
        return self.get_component_rich_style(*names)

    def render_line(self, y: int) -> Strip:
        """Render the line at `y` of the widget, cached."""
        width = self.line_width
        if y < self.HEADER_LINES:
            return self.draw_header(width)
        line = self.first_line + y - self.HEADER_LINES
        if line >= self._line_count:
            return Strip.blank(width, self.rich_style)
        key = (self.line_key(line), width)
        strip = self._strips.get(key)
        if strip is None:
            strip = self.draw_line(line, width)
            self._strips[key] = strip
        return strip

    def strip_of_pieces(self, pieces: Iterable[tuple[str, str]], width: int, *, selected: bool) -> Strip:
        """Build a line of exactly `width` cells from safe texts with component classes, empty for the default."""
        parts = ((text, self._piece_style(name, selected=selected)) for text, name in pieces)
        return strip_of(parts, width, self._piece_style("", selected=selected))

    def restyle(self) -> None:
        self._piece_styles.clear()
        self.forget_lines()

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self._strips.clear()
        self._piece_styles.clear()

    def _piece_style(self, name: str, *, selected: bool) -> Style:
        key = (name, selected)
        style = self._piece_styles.get(key)
        if style is None:
            style = self.style_of(name) if name else self.rich_style
            if selected:
                cursor = self.CURSOR if self.has_focus else self.CURSOR_BLURRED
                style += self.get_component_rich_style(cursor, partial=True)
            self._piece_styles[key] = style
        return style
