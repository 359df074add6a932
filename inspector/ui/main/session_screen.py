"""The data side of the main screen: which workers run, and what their messages change.

Bytes become a session, a session token counts, counts a replay; a changed plan enters at the replay alone. Every
fact has one handler. What is shown, and how, is the subclass's: it implements what `SessionShown` names.
"""

from __future__ import annotations

from functools import partial
from time import monotonic, time
from typing import TYPE_CHECKING

from textual import on
from textual.worker import Worker, WorkerState, get_current_worker

from inspector.ui.controller.counting import Counting
from inspector.ui.controller.messages import (
    FileChanged,
    LoadFailed,
    LoadProgress,
    ReplayReady,
    SessionAppended,
    SessionAwaited,
    SessionLoaded,
    TokensCounted,
    WorkFailed,
)
from inspector.ui.main.session_shown import SessionShown
from inspector.ui.performance.frame_batching import FRAME, hold_painting, in_one_frame
from inspector.ui.performance.mouse_throttle import take_newest_move
from inspector.ui.performance.partial_compositor import ChangedWidgetsCompositor
from inspector.ui.plan.history import PlanHistory

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from inspector.replay.analysis.forecast import RunProjection
    from inspector.replay.analysis.reuse import ReuseScan
    from inspector.replay.assumptions import Assumptions
    from inspector.session.follow import Follower
    from inspector.session.model import Session
    from inspector.strategies.history.history import History
    from inspector.strategies.plan import Plan
    from inspector.tokens.token_table import TokenTable
    from inspector.ui.outcome import Outcome
    from inspector.ui.plan.risks import Risks
    from inspector.ui.settings import Settings
    from inspector.ui.timeline.rows import Rows

SECONDS_UNTOLD = 0.15
"""A replay that takes longer is told."""
SECONDS_TO_STAND = 0.06
"""A plan that lasts as long is judged; the next of many changes comes sooner, and would be held up."""
SECONDS_TO_IDLE = 300
"""A file left alone for longer is followed all the same, but not opened at its end."""
SECONDS_BETWEEN_COUNTED_REPLAYS = 0.5


