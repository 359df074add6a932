"""Forecast when a running session reaches the size at which its agent compacts.

The growth of an agent's prompt is heavy-tailed: many small steps and a few large tool results. The expected number of
calls is the remaining room divided by the mean recent growth, pulled toward the growth of a typical coding agent while
few calls were made. The range comes from played-back recorded sessions (docs/development/live-forecast.md): in eight of
ten forecasts the actual number was between `LOW` and `HIGH` times the expected one.
"""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING, Final

from inspector.live.status import Forecast
from inspector.replay.figure import Band

if TYPE_CHECKING:
    from collections.abc import Sequence

RECENT_CALLS: Final = 60
"""Number of calls whose growth counts."""

TYPICAL_GROWTH: Final = 800.0
"""Tokens per call of a typical coding agent."""

TYPICAL_WEIGHT: Final = 10
"""Number of calls that the typical growth counts for."""

LOW, HIGH = 0.45, 2.5
"""Range of the actual number of calls relative to the expected number."""

LEAST_CALLS: Final = 3
"""Number of steps needed for a forecast."""

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
    mean = (sum(steps) + TYPICAL_GROWTH * TYPICAL_WEIGHT) / (len(steps) + TYPICAL_WEIGHT)
    expected = max(size - prompt, 0.0) / mean
    calls = Band(max(LOW * (expected + 1) - 1, 0.0), expected, HIGH * (expected + 1) - 1)
    active = [gap for gap in gaps if 0 < gap <= PAUSE_SECONDS][-RECENT_CALLS:]
    return Forecast(calls, calls.times(_cadence(active) / 60) if active else None)


def _cadence(gaps: Sequence[float]) -> float:
    """Return the seconds per call: the mean, with gaps above four medians cut to that."""
    most = 4 * median(gaps)
    return sum(min(gap, most) for gap in gaps) / len(gaps)
