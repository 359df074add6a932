"""Live screen: every running session, the most urgent first."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from dataclasses import dataclass
from time import time
from typing import TYPE_CHECKING, ClassVar, Protocol

from textual import events, on
from textual.content import Content
from textual.message import Message
from textual.reactive import var
from textual.widgets import Static
from textual.worker import Worker, WorkerState

from inspector.live.alerts import Alert, AlertRules, Cause, Notifier
from inspector.live.away import advice_lines
from inspector.safe_text import clip_cells, one_line
from inspector.ui.actions.action import bindings
from inspector.ui.actions.screens import LIVE
from inspector.ui.dialogs import DiagnosticsScreen
from inspector.ui.figure_table.table import Piece, Sorting, header_pieces, row_pieces, widths_for
from inspector.ui.live.rows import (
    COLUMNS,
    NO_SESSIONS,
    detail_of_session,
    names_of,
    next_with_attention,
    row_of_session,
    summary_of,
    unread_text,
)
from inspector.ui.toolkit.failures import Failure
from inspector.ui.toolkit.line_view import LineView, component_classes
from inspector.ui.toolkit.pane import Pane
from inspector.ui.toolkit.single_result_screen import SingleResultScreen

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Hashable, Sequence
    from pathlib import Path

    from textual.app import ComposeResult
    from textual.binding import BindingType
    from textual.strip import Strip

    from inspector.live.status import LiveSession
    from inspector.live.watch import LiveSnapshot
    from inspector.settings import Settings


SECONDS_OF_ALERT: float = 60.0
"""Time for which an alert is shown."""


class SnapshotSource(Protocol):
    """Source of snapshots, such as `LiveWatch`."""

    def snapshots(self, stop: asyncio.Event) -> AsyncGenerator[LiveSnapshot]:
        """Yield a snapshot now and after every change, until `stop` is set."""


class LiveTable(LineView):
    """Rows of running sessions, with a cursor that stays on its session while the order changes."""

    DEFAULT_CSS = """
    LiveTable {
        height: 1fr;
        background: $background;
        & > .table--header { color: $text-muted; }
        & > .table--sorted { color: $text-muted; }
        & > .table--mark { color: $text-error; text-style: bold; }
        & > .table--faint { color: $text-muted; }
        & > .table--cursor { background: $primary-muted; }
        & > .live--calm { color: $primary; }
        & > .live--warning { color: $text-warning; text-style: bold; }
        & > .live--alarm { color: $text-error; text-style: bold; }
        & > .live--waiting { color: $text-primary; text-style: bold; }
        & > .live--faint { color: $text-muted; }
        &:ansi > .table--cursor { color: ansi_default; background: ansi_default; text-style: reverse; }
        &:nocolor > .table--cursor { color: $foreground; background: $surface; text-style: reverse; }
    }
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = component_classes(DEFAULT_CSS)
    HEADER_LINES = 1
    CURSOR_BLURRED = "table--cursor"

    cursor: var[int] = var(-1)
    """Position of the cursor; -1 if there are no rows."""

    @dataclass
    class Moved(Message):
        """Posted when the cursor is on another session, or its session changed."""

        def can_replace(self, message: Message) -> bool:
            """Replace pending messages, because only the newest position matters."""
            return isinstance(message, LiveTable.Moved)

    @dataclass
    class Chosen(Message):
        """Posted on a click on the session under the cursor."""

    def __init__(self) -> None:
        super().__init__()
        self.sessions: Sequence[LiveSession] = ()
        self._drawn: list[tuple[Piece, ...]] = []
        self._drawn_at = (-1, -1)

    @property
    def session(self) -> LiveSession | None:
        """Session under the cursor; None if there is none."""
        return self.sessions[self.cursor] if 0 <= self.cursor < len(self.sessions) else None

    def show(self, sessions: Sequence[LiveSession], now: float) -> None:
        """Show other sessions, with the cursor on the same session, otherwise on the same position."""
        path = None if self.session is None else self.session.path
        self.sessions = sessions
        found = next((at for at, each in enumerate(sessions) if each.path == path), None)
        place = min(max(self.cursor, 0), len(sessions) - 1) if found is None else found
        self.set_reactive(LiveTable.cursor, place)
        if len(sessions) != self.line_count:
            self.show_lines(len(sessions))
        self.redraw(now)
        if place >= 0:
            self.scroll_to_show(place)
        self.post_message(self.Moved())

    def redraw(self, now: float) -> None:
        """Draw the rows that are different at a time, such as those with the time until a cache goes cold."""
        widths = widths_for(COLUMNS, self.line_width)
        named = zip(self.sessions, names_of(self.sessions), strict=True)
        rows = (row_of_session(each, name, now, widths) for each, name in named)
        drawn = [
            tuple(row_pieces(COLUMNS, widths, row, selected=place == self.cursor)) for place, row in enumerate(rows)
        ]
        is_same_size = self._drawn_at == (self.line_width, len(drawn))
        before, self._drawn, self._drawn_at = self._drawn, drawn, (self.line_width, len(drawn))
        if not is_same_size:
            self.forget_lines()
            return
        for place, pieces in enumerate(drawn):
            if pieces != before[place]:
                self.refresh_screen_line(place)

    def move(self, step: int) -> None:
        """Move the cursor by rows."""
        if self.sessions:
            self.go_to(min(max(self.cursor + step, 0), len(self.sessions) - 1))

    def go_to(self, place: int) -> None:
        """Move the cursor to a row."""
        self.cursor = place
        self.scroll_to_show(place)
        self.redraw(time())
        self.post_message(self.Moved())

    def on_resize(self) -> None:
        self.redraw(time())

    def on_click(self, event: events.Click) -> None:
        """Move the cursor to the clicked row; open its session on a second click."""
        line = self.line_at(event)
        if line is None or line < 0:
            return
        if line == self.cursor:
            self.post_message(self.Chosen())
        else:
            self.go_to(line)

    def line_key(self, line: int) -> Hashable:
        return line == self.cursor, self._drawn[line] if line < len(self._drawn) else ()

    def draw_line(self, line: int, width: int) -> Strip:
        pieces = self._drawn[line] if line < len(self._drawn) else ()
        return self.strip_of_pieces(pieces, width, selected=line == self.cursor)

    def draw_header(self, width: int) -> Strip:
        if not self.sessions:
            return self.strip_of_pieces((), width, selected=False)
        pieces = header_pieces(COLUMNS, widths_for(COLUMNS, width), Sorting())
        return self.strip_of_pieces(pieces, width, selected=False)


