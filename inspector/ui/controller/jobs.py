"""The work that takes longer than a frame. Runs in threads, touches no widget, posts frozen results.

Heavy modules are imported here, inside the functions, so that the first paint waits for none of them.
"""

from __future__ import annotations

import asyncio
from time import monotonic, sleep
from typing import TYPE_CHECKING

from inspector.session.files import is_folder
from inspector.ui.controller.messages import (
    FileChanged,
    LoadFailed,
    LoadProgress,
    PlanSizesFound,
    ProjectionReady,
    ReplayReady,
    RisksFound,
    RivalReplayed,
    SessionAppended,
    SessionAwaited,
    SessionLoaded,
    TokensCounted,
)
from inspector.ui.outcome import Outcome

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

    from textual.message import Message

    from inspector.replay.analysis.reuse import ReuseScan
    from inspector.replay.assumptions import Assumptions
    from inspector.replay.engine.inputs import ReplayInputs
    from inspector.replay.engine.replay import Replay
    from inspector.session.follow import Follower, Update
    from inspector.session.model import Session
    from inspector.strategies.history.history import History
    from inspector.strategies.plan import Plan
    from inspector.tokens.token_table import TokenTable
    from inspector.ui.plan.sizes import PlanSizes
    from inspector.ui.timeline.rows import Rows

    Post = Callable[[Message], object]
    IsCancelled = Callable[[], bool]


SECONDS_TO_SHOW = 0.005
"""How often it is looked whether what was read has been shown."""

SECONDS_TO_LOOK_AGAIN = 0.25
"""How often a path is looked at where there is no session yet."""

SHARE_OF_PARTS = 10
"""Reading goes on for so many times as long as it took to show a part of the session, before another part is shown."""


def read_session(path: Path, plan: Plan | None, generation: int, post: Post, is_cancelled: IsCancelled) -> None:
    """Read a file and post it: progress, then what has been read so far, then all of it with a plan to begin with.

    Args:
        path: What to read.
        plan: The plan to begin with; None for the one last used on this session, or the one that fits it.
        generation: Marks the messages.
        post: Takes messages from any thread.
        is_cancelled: True when nobody waits for the result any more.
    """
    from inspector.session.errors import SessionError
    from inspector.session.follow import Follower
    from inspector.strategies.history.history import History
    from inspector.tokens.token_table import TokenTable
    from inspector.ui.controller.saved_state import load_state
    from inspector.ui.timeline.rows import Rows

    history: History | None = None
    rows: Rows | None = None
    next_part = 0.0
    try:
        if not _appears(path, generation, post, is_cancelled):
            return
        follower = Follower(path, load=False)
        for loading in follower.load():
            if is_cancelled():
                return
            post(LoadProgress(generation, loading.done, loading.total))
            session = loading.session
            began = monotonic()
            if session is None or (began < next_part and not loading.is_complete):
                continue
            history = History.of(session, history)
            rows = Rows.of(history, rows)
            table = TokenTable.estimated(session)
            # The rows need not wait for the strategies to be imported.
            post(SessionLoaded(generation, session, history, rows, table))
            next_part = monotonic() + SHARE_OF_PARTS * (monotonic() - began)
            if loading.is_complete:
                kept = load_state(path)
                begin = plan or kept.plan or offered_plan(session)
                changed = follower.time_of_change()
                post(SessionLoaded(generation, session, history, rows, table, begin, follower, kept, changed))
    except SessionError as error:
        post(LoadFailed(generation, error.message, is_folder=is_folder(path)))


def _appears(path: Path, generation: int, post: Post, is_cancelled: IsCancelled) -> bool:
    """Wait where there is no session at the path yet; False where nobody waits for it any more."""
    from inspector.session.follow import is_awaited, why_still_awaited

    said = ""
    while (said or is_awaited(path)) and (reason := why_still_awaited(path)):
        if is_cancelled():
            return False
        if reason != said:
            post(SessionAwaited(generation, reason))
            said = reason
        sleep(SECONDS_TO_LOOK_AGAIN)
    return True


