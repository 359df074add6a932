"""Prepare a session for replays, and replay it in one step."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from inspector.replay.calibration_source import calibration_source_of
from inspector.replay.engine.inputs import ReplayInputs
from inspector.replay.engine.replay import replay
from inspector.strategies.history.history import History
from inspector.tokens.counter import shared_counter
from inspector.tokens.token_table import count_session

if TYPE_CHECKING:
    from collections.abc import Callable

    from inspector.replay.engine.replay import Replay
    from inspector.replay.pricing.prices import Pricing
    from inspector.session.model import Session
    from inspector.strategies.plan import Plan
    from inspector.tokens.count_cache import CountCache


def counted_inputs(
    session: Session,
    pricing: Pricing | None = None,
    *,
    cache: str | None = None,
    window: int | None = None,
    precise: bool = False,
    counts: CountCache | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> ReplayInputs:
    """Count a session's tokens, and combine them with prices, prompt cache and context window.

    Args:
        session: The session.
        pricing: Prices; by default the user's price file and the bundled table.
        cache: Name of the prompt cache for every call; None for each model's own.
        window: The context window in tokens; None for the recorded or listed one.
        precise: Count cut texts exactly instead of within a few tokens.
        counts: Persistent count cache; defaults to the user's cache folder.
        progress: Receives the counted and the total amount.
    """
    # Only the last table is needed; a list would hold a copy for every tenth of a second.
    table = deque(count_session(session, shared_counter(), progress=progress, cache=counts), maxlen=1).pop()
    history = History.of(session)
    return ReplayInputs.of(
        history,
        table,
        pricing=pricing,
        cache=cache,
        window=window,
        precise=precise,
        calibration_source=calibration_source_of(history, table),
    )


def replay_session(session: Session, plan: Plan, *, pricing: Pricing | None = None, precise: bool = False) -> Replay:
    """Count a session's tokens and replay every call of it under a plan.

    Args:
        session: A session read by `open_session`, or a state of one that is being followed.
        plan: The plan; `Plan()` changes nothing.
        pricing: Prices; by default the user's price file and the bundled table.
        precise: Count cut texts exactly instead of within a few tokens; reads every text that is cut. Screens and
            reports do not use this, so that they agree.
    """
    return replay(counted_inputs(session, pricing, precise=precise), plan)
