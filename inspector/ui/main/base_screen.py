"""The panes of one session's screen, what connects them, and when the screen's actions apply."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from textual.containers import Horizontal, Vertical
from textual.message import Message

from inspector.safe_text import one_line
from inspector.ui.actions.action import ACTIONS_BY_NAME, do
from inspector.ui.controller.host import Change, IsCancelled, Post
from inspector.ui.controller.session import SessionController
from inspector.ui.main.chart_pane import ChartPane
from inspector.ui.main.cost_pane import CostPane
from inspector.ui.main.detail_pane import DetailPane
from inspector.ui.main.plan_pane import PlanPane
from inspector.ui.main.restore_state import StateKeeper
from inspector.ui.main.session_pane import ActionLine, PaneFocus
from inspector.ui.main.timeline_pane import TimelinePane
from inspector.ui.part_names import BOUNDARY, CHART, COST, DETAIL, NUMBERED, PLAN, TIMELINE
from inspector.ui.performance.painting import after_frame, hold_painting, in_one_frame, paint_changed_widgets_only
from inspector.ui.session_screen import SessionScreen, heading_of
from inspector.ui.sessions.tabs import SessionTabs
from inspector.ui.toolkit.header import Heading, SessionHeader
from inspector.ui.toolkit.input_gate import take_newest_move
from inspector.ui.toolkit.pane import Pane, PlaceholderText
from inspector.ui.toolkit.single_result_screen import ScreenJobs, SingleResultScreen, open_over
from inspector.ui.toolkit.status_bar import StatusBar, StatusCounts, WorkProgress

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator
    from contextlib import AbstractAsyncContextManager
    from pathlib import Path

    from textual import events
    from textual.app import ComposeResult
    from textual.screen import Screen
    from textual.timer import Timer

    from inspector.session.model import Session, SessionLink
    from inspector.session.reading_process import ReadingProcess
    from inspector.settings import Settings
    from inspector.strategies.plan import Plan
    from inspector.ui.analysis_screen import AnalysisScreen, CloseResult
    from inspector.ui.detail.views import Shown
    from inspector.ui.help.palette import PaletteCommand
    from inspector.ui.reports import ReportWriter


class RelatedSessions:
    """Finds and opens the sessions linked to the row under the cursor."""

    def __init__(
        self, controller: SessionController, rows: TimelinePane, open_in_tab: Callable[[Path], object]
    ) -> None:
        self._controller = controller
        self._rows = rows
        self._open_in_tab = open_in_tab

    @property
    def are_there(self) -> bool:
        return self._controller.session is not None and bool(self._controller.session.links)

    @property
    def subagent(self) -> tuple[Session, SessionLink] | None:
        """The subagent under the cursor: the session that started it and the link to it; None if there is none."""
        session, view = self._controller.session, self._rows.view
        if session is None or view is None or not session.links:
            return None
        row = self._rows.timeline.cursor_row
        if row >= 0 and view.rows.subagent[row] >= 0:
            from inspector.ui.timeline.rows import started_at

            started = started_at(view.rows, row)
            return None if started is None else (started.session, started.link)
        block = self._rows.cursor_block
        if not 0 <= block < len(session.all_blocks):
            return None
        from inspector.session.related import subagent_of

        link = subagent_of(session, session.all_blocks[block].tool_call_id)
        return None if link is None else (session, link)

    @property
    def parent(self) -> SessionLink | None:
        """Link to the session that started this one; None if there is none."""
        session = self._controller.session
        if session is None or not session.links:
            return None
        from inspector.session.related import parent_of

        return parent_of(session)

    def open_subagent(self) -> None:
        if (subagent := self.subagent) is not None:
            self._open(*subagent)

    def open_parent(self) -> None:
        if self._controller.session is not None and (link := self.parent) is not None:
            self._open(self._controller.session, link)

    def _open(self, session: Session, link: SessionLink) -> None:
        def work(post: Post[Path | None], is_cancelled: IsCancelled) -> None:  # noqa: ARG001  short
            from inspector.session.related import locate

            post(locate(session, link))

        take = partial(self._located, link)
        description = "find a related session"
        self._controller.host.run(work, take, group="link", description=description)

    def _located(self, link: SessionLink, path: Path | None) -> None:
        if path is not None:
            self._open_in_tab(path)
        else:
            self._controller.host.show_notice(f"cannot find the file of {link.title or link.identifier}")

    def show_diagnostics(self, screen: Screen[Any]) -> None:
        """Show over a screen the detected format, the reasons for it, the file's content, and unreadable records."""
        session, path, width = self._controller.session, self._controller.path, max(screen.size.width - 12, 40)
        if session is None:
            self._controller.host.show_notice("nothing read yet")
            return

        def work(post: Post[str], is_cancelled: IsCancelled) -> None:  # noqa: ARG001  short
            from inspector.errors import SessionError
            from inspector.report.listings import reading_text
            from inspector.session.registry import detect

            try:
                post(reading_text(detect(path), session, width=width))
            except SessionError as error:
                post(error.message)

        def show(text: str) -> None:
            from inspector.ui.dialogs import DiagnosticsScreen

            open_over(screen, DiagnosticsScreen(text))

        self._controller.host.run(work, show, group="diagnostics", description="show how the file was read")


