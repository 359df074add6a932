"""The work that takes longer than a frame: it runs in threads, touches no widget, and posts frozen results.

Heavy modules are imported within the functions, so that the first paint waits for none of them.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from threading import Event, Thread
from time import monotonic, sleep
from typing import TYPE_CHECKING, ClassVar

from msgspec import Struct, field

from inspector.session.files import is_folder, time_of_writing
from inspector.ui.controller.courtesy import Courtesy

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from pathlib import Path

    from inspector.replay.analysis.forecast import RunProjection
    from inspector.replay.analysis.reuse import ReuseScan
    from inspector.replay.assumptions import Assumptions
    from inspector.replay.projection_terms import RunsPerDay
    from inspector.session.follow import Follower, Update
    from inspector.session.model import Session
    from inspector.session.reading_process import ReadingProcess
    from inspector.strategies.history.history import History
    from inspector.strategies.plan import Plan
    from inspector.tokens.counter import Counter
    from inspector.tokens.token_table import TokenTable
    from inspector.ui.controller.host_protocols import IsCancelled, Post
    from inspector.ui.controller.saved_state import SessionState
    from inspector.ui.outcome import Outcome
    from inspector.ui.plan.difference import Rival
    from inspector.ui.plan.risks import Risks
    from inspector.ui.plan.sizes import PlanSizes
    from inspector.ui.timeline.rows import Rows


class JobFound(Struct, frozen=True, eq=False):
    """What a job hands back.

    It is equal to itself alone, and its name is all it says of itself: comparing or telling all that a session holds
    would take longer than showing it.
    """

    __repr__ = object.__repr__


class LoadProgress(JobFound, frozen=True):
    """A file is being read.

    Attributes:
        done: Bytes read.
        total: Bytes there are.
    """

    done: int
    total: int

    only_newest_counts: ClassVar[bool] = True


class SessionLoaded(JobFound, frozen=True):
    """A session, or the part of it read so far, with estimated sizes.

    Attributes:
        session: What was read.
        history: Its columns.
        rows: Its rows.
        table: Its tokens, estimated.
        is_first: The first part: its rows are shown before anything else.
        is_whole: There is nothing more to read.
        shows_rest: Reading takes so long that chart, detail and plan are shown meanwhile, not the rows alone.
        is_read_elsewhere: Another process reads the rest, which nothing done meanwhile holds up.
    """

    session: Session
    history: History
    rows: Rows
    table: TokenTable
    is_first: bool = False
    is_whole: bool = False
    shows_rest: bool = False
    is_read_elsewhere: bool = False


class SessionReady(JobFound, frozen=True):
    """What there is besides a session that was read whole.

    Attributes:
        plan: The plan to begin with.
        follower: Reads what is added.
        kept: How the session was left the last time.
        changed: When it was last written to, as far as is known, seconds since the epoch; None while unknown.
    """

    plan: Plan
    follower: Follower
    kept: SessionState
    changed: float | None


class SessionAwaited(JobFound, frozen=True):
    """There is nothing to read yet at the path.

    Attributes:
        reason: Why, in a few words.
    """

    reason: str


class LoadFailed(JobFound, frozen=True):
    """A file cannot be read.

    Attributes:
        reason: What, where, and what to do, in one line; may hold session text.
        is_folder: It is a folder, whose sessions can be listed.
    """

    reason: str
    is_folder: bool = False


class ProjectionReady(JobFound, frozen=True):
    """How far what a plan saves over many runs may be off.

    Attributes:
        projection: One run and many; None where a price is missing.
    """

    projection: RunProjection | None


class SessionAppended(JobFound, frozen=True):
    """The session's file holds something else, mostly more.

    Attributes:
        session: The session now.
        history: Its columns.
        rows: Its rows.
        is_new: The file was written anew: nothing that was known of it holds.
        changed: When it was last written to, seconds since the epoch; None while unknown.
        shown: Set once it is on the screen; nothing more is read before, however fast the file grows.
    """

    session: Session
    history: History
    rows: Rows
    is_new: bool
    changed: float | None
    shown: Event = field(default_factory=Event)


class FileChanged(JobFound, frozen=True):
    """Something became of the followed file.

    Attributes:
        state: `live`, `vanished`, `replaced` or `unreadable`.
        notice: One line for people, empty for none; may hold a path.
    """

    state: str
    notice: str = ""


Reading = LoadProgress | SessionLoaded | SessionReady | SessionAwaited | LoadFailed
Following = SessionAppended | FileChanged

SECONDS_TO_SHOW = 0.005
"""How often it is looked whether what was read has been shown."""

SECONDS_TO_LOOK_AGAIN = 0.25
"""How often a path is looked at where there is no session yet."""

SECONDS_TO_NOTICE_CANCELLING = 0.1

SECONDS_UNTOLD = 0.1
"""Reading that takes longer is shown in parts, and told once in that time: the reader waits for the frame of each."""

SECONDS_BETWEEN_PARTS = 0.5
"""Parts come no more often: each has a frame of its own, for which reading has to wait."""

SHARE_OF_PARTS = 20
"""Reading goes on for so many times as long as it took to show a part of the session, before another part is shown."""


SECONDS_OF_ROWS_ALONE = 1.0
"""Reading that takes longer is held up for the rest of the screen, which else comes after the last row."""


def read_session(
    path: Path, plan: Plan | None, *, takes_up: bool = True, process: ReadingProcess | None = None
) -> Iterator[Reading | None]:
    """Read a file: progress, what has been read so far, then all of it, and a plan to begin with.

    Whoever reads may stop, or pause, at whatever is found; None, often, is nothing new.

    Args:
        path: What to read.
        plan: The plan to begin with; None for the one last used on this session, or the one that fits it.
        takes_up: How it was left the last time is looked up.
        process: One that reads it already; where not given, one is started for a long file.
    """
    from inspector.session.errors import SessionError
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
        next_word = opened + SECONDS_UNTOLD
        next_part = opened if process is not None else next_word
        for loading in follower.load(process):
            session = loading.session
            began = monotonic()
            if began >= next_word:
                next_word = began + SECONDS_UNTOLD
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
            is_elsewhere = process is not None and not loading.is_complete
            yield SessionLoaded(session, history, rows, table, is_first, loading.is_complete, shows_rest, is_elsewhere)
            if is_first and is_elsewhere:
                table = _kept_while_waiting(session) or table
        # The rows need not wait for the strategies to be imported.
        kept = load_state(path) if takes_up else SessionState()
        changed = follower.time_of_change()
        written = None if changed is None else time_of_writing(changed, follower.session.last_recorded)
        yield SessionReady(plan or kept.plan or offered_plan(follower.session), follower, kept, written)
    except SessionError as error:
        yield LoadFailed(error.message, is_folder=is_folder(path))


def _awaited(path: Path) -> Iterator[SessionAwaited | None]:
    """Wait until there is a session at the path, and say why there is none."""
    from inspector.session.awaiting import is_awaited, why_still_awaited

    said = ""
    while (said or is_awaited(path)) and (reason := why_still_awaited(path)):
        yield SessionAwaited(reason) if reason != said else None
        said = reason
        sleep(SECONDS_TO_LOOK_AGAIN)


def _kept_while_waiting(session: Session) -> TokenTable | None:
    """What was counted of a session before, and all imported that replays it, while another process reads the rest."""
    import inspector.replay.engine.replay
    import inspector.strategies.registry  # noqa: F401  both imported for the jobs to come
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
    with suppress(Exception):  # whoever counts finds out
        counter.prepare()


def offered_plan(session: Session) -> Plan:
    """What a session nothing is kept of begins with: tiered truncation that fits its tools, off."""
    from inspector.strategies.plan import Plan, PlanEntry
    from inspector.strategies.registry import strategy_for

    return Plan((PlanEntry(strategy_for("tiered-stale", session), enabled=False),))


def measure(
    outcome: Outcome,
    known: PlanSizes | None,
    other: tuple[str, Plan] | None,
    post: Post[PlanSizes | Rival],
    is_cancelled: IsCancelled,
) -> None:
    """Tell how large the results are that each limit of a plan is about, and what the other plan would come to.

    Args:
        outcome: The plan's replay.
        known: The sizes found before, for this plan or another.
        other: What the other plan is called, and it; None where there is none.
        post: Takes what is found.
        is_cancelled: True when nobody waits for it any more.
    """
    from inspector.replay.analysis.comparison import first_firing
    from inspector.replay.analysis.plan_outcome import plan_outcome
    from inspector.replay.engine.replay import replay
    from inspector.ui.plan.difference import Rival
    from inspector.ui.plan.sizes import sizes_of

    if known is None or not known.serves(outcome.replay.history, outcome.plan):
        post(sizes_of(outcome.baseline, outcome.plan))
    if other is not None and not is_cancelled():
        letter, plan = other
        there = replay(outcome.inputs, plan) if plan.strategies else outcome.baseline
        totals, first = plan_outcome(outcome.baseline, there), first_firing(there)
        post(Rival(letter, plan, totals, first))


def assess(
    outcome: Outcome,
    runs_per_day: RunsPerDay,
    terms: Assumptions | None,
    search: ReuseScan,
    post: Post[ProjectionReady | Risks],
    is_cancelled: IsCancelled,
) -> None:
    """Tell how far a plan's saving may be off, its risks, and the cut text that later calls needed.

    Args:
        outcome: The plan's replay.
        runs_per_day: Such sessions a day.
        terms: How many days a month are projected.
        search: Finds where the session used what its tool results said; it goes on where it was called off.
        post: Takes what is found.
        is_cancelled: True when the plan is another one by now.
    """
    from inspector.replay.analysis.cache_spread import CacheSpread
    from inspector.replay.analysis.forecast import project_runs
    from inspector.replay.analysis.hazards import hazards_of
    from inspector.replay.analysis.recoveries import recoveries
    from inspector.replay.assumptions import Assumptions
    from inspector.ui.plan.risks import Risks

    hazards = hazards_of(outcome.replay)
    if is_cancelled():
        return
    session = outcome.replay.history.session
    post(Risks(session, hazards))
    uses = search.run(Courtesy(is_cancelled).is_cancelled)
    if uses is None:
        return
    found = recoveries(outcome.baseline, outcome.replay, uses)
    costs = outcome.baseline.ledger.cost, outcome.replay.ledger.cost
    days = (terms or Assumptions()).days_per_month
    spread = CacheSpread.between(outcome.baseline, outcome.replay)
    post(ProjectionReady(project_runs(*costs, runs_per_day, days, found.cost_at, spread)))
    post(Risks(session, hazards, found))


def follow_session(
    follower: Follower, history: History, rows: Rows, post: Post[Following], is_cancelled: IsCancelled
) -> None:
    """Post the session again whenever its file has changed, until cancelled."""
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


async def _stop_when_cancelled(stop: asyncio.Event, is_cancelled: IsCancelled) -> None:
    while not is_cancelled():
        await asyncio.sleep(SECONDS_TO_NOTICE_CANCELLING)
    stop.set()
