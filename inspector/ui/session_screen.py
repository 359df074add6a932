"""Base of all screens about an open session: header, status line with keys and notices, worker threads."""

from __future__ import annotations

from collections.abc import Coroutine, Mapping, Sequence
from time import time
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from rich.style import Style
from textual import events, on
from textual.getters import query_one
from textual.screen import Screen
from textual.worker import Worker, WorkerState

from inspector.errors import InspectorError
from inspector.report.numbers import ON_SCREEN
from inspector.safe_text import clip_cells, one_line
from inspector.ui.help.key_listing import help_sections, key_hints
from inspector.ui.toolkit.failures import Failure
from inspector.ui.toolkit.header import Heading, SessionHeader
from inspector.ui.toolkit.single_result_screen import JobResult, ScreenJobs, open_over, run_dialog
from inspector.ui.toolkit.status_bar import StatusBar

if TYPE_CHECKING:
    from textual.geometry import Size
    from textual.timer import Timer

    from inspector.replay.engine.token_scale import TokenScale
    from inspector.replay.figure import Figure
    from inspector.session.model import Session
    from inspector.ui.controller.session import SessionController

Left = TypeVar("Left")

SECONDS_OF_NOTICE = 6.0
LONGEST_IDENTIFIER = 18


Breakpoints = Sequence[tuple[int, str]]
"""Pairs of a minimum number of cells and a CSS class."""


def size_classes(size: Size, across: Breakpoints, down: Breakpoints) -> list[str]:
    """Return the CSS classes for a screen size."""
    dimensions = ((size.width, across), (size.height, down))
    return [max(each for each in points if each[0] <= cells)[1] for cells, points in dimensions]


class SessionScreen(Screen[Left]):
    """Screen with a session header at the top, and keys, notices and running work at the bottom."""

    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (100, "-normal"), (160, "-wide")]  # noqa: RUF012  as Textual declares it
    VERTICAL_BREAKPOINTS = [(0, "-short"), (32, "-medium"), (50, "-tall")]  # noqa: RUF012  as Textual declares it
    AUTO_FOCUS = ""
    MENU_TITLES: ClassVar[Mapping[str, str]] = {
        "g": "Go to",
        "z": "View",
        "r": "Read the text as",
        "w": "Save and open",
    }
    """Menu titles by key."""

    header = query_one(SessionHeader)
    status = query_one(StatusBar)

    def __init__(self) -> None:
        super().__init__()
        self.jobs = ScreenJobs(self)
        self._notice_timer: Timer | None = None
        # Textual would set them after the first layout and style every widget again.
        self.set_classes(size_classes(self.app.size, self.HORIZONTAL_BREAKPOINTS, self.VERTICAL_BREAKPOINTS))

    def on_mount(self) -> None:
        self.set_interval(1, self._tick)
        self.bindings_updated_signal.subscribe(self, self._show_keys)

    def _tick(self) -> None:
        self.header.now = time()

    def _show_keys(self, _: object = None) -> None:
        self.status.keys = key_hints(help_sections(self.app))

    def get_style_at(self, x: int, y: int) -> Style:
        """Return no style while the mouse is captured, because Textual renders a line per move to find one."""
        return Style.null() if self.app.mouse_captured is not None else super().get_style_at(x, y)

    def show_notice(self, notice: str, *, is_problem: bool = False) -> None:
        """Show a notice in the status line for a while. It may hold session text."""
        self.status.show_notice(one_line(notice), is_problem=is_problem)
        if self._notice_timer is not None:
            self._notice_timer.stop()
        self._notice_timer = self.set_timer(SECONDS_OF_NOTICE, self.forget_notice)

    def forget_notice(self) -> None:
        self.status.show_notice("")

    def on_key(self, event: events.Key) -> None:
        """Clear a notice, which may be outdated after the key. Problems stay until their timeout."""
        del event
        self._forget_what_was_read()

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """Clear a notice, as after a key."""
        del event
        self._forget_what_was_read()

    def on_screen_suspend(self) -> None:
        """Clear a notice, because the other screen covers the place it refers to."""
        self._forget_what_was_read()

    def _forget_what_was_read(self) -> None:
        if self.status.notice and not self.status.is_problem:
            self.forget_notice()

    def action_menu(self, key: str) -> None:
        """Show a menu of the actions available here, and wait for a letter.

        Args:
            key: The key that opens it.
        """
        # Deferred because the first paint needs no menu.
        from inspector.ui.menu import MenuScreen, items_of

        items = items_of(self, key)
        if items:
            open_over(self, MenuScreen(key, self.MENU_TITLES[key], items))
        else:
            self.show_notice("nothing to choose from here")

    def run_dialog(self, dialog: Coroutine[Any, Any, None], description: str) -> None:
        """Run a dialog, one at a time.

        Args:
            dialog: Coroutine that shows a dialog and applies its result.
            description: Purpose of the dialog, as an infinitive for error messages.
        """
        run_dialog(self, dialog, description)

    @on(JobResult)
    async def _take_result(self, message: JobResult) -> None:
        await self.jobs.deliver(message)

    @on(Worker.StateChanged)
    def _worker_changed(self, event: Worker.StateChanged) -> None:
        if event.state is WorkerState.ERROR:
            error = event.worker.error
            reason = str(error).splitlines()[0] if error is not None and str(error) else type(error).__name__
            if error is not None and not isinstance(
                error, InspectorError | OSError
            ):  # their messages already give advice
                reason = f"{reason}; {Failure.logged(error).details}"
            self.jobs.fail(event.worker)
            self.show_notice(f"could not {event.worker.description}: {reason}", is_problem=True)