class ScreenHost(ScreenJobs):
    """Runs an open session on a screen; see `inspector.ui.controller.host.Host`."""

    def __init__(
        self,
        screen: Screen[Any],
        mount_rows: Callable[[], Awaitable[None]],
        mount_panes: Callable[[], Awaitable[None]],
        show_notice: Callable[[str, bool, bool], None],
    ) -> None:
        super().__init__(screen)
        self._make_rows = mount_rows
        self._mount_panes = mount_panes
        self._show_notice = show_notice

    def show_notice(self, notice: str, *, is_problem: bool = False, is_over: bool = False) -> None:
        """Show a notice; it may contain session text."""
        self._show_notice(notice, is_problem, is_over)

    async def mount_rows(self) -> None:
        """Mount the rows' widget."""
        await self._make_rows()

    async def mount_panes(self) -> None:
        """Mount the other panes."""
        await self._mount_panes()

    def later(self, seconds: float, do: Callable[[], Any]) -> Timer:
        """Call a function after a delay."""
        return self._screen.set_timer(seconds, do)

    def after_frame(self, do: Callable[[], Any]) -> None:
        """Call a function after the next complete frame."""
        after_frame(self._screen, do)

    def hold_frame(self) -> None:
        """Suspend painting until the next `one_frame`, for a few frames at most."""
        hold_painting(self._screen)

    def one_frame(self) -> AbstractAsyncContextManager[None]:
        """Paint all changes made within the context in one frame, including changes held back."""
        return in_one_frame(self._screen)

    async def take_newest_move(self) -> None:
        """Process the newest mouse move before anything else."""
        await take_newest_move(self._screen)

    def warm_up(self) -> None:
        """Import the modules that show rows."""
        import inspector.ui.timeline.widget  # noqa: F401  preloaded for the screen

    def warm_up_rest(self) -> None:
        """Import the modules that show the rest of a session."""
        import inspector.report.sentences
        import inspector.ui.chart.view
        import inspector.ui.chart.widget
        import inspector.ui.cost.summary
        import inspector.ui.detail.content
        import inspector.ui.detail.widget
        import inspector.ui.plan.panel  # noqa: F401  preloaded for the screen


NEEDS_CALLS = ("compare", "tune")
"""Analysis screens that need at least one call."""


ABOUT_STRATEGIES = "strategy enable disable switch compaction prune cut save cheaper cost expensive"
"""Search terms under which the command palette finds a strategy of the plan."""


