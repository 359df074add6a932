"""An open session without a screen: its data, counts, replays and running work.

Bytes become a session, the session token counts, the counts a replay; a changed plan only needs a new replay. Views
listen for changes and read the attributes; no copies are passed around.
"""

from __future__ import annotations

from functools import partial
from time import time
from typing import TYPE_CHECKING, NamedTuple

from inspector.replay.assumptions import Assumptions, RunsPerDay
from inspector.session.files import is_live
from inspector.ui.controller import jobs
from inspector.ui.controller.answers import SpendingAnswers
from inspector.ui.controller.counting import Counting
from inspector.ui.controller.host import Change, ChangeListeners, Host, IsCancelled, Post, Stoppable
from inspector.ui.controller.jobs import (
    LoadFailed,
    LoadProgress,
    SessionAppended,
    SessionAwaited,
    SessionLoaded,
    SessionReady,
)
from inspector.ui.controller.replaying import Replaying
from inspector.ui.controller.subagents import SubagentAnswers, Subagents
from inspector.ui.plan.plans import LimitMove, PlanNames, Plans

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from inspector.replay.analysis.forecast import RunProjection
    from inspector.replay.analysis.reuse import ReuseScan
    from inspector.session.follow import Follower
    from inspector.session.model import Session
    from inspector.session.reading_process import ReadingProcess
    from inspector.strategies.core.parameters import ParameterValue
    from inspector.strategies.history.history import History
    from inspector.strategies.plan import Plan
    from inspector.tokens.token_table import TokenTable
    from inspector.ui.controller.jobs import Following, ProjectionReady, Reading
    from inspector.ui.controller.saved_state import SessionState
    from inspector.ui.outcome import Outcome
    from inspector.ui.plan.limits import PlanSizes
    from inspector.ui.plan.results import OtherPlan, Risks
    from inspector.ui.timeline.rows import Rows

SECONDS_TO_SETTLE = 1.0
"""Maximum pause between key presses on one control that are undone together."""


class TermsChange(NamedTuple):
    """A change to the assumptions.

    Attributes:
        place: Letter of the plan on the screen, and its number of earlier states.
        terms: Assumptions to return to.
    """

    place: tuple[str, int]
    terms: Assumptions | None