class SessionScreen(SessionShown):
    """Holds one session and everything known about it.

    Attributes:
        path: The session's file.
        session: What was read; None before anything was.
        history: Its columns.
        rows: Its rows.
        table: Its token counts, estimated at first.
        plans: The plan, with what it was before.
        given_terms: What calls are priced and served as; None for as they were recorded.
        outcome: The newest replay; None before the first.
        projection: How far its saving over many runs may be off; None while unknown.
        risks: What may go wrong with it; None while unknown.
        call: The call looked at; None for the next one, not yet made.
        state: How the file stands: `loading`, `waiting`, `live`, `vanished`, `replaced`, `unreadable`, `failed`, or why
            it is not followed.
        failure: Why the file cannot be read; empty where it can.
        changed: Seconds since the epoch of the file's last change, None while unknown.
        counting: How far counting its tokens has come.
    """

    def __init__(self, path: Path, settings: Settings, plan: Plan | None = None) -> None:
        super().__init__()
        self.path = path
        self.settings = settings
        self.session: Session | None = None
        self.history: History | None = None
        self.rows: Rows | None = None
        self.table: TokenTable | None = None
        self.plans: PlanHistory | None = None
        self.given_terms: Assumptions | None = None
        self.outcome: Outcome | None = None
        self.projection: RunProjection | None = None
        self.risks: Risks | None = None
        self._uses_search: ReuseScan | None = None
        self.call: int | None = None
        self.state = "loading"
        self.failure = ""
        self.changed: float | None = None
        self.counting = Counting.NONE
        self._given_plan = plan
        self._opening = 0
        self._wanted = 0
        self._shown = 0
        self._is_replaying = False
        self._replayed: Outcome | None = None
        self._is_advised = False
        self._replay_started = 0.0
        self._compositor = ChangedWidgetsCompositor()

    def _work(self, work: Callable[[], None], group: str, description: str) -> None:
        """Run something in a thread. A newer run of a group calls off the one before it."""
        self.run_worker(work, group=group, description=description, exclusive=True, thread=True, exit_on_error=False)

    def forget(self, path: Path) -> None:
        """Know nothing any more, and of another file."""
        for group in ("open", "count", "replay", "follow", "judge", "search"):
            self.workers.cancel_group(self, group)
        self.path = path
        self.session = self.history = self.rows = self.table = None
        self.plans = self.outcome = self._replayed = self.projection = self.risks = self.call = self._uses_search = None
        self.changed = None
        self.counting = Counting.NONE
        self._is_replaying = self._is_advised = False
        self._given_plan = None
        self._shown = self._wanted

    def open_file(self) -> None:
        """Read the file from the beginning."""
        self._opening += 1
        self.state = "loading"
        generation, plan, path = self._opening, self._given_plan, self.path

        def work() -> None:
            from inspector.ui.controller import jobs

            _prepare_widgets()
            worker = get_current_worker()
            jobs.read_session(path, plan, generation, self.post_message, lambda: worker.is_cancelled)

        self._work(work, "open", f"read {path.name}")

    @on(LoadProgress)
    def _load_progress(self, message: LoadProgress) -> None:
        if message.generation == self._opening:
            self.show_progress("reading", message.done / message.total if message.total else 0.0)

    @on(SessionAwaited)
    def _session_awaited(self, message: SessionAwaited) -> None:
        if message.generation == self._opening:
            self.state, self.failure = "waiting", f"{self.path}: {message.reason}"
            self.show_progress("reading", None)
            self.show_waiting(message.reason)

    @on(LoadFailed)
    def _load_failed(self, message: LoadFailed) -> None:
        if message.generation == self._opening:
            self.state, self.failure = "failed", message.reason
            self.show_progress("reading", None)
            self.show_failure(message.reason, is_folder=message.is_folder)

    @on(SessionLoaded)
    async def _session_loaded(self, message: SessionLoaded) -> None:
        if message.generation != self._opening:
            return
        self._take(message.session, message.history, message.rows)
        self.table = message.table
        if message.plan is not None and self.plans is None:
            self.plans = PlanHistory(message.plan)
        await self.show_session()
        self.show_plan()
        if message.follower is not None:
            self.show_progress("reading", None)
            self.state = message.follower.state
            self.changed = message.changed
            if message.kept is not None:
                self.restore(message.kept)
            await self.show_session()
            self.begin_at(is_live=self.changed is not None and time() - self.changed < SECONDS_TO_IDLE)
            self.count_tokens()
            self.request_replay()
            self._follow(message.follower)

    def _take(self, session: Session, history: History, rows: Rows) -> None:
        self.session, self.history, self.rows = session, history, rows

    def count_tokens(self) -> None:
        """Count what was not counted yet."""
        session, previous, generation = self.session, self.table, self._opening
        if session is None:
            return

        def work() -> None:
            from inspector.ui.controller import jobs

            worker = get_current_worker()
            jobs.count_tokens(session, previous, generation, self.post_message, lambda: worker.is_cancelled)

        self.counting = Counting.AWAITING
        self._work(work, "count", "count tokens")

    def stop_counting(self) -> None:
        """Leave the rest of the session estimated."""
        self.workers.cancel_group(self, "count")
        self.counting = Counting.NONE
        self.show_progress("counting", None)

    @on(TokensCounted)
    async def _tokens_counted(self, message: TokensCounted) -> None:
        if message.generation != self._opening:
            return
        if message.session is not self.session:
            if self.counting is Counting.OUTDATED:
                self.table = message.table
                self.count_tokens()
            return
        self.table = message.table
        self.counting = Counting.NONE if message.is_final else Counting.UNDER_WAY
        self.show_progress("counting", None if message.is_final else message.fraction, "esc stops")
        advice = message.table.counter.advice
        if message.is_final and advice and not self._is_advised:
            self._is_advised = True
            self.show_notice(advice)
        if message.is_final or monotonic() - self._replay_started > SECONDS_BETWEEN_COUNTED_REPLAYS:
            await self.show_session()
            self.request_replay()

    @property
    def is_counting(self) -> bool:
        """Whether tokens are being counted."""
        return self.counting is not Counting.NONE

    @property
    def is_replaying(self) -> bool:
        """Whether what is shown is of an earlier plan."""
        return self._is_replaying

    def request_replay(self) -> None:
        """Have the plan replayed: at once, or when the one under way is on the screen; at most once a frame."""
        self._wanted += 1
        self._replay_newest()

    def _replay_newest(self) -> None:
        if not self._is_replaying:
            self._is_replaying = True
            wait = FRAME - (monotonic() - self._replay_started)
            if wait > 0:
                self.set_timer(wait, self._start_replay)
            else:
                self._start_replay()

    def _start_replay(self) -> None:
        history, table, plans = self.history, self.table, self.plans
        if history is None or table is None or plans is None or table.session is not history.session:
            self._is_replaying = False
            return
        self._replay_started = monotonic()
        plan, call, earlier, generation = plans.plan, self.call, self._replayed, self._wanted
        terms = self.given_terms

        def work() -> None:
            from inspector.ui.controller import jobs

            jobs.replay_plan(history, table, plan, call, earlier, generation, self.post_message, terms)

        self._work(work, "replay", "replay the plan")
        self.set_timer(SECONDS_UNTOLD, partial(self._tell_replay, generation))

    def _tell_replay(self, generation: int) -> None:
        if self._is_replaying and generation > self._shown:
            self.show_replaying(is_replaying=True)

    @on(ReplayReady)
    async def _replay_ready(self, message: ReplayReady) -> None:
        is_of_this = message.outcome.inputs.history.session.path == self.path
        if is_of_this:
            self._replayed = message.outcome
        async with in_one_frame(self):
            self.show_replaying(is_replaying=False)
            if message.generation > self._shown and is_of_this:
                self._shown = message.generation
                self.outcome, self.projection, self.risks = message.outcome, None, None
                self.show_outcome()
        # Threads that take turns hold each other up: what is next is worked out once this is painted.
        self.call_after_refresh(self._replay_painted, message.generation)
        if message.generation == self._wanted:
            self.set_timer(SECONDS_TO_STAND, partial(self._judge_newest, message.outcome))

    async def _replay_painted(self, generation: int) -> None:
        await take_newest_move(self)
        self._is_replaying = False
        if generation != self._wanted:
            self._replay_newest()

    def _judge_newest(self, outcome: Outcome) -> None:
        if self.outcome is outcome and not self._is_replaying:
            self.judge(outcome)

    def judge(self, outcome: Outcome) -> None:
        """Find out what a plan that stands for the moment is about, and what it may lead to."""
        raise NotImplementedError

    def uses_search(self, history: History) -> ReuseScan:
        """What finds where the session used again what its tool results said, in this state of it or one like it."""
        from inspector.replay.analysis.reuse import ReuseScan

        if self._uses_search is None or not self._uses_search.serves(history):
            self._uses_search = ReuseScan(history)
        return self._uses_search

    def change_plan(self, plan: Plan, *, merge: str = "") -> None:
        """Take another plan; see `PlanHistory.changed` for `merge`."""
        if self.plans is not None:
            self.take_plans(self.plans.changed(plan, merge=merge))

    def action_undo(self) -> None:
        """Take the last change of the plan back."""
        if self.plans is not None:
            self.take_plans(self.plans.undone())

    def action_redo(self) -> None:
        """Make the change taken back again."""
        if self.plans is not None:
            self.take_plans(self.plans.redone())

    def take_plans(self, plans: PlanHistory) -> None:
        """Use a plan with what it was before."""
        before, self.plans = self.plans, plans
        if before is None or before.plan != plans.plan:
            # What is found out about the plan before would only hold this one up.
            self.workers.cancel_group(self, "judge")
            hold_painting(self)
            self.show_plan()
            self.request_replay()

    def _follow(self, follower: Follower) -> None:
        history, rows, generation = self.history, self.rows, self._opening
        if history is None or rows is None:
            return

        def work() -> None:
            from inspector.ui.controller import jobs

            worker = get_current_worker()
            jobs.follow_session(follower, history, rows, generation, self.post_message, lambda: worker.is_cancelled)

        self._work(work, "follow", f"follow {self.path.name}")

    @on(SessionAppended)
    async def _session_appended(self, message: SessionAppended) -> None:
        if message.generation != self._opening:
            return
        self._take(message.session, message.history, message.rows)
        self.changed = message.changed
        if message.is_new:
            self.table = self.outcome = self._replayed = self.call = None
        async with in_one_frame(self):
            await self.show_session()
        message.shown.set()
        # A session that grows quickly would call every count off before its tokenizer is there.
        if self.counting.awaits_tokenizer and not message.is_new:
            self.counting = Counting.OUTDATED
        else:
            self.call_after_refresh(self._count_newest, message.session)

    def _count_newest(self, session: Session) -> None:
        if self.session is session:
            self.count_tokens()

    @on(FileChanged)
    def _file_changed(self, message: FileChanged) -> None:
        if message.generation == self._opening:
            is_over = message.state == "live" != self.state
            self.state = message.state
            if message.notice:
                self.show_notice(message.notice, is_problem=message.state != "live", is_over=is_over)
            self.show_heading()

    @on(Worker.StateChanged)
    def _worker_changed(self, event: Worker.StateChanged) -> None:
        if event.state is WorkerState.ERROR:
            error = event.worker.error
            reason = str(error).splitlines()[0] if error is not None and str(error) else type(error).__name__
            if event.worker.group == "count":
                self.counting = Counting.NONE
                self.show_progress("counting", None)
            elif event.worker.group == "replay":
                self._is_replaying = False
                self.show_replaying(is_replaying=False)
            self.post_message(WorkFailed(event.worker.description, reason))

    @on(WorkFailed)
    def _work_failed(self, message: WorkFailed) -> None:
        self.show_notice(f"could not {message.what}: {message.reason}", is_problem=True)


def _prepare_widgets() -> None:
    """Import what the screen will show a session with, so that it need not."""
    import inspector.ui.chart.view
    import inspector.ui.chart.widget
    import inspector.ui.cost.summary
    import inspector.ui.detail.block
    import inspector.ui.detail.widget
    import inspector.ui.plan.panel
    import inspector.ui.timeline.widget  # noqa: F401  imported for the screen