class BaseInspectScreen(SessionScreen[None], SingleResultScreen[None]):
    """The screen of one session: context chart, timeline, detail, plan and cost. Each pane handles its own actions."""

    class SettingChanged(Message):
        """Posted when a setting changed and should be saved."""

        def __init__(self, name: str, value: float) -> None:
            super().__init__()
            self.name = name
            self.value = value

    class NewTabRequested(Message):
        """Posted when a related session should be opened in a new tab."""

        def __init__(self, path: Path) -> None:
            super().__init__()
            self.path = path

    controller: SessionController
    timeline: TimelinePane
    chart: ChartPane
    detail: DetailPane
    plan: PlanPane
    cost: CostPane
    pane_focus: PaneFocus
    kept: StateKeeper
    related: RelatedSessions

    def __init__(
        self,
        path: Path,
        settings: Settings,
        plan: Plan | None = None,
        *,
        saves_state: bool = True,
        process: ReadingProcess | None = None,
    ) -> None:
        """Initialize the screen of a session.

        Args:
            path: The session's file.
            settings: The user's settings.
            plan: The initial plan; None for the one last used on the session, or one that fits it.
            saves_state: Restore the session's screen state and save it again.
            process: A process that is already reading the file.
        """
        super().__init__()
        self.settings = settings
        self.jobs = host = ScreenHost(self, self._make_rows, self._mount_panes, self._show_notice)
        self.controller = controller = SessionController(
            path, host, plan, runs=settings.runs, saves_state=saves_state, process=process
        )
        self.timeline = TimelinePane(controller, logarithmic=settings.log_scale)
        self.chart = ChartPane(controller, self.timeline)
        self.detail = DetailPane(controller, self.timeline)
        self.plan = PlanPane(controller)
        self.cost = CostPane(controller, self.timeline)
        self.pane_focus = PaneFocus(self)
        self.kept = StateKeeper(controller, self.timeline, self.detail, self.pane_focus)
        self.related = RelatedSessions(controller, self.timeline, self.open_in_tab)
        self._shows_problem = self._shows_unopened = False
        self._hints: tuple[bool, ...] = ()
        self._awaited_study: tuple[str, AnalysisScreen | None] | None = None
        self._reports: ReportWriter | None = None
        paint_changed_widgets_only(self)
        controller.changes.listen(
            {
                Change.PROGRESS: self._show_progress,
                Change.STATE: self._show_state,
                Change.SESSION: self._show_facts,
                Change.READY: self._begin,
                Change.OUTCOME: self._show_outcome,
                Change.PLAN: self._show_plan,
                Change.COSTS: self._keep_runs,
                Change.CALL: self._show_call,
                Change.ANSWERS: self._show_answers,
                Change.SHOWN: self._show_counts,
            }
        )

    def compose(self) -> ComposeResult:
        yield SessionTabs()
        yield SessionHeader()
        yield self.chart
        yield ActionLine("do('call.now')", id="place-line")
        with Horizontal(id="main"):
            with Vertical(id="left"):
                yield self.timeline
                yield self.detail
            yield self.plan
        yield ActionLine("do('plan.show')", id="plan-line")
        yield self.cost
        yield StatusBar()

    def on_mount(self) -> None:
        """Show the file name and open the session after the first frame."""
        self._show_opening()
        after_frame(self, self.controller.open)

    def _show_opening(self) -> None:
        path = self.controller.path
        self.header.heading = Heading(path.stem)
        self.timeline.show_placeholder(PlaceholderText(f"opening {path.name}"))

    async def _make_rows(self) -> None:
        if self.pane_focus.parts:
            return
        await self.timeline.begin()
        self.pane_focus.parts = {TIMELINE: self.timeline}
        if self.focused is None:
            self.timeline.take_focus()

    async def _mount_panes(self) -> None:
        if PLAN in self.pane_focus.parts:
            return
        for part in (self.chart, self.detail, self.plan):
            await part.begin()
        self.pane_focus.parts = {
            TIMELINE: self.timeline,
            DETAIL: self.detail,
            PLAN: self.plan,
            COST: self.cost,
            CHART: self.chart,
        }

    def open_in_tab(self, path: Path) -> None:
        """Request another session in a new tab."""
        self.post_message(self.NewTabRequested(path))

    def open_another(self, path: Path) -> None:
        """Open another session in place of this one."""
        self.kept.save()
        self.controller.forget(path)
        self._show_opening()
        self.controller.open()

    def on_unmount(self) -> None:
        self.kept.save(is_last=True)

    def show_notice(self, notice: str, *, is_problem: bool = False, is_over: bool = False) -> None:
        """Show a notice in the status line for a while; problems also as a toast, not replaced by lesser notices.

        Args:
            notice: The text; may contain session text.
            is_problem: The notice reports a problem.
            is_over: The problem reported last is resolved.
        """
        if is_problem:
            self.notify(one_line(notice), severity="error", markup=False)
        elif self._shows_problem and not is_over:
            return
        self._shows_problem = is_problem
        super().show_notice(notice, is_problem=is_problem)

    def _show_notice(self, notice: str, is_problem: bool, is_over: bool) -> None:
        self.show_notice(notice, is_problem=is_problem, is_over=is_over)

    def forget_notice(self) -> None:
        super().forget_notice()
        self._shows_problem = False

    def _show_progress(self) -> None:
        """Show progress in the status line, and in place of the rows while nothing has been read."""
        progress = self.controller.progress
        self.status.progress = None if progress is None else WorkProgress(*progress)
        if progress is not None and self.controller.session is None:
            what, fraction, _ = progress
            self.timeline.show_placeholder(PlaceholderText(f"{what} {self.controller.path.name}", fraction=fraction))

    def _show_state(self) -> None:
        """Update the header; without a session show the reason in place of the rows. A folder lists its sessions."""
        controller = self.controller
        if controller.is_unopened and controller.state == "waiting":
            lines = (f"{controller.reason}; it opens as soon as an agent writes to it", "", "o lists sessions, q quits")
            self.timeline.show_placeholder(PlaceholderText(f"waiting for {controller.path.name}", lines))
        elif controller.is_unopened:
            if controller.is_folder:
                self.run_worker(self.app.run_action("app.sessions"), group="sessions")
            lines = (controller.reason, "", "o lists sessions, q quits")
            self.timeline.show_placeholder(PlaceholderText("cannot open this session", lines, is_problem=True))
        self._show_heading()
        if controller.is_unopened:
            self.refresh_bindings()

    def _show_facts(self) -> None:
        self._show_heading()
        self._show_counts()

    def _show_heading(self) -> None:
        self.header.heading = heading_of(self.controller)

    def _show_answers(self) -> None:
        self._show_heading()
        self._refresh_hints()

    def _show_counts(self) -> None:
        self._show_place()
        view, session = self.timeline.view, self.controller.session
        if view is not None and session is not None:
            rows = self.timeline.timeline
            from inspector.session.unknown_parts import unknown_parts

            unknown = unknown_parts(session).count
            self.status.counts = StatusCounts(rows.follow, session.skipped_records, rows.new_rows, unknown)

    def _begin(self) -> None:
        """Enable the session's keys once there is a session."""
        self._show_counts()
        if self._shows_unopened:
            self._shows_unopened = False
            self.show_notice("")
        self.refresh_bindings()

    def _show_outcome(self) -> None:
        self._show_heading()
        # Evaluating which keys apply takes a quarter of the time of the frame that shows the last key's effect.
        after_frame(self, self._refresh_hints)
        if self._awaited_study is not None:
            name, over = self._awaited_study
            if (over or self).is_active:
                self.study(name, over)

    def _show_call(self) -> None:
        self._show_heading()
        self._show_counts()
        self._refresh_hints()

    def _show_place(self) -> None:
        """Show in one line that an earlier call is selected, and how to return."""
        call = self.chart.selected_call
        self.set_class(bool(call), "-earlier")
        if call:
            pieces = (("◆ ", "key"), (call, "title"), (": all panes show this prompt · ", "text"), ("end", "key"))
            self.query_one("#place-line", ActionLine).pieces = (*pieces, (" returns to the newest", "text"))

    def _show_plan(self) -> None:
        """Open the plan next to the rows while a strategy is on; otherwise name its strategies in one line."""
        self._refresh_hints()
        plan = self.controller.plan
        line, is_on = self.query_one("#plan-line", ActionLine), plan is not None and bool(plan.strategies)
        # A class of the screen would restyle every widget.
        self.plan.set_class(is_on, "-on")
        line.set_class(is_on, "-on")
        if plan is not None:
            line.pieces = tuple(_plan_line(plan, self.controller.plan_title))

    def _refresh_hints(self) -> None:
        """Refresh the key hints if strategies, the selected call or the best plan changed which keys apply."""
        has_keys = (has_strategies(self), is_at_earlier_call(self), can_undo(self), has_best_with_none_on(self))
        if has_keys != self._hints:
            self._hints = has_keys
            self.refresh_bindings()

    def _keep_runs(self) -> None:
        runs = self.controller.runs_per_day
        if runs != self.settings.runs:
            self.settings = self.settings.with_value("runs_per_day", runs.number)
            self.post_message(self.SettingChanged("runs_per_day", runs.number))

    async def action_do(self, name: str) -> None:
        await do(self, name)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Disable keys without an effect."""
        if action != "do":
            return super().check_action(action, parameters)
        key = ACTIONS_BY_NAME[str(parameters[0])]
        if key.needs_session and self.controller.is_unopened:
            return False
        if key.name == "session.open-subagent":
            return self.related.subagent is not None
        return key.name != "session.open-parent" or self.related.parent is not None

    def on_key(self, event: events.Key) -> None:
        """Cancel a pending analysis screen, since the key is meant for the visible one; explain keys without effect."""
        self._awaited_study = None
        if self.controller.is_unopened and self._bindings.key_to_bindings.get(event.key):
            may_appear = self.controller.state == "waiting"
            way_out = "it opens as soon as an agent writes to it" if may_appear else "o opens one"
            self._shows_unopened = True
            # A key clears the previous notice only after this handler.
            self.call_next(self.show_notice, f"no session is open: {way_out}")

    def on_resize(self) -> None:
        """Update the timeline's title, which names the chart's marks where the chart has no frame."""
        after_frame(self, self.timeline.name_rows)

    def on_timeline_open_requested(self) -> None:
        """Open the row under the cursor: a subagent's session in a tab, any other row in the detail pane."""
        if self.timeline.subagent_place is not None:
            self.related.open_subagent()
        elif self.timeline.boundary is not None:
            # The text of a boundary is long.
            self.pane_focus.open_detail_zoomed()
        else:
            self.pane_focus.focus_pane(DETAIL)

    def read_as(self, shown: Shown) -> None:
        """Open the text of the row under the cursor in another form."""
        self.pane_focus.is_detail_open = True
        self.detail.show(shown)

    def on_timeline_highlighted(self) -> None:
        self.detail.show_block()
        self.chart.show_place()
        if self.related.are_there:
            self.refresh_bindings()

    def on_descendant_focus(self) -> None:
        self.pane_focus.note()

    def zoom(self, pane: str | None) -> None:
        if not self.pane_focus.zoom(pane):
            self.show_notice("only the timeline, the detail and the chart can be zoomed; focus one of them first")

    def on_pane_title_clicked(self, event: Pane.TitleClicked) -> None:
        self.zoom(event.pane.id)

    def leave(self) -> None:
        """Stop running work if there is any, otherwise return to the rows."""
        self._awaited_study = None
        find_bar = self.timeline.find_bar
        if self.controller.counting.is_under_way:
            self.controller.counting.stop()
            self.show_notice("counting stopped: the rest of the session stays estimated")
        elif self._reports is not None and self._reports.is_writing:
            self._reports.stop()
            self.show_notice("report canceled")
        elif self.chart.is_playing:
            self.chart.stop()
        elif find_bar is not None and find_bar.has_class("-open"):
            find_bar.action_close()
        elif self.pane_focus.zooms:
            self.pane_focus.end_zoom()
        elif (
            self.pane_focus.is_detail_open
            or self.focused is None
            or self.timeline not in self.focused.ancestors_with_self
        ):
            self.pane_focus.leave()

    def save_report(self) -> None:
        """Save a report of the session as shown."""
        self.run_dialog(self._report_writer().save(), "save a report")

    def open_page(self) -> None:
        self._report_writer().open_page()

    def _report_writer(self) -> ReportWriter:
        from inspector.ui.reports import ReportWriter

        if self._reports is None:
            self._reports = ReportWriter(self.app, self.controller)
        return self._reports

    def explain(self) -> None:
        part = next((name for name in (CHART, PLAN, COST) if self.pane_focus.is_in(name)), TIMELINE)
        block = self.timeline.cursor_block if part == TIMELINE and self.timeline.is_open else -1
        if part == TIMELINE and self.timeline.boundary is not None:
            part = BOUNDARY
        self.cost.explain(part if self.timeline.is_open else COST, block)

    def ask_call(self) -> None:
        self.run_dialog(self._ask_call(), "go to a call")

    async def _ask_call(self) -> None:
        from inspector.ui.dialogs import ValueDialog

        history = self.controller.history
        if history is None:
            return
        count = history.call_count
        text = f"A call from 1 to {count}, or {count + 1} for the next prompt."
        answer = await self.app.push_screen_wait(ValueDialog("Go to call", text, "", partial(problem_with_call, count)))
        if answer is not None:
            self.chart.go_to_call(int(answer) - 1)

    def study(self, name: str, over: AnalysisScreen | None = None) -> None:
        """Open an analysis screen of the session.

        Args:
            name: `compare`, `tune`, `composition`, `costs`, `misses` or `files`.
            over: The analysis screen it is opened from; None for the main screen.
        """
        outcome, asking = self.controller.outcome, over or self
        self._awaited_study = None
        if outcome is None:
            self._awaited_study = name, over
            asking.show_notice("still counting tokens; this opens when done, unless you press another key")
        elif name in NEEDS_CALLS and not outcome.replay.history.call_count:
            asking.show_notice("no calls yet, so there is nothing for a plan to change")
        else:
            study = self._study_of(name)
            study.open_analysis = self.study
            if over is None:
                self.open_over(study, self._study_left)
            else:
                over.open_above(study)

    def _study_of(self, name: str) -> AnalysisScreen:
        """Build an analysis screen. Each needs numpy and all strategies, so the import is late."""
        match name:
            case "compare":
                from inspector.ui.compare.screen import CompareScreen

                return CompareScreen(self.controller)
            case "composition":
                from inspector.ui.composition.screen import CompositionScreen

                return CompositionScreen(self.controller)
            case "costs":
                from inspector.ui.cost.screen import CostsScreen

                return CostsScreen(self.controller)
            case "misses":
                from inspector.ui.misses.screen import MissesScreen

                return MissesScreen(self.controller)
            case "files":
                from inspector.ui.files.screen import FilesScreen

                return FilesScreen(self.controller, self.timeline.session_block)
        from inspector.ui.plan.controls import LimitSlider
        from inspector.ui.plan.panel import StrategyToggle
        from inspector.ui.tune.screen import TuneScreen

        here = self.focused
        if isinstance(here, LimitSlider):
            return TuneScreen(self.controller, (here.entry, here.parameter.name))
        return TuneScreen(self.controller, (here.entry, "") if isinstance(here, StrategyToggle) else None)

    def _study_left(self, leaving: CloseResult | None) -> None:
        """Go to the block chosen in an analysis screen."""
        if leaving is not None and leaving.block is not None and self.timeline.is_open:
            self.timeline.timeline.focus()
            self.timeline.timeline.move_to_block(leaving.block, boundary=leaving.is_boundary)

    def commands(self) -> Iterator[PaletteCommand]:
        """Yield palette commands that have no key and apply now."""
        from inspector.ui.help.palette import PaletteCommand

        plans = self.controller.plans
        for index, entry in enumerate(() if plans is None else plans.plan.entries):
            title = f"Turn {entry.strategy.name} {'off' if entry.enabled else 'on'}"
            switch, key = partial(self.plan.switch, index), str(index + 1) if index < NUMBERED else ""
            yield PaletteCommand(title, entry.strategy.title, switch, key, ABOUT_STRATEGIES, "Plan")
        if self.controller.counting.is_under_way:
            stop = self.controller.counting.stop
            yield PaletteCommand("Stop counting tokens", "The rest stays estimated", stop, "esc")
        yield PaletteCommand(
            "Reload the session", "Reads its file from the beginning", self.controller.open, also="reload"
        )


