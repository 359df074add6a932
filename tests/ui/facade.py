"""Test interface to the application: user actions, visible content, and the state behind it.

Only this module and `tests/ui/studies.py` use the screens and widgets of the application. They return visible content
(texts, cells, cursors, colors) or values of modules without widgets (a plan, a replay).
"""

from __future__ import annotations

import dataclasses
import gc
import re
import sys
import time
from contextlib import asynccontextmanager, contextmanager
from itertools import count
from typing import TYPE_CHECKING, Any, NamedTuple
from unittest import mock
from weakref import WeakSet

from textual._context import visible_screen_stack
from textual.events import (
    AppBlur,
    AppFocus,
    Click,
    MouseDown,
    MouseMove,
    MouseScrollDown,
    MouseScrollUp,
    MouseUp,
    Paste,
    Resize,
)
from textual.geometry import Size
from textual.notifications import Notify
from textual.widgets import Input, Static
from textual.worker import Worker, WorkerState

from inspector.settings import Settings
from inspector.ui.all_actions import BY_NAME
from inspector.ui.app import InspectorApp
from inspector.ui.controller.counting import TokensCounted
from inspector.ui.controller.jobs import FileChanged, SessionAppended, SessionLoaded
from inspector.ui.main.screen import InspectScreen
from inspector.ui.outcome import Outcome
from inspector.ui.plan.controls import MARGIN, TRACK
from inspector.ui.session_screen import how_tokens_are_known
from inspector.ui.toolkit.single_result_screen import JobResult
from tests.ui.waiting import LOOKS, PATIENCE, send_each_a_message, until

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Sequence
    from pathlib import Path

    import pytest
    from textual.app import App
    from textual.message import Message
    from textual.pilot import Pilot
    from textual.screen import Screen
    from textual.strip import Strip
    from textual.widget import Widget

    from inspector.ui.controller.host import Change
    from inspector.ui.controller.session import SessionController

SCREENS = {
    "InspectScreen": "session",
    "CommandFinder": "palette",
    "CompareScreen": "compare",
    "CompositionScreen": "composition",
    "CostsScreen": "costs",
    "DiagnosticsScreen": "diagnostics",
    "DifferenceScreen": "difference",
    "ExplainScreen": "explain",
    "ExportScreen": "export",
    "FilesScreen": "files",
    "HelpScreen": "help",
    "LiveScreen": "live",
    "MenuScreen": "menu",
    "MissesScreen": "misses",
    "Picker": "picker",
    "PictureDialog": "picture",
    "ReportDialog": "report",
    "SessionsScreen": "sessions",
    "ToolsDialog": "tools",
    "TuneScreen": "tune",
    "ValueDialog": "value",
}

CONTROLS = {
    "StrategyToggle": "strategy",
    "LimitSlider": "limit",
    "TextControl": "text",
    "ChoiceControl": "choice",
    "SwitchControl": "switch",
    "FoldRow": "fold",
    "AddStrategy": "add",
    "Timeline": "timeline",
    "Detail": "detail",
    "ContextChart": "chart",
}

MOUSE: dict[str, Any] = {
    "down": MouseDown,
    "up": MouseUp,
    "move": MouseMove,
    "wheel down": MouseScrollDown,
    "wheel up": MouseScrollUp,
}

SECONDS_TO_COUNT = 15
"""Seconds for counting before a screen is opened with estimates: it may be held up on purpose."""
LIVE = "● live"
BESIDE_CLOCK = 12
AGE = re.compile(r" *\b\d+ (?:s|min)\b")

ENDLESS = frozenset({"dialog", "find", "follow", "live"})
"""Groups of workers that wait for something from outside."""

HAPPENINGS: dict[type, str] = {
    SessionLoaded: "loaded",
    TokensCounted: "counted",
    Outcome: "replayed",
    SessionAppended: "appended",
    FileChanged: "file changed",
}


def without_clock(line: str) -> str:
    return line[:BESIDE_CLOCK] if LIVE in line else AGE.sub(" ago", line)


def not_laid_out(screen: Any) -> list[str]:
    asking = (each for each in screen.walk_children() if each._layout_required or each._repaint_required)
    return [str(each) for each in asking if all(above.display for above in each.ancestors_with_self)]


def is_frame_due(screen: Any) -> bool:
    return bool(
        screen._layout_required
        or screen._scroll_required
        or screen._repaint_required
        or screen._recompose_required
        or screen._dirty_widgets
    )


def happening(message: Message) -> str:
    if isinstance(message, Worker.StateChanged):
        return "failed" if message.state is WorkerState.ERROR else ""
    return HAPPENINGS.get(type(message.result), "") if isinstance(message, JobResult) else ""


class Control(NamedTuple):
    kind: str
    name: str
    entry: int | None
    height: int
    number: int


