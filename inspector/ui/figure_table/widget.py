"""The sortable table of figures with a cursor, and the list of labeled facts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final

from textual.message import Message
from textual.reactive import reactive, var

from inspector.ui.actions.action import bindings
from inspector.ui.actions.parts import FIGURE_TABLE
from inspector.ui.detail.page import wrap
from inspector.ui.figure_table.table import Sorting, Table, column_at, header_pieces, row_pieces, shortened, widths_for
from inspector.ui.toolkit.line_view import LineView, strip_of

if TYPE_CHECKING:
    from collections.abc import Hashable

    from textual import events
    from textual.binding import BindingType
    from textual.strip import Strip

    from inspector.ui.figure_table.table import FigureRow


CELLS_BEFORE_SCROLLBAR: Final = 1
"""Free cells at the right, so that no figure touches the scrollbar."""


class FigureTable(LineView):
    """Rows of figures. Set `table` to show something, `sorting` to sort it.

    The cursor stays on its row, identified by the row's key, when rows are added, removed or reordered.
    """

    DEFAULT_CSS = """
    FigureTable {
        height: 1fr;
        background: $background;
        & > .table--header { color: $text-muted; }
        & > .table--sorted { color: $foreground; text-style: bold underline; }
        & > .table--mark { color: $primary; text-style: bold; }
        & > .table--known { color: $text-muted; text-style: italic; }
        & > .table--name { color: $foreground; text-style: bold; }
        & > .table--faint { color: $text-muted; }
        & > .table--waiting { color: $waiting; }
        & > .table--sent { color: $sent; }
        & > .table--recorded { color: $recorded; }
        & > .table--cut { color: $cut; }
        & > .table--saved { color: $saved; }
        & > .table--lost { color: $lost; text-style: bold; }
        & > .table--cursor { background: $primary-muted; }
        & > .table--cursor-blurred { background: $panel; }
        &:ansi > .table--cursor { color: ansi_default; background: ansi_default; text-style: reverse; }
        &:nocolor > .table--cursor { color: $foreground; background: $surface; text-style: reverse; }
        &:nocolor > .table--cursor-blurred { text-style: underline; }
    }
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "table--header",
        "table--sorted",
        "table--mark",
        "table--known",
        "table--name",
        "table--faint",
        "table--waiting",
        "table--sent",
        "table--recorded",
        "table--cut",
        "table--saved",
        "table--lost",
        "table--cursor",
        "table--cursor-blurred",
    }

    BINDINGS: ClassVar[list[BindingType]] = bindings(FIGURE_TABLE)

    HEADER_LINES = 1

    table: var[Table] = var(Table(), init=False)
    """The table in original order."""
    sorting: reactive[Sorting] = reactive(Sorting(), init=False)
    logarithmic: reactive[bool] = reactive(False, init=False)
    """Draw bars on a logarithmic scale."""
    cursor: var[int] = var(-1)
    """Cursor position; -1 without rows."""

    @dataclass
    class Highlighted(Message):
        """Posted when the cursor moves to another row or its row's figures change.

        Attributes:
            figure_table: The table.
            key: Key of the row; None without rows.
        """

        figure_table: FigureTable
        key: Hashable

        @property
        def control(self) -> FigureTable:
            return self.figure_table

        def can_replace(self, message: Message) -> bool:
            """Return True, so that only the latest cursor position is delivered."""
            return isinstance(message, FigureTable.Highlighted) and message.figure_table is self.figure_table

    @dataclass
    class Clicked(Message):
        """Posted on a click on the row that already has the cursor.

        Attributes:
            figure_table: The table.
            key: Key of the row.
        """

        figure_table: FigureTable
        key: Hashable

        @property
        def control(self) -> FigureTable:
            return self.figure_table

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002  Textual's name
        super().__init__(id=id, classes=classes)
        self._rows: tuple[FigureRow, ...] = ()
        self._widths: dict[str, int] = {}
        self._widths_of: tuple[object, int] | None = None
        self._short: frozenset[str] = frozenset()
        self.shows_cursor = True
        """Rows can be chosen; otherwise the table is read-only."""

    @property
    def rows(self) -> tuple[FigureRow, ...]:
        return self._rows

    @property
    def cursor_key(self) -> Hashable:
        """Key of the row under the cursor; None without rows."""
        return self._rows[self.cursor].key if 0 <= self.cursor < len(self._rows) else None

    def watch_table(self) -> None:
        self._show()

    def show_from_top(self, table: Table) -> None:
        """Show an unrelated table, with the cursor on its first row."""
        self._rows = ()
        self.set_reactive(FigureTable.cursor, -1)
        self.scroll_to_line(0)
        self.set_reactive(FigureTable.table, table)
        self._show()

    def watch_sorting(self) -> None:
        self._show()

    def _show(self) -> None:
        key, place = self.cursor_key, self.cursor
        self._rows = self.table.sorted(self.sorting).rows
        self.show_lines(len(self._rows))
        found = next((at for at, row in enumerate(self._rows) if row.key == key), None) if key is not None else None
        place = found if found is not None else min(max(place, 0), len(self._rows) - 1)
        moved = place != self.cursor
        self.set_reactive(FigureTable.cursor, place)
        if moved and place >= 0:
            self.scroll_to_show(place)
        self.post_hidden_lines()
        self.post_message(self.Highlighted(self, self.cursor_key))

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Post the number of rows out of sight."""
        super().watch_scroll_y(old_value, new_value)
        self.post_hidden_lines()

    def watch_cursor(self, before: int, cursor: int) -> None:
        """Redraw both rows and post the new cursor position."""
        self.refresh_screen_line(before)
        self.refresh_screen_line(cursor)
        self.post_message(self.Highlighted(self, self.cursor_key))

    def watch_logarithmic(self) -> None:
        self.forget_lines()

    def move_to(self, position: int) -> None:
        if self._rows:
            self.cursor = min(max(position, 0), len(self._rows) - 1)
            self.scroll_to_show(self.cursor)

    def move_to_key(self, key: Hashable) -> None:
        """Move the cursor to the row with a key, if it exists."""
        for place, row in enumerate(self._rows):
            if row.key == key:
                self.move_to(place)
                return

    def action_cursor(self, step: int) -> None:
        self.move_to(self.cursor + step)

    def action_page(self, step: int) -> None:
        self.move_to(self.cursor + step * max(self.page_height - 1, 1))

    def action_first(self) -> None:
        self.move_to(0)

    def action_last(self) -> None:
        self.move_to(len(self._rows) - 1)

    def action_sort(self, step: int) -> None:
        """Sort by the visible column to the left or right of the sorted one."""
        names = [column.name for column in self.table.columns if column.name in self._column_widths(self.line_width)]
        if not names:
            return
        at = names.index(self.sorting.column) + step if self.sorting.column in names else max(step - 1, -1)
        self.sort_by(names[at % len(names)])

    def action_reverse(self) -> None:
        self.sorting = Sorting(self.sorting.column, not self.sorting.falls)

    def action_scale(self) -> None:
        self.logarithmic = not self.logarithmic

    def shows(self, name: str) -> bool:
        """Return True if the column is visible."""
        return name in self._column_widths(self.line_width)

    def sort_by(self, name: str) -> None:
        """Sort by a column in its default direction; reverse if it is already sorted."""
        column = next(column for column in self.table.columns if column.name == name)
        falls = not self.sorting.falls if name == self.sorting.column else column.falls
        self.sorting = Sorting(name, falls)

    def on_click(self, event: events.Click) -> None:
        line, offset = self.line_at(event), event.get_content_offset(self)
        if line is None or offset is None:
            return
        if line >= 0 and self.shows_cursor:
            was_there = line == self.cursor
            self.move_to(line)
            if was_there:
                self.post_message(self.Clicked(self, self.cursor_key))
        if line >= 0:
            return
        column = column_at(self.table.columns, self._column_widths(self.line_width), offset.x)
        if column is not None:
            self.sort_by(column.name)

    def on_resize(self) -> None:
        if self.cursor >= 0:
            self.scroll_to_show(self.cursor)
        self.post_hidden_lines()

    def on_focus(self) -> None:
        self.restyle()

    def on_blur(self) -> None:
        self.restyle()

    def line_key(self, line: int) -> Hashable:
        """Return the position, and True on the cursor's row."""
        return line, line == self.cursor

    def draw_line(self, line: int, width: int) -> Strip:
        selected = self.shows_cursor and line == self.cursor
        pieces = row_pieces(
            self.table.columns,
            self._column_widths(width),
            self._rows[line],
            selected=selected,
            logarithmic=self.logarithmic,
            short=self._short,
        )
        return self.strip_of_pieces(pieces, width, selected=selected)

    def draw_header(self, width: int) -> Strip:
        pieces = header_pieces(self.table.columns, self._column_widths(width), self.sorting)
        return self.strip_of_pieces(pieces, width, selected=False)

    def _column_widths(self, width: int) -> dict[str, int]:
        if self._widths_of is None or self._widths_of[0] is not self.table or self._widths_of[1] != width:
            self._widths_of = (self.table, width)
            self._widths = widths_for(self.table.columns, width - CELLS_BEFORE_SCROLLBAR)
            self._short = shortened(self.table.columns, self._widths, self.table.rows)
        return self._widths


