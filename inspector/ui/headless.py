"""Run the app on a session without a terminal, for commands and scripts that press keys."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from inspector.errors import SessionError
from inspector.settings import Settings
from inspector.ui.app import InspectorApp
from inspector.ui.main.screen import InspectScreen

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from textual.pilot import Pilot

    from inspector.strategies.plan import Plan

SCREEN_SIZE = (120, 36)
"""Columns and rows."""

SECONDS_BETWEEN_LOOKS = 0.02
MAX_POLLS = 15_000
"""Polls before giving up on a session: five minutes."""


@asynccontextmanager
async def running_session(
    session: Path, plan: Plan | None, size: tuple[int, int] = SCREEN_SIZE, settings: Settings | None = None
) -> AsyncIterator[Pilot[None]]:
    """Run the app without a terminal, and yield once everything is counted and replayed. No state is saved.

    Args:
        session: Path of the session.
        plan: Initial plan; None for the suggested one.
        size: Columns and rows.
        settings: Settings; None for the defaults, which are never saved. The user's settings are never read.

    Raises:
        SessionError: The session cannot be read.
        TimeoutError: The session was not ready in time.
    """
    app = InspectorApp(session, plan=plan, settings=settings or Settings(), saves_state=False)
    async with app.run_test(size=size) as pilot:
        await wait_until_ready(pilot)
        yield pilot


async def wait_until_ready(pilot: Pilot[None]) -> None:
    """Wait until the newest plan is replayed on exact counts, its risks are computed, and both are shown.

    Raises:
        SessionError: The session cannot be read.
        TimeoutError: The session was not ready in time.
    """
    for _ in range(MAX_POLLS):
        await pilot.pause(SECONDS_BETWEEN_LOOKS)
        screen = next((each for each in pilot.app.screen_stack if isinstance(each, InspectScreen)), None)
        if screen is None:
            continue
        session = screen.controller
        if session.state in ("failed", "waiting"):
            raise SessionError(session.failure)
        if session.outcome is None or session.table is None or session.counting.is_under_way:
            continue
        is_assessed = not session.outcome.plan.strategies or (
            session.risks is not None and session.risks.needed is not None
        )
        is_newest = session.outcome.replay.table is session.table and session.outcome.plan == session.plan
        if is_newest and is_assessed:
            await pilot.pause(5 * SECONDS_BETWEEN_LOOKS)
            return
    raise TimeoutError("timed out: the session was not fully counted and replayed in time")