class Part:
    """A part of the screen."""

    def __init__(self, run: Running, widget: Widget) -> None:
        self.run = run
        self._widget: Any = widget

    @property
    def height(self) -> int:
        """Lines it takes; none while it is not shown."""
        return int(self._widget.size.height)

    @property
    def is_shown(self) -> bool:
        return bool(self._widget.display)

    @property
    def has_focus(self) -> bool:
        return bool(self._widget.has_focus_within)

    def focus(self) -> None:
        self._widget.focus()

    def lines(self) -> list[str]:
        return [self._widget.render_line(y).text for y in range(self.height)]

    async def click(self, x: int, y: int, times: int = 1) -> None:
        """Click into it."""
        await self.run.click_on(self._widget, x, y, times)


class TimelinePart(Part):
    """The rows."""

    @property
    def view(self) -> Any:
        return self._widget.view

    @property
    def count(self) -> int:
        """Rows shown."""
        return int(self._widget.view.count)

    @property
    def rows(self) -> Any:
        """All rows there are, shown or not."""
        return self._widget.view.rows

    @property
    def cursor(self) -> int:
        """The place of the cursor among the rows shown."""
        return int(self._widget.cursor)

    @property
    def cursor_row(self) -> int:
        """The row the cursor is on, by its number among all rows."""
        return int(self._widget.cursor_row)

    @property
    def cursor_block(self) -> int:
        """The block the cursor is on."""
        return int(self._widget.cursor_block)

    @property
    def row(self) -> Any:
        """The row the cursor is on."""
        return self.rows.row(self.cursor_row)

    @property
    def is_followed(self) -> bool:
        """The newest row stays in view."""
        return bool(self._widget.follow)

    @property
    def new_rows(self) -> int:
        """Rows below that were not looked at."""
        return int(self._widget.new_rows)

    @property
    def is_logarithmic(self) -> bool:
        """Bars have a logarithmic scale."""
        return bool(self._widget.logarithmic)

    def go_to(self, block: int) -> None:
        """Put the cursor on a block."""
        self._widget.move_to_block(block)

    def tokens(self) -> list[int]:
        return [self.view.amount_at(self.view.row_at(place)).recorded for place in range(self.count)]

    def ask_late(self, row: int, block: int) -> None:
        """Ask to fold a row and to pin a block, which may be gone by then."""
        self._widget.post_message(self._widget.FoldRequested(row))
        self._widget.post_message(self._widget.PinRequested(block))

    def all_lines(self) -> list[str]:
        return [self._widget.render_line(line).text for line in range(1, self.count + 1)]


class DetailPart(Part):
    """The block under the cursor."""

    @property
    def content(self) -> Any:
        return self._widget.content

    @property
    def shown(self) -> str:
        return str(self._widget.shown)

    @shown.setter
    def shown(self, view: str) -> None:
        self._widget.shown = view

    @property
    def text(self) -> str:
        """All that is shown of the text."""
        return str(self._widget.document.whole())

    @property
    def recorded(self) -> Any:
        """The text as recorded."""
        return self.content.raw()

    @property
    def line_count(self) -> int:
        return int(self._widget.line_count)

    @property
    def lines_in_view(self) -> range:
        """The lines of the text that are on the screen."""
        return range(self._widget.first_line, self._widget.first_line + self._widget.page_height)

    def names(self) -> list[str]:
        document = self._widget.document
        pieces = (piece for row in range(len(document)) for piece in document.shown(row).pieces)
        return [text for text, style in pieces if style == "detail--name" and "token" in text]


class ChartPart(Part):
    """The chart of prompts."""

    @property
    def series(self) -> Any:
        return self._widget.series

    @property
    def here(self) -> int | None:
        """The call marked as that of the row under the cursor."""
        return self._widget.here  # type: ignore[no-any-return]

    def call_at(self, x: int) -> int:
        return int(self._widget.call_at(x))

    def select(self, step: int) -> None:
        """Look at another call, as the arrows do."""
        self._widget.action_select(step)

    def turn_wheel_up(self) -> None:
        self._widget.post_message(MouseScrollUp(self._widget, 5, 1, 0, 0, 0, False, False, False))

    def picture(self, size: tuple[int, int], title: str) -> str:
        """The chart alone as SVG."""
        from inspector.ui.screenshots import picture_of_chart

        return picture_of_chart(self._widget, size, title)


