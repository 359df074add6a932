"""Status of one running session: the figures that matter while it runs.

All values are frozen. Figures carry their confidence (`Figure.known`) and whether they are a lower bound. This module
imports only light modules, because a status line is printed after every response of an agent.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path  # noqa: TC003  the JSON Schema is generated from the annotations
from typing import Final

from inspector.live.away import PauseAdvice  # noqa: TC001  for the JSON Schema
from inspector.replay.figure import Band, Figure, HowKnown

FILL_WARNING: Final = 0.75
"""Fill from which a session is amber."""

FILL_ALARM: Final = 0.9
"""Fill from which a session is red."""

SOON_FILL: Final = 0.85
SOON_CALLS: Final = 5
"""A compaction is soon from this fill on, if it is expected within this many calls.

Of 122 such warnings in recorded sessions, 3 came more than 30 calls early (docs/development/live-forecast.md).
"""

SOON_SECONDS: Final = 120.0
"""A cache that expires within this time goes cold soon."""

COSTLY_COLD_USD: Final = 0.5
"""A cold return that costs at least this much more than a warm one deserves a warning."""

LOOP_CALLS: Final = 3
"""Number of equal tool calls in a row that count as a loop."""

UNKNOWN: Final = Figure(None, HowKnown.ESTIMATED)


class Activity(StrEnum):
    """Activity of a session."""

    WORKING = "working"
    """The model responds, or a tool runs."""
    WAITING = "waiting"
    """The turn is over: the user's next message is due."""
    IDLE = "idle"
    """Nothing was recorded for a while."""
    ENDED = "ended"
    """Its file is gone, or nothing was recorded for hours."""


class CacheState(StrEnum):
    """State of the prompt cache for the next call."""

    WARM = "warm"
    COLD = "cold"
    UNKNOWN = "unknown"


class Attention(StrEnum):
    """Reason to look at a session, most urgent first."""

    LOOP = "loop"
    COMPACTS_SOON = "compacts soon"
    COLD_SOON = "goes cold soon"
    FILLING = "filling up"
    WAITING = "waits for you"


_ATTENTION_ORDER: Final = tuple(Attention)


@dataclass(frozen=True, slots=True)
class HourlyRate:
    """Tokens per hour of all calls, including subagents', and dollars per hour, with value None without a price."""

    tokens: Figure = UNKNOWN
    usd: Figure = UNKNOWN


@dataclass(frozen=True, slots=True)
class CacheStatus:
    """Prompt cache of the next call.

    Attributes:
        state: Warm, cold or unknown, at the time of the status.
        expires_at: Seconds since the epoch; None if unknown.
        lifetime: Lifetime in seconds; 0 if unknown.
        warm_usd: Projected cost of the next prompt with a cache hit.
        cold_usd: Projected cost of the next prompt with a cold cache.
    """

    state: CacheState = CacheState.UNKNOWN
    expires_at: float | None = None
    lifetime: float = 0.0
    warm_usd: Figure = UNKNOWN
    cold_usd: Figure = UNKNOWN

    def seconds_left(self, now: float) -> float | None:
        """Return the seconds until it goes cold, 0 if it is cold; None if unknown."""
        return None if self.expires_at is None else max(self.expires_at - now, 0.0)

    @property
    def lost_usd(self) -> float | None:
        """Additional dollars of the next prompt once the cache is cold; None without a price."""
        cold, warm = self.cold_usd.value, self.warm_usd.value
        return None if cold is None or warm is None else max(cold - warm, 0.0)


@dataclass(frozen=True, slots=True)
class Forecast:
    """Forecast of the next compaction.

    Attributes:
        calls: Calls until the prompt reaches the compaction size: a range that holds in about eight of ten cases.
        minutes: The same in minutes at the recent cadence of calls; None without recorded times.
    """

    calls: Band
    minutes: Band | None = None


@dataclass(frozen=True, slots=True)
class Loop:
    """A tool call repeated with the same arguments; the tool's name is not made safe for display."""

    tool: str
    times: int


