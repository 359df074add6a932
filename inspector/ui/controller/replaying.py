"""Replays of the current plan in a thread: one at a time, always the newest plan, at most once per frame.

Heavy modules are imported within functions to keep the first paint fast.
"""

from __future__ import annotations

import dataclasses
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING

from inspector.ui.controller.host import Change, IsCancelled, OpenSession, Post

if TYPE_CHECKING:
    from collections.abc import Callable

    from inspector.replay.assumptions import Assumptions
    from inspector.replay.engine.inputs import ReplayInputs
    from inspector.replay.engine.replay import Replay
    from inspector.replay.figure import Figure
    from inspector.strategies.history.history import History
    from inspector.strategies.plan import Plan
    from inspector.tokens.token_table import TokenTable
    from inspector.ui.outcome import Outcome

SECONDS_BETWEEN_REPLAYS = 1 / 60
"""Duration of a frame."""
SECONDS_OF_A_SHORT_REPLAY = SECONDS_BETWEEN_REPLAYS / 2
"""Maximum duration of a replay that may be skipped in favor of a newer request."""
SECONDS_UNPAINTED = 2 * SECONDS_BETWEEN_REPLAYS
"""Maximum time between paints while plans keep changing."""
SECONDS_BEFORE_PROGRESS = 0.15
"""Delay in seconds before a running replay is reported."""
SECONDS_TO_SETTLE = 0.06
"""Seconds without a newer request after which an outcome has settled and further work may start."""


class Replaying:
    """Replays the plan of an open session on request.

    Attributes:
        is_under_way: The outcome shown belongs to an earlier plan.
        is_long: The running replay takes long enough to report it.
        began: Start of the newest replay, in `monotonic` time.
        took: Seconds from the start of the previous replay to its paint.
    """

    def __init__(
        self,
        opened: OpenSession,
        take: Callable[[Outcome], object],
        settled: Callable[[Outcome], object],
    ) -> None:
        """Initialize without a replay.

        Args:
            opened: The session with its plan and selected call.
            take: Receives a newer outcome; its changes are painted in one frame.
            settled: Called with an outcome that has settled.
        """
        self._opened = opened
        self._take = take
        self._settled = settled
        self._wanted = 0
        self.began = self.took = self._painted_at = 0.0
        self.forget()

    def forget(self) -> None:
        """Drop all outcomes and ignore running replays."""
        self._shown = self._wanted
        self._newest: Outcome | None = None
        self.is_under_way = self.is_long = False

    def request(self) -> None:
        """Request a replay: immediately or after the running one is painted, at most once per frame."""
        self._wanted += 1
        self._replay_newest()

    def _replay_newest(self) -> None:
        if not self.is_under_way:
            self.is_under_way = True
            wait = SECONDS_BETWEEN_REPLAYS - (monotonic() - self.began)
            if wait > 0:
                self._opened.host.later(wait, self._begin)
            else:
                self._begin()

    def _begin(self) -> None:
        opened = self._opened
        history, table, plan = opened.history, opened.table, opened.plan
        if history is None or table is None or plan is None or table.session is not history.session:
            self.is_under_way = False
            return
        self.began = monotonic()
        request = self._wanted
        opened.host.run(
            partial(replay_plan, history, table, plan, opened.call, self._newest, opened.given_terms),
            partial(self._take_outcome, request, opened.call),
            group="replay",
            description="replay the plan",
            failed=self._fail,
        )
        opened.host.later(SECONDS_BEFORE_PROGRESS, partial(self._show_notice, request))

    def _show_notice(self, request: int) -> None:
        if self.is_under_way and request > self._shown:
            self.is_long = True
            self._opened.changes.publish(Change.REPLAYING)

    def _report_done(self) -> None:
        self.is_long = False
        self._opened.changes.publish(Change.REPLAYING)

    def _fail(self) -> None:
        self.is_under_way = False
        self._report_done()

    async def _take_outcome(self, request: int, asked_at: int | None, outcome: Outcome) -> None:
        opened = self._opened
        if opened.call != asked_at:
            outcome = outcome.at(opened.call)
        self._newest = outcome
        if await self._is_outdated(request):
            self._begin()
            return
        async with opened.host.one_frame():
            self._report_done()
            if request > self._shown:
                self._shown = request
                self._take(outcome)
        # Threads slow each other down: start the next replay only after this one is painted.
        opened.host.after_frame(partial(self._painted, request))
        if request == self._wanted:
            opened.host.later(SECONDS_TO_SETTLE, partial(self._settle, outcome))

    async def _is_outdated(self, request: int) -> bool:
        """Return True if a newer plan can be replayed first: replays are short and the last paint is recent."""
        if monotonic() - self.began > SECONDS_OF_A_SHORT_REPLAY:
            return False
        await self._opened.host.take_newest_move()
        return self._shown < request != self._wanted and monotonic() - self._painted_at < SECONDS_UNPAINTED

    async def _painted(self, request: int) -> None:
        self._painted_at = monotonic()
        await self._opened.host.take_newest_move()
        self.is_under_way = False
        self.took = monotonic() - self.began
        if request != self._wanted:
            self._replay_newest()

    def _settle(self, outcome: Outcome) -> None:
        if self._opened.outcome is outcome and not self.is_under_way:
            self._settled(outcome)