def offered_plan(session: Session) -> Plan:
    """What a session nothing is kept of begins with: tiered truncation that fits its tools, off."""
    from inspector.strategies.plan import Plan, PlanEntry
    from inspector.strategies.registry import strategy_for

    return Plan((PlanEntry(strategy_for("tiered-stale", session), enabled=False),))


def count_tokens(
    session: Session, previous: TokenTable | None, generation: int, post: Post, is_cancelled: IsCancelled
) -> None:
    """Count what was not counted before, and post the table as it fills."""
    from inspector.tokens.counter import load_counter
    from inspector.tokens.token_table import count_session

    counter = previous.counter if previous is not None and previous.counter.is_exact_tokenizer else load_counter()
    fraction = 0.0
    table = None

    def progress(done: int, total: int) -> None:
        nonlocal fraction
        fraction = done / total if total else 1.0

    for newer in count_session(session, counter, previous=previous, progress=progress, cancelled=is_cancelled):
        if table is not None:
            post(TokensCounted(generation, session, table, fraction, is_final=False))
        table = newer
    if table is not None:
        post(TokensCounted(generation, session, table, 1.0, is_final=True))


def replay_plan(
    history: History,
    table: TokenTable,
    plan: Plan,
    call: int | None,
    earlier: Outcome | None,
    generation: int,
    post: Post,
    terms: Assumptions | None = None,
) -> None:
    """Replay a plan and post what it comes to.

    Args:
        history: The session's columns.
        table: Its tokens.
        plan: The plan.
        call: The call looked at; None for the next one, not yet made.
        earlier: An earlier outcome. Where it is of the same session and tokens, all it was worked out from stands.
        generation: Marks the message.
        post: Takes messages from any thread.
        terms: What calls are priced and served as; None for as they were recorded.
    """
    from inspector.replay.analysis.comparison import first_firing
    from inspector.replay.analysis.plan_outcome import outcome_of
    from inspector.replay.engine.replay import replay
    from inspector.strategies.plan import Plan

    inputs, baseline = _start(history, table, earlier, terms)
    baseline = baseline or replay(inputs, Plan())
    outcome = replay(inputs, plan) if plan.strategies else baseline
    looked_at = history.call_count if call is None else min(call, history.call_count)
    # Asked for here, because it is remembered and the screen asks for it again.
    _ = outcome.groups
    totals = outcome_of(baseline, outcome)
    first_change = first_firing(outcome)
    state = outcome.state(looked_at)
    post(ReplayReady(generation, Outcome(plan, baseline, outcome, totals, first_change, state, terms)))


def measure(outcome: Outcome, known: PlanSizes | None, other: tuple[str, Plan] | None, post: Post) -> None:
    """Tell how large the results are that each limit of a plan is about, and what the plan put aside would come to.

    Args:
        outcome: The plan's replay.
        known: The sizes found before, for this plan or another.
        other: What the plan put aside is called, and it; None where there is none.
        post: Takes messages from any thread.
    """
    from inspector.replay.analysis.comparison import first_firing
    from inspector.replay.analysis.plan_outcome import outcome_of
    from inspector.replay.engine.replay import replay
    from inspector.ui.plan.difference import Rival
    from inspector.ui.plan.sizes import sizes_of

    if known is None or not known.serves(outcome.replay.history, outcome.plan):
        post(PlanSizesFound(outcome, sizes_of(outcome.baseline, outcome.plan)))
    if other is not None:
        letter, plan = other
        there = replay(outcome.inputs, plan) if plan.strategies else outcome.baseline
        totals, first = outcome_of(outcome.baseline, there), first_firing(there)
        post(RivalReplayed(outcome, Rival(letter, plan, totals, first)))


