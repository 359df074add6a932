"""Build the command that prints the full text of a cut block, for markers: `inspector recall ID`."""

from __future__ import annotations

import shlex
from bisect import bisect_right
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from inspector.session.model import Session

RECALL = "{recall}"
"""Placeholder for the command in a marker's template."""


def recall_command(session: Session, index: int) -> str:
    """Return the shell-quoted command that prints a block's recorded text.

    It names the block by its tool call's id. If the block has no unique id, it names the session and the block's place
    in it.

    Args:
        session: The session.
        index: The block's index in it.
    """
    identifier = recall_name(session, index)
    option_end = "-- " if identifier.startswith("-") else ""
    return f"inspector recall {option_end}{shlex.quote(identifier)}"


def recall_call_command(session: Session, index: int) -> str:
    """Return the command that prints a tool call's recorded arguments; see `recall_command`."""
    command, _, asked = recall_command(session, index).partition(" recall ")
    return f"{command} recall --call {asked}"


def recall_name(session: Session, index: int) -> str:
    """Return the name to recall a block by: its tool call's id, or session and place if it has no unique id."""
    identifier = session.all_blocks[index].tool_call_id
    if not identifier or identifier in session.repeated_call_ids:
        return _reference(session, index)
    return identifier


def _reference(session: Session, index: int) -> str:
    message = bisect_right(session.first_blocks, index)
    within = index - session.first_blocks[message - 1]
    own = f".{within + 1}" if len(session.messages[message - 1].blocks) > 1 else ""
    return f"{session.identifier}:{message}{own}"