Fact = tuple[str, str]
"""A label and its text; may contain session text."""


class FactList(LineView, can_focus=False):
    """Labels with their texts, the most important first. Scrolls if they do not fit."""

    DEFAULT_CSS = """
    FactList {
        height: 1fr;
        width: 1fr;
        padding: 0 0 0 1;
        background: $background;
        scrollbar-background: $background;
        & > .facts--label { color: $text-muted; }
        & > .facts--text { color: $foreground; }
    }
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = {"facts--label", "facts--text"}

    facts: reactive[tuple[Fact, ...]] = reactive[tuple[Fact, ...]]((), layout=False)

    def __init__(self) -> None:
        super().__init__()
        self._folded: list[tuple[str, str]] = []

    def watch_facts(self) -> None:
        self._fold()
        self.scroll_to_line(0)

    def on_resize(self) -> None:
        self._fold()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Post the number of lines out of sight."""
        super().watch_scroll_y(old_value, new_value)
        self.post_hidden_lines()

    def read_on(self) -> None:
        """Scroll to the next page, wrapping around."""
        is_at_end = self.first_line + self.page_height >= self.line_count
        self.scroll_to_line(0 if is_at_end else self.first_line + self.page_height)

    def _fold(self) -> None:
        widest = max((len(label) for label, _ in self.facts), default=0)
        self._folded = []
        for label, text in self.facts:
            wrapped = wrap(text, max(self.line_width - widest - 3, 8))
            rows = [wrapped.row(number) for number in range(len(wrapped))] or [""]
            self._folded += [(f"{'' if number else label:<{widest}}  ", row) for number, row in enumerate(rows)]
        self.show_lines(len(self._folded))
        self.post_hidden_lines()

    def draw_line(self, line: int, width: int) -> Strip:
        label, text = self._folded[line]
        parts = ((label, self.style_of("facts--label")), (text, self.style_of("facts--text")))
        return strip_of(parts, width, self.rich_style)