class SessionController:
    """An open session and everything computed from it.

    Attributes:
        path: The session's file.
        host: Runs its work and shows notices.
        session: The session as read so far; None before that.
        history: Its columns.
        rows: Its rows.
        table: Its token counts, estimated at first.
        changes: Notifies listeners of changed attributes.
        plans: Plans A and B with their history; None before there is one.
        move: The limit moved last, with the plan before; None after any other change.
        names: Names under which plans were saved or opened.
        sizes: Sizes of the results that each limit applies to; None while unknown.
        other_result: Result of the other plan; None if there is none or while unknown.
        answers: Spending and the best plan, while no strategy is on.
        subagents: Unfolded subagents with their own files.
        subagent_costs: Costs of all subagents, next to the session's own.
        runs_per_day: Number of such sessions per day.
        saves_state: Save the screen state.
        given_terms: Assumptions on prices and cache; None for the recorded ones.
        outcome: The latest replay, at the selected call; None before the first one.
        projection: Range of its savings over many runs; None while unknown.
        risks: Its risks; None while unknown.
        earlier_risks: Risks of the plan with the previous values of its limits, shown until they are known.
        call: The selected call; None for the next prompt.
        state: State of the file: `loading`, `waiting`, `live`, `vanished`, `replaced`, `unreadable`, `failed`, or the
            reason why it is not followed.
        failure: Reason without a session, for the command line; empty with one.
        reason: Reason without a session, for the screen.
        is_folder: The path is a folder that contains sessions.
        changed: Time of the last write in seconds since the epoch, None if unknown.
        kept: The saved state; None while unknown.
        is_opening: The session is being read, or counted for the first time.
        counting: Counts its tokens.
        progress: Name, fraction from 0 to 1, and stop hint of long work; None if there is none.
        replays: Replays the plan.
    """

    def __init__(
        self,
        path: Path,
        host: Host,
        plan: Plan | None = None,
        *,
        runs: RunsPerDay,
        saves_state: bool = True,
        process: ReadingProcess | None = None,
    ) -> None:
        """Initialize without reading the file.

        Args:
            path: The session's file.
            host: Runs its work.
            plan: The initial plan; None for the one last used on the session, or one that fits it.
            runs: Number of such sessions per day.
            saves_state: Restore the session's screen state and save it again.
            process: A process that is already reading the file.
        """
        self.host = host
        self.runs_per_day = runs
        self.saves_state = saves_state
        self.given_terms: Assumptions | None = None
        self.progress: tuple[str, float, str] | None = None
        self.reason = self.failure = ""
        self.is_folder = False
        self._given_plan = plan
        self._process = process
        self._settling: Stoppable | None = None
        self.changes = ChangeListeners()
        self.subagents = Subagents(host, self.changes)
        self.subagent_costs = SubagentAnswers(host, self.changes, lambda: self.is_being_written)
        self.answers = SpendingAnswers(host, self.changes, self.search_for_uses)
        self.replays = Replaying(self, self._take_outcome, self._assess)
        self.counting = Counting(self, self.replays)
        self._know_nothing(path)

    def _know_nothing(self, path: Path) -> None:
        self.path = path
        self._reading: Iterator[Reading | None] | None = None
        self.session: Session | None = None
        self.plans: Plans | None = None
        self.move: LimitMove | None = None
        self.sizes: PlanSizes | None = None
        self.other_result: OtherPlan | None = None
        self.names = PlanNames()
        self.history: History | None = None
        self.rows: Rows | None = None
        self.table: TokenTable | None = None
        self.outcome: Outcome | None = None
        self.projection: RunProjection | None = None
        self.risks: Risks | None = None
        self.earlier_risks: Risks | None = None
        self.call: int | None = None
        self.state = "loading"
        self.changed: float | None = None
        self.kept: SessionState | None = None
        self.is_opening = False
        self.counting.forget()
        self.replays.forget()
        self._uses_search: ReuseScan | None = None
        self._terms_before: list[TermsChange] = []
        self._terms_after: list[TermsChange] = []

    def _forget_figures(self) -> None:
        """Drop all results and cancel running work, because the session's blocks and calls have changed."""
        for group in ("replay", "assess", "measure", "explain"):
            self.host.stop(group)
        self.outcome = self._uses_search = None
        self.projection = self.risks = self.earlier_risks = self.other_result = self.call = None
        self.answers.forget()
        self.replays.forget()

    def forget(self, path: Path) -> None:
        """Reset for another file."""
        for group in ("open", "count", "replay", "follow", "assess", "measure", "explain", "report"):
            self.host.stop(group)
        self.subagents.forget()
        self.subagent_costs.forget()
        self.answers.forget()
        self._given_plan = None
        self._know_nothing(path)
        self.changes.publish(Change.FORGOTTEN)

    def open(self) -> None:
        for group in ("count", "follow"):
            self.host.stop(group)
        self.state = "loading"
        self.is_opening = True
        process, self._process = self._process, None
        self._read_on(jobs.read_session(self.path, self._given_plan, restores=self.saves_state, process=process))

    def _read_on(self, reading: Iterator[Reading | None], *, warms_up: bool = False) -> None:
        self._reading = reading
        self.host.run(
            partial(self._read, reading, warms_up),
            self._take_reading,
            group="open",
            description=f"read {self.path.name}",
            failed=self._reading_failed,
        )

    def _reading_failed(self) -> None:
        self.is_opening = False

    def _read(
        self, reading: Iterator[Reading | None], warms_up: bool, post: Post[Reading], is_cancelled: IsCancelled
    ) -> None:
        """Read in a thread, pausing at the first rows so that nothing delays their frame."""
        self.host.warm_up()
        if warms_up:
            self.host.warm_up_rest()
        for found in reading:
            if is_cancelled():
                return
            if found is None:
                continue
            if isinstance(found, SessionReady) or (isinstance(found, SessionLoaded) and found.shows_rest):
                self.host.warm_up_rest()
            post(found)
            if isinstance(found, SessionLoaded) and (found.is_first or found.is_whole):
                return

    async def _take_reading(self, result: Reading) -> None:
        match result:
            case LoadProgress(done=done, total=total):
                self.report_progress("reading", done / total if total else 0.0)
            case SessionAwaited(reason=reason):
                self.report_progress("reading", None)
                self.is_opening = False
                self.state, self.reason, self.failure = "waiting", reason, f"{self.path}: {reason}"
                self.changes.publish(Change.STATE)
            case LoadFailed(reason=reason, is_folder=is_folder):
                self.report_progress("reading", None)
                self.is_opening = False
                self.state, self.reason, self.failure, self.is_folder = "failed", reason, reason, is_folder
                self.changes.publish(Change.STATE)
            case SessionLoaded():
                await self._take_session(result)
            case SessionReady():
                await self._take_ready(result)

    async def _take_session(self, loaded: SessionLoaded) -> None:
        self.session, self.history, self.rows, self.table = loaded.session, loaded.history, loaded.rows, loaded.table
        await self.host.mount_rows()
        if loaded.shows_rest:
            await self.host.mount_panes()
        self.changes.publish(Change.SESSION)
        if self._reading is not None and (loaded.is_first or loaded.is_whole):
            self.host.after_frame(partial(self._continue_reading, self._reading, loaded))

    def _continue_reading(self, reading: Iterator[Reading | None], loaded: SessionLoaded) -> None:
        """Continue after the rows are painted. Counting runs in parallel to the remaining imports and mounts."""
        if self._reading is reading:
            if loaded.is_whole:
                self.counting.begin()
            self._read_on(reading, warms_up=loaded.is_read_elsewhere)

    async def _take_ready(self, ready: SessionReady) -> None:
        if self.plans is None:
            self.plans = Plans.begin(ready.plan)
        await self.host.mount_panes()
        self.report_progress("reading", None)
        self.state, self.changed, self.kept = ready.follower.state, ready.changed, ready.kept
        kept = ready.kept
        if kept.other is not None and kept.plan == self.plans.plan:
            self.plans = self.plans.with_other(kept.letter, kept.other)
        self.changes.publish(Change.SESSION)
        self.changes.publish(Change.PLAN)
        self.changes.publish(Change.READY)
        self.request_replay()
        self._follow(ready.follower)

    @property
    def is_unopened(self) -> bool:
        return self.session is None and self.state in ("waiting", "failed")

    @property
    def is_being_written(self) -> bool:
        return is_live(self.changed, time())

    def report_progress(self, what: str, fraction: float | None, stop: str = "") -> None:
        """Report the progress of some work: fraction from 0 to 1, None when done, and a stop hint."""
        self.progress = None if fraction is None else (what, fraction, stop)
        self.changes.publish(Change.PROGRESS)

    @property
    def plan(self) -> Plan | None:
        return None if self.plans is None else self.plans.plan

    @property
    def plan_title(self) -> str:
        """Letter and name of the plan, and a mark if it has unsaved changes."""
        return "Plan" if self.plans is None else self.names.title(self.plans.letter, self.plans.plan, self.session)

    def edit_plan(self, plan: Plan, *, merge: str = "") -> None:
        """Set a changed plan; see `PlanHistory.changed` for `merge`."""
        self.move = None
        if self.plans is not None:
            self._take_plans(self.plans.changed(plan, merge=merge))
            self.changes.publish(Change.EDITED)

    def use_plan(self, plan: Plan) -> None:
        """Make a plan the current one and report how to undo that and whether the session's agent can apply it."""
        from inspector.report.export import describe_applied_plan

        self.names.note(plan)
        self.edit_plan(plan)
        self.host.show_notice(describe_applied_plan(plan, self.session))

    def use_best(self, recommended: Plan | None, why_none: str) -> str:
        """Make the recommended plan the current one; return why it was not, or an empty string.

        Args:
            recommended: The best plan that the session's agent can apply, otherwise the best; None if there is none.
            why_none: Why there is none.
        """
        if recommended is None:
            return why_none
        if self.plan is not None and self.plan.strategies == recommended.strategies:
            return self.already_on(recommended, ", the best plan")
        self.use_plan(recommended)
        return ""

    def already_on(self, plan: Plan, role: str = "") -> str:
        """Report that a plan is the current one, and how to undo that: `already on: newest ten; ctrl+z undoes it`."""
        from inspector.strategies.presets import display_name

        name = display_name(plan.name, plan.to_specs()) or "this plan"
        return f"already on: {name}{role}{'; ctrl+z undoes it' if self.can_undo else ''}"

    @property
    def can_undo(self) -> bool:
        """True if a change to the plan or to an assumption can be undone."""
        return self.plans is not None and bool(self.plans.shown.past or self._terms_before)

    @property
    def can_redo(self) -> bool:
        """True if an undone change can be redone."""
        return self.plans is not None and bool(self.plans.shown.future or self._terms_after)

    def undo(self) -> None:
        """Undo the last change: of an assumption if the plan was not changed since, otherwise of the plan."""
        self.move = None
        if self.plans is not None and not self._swap_terms(self._terms_before, self._terms_after):
            self._take_plans(self.plans.undone())

    def redo(self) -> None:
        """Redo the last undone change."""
        self.move = None
        if self.plans is not None and not self._swap_terms(self._terms_after, self._terms_before):
            self._take_plans(self.plans.redone())

    def _swap_terms(self, source: list[TermsChange], target: list[TermsChange]) -> bool:
        """Restore the newest assumptions of a list if they were changed at the current plan; return True if so."""
        if not source or self.plans is None or source[-1].place != self._place_of_plan(self.plans):
            return False
        change = source.pop()
        target.append(TermsChange(change.place, self.given_terms))
        self._take_terms(change.terms)
        return True

    @staticmethod
    def _place_of_plan(plans: Plans) -> tuple[str, int]:
        """Return the letter of the plan and its number of earlier states."""
        return plans.letter, len(plans.shown.past)

    def swap_plans(self) -> None:
        """Switch between plan A and B; B starts as a copy of A."""
        if self.plans is None:
            return
        self.other_result = None
        self._take_plans(self.plans.swapped())
        self.changes.publish(Change.PLAN)
        self.changes.publish(Change.OTHER_RESULT)
        if self.outcome is not None and self.outcome.plan == self.plan:
            self._measure(self.outcome)
        self.changes.publish(Change.EDITED)

    def name_plan(self, name: str) -> None:
        """Set the name of a saved plan, without an undo step."""
        if self.plans is not None:
            plans = self.plans.named(name)
            self.names.note(plans.plan)
            self._take_plans(plans)
            self.changes.publish(Change.PLAN)
            self.changes.publish(Change.EDITED)

    def set_value(self, entry: int, parameter: str, value: ParameterValue, *, is_final: bool = True) -> None:
        """Set a parameter and switch its strategy on, since moving its limit shows the intent to use it.

        `is_final` is False while a control is being dragged; the last value of a drag completes the change.
        """
        if self.plans is None:
            return
        here, before = (entry, parameter), self.outcome
        if self.move is None or self.move.limit != here or not self.plans.shown.merging:
            self.move = None if before is None else LimitMove(here, self.plans.plan, before.totals)
        self._take_plans(self.plans.moved(entry, parameter, value, is_final=is_final))
        self.changes.publish(Change.EDITED)
        if self._settling is not None:
            self._settling.stop()
            self._settling = None
        if is_final:
            self._settling = self.host.later(SECONDS_TO_SETTLE, self._settle)

    def _settle(self) -> None:
        self._settling = None
        if self.plans is not None:
            self.plans = self.plans.settled()

    def _take_plans(self, plans: Plans) -> None:
        before, self.plans = self.plan, plans
        if before != plans.plan:
            # Results for the previous plan would only delay this one.
            self.host.stop("assess")
            self.host.hold_frame()
            self.changes.publish(Change.PLAN)
            self.request_replay()

    def request_replay(self) -> None:
        self.answers.pause()
        self.replays.request()

    def _take_outcome(self, outcome: Outcome) -> None:
        is_same_plan = self.outcome is not None and _switches(self.outcome.plan) == _switches(outcome.plan)
        self.earlier_risks = (self.risks or self.earlier_risks) if is_same_plan else None
        self.outcome, self.projection, self.risks = outcome, None, None
        self.answers.recall(outcome)
        self.changes.publish(Change.OUTCOME)
        self._answer()

    def _answer(self) -> None:
        if self.outcome is not None:
            is_counted = not self.counting.is_under_way
            self.answers.take(self.outcome, is_counted=is_counted)
            if is_counted:
                self.subagent_costs.take(self.outcome.baseline)

    def look_at(self, call: int | None) -> None:
        """Select a call; None, or a call beyond the end of the session, selects the next prompt."""
        self.call = call if call is not None and self.history is not None and call < self.history.call_count else None
        if self.outcome is not None:
            self.outcome = self.outcome.at(self.call)
        self.changes.publish(Change.CALL)

    def look_at_place(self, call: int) -> None:
        """Select a call by number, clipped to the first call and the next prompt."""
        if self.outcome is not None:
            count = self.outcome.replay.history.call_count
            self.look_at(place if (place := max(call, 0)) < count else None)

    def look_further(self, step: int) -> None:
        """Move the selected call by a number of calls."""
        if self.outcome is not None:
            count = self.outcome.replay.history.call_count
            self.look_at_place((count if self.call is None else self.call) + step)

    def _assess(self, outcome: Outcome) -> None:
        """Compute sizes and risks of a plan that has settled."""
        self._measure(outcome)
        if outcome.replay is outcome.baseline:
            self.changes.publish(Change.RISKS)
            return
        search = self.search_for_uses(outcome.replay.history)
        work = partial(jobs.assess, outcome, self.runs_per_day, self.given_terms, search)
        self.host.run(work, partial(self._take_assessment, outcome), group="assess", description="assess the plan")

    def _take_assessment(self, outcome: Outcome, found: ProjectionReady | Risks) -> None:
        if self.outcome is None or outcome.replay is not self.outcome.replay:
            return
        if isinstance(found, jobs.ProjectionReady):
            self.projection = found.projection
            self.changes.publish(Change.COSTS)
        else:
            self.risks = found
            self.changes.publish(Change.RISKS)

    def _measure(self, outcome: Outcome) -> None:
        """Measure the results that each limit applies to, and replay the other plan."""
        other = None if self.plans is None else self.plans.other_plan
        work = partial(jobs.measure, outcome, self.sizes, other)
        self.host.run(work, partial(self._take_measure, outcome), group="measure", description="measure the plan")

    def _take_measure(self, outcome: Outcome, found: PlanSizes | OtherPlan) -> None:
        from inspector.ui.plan.limits import PlanSizes

        if isinstance(found, PlanSizes):
            self.sizes = found
            self.changes.publish(Change.SIZES)
        elif (
            self.outcome is not None
            and outcome.replay is self.outcome.replay
            and self.plans is not None
            and found.letter == self.plans.other_letter
        ):
            self.other_result = found
            self.changes.publish(Change.OTHER_RESULT)

    def search_for_uses(self, history: History) -> ReuseScan:
        """Return the scan for later uses of tool results, in this state of the session or an earlier one."""
        from inspector.replay.analysis.reuse import ReuseScan

        known = self._uses_search
        self._uses_search = ReuseScan(history) if known is None else known.of(history)
        return self._uses_search

    @property
    def terms(self) -> Assumptions:
        """Assumptions of the figures: prices, cache, window, days."""
        from inspector.replay.assumptions import Assumptions

        return self.given_terms or Assumptions()

    def set_terms(self, terms: Assumptions) -> None:
        """Recompute everything under other assumptions."""
        if self.plans is not None and terms != self.terms:
            self._terms_before.append(TermsChange(self._place_of_plan(self.plans), self.given_terms))
            self._terms_after.clear()
        self._take_terms(terms)

    def _take_terms(self, terms: Assumptions | None) -> None:
        before, self.given_terms = self.terms, terms
        if self.terms.replays_as(before):
            self._project_again()
        else:
            self.request_replay()

    def set_runs(self, number: float) -> None:
        self.runs_per_day = RunsPerDay(number)
        self._project_again()

    def _project_again(self) -> None:
        self.changes.publish(Change.COSTS)
        if self.outcome is not None:
            self._assess(self.outcome)

    def _follow(self, follower: Follower) -> None:
        if self.history is not None and self.rows is not None:
            work = partial(jobs.follow_session, follower, self.history, self.rows)
            self.host.run(work, self._take_following, group="follow", description=f"follow {self.path.name}")

    async def _take_following(self, result: Following) -> None:
        if isinstance(result, SessionAppended):
            await self._take_appended(result)
            return
        is_over = result.state == "live" != self.state
        self.state = result.state
        if result.notice:
            self.host.show_notice(result.notice, is_problem=result.state != "live", is_over=is_over)
        self.changes.publish(Change.STATE)

    async def _take_appended(self, appended: SessionAppended) -> None:
        before, now = self.history, appended.history
        is_shorter = before is not None and (len(now.kind) < len(before.kind) or now.call_count < before.call_count)
        self.session, self.changed = appended.session, appended.changed
        self.history, self.rows = now, appended.rows
        if appended.is_new:
            self.counting.restart()
        if appended.is_new or is_shorter:
            self._forget_figures()
        async with self.host.one_frame():
            self.changes.publish(Change.SESSION)
        appended.shown.set()
        self.counting.count_appended(appended.session)


def _switches(plan: Plan) -> tuple[tuple[str, bool], ...]:
    """Return a plan without its limits: its strategies, and which are on."""
    return tuple((entry.strategy.name, entry.enabled) for entry in plan.entries)
