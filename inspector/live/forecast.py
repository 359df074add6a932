"""Forecast when a running session reaches the size at which its agent compacts.

The growth of an agent's prompt is heavy-tailed: many small steps and a few large tool results, so one result may fill
the rest of the window. The session's recent steps, with a few typical ones for sessions that just began, are drawn
again and again until the size is reached. Sessions also change their pace, which no draw from the past shows: the range
is widened so that it held in eight of ten forecasts on recorded sessions (docs/development/live-forecast.md).
"""

from __future__ import annotations

import random
from statistics import median
from typing import TYPE_CHECKING, Final

from inspector.live.status import Forecast
from inspector.replay.figure import Band

if TYPE_CHECKING:
    from collections.abc import Sequence

RECENT_CALLS: Final = 60
"""Number of calls whose growth counts."""

TYPICAL_STEPS: Final = (150, 200, 300, 400, 550, 700, 950, 1_400, 2_100, 5_700)
"""Growth of the prompts of recorded coding agents in tokens: the middles of ten equal parts."""

LEAST_CALLS: Final = 3
"""Number of steps needed for a forecast."""

PATHS: Final = 64
"""Number of continuations drawn."""

NEAR_CALLS: Final = 60
"""Continuations are drawn up to this expected number of calls; beyond it, the range is proportional."""

LATER: Final = 1.8
"""Factor on the 95th percentile of the continuations: a session may slow down."""

FAR_SOONER, FAR_LATER = 0.4, 1.5
"""Factors on the expected number of calls where no continuations are drawn."""

PAUSE_SECONDS: Final = 300.0
"""Longer gaps between calls are pauses of the user, not the agent's cadence."""


def forecast(prompt: float, size: float, growth: Sequence[float], gaps: Sequence[float]) -> Forecast | None:
    """Forecast the calls and minutes until a prompt reaches a size; None if too few calls were made.

    Args:
        prompt: Tokens of the next prompt.
        size: Size at which the agent compacts, tokens.
        growth: Tokens by which each recent prompt exceeded the previous one; compactions and rewinds are left out.
        gaps: Seconds between recent calls.
    """
    steps = [step for step in growth if step > 0][-RECENT_CALLS:]
    if len(steps) < LEAST_CALLS:
        return None
    steps += TYPICAL_STEPS
    room = max(size - prompt, 0.0)
    expected = room * len(steps) / sum(steps)
    calls = _drawn(room, steps) if expected <= NEAR_CALLS else _proportional(expected)
    active = [gap for gap in gaps if 0 < gap <= PAUSE_SECONDS][-RECENT_CALLS:]
    return Forecast(calls, calls.times(_cadence(active) / 60) if active else None)


def _drawn(room: float, steps: Sequence[float]) -> Band:
    """Return the calls after which the room is used up, over continuations with drawn steps."""
    draw = random.Random(1).choice  # noqa: S311  not security relevant
    found = []
    for _ in range(PATHS):
        left, calls = room, 0
        while left > 0:
            left -= draw(steps)
            calls += 1
        found.append(calls)
    found.sort()
    return Band(found[PATHS // 20], median(found), LATER * found[-1 - PATHS // 20])


def _proportional(expected: float) -> Band:
    return Band(FAR_SOONER * expected, expected, FAR_LATER * expected)


def _cadence(gaps: Sequence[float]) -> float:
    """Return the seconds per call: the mean, with gaps above four medians cut to that."""
    most = 4 * median(gaps)
    return sum(min(gap, most) for gap in gaps) / len(gaps)