@dataclass(frozen=True, slots=True)
class LiveSession:
    """A running session.

    Texts (`title`, `project`, `model`) come from the session and are not made safe for display.

    Attributes:
        identifier: The agent's id of the session.
        agent: Display name of the agent, with its version if recorded.
        project: Name of the working directory, otherwise of the session's folder.
        title: Title or first prompt; may be empty.
        model: Model of the conversation as recorded; may be empty.
        prompt: Tokens of the next prompt, without the user's next message.
        compacts_at: Prompt size at which this agent compacts; value None if unknown, a lower bound if the window may be
            larger than assumed.
        window: Size of the model's context window; value None if unknown.
        forecast: Forecast of the next compaction; None if unknown, or the prompt does not grow.
        recent: Rate over the last 15 minutes.
        overall: Rate since the session started.
        spent: Dollars since the start, including subagents.
        misses: Number of avoidable or unexplained cache misses among them.
        compactions: Number of compactions among them.
        loop: The last tool call, if it was repeated.
        subagents: Number of running subagents.
        working_directory: The agent's working directory; may be empty.
        away: Costs of a pause, while the agent does not work; None without a price.
        started: Time of the first record, seconds since the epoch; None if not recorded.
        last_activity: Time of the last record or change of its files, seconds since the epoch.
        is_partial: True if only the newest part of the file was read: counts and sums are lower bounds.
        problems: Number of records that could not be read.
        notice: Why its figures are limited, in one line; usually empty.
    """

    path: Path
    identifier: str
    format: str
    agent: str
    project: str
    title: str
    model: str
    state: Activity
    prompt: Figure
    compacts_at: Figure
    window: Figure
    last_activity: float
    forecast: Forecast | None = None
    recent: HourlyRate = HourlyRate()
    overall: HourlyRate = HourlyRate()
    spent: Figure = UNKNOWN
    cache: CacheStatus = CacheStatus()
    calls: int = 0
    misses: int = 0
    compactions: int = 0
    loop: Loop | None = None
    subagents: int = 0
    working_directory: str = ""
    away: PauseAdvice | None = None
    started: float | None = None
    is_partial: bool = False
    problems: int = 0
    notice: str = ""

    @property
    def fill(self) -> float | None:
        """The next prompt's share of the compaction size, otherwise of the window; None if both are unknown."""
        size = self.compacts_at.value or self.window.value
        return None if not size or self.prompt.value is None else self.prompt.value / size

    @property
    def fill_known(self) -> HowKnown:
        """Confidence of the fill's prompt size; the compaction size has its own."""
        return self.prompt.known

    def attention(self, now: float) -> tuple[Attention, ...]:
        """Return the reasons to look at it, most urgent first."""
        if self.state is Activity.ENDED:
            return ()
        fill, left, lost = self.fill, self.cache.seconds_left(now), self.cache.lost_usd
        is_active = self.state is not Activity.IDLE
        is_filling = fill is not None and fill >= FILL_WARNING
        soon = self.forecast is not None and self.forecast.calls.middle <= SOON_CALLS and (fill or 0.0) >= SOON_FILL
        is_known = self.compacts_at.value is not None and not self.compacts_at.is_lower_bound
        found = {
            Attention.LOOP: is_active and self.loop is not None and self.loop.times >= LOOP_CALLS,
            Attention.COMPACTS_SOON: is_active and is_known and soon,
            Attention.COLD_SOON: self.state is not Activity.WORKING
            and left is not None
            and 0 < left <= SOON_SECONDS
            and (lost or 0.0) >= COSTLY_COLD_USD,
            Attention.FILLING: is_active and is_filling,
            Attention.WAITING: self.state is Activity.WAITING,
        }
        return tuple(reason for reason in _ATTENTION_ORDER if found[reason])

    def urgency(self, now: float) -> tuple[int, int, float, float]:
        """Return the sort key of a list with the most urgent session first."""
        reasons = self.attention(now)
        first = _ATTENTION_ORDER.index(reasons[0]) if reasons else len(_ATTENTION_ORDER)
        return (_STATE_ORDER[self.state], first, -(self.fill or 0.0), -self.last_activity)


_STATE_ORDER: Final = {
    Activity.WORKING: 0,
    Activity.WAITING: 0,
    Activity.IDLE: 1,
    Activity.ENDED: 2,
}
