"""Session list screen: sessions from the command line, from a folder, or of the agents on this machine."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from time import time
from typing import TYPE_CHECKING, ClassVar

from textual import events, on
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.reactive import var
from textual.widgets import Input, Static
from textual.worker import get_current_worker

from inspector.report.numbers import ON_SCREEN
from inspector.safe_text import clip_cells, one_line
from inspector.ui.actions.action import bindings
from inspector.ui.actions.screens import SESSIONS
from inspector.ui.dialogs import DiagnosticsScreen
from inspector.ui.figure_table.table import Sorting, column_at, header_pieces, row_pieces, widths_for
from inspector.ui.sessions.finder import SessionFinder
from inspector.ui.sessions.list_model import (
    COLUMNS,
    SessionListModel,
    SessionOrder,
    first_steps,
    places_text,
    preview_lines,
    row_of,
)
from inspector.ui.toolkit.line_view import LineView
from inspector.ui.toolkit.single_result_screen import SingleResultScreen

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from textual.app import ComposeResult
    from textual.binding import BindingType
    from textual.strip import Strip

    from inspector.report.session_summary import ReadSummary, SessionSummary
    from inspector.session.discovery import Header
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


SECONDS_BETWEEN_AGES = 5
"""Interval of updates of the ages."""


class SessionsScreen(SingleResultScreen[None]):
    """Screen to choose a session."""

    DEFAULT_CSS = """
    SessionsScreen {
        #sessions Input { border: none; height: 1; background: $panel; padding: 0 1; }
        #sessions SessionList { margin: 1 0 0 0; }
        #sessions-note { color: $text-muted; height: 1; }
        #session-preview { height: auto; max-height: 6; color: $text-muted; border-top: solid $border-blurred; }
    }
    """

    AUTO_FOCUS = "Input"

    BINDINGS: ClassVar[list[BindingType]] = bindings(SESSIONS)

    @dataclass
    class Chosen(Message):
        """Posted to open a session."""

        path: Path

    @dataclass
    class Listed(Message):
        """Posted when sessions are found.

        Attributes:
            found: All sessions found so far.
            is_complete: True if the scan is complete.
        """

        found: tuple[Header, ...]
        is_complete: bool

    @dataclass
    class WasRead(Message):
        """Posted when sessions are read.

        Attributes:
            summaries: Their summaries.
        """

        summaries: tuple[SessionSummary, ...]

    def __init__(
        self,
        paths: Sequence[Path],
        folders: Sequence[Path] | None = None,
        read: dict[Path, ReadSummary] | None = None,
        *,
        keeps: bool = False,
    ) -> None:
        """Create the list.

        Args:
            paths: Sessions listed first in any case.
            folders: Folders to search for others; None for the agents' own folders on this machine.
            read: Summaries by path, shared with earlier and later lists.
            keeps: Also cache the summaries for the next start.
        """
        super().__init__()
        self._finder = SessionFinder(
            tuple(paths), None if folders is None else tuple(folders), {} if read is None else read, keeps=keeps
        )
        self._book = SessionListModel(named=frozenset(paths))
        self._opened: frozenset[Path] = frozenset()
        self._order = SessionOrder.NEWEST
        self._is_complete = False
        self._lines: list[SessionLine] = []
        self._places: dict[Path, int] = {}

    def compose(self) -> ComposeResult:
        with Vertical(classes="section", id="sessions") as box:
            box.border_title = Content("Sessions")
            box.border_subtitle = Content("type to filter · ⏎ open · ctrl+l running sessions · f1 help · esc back")
            yield Input(placeholder="filter by project, title, path, model or format")
            yield SessionList()
            yield Static(id="session-preview", markup=False)
            yield Static(Content("looking for sessions…"), id="sessions-note", markup=False)

    def on_mount(self) -> None:
        """Update the ages regularly."""
        self.set_interval(SECONDS_BETWEEN_AGES, self._show_ages)

    def on_screen_suspend(self) -> None:
        """Stop scanning while another screen is shown."""
        self.workers.cancel_group(self, "find")

    def on_screen_resume(self) -> None:
        """Scan and read sessions in a thread while the list is visible, after the first frame."""
        self.call_after_refresh(self._look)

    def _look(self) -> None:

        def work() -> None:
            worker = get_current_worker()
            self._finder.run(
                lambda found, is_complete: self.post_message(self.Listed(found, is_complete)),
                lambda summaries: self.post_message(self.WasRead(summaries)),
                lambda: worker.is_cancelled,
            )

        self.run_worker(
            work, thread=True, exclusive=True, group="find", description="look for sessions", exit_on_error=False
        )

    @on(Listed)
    def _listed(self, message: Listed) -> None:
        # Until the scan is complete, the cursor stays on the newest session unless the user has moved it.
        to_top = not (self._is_complete or self.query_one(SessionList).is_moved)
        self._is_complete = self._is_complete or message.is_complete
        self._book.list(message.found)
        self._fill(to_top=to_top)

    @on(WasRead)
    def _was_read(self, message: WasRead) -> None:
        by_cost = self._order is SessionOrder.COST
        if self._book.read_into(message.summaries) or by_cost or self.query_one(Input).value.split():
            self._fill()
        else:
            self._show_in_place(message.summaries)

    def _show_in_place(self, summaries: Sequence[SessionSummary]) -> None:
        """Update the existing lines, because sorting ten thousand again takes longer than a frame."""
        for summary in summaries:
            place, entry = self._places.get(summary.path), self._book.entry(summary.path)
            if place is not None and entry is not None:
                self._lines[place] = replace(self._lines[place], entry=entry)
        self.query_one(SessionList).refresh_content()
        self._show_count()

    @on(Input.Changed)
    def _filter(self) -> None:
        self._fill(to_top=True)

    def _fill(self, *, to_top: bool = False) -> None:
        words = self.query_one(Input).value
        self._lines = list(self._book.lines(words, self._opened, self._order))
        self._places = {line.entry.header.path: place for place, line in enumerate(self._lines)}
        self.query_one(SessionList).show(self._lines, to_top=to_top)
        self._show_count()

    def _show_count(self) -> None:
        shown, words = sum(line.depth == 0 for line in self._lines), self.query_one(Input).value
        self.query_one("#sessions-note", Static).update(Content(self._note(shown, words)))
        self._show_first_steps()

    def _show_first_steps(self) -> None:
        """Show advice in the preview if there are no sessions."""
        if self._is_complete and not len(self._book) and not self._finder.problem:
            text = "\n".join(first_steps(self._finder.looked_in))
            self.query_one("#session-preview", Static).update(Content(text))

    def _note(self, shown: int, words: str) -> str:
        count = len(self._book)
        if not self._is_complete:
            return f"looking for sessions… {ON_SCREEN.plural(count, 'session')} so far"
        if not count and self._finder.problem:
            return one_line(self._finder.problem)
        if not count:
            return "waiting for the first session"
        if words.split() and not shown:
            return f"none of {ON_SCREEN.plural(count, 'session')} matches; esc clears the filter"
        read = self._book.read
        reading = f" · {ON_SCREEN.whole(read)} read so far" if read < count else ""
        return f"{ON_SCREEN.whole(shown)} of {ON_SCREEN.plural(count, 'session')} shown, including subagents{reading}"

    def _show_ages(self) -> None:
        self.query_one(SessionList).forget_lines()

    @on(SessionList.Moved)
    def _moved(self) -> None:
        shown = self.query_one(SessionList)
        self._finder.seen = tuple(line.entry.header.path for line in shown.seen)
        line = shown.line
        width = max(shown.size.width, 20)
        lines = preview_lines(line, Path.home()) if line is not None else ()
        text = "\n".join(clip_cells(each, width) for each in lines)
        self.query_one("#session-preview", Static).update(Content(text))
        self._show_first_steps()

    @on(Input.Submitted)
    def _open_highlighted(self) -> None:
        line = self.query_one(SessionList).line
        if line is not None:
            self.post_message(self.Chosen(line.entry.header.path))

    @on(SessionList.Chosen)
    def _open(self, event: SessionList.Chosen) -> None:
        self.post_message(self.Chosen(event.path))

    def action_move(self, places: int) -> None:
        """Move the cursor while the filter keeps the focus."""
        self.query_one(SessionList).move(places)

    def action_page(self, pages: int) -> None:
        shown = self.query_one(SessionList)
        shown.move(pages * max(shown.page_height - 1, 1))

    def action_sort(self) -> None:
        """Toggle between sorting by cost and by age."""
        self._order = self._order.next
        self.query_one(SessionList).order = self._order
        self._fill(to_top=True)

    @on(SessionList.OrderRequested)
    def _sort(self, event: SessionList.OrderRequested) -> None:
        if event.order is not self._order:
            self.action_sort()

    def action_unfold(self) -> None:
        """Show or hide the sessions that the one under the cursor started."""
        line = self.query_one(SessionList).line
        if line is None or not line.subagents:
            return
        self._opened ^= {line.entry.header.path}
        self._fill()

    def action_where(self) -> None:
        """Show the searched folders."""
        looked_in, home = self._finder.looked_in, Path.home()

        def work() -> None:
            page = DiagnosticsScreen(places_text(looked_in, home), "Searched folders", "inspector formats lists more")
            self.app.call_from_thread(self.app.push_screen, page)

        self.run_worker(
            work, thread=True, exclusive=True, group="where", description="check the folders", exit_on_error=False
        )

    def action_back(self) -> None:
        """Clear the filter, then go back to the previous session, or quit without one."""
        filter_box = self.query_one(Input)
        if filter_box.value:
            filter_box.value = ""
        elif self.app.screen_stack[0] is self:
            self.app.exit()
        else:
            self.dismiss()
