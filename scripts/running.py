"""The app without a terminal, for scripts that ask it or draw it."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from inspector.ui.app import InspectorApp
from inspector.ui.screens.inspect import InspectScreen
from inspector.ui.settings import Settings

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from textual.pilot import Pilot

    from inspector.strategies.plan import Plan

LOOKS = 1_500
"""Looks, a fiftieth of a second apart, before the app is taken never to be ready."""


@asynccontextmanager
async def running(session: Path, plan: Plan | None, size: tuple[int, int]) -> AsyncIterator[Pilot[None]]:
    """The app on a session, with default settings, once it has counted and replayed everything.

    Args:
        session: What is opened.
        plan: The plan to begin with; None for the one offered.
        size: Columns and lines.
    """
    app = InspectorApp(session, plan=plan, settings=Settings())
    async with app.run_test(size=size) as pilot:
        await settled(pilot)
        yield pilot


async def settled(pilot: Pilot[None]) -> None:
    """Wait until the newest plan has been replayed on exact counts, and shown.

    Raises:
        TimeoutError: It never was.
    """
    for _ in range(LOOKS):
        await pilot.pause(0.02)
        screen = pilot.app.screen_stack[-1]
        if not isinstance(screen, InspectScreen) or screen.outcome is None or screen.table is None:
            continue
        is_newest = screen.outcome.replay.table is screen.table and screen.outcome.plan == screen.plan
        if is_newest and screen.table.is_complete:
            await pilot.pause(0.1)
            return
    raise TimeoutError("the app did not come to rest")
