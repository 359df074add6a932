"""What is added to a session, in a thread whose work may be called off at any time."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from inspector.session.follow import Follower, Update

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
