"""The command that prints the whole of what was cut, for markers that say it: `inspector recall ID`."""

from __future__ import annotations

import shlex
from bisect import bisect_right
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from inspector.session.model import Session

RECALL = "{recall}"
"""What a marker's template has in the place of the command."""


def recall_command(session: Session, index: int) -> str:
    """The command that prints a block's recorded text, as a shell takes it.

    It names the block by its tool call's id, or where it has none of its own by the session and its place in it.

    Args:
        session: The session.
        index: The block's index in it.
    """
    identifier = recall_name(session, index)
    option_end = "-- " if identifier.startswith("-") else ""
    return f"inspector recall {option_end}{shlex.quote(identifier)}"


def recall_call_command(session: Session, index: int) -> str:
    """The command that prints a tool call's recorded arguments; see `recall_command`."""
    command, _, asked = recall_command(session, index).partition(" recall ")
    return f"{command} recall --call {asked}"


def recall_name(session: Session, index: int) -> str:
    """What a block is recalled by: its tool call's id, or where it has none of its own its session and place."""
    identifier = session.all_blocks[index].tool_call_id
    if not identifier or identifier in session.repeated_call_ids:
        return _reference(session, index)
    return identifier


def _reference(session: Session, index: int) -> str:
    message = bisect_right(session.first_blocks, index)
    within = index - session.first_blocks[message - 1]
    own = f".{within + 1}" if len(session.messages[message - 1].blocks) > 1 else ""
    return f"{session.identifier}:{message}{own}"
