"""Results that OpenCode cleared to make room: kept in the file, no longer sent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from inspector.session.model import Compaction

if TYPE_CHECKING:
    from collections.abc import Sequence

    from inspector.session.formats.opencode.stored import Stored
    from inspector.session.model import Message

TOGETHER_SECONDS = 1.0
"""Parts that were cleared at once are marked one after the other; each carries the time of its own mark."""


def clearings_of(stored: Sequence[Stored], messages: Sequence[Message]) -> list[Compaction]:
    """The clearings, in order: each takes effect with the first message that came after it."""
    marks = sorted(
        (part.cleared, block.tool_call_id)
        for one in stored
        for part in one.parts
        if part.cleared is not None
        for block in part.results
    )
    found: list[tuple[float, list[str]]] = []
    last = float("-inf")
    for time, call in marks:
        if time - last > TOGETHER_SECONDS:
            found.append((time, []))
        found[-1][1].append(call)
        last = time
    return [
        Compaction(_first_after(messages, time), trigger="auto", cleared_tool_call_ids=tuple(calls), time=time)
        for time, calls in found
    ]


def _first_after(messages: Sequence[Message], time: float) -> int:
    for index, message in enumerate(messages):
        if message.time is not None and message.time >= time:
            return index
    return len(messages)