def _plan_line(plan: Plan, title: str) -> Iterator[tuple[str, str]]:
    """Yield the pieces of the line that names a plan's strategies, each with the key that switches it."""
    yield title, "title"
    yield ("  " if plan.strategies else "  nothing is cut · "), "text"
    for number, entry in enumerate(plan.entries[:NUMBERED], start=1):
        yield f"{number}", "key"
        yield f" {entry.strategy.name}{' on' if entry.enabled else ''}  ", "text"
    yield "p", "key"
    yield " opens it", "text"


def problem_with_call(count: int, text: str) -> str:
    """Return the problem with a call number; empty if it is valid."""
    if text.isdecimal() and 1 <= int(text) <= count + 1:
        return ""
    return f"enter a number from 1 to {count + 1}"


def has_outcome(main: BaseInspectScreen) -> bool:
    """Return True if the session was replayed."""
    return main.controller.outcome is not None


def has_plan(main: BaseInspectScreen) -> bool:
    """Return True if there is a plan to change."""
    return main.controller.plans is not None


def has_strategies(main: BaseInspectScreen) -> bool:
    """Return True if a strategy of the plan is on."""
    return main.controller.plans is not None and bool(main.controller.plans.plan.strategies)


def has_none_on(main: BaseInspectScreen) -> bool:
    """Return True if no strategy of the plan is on."""
    return not has_strategies(main)


