"""The app on a session without a terminal, for commands and scripts: a pilot that presses keys."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from inspector.session.errors import SessionError
from inspector.ui.app import InspectorApp
from inspector.ui.main.screen import InspectScreen
from inspector.ui.settings import Settings

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from textual.pilot import Pilot

    from inspector.strategies.plan import Plan

SCREEN_SIZE = (120, 36)
"""Columns and lines."""

SECONDS_BETWEEN_LOOKS = 0.02
MOST_LOOKS = 15_000
"""Five minutes of looking before a session is taken never to be ready."""


@asynccontextmanager
async def running_session(
    session: Path, plan: Plan | None, size: tuple[int, int] = SCREEN_SIZE, settings: Settings | None = None
) -> AsyncIterator[Pilot[None]]:
    """The app on a session without a terminal, once everything is counted and replayed; nothing of it is kept.

    Args:
        session: What is opened.
        plan: The plan to begin with; None for the one offered.
        size: Columns and lines.
        settings: Settings; the defaults, kept nowhere, where not given. The user's own are never read.

    Raises:
        SessionError: The session cannot be read.
        TimeoutError: It was never ready.
    """
    app = InspectorApp(session, plan=plan, settings=settings or Settings(), keeps_state=False)
    async with app.run_test(size=size) as pilot:
        await settled(pilot)
        yield pilot


async def settled(pilot: Pilot[None]) -> None:
    """Wait until the newest plan has been replayed on exact counts, its risks are known, and both are shown.

    Raises:
        SessionError: The session cannot be read.
        TimeoutError: It never was.
    """
    for _ in range(MOST_LOOKS):
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
    raise TimeoutError("the session was not ready in time")