def replay_plan(
    history: History,
    table: TokenTable,
    plan: Plan,
    call: int | None,
    earlier: Outcome | None,
    terms: Assumptions | None,
    post: Post[Outcome],
    is_cancelled: IsCancelled,  # noqa: ARG001  a replay is too short to cancel
) -> None:
    """Replay a plan and post the outcome at a call, None for the next prompt.

    Inputs of `earlier` are reused if session and token counts are the same. Without `terms` the recorded prices and
    cache apply.
    """
    from inspector.replay.analysis.best_plan import first_firing
    from inspector.replay.analysis.cache_misses import calls_missed_by_edits, missed_calls
    from inspector.replay.analysis.plan_outcome import plan_outcome
    from inspector.replay.engine.replay import replay
    from inspector.strategies.plan import Plan
    from inspector.ui.outcome import Outcome

    inputs, baseline, as_recorded = _start(history, table, earlier, terms)
    baseline = baseline or replay(inputs, Plan())
    outcome = replay(inputs, plan) if plan.strategies else baseline
    looked_at = history.call_count if call is None else min(call, history.call_count)
    # Computed here because it is cached and the screen needs it.
    _ = outcome.groups, history.session.copied_calls
    totals = plan_outcome(baseline, outcome)
    first_change = first_firing(outcome)
    state = outcome.state(looked_at)
    anyway = earlier.missed_without_plan if earlier is not None and earlier.baseline is baseline else None
    by_edits: tuple[int, ...] = ()
    if outcome is not baseline:
        anyway = missed_calls(baseline) if anyway is None else anyway
        by_edits = tuple(calls_missed_by_edits(outcome, baseline, anyway).tolist())
    found = Outcome(plan, baseline, outcome, totals, first_change, state, terms, anyway, by_edits, as_recorded)
    _ = found.shown
    post(found)


def _start(
    history: History, table: TokenTable, earlier: Outcome | None, terms: Assumptions | None
) -> tuple[ReplayInputs, Replay | None, Figure | None]:
    """Return the inputs, an earlier replay of them, and the cost at the recorded models if others price the calls."""
    from inspector.replay.assumptions import Assumptions
    from inspector.replay.engine.inputs import ReplayInputs
    from inspector.replay.engine.replay import replay
    from inspector.replay.sessions import calibration_source_of
    from inspector.strategies.plan import Plan

    wanted = terms or Assumptions()
    same_terms = earlier is not None and wanted.replays_as(earlier.terms or Assumptions())
    if earlier is not None and same_terms and earlier.inputs.history is history and earlier.inputs.table is table:
        return earlier.inputs, earlier.baseline, earlier.as_recorded
    pricing = earlier.inputs.pricing if earlier is not None and same_terms else wanted.pricing()
    source = calibration_source_of(history, table)
    made = ReplayInputs.of(
        history, table, pricing=pricing, cache=wanted.cache, window=wanted.window, calibration_source=source
    )
    if not made.other_model:
        return made, None, None
    recorded = ReplayInputs.of(
        history,
        table,
        pricing=dataclasses.replace(wanted, model=None).pricing(),
        cache=wanted.cache,
        window=wanted.window,
        calibration_source=source,
    )
    return made, None, replay(recorded, Plan()).figures.cost_usd
