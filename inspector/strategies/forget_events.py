"""Forget old events: of the log, only its first and its newest ones are sent.

Source: `RecentEventsCondenser` and `AmortizedForgettingCondenser` of OpenHands 0.62
(`openhands/memory/condenser/impl`). The first keeps the newest `max-events`, so that every event that arrives pushes
another one out. The second lets the log grow to its limit and then forgets down to half of it, which breaks the cached
prompt once in a while only. As the program builds messages from what is left, a tool call whose observation is gone is
not sent, and the other way round.

The first of them sends its first events twice as long as the log is shorter than its limit, or always when the limit is
no larger than what it keeps of the beginning. Here they are sent once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from inspector.session.model import BlockKind
from inspector.strategies.base import Decision
from inspector.strategies.batching import Batching
from inspector.strategies.counting import Unit, entries_of
from inspector.strategies.history import NEVER
from inspector.strategies.operations import RemoveBlock
from inspector.strategies.schedules import ScheduleBuilder
from inspector.strategies.settings import whole

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from inspector.strategies.base import Schedule
    from inspector.strategies.counting import Entries
    from inspector.strategies.history import History


def _forgetting(history: History, decision: Decision, forgotten: Callable[[Entries], NDArray[np.int32]]) -> Schedule:
    """Remove events, and what would be left without its counterpart.

    Args:
        history: What was recorded.
        decision: What removing says.
        forgotten: Per event of a context, the call it is forgotten at, `NEVER` for one that stays.
    """
    builder = ScheduleBuilder()
    place = np.full(len(history.kind), -1, dtype=np.int32)
    for entries in entries_of(history, Unit.EVENTS):
        gone = forgotten(entries)
        place[entries.blocks] = entries.entry
        results = entries.blocks[entries.first[entries.kinds(history) == BlockKind.TOOL_RESULT]]
        calls = history.call_block[results]
        paired = calls >= 0
        paired[paired] &= place[calls[paired]] >= 0
        ends = place[results[paired]], place[calls[paired]]
        earlier = np.minimum(gone[ends[0]], gone[ends[1]])
        for end in ends:
            np.minimum.at(gone, end, earlier)
        place[entries.blocks] = -1
        if entries.carried:
            kept = entries.entry < entries.carried
            builder.add(entries.blocks[kept], entries.calls[entries.entry[kept]], Decision(None, "counted anew"))
        # What is forgotten before it is sent is forgotten when it would be.
        at = np.where(gone == NEVER, NEVER, np.maximum(gone, entries.calls))
        builder.add(entries.blocks, at[entries.entry].astype(np.int32), decision)
    return builder.schedule()


@dataclass(frozen=True)
class RecentEvents(Batching):
    """Send the first and the newest events only."""

    name: ClassVar[str] = "recent-events"
    title: ClassVar[str] = "Recent events"
    summary: ClassVar[str] = "Keep the first and the newest events; every new one pushes an old one out."
    source: ClassVar[str] = "RecentEventsCondenser, OpenHands 0.62 openhands/memory/condenser/impl"

    keep_first: int = whole(
        "keep-first", 1, "How many of the first events stay; they count among those sent.", "events", maximum=1_000
    )
    max_events: int = whole(
        "max-events",
        100,
        "How many events are sent; the class alone has 10, its configuration 100.",
        "events",
        minimum=1,
        maximum=10_000,
    )

    def schedule(self, history: History) -> Schedule:
        """An event goes at the call that brings the last of those after it that are sent in its place."""
        tail = self.max_events - self.keep_first

        def forgotten(entries: Entries) -> NDArray[np.int32]:
            gone = np.full(len(entries.calls), NEVER, dtype=np.int32)
            if tail > 0:
                gone[: max(len(gone) - tail, 0)] = entries.calls[tail:]
                gone[: self.keep_first] = NEVER
            return gone

        return _forgetting(history, Decision(RemoveBlock(), f"before the newest {max(tail, 0)} events"), forgotten)


@dataclass(frozen=True)
class AmortizedForgetting(Batching):
    """Forget half of the events whenever they are too many."""

    name: ClassVar[str] = "amortized-forgetting"
    title: ClassVar[str] = "Amortized forgetting"
    summary: ClassVar[str] = (
        "When the log has grown past its limit, keep the first and the newest events, half as many."
    )
    source: ClassVar[str] = "AmortizedForgettingCondenser, OpenHands 0.62 openhands/memory/condenser/impl"

    max_size: int = whole(
        "max-size",
        100,
        "How many events are sent at most; with one more, half as many are.",
        "events",
        minimum=2,
        maximum=10_000,
    )
    keep_first: int = whole(
        "keep-first", 1, "How many of the first events stay; less than half of the limit.", "events", maximum=1_000
    )

    def schedule(self, history: History) -> Schedule:
        """Events are forgotten at the call that brings one too many."""
        target = self.max_size // 2
        head = min(self.keep_first, target - 1)

        def forgotten(entries: Entries) -> NDArray[np.int32]:
            gone = np.full(len(entries.calls), NEVER, dtype=np.int32)
            # Events `forgotten_to` and later are sent, and the first `head`.
            forgotten_to = head
            arriving, counts = np.unique(entries.calls, return_counts=True)
            for call, arrived in zip(arriving.tolist(), np.cumsum(counts).tolist(), strict=True):
                if min(head, arrived) + arrived - forgotten_to > self.max_size:
                    keep_from = arrived - (target - head)
                    gone[forgotten_to:keep_from] = call
                    forgotten_to = keep_from
            return gone

        return _forgetting(history, Decision(RemoveBlock(), f"the log passed {self.max_size} events"), forgotten)
