"""Session list screen: sessions from the command line, from a folder, or of the agents on this machine."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.widgets import Input, Static
from textual.worker import get_current_worker

from inspector.report.numbers import ON_SCREEN
from inspector.safe_text import clip_cells, one_line
from inspector.ui.actions.action import bindings
from inspector.ui.actions.screens import SESSIONS
from inspector.ui.dialogs.dialog import DiagnosticsScreen
from inspector.ui.sessions.finder import SessionFinder
from inspector.ui.sessions.list_model import SessionListModel, SessionOrder
from inspector.ui.sessions.list_widget import SessionList
from inspector.ui.sessions.rows import preview_lines
from inspector.ui.sessions.search_paths import first_steps, places_text
from inspector.ui.toolkit.single_result_screen import SingleResultScreen

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.app import ComposeResult
    from textual.binding import BindingType

    from inspector.report.session_summary import ReadSummary, SessionSummary
    from inspector.session.discovery import Header
    from inspector.ui.sessions.list_model import SessionLine

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
            box.border_subtitle = Content("type to filter · ⏎ open · tab subagents · ctrl+s cost · f1 help · esc back")
            yield Input(placeholder="filter by project, title, path, model or format")
            yield SessionList()
            yield Static(id="session-preview", markup=False)
            yield Static(Content("looking for sessions…"), id="sessions-note", markup=False)

    def on_mount(self) -> None:
        """Update the ages regularly."""
        self.set_interval(SECONDS_BETWEEN_AGES, self._tell_ages)

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
            self._tell_in_place(message.summaries)

    def _tell_in_place(self, summaries: Sequence[SessionSummary]) -> None:
        """Update the existing lines, because sorting ten thousand again takes longer than a frame."""
        for summary in summaries:
            place, entry = self._places.get(summary.path), self._book.entry(summary.path)
            if place is not None and entry is not None:
                self._lines[place] = replace(self._lines[place], entry=entry)
        self.query_one(SessionList).refresh_content()
        self._tell_count()

    @on(Input.Changed)
    def _filter(self) -> None:
        self._fill(to_top=True)

    def _fill(self, *, to_top: bool = False) -> None:
        words = self.query_one(Input).value
        self._lines = list(self._book.lines(words, self._opened, self._order))
        self._places = {line.entry.header.path: place for place, line in enumerate(self._lines)}
        self.query_one(SessionList).show(self._lines, to_top=to_top)
        self._tell_count()

    def _tell_count(self) -> None:
        shown, words = sum(line.depth == 0 for line in self._lines), self.query_one(Input).value
        self.query_one("#sessions-note", Static).update(Content(self._note(shown, words)))
        self._tell_first_steps()

    def _tell_first_steps(self) -> None:
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

    def _tell_ages(self) -> None:
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
        self._tell_first_steps()

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
