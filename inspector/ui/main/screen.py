"""The main screen: what fills the context, what a plan makes of it, and what that saves."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from math import isnan
from time import time
from typing import TYPE_CHECKING, ClassVar

from textual import on, work
from textual.app import SystemCommand
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.getters import query_one
from textual.message import Message

from inspector.safe_text import clip_cells, one_line
from inspector.ui import numbers
from inspector.ui.cost.bar import CostBar
from inspector.ui.help.keys import help_sections, key_hints
from inspector.ui.main.keys import INSPECT_BINDINGS
from inspector.ui.main.studying import Unopened
from inspector.ui.sessions.tabs import SessionTabs
from inspector.ui.settings import MOST_RUNS
from inspector.ui.toolkit.header import Heading, SessionHeader
from inspector.ui.toolkit.pane import Pane, Placeholder, Word, entitle, subtitle
from inspector.ui.toolkit.status_bar import Progress, Standing, StatusBar

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from textual.app import ComposeResult
    from textual.binding import BindingType
    from textual.timer import Timer

SECONDS_OF_NOTICE = 6.0
LONGEST_IDENTIFIER = 18
LEAST_RESIDUAL = 0.001
"""A fit is never said to be better than to a tenth of a percent, which is what is written of it."""


class InspectScreen(Unopened):
    """One session: context chart, timeline, detail, plan and cost."""

    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (100, "-normal"), (160, "-wide")]  # noqa: RUF012  as Textual declares it
    VERTICAL_BREAKPOINTS = [(0, "-short"), (32, "-medium"), (50, "-tall")]  # noqa: RUF012  as Textual declares it
    AUTO_FOCUS = ""
    BINDINGS: ClassVar[list[BindingType]] = INSPECT_BINDINGS

    header = query_one(SessionHeader)
    cost = query_one(CostBar)
    status = query_one(StatusBar)

    _notice_timer: Timer | None = None
    _tells_problem = False

    def compose(self) -> ComposeResult:
        """The parts, from the top."""
        yield SessionTabs()
        yield SessionHeader()
        yield Pane("Context", id="chart-pane")
        with Horizontal(id="main"):
            with Vertical(id="left"):
                yield Pane("Timeline", Placeholder(), id="timeline-pane")
                yield Pane("Detail", id="detail-pane")
            yield Pane("Plan", id="plan-pane")
        yield CostBar(id="cost", classes="section")
        yield StatusBar()

    def on_mount(self) -> None:
        """Say what is being opened, and open it once the first frame is drawn."""
        self.cost.border_title = Content("Cost")
        self.header.heading = Heading(self.path.stem)
        self.say_instead(Word(f"opening {self.path.name}"))
        self.set_interval(1, self._tick)
        self.bindings_updated_signal.subscribe(self, self._show_keys)
        self.call_after_refresh(self.open_file)

    @dataclass
    class BesideWanted(Message):
        """A session that belongs to this one should be opened beside it."""

        path: Path

    def open_beside(self, path: Path) -> None:
        """Ask for another session beside this one."""
        self.post_message(self.BesideWanted(path))

    def open_another(self, path: Path) -> None:
        """Open another session in place of this one."""
        self.keep_state_now()
        self.forget(path)
        self.forget_place()
        self.cost.summary = None
        self.header.heading = Heading(path.stem)
        self.say_instead(Word(f"opening {path.name}"))
        self.open_file()

    def _tick(self) -> None:
        self.header.now = time()

    def _show_keys(self, _: object = None) -> None:
        self.status.keys = key_hints(help_sections(self.app))

    def show_progress(self, what: str, fraction: float | None, stop: str = "") -> None:
        """In the status line; while nothing was read yet, where the rows will be."""
        self.status.progress = None if fraction is None else Progress(what, fraction, stop)
        if self.session is None and fraction is not None:
            self.say_instead(Word(f"{what} {self.path.name}", fraction=fraction))

    def show_notice(self, notice: str, *, is_problem: bool = False, is_over: bool = False) -> None:
        """In the status line for a while; a problem as a toast too, and no lesser notice takes its place."""
        if is_problem:
            self.notify(one_line(notice), severity="error", markup=False)
        elif self._tells_problem and not is_over:
            return
        self._tells_problem = is_problem
        self.status.tell(notice, is_problem=is_problem)
        if self._notice_timer is not None:
            self._notice_timer.stop()
        self._notice_timer = self.set_timer(SECONDS_OF_NOTICE, self._forget_notice)

    def _forget_notice(self) -> None:
        self.status.tell("")
        self._tells_problem = False

    def show_waiting(self, reason: str) -> None:
        """In place of the rows."""
        lines = (f"{reason}; it opens as soon as an agent writes it", "", "o lists sessions, q leaves")
        self.say_instead(Word(f"waiting for {self.path.name}", lines))
        self.show_heading()
        self.refresh_bindings()

    def show_failure(self, reason: str, *, is_folder: bool = False) -> None:
        """In place of the rows. A folder is no failure: its sessions are listed."""
        if is_folder:
            self.run_worker(self.app.run_action("app.sessions"), group="dialog")
        self.say_instead(Word("this cannot be opened", (reason, "", "o lists sessions, q leaves"), is_problem=True))
        self.show_heading()
        self.refresh_bindings()

    def show_plan(self) -> None:
        """In the panel."""
        if self.plan is not None and self.panel is not None:
            self.panel.show_soon(self.plan)
            entitle(self.query_one("#plan-pane", Pane), self.plan_title)
            self.cost.plan_name = f"plan {self.plan_letter}"

    async def show_session(self) -> None:
        """Rows, counts and facts."""
        if self.rows is None:
            return
        await self.show_parts()
        empty = Word("there is nothing in this session yet", ("Rows appear as the agent writes them.",))
        self.say_instead(None if len(self.rows) else empty)
        self.cost.waiting_for = "tokens are being counted, then every call is replayed…" if len(self.rows) else ""
        self.show_timeline()
        self.show_detail()
        self.show_heading()
        self.show_standing()
        self.search()

    def show_outcome(self) -> None:
        """Bars, effects and costs."""
        outcome = self.outcome
        if outcome is None:
            return
        self.show_chart()
        self.show_timeline()
        self.show_detail()
        if self.panel is not None:
            self.panel.show_outcomes(outcome.replay.groups)
        self.show_costs()
        self.show_heading()
        self.show_how_known()
        self.follow_outcome()
        self.outcome_changed.publish(outcome)

    def show_how_known(self) -> None:
        """In the frames: prompts are the provider's or fitted to it, rows are counted."""
        outcome, table = self.outcome, self.table
        if outcome is None or table is None:
            return
        counter = f" ({table.counter.name})" if table.counter.is_exact_tokenizer else " of characters"
        subtitle(self.query_one("#timeline-pane", Pane), f"tokens by our count{counter}, estimated")
        subtitle(self.query_one("#plan-pane", Pane), "tokens by our count, estimated")

    def show_replaying(self, *, is_replaying: bool) -> None:
        """In the frame of the costs."""
        subtitle(self.cost, "replaying…" if is_replaying else "")

    def show_risks(self) -> None:
        """Below the plan."""
        if self.panel is not None:
            risks = self.risks
            is_final = risks is None or risks.needed is not None
            self.panel.show_findings(() if risks is None else risks.lines(), is_final=is_final)

    def show_costs(self) -> None:
        """Figures, each with how it is known."""
        from inspector.ui.cost.summary import summarise

        outcome = self.outcome
        if outcome is not None:
            runs = self.settings.runs_per_day
            self.cost.summary = summarise(outcome, runs, self.projection, self.given_terms, self.call)

    def show_standing(self) -> None:
        """In the status line."""
        view, session = self.view, self.session
        if view is not None and session is not None and self.parts is not None:
            follows = self.parts.timeline.follow
            new = self.parts.timeline.new_rows
            counts = (view.count, view.hidden, session.skipped_records, new)
            self.status.standing = Standing(follows, *counts, *self.moment_told())

    def show_heading(self) -> None:
        """In the first line."""
        session = self.session
        if session is None:
            self.header.heading = Heading(self.path.stem, state=self.state)
            return
        last = session.calls[-1] if session.calls else None
        window = None if self.outcome is None else self.outcome.inputs.window
        self.header.heading = Heading(
            title=session.title or clip_cells(one_line(session.identifier or self.path.stem), LONGEST_IDENTIFIER),
            model=last.model if last is not None else "",
            window=session.window if window is None else window.size,
            window_is_exact=window is None or window.tokens.known.value == "exact",
            messages=len(session.messages),
            calls=len(session.calls),
            tokens=self.tokens_known(),
            state=self.state,
            changed=self.changed,
        )

    def on_timeline_highlighted(self) -> None:
        """The cursor is on another block."""
        self.show_detail()
        self.show_place()
        if self.session is not None and self.session.links:
            self.refresh_bindings()

    def on_timeline_follow_changed(self) -> None:
        """Following was turned on or off; whoever follows looks at the present."""
        if self.parts is not None and self.parts.timeline.follow and self.call is not None:
            self.look_at(None)
        self.show_standing()

    def tokens_known(self) -> str:
        """How tokens are known, in a few words."""
        table, outcome = self.table, self.outcome
        if table is None:
            return ""
        if self.is_counting:
            return "tokens estimated so far"
        if not table.counter.is_exact_tokenizer:
            return "tokens estimated"
        if outcome is None:
            return f"tokens {table.counter.name}"
        scale = outcome.inputs.scale
        if scale.known.value != "calibrated" or isnan(scale.calibration.residual):
            return f"tokens {scale.known.value}"
        return f"tokens calibrated ±{numbers.percent(max(scale.calibration.residual, LEAST_RESIDUAL))}"

    def action_plan(self) -> None:
        """To the plan and back; on narrow screens its drawer opens and closes."""
        if self.panel is None:
            return
        if self._is_in(self.panel):
            self.remove_class("-plan-open")
            self._focus_rows()
        else:
            self.add_class("-plan-open")
            self.panel.focus_control()

    def action_pane(self, step: int) -> None:
        """The focus to another part of the screen."""
        panes = self.panes()
        if panes:
            here = next((place for place, pane in enumerate(panes.values()) if self._is_in(pane)), -step)
            self.focus_pane(list(panes)[(here + step) % len(panes)])

    def focus_of_explanation(self) -> tuple[str, int]:
        """Which part of the screen has the cursor, and on which block it is, -1 for none."""
        if self.parts is not None and self._is_in(self.parts.chart):
            return "chart", -1
        if self.panel is not None and self._is_in(self.panel):
            return "plan", -1
        if self.parts is None or self._is_in(self.cost):
            return "cost", -1
        return "timeline", self.parts.timeline.cursor_block

    def _focus_rows(self) -> None:
        if self.parts is not None:
            self.set_focus(self.parts.timeline)

    def action_leave(self) -> None:
        """Stop what can be stopped, or go back to the rows."""
        if self.is_counting:
            self.stop_counting()
            self.show_notice("counting stopped: the rest of the session stays estimated")
        elif self.find_bar is not None and self.find_bar.has_class("-open"):
            self.find_bar.action_close()
        elif self.zoomed:
            self.action_zoom()
        elif not self._is_in(self.query_one("#timeline-pane")):
            self.remove_class("-plan-open")
            self._focus_rows()

    @work(group="dialog", exclusive=True, description="ask for runs a day", exit_on_error=False)
    async def action_ask_runs(self) -> None:
        """Ask how many such sessions run in a day."""
        from inspector.ui.dialogs.value_dialog import ValueDialog

        text = "How many sessions like this one run in a day. What is saved a day and a month is projected from it."
        shown = f"{self.settings.runs_per_day:g}"
        answer = await self.app.push_screen_wait(ValueDialog("Runs a day", text, shown, problem_with_runs))
        if answer is not None:
            self.set_runs(float(answer.replace(",", "")))

    @work(group="dialog", exclusive=True, description="ask for a call", exit_on_error=False)
    async def action_ask_call(self) -> None:
        """Ask which call to look at."""
        from inspector.ui.dialogs.value_dialog import ValueDialog

        if self.history is None:
            return
        count = self.history.call_count
        text = f"A call from 1 to {count}; {count + 1} is the next one, not yet made."
        problem = partial(problem_with_call, count)
        answer = await self.app.push_screen_wait(ValueDialog("As of call", text, "", problem))
        if answer is not None:
            self.look_at(None if int(answer) > count else int(answer) - 1)

    @on(CostBar.RunsAsked)
    def _runs_asked(self) -> None:
        self.action_ask_runs()

    def commands(self) -> Iterable[SystemCommand]:
        """What the command palette offers here, as `noun: Verb`; only what applies now."""
        plans, plan = self.plans, self.plan
        if plans is not None and plan is not None:
            yield SystemCommand("plan: Add strategy", "Choose a strategy to add to the plan", self.action_add_strategy)
            other = "B" if self.plan_letter == "A" else "A"
            yield SystemCommand(f"plan: Swap for {other}", "Put this plan aside for another", self.action_swap_plan)
            yield SystemCommand("plan: Save as", "Save the plan under a name, or in a file", self.action_save_plan)
            yield SystemCommand("plan: Open", "Take a saved plan, a ready one, or a file", self.action_open_plan)
            if plan.strategies:
                text = "The plan as other agents' configuration"
                yield SystemCommand("plan: Export", text, self.action_export_plan)
            if self.rival is not None:
                yield SystemCommand("plan: Difference", "What A and B differ in", self.action_show_difference)
            if plans.past:
                yield SystemCommand("plan: Undo", "Take back the last change of the plan", self.action_undo)
            if plans.future:
                yield SystemCommand("plan: Redo", "Make the change again", self.action_redo)
            for index, entry in enumerate(plan.entries):
                verb = "Switch off" if entry.enabled else "Switch on"
                switch = partial(self.action_switch, index)
                yield SystemCommand(f"{entry.strategy.name}: {verb}", entry.strategy.title, switch)
        yield from self.study_commands()
        yield from self.related_commands()
        if self.outcome is not None:
            if self.call is not None:
                yield SystemCommand("call: Now", "Show everything as of now", self.action_now)
            yield SystemCommand("call: Go to", "Show everything as of one call", self.action_ask_call)
            yield SystemCommand("cost: Explain", "How the figures under the cursor came about", self.action_explain)
            yield SystemCommand("cost: Set runs a day", "What a saving comes to over many runs", self.action_ask_runs)
        if self.is_counting:
            yield SystemCommand("tokens: Stop counting", "Leave the rest estimated", self.stop_counting)
        yield SystemCommand("session: Read again", "Read the file from the beginning", self.open_file)


def problem_with_runs(text: str) -> str:
    """What is wrong with a number of runs a day; empty when nothing is."""
    try:
        runs = float(text.replace(",", ""))
    except ValueError:
        return f"{text!r} is no number"
    return "" if 0 < runs <= MOST_RUNS else f"a number above 0, at most {MOST_RUNS:,}"


def problem_with_call(count: int, text: str) -> str:
    """What is wrong with a call's number; empty when nothing is."""
    if text.isdecimal() and 1 <= int(text) <= count + 1:
        return ""
    return f"a number from 1 to {count + 1}"
