"""The work that takes longer than a frame. Runs in threads, touches no widget, posts frozen results.

Heavy modules are imported here, inside the functions, so that the first paint waits for none of them.
"""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING

from inspector.ui.messages import (
    LoadFailed,
    LoadProgress,
    ReplayReady,
    SessionLoaded,
    TokensCounted,
)
from inspector.ui.outcome import Outcome

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from textual.message import Message

    from inspector.replay.inputs import ReplayInputs
    from inspector.replay.replay import Replay
    from inspector.session.model import Session
    from inspector.strategies.history import History
    from inspector.strategies.plan import Plan
    from inspector.tokens.table import TokenTable
    from inspector.ui.rows import Rows

    Post = Callable[[Message], object]
    IsCancelled = Callable[[], bool]

SECONDS_BETWEEN_PARTS = 0.25


def open_session(path: Path, plan: Plan | None, generation: int, post: Post, is_cancelled: IsCancelled) -> None:
    """Read a file and post it: progress, then what has been read so far, then all of it with a plan to begin with.

    Args:
        path: What to read.
        plan: The plan to begin with; None for the one last used on this session, or the one that fits it.
        generation: Marks the messages.
        post: Takes messages from any thread.
        is_cancelled: True when nobody waits for the result any more.
    """
    from inspector.session.open import SessionError, open_reader
    from inspector.strategies.history import History
    from inspector.tokens.table import TokenTable
    from inspector.ui.rows import Rows

    _prepare_widgets()
    history: History | None = None
    rows: Rows | None = None
    shown = monotonic()
    try:
        reader = open_reader(path)
        for progress in reader.load():
            if is_cancelled():
                return
            post(LoadProgress(generation, progress.done, progress.total))
            if monotonic() - shown > SECONDS_BETWEEN_PARTS:
                session = reader.snapshot()
                history = History.of(session, history)
                rows = Rows.of(history, rows)
                table = TokenTable.estimated(session)
                post(SessionLoaded(generation, session, history, rows, table, None, is_complete=False))
                shown = monotonic()
    except SessionError as error:
        post(LoadFailed(generation, error.message))
        return
    session = reader.snapshot()
    history = History.of(session, history)
    rows = Rows.of(history, rows)
    begin = plan if plan is not None else plan_for(session, path)
    post(SessionLoaded(generation, session, history, rows, TokenTable.estimated(session), begin, is_complete=True))


def _prepare_widgets() -> None:
    """Import what the screen will show a session with, so that it need not."""
    import inspector.ui.cost_summary
    import inspector.ui.detail_of
    import inspector.ui.widgets.detail
    import inspector.ui.widgets.timeline  # noqa: F401  imported for the screen


def plan_for(session: Session, path: Path) -> Plan:
    """The plan last used on a session; where there is none, tiered truncation that fits its tools, switched off."""
    from inspector.strategies.plan import Plan, PlanEntry
    from inspector.strategies.registry import strategy_for
    from inspector.ui.plan_store import load_plan

    kept = load_plan(path)
    return kept or Plan((PlanEntry(strategy_for("tiered-stale", session), enabled=False),))


def count_tokens(
    session: Session, previous: TokenTable | None, generation: int, post: Post, is_cancelled: IsCancelled
) -> None:
    """Count what was not counted before, and post the table as it fills."""
    from inspector.tokens.counter import load_counter
    from inspector.tokens.table import count_session

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
    """
    from inspector.replay.replay import replay
    from inspector.strategies.plan import Plan

    inputs, baseline = _start(history, table, earlier)
    baseline = baseline or replay(inputs, Plan())
    outcome = replay(inputs, plan) if plan.strategies else baseline
    looked_at = history.call_count if call is None else min(call, history.call_count)
    # Asked for here, because it is remembered and the screen asks for it again.
    _ = outcome.groups
    post(ReplayReady(generation, Outcome(baseline, outcome, outcome.state(looked_at))))


def _start(history: History, table: TokenTable, earlier: Outcome | None) -> tuple[ReplayInputs, Replay | None]:
    from inspector.replay.inputs import ReplayInputs

    if earlier is not None and earlier.inputs.history is history and earlier.inputs.table is table:
        return earlier.inputs, earlier.baseline
    pricing = earlier.inputs.pricing if earlier is not None else None
    return ReplayInputs.of(history, table, pricing=pricing), None


def follow_session(
    path: Path, session: Session, history: History, rows: Rows, generation: int, post: Post, is_cancelled: IsCancelled
) -> None:
    """Post the session again whenever its file has changed, until cancelled."""
    del path, session, history, rows, generation, post, is_cancelled