class LiveScreen(SingleResultScreen[None]):
    """Screen of all running sessions."""

    DEFAULT_CSS = """
    LiveScreen {
        #live-empty { display: none; height: 1fr; padding: 1 2; color: $text-muted; }
        #live-detail { height: auto; max-height: 6; border-top: solid $border-blurred; color: $text-muted; }
        #live-note { height: auto; max-height: 2; color: $text-warning; }
        &.-short #live-detail { max-height: 2; border-top: none; color: $text-primary; }
        &.-short #live-note { max-height: 1; }
        &.-empty #live-empty { display: block; }
        &.-empty LiveTable, &.-empty #live-detail { display: none; }
    }
    """

    AUTO_FOCUS = "LiveTable"
    VERTICAL_BREAKPOINTS = [(0, "-short"), (20, "-medium")]  # noqa: RUF012  as Textual declares it
    BINDINGS: ClassVar[list[BindingType]] = bindings(LIVE)

    @dataclass
    class Chosen(Message):
        """Posted to open a session."""

        path: Path

    def __init__(self, source: SnapshotSource, settings: Settings) -> None:
        """Create the screen.

        Args:
            source: Source of the snapshots, followed while the screen exists.
            settings: Limits and deliveries of alerts.
        """
        super().__init__()
        self._source = source
        self._rules = AlertRules(settings)
        self._notifier = Notifier(settings.alert_by, settings.alert_command, write=self._write, report=self._report)
        self._stop = asyncio.Event()
        self._problem = ""
        self._texts: dict[str, str] = {}
        self._alert: Alert | None = None
        self._alert_until = 0.0

    def compose(self) -> ComposeResult:
        yield Pane(
            "Running sessions",
            LiveTable(),
            Static(Content("Looking for running sessions…"), id="live-empty", markup=False),
            Static(id="live-detail", markup=False),
            Static(id="live-note", markup=False),
            id="live",
        )

    @property
    def table(self) -> LiveTable:
        return self.query_one(LiveTable)

    def on_mount(self) -> None:
        """Follow the sessions while the screen exists, so that alerts are delivered behind an open session too."""
        self.add_class("-empty")
        self._pane.set_subtitle("⏎ open", "n next", "i pause", "o sessions", "? help", "esc close")
        self.set_interval(1, self._tick)
        self.run_worker(self._follow(), group="live", description="follow the running sessions", exit_on_error=False)

    def on_unmount(self) -> None:
        self._stop.set()
        self._notifier.close()

    @property
    def _pane(self) -> Pane:
        return self.query_one("#live", Pane)

    async def _follow(self) -> None:
        async with aclosing(self._source.snapshots(self._stop)) as snapshots:
            async for snapshot in snapshots:
                self.show_snapshot(snapshot)

    def show_snapshot(self, snapshot: LiveSnapshot) -> None:
        """Show the running sessions, and deliver alerts."""
        for alert in self._rules.check(snapshot.sessions, snapshot.time):
            self._notifier.send(alert)
            self._alert, self._alert_until = alert, alert.time + SECONDS_OF_ALERT
        self._notifier.poll()
        self.set_class(not snapshot.sessions, "-empty")
        if not snapshot.sessions:
            self._set("#live-empty", "\n".join(NO_SESSIONS))
        title = f"Live · {summary_of(snapshot)}"
        if self._texts.get("title") != title:
            self._texts["title"] = title
            self._pane.border_title = Content(title)
        self.table.show(snapshot.sessions, snapshot.time)
        self._set("#live-note", self._alert_text(snapshot.time) or unread_text(snapshot) or self._problem)

    def _alert_text(self, now: float) -> str:
        """Return the newest alert; empty if it is old, or counts down next to the running clock of the same session."""
        alert, session = self._alert, self.table.session
        if alert is None or now >= self._alert_until:
            return ""
        is_repeated = alert.cause is Cause.COLD and session is not None and alert.path == str(session.path)
        return "" if is_repeated else alert.text

    def _set(self, name: str, text: str) -> None:
        """Change a text; the same text again would lay out the screen for nothing."""
        if self._texts.get(name, "") != text:
            self._texts[name] = text
            self.query_one(name, Static).update(Content(text))

    def _tick(self) -> None:
        if self.is_current:
            self.table.redraw(time())
            self._show_detail()

    @on(LiveTable.Moved)
    def _show_detail(self) -> None:
        session, width = self.table.session, max(self.table.size.width, 20)
        identity, figures = ("", "") if session is None else detail_of_session(session, time())
        is_short = self.has_class("-short")
        self._set("#live-detail", figures if is_short else "\n".join((clip_cells(identity, width), figures)))

    @on(Worker.StateChanged)
    def _worker_changed(self, event: Worker.StateChanged) -> None:
        if event.state is WorkerState.ERROR and isinstance(event.worker.error, Exception):
            failure = Failure.logged(event.worker.error)
            self._set("#live-note", f"Running sessions are no longer followed: {failure.reason}; {failure.details}")

    def _write(self, sequence: str) -> None:
        """Write an alert's sequence to the terminal, like Textual's bell."""
        driver = self.app._driver  # noqa: SLF001  there is no public way to write a notification sequence
        if driver is not None:
            driver.write(sequence)

    def _report(self, problem: str) -> None:
        self._problem = one_line(problem)

    @on(LiveTable.Chosen)
    def action_open(self) -> None:
        """Open the session under the cursor."""
        if (session := self.table.session) is not None:
            self.post_message(self.Chosen(session.path))

    def action_move(self, places: int) -> None:
        self.table.move(places)

    def action_page(self, pages: int) -> None:
        self.table.move(pages * max(self.table.page_height - 1, 1))

    def action_next(self) -> None:
        """Move to the next session that needs attention."""
        place = next_with_attention(self.table.sessions, self.table.cursor, time())
        if place is None:
            self._set("#live-note", "No session needs attention.")
        else:
            self.table.go_to(place)

    def action_away(self) -> None:
        """Show the cost of a pause of the session under the cursor, for each action before it."""
        session = self.table.session
        if session is None or session.away is None:
            self._set("#live-note", "The cost of a pause is known once the agent waits, for a model with a price.")
            return
        lines = advice_lines(names_of([session])[0], session.away)
        self.open_over(
            DiagnosticsScreen("\n".join(lines[1:]), lines[0], "a command or setting is at the end of a line")
        )

    def action_back(self) -> None:
        """Go back to the previous screen, or quit without one."""
        if self.app.screen_stack[0] is self:
            self.app.exit()
        else:
            self.dismiss()
