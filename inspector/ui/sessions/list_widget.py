"""Widget of the session list. Only visible lines are drawn, so ten thousand cost no more than one screen."""

from __future__ import annotations

from dataclasses import dataclass
from time import time
from typing import TYPE_CHECKING, ClassVar

from textual.message import Message
from textual.reactive import var

from inspector.ui.figure_table.drawing import column_at, header_pieces, row_pieces, widths_for
from inspector.ui.figure_table.table import Sorting
from inspector.ui.sessions.list_model import SessionOrder
from inspector.ui.sessions.rows import COLUMNS, row_of
from inspector.ui.toolkit.line_view import LineView

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence
    from pathlib import Path

    from textual import events
    from textual.strip import Strip

    from inspector.ui.sessions.list_model import SessionLine


class SessionList(LineView, can_focus=False):
    """Lines of sessions, with a cursor that stays on its session while others appear and disappear."""

    DEFAULT_CSS = """
    SessionList {
        height: 1fr;
        background: $background;
        & > .table--header { color: $text-muted; }
        & > .table--sorted { color: $foreground; text-style: bold; }
        & > .table--mark { color: $success; text-style: bold; }
        & > .table--known { color: $text-muted; text-style: italic; }
        & > .table--faint { color: $text-muted; }
        & > .table--waiting { color: $waiting; }
        & > .table--lost { color: $lost; text-style: bold; }
        & > .table--cursor { background: $primary-muted; }
        &:ansi > .table--cursor { color: ansi_default; background: ansi_default; text-style: reverse; }
        &:nocolor > .table--cursor { color: $foreground; background: $surface; text-style: reverse; }
    }
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "table--header",
        "table--sorted",
        "table--mark",
        "table--known",
        "table--faint",
        "table--waiting",
        "table--lost",
        "table--cursor",
    }

    HEADER_LINES = 1
    CURSOR_BLURRED = "table--cursor"  # the filter line above has the focus

    cursor: var[int] = var(-1)
    """Position of the cursor; -1 if there are no lines."""
    is_moved = False
    """True if the user moved the cursor."""

    @dataclass
    class Moved(Message):
        """Posted when the cursor is on another session, or other lines are visible."""

        def can_replace(self, message: Message) -> bool:
            """Replace pending messages, because only the newest position matters."""
            return isinstance(message, SessionList.Moved)

    @dataclass
    class Chosen(Message):
        """Posted on a click on the session under the cursor."""

        path: Path

    @dataclass
    class OrderRequested(Message):
        """Posted to change the sort order."""

        order: SessionOrder

    def __init__(self) -> None:
        super().__init__()
        self.order = SessionOrder.NEWEST
        self._lines: Sequence[SessionLine] = ()
        self._widths: dict[str, int] = {}
        self._width = -1

    @property
    def line(self) -> SessionLine | None:
        """Line under the cursor; None if there is none."""
        return self._lines[self.cursor] if 0 <= self.cursor < len(self._lines) else None

    @property
    def seen(self) -> Sequence[SessionLine]:
        """Visible lines, starting with the line under the cursor."""
        shown = self._lines[self.first_line : self.first_line + self.page_height]
        return [self.line, *shown] if self.line is not None else shown

    def show(self, lines: Sequence[SessionLine], *, to_top: bool = False) -> None:
        """Show other lines, with the cursor on the same session or on the first one."""
        path = self.line.entry.header.path if self.line is not None and not to_top else None
        self._lines = lines
        self.show_lines(len(lines))
        found = next((at for at, line in enumerate(lines) if line.entry.header.path == path), None) if path else None
        place = found if found is not None else min(max(0 if to_top else self.cursor, 0), len(lines) - 1)
        self.set_reactive(SessionList.cursor, place)
        if place >= 0:
            self.scroll_to_show(place)
        self.post_message(self.Moved())

    def refresh_content(self) -> None:
        """Redraw the same lines with new content."""
        self.forget_lines()
        self.post_message(self.Moved())

    def move(self, step: int) -> None:
        """Move the cursor by lines."""
        self.is_moved = True
        if self._lines:
            before, self.cursor = self.cursor, min(max(self.cursor + step, 0), len(self._lines) - 1)
            self.scroll_to_show(self.cursor)
            self.refresh_screen_line(before)
            self.refresh_screen_line(self.cursor)
            self.post_message(self.Moved())

    def on_click(self, event: events.Click) -> None:
        """Move the cursor to the clicked line; open the session on a second click. A click on a column title sorts."""
        line, place = self.line_at(event), event.get_content_offset(self)
        if line is not None and line < 0 and place is not None:
            column = column_at(COLUMNS, self._column_widths(self.line_width), place.x)
            order = next((each for each in SessionOrder if column is not None and each.value == column.name), None)
            if order is not None:
                self.post_message(self.OrderRequested(order))
            return
        if line is not None and line >= 0:
            if line == self.cursor:
                self.post_message(self.Chosen(self._lines[line].entry.header.path))
            else:
                self.move(line - self.cursor)

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Report that other lines are visible."""
        super().watch_scroll_y(old_value, new_value)
        self.post_message(self.Moved())

    def line_key(self, line: int) -> Hashable:
        """Return the cache key of a line: its position, and whether the cursor is on it."""
        return line, line == self.cursor

    def draw_line(self, line: int, width: int) -> Strip:
        selected = line == self.cursor
        row = row_of(self._lines[line], time())
        pieces = row_pieces(COLUMNS, self._column_widths(width), row, selected=selected)
        return self.strip_of_pieces(pieces, width, selected=selected)

    def draw_header(self, width: int) -> Strip:
        sorting = Sorting() if self.order is SessionOrder.NEWEST else Sorting(self.order.value)
        pieces = header_pieces(COLUMNS, self._column_widths(width), sorting)
        return self.strip_of_pieces(pieces, width, selected=False)

    def _column_widths(self, width: int) -> dict[str, int]:
        if self._width != width:
            self._width, self._widths = width, widths_for(COLUMNS, width)
        return self._widths
