"""Which results agents blank when they clear a context in part, by the rule their own code has.

The newest output is spared as far as it comes to so many tokens; the result that goes beyond, and all before it, are
blanked. OpenCode spares two user turns besides (packages/opencode/src/session/compaction.ts). Claude Code's rule was
read off its records, which name every result it blanked. Both take four characters for a token, and neither blanks the
output of the skill tool.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING, Final, NamedTuple

from inspector.session.model import BlockKind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from inspector.strategies.history.history import History

_CHARACTERS_PER_TOKEN = 4
_NEVER_BLANKED = "skill"


class Spared(NamedTuple):
    """What is spared.

    Attributes:
        tokens: The newest output, in tokens of four characters.
        turns: User turns, the newest included, that are spared altogether.
    """

    tokens: int
    turns: int


SPARED_BY: Final[Mapping[str, Spared]] = {"claude-code": Spared(40_000, 0), "opencode": Spared(40_000, 2)}
"""By the session's format."""


def blanked_by(rule: Spared, history: History, message: int) -> set[str]:
    """The calls whose results the rule blanks before a message, by their ids.

    Args:
        rule: What is spared.
        history: The session's columns.
        message: The message the clearing stands before.
    """
    session = history.session
    responses = [call.response for call in session.calls]
    last = bisect_left(responses, message) - 1
    if last < 0:
        return set()
    held = [block for block in history.prompt(last).tolist() if history.message[block] < message]
    first_block = history.message_first_block
    since = range(int(first_block[responses[last]]), int(first_block[min(message, len(session.messages))]))
    spared, turns = 0, 0
    blanked: set[str] = set()
    for index in reversed([*held, *since]):
        block = session.blocks[index]
        turns += block.kind is BlockKind.USER_TEXT
        if block.kind is not BlockKind.TOOL_RESULT or turns < rule.turns or block.tool_name.lower() == _NEVER_BLANKED:
            continue
        spared += round(block.characters / _CHARACTERS_PER_TOKEN)
        if spared > rule.tokens:
            blanked.add(block.tool_call_id)
    return blanked