class SliderPart(Part):
    """The slider of a limit in the plan."""

    @property
    def value(self) -> float:
        return float(self._widget.value)

    @property
    def has_sizes(self) -> bool:
        return bool(self._widget.sizes)

    @property
    def has_effect(self) -> bool:
        return bool(self._widget.effect.is_known)

    @property
    def end(self) -> float:
        """The value its line ends at."""
        return float(self._widget.scale.maximum)

    @property
    def largest(self) -> int | None:
        return self._widget.largest  # type: ignore[no-any-return]

    @property
    def cells(self) -> int:
        """Cells of its line."""
        return int(self._widget.track.cells)

    @property
    def place(self) -> tuple[int, int]:
        region = self._widget.region
        return region.x + MARGIN, region.y + TRACK

    @property
    def lines_taken(self) -> int:
        """Its own lines, shown or scrolled away."""
        return int(self._widget.region.height)

    def text(self) -> str:
        return str(self._widget.render().plain)

    async def press(self, cell: int) -> None:
        """Press the mouse on a cell of its line, and hold it."""
        await self.run.pause()
        await self.run.pilot_of_facade().mouse_down(self._widget, offset=(MARGIN + cell, TRACK))

    async def drag_over(self, *cells: int) -> None:
        """Move the mouse over cells of its line."""
        for cell in cells:
            await self.run.pilot_of_facade().hover(self._widget, offset=(MARGIN + cell, TRACK))

    async def release(self, cell: int) -> None:
        """Let the mouse go on a cell of its line."""
        await self.run.pilot_of_facade().mouse_up(self._widget, offset=(MARGIN + cell, TRACK))
        await self.run.settled()

    async def turn_wheel(self, steps: int) -> None:
        """Turn the wheel over its line: up by so many steps, or down when negative."""
        kind = MouseScrollUp if steps > 0 else MouseScrollDown
        for _ in range(abs(steps)):
            self._widget.post_message(kind(self._widget, MARGIN + 3, TRACK, 0, 0, 0, False, False, False))
        await self.run.settled()

    async def drag_to_end(self) -> None:
        """Drag its handle from the left over every cell to the right end."""
        await self.press(1)
        await self.drag_over(*range(2, self.cells))
        await self.release(self.cells - 1)


_SCREENS: WeakSet[InspectScreen] = WeakSet()


def note_screens(monkeypatch: pytest.MonkeyPatch) -> None:
    """Know every screen of a session from when it is made, for `Running.until_closed_are_gone`.

    Going through all objects would find them, too; but a thread fails that is making a tuple just then.
    """
    make = InspectScreen.__init__

    def make_and_note(screen: InspectScreen, *args: Any, **options: Any) -> None:
        make(screen, *args, **options)
        _SCREENS.add(screen)

    monkeypatch.setattr(InspectScreen, "__init__", make_and_note)


