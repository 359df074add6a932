"""Keeping what did not change, for sessions that are put together anew at every change."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import structs

from inspector.session.assembly import LOOKED_AT_AGAIN

if TYPE_CHECKING:
    from collections.abc import Sequence

    from inspector.session.model import Message


def reused(messages: Sequence[Message], before: Sequence[Message]) -> list[Message]:
    """The messages, those that were there before as the same objects.

    Whoever follows a session looks for changes from its end and stops at a run of messages that are the same objects.
    So where a message far behind the end changed, everything after it becomes a new object too.

    Args:
        messages: As they are now.
        before: As they were in the snapshot before.
    """
    common = min(len(messages), len(before))
    same = [index for index in range(common) if messages[index] is before[index] or messages[index] == before[index]]
    first_changed = next((place for place, index in enumerate(same) if place != index), len(same))
    kept: list[Message] = list(before[:first_changed])
    if first_changed < common - LOOKED_AT_AGAIN:
        kept += (structs.replace(message) for message in messages[first_changed:])
        return kept
    tail = set(same)
    kept += (before[index] if index in tail else messages[index] for index in range(first_changed, len(messages)))
    return kept
