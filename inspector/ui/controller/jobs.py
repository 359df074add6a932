"""Work longer than a frame: runs in threads, touches no widgets, and posts frozen results.

Heavy modules are imported within functions to keep the first paint fast.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from threading import Event, Thread
from time import monotonic, sleep
from typing import TYPE_CHECKING, ClassVar

from msgspec import Struct, field

from inspector.session.files import is_folder, last_written
from inspector.ui.controller.host import IsCancelled, Post, YieldingTask

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from pathlib import Path

    from inspector.replay.analysis.forecast import RunProjection
    from inspector.replay.analysis.reuse import ReuseScan
    from inspector.replay.assumptions import Assumptions, RunsPerDay
    from inspector.session.follow import Follower, Update
    from inspector.session.model import Session
    from inspector.session.reading_process import ReadingProcess
    from inspector.strategies.history.history import History
    from inspector.strategies.plan import Plan
    from inspector.tokens.counter import Counter
    from inspector.tokens.token_table import TokenTable
    from inspector.ui.controller.saved_state import SessionState
    from inspector.ui.outcome import Outcome
    from inspector.ui.plan.limits import PlanSizes
    from inspector.ui.plan.results import OtherPlan, Risks
    from inspector.ui.timeline.rows import Rows


class JobOutput(Struct, frozen=True, eq=False):
    """Base class of job results.

    Identity equality and a short repr: comparing or printing a whole session would take longer than showing it.
    """

    __repr__ = object.__repr__


class LoadProgress(JobOutput, frozen=True):
    """Progress of reading a file.

    Attributes:
        done: Bytes read.
        total: Size of the file in bytes.
    """

    done: int
    total: int

    only_newest_counts: ClassVar[bool] = True


class SessionLoaded(JobOutput, frozen=True):
    """A session as read so far, with estimated token counts.

    Attributes:
        session: The session.
        history: Its columns.
        rows: Its rows.
        table: Its estimated token counts.
        is_first: First part: its rows are shown before anything else.
        is_whole: The file is read completely.
        shows_rest: Reading takes long, so show chart, detail and plan now and not only the rows.
        is_read_elsewhere: Another process reads the rest and is not delayed by other work.
    """

    session: Session
    history: History
    rows: Rows
    table: TokenTable
    is_first: bool = False
    is_whole: bool = False
    shows_rest: bool = False
    is_read_elsewhere: bool = False


class SessionReady(JobOutput, frozen=True):
    """Remaining data of a session that was read completely.

    Attributes:
        plan: The initial plan.
        follower: Reads appended records.
        kept: The saved state.
        changed: Time of the last write as recorded, seconds since the epoch; None if unknown.
    """

    plan: Plan
    follower: Follower
    kept: SessionState
    changed: float | None


class SessionAwaited(JobOutput, frozen=True):
    """The path has no session yet.

    Attributes:
        reason: The reason in a few words.
    """

    reason: str


class LoadFailed(JobOutput, frozen=True):
    """A file that cannot be read.

    Attributes:
        reason: One line with the failure, its location and advice; may contain session text.
        is_folder: The path is a folder that contains sessions.
    """

    reason: str
    is_folder: bool = False


class ProjectionReady(JobOutput, frozen=True):
    """Projected range of a plan's savings over many runs.

    Attributes:
        projection: Projection of one run and many; None if a price is missing.
    """

    projection: RunProjection | None


class SessionAppended(JobOutput, frozen=True):
    """The session's file has changed, usually by appended records.

    Attributes:
        session: The current session.
        history: Its columns.
        rows: Its rows.
        is_new: The file was rewritten: all earlier results are invalid.
        changed: Time of the last write, seconds since the epoch; None if unknown.
        shown: Set once the change is on the screen; reading continues only then, however fast the file grows.
    """

    session: Session
    history: History
    rows: Rows
    is_new: bool
    changed: float | None
    shown: Event = field(default_factory=Event)


class FileChanged(JobOutput, frozen=True):
    """State of the followed file.

    Attributes:
        state: `live`, `vanished`, `replaced` or `unreadable`.
        notice: One line for the user, empty for none; may contain a path.
    """

    state: str
    notice: str = ""


Reading = LoadProgress | SessionLoaded | SessionReady | SessionAwaited | LoadFailed
Following = SessionAppended | FileChanged

SECONDS_TO_SHOW = 0.005
"""Interval of checking if the change is on the screen."""

SECONDS_TO_LOOK_AGAIN = 0.25
"""Interval of checking a path that has no session yet."""

SECONDS_TO_NOTICE_CANCELLING = 0.1

SECONDS_BEFORE_PROGRESS = 0.1
"""Reading time before parts and progress are shown, and their interval: the reader waits for each frame."""

SECONDS_BETWEEN_PARTS = 0.5
"""Minimum interval between parts: reading waits for the frame of each."""

SHARE_OF_PARTS = 20
"""Minimum ratio of reading time to the time of showing a part."""


SECONDS_OF_ROWS_ALONE = 1.0
"""Reading time after which the rest of the screen is shown before reading ends, although that delays reading."""


def read_session(
    path: Path, plan: Plan | None, *, restores: bool = True, process: ReadingProcess | None = None
) -> Iterator[Reading | None]:
    """Read a file, yielding progress, the session so far, the whole session, and the initial plan.

    The caller may stop or pause after any item; frequent None items mean no news.

    Args:
        path: The file.
        plan: The initial plan; None for the one last used on this session, or one that fits it.
        restores: Load the saved state.
        process: A process that is already reading the file; by default one is started for a long file.
    """
    from inspector.errors import SessionError
    from inspector.session.follow import Follower
    from inspector.session.reading_process import ReadingProcess
    from inspector.strategies.history.history import History
    from inspector.tokens.token_table import TokenTable
    from inspector.ui.controller.saved_state import SessionState, load_state
    from inspector.ui.timeline.rows import Rows

    history: History | None = None
    rows: Rows | None = None
    table: TokenTable | None = None
    try:
        yield from _awaited(path)
        follower = Follower(path, load=False)
        opened = monotonic()
        process = process or ReadingProcess.begin(path)
        next_word = opened + SECONDS_BEFORE_PROGRESS
        next_part = opened if process is not None else next_word
        for loading in follower.load(process):
            session = loading.session
            began = monotonic()
            if began >= next_word:
                next_word = began + SECONDS_BEFORE_PROGRESS
                yield LoadProgress(loading.done, loading.total)
            if session is None or (began < next_part and not loading.is_complete):
                yield None
                continue
            is_first = rows is None
            history = History.of(session, history)
            rows = Rows.of(history, rows)
            table = TokenTable.estimated(session, previous=table)
            next_part = monotonic() + max(SECONDS_BETWEEN_PARTS, SHARE_OF_PARTS * (monotonic() - began))
            shows_rest = not (is_first or loading.is_complete) and began > opened + SECONDS_OF_ROWS_ALONE
            is_from_other_session = process is not None and not loading.is_complete
            yield SessionLoaded(
                session, history, rows, table, is_first, loading.is_complete, shows_rest, is_from_other_session
            )
            if is_first and is_from_other_session:
                table = _kept_while_waiting(session) or table
        # Loaded after the rows, which do not wait for the import of the strategies.
        kept = load_state(path) if restores else SessionState()
        changed = follower.time_of_change()
        written = None if changed is None else last_written(changed, follower.session.last_recorded)
        yield SessionReady(plan or kept.plan or offered_plan(follower.session), follower, kept, written)
    except SessionError as error:
        yield LoadFailed(error.message, is_folder=is_folder(path))


def _awaited(path: Path) -> Iterator[SessionAwaited | None]:
    """Wait for a session at the path, yielding the reasons why there is none."""
    from inspector.session.files import may_appear
    from inspector.session.follow import why_not_ready

    text = ""
    while (text or may_appear(path)) and (reason := why_not_ready(path)):
        yield SessionAwaited(reason) if reason != text else None
        text = reason
        sleep(SECONDS_TO_LOOK_AGAIN)


def _kept_while_waiting(session: Session) -> TokenTable | None:
    """Load cached token counts and import the replay modules while another process reads the rest."""
    import inspector.replay.engine.replay
    import inspector.strategies.registry  # noqa: F401  preloaded for later jobs
    from inspector.tokens.counter import load_counter
    from inspector.tokens.token_table import TokenTable

    counter = load_counter()
    if not counter.is_exact_tokenizer:
        return None
    table = TokenTable.as_kept(session, counter)
    if not table.is_complete:
        Thread(target=_prepare, args=(counter,), name="tokenizer", daemon=True).start()
    return table


def _prepare(counter: Counter) -> None:
    with suppress(Exception):  # counting reports the error
        counter.prepare()


def offered_plan(session: Session) -> Plan:
    """Return the initial plan of a new session: tiered truncation that fits its tools, off."""
    from inspector.strategies.plan import Plan, PlanEntry
    from inspector.strategies.registry import strategy_for

    return Plan((PlanEntry(strategy_for("tiered-stale", session), enabled=False),))


def measure(
    outcome: Outcome,
    known: PlanSizes | None,
    other: tuple[str, Plan] | None,
    post: Post[PlanSizes | OtherPlan],
    is_cancelled: IsCancelled,
) -> None:
    """Measure the sizes of the results that each limit applies to, and replay the other plan.

    `known` are sizes measured before, for this plan or another; `other` is the letter and the other plan, if any.
    """
    from inspector.replay.analysis.best_plan import first_firing
    from inspector.replay.analysis.plan_outcome import plan_outcome
    from inspector.replay.engine.replay import replay
    from inspector.ui.plan.limits import sizes_of
    from inspector.ui.plan.results import OtherPlan

    if known is None or not known.serves(outcome.replay.history, outcome.plan):
        post(sizes_of(outcome.baseline, outcome.plan))
    if other is not None and not is_cancelled():
        letter, plan = other
        there = replay(outcome.inputs, plan) if plan.strategies else outcome.baseline
        totals, first = plan_outcome(outcome.baseline, there), first_firing(there)
        post(OtherPlan(letter, plan, totals, first))


def assess(
    outcome: Outcome,
    runs_per_day: RunsPerDay,
    terms: Assumptions | None,
    search: ReuseScan,
    post: Post[ProjectionReady | Risks],
    is_cancelled: IsCancelled,
) -> None:
    """Compute the range of a plan's savings, its risks, and the cut text that later calls needed.

    `search` resumes after a cancellation.
    """
    from inspector.replay.analysis.alternatives import breakpoint_prices
    from inspector.replay.analysis.forecast import CacheSpread, project_runs, run_seconds
    from inspector.replay.analysis.hazards import hazards_of
    from inspector.replay.analysis.recoveries import recoveries
    from inspector.replay.assumptions import Assumptions
    from inspector.ui.plan.results import Risks

    hazards = hazards_of(outcome.replay)
    if is_cancelled():
        return
    session = outcome.replay.history.session
    post(Risks(session, hazards))
    uses = search.run(YieldingTask(is_cancelled).is_cancelled)
    if uses is None:
        return
    found = recoveries(outcome.baseline, outcome.replay, uses)
    costs = outcome.baseline.ledger.cost, outcome.replay.ledger.cost
    days = (terms or Assumptions()).days_per_month
    spread = CacheSpread.between(outcome.baseline, outcome.replay)
    worst, seconds = found.cost_at_worst, run_seconds(session)
    post(ProjectionReady(project_runs(*costs, runs_per_day, days, found.cost_at, spread, worst, seconds)))
    post(Risks(session, hazards, found))
    if is_cancelled():
        return
    prices = breakpoint_prices(outcome.replay)
    if prices is not None and prices.is_relevant:
        post(Risks(session, hazards, found, prices))


def follow_session(
    follower: Follower, history: History, rows: Rows, post: Post[Following], is_cancelled: IsCancelled
) -> None:
    """Post the session after every change to its file, until cancelled."""
    asyncio.run(_follow(follower, history, rows, post, is_cancelled))


async def _follow(
    follower: Follower, history: History, rows: Rows, post: Post[Following], is_cancelled: IsCancelled
) -> None:
    from inspector.session.snapshot_list import unchanged
    from inspector.strategies.history.history import History
    from inspector.ui.timeline.rows import Rows

    async for update in updates_until(follower, is_cancelled):
        if update.session is not history.session:
            is_same = unchanged(update.session.messages, history.session.messages)
            is_new = update.change == "reloaded" or (update.change == "returned" and not is_same)
            history = History.of(update.session, history)
            rows = Rows.of(history, rows)
            changed = follower.time_of_change()
            appended = SessionAppended(update.session, history, rows, is_new, changed)
            post(appended)
            while not (appended.shown.is_set() or is_cancelled()):
                await asyncio.sleep(SECONDS_TO_SHOW)
        post(FileChanged(follower.state, update.notice))


async def updates_until(follower: Follower, is_cancelled: IsCancelled) -> AsyncIterator[Update]:
    """Yield the updates of `follow_loaded` until cancelled; `is_cancelled` is polled ten times a second."""
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


async def _stop_when_cancelled(stop: asyncio.Event, is_cancelled: IsCancelled) -> None:
    while not is_cancelled():
        await asyncio.sleep(SECONDS_TO_NOTICE_CANCELLING)
    stop.set()