class Running:
    """An application under test."""

    def __init__(
        self,
        app: App[Any],
        pilot: Pilot[Any],
        messages: list[Message],
        screen: InspectScreen | None = None,
        *,
        counted: bool = False,
    ) -> None:
        self._is_to_be_counted = counted
        self._app: Any = app
        self._pilot = pilot
        self._messages = messages
        self._count_messages = messages.__len__
        self._fixed = screen

    @property
    def _screen(self) -> InspectScreen:
        if self._fixed is not None:
            return self._fixed
        return next(screen for screen in self._app.screen_stack if isinstance(screen, InspectScreen))

    @property
    def _controller(self) -> SessionController:
        return self._screen.controller

    @property
    def _top(self) -> Screen[Any]:
        return self._app.screen  # type: ignore[no-any-return]

    def open_in_tab(self, path: Path) -> None:
        self._app.open_session(path)

    def send_click(self, x: int, y: int) -> None:
        """Click on a cell of the screen on top, whether it has one there or not."""
        self._top.post_message(Click(None, x, y, 0, 0, 1, False, False, False, x, y))

    def after_frame(self, do: Callable[[], Any]) -> None:
        """Have something done once the next frame is painted."""
        self._screen.call_after_refresh(do)

    def publish(self, change: Change) -> None:
        self._controller.changes.publish(change)

    def keep_entries_in_sight(self) -> None:
        """Scroll the plan as it does after a change of it."""
        self._screen.query_one("PlanList").scroll_to_focus()  # type: ignore[attr-defined]

    def pilot_of_facade(self) -> Pilot[Any]:
        """Return the pilot, only for other parts of the facade."""
        return self._pilot

    def palette_commands(self) -> list[Any]:
        """Commands of the palette on the screen."""
        screen = self.top_of_facade()
        return list(screen.app.palette_commands(screen))

    def top_of_facade(self) -> Any:
        """Return the top screen, only for other parts of the facade."""
        return self._top

    async def until(self, fact: Callable[[], Any], patience: float = PATIENCE) -> None:
        """Wait until something is true, for at most so many seconds."""
        if not await until(self._pilot, fact, patience, self._count_messages):
            raise AssertionError(f"it never became true; the screen shows\n{self.text()}")

    async def until_shown(self, words: str) -> None:
        await self.until(lambda: words in self.text())

    async def until_open(self, name: str) -> None:
        """Wait until a screen is on top, by a name in `SCREENS`."""
        await self.until(lambda: self.on_top == name)

    async def pause(self, seconds: float | None = None) -> None:
        await self._pilot.pause(seconds)

    async def settled(self) -> None:
        """Wait until the newest plan has been replayed and shown, and with counted tokens unless opened without."""
        await self._pilot.pause()
        if self._is_to_be_counted:
            await self.until_counted()
        session = self._controller
        await self.until(lambda: session.outcome is not None and session.outcome.plan == session.plan)
        await self._pilot.pause()

    async def until_counted(self) -> None:
        """Wait until the session is replayed with counted tokens, unless a test holds that up.

        Figures of estimates change by themselves, at a moment that depends on how busy the machine is.
        """
        if self._controller.session is not None:
            await until(self._pilot, lambda: self._is_counted, SECONDS_TO_COUNT, self._count_messages)

    @property
    def _is_counted(self) -> bool:
        outcome = self._controller.outcome
        return outcome is not None and bool(outcome.inputs.table.is_complete)

    async def press(self, *keys: str) -> None:
        """Press keys and let everything they start come to an end."""
        await self._pilot.press(*keys)
        await self.settled()

    async def tap(self, *keys: str) -> None:
        """Press keys, and wait for nothing but that they were taken."""
        await self._pilot.press(*keys)

    def send(self, key: str) -> None:
        """Press a key without waiting at all."""
        self._app.simulate_key(key)

    def send_mouse(self, what: str, x: float, y: float) -> None:
        width, height = self._app.size
        column, line = min(int(x * width), width - 1), min(int(y * height), height - 1)
        kind = MOUSE[what]
        button = int(kind in (MouseDown, MouseUp))
        self._app.post_message(kind(None, column, line, 0, 0, button, False, False, False, column, line))

    def send_paste(self, text: str) -> None:
        """Paste a text without waiting at all."""
        self._app.post_message(Paste(text))

    def send_size(self, width: int, height: int) -> None:
        """Give the terminal another size without waiting at all."""
        size = Size(width, height)
        self._app._driver._size = size
        self._app.post_message(Resize(size, size))

    def send_late_sizes(self, *sizes: tuple[int, int]) -> None:
        for width, height in (*sizes, tuple(self._app.size)):
            for screen in self._app.screen_stack:
                screen.post_message(Resize(Size(width, height), Size(width, height)))
                screen.call_later(lambda: None)

    @property
    def sizes_told(self) -> int:
        return sum(isinstance(message, Resize) for message in self._messages)

    def send_focus(self, *, is_here: bool) -> None:
        self._app.post_message(AppFocus() if is_here else AppBlur())

    def send_suspended(self) -> None:
        for signal in (self._app.app_suspend_signal, self._app.app_resume_signal):
            self._app.call_later(signal.publish, self._app)
        self._app.call_later(self._app.refresh)

    async def at_rest(self, patience: float = PATIENCE) -> None:
        """Wait until nothing is left to do: no thread works, every session's newest plan is replayed and shown."""

        for _ in range(3):
            await self._come_to_rest(patience)
            await self._pilot.pause(0.06)
        # Do not report a change a moment before it is shown.
        await self._come_to_rest(patience)

    async def _come_to_rest(self, patience: float) -> None:
        if not await until(self._pilot, lambda: not self.unfinished(), patience, self._count_messages):
            raise AssertionError(f"it never came to rest: {self.unfinished()}; the screen shows\n{self.text()}")

    def unfinished(self) -> list[str]:
        if self.is_over:
            return []
        screens = [screen for stack in self._app._screen_stacks.values() for screen in stack]
        outcomes = [
            (screen.controller.plan, screen.controller.outcome.plan)
            for screen in screens
            if isinstance(screen, InspectScreen) and screen.controller.outcome is not None
        ]
        return [
            *(
                f"{each.group} works"
                for each in self._app.workers
                if each.is_running and each.group not in ENDLESS and not self._waits(each)
            ),
            *(f"{screen} has no widgets" for screen in screens if not screen.is_mounted),
            *("a plan is not replayed" for plan, replayed in outcomes if plan != replayed),
            *(waits for screen in screens if isinstance(screen, InspectScreen) for waits in self._unanswered(screen)),
            *(f"{self._top.size} is shown of {self._app.size}" for _ in range(self._top.size != self._app.size)),
            *("keys wait" for _ in range(bool(self._app._queued_input))),
            *(f"{widget} is not laid out" for screen in self._shown_screens() for widget in not_laid_out(screen)),
            *(["a frame is due"] if is_frame_due(self._top) else ()),
            *(f"{each} has messages" for each in self._top.walk_children(with_self=True) if each.message_queue_size),
        ]

    async def close_while_commands_are_looked_up(self) -> None:
        """Have the palette's list of commands gone by when the worker begins that fills it."""
        palette = self._top
        # The worker of the opening, and the sign that it is busy, need the list.
        await self.until(lambda: not any(each.node is palette and each.is_running for each in self._app.workers))
        palette._stop_busy_countdown()
        palette._stop_no_matches_countdown()
        await self.pause()
        await palette.query("CommandList").remove()
        worker = palette._gather_commands("cost")
        await self.until(lambda: worker.is_finished)
        await self._pilot.press("escape")

    def _shown_screens(self) -> list[Any]:
        return [*self._app._background_screens, self._top]

    @staticmethod
    def _unanswered(screen: InspectScreen) -> list[str]:
        outcome, answers = screen.controller.outcome, screen.controller.answers
        if outcome is None:
            session = screen.controller.session
            return ["nothing is replayed"] if session is not None and session.blocks else []
        is_added_up = outcome.plan.strategies or answers.spending is None or answers.spending.replay is outcome.baseline
        is_explained = answers.cache is None or answers.cache.outcome.replay is outcome.replay
        return [
            *(() if is_added_up else ("costs are not added up",)),
            *(() if is_explained else ("cache misses are not explained",)),
        ]

    @staticmethod
    def _waits(worker: Worker[Any]) -> bool:
        """Work is to go on once there is a session to read."""
        screen = worker.node
        return worker.group == "open" and isinstance(screen, InspectScreen) and screen.controller.state == "waiting"

    def stale_lines(self) -> list[str]:
        """The lines of the screen that are other ones once everything is painted afresh, as they are and should be."""
        before = self._lines_without_clock()
        for widget in self._top.walk_children(with_self=True):
            widget.notify_style_update()
            widget._styles_cache.clear()
            widget._clear_arrangement_cache()
            widget._set_dirty()
            widget._layout_cache.clear()
        self._top._compositor._layers = None
        self._top._refresh_layout(self._app.size)
        after = self._lines_without_clock()
        pairs = enumerate(zip(before, after, strict=True))
        return [f"{line}: {was}\n{line}: {now}" for line, (was, now) in pairs if was != now]

    def lines_afresh(self) -> list[str]:
        for screen in self._shown_screens():
            for widget in screen.walk_children(with_self=True):
                widget._styles_cache.clear()
        return [strip.text for strip in self._strips()]

    def _lines_without_clock(self) -> list[str]:
        return [without_clock(strip.text) for strip in self._strips()]

    def check_figures(self) -> None:
        """The figures on the main screen are those of the plan it shows."""
        for stack in self._app._screen_stacks.values():
            for screen in stack:
                if isinstance(screen, InspectScreen) and screen.controller.outcome is not None:
                    outcome = screen.controller.outcome
                    assert outcome.plan == screen.controller.plan
                    assert screen.cost.summary is not None

    async def click(self, words: str, after: str = "", times: int = 1) -> None:
        await self.click_at(*self.place_of(words, after), times=times)

    async def click_at(self, x: int, y: int, times: int = 1) -> None:
        """Click on a cell of the screen."""
        widget, region = self._top.get_widget_at(x, y)
        await self.click_on(widget, x - region.x, y - region.y, times)

    async def click_on(self, widget: Any, x: int, y: int, times: int = 1) -> None:
        """Click into a widget, by its name in the style sheet or itself."""
        await self._pilot.click(widget, offset=(x, y), times=times)
        await self._pilot.pause()

    async def hover_strategy(self, place: int) -> None:
        """Put the mouse over the row of a strategy in the plan."""
        await self._pilot.hover(list(self._screen.query("StrategyToggle"))[place])

    async def resize(self, width: int, height: int) -> None:
        await self._pilot.resize_terminal(width, height)

    def text(self) -> str:
        return "\n".join(strip.text for strip in self._strips())

    def lines(self) -> list[str]:
        return self.text().split("\n")

    @property
    def status_line(self) -> str:
        """The last line."""
        return self.lines()[-1]

    @property
    def header_line(self) -> str:
        """The first line."""
        return self.lines()[0]

    def line_with(self, *words: str) -> str:
        """The first line that holds all of some words; empty where none does."""
        return next((line for line in self.lines() if all(word in line for word in words)), "")

    def place_of(self, words: str, after: str = "") -> tuple[int, int]:
        for y, line in enumerate(self.lines()):
            if words in line and after in line:
                return line.index(words, line.index(after)), y
        raise AssertionError(f"{words} is not on the screen\n{self.text()}")

    def _strips(self) -> list[Strip]:
        _, height = self._app.size
        visible_screen_stack.set(self._app._background_screens)
        return self._top._compositor.render_strips()[:height]

    def all_colors(self) -> set[str]:
        """Every colour that something is drawn in."""
        return {
            segment.style.color.name
            for strip in self._strips()
            for segment in strip
            if segment.style and segment.style.color
        }

    def colors(self) -> set[tuple[str, str]]:
        return {
            (segment.style.color.name, segment.style.bgcolor.name)
            for strip in self._strips()
            for segment in strip
            if any(map(str.isalnum, segment.text)) and segment.style and segment.style.color and segment.style.bgcolor
        }

    @property
    def has_explanation(self) -> bool:
        """The screen on top has figures that can be explained."""
        return bool(self._top.explains()())

    @property
    def on_top(self) -> str:
        """The screen on top, by its name in `SCREENS`."""
        return SCREENS[type(self._top).__name__]

    @property
    def has_dialog(self) -> bool:
        """A dialog is open."""
        return self._top.is_modal

    @property
    def text_on_top(self) -> str:
        return str(self._top._text)  # type: ignore[attr-defined]

    @property
    def explanation(self) -> str:
        return str(self._top.query_one("#explanation", Static).render())

    @property
    def help_names(self) -> set[str]:
        return {row.name for section in self._top._groups for row in section.rows}  # type: ignore[attr-defined]

    def commands(self) -> dict[str, str]:
        return {command.title: command.keys for command in self._app.palette_commands(self._top)}

    @property
    def line(self) -> str:
        """The line that is being typed into, on the screen on top."""
        return self._top.query_one(Input).value

    @line.setter
    def line(self, text: str) -> None:
        self._top.query_one(Input).value = text

    @property
    def has_line(self) -> bool:
        """There is a line to type into."""
        return bool(self._top.query(Input))

    @property
    def search_line(self) -> str:
        """The line rows are searched with."""
        return self._screen.timeline.find_bar.query_one(Input).value  # type: ignore[union-attr]

    @property
    def focus(self) -> Control | None:
        widget: Any = self._app.focused
        if widget is None:
            return None
        kind = CONTROLS.get(type(widget).__name__, type(widget).__name__)
        parameter = getattr(widget, "parameter", None)
        name = "" if parameter is None else parameter.name
        return Control(kind, name, getattr(widget, "entry", None), widget.region.height, id(widget))

    def key_names_of_focus(self) -> set[str]:
        actions = [BY_NAME[binding.id] for binding in type(self._app.focused).BINDINGS]
        return {action.name for action in actions if action.keys and not action.is_move}

    @property
    def failed_parts(self) -> set[str]:
        return {name for name, part in self._screen.pane_focus.parts.items() if part.has_failed}

    def focus_part(self, name: str) -> None:
        """Give a part of the main screen the focus, by its name."""
        self._screen.pane_focus.focus_pane(name)

    @property
    def is_over(self) -> bool:
        """The program was left."""
        return bool(self._app._exit) or not self._app.is_running

    @property
    def clipboard(self) -> str:
        return str(self._app.clipboard)

    @property
    def toasts(self) -> list[str]:
        return [each.notification.message for each in self._messages if isinstance(each, Notify)]

    @property
    def has_no_color(self) -> bool:
        return bool(self._app.no_color)

    @property
    def theme(self) -> str:
        return str(self._app.theme)

    def use_theme(self, name: str) -> None:
        self._app.action_use_theme(name)

    def choose_theme(self) -> None:
        """Open the list of all themes."""
        self._app.action_change_theme()

    @property
    def happened(self) -> list[str]:
        return [told for message in self._messages if (told := happening(message))]

    @property
    def notices_of_file(self) -> list[str]:
        results = (message.result for message in self._messages if isinstance(message, JobResult))
        return [result.notice for result in results if isinstance(result, FileChanged)]

    def lend_terminal(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Make it possible that another program has the terminal for a while."""
        monkeypatch.setattr(self._app, "suspend", contextmanager(lambda: iter([None])))

    def hold_replays(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Let nothing be replayed from now on."""
        monkeypatch.setattr(self._controller.replays, "_begin", lambda: None)

    def before_showing(self, monkeypatch: pytest.MonkeyPatch, wait: Callable[[], Any]) -> None:
        take = self._controller._take_appended

        async def take_later(appended: SessionAppended) -> None:
            await wait()
            await take(appended)

        monkeypatch.setattr(self._controller, "_take_appended", take_later)

    def forget_notice(self) -> None:
        self._screen._tick()
        self._screen.forget_notice()

    @property
    def tab_count(self) -> int:
        """Sessions that are open."""
        return len(self._app._tabs.all)

    async def until_closed_are_gone(self, folder: Path) -> None:
        """Wait until no closed screen of a folder's session is in memory.

        The loop of a widget holds the last message until the next one comes, so each gets another.
        """
        end = time.monotonic() + PATIENCE
        while (kept := self.closed_and_kept(folder)) and time.monotonic() < end:
            await send_each_a_message(self._pilot)
            await self.pause(LOOKS[-1])
        assert kept == []

    def closed_and_kept(self, folder: Path) -> list[str]:
        """Names of a folder's sessions that were closed and are still in memory once all garbage is collected."""
        self._messages.clear()
        gc.collect()
        screens = [each for each in tuple(_SCREENS) if not each.is_running]
        return sorted(each.controller.path.name for each in screens if each.controller.path.parent == folder)

    def left_to_the_collector(self) -> list[str]:
        """Names of the project's classes of which objects were freed by nothing but the collector since it last ran."""
        self._messages.clear()
        gc.set_debug(gc.DEBUG_SAVEALL)
        try:
            gc.collect()
            classes = {type(each) for each in gc.garbage}
        finally:
            gc.set_debug(0)
            gc.garbage.clear()
            gc.collect()
        return sorted(each.__qualname__ for each in classes if each.__module__.startswith("inspector."))

    def in_tab(self, place: int) -> Running:
        """The session in a tab, shown or not."""
        screen = self._app._screen_stacks[self._app._tabs.all[place].mode][0]
        return Running(self._app, self._pilot, self._messages, screen)

    def is_same_session(self, other: Running) -> bool:
        return self._screen is other._screen

    @property
    def path(self) -> Path:
        """The session's file."""
        return self._controller.path

    @property
    def state(self) -> str:
        return self._controller.state

    @property
    def settings(self) -> Settings:
        return self._screen.settings

    @property
    def session(self) -> Any:
        return self._controller.session

    @property
    def history(self) -> Any:
        """Its columns."""
        return self._controller.history

    @property
    def rows(self) -> Any:
        return self._controller.rows

    @property
    def counts(self) -> Any:
        """Its token counts: a `TokenTable`."""
        return self._controller.table

    @property
    def is_counting(self) -> bool:
        return self._controller.counting.is_under_way

    @property
    def tokens_known(self) -> str:
        return how_tokens_are_known(self._controller)

    @property
    def plan(self) -> Any:
        """The plan."""
        return self._controller.plan

    @property
    def plan_title(self) -> str:
        return self._controller.plan_title

    @property
    def plan_letter(self) -> str:
        return "A" if self._controller.plans is None else self._controller.plans.letter

    @property
    def has_other_plan(self) -> bool:
        return self._controller.other_result is not None

    @property
    def has_replay(self) -> bool:
        """Anything was replayed."""
        return self._controller.outcome is not None

    @property
    def _outcome(self) -> Any:
        return self._controller.outcome

    @property
    def replay(self) -> Any:
        """The session under the plan."""
        return self._outcome.replay

    @property
    def baseline(self) -> Any:
        """The session with nothing cut."""
        return self._outcome.baseline

    @property
    def totals(self) -> Any:
        return self._outcome.totals

    @property
    def inputs(self) -> Any:
        return self._outcome.inputs

    @property
    def replayed_plan(self) -> Any:
        return self._outcome.plan

    @property
    def terms(self) -> Any:
        return self._outcome.terms

    def set_terms(self, **changes: Any) -> None:
        """Price and serve calls as something else."""
        self._controller.set_terms(dataclasses.replace(self._controller.terms, **changes))

    @property
    def has_answers(self) -> bool:
        spending = self._controller.answers.spending
        return spending is not None and spending.replay is self.baseline

    @property
    def best(self) -> Any:
        """The best plan, once all were tried; None until then, and where there is none."""
        answers = self._controller.answers
        return None if answers.is_searching or answers.best is None else answers.best.best

    @property
    def newest_best(self) -> Any:
        is_newest = self._controller.answers._best_of is self._controller.outcome.baseline
        return self.best if is_newest else None

    @property
    def best_so_far(self) -> Any:
        return self._controller.answers.best

    @property
    def cache(self) -> Any:
        return self._controller.answers.cache_of(self._controller.outcome)

    @property
    def explains_newest(self) -> bool:
        """The cache misses of the newest replay itself are explained."""
        return self.cache is not None and self.cache.outcome.replay is self.replay

    @property
    def costs(self) -> Any:
        return self._screen.cost.summary

    @property
    def runs(self) -> Any:
        """The runs per day."""
        return self._controller.runs_per_day

    def focus_costs(self) -> None:
        self._screen.cost.focus()

    @property
    def call(self) -> int | None:
        """The call looked at; None for the next one."""
        return self._controller.call

    @property
    def state_call(self) -> int:
        return int(self._outcome.state.call)

    def look_at(self, call: int | None) -> None:
        """Look at a call."""
        self._controller.look_at(call)

    @property
    def is_playing(self) -> bool:
        return self._screen.chart.is_playing

    @property
    def speed(self) -> float:
        """Calls a second the session is played at."""
        return self._screen.chart.speed

    @property
    def found(self) -> Any:
        """Rows that were found, by number; None while nothing is searched for."""
        return self._screen.timeline.search.rows

    @property
    def risks(self) -> Any:
        return self._controller.risks

    @property
    def knows_needed(self) -> bool:
        return self.risks is not None and self.risks.needed is not None

    @property
    def pins(self) -> Any:
        """Blocks of the pinned rows."""
        return self._screen.timeline.arrangement.pins

    @property
    def folds_everything(self) -> bool:
        """Every message is folded."""
        return bool(self._screen.timeline.arrangement.folds.all_messages)

    @property
    def hidden(self) -> int:
        """Rows that are not shown."""
        return int(self.view.hidden)

    @property
    def view(self) -> Any:
        """The rows as shown: a `TimelineView`; None before there are any."""
        return self._screen.timeline.view

    @property
    def is_zoomed(self) -> bool:
        """A part has the whole screen."""
        return self._screen.pane_focus.zooms

    @property
    def is_by_time(self) -> bool:
        """The chart has an axis of time."""
        return self._screen.chart.by_time

    @property
    def subagent(self) -> Any:
        return self._screen.related.subagent

    @property
    def state_to_keep(self) -> Any:
        return self._screen.kept.now

    def offers(self, name: str) -> bool:
        return bool(self._screen.check_action("do", (name,)))

    @property
    def notice(self) -> str:
        return self._screen.status.notice

    @property
    def progress(self) -> Any:
        return self._screen.status.progress

    @property
    def standing(self) -> Any:
        return self._screen.status.counts

    @property
    def key_hints(self) -> Any:
        """The keys the status line offers."""
        return self._screen.status.keys

    @property
    def heading(self) -> Any:
        return self._screen.header.heading

    @property
    def has_rows_pane(self) -> bool:
        """The rows can be shown."""
        return self._screen.timeline.is_open

    @property
    def has_placeholder(self) -> bool:
        return bool(self._screen.query_one("Placeholder").display)

    @property
    def timeline(self) -> TimelinePart:
        return TimelinePart(self, self._screen.timeline.timeline)

    @property
    def detail(self) -> DetailPart:
        return DetailPart(self, self._screen.query_one("#detail"))

    @property
    def chart(self) -> ChartPart:
        return ChartPart(self, self._screen.query_one("#chart"))

    @property
    def plan_pane(self) -> Part:
        """The plan with its frame."""
        return Part(self, self._screen.query_one("#plan-pane"))

    @property
    def status_bar(self) -> Part:
        return Part(self, self._screen.status)

    def open_plan(self) -> None:
        """Open the plan without moving the focus."""
        self._screen.pane_focus.is_plan_open = True

    def open_detail(self) -> None:
        """Open the text of the row without moving the focus."""
        self._screen.pane_focus.is_detail_open = True

    def sliders(self) -> list[SliderPart]:
        """The sliders of the plan."""
        return [SliderPart(self, slider) for slider in self._screen.query("LimitSlider")]

    def slider(self, name: str) -> SliderPart:
        """The slider of a limit, with the plan open."""
        self.open_plan()
        return next(
            SliderPart(self, slider)
            for slider in self._screen.query("LimitSlider")
            if slider.parameter.name == name  # type: ignore[attr-defined]
        )

    def edit_tools(self, name: str) -> None:
        """Open the dialog of a list of tools in the plan, as enter on it does."""
        controls: Any = self._screen.query("TextControl")
        next(control for control in controls if control.parameter.name == name).action_edit()

    @property
    def caption(self) -> str | None:
        captions: Any = self._top.query("Caption")
        return next((caption.text for caption in captions), None)

    @property
    def is_touring(self) -> bool:
        return bool(self._app.is_touring)


@asynccontextmanager
async def started(
    paths: Path | Sequence[Path],
    *,
    size: tuple[int, int] = (120, 36),
    ready: bool = True,
    listing: bool = False,
    counted: bool = True,
    **options: Any,
) -> AsyncIterator[Running]:
    messages: list[Message] = []
    app = InspectorApp(paths, settings=options.pop("settings", Settings()), **options)
    async with app.run_test(size=size, message_hook=messages.append, notifications=True) as pilot:
        run = Running(app, pilot, messages, counted=counted)
        if not listing:
            await run.until(lambda: any(isinstance(screen, InspectScreen) for screen in app.screen_stack))
        if ready and not listing:
            await run.settled()
            await run.until(lambda: not run.is_counting)
            await run.settled()
        yield run


@asynccontextmanager
async def toured(path: Path, steps: Any, **more: Any) -> AsyncIterator[Running]:
    from inspector.ui.tour import TouringApp

    app = TouringApp(path, steps, speed=20, settings=Settings(), **more)
    messages: list[Message] = []
    # Its clock goes on with every look, however busy the machine is. It waits shortly for agents: none is running.
    with mock.patch.multiple("inspector.ui.tour", monotonic=count(0, 0.01).__next__, SHORT_PATIENCE=0.2):
        async with app.run_test(size=(120, 36), message_hook=messages.append) as pilot:
            yield Running(app, pilot, messages)


def stop_clock(monkeypatch: pytest.MonkeyPatch, now: float) -> None:
    """Make it always the same time of day, in seconds since the epoch."""
    for name, module in list(sys.modules.items()):
        if name.startswith("inspector.ui.") and vars(module).get("time") is time.time:
            monkeypatch.setattr(module, "time", lambda: now)


def batches_of_frames(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    held: list[int] = []
    display = InspectorApp._display

    def noted(app: InspectorApp, *given: Any) -> None:
        held.append(app._batch_count)
        display(app, *given)

    monkeypatch.setattr(InspectorApp, "_display", noted)
    return held