def judge(
    outcome: Outcome,
    runs_per_day: float,
    search: ReuseScan,
    post: Post,
    is_cancelled: IsCancelled,
    terms: Assumptions | None = None,
) -> None:
    """Tell how far a plan's saving may be off, what may go wrong with it, and what it cut that was used again.

    Args:
        outcome: The plan's replay.
        runs_per_day: Such sessions a day.
        search: Finds where the session used what its tool results said; it goes on where it was called off.
        post: Takes messages from any thread.
        is_cancelled: True when the plan is another one by now.
        terms: How many days a month are projected.
    """
    from inspector.replay.analysis.forecast import project_runs
    from inspector.replay.analysis.hazards import hazards_of
    from inspector.replay.analysis.reuse import needed_later
    from inspector.replay.assumptions import Assumptions
    from inspector.ui.plan.risks import Risks

    costs = outcome.baseline.ledger.cost, outcome.replay.ledger.cost
    days = (terms or Assumptions()).days_per_month
    post(ProjectionReady(outcome, project_runs(*costs, runs_per_day, days)))
    hazards = hazards_of(outcome.replay)
    if is_cancelled():
        return
    session = outcome.replay.history.session
    post(RisksFound(outcome, Risks(session, hazards)))
    uses = search.run(is_cancelled)
    if uses is not None:
        post(RisksFound(outcome, Risks(session, hazards, needed_later(outcome.replay, uses))))


def _start(
    history: History, table: TokenTable, earlier: Outcome | None, terms: Assumptions | None
) -> tuple[ReplayInputs, Replay | None]:
    from inspector.replay.assumptions import Assumptions
    from inspector.replay.engine.inputs import ReplayInputs

    wanted = terms or Assumptions()
    same_terms = earlier is not None and wanted.replays_as(earlier.terms or Assumptions())
    if earlier is not None and same_terms and earlier.inputs.history is history and earlier.inputs.table is table:
        return earlier.inputs, earlier.baseline
    pricing = earlier.inputs.pricing if earlier is not None and same_terms else wanted.pricing()
    return ReplayInputs.of(history, table, pricing=pricing, cache=wanted.cache, window=wanted.window), None


def follow_session(
    follower: Follower, history: History, rows: Rows, generation: int, post: Post, is_cancelled: IsCancelled
) -> None:
    """Post the session again whenever its file has changed, until cancelled."""
    asyncio.run(_follow(follower, history, rows, generation, post, is_cancelled))


async def _follow(
    follower: Follower, history: History, rows: Rows, generation: int, post: Post, is_cancelled: IsCancelled
) -> None:
    from inspector.strategies.history.history import History
    from inspector.ui.timeline.rows import Rows

    async for update in updates_until(follower, is_cancelled):
        if update.session is not history.session:
            history = History.of(update.session, history)
            rows = Rows.of(history, rows)
            is_new = update.change == "reloaded"
            changed = follower.time_of_change()
            appended = SessionAppended(generation, update.session, history, rows, is_new, changed)
            post(appended)
            while not (appended.shown.is_set() or is_cancelled()):
                await asyncio.sleep(SECONDS_TO_SHOW)
        post(FileChanged(generation, follower.state, update.notice))


SECONDS_TO_NOTICE_CANCELLING = 0.1


async def updates_until(follower: Follower, is_cancelled: Callable[[], bool]) -> AsyncIterator[Update]:
    """What `follow_loaded` gives, until it is called off.

    Args:
        follower: Reads the session, which has been loaded.
        is_cancelled: True when nobody waits for it any more; asked ten times a second.
    """
    from inspector.session.follow import follow_loaded

    stop = asyncio.Event()
    watchdog = asyncio.create_task(_stop_when_cancelled(stop, is_cancelled))
    try:
        async for update in follow_loaded(follower, stop):
            if is_cancelled():
                break
            yield update
    finally:
        watchdog.cancel()


async def _stop_when_cancelled(stop: asyncio.Event, is_cancelled: Callable[[], bool]) -> None:
    while not is_cancelled():
        await asyncio.sleep(SECONDS_TO_NOTICE_CANCELLING)
    stop.set()
