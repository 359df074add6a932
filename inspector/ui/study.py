"""What the screens have in common that look at the main screen's session in a way of their own."""

from __future__ import annotations

from dataclasses import dataclass
from time import time
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import SystemCommand
from textual.binding import Binding, BindingType
from textual.getters import query_one
from textual.message import Message
from textual.screen import Screen
from textual.worker import Worker, WorkerState

from inspector.safe_text import one_line
from inspector.ui.explain.dialog import ExplainScreen
from inspector.ui.help.keys import help_sections, key_hints
from inspector.ui.toolkit.header import SessionHeader
from inspector.ui.toolkit.status_bar import StatusBar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from textual.timer import Timer

    from inspector.ui.explain.explanation import Explained
    from inspector.ui.main.screen import InspectScreen
    from inspector.ui.outcome import Outcome

SECONDS_OF_NOTICE = 6.0


class StudyScreen(Screen[None]):
    """Shown over the main screen, on the same session, plan and call. A subclass composes it and says what it shows.

    The main screen goes on underneath: a session that grows, or a plan that is taken back, is another outcome, and
    `show_outcome` is told of it.
    """

    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (100, "-normal"), (160, "-wide")]  # noqa: RUF012  as Textual declares it
    VERTICAL_BREAKPOINTS = [(0, "-short"), (32, "-medium"), (50, "-tall")]  # noqa: RUF012  as Textual declares it
    AUTO_FOCUS = ""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("question_mark,f1", "app.help", "help", id="study.help", tooltip="Show what the keys do here"),
        Binding("escape,q", "close", "back", id="study.close", tooltip="Back to the session"),
        Binding("E", "explain", "explain", id="study.explain", tooltip="How the figures here came about"),
        Binding("P", "app.picture", "picture", id="study.picture", tooltip="Save a picture of the screen", show=False),
        Binding("ctrl+z", "undo", "undo", id="study.undo", tooltip="Take back a change of the plan", show=False),
        Binding("ctrl+y,ctrl+shift+z", "redo", "redo", id="study.redo", tooltip="Make it again", show=False),
        Binding("c", "study('compare')", "compare", id="study.compare", tooltip="Compare plans", show=False),
        Binding("t", "study('tune')", "tune", id="study.tune", tooltip="Find the value of a limit", show=False),
        Binding("dollar_sign", "study('costs')", "costs", id="study.costs", tooltip="Every figure", show=False),
        Binding("v", "study('composition')", "window", id="study.window", tooltip="What fills the window", show=False),
    ]

    @dataclass
    class ExplanationReady(Message):
        """Figures were explained.

        Attributes:
            figures: The figures.
        """

        figures: tuple[Explained, ...]

    header = query_one(SessionHeader)
    status = query_one(StatusBar)

    name_of_study: ClassVar[str] = ""
    """What the main screen's action calls it."""

    def __init__(self, source: InspectScreen) -> None:
        """Make a screen.

        Args:
            source: The main screen, with an outcome to study.
        """
        super().__init__()
        self.source = source
        self._notice_timer: Timer | None = None

    @property
    def outcome(self) -> Outcome:
        """What the plan came to, as the main screen has it now."""
        if self.source.outcome is None:
            raise AssertionError("opened before anything was replayed")
        return self.source.outcome

    def show_outcome(self) -> None:
        """The session, the plan or the call is another one."""
        raise NotImplementedError

    def on_mount(self) -> None:
        """Listen to the main screen, and show what there is."""
        self.source.outcome_changed.subscribe(self, lambda _: self._outcome_changed())
        self.bindings_updated_signal.subscribe(self, self._show_keys)
        self.set_interval(1, self._tick)
        self._tick()
        self.show_outcome()

    def _outcome_changed(self) -> None:
        if self.source.outcome is not None:
            self.show_outcome()

    def _tick(self) -> None:
        self.header.heading = self.source.header.heading
        self.header.now = time()

    def _show_keys(self, _: object = None) -> None:
        self.status.keys = key_hints(help_sections(self.app))

    def say(self, notice: str, *, is_problem: bool = False) -> None:
        """A notice in the status line for a while; may hold session text."""
        self.status.tell(one_line(notice), is_problem=is_problem)
        if self._notice_timer is not None:
            self._notice_timer.stop()
        self._notice_timer = self.set_timer(SECONDS_OF_NOTICE, self._forget_notice)

    def _forget_notice(self) -> None:
        self.status.tell("")

    def work(self, work: Callable[[], None], group: str, description: str) -> None:
        """Run something in a thread. A newer run of a group calls off the one before it."""
        self.run_worker(work, group=group, description=description, exclusive=True, thread=True, exit_on_error=False)

    @on(Worker.StateChanged)
    def _worker_changed(self, event: Worker.StateChanged) -> None:
        if event.state is WorkerState.ERROR:
            error = event.worker.error
            reason = str(error).splitlines()[0] if error is not None and str(error) else type(error).__name__
            self.work_failed(event.worker.group)
            self.say(f"could not {event.worker.description}: {reason}", is_problem=True)

    def work_failed(self, group: str) -> None:
        """A worker of a group came to grief: nothing more comes of it."""

    def explains(self) -> Callable[[], tuple[Explained, ...]]:
        """What explains the figures the cursor is on; run in a thread. By default the plan's costs."""
        from inspector.ui.explain.focus import COST, explained_focus

        source = self.source
        outcome, terms, runs = self.outcome, source.terms, source.settings.runs_per_day
        return lambda: explained_focus(outcome, (COST, -1), terms, runs)[0]

    def action_explain(self) -> None:
        """Say how the figures came about on which the cursor is."""
        explains = self.explains()

        def work() -> None:
            self.post_message(self.ExplanationReady(explains()))

        self.work(work, "explain", "explain this")

    @on(ExplanationReady)
    def _show_explanation(self, message: ExplanationReady) -> None:
        if message.figures:
            self.app.push_screen(ExplainScreen(message.figures))

    def action_close(self) -> None:
        """Back to the session."""
        self.dismiss(None)

    def action_study(self, name: str) -> None:
        """Another study in this one's place; the same one again closes it."""
        self.dismiss(None)
        if name != self.name_of_study:
            self.source.action_study(name)

    def action_undo(self) -> None:
        """Take back the last change of the plan."""
        self.source.action_undo()

    def action_redo(self) -> None:
        """Make it again."""
        self.source.action_redo()

    def commands(self) -> Iterable[SystemCommand]:
        """What the command palette offers here."""
        yield SystemCommand("session: Back", "Close this screen", self.action_close)
