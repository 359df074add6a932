"""Replay a session in one step."""

from __future__ import annotations

from typing import TYPE_CHECKING

from inspector.replay.calibration_source import calibration_source_of
from inspector.replay.engine.inputs import ReplayInputs
from inspector.replay.engine.replay import replay
from inspector.strategies.history.history import History
from inspector.tokens.counter import load_counter
from inspector.tokens.token_table import count_session

if TYPE_CHECKING:
    from inspector.replay.engine.replay import Replay
    from inspector.replay.pricing.prices import Pricing
    from inspector.session.model import Session
    from inspector.strategies.plan import Plan


def replay_session(session: Session, plan: Plan, *, pricing: Pricing | None = None, precise: bool = False) -> Replay:
    """Count a session's tokens and replay every call of it under a plan.

    Args:
        session: A session read by `open_session`, or a state of one that is being followed.
        plan: The plan; `Plan()` changes nothing.
        pricing: Prices; by default the user's price file and the bundled table.
        precise: Count cut texts exactly instead of within a few tokens; reads every text that is cut. Screens and
            reports do not use this, so that they agree.
    """
    *_, table = count_session(session, load_counter())
    history = History.of(session)
    source = calibration_source_of(history, table)
    return replay(ReplayInputs.of(history, table, pricing=pricing, precise=precise, calibration_source=source), plan)