def has_best_with_none_on(main: BaseInspectScreen) -> bool:
    """Return True if no strategy is on and a plan is recommended."""
    found = main.controller.answers.best
    return has_none_on(main) and found is not None and found.recommended is not None


def shows_compare_hint(main: BaseInspectScreen) -> bool:
    """Return True if the cost pane shows no key for the comparison next to the best plan."""
    return not has_best_with_none_on(main)


def was_compacted_with_none_on(main: BaseInspectScreen) -> bool:
    """Return True if no strategy is on and the session was compacted."""
    session = main.controller.session
    return has_none_on(main) and session is not None and bool(session.compactions)


def can_undo(main: BaseInspectScreen) -> bool:
    """Return True if a change to the plan or to an assumption can be undone."""
    return main.controller.can_undo


def can_redo(main: BaseInspectScreen) -> bool:
    """Return True if an undone change can be redone."""
    return main.controller.can_redo


def has_other_plan(main: BaseInspectScreen) -> bool:
    """Return True if there is a second plan."""
    return main.controller.other_result is not None


def is_at_earlier_call(main: BaseInspectScreen) -> bool:
    """Return True if an earlier call is selected, not the next prompt."""
    return main.controller.call is not None


def has_session(main: BaseInspectScreen) -> bool:
    """Return True if a session was read."""
    return main.controller.session is not None


def has_none(main: BaseInspectScreen) -> bool:
    """Return True if no session could be opened."""
    return main.controller.is_unopened


def is_in_plan_to_undo(main: BaseInspectScreen) -> bool:
    """Return True if the plan has the focus and was changed."""
    return can_undo(main) and main.pane_focus.is_in(PLAN)


def is_in_plan(main: BaseInspectScreen) -> bool:
    return main.pane_focus.is_in(PLAN)


def has_strategies_or_is_in_plan(main: BaseInspectScreen) -> bool:
    return has_strategies(main) or is_in_plan(main)


def is_in_detail(main: BaseInspectScreen) -> bool:
    return main.pane_focus.is_in(DETAIL)


def is_in_cost(main: BaseInspectScreen) -> bool:
    return main.pane_focus.is_in(COST)