def heading_of(controller: SessionController) -> Heading:
    """Build the header of a session."""
    session = controller.session
    if session is None:
        return Heading(controller.path.stem, state=controller.state)
    from inspector.session.model import session_name

    fill = None
    if (outcome := controller.outcome) is not None:
        from inspector.replay.analysis.context_blocks import fill_at

        fill = fill_at(outcome.baseline, outcome.baseline.history.call_count).share
    cache, recorded = controller.answers.cache, controller.answers.recorded_cache
    misses = 0 if recorded is None or not recorded.misses.misses else recorded.misses.total.calls
    next_call = None if cache is None else cache.recorded_next_call
    identifier = clip_cells(one_line(session.identifier or controller.path.stem), LONGEST_IDENTIFIER)
    return Heading(
        title=session_name(session) or identifier,
        model=_models_of(session),
        priced_as="" if controller.outcome is None else controller.outcome.inputs.other_model,
        fill=fill,
        is_elsewhere=controller.call is not None or (outcome is not None and outcome.is_planned),
        events=(sum(not each.is_partial for each in session.compactions), misses),
        messages=len(session.messages),
        calls=len(session.calls),
        tokens=how_tokens_are_known(controller),
        state=controller.state,
        changed=controller.changed,
        cold_at=None if next_call is None else next_call.expires_at,
        warm_call="" if next_call is None else _written(next_call.figure("warm_usd")),
        cold_call="" if next_call is None else _written(next_call.after_pause),
    )


def _models_of(session: Session) -> str:
    """Return the conversation's model and the number of other models; session text."""
    newest = session.main_model
    others = len(set(session.models) - {newest})
    return f"{newest} and {others} more" if newest and others else newest


def _written(figure: Figure) -> str:
    """Format dollars with their qualifier. Returns an empty string without a price."""
    return "" if figure.value is None else ON_SCREEN.qualified(ON_SCREEN.dollars(figure.value), figure.known.value)


def how_tokens_are_known(controller: SessionController) -> str:
    """Describe in a few words that token counts are estimates; empty if they are not."""
    table = controller.table
    if table is None:
        return ""
    is_counted = table.is_complete and table.session is controller.session
    if not is_counted and (controller.is_opening or controller.counting.is_under_way):
        return "tokens estimated so far"
    return "" if table.counter.is_exact_tokenizer else "tokens estimated"


def _borrowed_words(scale: TokenScale) -> str:
    """Name the source of a borrowed fit in two or three words. The explanation of a figure has the details."""
    return (
        "calibrated by parent session"
        if scale.calibration_source is None or scale.calibration_source.is_parent
        else "calibrated by earlier session"
    )


def scale_words(scale: TokenScale) -> str:
    """Describe how the tokens of blocks are known."""
    known = (
        "calibrated" if scale.known.value == "calibrated" else _borrowed_words(scale) if scale.borrowed else "estimated"
    )
    return f"tokens: {known}"
