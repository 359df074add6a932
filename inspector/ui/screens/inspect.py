"""The main screen: what fills the context, what a plan makes of it, and what that saves."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from time import time
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.getters import query_one
from textual.widgets import Static

from inspector.safe_text import one_line
from inspector.ui import numbers
from inspector.ui.cost_summary import summarise
from inspector.ui.screens.plan_editing import PlanEditing
from inspector.ui.widgets.cost_bar import CostBar
from inspector.ui.widgets.header import Heading, SessionHeader
from inspector.ui.widgets.plan_panel import AddStrategy, PlanPanel
from inspector.ui.widgets.status_bar import KeyHint, Progress, Standing, StatusBar
from inspector.ui.widgets.strategy_toggle import NUMBERED, StrategyToggle
from inspector.ui.widgets.timeline import Timeline

if TYPE_CHECKING:
    from textual.app import ComposeResult
    from textual.timer import Timer

    from inspector.replay.replay import Replay

SECONDS_OF_NOTICE = 8.0
_FAR = 10
"""Calls a large step passes over."""


class InspectScreen(PlanEditing):
    """One session: context chart, timeline, detail, plan and cost."""

    HORIZONTAL_BREAKPOINTS: ClassVar[list[tuple[int, str]] | None] = [(0, "-narrow"), (100, "-normal"), (160, "-wide")]
    VERTICAL_BREAKPOINTS: ClassVar[list[tuple[int, str]] | None] = [(0, "-short"), (32, "-medium"), (50, "-tall")]
    AUTO_FOCUS = "#timeline"

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("question_mark,f1", "app.help", "help", id="app.help", tooltip="Show what the keys do here"),
        Binding("p", "plan", "plan", id="plan.show", tooltip="Go to the plan; on narrow screens, show or hide it"),
        *(
            Binding(
                str(number),
                f"switch({number - 1})",
                f"switch {number}",
                id=f"plan.switch-{number}",
                tooltip=f"Switch strategy {number} of the plan on or off",
                show=False,
            )
            for number in range(1, NUMBERED + 1)
        ),
        Binding("left_square_bracket", "call(-1)", "call", id="call.previous", tooltip="As of the call before"),
        Binding("right_square_bracket", "call(1)", "call", id="call.next", tooltip="As of the call after"),
        Binding(
            "left_curly_bracket", f"call(-{_FAR})", "call", id="call.back", tooltip="As of ten calls before", show=False
        ),
        Binding(
            "right_curly_bracket", f"call({_FAR})", "call", id="call.on", tooltip="As of ten calls after", show=False
        ),
        Binding("end", "now", "now", id="call.now", tooltip="As of now, and follow what is added", show=False),
        Binding("x", "to_changed(1)", "cut", id="timeline.next-cut", tooltip="To the next row the plan changed"),
        Binding(
            "X",
            "to_changed(-1)",
            "cut",
            id="timeline.previous-cut",
            tooltip="To the last row the plan changed",
            show=False,
        ),
        Binding(
            "c",
            "to_boundary(1)",
            "compaction",
            id="timeline.next-compaction",
            tooltip="To the next compaction",
            show=False,
        ),
        Binding(
            "C",
            "to_boundary(-1)",
            "compaction",
            id="timeline.previous-compaction",
            tooltip="To the last compaction",
            show=False,
        ),
        Binding(
            "e", "to_error(1)", "error", id="timeline.next-error", tooltip="To the next failed tool result", show=False
        ),
        Binding(
            "E",
            "to_error(-1)",
            "error",
            id="timeline.previous-error",
            tooltip="To the last failed tool result",
            show=False,
        ),
        Binding("ctrl+z", "undo", "undo", id="plan.undo", tooltip="Take back the last change of the plan"),
        Binding("ctrl+y,ctrl+shift+z", "redo", "redo", id="plan.redo", tooltip="Make it again", show=False),
        Binding("plus", "add_strategy", "add", id="plan.add", tooltip="Add a strategy to the plan"),
        Binding("r", "ask_runs", "runs", id="cost.runs", tooltip="Say how many such sessions run in a day", show=False),
        Binding("tab", "pane(1)", "pane", id="pane.next", tooltip="The next part of the screen", show=False),
        Binding("shift+tab", "pane(-1)", "pane", id="pane.previous", tooltip="The part before", show=False),
        Binding(
            "escape", "leave", "leave", id="app.leave", tooltip="Stop counting; close the plan's drawer", show=False
        ),
        Binding("q", "app.quit", "quit", id="app.quit", tooltip="Leave inspector"),
    ]

    header = query_one(SessionHeader)
    timeline = query_one(Timeline)
    panel = query_one(PlanPanel)
    cost = query_one(CostBar)
    status = query_one(StatusBar)

    _notice_timer: Timer | None = None

    def compose(self) -> ComposeResult:
        """The parts, from the top."""
        yield SessionHeader()
        yield Static(Content(""), id="chart", classes="section", markup=False)
        with Horizontal(id="main"):
            with Vertical(id="left"):
                yield Timeline(id="timeline", classes="section")
                yield Static(Content(""), id="detail", classes="section", markup=False)
            yield PlanPanel(id="plan", classes="section")
        yield CostBar(id="cost", classes="section")
        yield StatusBar()

    def on_mount(self) -> None:
        """Name the parts, then read the file once the first frame is drawn."""
        titles = {"#chart": "Context", "#timeline": "Timeline", "#detail": "Detail", "#plan": "Plan", "#cost": "Cost"}
        for selector, title in titles.items():
            self.query_one(selector).border_title = Content(title)
        self.header.heading = Heading(self.path.stem)
        self.timeline.logarithmic = self.settings.log_scale
        self.set_interval(1, self._tick)
        self.call_after_refresh(self.open_file)

    def _tick(self) -> None:
        self.header.now = time()

    def show_progress(self, what: str, fraction: float | None, stop: str = "") -> None:
        """In the status line."""
        self.status.progress = None if fraction is None else Progress(what, fraction, stop)

    def show_notice(self, notice: str, *, is_problem: bool = False) -> None:
        """In the status line for a while; a problem as a toast too."""
        self.status.notice = notice
        if self._notice_timer is not None:
            self._notice_timer.stop()
        self._notice_timer = self.set_timer(SECONDS_OF_NOTICE, self._forget_notice)
        if is_problem:
            self.notify(one_line(notice), severity="error", markup=False)

    def _forget_notice(self) -> None:
        self.status.notice = ""

    def show_failure(self, reason: str) -> None:
        """In place of the timeline."""
        self.show_notice(reason, is_problem=True)

    def show_plan(self) -> None:
        """In the panel."""
        if self.plan is not None:
            self.run_worker(self.panel.show(self.plan), group="panel", exit_on_error=False)

    def show_session(self) -> None:
        """Rows, counts and facts."""
        session, rows, table = self.session, self.rows, self.table
        if session is None or rows is None:
            return
        self._show_heading()
        self._show_timeline()

    def show_outcome(self) -> None:
        """Bars, effects and costs."""
        outcome = self.outcome
        if outcome is None:
            return
        self._show_timeline()
        self.panel.show_outcomes(outcome.replay.groups)
        self.cost.summary = summarise(outcome.baseline, outcome.replay, self.settings.runs_per_day)
        self._show_heading()

    def _show_timeline(self) -> None:
        from inspector.ui.timeline_view import TimelineView

        outcome, rows, table = self.outcome, self.rows, self.table
        if rows is None or table is None:
            return
        if outcome is None:
            self.timeline.view = TimelineView(rows, table.tokens)
        else:
            replay, call = outcome.replay, outcome.state.call
            known = replay.figures.prompt_tokens.known.value
            reason = partial(_reason, replay, call)
            self.timeline.view = TimelineView(rows, table.tokens, outcome.state, reason, known)
        view = self.timeline.view
        self.status.standing = Standing(
            self.timeline.follow, view.count, view.hidden, self.session.skipped_records if self.session else 0
        )

    def _show_heading(self) -> None:
        session = self.session
        if session is None:
            return
        last = session.calls[-1] if session.calls else None
        self.header.heading = Heading(
            title=session.title or session.identifier or self.path.stem,
            model=last.model if last is not None else "",
            window=session.window,
            messages=len(session.messages),
            calls=len(session.calls),
            tokens="",
            state=self.state,
            changed=None,
        )

    def action_call(self, step: int) -> None:
        """Look at another call."""
        if self.outcome is None or self.history is None:
            return
        count = self.history.call_count
        here = count if self.call is None else self.call
        there = min(max(here + step, 0), count)
        self.look_at(None if there == count else there)

    def look_at(self, call: int | None) -> None:
        """Show everything as of a call; None for the next one, not yet made."""
        outcome, history = self.outcome, self.history
        self.call = call
        if outcome is None or history is None:
            return
        looked_at = outcome.replay.history.call_count if call is None else call
        self.outcome = replace(outcome, state=outcome.replay.state(min(looked_at, outcome.replay.history.call_count)))
        self.show_outcome()

    def action_now(self) -> None:
        """Back to the present."""
        self.look_at(None)
        self.timeline.follow = True

    def action_to_changed(self, step: int) -> None:
        """To another row the plan changed."""
        if self.timeline.view is not None:
            self.timeline.move_among(self.timeline.view.changed_positions, step)

    def action_to_boundary(self, step: int) -> None:
        """To another compaction."""
        if self.timeline.view is not None:
            self.timeline.move_among(self.timeline.view.boundary_positions, step)

    def action_to_error(self, step: int) -> None:
        """To another failed tool result."""
        if self.timeline.view is not None:
            self.timeline.move_among(self.timeline.view.error_positions, step)

    def action_plan(self) -> None:
        """To the plan and back; on narrow screens its drawer opens and closes."""
        if self.focused is not None and self.panel in self.focused.ancestors_with_self:
            self.remove_class("-plan-open")
            self.timeline.focus()
        else:
            self.add_class("-plan-open")
            self.panel.focus_control()


def _reason(replay: Replay, call: int, block: int) -> str:
    return replay.reason(block, call)
