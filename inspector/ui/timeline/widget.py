"""The timeline widget: one row per block with a token bar, the effect of the plan, and a cursor."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Final

from rich.segment import Segment, Segments
from rich.style import Style
from textual.message import Message
from textual.reactive import reactive, var
from textual.scrollbar import ScrollBarRender

from inspector.ui.actions.action import bindings
from inspector.ui.actions.parts import TIMELINE
from inspector.ui.part_names import OPEN_PLAN
from inspector.ui.timeline.columns import MARK_OF_HEADING, Columns, Piece, Space, columns_for, header_pieces, row_pieces
from inspector.ui.timeline.jumps import Marks, scroll_ticks
from inspector.ui.toolkit.line_view import LineView, component_classes
from inspector.ui.toolkit.pane import DOUBLE

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from rich.color import Color
    from textual import events
    from textual.binding import BindingType
    from textual.strip import Strip

    from inspector.ui.timeline.view import TimelineView

    StyledMarks = tuple[tuple[str, Style] | None, ...]


CSS: Final = """
Timeline {
    scrollbar-size-vertical: 2;
    & > .timeline--header { color: $text-muted; text-style: none; }
    & > .timeline--mark { color: $primary; text-style: bold; }
    & > .timeline--number { color: $text-muted; }
    & > .timeline--system { color: $system; }
    & > .timeline--user { color: $user; text-style: bold; }
    & > .timeline--assistant { color: $assistant; }
    & > .timeline--thinking { color: $thinking; }
    & > .timeline--result { color: $result; }
    & > .timeline--other { color: $text-disabled; }
    & > .timeline--tool { color: $foreground; }
    & > .timeline--tokens { color: $foreground; }
    & > .timeline--cut { color: $cut; }
    & > .timeline--grown { color: $grown; }
    & > .timeline--reason { color: $foreground; }
    & > .timeline--miss { color: $miss; }
    & > .timeline--preview { color: $text-muted; }
    & > .timeline--error { color: $failed; }
    & > .timeline--outside { color: $outside; }
    & > .timeline--hit { color: $found; text-style: bold underline; }
    & > .timeline--boundary { color: $compaction; text-style: bold; }
    & > .timeline--cursor { background: $primary-muted; }
    & > .timeline--cursor-blurred { background: $panel; }
    &:ansi > .timeline--cursor { color: ansi_default; background: ansi_default; text-style: reverse; }
    &:nocolor > .timeline--cursor { color: $foreground; background: $surface; text-style: reverse; }
    &:nocolor > .timeline--cursor-blurred { text-style: underline; }
    &:nocolor > .timeline--cut { text-style: bold; }
}
"""


class ScrollMapRender(ScrollBarRender):
    """Renderer of a two-cell scrollbar: marks on the left, Textual's own bar on the right."""

    marks_at: ClassVar[Callable[[int], StyledMarks]]
    """Returns the marks for a bar height in cells."""

    @classmethod
    def render_bar(cls, size: int = 25, *args: Any, **named: Any) -> Segments:
        bar = super().render_bar(size, *args, **named)
        segments: list[Segment] = []
        for segment, mark in zip(bar.segments, cls.marks_at(size), strict=False):
            segments += [
                _marked(segment, named.get("back_color"), mark),
                Segment(segment.text[:1] or " ", segment.style),
            ]
            segments.append(Segment.line())
        return Segments(segments)


def scroll_map(marks_at: Callable[[int], StyledMarks]) -> type[ScrollBarRender]:
    """Build a scrollbar renderer; `marks_at` returns a one-cell glyph with its style, or None, per cell."""
    return type("ScrollMap", (ScrollMapRender,), {"marks_at": staticmethod(marks_at)})


@lru_cache(maxsize=256)
def _marked(segment: Segment, back: Color | None, mark: tuple[str, Style] | None) -> Segment:
    meta = None if segment.style is None else segment.style.meta
    glyph, style = mark or (" ", Style())
    return Segment(glyph, Style(color=style.color, bgcolor=back, bold=style.bold, meta=meta))


