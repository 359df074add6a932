"""Compactions by Anthropic's API: an answer begins with a block that stands for everything before it.

Requests go on repeating what came before the block, and the API leaves it out
(https://platform.claude.com/docs/en/build-with-claude/compaction-threshold). The block was written by a request of its
own, whose usage stands in `usage.iterations`; that of the answer beside it does not count it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from inspector.session.formats.plain.entries import COMPACTION, is_summary_part
from inspector.session.values import mapping, objects, sequence

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from inspector.session.blocks import TextBlock


class Compacted(NamedTuple):
    """A message with such a block, taken apart.

    Attributes:
        before: What stands before it, and is sent no more.
        summary: The block.
        after: What stands behind it.
    """

    before: list[TextBlock]
    summary: list[TextBlock]
    after: list[TextBlock]


def taken_apart(message: Mapping[str, Any], blocks: Sequence[TextBlock]) -> Compacted | None:
    """A message's blocks before and behind the last summary in it; None where there is none."""
    content = sequence(message.get("content"))
    place = next((place for place in reversed(range(len(content))) if is_summary_part(content[place])), None)
    if place is None or message.get("role") != "assistant":
        return None
    made = Compacted([], [], [])
    for one in blocks:
        origin = one.block.origin
        if origin.locator == "reasoning" or (not origin.locator and origin.part < place):
            made.before.append(one)
        elif not origin.locator and origin.part == place:
            made.summary.append(one)
        else:
            made.after.append(one)
    return made


def usage_of_summary(usage: Any) -> Any:
    """What was reported for the request that wrote the summary; None where it was not."""
    iterations = objects(mapping(usage).get("iterations"))
    return next((one for one in iterations if one.get("type") == COMPACTION), None)