class Timeline(LineView):
    """A session, row by row. Set `view` to show something; everything else follows from it.

    The cursor stays on its block when the view changes. While `follow` is on it stays on the last row instead; moving
    or scrolling away from the end turns `follow` off, `End` turns it on.
    """

    DEFAULT_CSS = CSS
    COMPONENT_CLASSES: ClassVar[set[str]] = component_classes(CSS)

    BINDINGS: ClassVar[list[BindingType]] = bindings(TIMELINE)

    HEADER_LINES = 1
    CURSOR = "timeline--cursor"
    CURSOR_BLURRED = "timeline--cursor-blurred"

    view: var[TimelineView | None] = var(None)
    cursor: var[int] = var(-1)
    """Cursor position among the visible rows; -1 without rows."""
    follow: reactive[bool] = reactive(False, init=False, repaint=False)
    """Keep the cursor on the last row as rows are added."""
    logarithmic: reactive[bool] = reactive(False, init=False)
    """Draw bars on a logarithmic scale."""
    new_rows: reactive[int] = reactive(0, repaint=False)
    """Rows added since following stopped; 0 while following."""

    @dataclass
    class Highlighted(Message):
        """Posted when the cursor moves to another block.

        Attributes:
            timeline: The timeline.
            block: Index of the block; on a boundary row, of the first block after it.
            row: Index of the row.
        """

        timeline: Timeline
        block: int
        row: int

        @property
        def control(self) -> Timeline:
            return self.timeline

        def can_replace(self, message: Message) -> bool:
            """Return True, so that only the latest cursor position is delivered."""
            return isinstance(message, Timeline.Highlighted) and message.timeline is self.timeline

    @dataclass
    class FollowChanged(Message):
        """Posted when following is switched on or off.

        Attributes:
            timeline: The timeline.
            follow: The new state.
        """

        timeline: Timeline
        follow: bool

        @property
        def control(self) -> Timeline:
            return self.timeline

    @dataclass
    class FoldRequested(Message):
        """Posted to fold or unfold rows.

        Attributes:
            row: A row of the message or subagent; None for every message.
            folded: True to fold, False to unfold, None to toggle.
        """

        row: int | None
        folded: bool | None = None

    class OpenRequested(Message):
        """Posted to open the row under the cursor."""

    class OrderRequested(Message):
        """Posted to change the row order."""

    @dataclass
    class PinRequested(Message):
        """Posted to toggle the pin of a block.

        Attributes:
            block: Index of the block.
        """

        block: int

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002  Textual's name
        super().__init__(id=id, classes=classes)
        self._seen_rows = 0
        self._columns: Columns | None = None
        self._columns_width = 0
        self._map: Marks = ()
        self._map_of: tuple[TimelineView, int] | None = None

    def on_mount(self) -> None:
        self.vertical_scrollbar.renderer = scroll_map(self._marks_at)  # type: ignore[misc]  # as Textual documents it

    def _map_out(self, view: TimelineView) -> None:
        if self._map_of is None:
            self.vertical_scrollbar.refresh()
            return
        before, height = self._map, self._map_of[1]
        self._map, self._map_of = scroll_ticks(view, height, self.HEADER_LINES), (view, height)
        if self._map != before:
            self.vertical_scrollbar.refresh()

    def _marks_at(self, height: int) -> StyledMarks:
        if self.view is None:
            return (None,) * height
        if self._map_of != (self.view, height):
            self._map, self._map_of = scroll_ticks(self.view, height, self.HEADER_LINES), (self.view, height)
        return tuple(None if mark is None else (mark.glyph, self.style_of(mark.style)) for mark in self._map)

    @property
    def cursor_row(self) -> int:
        return self.view.row_at(self.cursor) if self.view is not None and self.cursor >= 0 else -1

    @property
    def cursor_block(self) -> int:
        return int(self.view.rows.block[self.cursor_row]) if self.view is not None and self.cursor >= 0 else -1

    def move_to_block(self, block: int, *, boundary: bool = False) -> None:
        """Move the cursor to a block's row or the boundary before it, or to the nearest visible row."""
        if self.view is not None and self.view.count:
            self.move_to(self.view.position_of(self.view.rows.index_of(block, boundary=boundary)))

    def move_to(self, position: int) -> None:
        """Move the cursor to a position among the visible rows. Following stops unless it is the last one."""
        if self.view is None or not self.view.count:
            return
        position = min(max(position, 0), self.view.count - 1)
        if position < self.view.count - 1:
            self.follow = False
        self.cursor = position
        self.scroll_to_show(position)

    def move_to_last(self) -> None:
        """Move the cursor to the last visible row without following new rows."""
        if self.view is not None:
            self.move_to(self.view.count - 1)

    def mark_all_seen(self) -> None:
        self._seen_rows = self.view.session_row_count if self.view is not None else 0
        self.new_rows = 0

    def watch_view(self, before: TimelineView | None, view: TimelineView | None) -> None:
        if view is None:
            self._seen_rows = self.new_rows = 0
            self.show_lines(0)
            self.cursor = -1
            return
        self._map_out(view)
        old_block, old_row = self.cursor_identity(before)
        self._columns = None
        same_session = before is not None and before.rows.history.session.path == view.rows.history.session.path
        self.show_lines(view.count, keep=same_session)
        if self.follow or not view.count:
            position = view.count - 1
        elif not same_session or old_block < 0:
            position = 0
        else:
            row = (
                old_row
                if before is None or before.rows is view.rows
                else view.rows.index_at(before.rows.place_of(old_row))
            )
            position = view.position_of(row)
        if self.follow or not same_session:
            self.mark_all_seen()
        else:
            self.new_rows = max(view.session_row_count - self._seen_rows, 0)
        moved = self.cursor >= 0 and position != self.cursor
        self.set_reactive(Timeline.cursor, position)
        if self.follow:
            self.scroll_to_line(view.count)
        elif moved:
            self.scroll_to_show(position)
        if position >= 0 and (not same_session or self.cursor_row != old_row or self.cursor_block != old_block):
            self.post_message(self.Highlighted(self, self.cursor_block, self.cursor_row))

    def cursor_identity(self, view: TimelineView | None) -> tuple[int, int]:
        """Return block and row under the cursor in `view`, -1 and -1 for none."""
        if view is None or not 0 <= self.cursor < view.count:
            return -1, -1
        row = view.row_at(self.cursor)
        return int(view.rows.block[row]), row

    def watch_cursor(self, before: int, cursor: int) -> None:
        self.refresh_screen_line(before)
        self.refresh_screen_line(cursor)
        if cursor >= 0 and self.view is not None:
            self.post_message(self.Highlighted(self, self.cursor_block, self.cursor_row))

    def watch_follow(self, follow: bool) -> None:
        """Move to the end, or start counting new rows."""
        self.mark_all_seen()
        if follow and self.view is not None and self.view.count:
            self.cursor = self.view.count - 1
            self.scroll_to_line(self.view.count)
        self.post_message(self.FollowChanged(self, follow))

    def watch_logarithmic(self) -> None:
        self.forget_lines()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Stop following when the user scrolls away from the end."""
        super().watch_scroll_y(old_value, new_value)
        if self.follow and not self._is_moving and new_value < min(old_value, self.max_scroll_y):
            self.follow = False

    def on_resize(self) -> None:
        self._columns = None
        if self.view is None or self.cursor < 0:
            return
        if self.follow:
            self.scroll_to_line(self.view.count)
        else:
            self.scroll_to_show(self.cursor)

    def watch_has_focus(self, has_focus: bool) -> None:
        super().watch_has_focus(has_focus)
        self.restyle()

    def on_click(self, event: events.Click) -> None:
        """Move the cursor to the clicked row or toggle its fold or pin; on the header, change order or scale."""
        line, place = self.line_at(event), event.get_content_offset(self)
        if line is None or place is None or self.view is None:
            return
        column = self._columns_for(self.line_width).at(place.x)
        if line < 0:
            self.action_scale() if column == "bar" else self.post_message(self.OrderRequested())
            return
        self.move_to(line)
        is_own = bool(self.view.rows.is_block[self.cursor_row])
        if column == "fold" if is_own else place.x in MARK_OF_HEADING:
            self.action_fold()
        elif column == "mark":
            self.action_pin()
        elif event.chain == DOUBLE:
            self.action_open()

    def action_cursor(self, step: int) -> None:
        self.move_to(self.cursor + step)

    def action_page(self, step: int) -> None:
        self.move_to(self.cursor + step * max(self.page_height - 1, 1))

    def action_first(self) -> None:
        self.move_to(0)

    def action_last(self) -> None:
        """Move the cursor to the last row and follow new rows."""
        self.follow = True
        if self.view is not None:
            self.move_to(self.view.count - 1)

    def action_fold(self, folded: int | None = None) -> None:
        """Fold the message or subagent under the cursor (1), unfold it (0), or toggle it (None)."""
        if self.view is not None and self.cursor >= 0:
            self.post_message(self.FoldRequested(self.cursor_row, None if folded is None else bool(folded)))

    def action_open(self) -> None:
        if self.view is not None and self.cursor >= 0:
            self.post_message(self.OpenRequested())

    def action_fold_all(self) -> None:
        self.post_message(self.FoldRequested(None))

    def action_pin(self) -> None:
        """Toggle the pin of the row under the cursor; rows of subagents' sessions cannot be pinned."""
        if self.view is not None and self.cursor >= 0 and self.view.rows.subagent[self.cursor_row] < 0:
            self.post_message(self.PinRequested(self.cursor_block))

    def action_scale(self) -> None:
        self.logarithmic = not self.logarithmic

    def line_key(self, line: int) -> Hashable:
        """Return everything a row is drawn from; most rows stay the same when a session grows or a limit moves."""
        view = self.view
        if view is None:
            return line
        row, selected = view.row_at(line), line == self.cursor
        columns = self._columns or self._columns_for(self.line_width)
        if not view.rows.is_block[row] or view.is_folded(row):
            return selected, *self._pieces(view, row, columns, self._columns_width, selected=selected)
        amount = view.amount_at(row)
        reason = view.reason_at(row) if amount.action else ""
        marks = (selected, view.is_hit(row), view.is_pinned(row), view.can_fold(row))
        scale = (columns, view.full_bar, view.order, view.rows.start_time)
        more = tuple(key(view, row) for key in columns.keys)
        return marks, scale, view.rows.row(row), view.rows.content_at(row), amount, reason, more

    def draw_line(self, line: int, width: int) -> Strip:
        if self.view is None:
            raise AssertionError("no rows without a view")
        selected = line == self.cursor
        pieces = self._pieces(self.view, self.view.row_at(line), self._columns_for(width), width, selected=selected)
        return self.strip_of_pieces(pieces, width, selected=selected)

    def _pieces(self, view: TimelineView, row: int, columns: Columns, width: int, *, selected: bool) -> list[Piece]:
        return row_pieces(view, row, columns, width, selected=selected, logarithmic=self.logarithmic)

    def draw_header(self, width: int) -> Strip:
        pieces = header_pieces(self.view, self._columns_for(width), logarithmic=self.logarithmic)
        return self.strip_of_pieces(pieces, width, selected=False)

    def _columns_for(self, width: int) -> Columns:
        if self._columns is None or self._columns_width != width:
            view = self.view
            largest = (view.rows.largest_message, view.largest) if view is not None else (0, 0)
            self._columns = columns_for(
                Space(
                    width,
                    *largest,
                    token_calls=view is not None and view.token_calls is not None,
                    # The column is there before the first limit is moved.
                    changes=view is not None and (view.shows_changes or self.screen.has_class(OPEN_PLAN)),
                )
            )
            self._columns_width = width
        return self._columns
